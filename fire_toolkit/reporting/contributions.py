"""FIRE's Table 4: each run with all judgments, and without those that only it contributed."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from fire_toolkit.inference.judged_pairs import PooledPairs, join_runs, values_of
from fire_toolkit.matching.stored_runs import AnyRun
from fire_toolkit.measures import Measure, parse_measures
from fire_toolkit.tables import PoolSources, Qrels

NEW_COLUMNS = {
    "run_id": "str",
    "pooled": "str",
    "measure": "str",
    "original": "float64",
    "all": "float64",
    "new": "float64",
    "change": "float64",
    "n_own": "int64",
    "n_own_relevant": "int64",
}


def all_and_new(
    runs: AnyRun | Sequence[AnyRun],
    original: Qrels,
    augmented: Qrels,
    measures: Sequence[str | Measure],
    *,
    sources: PoolSources,
) -> pd.DataFrame:
    """Return for each run and measure the score with all judgments and as if it had not been pooled.

    Args:
        runs: as in `join_runs`.
        original, augmented: qrels; the queries of `original` count.
        measures: names or measures.
        sources: which run pooled which pair.

    Returns:
        Columns run_id, pooled (`yes` or `no`), measure, original, all (by the augmented qrels), new
        (pairs that only this run pooled are as in the original qrels), change (new − all), n_own (such
        pairs), n_own_relevant (those of them that only the labels made positive).
    """
    parsed = parse_measures(measures)
    joined = join_runs(runs, original, augmented)
    before, after = joined.label(original), joined.label(augmented)
    pooled = PooledPairs.of(joined, sources)
    rows = []
    for run_id in joined.places:
        own = pooled.own({run_id})
        gained = own & (after.relevance >= 1) & (before.relevance < 1)
        views = [joined.ranking(run_id, each) for each in (before, after, after.reverted(before, own))]
        for measure in parsed:
            original_score, all_score, new_score = (measure.aggregate(values_of(v, measure)) for v in views)
            rows.append(
                (
                    run_id,
                    "yes" if run_id in pooled.run_ids else "no",
                    measure.name,
                    original_score,
                    all_score,
                    new_score,
                    new_score - all_score,
                    int(own.sum()),
                    int(gained.sum()),
                )
            )
    return pd.DataFrame(rows, columns=list(NEW_COLUMNS)).astype(NEW_COLUMNS)
