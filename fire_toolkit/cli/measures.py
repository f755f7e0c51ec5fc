"""`measures`: every measure's definition, source and conventions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fire_toolkit.cli.common import drawn

if TYPE_CHECKING:
    from fire_toolkit.measures import Definition


@click.command()
@click.argument("name", required=False)
def measures(name: str | None) -> None:
    """List the measures, or explain one: its definition, source and conventions."""
    from fire_toolkit.measures import list_measures, parse_measure

    if name is None:
        rows = [[definition.pattern, definition.summary] for definition in list_measures()]
        click.echo(drawn(rows, ["measure", "definition"], "table", align="left"), nl=False)
        return
    known = {key: item for item in list_measures() for key in (item.pattern, _bare(item))}
    definition = known.get(name) or parse_measure(name).definition
    direction = "larger is better" if definition.larger_is_better else "smaller is better"
    click.echo(f"{definition.pattern} (such as {definition.example})")
    click.echo(f"  definition   {definition.summary}")
    click.echo(f"  source       {definition.source}")
    click.echo(f"  conventions  {definition.convention}")
    click.echo(f"  value        a {definition.unit}; {direction}; {definition.aggregate} over queries")


def _bare(definition: Definition) -> str:
    return f"{definition.name}/{definition.variant}" if definition.variant else definition.name
