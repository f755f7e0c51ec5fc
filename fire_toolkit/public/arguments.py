"""What the public functions are given, checked by name: a wrong object gets a line, not a KeyError.

A function's own annotations say what it takes. A table made by hand is checked where it comes in, so
that a plain frame with the right columns will do.
"""

import inspect
import math
import re
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from itertools import starmap
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin

import numpy as np
import pandas as pd

from fire_toolkit.arrays import are_firsts
from fire_toolkit.commands.command import Parameter, about
from fire_toolkit.commands.types import Option
from fire_toolkit.errors import TableError, UsageError
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.inference.background import Background
from fire_toolkit.resolution.judgments import typed_judgments
from fire_toolkit.results import Found, Result, part_in_words, shown_html
from fire_toolkit.tables.checks import check_table
from fire_toolkit.tables.specs import SPECS as TABLES
from fire_toolkit.words import n_of

MADE_BY = {
    "Queries": "fire_toolkit.read_queries reads one",
    "Items": "fire_toolkit.read_items reads one",
    "Run": "fire_toolkit.run makes one of a file, a matrix, a dict or a frame",
    "Pool": "fire_toolkit.pool makes one, fire_toolkit.read_pool reads one",
    "PoolSources": "fire_toolkit.pool makes one, fire_toolkit.read_pool_sources reads one",
    "Tasks": "fire_toolkit.make_tasks makes one",
    "Judgments": "fire_toolkit.judgments makes one of a file or a frame",
    "Labels": "fire_toolkit.resolve makes one, fire_toolkit.read_labels reads one",
    "MachineJudgments": "fire_toolkit.read_machine_judgments reads one",
    "Disputes": "fire_toolkit.resolve makes one",
    "Qrels": "fire_toolkit.qrels makes one of a file, a dict or a frame",
    "Changes": "fire_toolkit.augment_qrels makes one",
    "Scores": "fire_toolkit.score makes one",
}
SPECS = {name: TABLES[re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()] for name in MADE_BY}


# What is no table of the data model: how its annotation begins, its type, and what to say of another.
_OTHERS: dict[str, tuple[type, str, str]] = {
    "Guideline": (Guideline, "a Guideline", "fire_toolkit.read_guideline reads one"),
    "Grades": (Mapping, "grades by label", "a guideline's are fire_toolkit.read_guideline(...).grades"),
    "Background": (Background, "a Background", "labels and disputes have parameters of their own"),
    "pd.DataFrame": (pd.DataFrame, "a table", ""),
    "Mapping[": (Mapping, "a dict", ""),
}


