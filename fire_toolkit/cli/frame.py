"""A function of `commands` as a command: options from its signature, help from its docstring's sentences.

Its tables are read as their types say, from the files given or the workspace's; what it returns is printed,
and with --out written with a manifest, in one way.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

import click

from fire_toolkit.cli.common import DRAWN, format_option, n_of, say, say_next
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.options import shared_option
from fire_toolkit.cli.parameters import described, made_by, option_of, value_of
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
    params += [option_of(each, hints[each.name], helps[each.name]) for each in plain]
    params += made_by(format_option, click.option("--out", metavar="FILE", help=_OUT))

    def run(**values: Any) -> None:
        given = Given(values)
        called = {each.name: value_of(each, hints[each.name], values[each.name]) for each in plain}
        kept = {each.name: _for_manifest(called[each.name], hints[each.name]) for each in plain}
        with Progress(f"{own.__name__} ...") as tell:
            called |= {name: read_table(table.read, given, called) for name, table in tables.items()}
            result = own(**called, **({"tell": tell} if "tell" in hints else {}))
        _show(result, given, called)
        is_usual = not any(values.get(name) for name in tables) and True not in kept.values()
        _keep(result, given, own.__name__, kept, is_usual=is_usual)

    run.__module__ = own.__module__
    return click.Command(own.__name__.replace("_", "-"), params=params, callback=run, help=text)


def _options_of_table(name: str, table: Table, words: str) -> list[click.Parameter]:
    """Return a table's option, and those that say how it is read."""
    if table.is_told:
        return []
    if table.is_argument:
        return [click.Argument([name], metavar=table.metavar, required=table.metavar[0] != "[")]
    if name in _SHARED:
        return made_by(shared_option(name, words))
    spelled = [table.option or f"--{name.replace('_', '-')}", name]
    also = [option for each in table.also for option in made_by(shared_option(each))]
    return [click.Option(spelled, multiple=table.is_several, metavar=table.metavar, help=words), *also]


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
