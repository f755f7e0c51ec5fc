"""Texts from templates, which say in words what a structure of facts holds."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from fire_toolkit.scoring.drawn import augmented_cell
from fire_toolkit.words import n_of, text_in

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
        "marked": marked,
        "enumerated": enumerated,
        "quoted": partial(json.dumps, ensure_ascii=False),
        "signed": signed,
    }
    made.globals |= {"limits": limits, "augmented_cell": augmented_cell}
    return made.from_string(text_in(room, f"{name}.jinja"))


def sentence(text: str) -> str:
    """Return a text that ends as a sentence does.

    Examples:
        >>> sentence("MSR-VTT")
        'MSR-VTT.'
    """
    text = text.strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."


def enumerated(names: Sequence[str]) -> str:
    """Return names as a sentence lists them.

    Examples:
        >>> enumerated(["AP", "C@1", "C@5"]), enumerated(["AP"]), enumerated([])
        ('AP, C@1 and C@5', 'AP', '')
    """
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def marked(text: str, sign: str, tag: str) -> Any:
    """Return a text as HTML in which what stands between two signs has a tag, and all else is text.

    Examples:
        >>> print(marked("1 < 2: see `pool`", "`", "code"))
        1 &lt; 2: see <code>pool</code>
    """
    from markupsafe import Markup, escape

    sign = re.escape(sign)
    return Markup(re.sub(f"{sign}([^{sign}]+){sign}", rf"<{tag}>\1</{tag}>", str(escape(text))))


def limits(low: float, high: float, form: str = ".1f") -> str:
    """Return an interval as text; empty where it is not known.

    Examples:
        >>> limits(20.0, 61.25), limits(float("nan"), 1.0)
        ('20.0 to 61.2', '')
    """
    return "" if low != low else f"{low:{form}} to {high:{form}}"  # the report gives alpha in thousandths


def signed(value: float) -> str:
    """Return a change as text; what would be 0 has no sign.

    Examples:
        >>> signed(1.25), signed(-0.01)
        ('+1.2', '0.0')
    """
    return f"{value:+.1f}" if round(value, 1) else "0.0"
