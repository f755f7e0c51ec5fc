"""A function's parameters as a command's options and arguments: what its signature and its docstring say."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import click

from fire_toolkit.cli.common import Range, setting_or_default
from fire_toolkit.commands.command import marked
from fire_toolkit.commands.types import Option


def described(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Return what a function's docstring says: of itself, and in a sentence of each parameter."""
    text, _, rest = inspect.cleandoc(function.__doc__ or "").partition("\n\nArgs:\n")
    found = re.findall(r"^    (\w+): ((?:.|\n     )+)", rest.partition("\n\n")[0], re.MULTILINE)
    return text, {name: " ".join(words.split()) for name, words in found}


def made_by(*decorators: Callable[..., Any]) -> list[click.Parameter]:
    """Return the parameters that decorators add to a command."""

    def holder() -> None: ...

    for decorator in reversed(decorators):
        decorator(holder)
    return list(reversed(getattr(holder, "__click_params__", [])))


def option_of(parameter: inspect.Parameter, hint: Any, words: str) -> click.Parameter:
    """Return the option of a plain value, or its argument: a flag, a choice, one value, or several."""
    kind, more = _kind_of(hint), marked(hint, Option) or Option()
    is_needed, several = parameter.default is parameter.empty, _is_several(kind)
    if more.is_argument:
        shape: dict[str, Any] = {"nargs": -1 if several else 1, "metavar": more.metavar}
        return click.Argument([parameter.name], required=is_needed, type=_type_of(kind, hint), **shape)
    spelled = [*(more.names or [f"--{parameter.name.replace('_', '-')}"]), parameter.name]
    if kind is bool and more.setting:  # fire.toml may say that it is so
        both = f"{spelled[0]}/--no-{spelled[0].removeprefix('--')}"
        return click.Option([both, parameter.name], default=None, help=words)
    if kind is bool:
        return click.Option(spelled, is_flag=True, help=words)
    default = None if is_needed else parameter.default
    metavar = more.metavar or ("FILE" if kind is Path else None)
    settings: dict[str, Any] = {"type": _type_of(kind, hint), "metavar": metavar, "help": words}
    settings["required"] = is_needed
    if not several and more.setting is None:
        shows = default is not None and default != ""
        return click.Option(spelled, default=default, show_default=shows, **settings)
    shown = default if isinstance(default, str | int | float) else ", ".join(default or ())
    settings["help"] += f" [default: {shown}]" if shown or shown == 0 else ""
    return click.Option(spelled, multiple=several, **settings)


def value_of(parameter: inspect.Parameter, more: Option, value: Any) -> Any:
    """Return the value of an option: as given, else of fire.toml, else the default."""
    if more.parse:
        return more.parse(value)
    if more.setting:
        found = setting_or_default(value, *more.setting)
        is_one = isinstance(found, str | int | float) and isinstance(value, tuple)
        return (found,) if is_one else tuple(found) if isinstance(found, list) else found
    return parameter.default if value == () and parameter.default is not parameter.empty else value


def _type_of(kind: Any, hint: Any) -> click.ParamType[Any]:
    """Return what click makes of a word: as a mark of the annotation says, else its type."""
    of = next((each for each in (*get_args(kind), kind) if each in (int, float, Path)), str)
    if own := marked(hint, click.ParamType):
        found: click.ParamType[Any] = own
    elif literal := next((each for each in (kind, *get_args(kind)) if get_origin(each) is Literal), None):
        found = click.Choice(get_args(literal))
    elif (bounds := marked(hint, Option)) and (bounds.least, bounds.most) != (None, None):
        range_of: Any = click.IntRange if of is int else Range
        found = range_of(bounds.least, bounds.most, min_open=bounds.is_above)
    else:
        found = click.Path(path_type=Path) if of is Path else click.types.convert_type(of)
    return found


def _kind_of(hint: Any) -> Any:
    """Return the type of an annotation, without marks and without None."""
    kind = hint.__origin__ if hasattr(hint, "__metadata__") else hint
    others = [each for each in get_args(kind) if each is not type(None)]
    return others[0] if type(None) in get_args(kind) and len(others) == 1 else kind


def _is_several(kind: Any) -> bool:
    return any(get_origin(each) in (tuple, Sequence, Mapping) for each in (kind, *get_args(kind)))
