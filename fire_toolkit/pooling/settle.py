"""Ask only what can still change a measure of these runs, in rounds, until its values are settled."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from fire_toolkit.arrays import (
    Bools,
    Ints,
    are_among,
    count_by_query,
    rows_of_lists,
)
from fire_toolkit.errors import UsageError
from fire_toolkit.pooling.candidates import Budget, Candidates, Choice

SETTLED, WAITING, PER_QUERY, BUDGET = "settled", "waiting", "per_query", "budget"
CONFIRMED = 2  # votes for a new positive
_RRF = 60
_NEVER = np.iinfo(np.int64).max
_MEASURE = re.compile(r"(?:(?P<kind>[CP])|RR)@(?P<k>[1-9][0-9]{0,8})|RR")
_FROM_TOP = "first rank"  # the kind of measure that reads the rank of the first positive


def settle(candidates: Candidates, budget: Budget, *, measure: str, batch: int = 1) -> Choice:
    """Pool, round by round, the docs that can still change a measure of any of these runs.

    Original positives are taken as right and are not asked. For C@k a run's query is
    decided by the first positive in its top k, for RR and RR@k by the first positive from the top; for P@k
    every doc counts, so nothing but the originals is saved, and all is asked at once. A new positive decides
    only once two votes agree on it, since one false positive would end the asking; one vote, a dispute and a
    pair that nobody has answered yet hold back what they could decide. The scores are then those of the whole
    pool of these runs, given the labels; a run that was not pooled loses more than under the whole pool.

    Order within a query: for C@k first the docs that stand in the top k of most undecided runs, for RR and
    P@k those of the best rank; then by reciprocal rank fusion (k = 60); ties by doc id descending.

    Args:
        measure: `C@10`, `P@10`, `RR@10`, `RR` (within the pool's depth); k up to the pool's depth.
        batch: docs of a query asked in a round, 1 or more: fewer rounds, more judgments.

    Returns:
        The pairs asked so far and those of this round. stops: `settled`; `waiting` (for
        answers, or a second vote), `per_query`, `budget`. again: the judged pairs that need another vote.

    Raises:
        UsageError: another measure; one deeper than the pool; batch below 1; a budget below what was asked.
    """
    kind, k = _target(measure, candidates.depth_asked)
    if batch < 1:
        raise UsageError(f"batch is {batch}, expected 1 or more")
    state = _state(candidates)
    lists = _lists(candidates, k)
    is_needed = _needed(kind, lists, state)
    of_pair = lists.pair[is_needed]
    is_open = are_among(of_pair[state.is_fresh[of_pair]], len(candidates.starts))
    order = _in_order(kind, candidates, lists, is_needed, np.flatnonzero(is_open))
    place = rows_of_lists(0, np.bincount(candidates.query[order], minlength=len(candidates.query_ids)))
    new = order if kind == "P" else order[place < batch]
    held = _held(kind, lists, state)
    is_asked = candidates.known.is_asked
    new, cut = _within(budget, candidates, np.flatnonzero(is_asked), new)
    pairs = np.concatenate([np.flatnonzero(is_asked), new])
    stops = _stops(candidates, held, new, cut)
    return Choice(pairs, stops=stops, again=held[candidates.known.is_judged[held]])


class _State(NamedTuple):
    """Whether each pair is a positive that decides; was never asked; was asked and has no final answer."""

    is_positive: Bools
    is_fresh: Bools
    is_waiting: Bools


class _Lists(NamedTuple):
    """The entries of the top k: the pair of each, its rank and its list, a run's of a query."""

    pair: Ints
    rank: Ints
    list: Ints
    n_lists: int


def _target(measure: str, depth: int) -> tuple[str, int]:
    """Return the kind of a measure (`C`, `P` or the rank of the first positive) and how deep it reads."""
    found = _MEASURE.fullmatch(measure)
    if found is None:
        raise UsageError(f"{measure} cannot be settled, expected C@k, P@k, RR or RR@k")
    kind, k = found["kind"] or _FROM_TOP, int(found["k"] or depth)
    if k > depth:
        raise UsageError(f"{measure} reads to rank {k} and the pool to {depth}, expected --depth {k}")
    return kind, k


def _state(candidates: Candidates) -> _State:
    known = candidates.known
    is_new = (known.relevance >= 1) & (known.n_agree >= CONFIRMED)
    is_positive = known.is_original | is_new
    is_waiting = known.is_asked & ~is_positive & ((known.relevance >= 1) | (known.relevance < 0))
    return _State(is_positive, ~known.is_asked & ~known.is_original, is_waiting)


def _lists(candidates: Candidates, k: int) -> _Lists:
    is_read = candidates.rank <= k
    n_runs = len(candidates.run_ids)
    place = candidates.entry_query[is_read].astype(np.int64) * n_runs + candidates.run[is_read]
    return _Lists(
        candidates.pair[is_read], candidates.rank[is_read], place, n_runs * len(candidates.query_ids)
    )


def _first_rank(lists: _Lists, is_marked: Bools) -> Ints:
    """Return the best rank of a marked pair in each list, `_NEVER` where it has none."""
    first = np.full(lists.n_lists, _NEVER)
    entries = is_marked[lists.pair]
    np.minimum.at(first, lists.list[entries], lists.rank[entries])
    return first


def _needed(kind: str, lists: _Lists, state: _State) -> Bools:
    """Return the entries that can still change their list's value, whatever is still to be answered."""
    if kind == "P":
        return np.ones(len(lists.pair), dtype=bool)
    first = _first_rank(lists, state.is_positive | state.is_waiting)[lists.list]
    return first == _NEVER if kind == "C" else lists.rank < first


def _held(kind: str, lists: _Lists, state: _State) -> Ints:
    """Return the pairs asked whose next vote can decide a list."""
    first = _first_rank(lists, state.is_positive)[lists.list]
    reaches = {"C": first == _NEVER, _FROM_TOP: lists.rank < first, "P": np.ones(len(first), dtype=bool)}[
        kind
    ]
    return np.flatnonzero(are_among(lists.pair[reaches], len(state.is_waiting)) & state.is_waiting)


def _in_order(kind: str, candidates: Candidates, lists: _Lists, is_needed: Bools, pairs: Ints) -> Ints:
    """Return pairs by query, and within it the most promising first."""
    n_pairs = len(candidates.starts)
    fused = np.bincount(lists.pair, 1 / (_RRF + lists.rank), minlength=n_pairs)
    first: Ints = np.full(n_pairs, _NEVER)
    np.minimum.at(first, lists.pair[is_needed], lists.rank[is_needed])
    if kind == "C":
        first = -count_by_query(lists.pair[is_needed], n_pairs)
    order = np.lexsort(  # fused sums are rounded, since runs may be added in any order
        (
            -candidates.doc[pairs].astype(np.int64),
            -fused[pairs].round(12),
            first[pairs],
            candidates.query[pairs],
        )
    )
    return np.asarray(pairs[order], dtype=np.int64)


def _within(budget: Budget, candidates: Candidates, asked: Ints, new: Ints) -> tuple[Ints, dict[str, Bools]]:
    """Return what a budget leaves of the new pairs, and the queries that it cut."""
    query, n_queries = candidates.query, len(candidates.query_ids)
    before = count_by_query(query[asked].astype(np.int64), n_queries)
    cut = {}
    if budget.per_query is not None:
        _refuse_more(int(before.max(initial=0)), budget.per_query, "of a query")
        place = rows_of_lists(0, np.bincount(query[new], minlength=n_queries))
        is_in = before[query[new]] + place < budget.per_query
        cut[PER_QUERY] = are_among(query[new[~is_in]], n_queries)
        new = new[is_in]
    if budget.in_all is not None:
        _refuse_more(len(asked), budget.in_all, "in all")
        place = rows_of_lists(0, np.bincount(query[new], minlength=n_queries))
        first = np.argsort(place, kind="stable")
        left = budget.in_all - len(asked)
        cut[BUDGET] = are_among(query[new[first[left:]]], n_queries)
        new = new[np.sort(first[:left])]
    return new, cut


def _refuse_more(n_asked: int, most: int, of: str) -> None:
    if n_asked > most:
        raise UsageError(f"{n_asked:,} pairs {of} were asked before, more than the budget of {most:,}")


def _stops(candidates: Candidates, held: Ints, new: Ints, cut: dict[str, Bools]) -> list[str]:
    """Return how far each query is."""
    n_queries = len(candidates.query_ids)
    reasons = np.full(n_queries, SETTLED, dtype=object)
    for reason, is_so in ({WAITING: are_among(candidates.query[held], n_queries)} | cut).items():
        reasons[is_so] = reason
    reasons[are_among(candidates.query[new], n_queries)] = WAITING
    return list(reasons.tolist())
