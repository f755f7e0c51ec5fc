"""One HTML file that asks for nothing outside itself: facts that a template says in words, and plots."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import pandas as pd

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
    """A plot, which holds its data, and a sentence that says what it shows."""

    plot: Plot
    text: str

    @property
    def spec(self) -> str:
        """The spec as JSON that can stand within a script of a page, with its data by columns."""
        spec = {**self.plot, "data": _columns(self.plot.table)}
        text = json.dumps(spec, ensure_ascii=False, separators=(",", ":"))
        return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _columns(table: pd.DataFrame) -> dict[str, Any]:
    """Return the columns of a plot's data: values, or texts by their places `at` among those in `of`."""
    columns: dict[str, Any] = {}
    for name, values in table.items():
        if all(isinstance(value, str) for value in values):
            codes, texts = pd.factorize(values)
            columns[str(name)] = {"of": texts.tolist(), "at": codes.tolist()}
        else:
            columns[str(name)] = [
                float(f"{value:.5g}") if isinstance(value, float) and value == value else _or_null(value)
                for value in values.tolist()
            ]
    return columns


def _or_null(value: Any) -> Any:
    return None if value != value else value


def render_page(facts: Mapping[str, Any]) -> str:
    """Return the page as HTML; every text stands in it as text, whatever it holds.

    Vega, Vega-Lite and Vega-Embed are within the page (BSD-3-Clause).

    Args:
        facts: what `Study.facts` returns.
    """
    bundle = (_DATA / "vega-bundle.js").read_text(encoding="utf-8")
    return rendered("reporting", "data/report.html", bundle=bundle, **facts)
