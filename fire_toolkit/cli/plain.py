"""A function that serves, sends or manages accounts as a command; a module of such functions as a group.

Its options come from its signature and its docstring, see `cli.parameters`. A parameter `as_json` is
`--format text|json`, `output_format` the format of a table; one whose type is a dataclass stands for an
option for each of its fields. The number that the function returns is the exit code.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import is_dataclass
from functools import cache, partial
from types import ModuleType
from typing import Any, get_type_hints

import click

from fire_toolkit.cli.common import FireGroup, format_option, json_option
from fire_toolkit.cli.parameters import described, made_by, option_of, value_of
from fire_toolkit.commands.command import marked
from fire_toolkit.commands.types import Option


@cache
def plain_command(function: Callable[..., int | None]) -> click.Command:
    """Return the command of a function."""
    own = inspect.unwrap(function)

    def run(**values: Any) -> None:
        code = function(**{name: value(values) for name, (_, value) in found.items()})
        if code:
            click.get_current_context().exit(code)

    found = {each.name: (options, value) for each, options, value in _parameters(own)}
    params = [option for options, _ in found.values() for option in options]
    run.__module__ = own.__module__
    name = own.__name__.rstrip("_").replace("_", "-")
    return click.Command(name, params=params, callback=run, help=described(own)[0])


@cache
def group_of(module: ModuleType, make: Callable[..., click.Command] = plain_command) -> click.Group:
    """Return the group of the functions that a module lists as its COMMANDS; its docstring is the help.

    A function of the module's own name is what the group does without one of these.
    """
    word = module.__name__.rpartition(".")[2]
    own = make(getattr(module, word)) if hasattr(module, word) else None

    def run(**values: Any) -> None:
        if own is not None and own.callback and not click.get_current_context().invoked_subcommand:
            own.callback(**values)

    run.__module__ = module.__name__
    commands = {each.name or "": each for each in map(make, module.COMMANDS)}
    settings: dict[str, Any] = {"context_settings": {"help_option_names": ["-h", "--help"]}, "callback": run}
    settings |= {"help": own.help if own else module.__doc__, "params": own.params if own else []}
    settings["invoke_without_command"] = own is not None
    return FireGroup(word.rstrip("_").replace("_", "-"), commands, **settings)


_OF_THE_FRAME = {"as_json": json_option, "output_format": format_option}
Value = Callable[[Mapping[str, Any]], Any]


def _parameters(own: Callable[..., Any]) -> Iterator[tuple[inspect.Parameter, list[click.Parameter], Value]]:
    """Yield each parameter of a function, its options, and what makes its value of theirs."""
    hints, helps = get_type_hints(own, include_extras=True), described(own)[1]
    for each in inspect.signature(own).parameters.values():
        hint = hints[each.name]
        if each.name in _OF_THE_FRAME:
            yield each, made_by(_OF_THE_FRAME[each.name]), partial(_given, each.name)
        elif isinstance(hint, type) and is_dataclass(hint):
            fields = list(_parameters(hint))
            options = [option for _, of_field, _ in fields for option in of_field]
            yield each, options, partial(_made, hint, {field.name: value for field, _, value in fields})
        else:
            yield (
                each,
                [option_of(each, hint, helps.get(each.name, ""))],
                partial(_one, each, marked(hint, Option) or Option()),
            )


def _given(name: str, values: Mapping[str, Any]) -> Any:
    return values[name]


def _one(parameter: inspect.Parameter, more: Option, values: Mapping[str, Any]) -> Any:
    return value_of(parameter, more, values[parameter.name])


def _made(kind: Callable[..., Any], fields: Mapping[str, Value], values: Mapping[str, Any]) -> Any:
    return kind(**{name: value(values) for name, value in fields.items()})
