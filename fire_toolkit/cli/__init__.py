"""The command line: each command reads, calls one pure function, and writes.

Read `frame` first: how a function of `commands` becomes a command, and what it returns is printed and written.
`plain` makes options of a signature, and commands of this room's functions that serve, send or manage
accounts: one file for each, called as its command. `given` knows where each table is and keeps account of the
files; its TABLES say what reads each (`readers`, `run_readers`, `pool_readers`, `asking_readers`,
`report_readers`).

Here the program knows its commands by name, from `commands.toml`, imports each when it is called, and has
their helps in a file, `helps.json`, which `docs/build_commands.py` writes from the commands themselves.
"""

import gc
import json
import os
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from keyword import iskeyword
from typing import Any

import click
from click.shell_completion import CompletionItem

from fire_toolkit import __version__
from fire_toolkit.cli.common import WORDS, FireGroup
from fire_toolkit.words import table_in, text_in

FILE = "helps.json"
_TOLD = table_in("cli", "commands.toml")
GROUPS, _FILES = _TOLD["groups"], _TOLD["files"]
NAMED = _TOLD["named"]  # what a line of a command names outside a workspace
NAMES = [name for _, names in GROUPS.values() for name in names.split()]


class LazyCommands(Mapping[str, click.Command]):
    """The commands by name, each made once it is asked for."""

    def __init__(self) -> None:
        self._made: dict[str, click.Command] = {}

    def __getitem__(self, name: str) -> click.Command:
        """Return a command: a function of `commands`, or of a module beside this one, which is imported."""
        if name in self._made:
            return self._made[name]
        if name not in NAMES:
            raise KeyError(name)
        if name != "add-run":  # which ranks vectors; on the small matrices of resampling threads wait
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        # Arrow's own allocators give memory back at once, so that its pages are cleared again and again
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
        word = name.replace("-", "_")
        word += "_" if iskeyword(word) else ""
        file = next((file for file, names in _FILES.items() if name in names.split()), word)
        is_of_tables = find_spec(f"fire_toolkit.commands.{file}") is not None
        was_on = gc.isenabled()
        gc.disable()  # what imports make stays, so cycles are not looked for in it, then or later
        try:
            module = import_module(f"fire_toolkit.commands.{file}" if is_of_tables else f"{__name__}.{file}")
            found = getattr(module, word, None)
            if not isinstance(found, click.Command):
                plain = import_module(f"{__name__}.plain")
                make = import_module(f"{__name__}.frame").framed if is_of_tables else plain.plain_command
                found = plain.group_of(module, make) if hasattr(module, "COMMANDS") else make(found)
            gc.freeze()
        finally:
            if was_on:
                gc.enable()
        self._made[name] = found
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


class LazyGroup(FireGroup):
    """A group whose help and completion need none of its commands."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = LazyCommands()  # type: ignore[assignment]  # nothing is added to it

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command and keep its words; its help is told at once, as the file of helps has it."""
        ctx.meta[WORDS] = tuple(args)
        own = args[: args.index("--")] if "--" in args else args
        if args[:1] and args[0] in NAMES and not {"-h", "--help"}.isdisjoint(own):
            helps = json.loads(text_in("cli", FILE))
            click.echo(helps.get(" ".join(args[:2]), helps[args[0]]))
            ctx.exit()
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what each group of commands is for, and their names."""
        for name, (sentence, names) in GROUPS.items():
            formatter.write(f"\n{name.capitalize()}: {sentence}.\n")
            with formatter.indentation():
                formatter.write_text(names.replace(" ", ", "))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands and options that begin so."""
        commands = [CompletionItem(name) for name in NAMES if name.startswith(incomplete)]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]


_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
main = LazyGroup(name="main", context_settings=_CONTEXT, help=_TOLD["help"])
click.version_option(__version__, prog_name="fire-toolkit")(main)
