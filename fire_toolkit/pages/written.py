"""Our own page as a file for people without a server: one page of HTML for each annotator.

The page holds its tasks, keeps each answer in the browser's own database before the next caption comes, and
gives them back as a file, which `answer_files` reads.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Container, Mapping
from importlib.resources import files
from typing import Any

from fire_toolkit.files import text_sha256
from fire_toolkit.guidelines.instructions import instructions_html
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.pages.desk import Desk, media_address, shown_page

FORM = "fire-toolkit page answers"
VERSION = 1


def page_html(
    desk: Desk,
    guideline: Guideline,
    *,
    campaign_key: str,
    annotator_id: str,
    consent: str,
    here: Container[str],
) -> str:
    """Return the page on which an annotator judges the tasks of a desk, without any server.

    Args:
        desk: what she is asked; neither pairs nor kinds are on the page, only names of tasks.
        guideline: the question, its answers and its instructions.
        campaign_key: of the campaign; with the annotator's name it names the browser's database.
        annotator_id: whose page it is.
        consent: the text that comes first.
        here: every media_url whose file lies beside the page, in `media`.
    """

    def address(media_url: str) -> str:
        if guideline.shows_texts:
            return media_url
        return media_address(here, campaign_key, annotator_id, media_url)

    content = {
        "head": {
            "form": FORM,
            "version": VERSION,
            "campaign": campaign_key,
            "annotator": annotator_id,
            "guideline": guideline.name,
            "guideline_sha256": guideline.sha256,
        },
        "shown": shown_guideline(guideline),
        "consent": consent,
        "consent_sha256": text_sha256(consent),
        "instructions": f"<style>{_site('page.css')}</style>{instructions(guideline)}",
        "pages": [shown_page(page, {}, address) for page in desk.pages],
    }
    return _whole(content)


def instructions(guideline: Guideline) -> str:
    """Return what annotators read of a guideline, as HTML."""
    return f"<article>{instructions_html(guideline.text)}</article>"


def shown_guideline(guideline: Guideline) -> dict[str, Any]:
    """Return what a page shows of a guideline: title, question, kind of item, answers and flags."""
    labels = sorted(guideline.labels, key=lambda label: label.hotkey)
    return {
        "title": guideline.title,
        "question": guideline.question,
        "kind": guideline.item_kind,
        "labels": [_shown(label.name, label.hotkey, label.description) for label in labels],
        "flags": [_shown(flag.name, flag.hotkey, flag.description) for flag in guideline.flags],
    }


def _shown(name: str, key: str, words: str) -> dict[str, str]:
    return {"name": name, "key": key, "words": words}


def _whole(content: Mapping[str, Any]) -> str:
    """Return the page with its style, its scripts and its content in it; nothing else may run there."""
    style, scripts = _site("page.css"), [_site("file.js"), _site("page.js")]
    policy = (
        f"default-src 'none'; script-src {' '.join(map(_source, scripts))}; style-src {_source(style)}; "
        "img-src 'self' file: http: https:; media-src 'self' file: http: https:; base-uri 'none'; "
        "form-action 'none'"
    )
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>{style}</style>'
    body = f'<script type="application/json" id="content">{_json(content)}</script>\n'
    body += "\n".join(f"<script>{script}</script>" for script in scripts)
    page = _site("page.html").replace('<script src="page.js" defer></script>\n', "")
    page = page.replace('<link rel="stylesheet" href="page.css">', head)
    return page.replace("</body>", f"{body}\n</body>")


def _site(name: str) -> str:
    return (files("fire_toolkit.pages") / "site" / name).read_text("utf-8")


def _source(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _json(content: object) -> str:
    """Return content as JSON that ends no script, whatever captions hold."""
    return json.dumps(content, separators=(",", ":")).replace("<", "\\u003c")
