"""How the commands print a table: drawn for people or whole for programs, and what it rests on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import click
import pandas as pd

from fire_toolkit.cli.common import DRAWN, drawn, formatted, say
from fire_toolkit.cli.progress_line import wipe_progress
from fire_toolkit.formats.tables.table_text import table_text

Columns = Mapping[str, tuple[str, str]]
Draw = Callable[[Any, str], str]


def print_table(
    table: pd.DataFrame,
    output_format: str,
    draw: Draw = table_text,
    *,
    basis: str = "",
    notes: Sequence[str] = (),
) -> None:
    """Print a table, what it rests on and notes: csv, tsv and json whole, the others as `draw` has it."""
    text = (draw if output_format in DRAWN else formatted)(table, output_format)
    print_text(text, output_format, basis=basis, notes=notes)


def shown_as(columns: Columns) -> Draw:
    """Return what draws these columns of a table, name → heading, format of its numbers; nan is empty."""
    return partial(_drawn_columns, columns=columns)


def _drawn_columns(table: pd.DataFrame, output_format: str, columns: Columns) -> str:
    rows = [
        ["" if row[name] != row[name] else f"{row[name]:{form}}" for name, (_, form) in columns.items()]
        for row in table.to_dict("records")
    ]
    return drawn(rows, [heading for heading, _ in columns.values()], output_format)


def print_text(text: str, output_format: str, *, basis: str, notes: Sequence[str] = ()) -> None:
    """Print a table's text, what it rests on and notes: for LaTeX and Markdown below it, else on stderr."""
    wipe_progress()
    click.echo(text, nl=False)
    lines = ([f"rests on: {basis}"] if basis else []) + [f"note: {note}" for note in notes]
    for line in lines:
        if output_format == "latex":
            click.echo(f"% {line}")
        elif output_format == "markdown":
            click.echo(f"\n{line[0].upper()}{line[1:]}.")
        else:
            say(line)
