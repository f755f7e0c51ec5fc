"""A new run: how much of it is judged, how far its score can move, and what settling it would cost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fire_toolkit.errors import UsageError
from fire_toolkit.inference.bounds import score_bounds, why_unbounded
from fire_toolkit.inference.judged_pairs import JudgedPairs, join_runs, values_of
from fire_toolkit.matching.blocks import StoredRun
from fire_toolkit.matching.coded import CodedQrels
from fire_toolkit.matching.pair_ranks import MatrixSource
from fire_toolkit.matching.stored_runs import AnyRun, list_stored, top_blocks
from fire_toolkit.measures import JudgedRanking, Measure, parse_measures
from fire_toolkit.measures.defaults import judged_at
from fire_toolkit.results import Found
from fire_toolkit.tables import Qrels

DEPTHS = (1, 5, 10)  # at which Judged@k is given
SUMMARY = ["run_id", "measure", "augmented", "lower", "upper", "judged", "n_open", "n_pairs", "n_least"]
SUMMARY += ["hours"]


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
        runs: as in `join_runs`; they need not have been pooled.
        original, augmented: qrels; the queries of `original` count.
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
        UsageError: a measure that docs outside the list decide too, a number out of range.
        JoinError: as `join_runs`.
    """
    parsed = parse_measures(measures)
    for measure in parsed:
        if measure.condensed or measure.definition.bounds != "monotone":
            reason = why_unbounded(measure) or "a lower bound that judging the run's own docs cannot settle"
            raise UsageError(f"{measure.name} has {reason}; take C@k, or P@k for all docs of the top k")
    if seconds < 0 or labels_per_pair < 1:
        raise UsageError(
            f"{seconds} seconds and {labels_per_pair} labels a pair; expected 0 or more and 1 or more"
        )
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
        for measure in parsed:
            row, found = _settle(ranking, measure, unjudged, highest_grade)
            summary.append((run_id, measure.name, *row, len(found) * cost))
            pairs.append(found[["query_id", "doc_id", "rank"]].assign(run_id=run_id, measure=measure.name))
    to_judge = pd.concat(pairs, ignore_index=True)[["run_id", "measure", "query_id", "doc_id", "rank"]]
    tables = {"summary": pd.DataFrame(summary, columns=SUMMARY)}
    tables["judged"] = pd.DataFrame(judged, columns=["run_id", "k", "judged"])
    return Found(tables | {"pairs": to_judge})


def _settle(
    ranking: JudgedRanking, measure: Measure, unjudged: pd.DataFrame, highest_grade: int
) -> tuple[tuple[float, ...], pd.DataFrame]:
    """Return score, lower, upper, judged, n_open, n_pairs and n_least, and the docs to judge."""
    low, high = score_bounds(ranking, measure, highest=highest_grade)
    values = values_of(ranking, measure)
    is_open = np.maximum(high, values) - np.minimum(low, values) > 1e-12
    query, rank = unjudged["query"].to_numpy(), unjudged["rank"].to_numpy()
    can_move = is_open[query] & (rank <= (np.inf if measure.depth is None else measure.depth))
    if measure.definition.by_first_positive:
        can_move &= rank < ranking.first_positive[query]
    found = unjudged[can_move]
    n_least = found["query"].nunique() if measure.definition.by_first_positive else len(found)
    bounds = (measure.aggregate(low), measure.aggregate(high))
    judged = _share_judged(ranking, measure.depth or max(ranking.worst_rank - 1, 1))
    counts = (int(is_open.sum()), len(found), int(n_least))
    return (measure.aggregate(values), *bounds, judged, *counts), found


def _share_judged(ranking: JudgedRanking, k: int) -> float:
    share = judged_at(k)
    return share.aggregate(values_of(ranking, share))


def _unjudged(
    joined: JudgedPairs,
    run: StoredRun | MatrixSource,
    ranking: JudgedRanking,
    labelling: CodedQrels,
    depth: int | None,
) -> pd.DataFrame:
    """Return the unjudged rows of a run's top, down to `depth`, with the code of their query."""
    n_read = ranking.n_retrieved if depth is None else np.minimum(ranking.n_retrieved, depth)
    parts = []
    for block in top_blocks(run, depth):
        query = joined.queries.get_indexer(block.queries)[block.query]
        row = np.flatnonzero((query >= 0) & (block.rank <= n_read[query]))
        query, doc = query[row], block.doc[row]
        place = joined.find(query, joined.docs.get_indexer(block.docs)[doc])
        is_open = (place < 0) | (labelling.relevance[place] < 0)
        ids = {"query_id": joined.queries.take(query[is_open]), "doc_id": block.docs.take(doc[is_open])}
        parts.append(pd.DataFrame(ids | {"rank": block.rank[row[is_open]], "query": query[is_open]}))
    return pd.concat(parts, ignore_index=True).sort_values(
        ["query", "rank"], kind="stable", ignore_index=True
    )
