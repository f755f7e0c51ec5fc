"""The pooling strategies by name: a new one is a file and a line here, or comes from a plug-in."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from fire_toolkit.arrays import Ints, count_by_query
from fire_toolkit.errors import PluginError, UsageError
from fire_toolkit.plugins import Registry
from fire_toolkit.pooling.candidates import Budget, Candidates, Choice, Strategy
from fire_toolkit.pooling.depth import depth
from fire_toolkit.pooling.machine import machine
from fire_toolkit.pooling.move_to_front import move_to_front
from fire_toolkit.pooling.rrf import rrf
from fire_toolkit.pooling.settle import settle
from fire_toolkit.pooling.strata import draw_strata

STRATEGIES: Registry[Strategy] = Registry("pooling", "pooling strategy", Strategy)
for _name, _strategy in {
    "depth": Strategy(depth, by_query=True),
    "rrf": Strategy(rrf, by_query=True),
    "move-to-front": Strategy(move_to_front, reads_labels=True, by_query=True),
    "strata": Strategy(draw_strata),
    "settle": Strategy(settle, reads_labels=True, by_query=True),
    "machine": Strategy(machine, reads_machine=True),
}.items():
    STRATEGIES.add(_name, _strategy)

_SPELLING = re.compile(r"(?P<name>[\w-]+)(\((?P<inner>.*)\)|:(?P<rest>.+))?", re.DOTALL)
_NAMED = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*(.*?)\s*", re.DOTALL)
_OWN = ("query_id", "doc_id", "best_rank", "n_runs", "is_original", "round", "is_judged")
_LARGEST = 10**9
_KINDS = {int: f"a whole number up to {_LARGEST:,}", float: "a number", str: "text"}


class Chosen(NamedTuple):
    """A strategy as it was typed, with its parameters filled in."""

    name: str
    choose: Callable[[Candidates, Budget], Choice]
    reads_labels: bool
    parameters: dict[str, Any]
    reads_machine: bool = False
    by_query: bool = False


def parse_strategy(text: str) -> Chosen:
    """Return the strategy that a text names: `depth`, `rrf(k=60)`, `rrf(60)`.

    What has no name is the first parameter, commas and all. `rrf:60` is read as `rrf(60)`, which a shell
    would want in quotes.

    Raises:
        UsageError: no such strategy or parameter, a value of another type, or one that is missing.

    Examples:
        >>> parse_strategy("rrf(k=20)").parameters, parse_strategy("rrf").parameters
        ({'k': 20}, {'k': 60})
        >>> parse_strategy("rrf(n=20)")
        Traceback (most recent call last):
        fire_toolkit.errors.UsageError: strategy rrf(n=20): no parameter is called 'n'; rrf takes k
    """
    found = _SPELLING.fullmatch(text.strip())
    if not found:
        raise UsageError(f"strategy {text!r}: expected a name, or one with parameters, as in rrf(k=60)")
    name = found["name"]
    strategy = STRATEGIES.named(name)
    taken = {each.name: each for each in _own_parameters(strategy)}
    given = _arguments(found["inner"] or found["rest"] or "", list(taken), text)
    unknown = [each for each in given if each not in taken]
    if unknown:
        takes = f"takes {', '.join(taken)}" if taken else "takes none"
        raise UsageError(f"strategy {text}: no parameter is called {unknown[0]!r}; {name} {takes}")
    values = {each: _value(taken[each], value, text) for each, value in given.items()}
    missing = [each for each, one in taken.items() if each not in values and one.default is one.empty]
    if missing:
        raise UsageError(f"strategy {text}: {missing[0]} is missing, expected {name}({missing[0]}=…)")
    filled = {each: one.default for each, one in taken.items() if each not in values} | values
    choose = partial(strategy.choose, **values)
    return Chosen(name, choose, strategy.reads_labels, filled, strategy.reads_machine, strategy.by_query)


def _own_parameters(strategy: Strategy) -> list[inspect.Parameter]:
    """Return the parameters of a strategy beyond its candidates and budget."""
    parameters = inspect.signature(strategy.choose, eval_str=True).parameters.values()
    return [each for each in parameters if each.kind is each.KEYWORD_ONLY]


def _arguments(text: str, names: list[str], whole: str) -> dict[str, str]:
    """Return what was typed for each parameter; parts without a name are the first one's."""
    unnamed: list[str] = []
    given: dict[str, str] = {}
    for part in text.split(",") if text.strip() else []:
        if not (named := _NAMED.fullmatch(part)):
            unnamed.append(part.strip())
        elif named[1] in given:
            raise UsageError(f"strategy {whole}: {named[1]} is given twice")
        else:
            given[named[1]] = named[2]
    if unnamed and (not names or names[0] in given):
        raise UsageError(f"strategy {whole}: found {unnamed[0]!r}, expected NAME=VALUE")
    return ({names[0]: ",".join(unnamed)} if unnamed else {}) | given


