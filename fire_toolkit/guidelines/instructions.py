"""A guideline's Markdown as the HTML that annotators read before they begin."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from itertools import groupby

_MARKS = (
    (re.compile(r"`([^`]+)`"), r"<code>\1</code>"),
    (re.compile(r"\*\*([^*]+)\*\*"), r"<b>\1</b>"),
    (re.compile(r"\*([^*]+)\*"), r"<i>\1</i>"),
)
_HEADING = re.compile(r"(#{1,4}) +(.*)")
_BULLET = re.compile(r"[-*] +")
_NUMBER = re.compile(r"\d+\. +")
_RULE = re.compile(r"\|[\s|:-]+\|")


def instructions_html(markdown: str) -> str:
    """Return Markdown as HTML: headings, paragraphs, lists, tables, bold, italics and code.

    What else Markdown knows (links, images, nesting) stays as the text it is; HTML in the text is shown, not
    obeyed.

    Examples:
        >>> print(instructions_html("# Title\\n\\nAnswer `yes` or\\n**no**.\\n\\n- one\\n- two"))
        <h1>Title</h1>
        <p>Answer <code>yes</code> or <b>no</b>.</p>
        <ul><li>one</li><li>two</li></ul>
    """
    blocks = re.split(r"\n\s*\n", markdown.replace("\r\n", "\n").strip())
    return "\n".join(html for block in blocks if block.strip() for html in _block(block.split("\n")))


def _block(lines: list[str]) -> Iterator[str]:
    """Yield the parts of a block: stretches of lines of the same kind."""
    kinds: list[str] = []
    for line in lines:
        kinds.append(_kind(line, kinds[-1] if kinds else ""))
    for kind, stretch in groupby(zip(kinds, lines, strict=True), key=lambda pair: pair[0]):
        texts = [line for _, line in stretch]
        if kind == "heading":
            yield from map(_heading, texts)
        elif kind == "table":
            yield _table(texts)
        elif kind in ("ul", "ol"):
            yield _list(kind, texts)
        else:
            yield f"<p>{_inline(' '.join(text.strip() for text in texts))}</p>"


def _kind(line: str, before: str) -> str:
    if _HEADING.match(line):
        return "heading"
    if line.startswith("|"):
        return "table"
    if _BULLET.match(line):
        return "ul"
    if _NUMBER.match(line):
        return "ol"
    return before if before in ("ul", "ol") else "text"


def _heading(line: str) -> str:
    found = _HEADING.fullmatch(line)
    level = len(found.group(1)) if found else 1
    return f"<h{level}>{_inline(found.group(2) if found else line)}</h{level}>"


def _list(kind: str, lines: list[str]) -> str:
    items: list[str] = []
    for line in lines:
        marker = _BULLET.match(line) or _NUMBER.match(line)
        if marker:
            items.append(line[marker.end() :])
        else:
            items[-1] += " " + line.strip()
    return f"<{kind}>{''.join(f'<li>{_inline(item)}</li>' for item in items)}</{kind}>"


def _table(lines: list[str]) -> str:
    rows = [line.strip().strip("|").split("|") for line in lines if not _RULE.fullmatch(line.strip())]
    cells = [["th" if place == 0 else "td", *map(str.strip, row)] for place, row in enumerate(rows)]
    drawn = ("".join(f"<{tag}>{_inline(cell)}</{tag}>" for cell in row) for tag, *row in cells)
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in drawn)}</table>"


def _inline(text: str) -> str:
    html = escape(text, quote=False)
    for pattern, replacement in _MARKS:
        html = pattern.sub(replacement, html)
    return html
