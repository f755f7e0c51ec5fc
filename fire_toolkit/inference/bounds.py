"""Between which values a score lies, whatever the unjudged docs are, and which of these to judge.

A labelling gives every unjudged doc a grade from 0 to the highest. Two of them are enough. In the best, each
unjudged doc of the list has the highest grade and none outside is relevant; in the worst, none of the list is
relevant, and outside as many docs as the measure can count have the highest grade. A measure says by
`Definition.bounds` which of the two bounds it, so that no measure has code of its own here. How many unjudged
docs there are outside the list is not known.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Floats, Ints, rows_of_lists, starts_of_lists
from fire_toolkit.errors import UsageError
from fire_toolkit.inference.judged_pairs import JudgedPairs, join_runs
from fire_toolkit.matching.coded import CodedQrels
from fire_toolkit.matching.joining import AnyRun, StoredRun, list_stored
from fire_toolkit.measures import JudgedRanking, Measure, parse_measures
from fire_toolkit.measures.defaults import judged_at
from fire_toolkit.results import Found
from fire_toolkit.tables import Qrels

EXACT, OUTER = "exact", "outer"
_UNLISTED = "each relevant doc that nobody judged and the run does not list lowers it"
_CELLS = 1 << 17  # docs that are labelled together: a few arrays of them fit into a core's cache
DEPTHS = (1, 5, 10)  # at which Judged@k is given
SUMMARY = ["run_id", "measure", "augmented", "lower", "upper", "judged", "n_open", "n_pairs", "n_least"]
SUMMARY += ["hours"]


def why_unbounded(measure: Measure) -> str:
    """Return why a measure lacks its lower bound, or both; empty where it has both.

    Examples:
        >>> from fire_toolkit.measures import parse_measure
        >>> why_unbounded(parse_measure("Judged@10"))
        'no bounds; it measures how much is judged and is not a score'
        >>> why_unbounded(parse_measure("C@10"))
        ''
    """
    kind = measure.definition.bounds
    if measure.condensed:
        plain = replace(measure, condensed=False).name
        return f"no bounds; it leaves unjudged docs out, and once they are judged it is {plain}"
    if kind == "none":
        return f"no bounds; it {measure.definition.no_bounds}"
    return "" if _is_low_known(measure) else f"no lower bound; {_UNLISTED}"


def describe_bounds(measure: Measure, ranking: JudgedRanking) -> str:
    """Return what the bounds of a run's score are: `exact`, `outer`, or what is lacking and why.

    Exact bounds are reached by some labelling of the docs of the list; outer ones may not be.
    """
    if reason := why_unbounded(measure):
        return reason
    reads_a_gap = (_reach(ranking, measure) > ranking.n_retrieved).any()
    return OUTER if reads_a_gap or measure.definition.bounds != "monotone" else EXACT


def score_bounds(ranking: JudgedRanking, measure: Measure, *, highest: int = 1) -> tuple[Floats, Floats]:
    """Return the least and the greatest value of each query over all labellings of the unjudged docs.

    Args:
        ranking: a run joined with qrels; entries below relevance 0 count as unjudged.
        measure: any; see `why_unbounded`.
        highest: the highest grade that an unjudged doc can have; that of the qrels where it is higher.

    Returns:
        Two arrays (n_queries,), nan where there is no bound, and where tied docs share a mean rank. Every
        place of a list that no judged doc holds is one of an unjudged doc, down to the deepest rank that the
        run has, or that the measure reads. As queries are labelled independently, means and medians of
        these bound those of the values.
    """
    low, high = np.full((2, ranking.n_queries), np.nan)
    kind = measure.definition.bounds
    if kind == "none" or measure.condensed or (ranking.rank != np.floor(ranking.rank)).any():
        return low, high
    highest = max(highest, int(ranking.qrels.ideal.grade.max(initial=0)))
    ranking = measure.view(ranking)
    if ranking.stratum is not None:
        ranking = replace(ranking, qrels=replace(ranking.qrels, stratum=None), stratum=None)
    reach = _reach(ranking, measure)
    step = max(_CELLS // max(int(reach.max(initial=0)), 1), 1)
    for start in range(0, ranking.n_queries, step):
        block = np.arange(start, min(start + step, ranking.n_queries))
        low[block], high[block] = _bounds_of(ranking.of(block), measure, reach[block], highest)
    return low, high


def _is_low_known(measure: Measure) -> bool:
    """Return whether relevant docs outside the list can lower the value no further than to a known end."""
    kind = measure.definition.bounds
    return kind == "monotone" or (kind == "share_of_top" and measure.k is not None)


def _reach(ranking: JudgedRanking, measure: Measure) -> Ints:
    """Return down to which rank of each list an unjudged doc can stand that the measure reads."""
    reach = ranking.n_retrieved if measure.stays_in_top else ranking.last_rank
    if measure.definition.by_first_positive:  # the first unjudged doc is no deeper than this
        judged = np.bincount(ranking.query[ranking.is_judged], minlength=ranking.n_queries)
        reach = np.minimum(reach, judged + 1)
    return reach if measure.depth is None else np.minimum(reach, measure.depth)


def _bounds_of(ranking: JudgedRanking, measure: Measure, reach: Ints, highest: int) -> tuple[Floats, Floats]:
    """Return the bounds of each query of a ranking that `view` has returned."""
    value = measure.per_query(ranking)
    if highest < measure.level:
        highest = 0  # no unjudged doc can be a positive
    best, n_added = _with_best_docs(ranking, reach, highest)
    kind = measure.definition.bounds
    if kind in ("monotone", "recall"):
        if kind == "recall":
            best = replace(best, qrels=_with_positives(ranking.qrels, n_added, highest))
        high = measure.per_query(best)
    else:  # the most that the list can hold over the least that there is
        most = np.where(ranking.n_positives > 0, measure.per_query(best), np.where(n_added > 0, 1.0, 0.0))
        high = np.minimum(most, 1.0)
    low = np.full_like(value, np.nan)
    if kind == "monotone":
        low, high = np.minimum(value, high), np.maximum(value, high)
    elif _is_low_known(measure):
        counted = np.full(ranking.n_queries, measure.k if highest else 0)
        low = measure.per_query(replace(ranking, qrels=_with_positives(ranking.qrels, counted, highest)))
    return low, high


def _with_best_docs(ranking: JudgedRanking, reach: Ints, grade: int) -> tuple[JudgedRanking, Ints]:
    """Return the ranking in which every unjudged doc down to `reach` has a grade, and how many these are."""
    start = starts_of_lists(reach)
    query, rank = np.repeat(np.arange(reach.size), reach), rows_of_lists(1, reach)
    relevance = np.full(rank.size, grade, dtype=np.int64)
    judged = np.flatnonzero(ranking.is_judged)
    is_inside = ranking.rank[judged] <= reach[ranking.query[judged]]
    inside, below = judged[is_inside], judged[~is_inside]
    place = start[ranking.query[inside]] + ranking.rank[inside].astype(np.int64) - 1
    relevance[place] = ranking.relevance[inside]
    n_added = (reach - np.bincount(ranking.query[inside], minlength=reach.size)) * (grade > 0)
    order: Any = slice(None)
    if below.size:
        order = np.argsort(np.concatenate([query, ranking.query[below]]), kind="stable")
    filled = replace(
        ranking,
        query=np.concatenate([query, ranking.query[below]])[order],
        rank=np.concatenate([rank.astype(np.float64), ranking.rank[below]])[order],
        relevance=np.concatenate([relevance, ranking.relevance[below]])[order],
    )
    return filled, n_added


def _with_positives(qrels: CodedQrels, n_added: Ints, grade: int) -> CodedQrels:
    """Return the positives of qrels, and docs of the highest grade that no ranking has, for each query."""
    kept = np.flatnonzero(qrels.relevance >= 1)
    docs: Any = pd.RangeIndex(len(qrels.docs) + int(n_added.max(initial=0)))
    query = np.concatenate([qrels.query[kept], np.repeat(np.arange(n_added.size), n_added)])
    doc = np.concatenate([qrels.doc[kept], rows_of_lists(len(qrels.docs), n_added)])
    relevance = np.concatenate([qrels.relevance[kept], np.full(query.size - kept.size, grade)])
    order = np.argsort(pairs := query * len(docs) + doc, kind="stable")
    return CodedQrels(qrels.queries, docs, pairs[order], relevance[order])


def coverage(
    runs: AnyRun | Sequence[AnyRun],
    original: Qrels,
    augmented: Qrels,
    measures: Sequence[str | Measure],
    *,
    seconds: float = float("nan"),
    labels_per_pair: float = 1.0,
    highest_grade: int = 1,
) -> Found:
    """Return what is judged of runs, the bounds of their scores, and the pairs that would settle them.

    Args:
        runs, original, augmented: as in `leave_out`; runs need not have been pooled.
        measures: those that only docs of the list decide (C@k, P@k, RR, ...): no judgments of a run's own
            docs settle one that divides by the positives of the collection.
        seconds: that one judgment takes, for the hours.
        labels_per_pair: judgments for each pair, 1 or more (1.1 where a tenth is judged twice).
        highest_grade: that an unjudged doc can have; that of the qrels where it is higher.

    Returns:
        summary: run_id, measure, augmented, lower, upper, judged (share of what the measure reads), n_open
        (queries that unjudged docs could move), n_pairs (docs to judge so that none can), n_least (judgments
        that suffice if the first asked of each query is a positive, where that settles it; else n_pairs),
        hours (of n_pairs; nan when no duration is known).
        judged: run_id, k, judged.
        pairs: run_id, measure, query_id, doc_id, rank: the docs to judge, best rank first in each query.
        Runs and measures as given. A query is open when its value and bounds differ.

    Raises:
        UsageError: a measure that docs outside the list decide too.
        JoinError: as `join_runs`.
    """
    parsed = parse_measures(measures)
    for measure in parsed:
        if measure.condensed or measure.definition.bounds != "monotone":
            reason = why_unbounded(measure) or "a lower bound that judging the run's own docs cannot settle"
            raise UsageError(f"{measure.name} has {reason}; take C@k, or P@k for all docs of the top k")
    stored = list_stored(runs)
    joined = join_runs(stored, original, augmented)
    after = joined.label(augmented)
    cost = labels_per_pair * seconds / 3600
    depths_read = [measure.depth for measure in parsed]
    deepest = None if None in depths_read else max(depth for depth in depths_read if depth is not None)
    summary, judged, pairs = [], [], []
    for run in stored:
        run_id, ranking = run.run_id, joined.ranking(run.run_id, after)
        judged += [(run_id, k, _share_judged(ranking, k)) for k in DEPTHS]
        unjudged = _unjudged(joined, run, ranking, after, deepest)
        query, rank = unjudged["query"].to_numpy(), unjudged["rank"].to_numpy()
        for measure in parsed:
            low, high = score_bounds(ranking, measure, highest=highest_grade)
            values, is_by_first = measure.values(ranking), measure.definition.by_first_positive
            is_open = np.maximum(high, values) - np.minimum(low, values) > 1e-12
            can_move = is_open[query] & (rank <= (np.inf if measure.depth is None else measure.depth))
            if is_by_first:
                can_move &= rank < ranking.first_positive[query]
            found = unjudged[can_move]
            scores = [measure.aggregate(each) for each in (values, low, high)]
            scores.append(_share_judged(ranking, measure.depth or max(ranking.worst_rank - 1, 1)))
            n_least = found["query"].nunique() if is_by_first else len(found)
            counts = (int(is_open.sum()), len(found), int(n_least), len(found) * cost)
            summary.append((run_id, measure.name, *scores, *counts))
            pairs.append(found[["query_id", "doc_id", "rank"]].assign(run_id=run_id, measure=measure.name))
    to_judge = pd.concat(pairs, ignore_index=True)[["run_id", "measure", "query_id", "doc_id", "rank"]]
    tables = {"summary": pd.DataFrame(summary, columns=SUMMARY)}
    tables["judged"] = pd.DataFrame(judged, columns=["run_id", "k", "judged"])
    return Found(tables | {"pairs": to_judge})


def _share_judged(ranking: JudgedRanking, k: int) -> float:
    share = judged_at(k)
    return share.aggregate(share.values(ranking))


def _unjudged(
    joined: JudgedPairs,
    run: StoredRun,
    ranking: JudgedRanking,
    labelling: CodedQrels,
    depth: int | None,
) -> pd.DataFrame:
    """Return the unjudged rows of a run's top, down to `depth`, with the code of their query."""
    n_read = ranking.n_retrieved if depth is None else np.minimum(ranking.n_retrieved, depth)
    parts = []
    for block in run.blocks(depth):
        query = joined.queries.get_indexer(block.queries)[block.query]
        row = np.flatnonzero((query >= 0) & (block.rank <= n_read[query]))
        query, doc = query[row], block.doc[row]
        place = joined.find(query, joined.docs.get_indexer(block.docs)[doc])
        is_open = (place < 0) | (labelling.relevance[place] < 0)
        ids = {"query_id": joined.queries.take(query[is_open]), "doc_id": block.docs.take(doc[is_open])}
        parts.append(pd.DataFrame(ids | {"rank": block.rank[row[is_open]], "query": query[is_open]}))
    found = pd.concat(parts, ignore_index=True)
    return found.sort_values(["query", "rank"], kind="stable", ignore_index=True)
