"""`gather`: the shards of a command to what the whole command writes."""

from __future__ import annotations

from pathlib import Path

import click

from fire_toolkit.cli.common import WORDS
from fire_toolkit.cli.engines import GATHERED
from fire_toolkit.errors import FormatError

COMMANDS = ("add-run", "pool", "score")  # those that take --shard


@click.command()
@click.argument("folder", metavar="DIR")
def gather(folder: str) -> None:
    """Write what a command writes from its shards, which --shard I/N wrote into DIR.

    All N shards must be there, undamaged, of the same inputs, version and options; what is missing is
    named. The files are byte for byte those of the command without --shard, which is run again from the
    folder you are in, with the shards in the place of the work they did. Shards stay until you delete them.
    """
    from fire_toolkit.engines.kept import open_shards

    shards = open_shards(Path(folder))
    name, *words = shards.command
    context = click.get_current_context()
    group = context.find_root().command
    if name not in COMMANDS or not isinstance(group, click.Group):
        raise FormatError(f"{folder}: shards of `{name}`, expected those of {', '.join(COMMANDS)}")
    context.meta[GATHERED] = shards
    _, command, rest = group.resolve_command(context.find_root(), [name, *words])
    context.meta[WORDS] = shards.command
    if command is None:
        raise FormatError(f"{folder}: this version has no command {name}")
    with command.make_context(name, rest, parent=context.find_root()) as own:
        command.invoke(own)
