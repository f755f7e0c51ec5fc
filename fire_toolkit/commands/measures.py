"""`measures`: every measure's definition, source and conventions."""

from __future__ import annotations

from typing import Annotated

import pandas as pd

from fire_toolkit.commands.command import command
from fire_toolkit.commands.types import Option
from fire_toolkit.errors import UsageError
from fire_toolkit.measures import Definition, list_measures, parse_measure
from fire_toolkit.measures.registry import MEASURES
from fire_toolkit.results import Found, drawn_text


@command
def measures(name: Annotated[str | None, Option(is_argument=True)] = None) -> Found:
    """List the measures, or explain one: its definition, source and conventions.

    Args:
        name: A measure, with or without cutoff; all of them where none is named.

    Examples:
        >>> measures("AP@20").table[["measure", "unit"]]
          measure   unit
        0  AP[@k]  share
    """
    found = [*list_measures()] if name is None else [_definition(name)]
    columns = {
        "measure": [each.pattern for each in found],
        "definition": [each.summary for each in found],
        "source": [each.source for each in found],
        "convention": [each.convention for each in found],
        "unit": [each.unit for each in found],
        "aggregate": [each.aggregate for each in found],
        "larger_is_better": [each.larger_is_better for each in found],
        "example": [each.example for each in found],
    }
    return Found({"measures": pd.DataFrame(columns)}, draw=_listed if name is None else _explained)


def _listed(table: pd.DataFrame, form: str) -> str:
    rows = table[["measure", "definition"]].to_numpy().tolist()
    return drawn_text(rows, ["measure", "definition"], form, align="left")


def _explained(table: pd.DataFrame, form: str) -> str:
    (row,) = table.to_dict("records")
    direction = "larger is better" if row["larger_is_better"] else "smaller is better"
    value = f"a {row['unit']}; {direction}; {row['aggregate']} over queries"
    parts = {"definition": row["definition"], "source": row["source"], "conventions": row["convention"]}
    lines = [f"  {key:<13}{text}\n" for key, text in (parts | {"value": value}).items()]
    return f"{row['measure']} (such as {row['example']})\n{''.join(lines)}"


def _definition(name: str) -> Definition:
    """Return the definition of a measure by its name, with or without cutoff, or as the list shows it."""
    if name in MEASURES.built_in:
        return MEASURES[name]
    try:
        return parse_measure(name).definition
    except UsageError:
        shown = {key: item for item in MEASURES.values() for key in (item.pattern, item.key)}
        if name not in shown:
            raise
        return shown[name]
