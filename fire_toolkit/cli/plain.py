"""A function as a command: its parameters as options, as its signature and its docstring say.

`plain_command` makes the command of any function, `group_of` that of a module of functions; where one takes
and returns tables, `frame` says what becomes of the result. A parameter `as_json` is `--format text|json`,
`output_format` the format of a table; one whose type is a dataclass stands for an option for each of its
fields. The number that the function returns is the exit code.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, get_args, get_origin

import click

from fire_toolkit.cli.common import FireGroup, Range, format_option, json_option
from fire_toolkit.cli.here import current_workspace
from fire_toolkit.commands.command import Parameter, about, refuse_apart
from fire_toolkit.matching.own_items import RULES
from fire_toolkit.workspace.config import SETTINGS
from fire_toolkit.workspace.database import kept_open


@cache
def plain_command(function: Callable[..., int | None]) -> click.Command:
    """Return the command of a function; what it returns is the exit code."""

    def run(**values: Any) -> None:
        context = click.get_current_context()
        context.with_resource(kept_open())
        if code := function(**arguments_of(function, values)):
            context.exit(code)

    run.__module__ = function.__module__
    name = function.__name__.rstrip("_").replace("_", "-")
    return click.Command(name, params=options_of(function), callback=run, help=about(function).text)


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


def arguments_of(own: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a function's plain arguments, of the values of all options: as given, of fire.toml, the default.

    Raises:
        OptionError: options do not go together.
    """
    spelled = {
        str(each.name): each.human_readable_name if isinstance(each, click.Argument) else each.opts[0]
        for each in click.get_current_context().command.params
    }
    refuse_apart(own, values, spelled)
    found = dict[str, Any]()
    for name, default, kind, _, more, *_ in about(own).plain:
        if hasattr(kind, "__dataclass_fields__"):
            found[name] = kind(**arguments_of(kind, values))
        elif more.parse:
            found[name] = more.parse(values[name])
        elif values[name] not in (None, ()) or not more.setting:
            has_default = default is not inspect.Parameter.empty
            found[name] = default if values[name] == () and has_default else values[name]
        else:
            (section, key), workspace = more.setting, current_workspace()
            setting = (workspace.settings if workspace else SETTINGS)[section][key]
            is_several = isinstance(setting, list)
            found[name] = tuple(setting) if is_several else (setting,) if values[name] == () else setting
    return found


_NO_GUIDELINE = "Without it: the default's labels, or numbers as their own grades."
_ALSO = {  # options that say how a table's files are read, see `Table.also`
    "guideline": [("--guideline", "NAME", f"The guideline judged by. {_NO_GUIDELINE}")],
    "exclude": [
        ("--exclude", "NAME", "Leave out the judgments of an annotator (may be repeated); needs --reason."),
        ("--reason reasons", "TEXT", "Why; kept in the manifest. One for all --exclude, or one for each."),
    ],
}


def _only_one(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> str | None:
    """Return the value given; a usage error for a second one, which would take the place of the first."""
    if len(values) > 1:
        raise click.BadParameter(
            f"given {len(values)} times; `pool` all runs: one file has all their sources"
        )
    return values[0] if values else None


# Of the options of tables that take no file, and that of several which has to be given once.
_OF_TABLES: dict[str, dict[str, Any]] = {
    "own_item": {"metavar": None, "type": click.Choice(RULES)},
    "pool_sources": {"multiple": True, "callback": _only_one},
}


def options_of(own: Callable[..., Any], *more: click.Parameter) -> list[click.Parameter]:
    """Return the options of a function: a single word, then its tables, its values, and more."""
    options = list[click.Parameter]()
    for name, table in about(own).tables.items():
        if table.is_told:
            continue
        if name == "runs" or table.is_argument:
            is_one = name != "runs" and not table.is_several
            metavar = table.metavar if table.is_argument else "RUN..."
            is_needed = table.is_argument and metavar[0] != "["
            nargs = 1 if is_one else -1
            options.append(click.Argument([name], nargs=nargs, metavar=metavar, required=is_needed))
        else:
            settings: dict[str, Any] = {"multiple": table.is_several, "metavar": table.metavar}
            settings |= _OF_TABLES.get(name, {})
            spelled = [table.option or f"--{name.replace('_', '-')}", name]
            options.append(click.Option(spelled, help=about(own).parameters[name].words, **settings))
        options += [
            click.Option(typed.split(), multiple=each == "exclude", metavar=metavar, help=words)
            for each in table.also
            for typed, metavar, words in _ALSO[each]
        ]
    for parameter in about(own).plain:
        if parameter.name in _OF_THE_FRAME:
            options.append(_OF_THE_FRAME[parameter.name])
        elif hasattr(parameter.kind, "__dataclass_fields__"):
            options += options_of(parameter.kind)
        else:
            options.append(option_of(parameter))
    return sorted(
        [*options, *more], key=lambda each: not (isinstance(each, click.Argument) and each.nargs == 1)
    )


def option_of(parameter: Parameter) -> click.Parameter:
    """Return the option of a plain value, or its argument: a flag, a choice, one value, or several."""
    name, default, kind, _, more, _, words = parameter
    others = [each for each in get_args(kind) if each is not type(None)]
    kind = others[0] if type(None) in get_args(kind) and len(others) == 1 else kind
    is_needed = default is inspect.Parameter.empty
    several = any(get_origin(each) in (tuple, Sequence, Mapping) for each in (kind, *get_args(kind)))
    of = next((each for each in (*get_args(kind), kind) if each in (int, float, Path)), str)
    literal = next((each for each in (kind, *get_args(kind)) if get_origin(each) is Literal), None)
    taken: Any = click.Path(path_type=Path) if of is Path else of
    if isinstance(parameter.more, click.ParamType):
        taken = parameter.more
    elif literal:
        taken = click.Choice(get_args(literal))
    elif (more.least, more.most) != (None, None):
        range_of: Any = click.IntRange if of is int else Range
        taken = range_of(more.least, more.most, min_open=more.is_above)
    if more.is_argument:
        shape: dict[str, Any] = {"nargs": -1 if several else 1, "metavar": more.metavar}
        return click.Argument([name], required=is_needed, type=taken, **shape)
    spelled = [*(more.names or [f"--{name.replace('_', '-')}"]), name]
    if kind is bool and more.setting:  # fire.toml may say that it is so
        both = f"{spelled[0]}/--no-{spelled[0].removeprefix('--')}"
        return click.Option([both, name], default=None, help=words)
    if kind is bool:
        return click.Option(spelled, is_flag=True, help=words)
    default = None if is_needed else default
    metavar = more.metavar or ("FILE" if kind is Path else None)
    settings: dict[str, Any] = {"type": taken, "metavar": metavar, "help": words}
    settings["required"] = is_needed
    if not several and more.setting is None:
        shows = default is not None and default != ""
        return click.Option(spelled, default=default, show_default=shows, **settings)
    shown = default if isinstance(default, str | int | float) else ", ".join(default or ())
    settings["help"] += f" [default: {shown}]" if shown or shown == 0 else ""
    return click.Option(spelled, multiple=several, **settings)
