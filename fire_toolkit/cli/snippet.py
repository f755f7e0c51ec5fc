"""`snippet`: the lines that save a model's predictions."""

from __future__ import annotations

from typing import Annotated

import click

from fire_toolkit.commands.types import Option
from fire_toolkit.formats.snippets import SNIPPETS, find_snippet


def snippet(name: Annotated[str | None, Option(is_argument=True)] = None) -> None:
    """Print the lines that make a model's own code save its predictions with ids.

    NAME is a repository (clip4clip, lavis, mteb, ...); without it the list is printed.

    Args:
        name: The repository.
    """
    if name is None:
        for known in SNIPPETS.values():
            click.echo(f"{known.name:<16}{known.project}")
        return
    click.echo(find_snippet(name).text, nl=False)
