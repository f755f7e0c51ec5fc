"""Texts from templates, which say in words what a structure of facts holds."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fire_toolkit.words import n_of

if TYPE_CHECKING:
    from jinja2 import Template


def rendered(room: str, name: str, **facts: Any) -> str:
    """Return a template's text about some facts; of HTML every fact stands in it as text, whatever it holds.

    room: the package that holds the template; name: its path there, without `.jinja`.
    """
    return _template(room, name).render(facts)


def rendered_blocks(room: str, name: str, **facts: Any) -> list[tuple[str, str]]:
    """Return title and text of each block of a template, in their order; a text is one line."""
    template = _template(room, name)
    context = template.new_context(facts)
    texts = {title: "".join(block(context)).splitlines() for title, block in template.blocks.items()}
    return [(title, " ".join(filter(None, map(str.strip, lines)))) for title, lines in texts.items()]


@cache
def _template(room: str, name: str) -> Template:
    from jinja2 import Environment, StrictUndefined

    is_html = name.endswith(".html")

    made = Environment(
        autoescape=is_html,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=not is_html,
    )
    made.filters |= {
        "n": "{:,}".format,
        "n_of": n_of,
        "sentence": sentence,
        "coded": coded,
        "strong": strong,
        "quoted": quoted,
    }
    text = (files(f"fire_toolkit.{room}") / f"{name}.jinja").read_text(encoding="utf-8")
    return made.from_string(text)


def sentence(text: str) -> str:
    """Return a text that ends as a sentence does.

    Examples:
        >>> sentence("MSR-VTT")
        'MSR-VTT.'
    """
    text = text.strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."


def coded(text: str) -> Any:
    """Return a text as HTML in which what stands between backticks is code, and all else text.

    Examples:
        >>> print(coded("1 < 2: see `pool`"))
        1 &lt; 2: see <code>pool</code>
    """
    return _marked(text, r"`([^`]+)`", "code")


def strong(text: str) -> Any:
    """Return a text as HTML in which what stands between asterisks is bold, and all else text.

    Examples:
        >>> print(strong("*3 < 4* holds"))
        <b>3 &lt; 4</b> holds
    """
    return _marked(text, r"\*([^*]+)\*", "b")


def _marked(text: str, between: str, tag: str) -> Any:
    from markupsafe import Markup, escape

    return Markup(re.sub(between, rf"<{tag}>\1</{tag}>", str(escape(text))))


def quoted(text: str) -> str:
    """Return a text as a JSON string, which is a YAML scalar too."""
    return json.dumps(text, ensure_ascii=False)
