"""A group that knows its commands by name, and imports each when it is called."""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from keyword import iskeyword
from types import ModuleType
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from fire_toolkit.cli.common import WORDS, FireGroup

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
    gc.disable()
    try:
        return import_module(name)
    finally:
        gc.freeze()
        gc.enable()


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
        """Find the command and keep its words; for its help and for completion find what is told of it."""
        ctx.meta[WORDS] = tuple(args)
        own = args[: args.index("--")] if "--" in args else args
        wants_help = not {"-h", "--help"}.isdisjoint(own)
        if args and args[0] in self.names and (ctx.resilient_parsing or wants_help):
            name = args[0]
            return name, told_command(name, lambda: self.commands[name]), args[1:]
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


FILE = "helps.json"
Real = Callable[[], click.Command]


class _Told(click.Command):
    """A command that tells its help and its options, and is the real one where it is to run."""

    def __init__(self, real: Real, **settings: Any) -> None:
        super().__init__(**settings)
        self.real = real

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Return the real command's context, unless words are completed; `--help` ends here."""
        told = super().make_context(info_name, list(args), parent, **extra)
        return told if told.resilient_parsing else self.real().make_context(info_name, args, parent, **extra)


def told_command(name: str, real: Real) -> click.Command:
    """Return what is told of a command of the program, by its name."""
    text = (files(__package__) / FILE).read_text(encoding="utf-8")
    return _told(name, json.loads(text)[name], real)


def telling(command: click.Command, ctx: click.Context) -> dict[str, Any]:
    """Return what is told of a command: its help and its parameters; of a group also its commands."""
    found: dict[str, Any] = {"help": command.help, "params": [_telling(each, ctx) for each in command.params]}
    if isinstance(command, click.Group):
        below = {name: click.Context(each, parent=ctx) for name, each in command.commands.items()}
        found["commands"] = {name: telling(each.command, each) for name, each in below.items()}
        found["invoke_without_command"] = command.invoke_without_command
    return found


def _telling(parameter: click.Parameter, ctx: click.Context) -> dict[str, Any]:
    takes = parameter.type
    if isinstance(parameter, click.Argument):
        told: dict[str, Any] = {"metavar": parameter.make_metavar(ctx), "nargs": parameter.nargs}
    elif isinstance(parameter, click.Option) and (record := parameter.get_help_record(ctx)):
        metavar = None if parameter.is_flag else parameter.make_metavar(ctx)
        spelled = [*parameter.opts]
        spelled[-1] += "".join(f"/{each}" for each in parameter.secondary_opts)
        told = {"opts": spelled, "help": record[1]}
        if metavar:
            told["metavar"] = metavar
        if parameter.is_flag:  # False would let a value be left out
            told["is_flag"] = True
    told |= {"choices": list(takes.choices)} if isinstance(takes, click.Choice) else {}
    told |= {"is_path": True} if isinstance(takes, click.Path) else {}
    return told | ({"multiple": True} if parameter.multiple else {}) | {"name": parameter.name}


def _told(name: str, told: Mapping[str, Any], real: Real) -> click.Command:
    params = [_parameter(dict(each)) for each in told["params"]]
    if "commands" not in told:
        return _Told(real, name=name, params=params, help=told["help"])

    def below(word: str) -> Real:
        return lambda: real().commands[word]  # type: ignore[attr-defined]  # the real one is a group, too

    commands = {word: _told(word, each, below(word)) for word, each in told["commands"].items()}
    settings = {"params": params, "help": told["help"]}
    alone = bool(told["invoke_without_command"])
    return FireGroup(name, commands, **settings, invoke_without_command=alone)


def _parameter(told: dict[str, Any]) -> click.Parameter:
    name, choices = told.pop("name"), told.pop("choices", None)
    takes = click.Choice(choices) if choices else click.Path() if told.pop("is_path", False) else None
    if "opts" not in told:
        told.pop("multiple", None)
        return click.Argument([name], required=False, type=takes, **told)
    return click.Option([*told.pop("opts"), name], type=takes, **told)
