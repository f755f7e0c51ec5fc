"""The pooling strategies by name: a new one is a file and a line here, or comes from a plug-in."""

from __future__ import annotations

import inspect
import re
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from fire_toolkit.arrays import are_distinct
from fire_toolkit.errors import PluginError, UsageError
from fire_toolkit.plugins import Registry
from fire_toolkit.pooling.candidates import Budget, Candidates, Choice, Strategy
from fire_toolkit.pooling.machine import machine
from fire_toolkit.pooling.move_to_front import move_to_front
from fire_toolkit.pooling.orders import depth, rrf
from fire_toolkit.pooling.settle import settle
from fire_toolkit.pooling.strata import draw_strata

STRATEGIES: Registry[Strategy] = Registry("pooling", "pooling strategy", Strategy)
STRATEGIES.add("depth", Strategy(depth))
STRATEGIES.add("rrf", Strategy(rrf))
STRATEGIES.add("move-to-front", Strategy(move_to_front, reads_labels=True))
STRATEGIES.add("strata", Strategy(draw_strata, has_design=True))
STRATEGIES.add("settle", Strategy(settle, reads_labels=True, has_design=True))
STRATEGIES.add("machine", Strategy(machine, reads_machine=True, has_design=True))

_SPELLING = re.compile(r"(?P<name>[\w-]+)(\((?P<inner>.*)\)|:(?P<rest>.+))?", re.DOTALL)
_NAMED = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*(.*?)\s*", re.DOTALL)
_OWN = ("query_id", "doc_id", "best_rank", "n_runs", "is_original", "round", "is_judged")
_LARGEST = 10**9
_KINDS = {int: f"a whole number up to {_LARGEST:,}", float: "a number", str: "text"}


def parse_strategy(text: str) -> Strategy:
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
    name, strategy = found["name"], STRATEGIES.named(found["name"])
    parameters = inspect.signature(strategy.choose, eval_str=True).parameters.values()
    taken = {each.name: each for each in parameters if each.kind is each.KEYWORD_ONLY}
    try:
        given = _arguments(found["inner"] or found["rest"] or "", next(iter(taken), None))
        if unknown := [each for each in given if each not in taken]:
            takes = f"takes {', '.join(taken)}" if taken else "takes none"
            raise UsageError(f"no parameter is called {unknown[0]!r}; {name} {takes}")
        values: dict[str, Any] = {}
        for each, typed in given.items():
            default, kind = taken[each].default, taken[each].annotation
            kind = kind if default is inspect.Parameter.empty else type(default)
            kind = kind if kind in _KINDS else str
            with suppress(ValueError):
                values[each] = kind(typed)
            if each not in values or (kind is int and abs(values[each]) > _LARGEST):
                raise UsageError(f"{each} is {typed!r}, expected {_KINDS[kind]}")
        for each, one in taken.items():
            if each not in values and one.default is one.empty:
                raise UsageError(f"{each} is missing, expected {name}({each}=…)")
    except UsageError as error:
        raise UsageError(f"strategy {text}: {error}") from None
    defaults = {each: one.default for each, one in taken.items() if each not in values}
    return replace(strategy, name=name, parameters=defaults | values)


def _arguments(text: str, first: str | None) -> dict[str, str]:
    """Return what was typed for each parameter; parts without a name are the first one's."""
    unnamed: list[str] = []
    given: dict[str, str] = {}
    for part in text.split(",") if text.strip() else []:
        if not (named := _NAMED.fullmatch(part)):
            unnamed.append(part.strip())
        elif named[1] in given:
            raise UsageError(f"{named[1]} is given twice")
        else:
            given[named[1]] = named[2]
    if unnamed and (first is None or first in given):
        raise UsageError(f"found {unnamed[0]!r}, expected NAME=VALUE")
    return ({first: ",".join(unnamed)} if unnamed and first else {}) | given


def choose(candidates: Candidates, budget: Budget, chosen: Strategy) -> Choice:
    """Return what a strategy pools of the candidates, in the order of pairs.

    Raises:
        UsageError: the strategy cannot do with this budget.
        PluginError: it returned a pair twice, a place that no pair has, more than the budget, or columns or
            stops that do not fit.
    """
    try:
        found = chosen.choose(candidates, budget, **chosen.parameters)
    except UsageError as error:
        raise UsageError(f"strategy {chosen.name}: {error}") from None
    pairs = np.asarray(getattr(found, "pairs", None))
    if wrong := _fault(found, pairs, candidates, budget):
        raise PluginError(f"pooling strategy {chosen.name}: returned {wrong}")
    order = np.argsort(pairs, kind="stable")
    columns = {name: np.asarray(values)[order] for name, values in found.columns.items()}
    return found._replace(pairs=pairs[order].astype(np.int64), columns=columns, again=np.unique(found.again))


def _fault(found: Choice, pairs: Any, candidates: Candidates, budget: Budget) -> str:
    """Return what is wrong with a choice, in words; empty where nothing is.

    What was asked already may be more than the budget.
    """
    if pairs.ndim != 1 or (len(pairs) and pairs.dtype.kind not in "iu"):
        return f"pairs of type {pairs.dtype}, expected places of pairs"
    pairs = pairs.astype(np.int64)
    if len(pairs) and (pairs.min() < 0 or pairs.max() >= len(candidates.starts)):
        return f"place {int(pairs.min() if pairs.min() < 0 else pairs.max())}, which no pair has"
    if not are_distinct(pairs):
        return "a pair twice"
    if budget != Budget():
        new = pairs[~candidates.known.is_asked[pairs]]
        if budget.in_all is not None and len(pairs) > budget.in_all and len(new):
            return f"{len(pairs):,} pairs, more than the budget of {budget.in_all:,}"
        most = int(candidates.count(pairs)[candidates.count(new) > 0].max(initial=0))
        if budget.per_query is not None and most > budget.per_query:
            return f"{most:,} pairs of a query, more than {budget.per_query:,}"
    for name, values in found.columns.items():
        if name in _OWN:
            return f"a column {name}, which the pool has already"
        if len(values) != len(pairs):
            return f"{len(values):,} values of {name} for {len(pairs):,} pairs"
    if len(found.again) and not candidates.known.is_judged[found.again].all():
        return "a pair to ask again that nobody has judged"
    if len(found.stops) not in (0, len(candidates.query_ids)):
        return f"{len(found.stops):,} stops for {len(candidates.query_ids):,} queries"
    return ""