def checked(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a public function that looks at what it is given before it begins.

    Raises:
        UsageError: an argument is another table than the one annotated, or no table at all.
        TableError: a frame made by hand cannot be that table.
    """
    signature = inspect.signature(function)
    takes, plain = _taken_by(function)

    @wraps(function)
    def with_checks(*args: Any, **kwargs: Any) -> Any:
        try:
            given = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}: {error}") from None
        for parameter, value in given.arguments.items():
            given.arguments[parameter] = _argument(value, takes[parameter], f"{name}: {parameter}")
        _refuse_unfit(name, plain, given.arguments)
        try:
            found = function(*given.args, **given.kwargs)
        except KeyError:  # a plain frame says what it is by its columns alone
            expected = f"the columns that help(fire_toolkit.{name}) names"
            for each in (each for each in given.arguments if takes[each] == "pd.DataFrame"):
                _refuse(given.arguments[each], expected, "", f"{name}: {each}")
            raise
        parts = tuple(found) if isinstance(found, Result) and isinstance(found, tuple) else (found,)
        parts = tuple(found.tables.values()) if isinstance(found, Found) else parts
        inputs = set(map(id, given.arguments.values()))  # tables that were given stay as they are
        for part in parts:
            if isinstance(part, pd.DataFrame) and id(part) not in inputs:
                words = ", ".join(filter(None, starmap(_given_in_words, given.arguments.items())))
                _show_basis(part, f"{name} ({words})" if words else name)
        return found

    with_checks.__module__, with_checks.__qualname__ = "fire_toolkit", name
    return with_checks


def _taken_by(function: Callable[..., Any]) -> tuple[dict[str, str], dict[str, Parameter]]:
    """Return what each parameter of a function takes, in words, and a command's plain ones."""
    hints = {name: each.annotation for name, each in inspect.signature(function).parameters.items()}
    words = {name: hint if isinstance(hint, str) else _kind_in_words(hint) for name, hint in hints.items()}
    is_command = inspect.unwrap(function).__module__.startswith("fire_toolkit.commands.")
    told = about(function).parameters if is_command else {}
    for name, each in told.items():
        if each.table:
            words[name] = each.table.takes or _kind_in_words(each.kind)
        elif each.option != Option() or each.more:
            words[name] = str(each.kind).rpartition(".")[2]
    names = [name for name, each in told.items() if not each.table and name != "measures"]
    return words, {name: told[name] for name in names}  # measures may be measures themselves


def _kind_in_words(kind: Any) -> str:
    """Return a type as its annotation spells it."""
    if get_origin(kind) in (Union, UnionType):  # None last
        return " | ".join(map(_kind_in_words, get_args(kind)))
    if (of := get_args(kind)) and isinstance(get_origin(kind), type):
        return f"{get_origin(kind).__name__}[{', '.join(map(_kind_in_words, of))}]"
    if kind is type(None):
        return "None"
    return "pd.DataFrame" if kind is pd.DataFrame else getattr(kind, "__name__", str(kind))


def _argument(value: Any, takes: str, where: str) -> Any:
    """Return the argument, its tables checked."""
    if value is None and takes.endswith("| None"):
        return value
    is_list = takes.startswith("Sequence[str]") and isinstance(value, np.ndarray | pd.Series | pd.Index)
    value = value.tolist() if is_list or isinstance(value, np.generic) else value
    if "OwnItems" in takes and isinstance(value, Mapping):
        return value
    kind = next((kind for kind in re.findall(r"\w+", takes.replace("AnyRun", "Run")) if kind in SPECS), None)
    if kind is not None and "Mapping[" in takes:
        if not isinstance(value, Mapping):
            _refuse(value, f"a name and a {kind} table for each", "", where)
        return {name: _table(each, kind, f"{where}[{name!r}]") for name, each in value.items()}
    if kind is not None:
        is_stored = "Any" in takes  # AnyRun, or `Run | Any`
        if "Sequence[" in takes and isinstance(value, list | tuple) and not hasattr(value, "_fields"):
            return [_table(each, kind, f"{where}[{n}]", is_stored) for n, each in enumerate(value)]
        return _table(value, kind, where, is_stored)
    for start, (made, expected, made_by) in _OTHERS.items():
        if takes.startswith(start) and not isinstance(value, made):
            _refuse(value, expected, made_by, where)
    other: Any = pd.DataFrame | Mapping | int | float
    if takes.startswith("Sequence[str") and isinstance(value, other | str | Path):
        _refuse(value, "a list of texts" + (f": [{value!r}]" if isinstance(value, str) else ""), "", where)
    if takes.startswith("str") and isinstance(value, other | None | list | tuple | np.ndarray):
        _refuse(value, "a text or path", "", where)
    return value


def _table(value: Any, kind: str, where: str, is_stored: bool = False) -> Any:
    """Return one table, checked: what was joined of tables that were can have a key twice.

    A run's ranks have to follow from its scores, which those of two put together under one name do not.
    """
    if is_stored and hasattr(value, "run_id") and not isinstance(value, pd.DataFrame):
        return value
    if not _is_kind(value, kind):
        parts = value.tables if isinstance(value, Found) else getattr(value, "_fields", ())
        part = next((each for each in parts if _is_kind(getattr(value, each), kind)), "")
        _refuse(value, f"a {kind} table", f"give its .{part}" if part else MADE_BY[kind], where)
    table = check_table(SPECS[kind], value, where=where)
    if kind == "Run":
        is_first = are_firsts(table["run_id"].array.codes, table["query_id"].array.codes)
        rank, score = table["rank"].to_numpy(), table["score"].to_numpy()
        is_odd = ~is_first[1:] & ((np.diff(rank) <= 0) | (np.diff(score) > 0))
        if is_odd.any():
            row = table.iloc[int(is_odd.argmax()) + 1]
            raise TableError(
                f"{where}: {is_odd.sum():,} ranks do not follow from the scores (first: {row['doc_id']} at "
                f"rank {row['rank']} of query {row['query_id']} in {row['run_id']}); fire.run ranks a frame "
                "by its scores"
            )
    return typed_judgments(table, where=where) if kind == "Judgments" else table


def _is_kind(value: Any, kind: str) -> bool:
    return isinstance(value, pd.DataFrame) and kind in kinds_of(value)


def kinds_of(table: pd.DataFrame) -> list[str]:
    """Return what a table can be, by its columns: those of the kinds it has that need the most of them.

    A pool that says so much of its pairs that it could be another table is a pool too.
    """
    columns = set(table.columns)
    fits = {kind: len(spec.needed) for kind, spec in SPECS.items() if columns.issuperset(spec.needed)}
    most = max(fits.values(), default=0)
    kinds = [kind for kind, n in fits.items() if n == most]
    return [*kinds, "Pool"] if "Pool" in fits and columns & {"best_rank", "n_runs", "is_original"} else kinds


def _refuse(value: Any, expected: str, made_by: str, where: str) -> None:
    hint = f"; {made_by}" if made_by else ""
    raise UsageError(f"{where} is {described(value)}, expected {expected}{hint}")


def described(value: Any) -> str:
    """Return what an object is, in words.

    Examples:
        >>> described({"q1": {"d1": 1}}), described("qrels.txt"), described([])
        ('a dict', "the text 'qrels.txt'", 'an empty list')
    """
    if isinstance(value, pd.DataFrame):
        kinds = [kind for kind in kinds_of(value) if kind != "Pool"] or kinds_of(value)
        columns = ", ".join(map(str, list(value.columns)[:6]))
        without = f"a table with the columns {columns}" if columns else "a table without columns"
        return f"{_a(kinds[0])} table" if kinds else without
    if isinstance(value, str | Path):
        return f"the {'path' if isinstance(value, Path) else 'text'} {str(value)!r}"
    if isinstance(value, np.ndarray) or value is None:
        return "None" if value is None else "a numpy array"
    if isinstance(value, Sequence) and not len(value):
        return f"an empty {type(value).__name__}"
    return _a(type(value).__name__)


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiouAEIOU" else f"a {noun}"


_KINDS: dict[Any, tuple[tuple[type, ...], str]] = {
    int: ((int, np.integer), "a whole number"),
    float: ((int, float, np.integer, np.floating), "a number"),
    bool: ((bool, np.bool_), "True or False"),
    str: ((str,), "text"),
    type(None): ((type(None),), "None"),
}


def _refuse_unfit(where: str, plain_ones: Mapping[str, Parameter], values: Mapping[str, Any]) -> None:
    """Raise `UsageError` for a value that is not what its annotation allows.

    An annotation that allows other than plain values and lists of them is passed over.
    """
    for name, each in plain_ones.items():
        bare = each.kind
        kinds = (bare,) if get_origin(bare) in (Literal, Sequence) else get_args(bare) or (bare,)
        plain = [found for kind in kinds if (found := _plain(kind))]
        if name not in values or len(plain) < len(kinds):
            continue
        value = values[name]
        is_fit = any(fits(value) for fits, _ in plain)
        if words := _missed(each.option, value) if is_fit else " or ".join(words for _, words in plain):
            raise UsageError(f"{where}: {name} is {repr(value)[:60]}, expected {words}")


def _plain(kind: Any) -> tuple[Callable[[Any], bool], str] | None:
    """Return what tells whether a value is of a plain type, or a list of them, and its words; else None."""
    if get_origin(kind) is Literal:
        names = get_args(kind)
        return (
            lambda given: isinstance(given, str) and given in names,
            f"one of {', '.join(map(repr, names))}",
        )
    if get_origin(kind) is Sequence and (of_each := _plain(get_args(kind)[0])):
        fits, words = of_each
        return (
            lambda given: isinstance(given, list | tuple) and all(map(fits, given)),
            f"a list, each {words}",
        )
    if not isinstance(kind, type) or kind not in _KINDS:
        return None
    types, words = _KINDS[kind]
    others = () if kind is bool else (bool, np.bool_)  # which Python counts among the numbers
    return lambda given: isinstance(given, types) and not isinstance(given, others), words


def _missed(own: Option, value: Any) -> str:
    """Return in words the range of an option which a number, or one of several, is not in; else nothing."""
    least, most = own.least, math.inf if own.most is None else own.most
    numbers = [each for each in np.ravel(value).tolist() if isinstance(each, int | float)]
    if least is None or all(least <= n <= most and not (own.is_above and n == least) for n in numbers):
        return ""
    words = f"above {least:g}" if own.is_above else f"{least:g} or more"
    return words if own.most is None else f"{words}, and at most {most:g}"


def _show_basis(table: pd.DataFrame, made: str) -> None:
    """Have a notebook say below a table what it rests on: how it was made, and what it holds.

    The table stays a plain frame: only this object shows it. What is filtered, copied, merged or unpickled
    from it is another table, of which the words might be wrong, and is shown as pandas does.
    """
    itself = weakref.ref(table)  # the frame must not hold itself in memory

    def shown() -> str:
        own = itself()
        if own is None:
            return ""
        basis = f"rests on: {made}; {part_in_words('table', own)}"
        of_pandas: Any = type(own)
        return shown_html(of_pandas._repr_html_(own) or "", [basis])

    object.__setattr__(table, "_repr_html_", shown)


def _given_in_words(name: str, value: object) -> str:
    """Return an argument in a few words; empty for what says nothing."""
    if isinstance(value, bool | int | float):
        return f"{name} {value}"
    if isinstance(value, str) or hasattr(value, "__fspath__"):
        return f"{name} {_short(str(getattr(value, 'name', value)))}"
    if hasattr(value, "columns"):
        return f"{name} of {n_of(len(cast('pd.DataFrame', value)), 'row')}"
    parts = value.values() if isinstance(value, Mapping) else value
    if not isinstance(parts, Collection) or not len(parts):
        return ""
    if all(isinstance(each, str) for each in parts):
        return f"{name} {_short(', '.join(map(str, parts)))}"
    return f"{name} of {len(parts):,}"


_LONGEST_WORDS = 60  # characters of an argument that are shown


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_WORDS else f"{text[:_LONGEST_WORDS]} …"
