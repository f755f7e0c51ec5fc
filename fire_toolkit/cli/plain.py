"""A function as a command: its parameters as options, as its signature and its docstring say.

`plain_command` is of a function that serves, sends or manages accounts, `group_of` of a module of such
functions; `frame` makes commands of functions that take and return tables. A parameter `as_json` is
`--format text|json`, `output_format` the format of a table; one whose type is a dataclass stands for an
option for each of its fields. The number that the function returns is the exit code.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from functools import cache, partial
from operator import itemgetter
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import click

from fire_toolkit.cli.common import FireGroup, Range, format_option, json_option
from fire_toolkit.cli.here import setting_or_default
from fire_toolkit.commands.command import marked, refuse_apart
from fire_toolkit.commands.types import Option
from fire_toolkit.errors import UsageError


@cache
def plain_command(function: Callable[..., int | None]) -> click.Command:
    """Return the command of a function."""
    own = inspect.unwrap(function)

    params, arguments = _parameters(own)
    spelled = {str(each.name): each.opts[0] for each in params}

    def run(**values: Any) -> None:
        refuse_apart(own, values, spelled)
        if code := function(**arguments(values)):
            click.get_current_context().exit(code)

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


def _parameters(
    own: Callable[..., Any],
) -> tuple[list[click.Parameter], Callable[[Mapping[str, Any]], dict[str, Any]]]:
    """Return the options of a function's parameters, and what makes its arguments of their values."""
    hints, helps = get_type_hints(own, include_extras=True), described(own)[1]
    options, makers = list[click.Parameter](), dict[str, Callable[[Mapping[str, Any]], Any]]()
    for name, each in inspect.signature(own).parameters.items():
        hint = hints[name]
        if name in _OF_THE_FRAME:
            options.append(_OF_THE_FRAME[name])
            makers[name] = itemgetter(name)
        elif isinstance(hint, type) and is_dataclass(hint):
            of_fields, fields = _parameters(hint)
            options += of_fields
            makers[name] = partial(lambda kind, fields, values: kind(**fields(values)), hint, fields)
        else:
            options.append(option_of(each, hint, helps.get(name, "")))
            makers[name] = partial(value_of, each, marked(hint, Option) or Option())
    return options, lambda values: {name: make(values) for name, make in makers.items()}


def described(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Return what a function's docstring says: of itself, and in a sentence of each parameter."""
    text, _, rest = inspect.cleandoc(function.__doc__ or "").partition("\n\nArgs:\n")
    found = re.findall(r"^    (\w+): ((?:.|\n     )+)", rest.partition("\n\n")[0], re.MULTILINE)
    return text, {name: " ".join(words.split()) for name, words in found}


def option_of(parameter: inspect.Parameter, hint: Any, words: str) -> click.Parameter:
    """Return the option of a plain value, or its argument: a flag, a choice, one value, or several."""
    kind, more = hint.__origin__ if hasattr(hint, "__metadata__") else hint, marked(hint, Option) or Option()
    others = [each for each in get_args(kind) if each is not type(None)]
    kind = others[0] if type(None) in get_args(kind) and len(others) == 1 else kind
    is_needed = parameter.default is parameter.empty
    several = any(get_origin(each) in (tuple, Sequence, Mapping) for each in (kind, *get_args(kind)))
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


def value_of(parameter: inspect.Parameter, more: Option, values: Mapping[str, Any]) -> Any:
    """Return the value of an option: as given, else of fire.toml, else the default."""
    value = values[parameter.name]
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


_SAME = ({"query", "query_id"}, {"doc", "doc_id"}, {"annotator", "annotator_id"})


def named_columns(texts: Sequence[str], roles: Sequence[str]) -> dict[str, str]:
    """Return role → column of texts `ROLE=COLUMN,ROLE=COLUMN`; a column may hold commas and `=`.

    `query` and `query_id` are one role, so are `doc` and `doc_id`, and `annotator` and `annotator_id`.

    Examples:
        >>> named_columns(["doc=file_name,text=caption_*"], ["doc_id", "query_id", "text"])
        {'doc_id': 'file_name', 'text': 'caption_*'}
    """
    meant = {name: role for role in roles for name in next((same for same in _SAME if role in same), {role})}
    found: dict[str, str] = {}
    for text in texts:
        for part in re.split(rf",(?=\s*(?:{'|'.join(meant)})=)", text):
            name, equals, column = (each.strip() for each in part.partition("="))
            if name not in meant or not equals or not column:
                raise UsageError(f"--columns {part}: expected ROLE=NAME with one of {', '.join(roles)}")
            if found.setdefault(meant[name], column) != column:
                raise UsageError(f"--columns: {meant[name]} is named twice")
    return found
