"""Result tables as text: for people (terminal, LaTeX, Markdown) and for programs (CSV, TSV, JSON)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fire_toolkit.errors import UsageError
from fire_toolkit.results import DRAWN, drawn_table

if TYPE_CHECKING:
    import pandas as pd

LONG = ("csv", "tsv", "json")


def table_text(table: pd.DataFrame, form: str = "table", *, digits: int = 4) -> str:
    """Return any result table as text.

    Args:
        table: scores, honest rows, differences, comparisons, orders, contributions...
        form: `table` (for a terminal), `latex` (booktabs), `markdown`, `html`, `csv`, `tsv`, `json` (a list
            of records).
        digits: after the point, in the first four forms; the others have every digit.

    Returns:
        The text, which ends with a line feed. Missing values are empty in the first four forms, `nan` in
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
    if form == "json":
        rows = [
            {str(name): None if each != each or str(each) == "<NA>" else each for name, each in row.items()}
            for row in table.to_dict("records")
        ]
        return json.dumps(rows, ensure_ascii=False, indent=1) + "\n"
    if form in LONG:
        from fire_toolkit.formats.written import delimited_text

        return delimited_text(table, delimiter="\t" if form == "tsv" else ",", nan="nan")
    if form not in DRAWN:
        raise UsageError(f"form {form!r} is unknown; expected one of {', '.join([*DRAWN, *LONG])}")
    return drawn_table(table, form, digits)
