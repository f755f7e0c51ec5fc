"""What every command has in Python: own items as asked for, what its result rests on, and notes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache, wraps
from types import SimpleNamespace
from typing import Any, NamedTuple, ParamSpec, get_type_hints

import pandas as pd

from fire_toolkit.arrays import starts_of_groups
from fire_toolkit.commands.types import Option, Table
from fire_toolkit.errors import OptionError, UsageError
from fire_toolkit.matching.own_items import OwnItemRule
from fire_toolkit.matching.ranking import run_ids, split_runs
from fire_toolkit.measures import parse_measures
from fire_toolkit.results import Found
from fire_toolkit.tables import Run
from fire_toolkit.tables.columns import codes_of, listed
from fire_toolkit.tables.ids import refuse_mixed_ids
from fire_toolkit.words import n_of

_P = ParamSpec("_P")


def command(function: Callable[_P, Found]) -> Callable[_P, Found]:
    """Return a command's function as Python has it: own items as asked for, and what the result rests on.

    A function is handed its tables as `own_item` has them, and a column of `queries` where it takes clusters;
    the command line hands it the same, read from files, see `cli.frame`.
    """
    signature = inspect.signature(function)

    @wraps(function)
    def called(*args: _P.args, **kwargs: _P.kwargs) -> Found:
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        values = given.arguments
        refuse_apart(function, values)
        if values.get("measures", ()) != ():
            values["measures"] = tuple(each.name for each in parse_measures(values["measures"]))
        if values.get("runs") is not None and not values.get("direction"):  # of one name, and other docs
            _refuse_mixed_docs(values["runs"], values.get("qrels"))
        own = OwnItemRule.chosen(values.get("own_item"), values.get("queries"))
        if own.of_query:
            values.update({name: own.ruled(name, values) for name in about(function).tables})
        if "clusters" in values:
            values["clusters"] = column_of(values["queries"], values["clusters"])
        result = function(*given.args, **given.kwargs)
        values = {name: each for name, each in values.items() if name in counting(function, values)}
        basis = rests_on(values, more=result.more, rules=own.in_words(), n_added=own.n_added)
        tables = result.tables
        if not tables:  # those of the files, by their names
            parts = {tuple(name.rpartition("/")): file for name, file in result.files.items()}
            tables = {
                folder or name.partition(".")[0]: file
                for (folder, _, name), file in parts.items()
                if isinstance(file, pd.DataFrame)
            }
        return replace(result, basis=basis, tables=tables)

    return called


def stage(place: str) -> Callable[[Callable[_P, Found]], Callable[_P, Found]]:
    """Return what makes a function a command that writes files.

    place: where in the workspace it writes unless --out says otherwise: a folder, or the name of a file,
    which takes the name that --out gives.
    """

    def decorate(function: Callable[_P, Found]) -> Callable[_P, Found]:
        called = command(function)
        called.__dict__["place"] = place
        return called

    return decorate


def refuse_apart(
    function: Callable[..., Any], values: Mapping[str, Any], spelled: Mapping[str, str] | None = None
) -> None:
    """Raise `OptionError` for arguments that do not go together, or alone; spelled: as users write them."""
    parameters = about(function).parameters
    marks = {name: each.table or each.option for name, each in parameters.items()}
    rules = {name: mark for name, mark in marks.items() if mark.needs or mark.apart}
    idle = {*parameters} - {*counting(function, values), "tell"}
    given = {
        name: (spelled or {}).get(name, name)
        for name in idle.union(*((own, mark.needs, *mark.apart) for own, mark in rules.items()))
        if not is_missing(value := values.get(name))
        and (isinstance(value, pd.DataFrame | pd.Series) or value not in (False, parameters[name].default))
    }
    for name in filter(idle.__contains__, given):
        what = values[next(iter(parameters))]
        raise OptionError(f"{given[name]} does not go with {what}; leave one of them out")
    for name, mark in rules.items():
        if name not in given:
            continue
        if mark.needs and mark.needs not in given:
            needed = (spelled or {}).get(mark.needs, mark.needs)
            raise OptionError(f"{given[name]} does nothing without {needed}; add it")
        for other in filter(given.get, mark.apart):
            raise OptionError(f"{given[other]} does not go with {given[name]}; leave one of them out")


class Parameter(NamedTuple):
    """A parameter of a command's function, or a field of a dataclass that stands for several.

    default: `inspect.Parameter.empty` where it must be given. kind: its type. table, option, more: what the
    type is marked with; no Option is an empty one. words: its sentence in the docstring.
    """

    name: str
    default: Any
    kind: Any
    table: Table | None
    option: Option
    more: Any
    words: str


class About(NamedTuple):
    """What a command's function says: of itself, of its parameters by name, and which of them are tables.

    plain: the other ones, but for what tells of progress.
    """

    text: str
    parameters: Mapping[str, Parameter]
    tables: Mapping[str, Table]
    plain: Sequence[Parameter]


@cache
def about(function: Callable[..., Any]) -> About:
    """Return what the signature and the docstring of a command's function say."""
    own = inspect.unwrap(function)
    text, _, rest = inspect.cleandoc(own.__doc__ or "").partition("\n\nArgs:\n")
    said = re.findall(r"^    (\w+): ((?:.|\n     )+)", rest.partition("\n\n")[0], re.MULTILINE)
    words = {name: " ".join(sentence.split()) for name, sentence in said}
    hints, found = get_type_hints(own, include_extras=True), dict[str, Parameter]()
    for name, each in inspect.signature(own).parameters.items():
        kind, marks = hints[name], list(getattr(hints[name], "__metadata__", ()))
        kind = kind.__origin__ if marks else kind
        table = next((mark for mark in marks if isinstance(mark, Table)), None)
        option = next((mark for mark in marks if isinstance(mark, Option)), Option())
        more = next((mark for mark in marks if not isinstance(mark, Table | Option)), None)
        found[name] = Parameter(name, each.default, kind, table, option, more, words.get(name, ""))
    plain = [each for name, each in found.items() if not each.table and name != "tell"]
    return About(text, found, {name: each.table for name, each in found.items() if each.table}, plain)


