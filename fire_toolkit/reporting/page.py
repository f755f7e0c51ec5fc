"""One HTML file that asks for nothing outside itself: sections of text, plots and tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files

from fire_toolkit.reporting.plots import Plot
from fire_toolkit.reporting.templates import rendered

_DATA = files("fire_toolkit.reporting") / "data"


@dataclass(frozen=True)
class Table:
    """A table as text; numbers stand in columns of their own, so that they align.

    caption: what it shows; columns: headings; rows: cells, as many as columns.
    """

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def is_number(self, column: int) -> bool:
        """Return whether every cell of a column begins like a number, or is empty."""
        cells = [row[column] for row in self.rows if row[column]]
        return bool(cells) and all(cell.lstrip("+-−.")[:1].isdigit() for cell in cells)


@dataclass(frozen=True)
class Figure:
    """A plot, a sentence that says what it shows, and its data as a table for who cannot see it."""

    plot: Plot
    text: str
    table: Table

    @property
    def spec(self) -> str:
        """The spec as JSON that can stand within a script of a page."""
        text = json.dumps(self.plot, ensure_ascii=False)
        return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@dataclass(frozen=True)
class Section:
    """A part of the page.

    anchor: its place in links, letters and dashes; warnings: sentences on what may not be trusted; folded:
    texts under their headings, shown on demand.
    """

    anchor: str
    title: str
    paragraphs: Sequence[str] = ()
    warnings: Sequence[str] = ()
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    folded: Sequence[tuple[str, str]] = field(default=())


def render_page(title: str, subtitle: str, sections: Sequence[Section], *, warning: str = "") -> str:
    """Return the page as HTML; every text stands in it as text, whatever it holds.

    Vega, Vega-Lite and Vega-Embed are within the page (BSD-3-Clause) where it has a plot.

    Examples:
        >>> "&lt;script&gt;" in render_page("<script>", "", [])
        True
    """
    has_plots = any(section.figures for section in sections)
    bundle = (_DATA / "vega-bundle.js").read_text(encoding="utf-8") if has_plots else ""
    facts = {"title": title, "subtitle": subtitle, "warning": warning}
    return rendered("reporting", "data/report.html", sections=sections, bundle=bundle, **facts)
