"""Ask only what can still change a measure of these runs, in rounds, until its values are settled."""

import re

import numpy as np

from fire_toolkit.arrays import Bools, Ints, are_among, rows_of_lists
from fire_toolkit.errors import UsageError
from fire_toolkit.pooling.candidates import Budget, Candidates, Choice
from fire_toolkit.pooling.orders import BUDGET, PER_QUERY, WAITING
from fire_toolkit.tables.design import RRF

SETTLED = "settled"
CONFIRMED = 2  # votes for a new positive
_NEVER = np.iinfo(np.int64).max
_MEASURE = re.compile(r"(?:([CP])|RR)@([1-9][0-9]{0,8})|RR")


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
    found, depth = _MEASURE.fullmatch(measure), candidates.depth_asked
    if found is None:
        raise UsageError(f"{measure} cannot be settled, expected C@k, P@k, RR or RR@k")
    kind, k = found[1], int(found[2] or depth)
    if k > depth:
        raise UsageError(f"{measure} reads to rank {k} and the pool to {depth}, expected --depth {k}")
    if batch < 1:
        raise UsageError(f"batch is {batch}, expected 1 or more")
    is_read, n_runs = candidates.rank <= k, len(candidates.run_ids)
    pair, rank = candidates.pair[is_read], candidates.rank[is_read].astype(np.int64)
    lists = candidates.entry_query[is_read] * np.int64(n_runs) + candidates.run[is_read]

    def are_open(decides: Bools) -> Bools:
        """Return the entries that can change their list's value, where some pairs decide theirs."""
        if kind == "P":
            return np.ones(len(pair), dtype=bool)
        first = np.full(n_runs * len(candidates.query_ids), _NEVER)
        np.minimum.at(first, lists[decides[pair]], rank[decides[pair]])
        return np.asarray(first[lists] == _NEVER if kind == "C" else rank < first[lists])

    known, n_pairs = candidates.known, len(candidates.starts)
    is_positive = known.is_original | ((known.relevance >= 1) & (known.n_agree >= CONFIRMED))
    is_waiting = known.is_asked & ~is_positive & (known.relevance != 0)
    is_open = are_open(is_positive | is_waiting)
    first: Ints = np.full(n_pairs, _NEVER)
    np.minimum.at(first, pair[is_open], rank[is_open])
    if kind == "C":
        first = -np.bincount(pair[is_open], minlength=n_pairs)
    fused = np.bincount(pair, 1 / (RRF + rank), minlength=n_pairs).round(12)  # whatever is first
    new = np.flatnonzero(are_among(pair[is_open], n_pairs) & ~known.is_asked & ~known.is_original)
    query, doc = candidates.query[new], candidates.doc[new].astype(np.int64)
    new = new[np.lexsort((-doc, -fused[new], first[new], query))]
    if kind != "P":
        new = new[rows_of_lists(0, candidates.count(new)) < batch]
    held = np.flatnonzero(are_among(pair[are_open(is_positive)], n_pairs) & is_waiting)
    asked = np.flatnonzero(known.is_asked)
    new, cut = _within(budget, candidates, asked, new)
    stops = np.full(len(candidates.query_ids), SETTLED, dtype=object)
    for reason, pairs in ((WAITING, held), *cut.items(), (WAITING, new)):
        stops[candidates.query[pairs]] = reason
    return Choice(np.concatenate([asked, new]), stops=stops.tolist(), again=held[known.is_judged[held]])


def _within(budget: Budget, candidates: Candidates, asked: Ints, new: Ints) -> tuple[Ints, dict[str, Ints]]:
    """Return what a budget leaves of the new pairs, one of each query after another, and what limits cut."""
    before, cut = candidates.count(asked), {}
    for limit, n_asked, of in (
        (budget.per_query, int(before.max(initial=0)), "of a query"),
        (budget.in_all, len(asked), "in all"),
    ):
        if limit is not None and n_asked > limit:
            raise UsageError(f"{n_asked:,} pairs {of} were asked before, more than the budget of {limit:,}")
    if budget.per_query is not None:
        is_in = before[candidates.query[new]] + rows_of_lists(0, candidates.count(new)) < budget.per_query
        new, cut[PER_QUERY] = new[is_in], new[~is_in]
    if budget.in_all is not None:
        first = np.argsort(rows_of_lists(0, candidates.count(new)), kind="stable")
        left = budget.in_all - len(asked)
        new, cut[BUDGET] = new[np.sort(first[:left])], new[first[left:]]
    return new, cut
