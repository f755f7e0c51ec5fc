"""A group that knows its commands by name and one line of help, and imports each when it is called."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from keyword import iskeyword
from types import ModuleType
from typing import Any

import click
from click.shell_completion import CompletionItem

from fire_toolkit.cli.common import FireGroup

_FUNCTIONS = "fire_toolkit.commands"


class LazyCommands(Mapping[str, click.Command]):
    """The commands by name: functions of `commands`, or of a module beside this one; imported when asked."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(names)

    def __getitem__(self, name: str) -> click.Command:
        if name not in self.names:
            raise KeyError(name)
        word = name.replace("-", "_")
        word += "_" if iskeyword(word) else ""
        home = f"{_FUNCTIONS}.{word}"
        if find_spec(home):
            return _imported(f"{__package__}.frame").framed(getattr(_imported(home), word))  # type: ignore[no-any-return]
        command: click.Command = getattr(_imported(f"{__package__}.{word}"), word)
        return command

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
    gc.disable()
    try:
        return import_module(name)
    finally:
        gc.freeze()
        gc.enable()


class LazyGroup(FireGroup):
    """A group whose help and completion need none of its commands.

    `sections`: under each heading the commands, name → the first sentence of the command's help.
    """

    def __init__(self, *, sections: Mapping[str, Mapping[str, str]], **settings: Any) -> None:
        super().__init__(**settings)
        self.sections = {
            title: {name: click.Command(name, help=line) for name, line in lines.items()}
            for title, lines in sections.items()
        }
        self.lines = {name: shown for members in self.sections.values() for name, shown in members.items()}
        self.commands = LazyCommands(self.lines)  # type: ignore[assignment]  # nothing is added to it

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands of each section under its heading."""
        for title, members in self.sections.items():
            width = formatter.width - 6 - max(map(len, members))
            with formatter.section(title):
                formatter.write_dl([(name, line.get_short_help_str(width)) for name, line in members.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands and options that begin so."""
        commands = [
            CompletionItem(name, help=line.get_short_help_str())
            for name, line in self.lines.items()
            if name.startswith(incomplete)
        ]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]
