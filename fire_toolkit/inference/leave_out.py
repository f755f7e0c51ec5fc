"""What the scores and the order would be had a model not been pooled, or an annotator not been asked.

Each run is joined with the qrels once. Leaving somebody out changes the labels of few pairs: only the
queries that hold one of them are valued again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.errors import UsageError
from fire_toolkit.inference.intervals import are_medians, of_means, terms_of
from fire_toolkit.inference.judged_pairs import JudgedPairs, PooledPairs, join_runs
from fire_toolkit.inference.orders import kendall_tau, tau_ap
from fire_toolkit.matching.coded import ABSENT, CodedQrels
from fire_toolkit.matching.stored_runs import AnyRun
from fire_toolkit.measures import Measure, parse_measures
from fire_toolkit.results import Found
from fire_toolkit.tables import PoolSources, Qrels
from fire_toolkit.tables.columns import PAIR

SCORES = ["left_out", "measure", "run_id", "is_left_out", "all", "without", "change", "place_all"]
SCORES += ["place_without"]
ORDERS = ["left_out", "measure", "n_own", "n_own_relevant", "tau", "tau_ap", "n_swaps", "largest_change"]


def leave_out(
    runs: AnyRun | Sequence[AnyRun],
    original: Qrels,
    augmented: Qrels,
    measures: Sequence[str | Measure],
    *,
    sources: PoolSources,
    families: Mapping[str, str] | None = None,
) -> Found:
    """Return every run's score and place without the judgments that one model, or family, contributed.

    Args:
        runs: as in `join_runs`.
        original, augmented: qrels; the queries of `original` count.
        measures: names or measures.
        sources: which run pooled which pair.
        families: run → family; a family is left out as a whole. Runs not named are one each. Without
            it each run is left out alone.

    Returns:
        scores: left_out, measure, run_id, is_left_out, all, without, change, place_all, place_without.
        orders: left_out, measure, n_own (pairs whose label goes or changes), n_own_relevant (positives that
        go), tau, tau_ap (of the orders with all judgments and without), n_swaps, largest_change (in size,
        over the runs).
        Left out are the runs, or families, that pooled something, in the order of their
        runs in `sources` (by id); within each the measures, then the runs, as given. Pairs that only
        those left out pooled are as in the original qrels. Place 1 is best.

    Raises:
        UsageError: a family names a run that pooled nothing.
        JoinError: as `score_differences`.

    Examples:
        >>> from fire_toolkit.matching.ranking import rank_run
        >>> from fire_toolkit.tables import check_qrels
        >>> scored = {"run_id": ["a", "a", "b", "b"], "query_id": "q", "doc_id": ["d1", "d2"] * 2}
        >>> runs = rank_run(pd.DataFrame(scored | {"score": [2.0, 1.0, 1.0, 2.0]}))
        >>> original = check_qrels(pd.DataFrame({"query_id": "q", "doc_id": ["d1"], "relevance": 1}))
        >>> both = check_qrels(pd.DataFrame({"query_id": "q", "doc_id": ["d1", "d2"], "relevance": 1}))
        >>> from fire_toolkit.pooling import pool_runs
        >>> sources = pool_runs(runs, depth=1).sources
        >>> found = leave_out(runs, original, both, ["C@1"], sources=sources)
        >>> found.scores.query("is_left_out")[["run_id", "all", "without", "change"]]
          run_id  all  without  change
        0      a  1.0      1.0     0.0
        3      b  1.0      0.0    -1.0
    """
    parsed = parse_measures(measures)
    joined = join_runs(runs, original, augmented)
    before, after = joined.label(original), joined.label(augmented)
    pooled = PooledPairs.of(joined, sources)
    others = []
    for name, members in _groups(sources, families).items():
        own = pooled.own(members)
        others.append(_Other(name, members, after.reverted(before, own), int(own.sum())))
    return _compared(joined, before, after, others, parsed)


def score_changes(
    runs: AnyRun | Sequence[AnyRun],
    original: Qrels,
    augmented: Qrels,
    changes: Mapping[str, pd.DataFrame],
    measures: Sequence[str | Measure],
) -> Found:
    """Return every run's score and place by qrels in which some pairs have another relevance, or none.

    Args:
        runs, original, augmented, measures: as in `leave_out`.
        changes: name (of an annotator who is left out, say) → columns query_id, doc_id, relevance: what these
            pairs have instead, nan where the qrels do not hold them. Pairs that `augmented` lacks may be
            among them; queries may not.

    Returns:
        As `leave_out`, in the order of `changes`; no run is left out.

    Raises:
        JoinError: as `leave_out`.

    Examples:
        >>> from fire_toolkit.matching.ranking import rank_run
        >>> from fire_toolkit.tables import check_qrels
        >>> runs = rank_run(pd.DataFrame(
        ...     {"run_id": "a", "query_id": "q", "doc_id": ["d1", "d2"], "score": [2.0, 1.0]}))
        >>> qrels = check_qrels(pd.DataFrame({"query_id": "q", "doc_id": ["d1", "d2"], "relevance": 1}))
        >>> gone = pd.DataFrame({"query_id": ["q"], "doc_id": ["d1"], "relevance": [float("nan")]})
        >>> found = score_changes(runs, qrels, qrels, {"ann": gone}, ["C@1"])
        >>> found.scores[["left_out", "run_id", "all", "without", "change"]]
          left_out run_id  all  without  change
        0      ann      a  1.0      0.0    -1.0
    """
    parsed = parse_measures(measures)
    further = pd.concat([augmented[:0], *changes.values()])[PAIR].drop_duplicates().assign(relevance=0)
    joined = join_runs(runs, original, augmented, further)
    before, after = joined.label(original), joined.label(augmented)
    others = []
    for name, table in changes.items():
        relevance = after.relevance.copy()
        relevance[joined.find_rows(table)] = table["relevance"].fillna(ABSENT).to_numpy(dtype=np.int64)
        others.append(_Other(name, set(), replace(after, relevance=relevance), len(table)))
    return _compared(joined, before, after, others, parsed)


class _Other(NamedTuple):
    """Another labelling of a join: whose judgments, or pooled pairs, it lacks, and how many pairs that is."""

    name: str
    members: set[str]
    without: CodedQrels
    n_own: int


def _compared(
    joined: JudgedPairs,
    before: CodedQrels,
    after: CodedQrels,
    others: Iterable[_Other],
    measures: list[Measure],
) -> Found:
    """Return the scores by `after` beside those by each other labelling."""
    whole = {run_id: joined.values(run_id, after, measures) for run_id in joined.places}
    means = _aggregate(whole, measures)
    scores, orders = [], []
    for name, members, without, n_own in others:
        changed = np.flatnonzero(without.relevance != after.relevance)
        gone = int(np.count_nonzero((after.relevance[changed] >= 1) & (without.relevance[changed] < 1)))
        queries = np.unique(joined.query[changed])
        anew = _aggregate(_value_again(joined, whole, without, queries, measures), measures)
        for place, measure in enumerate(measures):
            old, new = means[:, place], anew[:, place]
            rank_old, rank_new = _places(old, measure), _places(new, measure)
            sign = 1 if measure.definition.larger_is_better else -1
            swaps = np.triu(np.sign(old[:, None] - old) * np.sign(new[:, None] - new) < 0).sum()
            order = (kendall_tau(old, new), tau_ap(sign * old, sign * new), int(swaps))
            orders.append((name, measure.name, n_own, gone, *order, float(np.abs(new - old).max())))
            for row, run_id in enumerate(joined.places):
                value = (old[row], new[row], new[row] - old[row], rank_old[row], rank_new[row])
                scores.append((name, measure.name, run_id, run_id in members, *value))
    notes = joined.note_depths([before, after], measures)
    tables = {"scores": pd.DataFrame(scores, columns=SCORES), "orders": pd.DataFrame(orders, columns=ORDERS)}
    return Found(tables, notes)


def _groups(sources: PoolSources, families: Mapping[str, str] | None) -> dict[str, set[str]]:
    run_ids = sorted(sources["run_id"].unique())
    unknown = sorted(set(families or {}) - set(run_ids))
    if unknown:
        raise UsageError(
            f"families: run {unknown[0]!r} pooled nothing; expected some of {', '.join(run_ids)}"
        )
    groups: dict[str, set[str]] = {}
    for run_id in run_ids:
        groups.setdefault((families or {}).get(run_id, run_id), set()).add(run_id)
    return groups


def _value_again(
    joined: JudgedPairs,
    whole: Mapping[str, Floats],
    without: CodedQrels,
    queries: Ints,
    measures: list[Measure],
) -> dict[str, Floats]:
    """Return the values of all queries, those of `queries` anew."""
    part, labelling = joined.within(queries), without.of(queries)
    values = {}
    for run_id, old in whole.items():
        values[run_id] = old.copy()
        if len(queries):
            values[run_id][queries] = part.values(run_id, labelling, measures)
    return values


def _aggregate(values: Mapping[str, Floats], measures: list[Measure]) -> Floats:
    """Return runs × measures."""
    is_median = are_medians(measures)
    terms = [terms_of(each, measures) for each in values.values()]
    rows = [np.where(is_median, np.median(each, axis=0), each.mean(axis=0)) for each in terms]
    return of_means(np.stack(rows), measures)


def _places(values: Floats, measure: Measure) -> list[int]:
    better = values[:, None] < values if measure.definition.larger_is_better else values[:, None] > values
    return [int(count) + 1 for count in better.sum(axis=1)]
