"""Result tables as text: for people (terminal, LaTeX, Markdown) and for programs (CSV, TSV, JSON)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fire_toolkit.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

DRAWN = {"table": "simple", "latex": "latex_booktabs", "markdown": "pipe"}
LONG = ("csv", "tsv", "json")


def table_text(table: pd.DataFrame, form: str = "table", *, digits: int = 4) -> str:
    """Return any result table as text.

    Args:
        table: scores, honest rows, differences, comparisons, orders, contributions...
        form: `table` (for a terminal), `latex` (booktabs), `markdown`, `csv`, `tsv`, `json` (a list of
            records).
        digits: after the point, in the first three forms; the others have every digit.

    Returns:
        The text, which ends with a line feed. Missing values are empty in the first three forms, `nan` in
        csv and tsv, null in json.

    Raises:
        UsageError: an unknown form.

    Examples:
        >>> import pandas as pd
        >>> table = pd.DataFrame({"run_id": ["a_b"], "n": [1200], "value": [2 / 3]})
        >>> print(table_text(table, "markdown"))
        | run_id   |     n |   value |
        |:---------|------:|--------:|
        | a_b      | 1,200 |  0.6667 |
        <BLANKLINE>
        >>> table_text(table, "latex").splitlines()[4]
        ' a\\\\_b      & 1,200 &  0.6667 \\\\\\\\'
    """
    if form in LONG:
        return long_text(table, form)
    if form not in DRAWN:
        raise UsageError(f"form {form!r} is unknown; expected one of {', '.join([*DRAWN, *LONG])}")
    rows = [[_cell(value, digits) for value in row] for row in table.itertuples(index=False)]
    return drawn_text(rows, [str(name) for name in table.columns], form)


def _cell(value: object, digits: int) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.{digits}f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def long_text(table: pd.DataFrame, form: str) -> str:
    """Return a table as csv, tsv or json (a list of records; NaN is null) text, with every digit."""
    if form == "json":
        rows = [_plain(row) for row in table.to_dict("records")]
        return json.dumps(rows, ensure_ascii=False, indent=1) + "\n"
    from fire_toolkit.formats.delimited import delimited_text

    return delimited_text(table, delimiter="\t" if form == "tsv" else ",", nan="nan")


def _plain(row: Mapping[Any, Any]) -> dict[str, Any]:
    return {
        str(name): None if value != value or str(value) == "<NA>" else value for name, value in row.items()
    }


def drawn_text(
    rows: Sequence[Sequence[str]], header: Sequence[str], form: str, *, align: str = "right"
) -> str:
    """Return rows of text as a table for the terminal, as LaTeX (booktabs) or Markdown.

    The first column is aligned left, the others as `align` says.
    """
    from tabulate import tabulate

    sides = ["left", *[align] * (len(header) - 1)]
    drawn = tabulate(rows, headers=list(header), tablefmt=DRAWN[form], disable_numparse=True, colalign=sides)
    return drawn + "\n"
