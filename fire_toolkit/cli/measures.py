"""`measures`: every measure's definition, source and conventions."""

from __future__ import annotations

import click

from fire_toolkit.cli.common import drawn
from fire_toolkit.errors import UsageError
from fire_toolkit.measures import Definition, list_measures, parse_measure
from fire_toolkit.measures.registry import MEASURES


@click.command()
@click.argument("name", required=False)
def measures(name: str | None) -> None:
    """List the measures, or explain one: its definition, source and conventions."""
    if name is None:
        rows = [[definition.pattern, definition.summary] for definition in list_measures()]
        click.echo(drawn(rows, ["measure", "definition"], "table", align="left"), nl=False)
        return
    definition = _definition(name)
    direction = "larger is better" if definition.larger_is_better else "smaller is better"
    click.echo(f"{definition.pattern} (such as {definition.example})")
    click.echo(f"  definition   {definition.summary}")
    click.echo(f"  source       {definition.source}")
    click.echo(f"  conventions  {definition.convention}")
    click.echo(f"  value        a {definition.unit}; {direction}; {definition.aggregate} over queries")


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
