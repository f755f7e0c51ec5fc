"""Commands as `helps.json` tells of them, for `--help` and completion: nothing that computes is imported.

`docs/build_commands.py` writes the file, from the commands themselves.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

import click

from fire_toolkit.cli.common import FireGroup

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