def _value(parameter: inspect.Parameter, text: str, whole: str) -> Any:
    kind = type(parameter.default) if parameter.default is not parameter.empty else parameter.annotation
    kind = kind if kind in _KINDS else str
    value: Any = None
    with suppress(ValueError):
        value = kind(text)
    if value is None or (kind is int and abs(value) > _LARGEST):
        raise UsageError(f"strategy {whole}: {parameter.name} is {text!r}, expected {_KINDS[kind]}")
    return value


def choose(candidates: Candidates, budget: Budget, chosen: Chosen) -> Choice:
    """Return what a strategy pools of the candidates, in the order of pairs.

    Raises:
        UsageError: the strategy cannot do with this budget.
        PluginError: it returned a pair twice, a place that no pair has, more than the budget, or columns or
            stops that do not fit.
    """
    try:
        found = chosen.choose(candidates, budget)
    except UsageError as error:
        raise UsageError(f"strategy {chosen.name}: {error}") from None
    pairs = np.asarray(found.pairs)
    if wrong := _fault(found, pairs, candidates, budget):
        raise PluginError(f"pooling strategy {chosen.name}: returned {wrong}")
    order = np.argsort(pairs, kind="stable")
    columns = {name: np.asarray(values)[order] for name, values in found.columns.items()}
    return found._replace(pairs=pairs[order].astype(np.int64), columns=columns, again=np.unique(found.again))


def _fault(found: Choice, pairs: Any, candidates: Candidates, budget: Budget) -> str:
    """Return what is wrong with a choice, in words; empty where nothing is."""
    if pairs.ndim != 1 or (len(pairs) and pairs.dtype.kind not in "iu"):
        return f"pairs of type {pairs.dtype}, expected places of pairs"
    pairs = pairs.astype(np.int64)
    if len(pairs) and (pairs.min() < 0 or pairs.max() >= len(candidates.starts)):
        return f"place {int(pairs.min() if pairs.min() < 0 else pairs.max())}, which no pair has"
    if len(np.unique(pairs)) < len(pairs):
        return "a pair twice"
    if excess := _excess(pairs, candidates, budget):
        return excess
    for name, values in found.columns.items():
        if name in _OWN:
            return f"a column {name}, which the pool has already"
        if len(values) != len(pairs):
            return f"{len(values):,} values of {name} for {len(pairs):,} pairs"
    if not np.isin(found.again, np.flatnonzero(candidates.known.is_judged)).all():
        return "a pair to ask again that nobody has judged"
    if len(found.stops) not in (0, len(candidates.query_ids)):
        return f"{len(found.stops):,} stops for {len(candidates.query_ids):,} queries"
    return ""


def _excess(pairs: Ints, candidates: Candidates, budget: Budget) -> str:
    """Return by what a choice is over the budget, in words; what was asked already may be more than it."""
    query, n_queries = candidates.query[pairs].astype(np.int64), len(candidates.query_ids)
    is_new = (
        ~candidates.known.is_asked[pairs] if len(candidates.known.is_asked) else np.ones(len(pairs), bool)
    )
    if budget.in_all is not None and len(pairs) > budget.in_all and is_new.any():
        return f"{len(pairs):,} pairs, more than the budget of {budget.in_all:,}"
    taken = count_by_query(query, n_queries)
    most = int(taken[count_by_query(query[is_new], n_queries) > 0].max(initial=0))
    if budget.per_query is not None and most > budget.per_query:
        return f"{most:,} pairs of a query, more than {budget.per_query:,}"
    return ""


def counts_of_stops(reasons: Any) -> dict[str, int]:
    """Return how many queries stopped for each reason, by name."""
    return dict(sorted(Counter(map(str, reasons)).items()))
