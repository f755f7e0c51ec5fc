"""A guideline's Markdown as the HTML that annotators read before they begin."""

import re
from html import escape
from itertools import groupby

_MARKS = (
    (re.compile(r"`([^`]+)`"), r"<code>\1</code>"),
    (re.compile(r"\*\*([^*]+)\*\*"), r"<b>\1</b>"),
    (re.compile(r"\*([^*]+)\*"), r"<i>\1</i>"),
)
# The kinds of lines, each by how its lines begin; others go on with a list, or are a paragraph's.
_STARTS = {
    "heading": re.compile(r"(#{1,4}) +(.*)"),
    "table": re.compile(r"\|"),
    "ul": re.compile(r"[-*] +"),
    "ol": re.compile(r"\d+\. +"),
}
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
    html = []
    for block in re.split(r"\n\s*\n", markdown.replace("\r\n", "\n").strip()):
        lines, kinds = block.split("\n"), [""]
        for line in lines:
            other = kinds[-1] if kinds[-1] in ("ul", "ol") else "text"
            kinds.append(next((kind for kind, start in _STARTS.items() if start.match(line)), other))
        for kind, stretch in groupby(zip(kinds[1:], lines, strict=True), key=lambda pair: pair[0]):
            html.append(_drawn(kind, [line for _, line in stretch]))
    return "\n".join(html) if markdown.strip() else ""


def _drawn(kind: str, lines: list[str]) -> str:
    """Return a stretch of lines of one kind."""
    if kind == "heading":
        found = filter(None, map(_STARTS[kind].match, lines))
        return "\n".join(f"<h{len(each[1])}>{_inline(each[2])}</h{len(each[1])}>" for each in found)
    if kind == "table":
        rows = [line.strip().strip("|").split("|") for line in lines if not _RULE.fullmatch(line.strip())]
        cells = [["th" if place == 0 else "td", *map(str.strip, row)] for place, row in enumerate(rows)]
        drawn = ("".join(f"<{tag}>{_inline(cell)}</{tag}>" for cell in row) for tag, *row in cells)
        return f"<table>{''.join(f'<tr>{row}</tr>' for row in drawn)}</table>"
    if kind == "text":
        return f"<p>{_inline(' '.join(map(str.strip, lines)))}</p>"
    items: list[str] = []
    for line in lines:
        if marker := _STARTS[kind].match(line):
            items.append(line[marker.end() :])
        else:
            items[-1] += " " + line.strip()
    return f"<{kind}>{''.join(f'<li>{_inline(item)}</li>' for item in items)}</{kind}>"


def _inline(text: str) -> str:
    html = escape(text, quote=False)
    for pattern, replacement in _MARKS:
        html = pattern.sub(replacement, html)
    return html