class Part(NamedTuple):
    """One of several things that a command makes: the function that does, and the parameters that count.

    make: is given those as attributes of one thing. needs: those that must be there; takes: the others;
    writes: whether it writes files of its own.
    """

    make: Callable[[Any], Found]
    needs: str
    takes: str = ""
    writes: bool = False

    @property
    def counting(self) -> tuple[str, ...]:
        """The parameters that count, with those that say what becomes of queries' own items in runs."""
        names = (*self.needs.split(), *self.takes.split())
        return (*names, "queries", "own_item") if "runs" in names else names

    def __call__(self, what: str, values: Mapping[str, Any]) -> Found:
        """Return the result; a value counts as not given where it is None or empty.

        Raises:
            UsageError: something that is needed is not given.
        """
        if missing := [name for name in self.needs.split() if is_missing(values.get(name))]:
            raise UsageError(f"{what} needs {', '.join(missing)}")
        names = (*self.needs.split(), *self.takes.split())
        return self.make(SimpleNamespace(**{name: values[name] for name in names}))


def is_missing(value: Any) -> bool:
    """Whether a value counts as not given: None, or an empty list or text."""
    return value is None or (isinstance(value, tuple | list | str) and not value)


def of_parts(parts: Mapping[str, Part]) -> Callable[[Callable[_P, Found]], Callable[_P, Found]]:
    """Return what marks a command of which the first parameter names one of these parts."""

    def decorate(function: Callable[_P, Found]) -> Callable[_P, Found]:
        function.__dict__["parts"] = parts
        return function

    return decorate


def counting(function: Callable[..., Any], values: Mapping[str, Any]) -> Collection[str]:
    """Return the parameters that count: all, or those of the part that the first one names."""
    names = list(about(function).parameters)
    parts: Mapping[str, Part] | None = getattr(function, "parts", None)
    return names if parts is None else (names[0], *parts[values[names[0]]].counting)


def column_of(queries: pd.DataFrame | None, name: pd.Series | str | None) -> pd.Series | None:
    """Return a column of the queries, by query id; one that is given by query id already as it is."""
    if not isinstance(name, str):
        return name
    if queries is None:
        raise UsageError(f"clusters {name!r} names a column of the queries; give queries too")
    if name not in queries.columns:
        raise UsageError(f"queries have no column {name!r}; found {', '.join(queries.columns)}")
    column: pd.Series = queries[name].set_axis(queries["query_id"])
    return column


