"""Write the table of tables in docs/data-model.md from their contracts: python docs/build_data_model.py.

What stands outside the two marks is written by hand and kept.
"""

from __future__ import annotations

import re
from pathlib import Path

from fire_toolkit.tables.specs import SPECS, Column, TableSpec

PAGE = Path(__file__).with_name("data-model.md")
BEGIN, END = "<!-- tables -->\n", "<!-- end of tables -->\n"
FILES = {
    "queries": "CSV or TSV",
    "items": "CSV or TSV",
    "run": "TREC text, `.npy`, `.npz`, the toolkit's Parquet",
    "pool": "`pool.csv`",
    "pool sources": "`pool_sources.csv`",
    "query design": "`query_design.csv`",
    "machine judgments": "`machine.csv`",
    "tasks": "Label Studio JSON",
    "judgments": "`judgments.csv`",
    "dropped": "`dropped.csv`",
    "labels": "`labels.csv`",
    "disputes": "`disputes.csv`",
    "qrels": "TREC text; `qrels.csv` beside it for samples",
    "query validity": "`query_validity.csv`",
    "query labels": "`query_labels.csv`",
    "changes": "`changes.csv`",
    "evidence": "`evidence.csv`, `evidence.parquet` above a million rows",
    "scores": "csv, tsv, json",
    "agreement": "csv, tsv, json",
    "comparisons": "csv, tsv, json",
}


def page() -> str:
    """Return the whole page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    specs = [spec for name, spec in SPECS.items() if name in FILES]
    header = "| table | columns | file |\n|---|---|---|\n"
    return before + BEGIN + header + "".join(map(row, specs)) + END + after


def row(spec: TableSpec) -> str:
    """Return one table's row, with the order of its rows where that is not the order of the key."""
    columns = ", ".join(column(each, spec) for each in spec.columns) + (", any others" if spec.extra else "")
    name = "".join(word.capitalize() for word in re.split(r"[ _]", spec.name))
    is_result = spec.name in ("scores", "agreement", "comparisons")
    by_key = is_result or spec.as_given or not spec.order or list(spec.order) == list(spec.key)
    order = "" if by_key else f" (by {', '.join(spec.order)})"
    return f"| {name} | {columns}{order} | {FILES[spec.name]} |\n"


def column(each: Column, spec: TableSpec) -> str:
    """Return a column's name, bold where it is part of the key, in brackets where a table may lack it."""
    shown = f"**{each.name}**" if each.name in spec.key else each.name
    return f"[{shown}]" if each.optional or each.rare else shown


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
