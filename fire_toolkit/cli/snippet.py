"""`snippet`: the lines that save a model's predictions."""

from __future__ import annotations

import click

from fire_toolkit.formats.snippets import SNIPPETS, find_snippet


@click.command()
@click.argument("name", required=False)
def snippet(name: str | None) -> None:
    """Print the lines that make a model's own code save its predictions with ids.

    NAME is a repository (clip4clip, lavis, mteb, ...); without it the list is printed.
    """
    if name is None:
        for known in SNIPPETS.values():
            click.echo(f"{known.name:<16}{known.project}")
        return
    click.echo(find_snippet(name).text, nl=False)
