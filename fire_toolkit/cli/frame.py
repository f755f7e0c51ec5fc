"""A function of `commands` as a command: options from its signature, help from its docstring's sentences.

Its tables are read as their types say, from the files given or the workspace's; what it returns is printed,
and with --out written with a manifest, in one way.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import click

from fire_toolkit.cli.common import DRAWN, format_option, n_of, say, say_next, setting_or_default
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.options import shared_option
from fire_toolkit.cli.printing import print_table
from fire_toolkit.cli.progress_line import Progress
from fire_toolkit.cli.readers import read_table
from fire_toolkit.commands.command import marked, tables_of
from fire_toolkit.commands.types import Option, Table
from fire_toolkit.formats.tables.table_text import table_text
from fire_toolkit.results import Found
from fire_toolkit.workspace.config import SETTINGS

_SHARED = ("runs", "own_item", "pool_sources")  # whose options are more than a name and a help
_OUT = "Also write the table as CSV, with a manifest."
_PLACES = {"compare": "comparison/comparison.csv"}  # of what a command keeps in the workspace, unless told


@cache
def framed(function: Callable[..., Found]) -> click.Command:
    """Return the command of a function of `commands`."""
    own = inspect.unwrap(function)
    hints, tables = get_type_hints(own, include_extras=True), tables_of(own)
    text, helps = described(own)
    parameters = inspect.signature(own).parameters
    plain = [each for name, each in parameters.items() if name not in (*tables, "tell")]
    params: list[click.Parameter] = []
    for name in parameters:
        if name in tables:
            params += _options_of_table(name, tables[name], helps[name])
    params += [_option_of_value(each, hints[each.name], helps[each.name]) for each in plain]
    params += _made_by(format_option, click.option("--out", metavar="FILE", help=_OUT))

    def run(**values: Any) -> None:
        given = Given(values)
        called = {each.name: _value(each, hints[each.name], values[each.name]) for each in plain}
        kept = {each.name: _for_manifest(called[each.name], hints[each.name]) for each in plain}
        with Progress(f"{own.__name__} ...") as tell:
            called |= {name: read_table(table.read, given, called) for name, table in tables.items()}
            result = own(**called, **({"tell": tell} if "tell" in hints else {}))
        _show(result, given, called)
        is_usual = not any(values.get(name) for name in tables) and True not in kept.values()
        _keep(result, given, own.__name__, kept, is_usual=is_usual)

    run.__module__ = own.__module__
    return click.Command(own.__name__.replace("_", "-"), params=params, callback=run, help=text)


def described(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Return what a function's docstring says: of itself, and in a sentence of each parameter."""
    text, _, rest = inspect.cleandoc(function.__doc__ or "").partition("\n\nArgs:\n")
    found = re.findall(r"^    (\w+): ((?:.|\n     )+)", rest.partition("\n\n")[0], re.MULTILINE)
    return text, {name: " ".join(words.split()) for name, words in found}


def _options_of_table(name: str, table: Table, words: str) -> list[click.Parameter]:
    """Return a table's option, and those that say how it is read."""
    if table.is_told:
        return []
    if table.is_argument:
        return [click.Argument([name], metavar=table.metavar, required=table.metavar[0] != "[")]
    if name in _SHARED:
        return _made_by(shared_option(name, words))
    spelled = [table.option or f"--{name.replace('_', '-')}", name]
    also = [option for each in table.also for option in _made_by(shared_option(each))]
    return [click.Option(spelled, multiple=table.is_several, metavar=table.metavar, help=words), *also]


def _made_by(*decorators: Callable[..., Any]) -> list[click.Parameter]:
    """Return the parameters that decorators add to a command."""

    def holder() -> None: ...

    for decorator in reversed(decorators):
        decorator(holder)
    return list(reversed(getattr(holder, "__click_params__", [])))


def _option_of_value(parameter: inspect.Parameter, hint: Any, words: str) -> click.Parameter:
    """Return the option of a plain value: a flag, a choice, one value, or several."""
    kind, more = _kind_of(hint), marked(hint, Option) or Option()
    if more.is_argument:
        return click.Argument([parameter.name], required=parameter.default is parameter.empty)
    spelled = [*(more.names or [f"--{parameter.name.replace('_', '-')}"]), parameter.name]
    if kind is bool:
        return click.Option(spelled, is_flag=True, help=words)
    default = None if parameter.default is parameter.empty else parameter.default
    of: Any = next((each for each in (*get_args(kind), kind) if each in (int, float)), str)
    if get_origin(kind) is Literal:
        of = click.Choice(get_args(kind))
    elif more.least is not None:
        of = click.IntRange(min=more.least)
    settings: dict[str, Any] = {"type": of, "metavar": more.metavar, "help": words}
    if not _is_several(kind) and more.setting is None:
        return click.Option(spelled, default=default, show_default=default is not None, **settings)
    shown = default if isinstance(default, str | int | float) else ", ".join(default or ())
    settings["help"] += f" [default: {shown}]" if shown else ""
    return click.Option(spelled, multiple=_is_several(kind), **settings)


def _kind_of(hint: Any) -> Any:
    """Return the type of an annotation, without marks and without None."""
    kind = hint.__origin__ if hasattr(hint, "__metadata__") else hint
    others = [each for each in get_args(kind) if each is not type(None)]
    return others[0] if type(None) in get_args(kind) and len(others) == 1 else kind


def _is_several(kind: Any) -> bool:
    return any(get_origin(each) in (tuple, Sequence, Mapping) for each in (kind, *get_args(kind)))


def _value(parameter: inspect.Parameter, hint: Any, value: Any) -> Any:
    """Return the value of an option: as given, else of fire.toml, else the default."""
    more = marked(hint, Option) or Option()
    if more.parse:
        return more.parse(value)
    if more.setting:
        found = setting_or_default(value, *more.setting)
        is_one = isinstance(found, str | int | float) and _is_several(_kind_of(hint))
        return (found,) if is_one else tuple(found) if isinstance(found, list) else found
    return parameter.default if value == () else value


def _for_manifest(value: Any, hint: Any) -> Any:
    """Return a value as fire.toml would have it: one alone where its setting is one."""
    setting = (marked(hint, Option) or Option()).setting
    if not isinstance(value, tuple):
        return value
    is_one = len(value) == 1 and setting and not isinstance(SETTINGS[setting[0]][setting[1]], list)
    return value[0] if is_one else list(value)


def _show(result: Found, given: Given, tables: Mapping[str, Any]) -> None:
    """Print the table, what it rests on, notes, and what else the result says."""
    form = "csv" if result.is_long and given.form in DRAWN else given.form
    basis = given.basis(*result.more, of=tables)
    print_table(result.table, form, result.draw or table_text, basis=basis, notes=result.notes)
    for line in result.said:
        say(line)


def _keep(result: Found, given: Given, name: str, parameters: Mapping[str, Any], *, is_usual: bool) -> None:
    """Write the table to --out, else where the workspace keeps it; say so, and what comes next."""
    table = result.table if result.written is None else result.written
    given_ones = {key: value for key, value in parameters.items() if value not in (None, False, [], {})}
    given.keep(table, name, given_ones, place=_PLACES.get(name) if is_usual else None, counts=result.counts)
    out = given.values["out"]
    if out and result.next:
        tasks = Path(out).with_suffix(".tasks.json")
        say(f"{n_of(len(table), 'pair')} to judge in {out}")
        say_next(f"{result.next} {out}", f"--queries {given.hint('QUERIES')} --out {tasks}")
