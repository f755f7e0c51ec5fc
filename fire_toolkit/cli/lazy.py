"""A group that knows its commands by name, imports each when it is called, and has their helps in a file.

`docs/build_commands.py` writes the file, `helps.json`, from the commands themselves.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from keyword import iskeyword
from types import ModuleType
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from fire_toolkit.cli.common import WORDS, FireGroup, without_collection

FILE = "helps.json"
_FUNCTIONS = "fire_toolkit.commands"


class LazyCommands(Mapping[str, click.Command]):
    """The commands by name: functions of `commands`, or of a module beside this one; imported when asked."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(names)
        self._made: dict[str, click.Command] = {}

    def __getitem__(self, name: str) -> click.Command:
        if name not in self.names:
            raise KeyError(name)
        if name in self._made:
            return self._made[name]
        if name != "add-run":  # which ranks vectors; on the small matrices of resampling threads wait
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        # Arrow's own allocators give memory back at once, so that its pages are cleared again and again
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
        word = name.replace("-", "_")
        word += "_" if iskeyword(word) else ""
        is_of_tables = find_spec(f"{_FUNCTIONS}.{word}") is not None
        module = _imported(f"{_FUNCTIONS if is_of_tables else __package__}.{word}")
        function = getattr(module, word, None)
        if not isinstance(function, click.Command):
            plain = _imported(f"{__package__}.plain")
            make = _imported(f"{__package__}.frame").framed if is_of_tables else plain.plain_command
            function = plain.group_of(module, make) if hasattr(module, "COMMANDS") else make(function)
        self._made[name] = function
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def _imported(name: str) -> ModuleType:
    """Return a module; what its import makes stays, so cycles are not looked for in it, then or later."""
    if name in sys.modules or not gc.isenabled():
        return import_module(name)
    with without_collection():
        module = import_module(name)
        gc.freeze()
    return module


class Group(NamedTuple):
    """What some commands are for: its name, what people do with them in a sentence, and their names."""

    name: str
    sentence: str
    commands: tuple[str, ...]


class LazyGroup(FireGroup):
    """A group whose help and completion need none of its commands, which stand in `groups`."""

    def __init__(self, *, groups: Sequence[Group], **settings: Any) -> None:
        super().__init__(**settings)
        self.groups = groups
        self.names = [name for group in groups for name in group.commands]
        self.commands = LazyCommands(self.names)  # type: ignore[assignment]  # nothing is added to it

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command and keep its words; its help is told at once, as the file of helps has it."""
        ctx.meta[WORDS] = tuple(args)
        own = args[: args.index("--")] if "--" in args else args
        if args[:1] and args[0] in self.names and not {"-h", "--help"}.isdisjoint(own):
            helps = json.loads((files(__package__) / FILE).read_text(encoding="utf-8"))
            click.echo(helps.get(" ".join(args[:2]), helps[args[0]]))
            ctx.exit()
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what each group of commands is for, and their names."""
        for group in self.groups:
            formatter.write(f"\n{group.name.capitalize()}: {group.sentence}.\n")
            with formatter.indentation():
                formatter.write_text(", ".join(group.commands))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands and options that begin so."""
        commands = [CompletionItem(name) for name in self.names if name.startswith(incomplete)]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]
