"""What a written report holds, read as a browser reads it."""

import html
import json
import re
from typing import Any

Cells = list[list[str]]


def data_of_plot(page: str, name: str) -> list[dict[str, Any]]:
    """Return the rows of a plot's data."""
    (text,) = re.findall(rf'<script type="application/json" id="{name}-spec">(.*?)</script>', page, re.S)
    columns = json.loads(text)["data"]
    read = {
        name: [each["of"][int(at)] for at in each["at"]] if isinstance(each, dict) else each
        for name, each in columns.items()
    }
    return [dict(zip(read, row, strict=True)) for row in zip(*read.values(), strict=True)]


def tables_of(part: str) -> dict[str, Cells]:
    """Return the tables of a part of a page by their captions; an interval stands after a line's end."""
    found = {}
    for caption, body in re.findall(r"<caption>(.*?)</caption>.*?<tbody>(.*?)</tbody>", part, re.S):
        rows = re.findall(r"<tr>(.*?)</tr>", body, re.S)
        cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S) for row in rows]
        found[html.unescape(caption)] = [[_text(cell) for cell in row] for row in cells]
    return found


def section_of(page: str, anchor: str) -> str:
    """Return a section of a page."""
    (own,) = re.findall(rf'<section id="{anchor}".*?</section>', page, re.S)
    return str(own)


def _text(cell: str) -> str:
    return html.unescape(re.sub("<[^>]*>", "", cell.replace('<span class="interval">', "\n")))