def rests_on(
    tables: Mapping[str, Any],
    *,
    more: Sequence[str] = (),
    of_files: Sequence[str] = (),
    rules: Sequence[str] = (),
    n_added: int = 0,
    kind: str = "original qrels",
) -> str:
    """Return what a result rests on, in words.

    Args:
        tables: runs, qrels, augmented, labellings, labels, pool_sources and clusters, those that there are.
        more: what the result says beyond that.
        of_files: what the files of the qrels say of machine labels.
        rules: what was left out of the tables.
        n_added: queries' own items among the qrels, as not relevant.
        kind: what the table qrels is, which its file knows.
    """
    has = {name: table for name, table in tables.items() if table is not None}
    parts = [n_of(n, "run")] if (n := len(run_ids(has.get("runs", ())))) else []
    if "qrels" in has:
        parts.append(n_of(int(has["qrels"]["query_id"].nunique()), "query"))
        parts.append(n_of(len(has["qrels"]) - n_added, "pair") + f" in the {kind}" + _open_in(has["qrels"]))
    if "labellings" in has:
        of = has["labellings"]
        sizes = [f"{name} {n_of(len(own) - n_added, 'pair')}{_open_in(own)}" for name, own in of.items()]
        parts += [n_of(int(next(iter(of.values()))["query_id"].nunique()), "query"), ", ".join(sizes)]
    if "augmented" in has:
        parts.append(f"{len(has['augmented']) - n_added:,} in the augmented{_open_in(has['augmented'])}")
    parts += of_files
    if "labels" in has:
        methods = has["labels"].get("method")
        rule = "" if methods is None else ", ".join(map(str, methods.dropna().unique()))
        parts.append(n_of(len(has["labels"]), "label") + (f" by the rule {rule}" if rule else ""))
    if "pool_sources" in has:  # ordered by query and doc
        ids = (codes_of(has["pool_sources"][name]) for name in ("query_id", "doc_id"))
        parts.append(f"{n_of(int(starts_of_groups(*ids).size), 'pair')} in the pool")
    parts += [units_of(has["clusters"])] if "clusters" in has else []
    return "; ".join([*parts, *more, *rules])


def _open_in(qrels: pd.DataFrame) -> str:
    """Return how many pairs of qrels a sample left out, or have no label though they were drawn."""
    return f" ({n:,} of them not judged)" if (n := int((qrels["relevance"] < 0).sum())) else ""


def units_of(clusters: pd.Series) -> str:
    """Return what is drawn instead of queries, where they are in clusters."""
    return f"{n_of(int(clusters.nunique()), 'cluster')} ({clusters.name})"


def unpooled(runs: Any, fed: Collection[str] | None) -> list[str]:
    """Return which runs are not among those that fed the pool; nothing where all are, or none is known."""
    fresh = "" if fed is None else ", ".join(run_id for run_id in run_ids(runs) if run_id not in fed)
    words = "fed no pool, so what only such a run finds is unjudged; its scores are not comparable with those"
    return [f"{fresh}: {words} of pooled runs: see `score --honest`"] if fresh else []


def _refuse_mixed_docs(runs: Any, qrels: pd.DataFrame | None) -> None:
    """Raise `JoinError` where runs or qrels spell a doc otherwise than another one of them."""
    docs = {} if qrels is None else {"the qrels": listed(qrels["doc_id"])}
    for name, run in split_runs(runs).items():
        is_table = isinstance(run, pd.DataFrame)  # a stored one was looked at when it was stored
        docs[f"run {name}"] = (
            listed(run["doc_id"].cat.categories) if is_table else getattr(run, "doc_ids", [])
        )
    refuse_mixed_ids(docs)


def queries_of_lists(runs: Run | Sequence[Run]) -> str:
    """Return how many queries ranked lists have, in words."""
    own = (listed(run["query_id"].cat.categories) for run in split_runs(runs).values())
    return n_of(len(set().union(*own)), "query")
