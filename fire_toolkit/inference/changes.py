"""What the scores of runs have become from one labelling to another, with paired intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fire_toolkit.inference.intervals import (
    are_medians,
    bootstrap_means,
    centres,
    code_clusters,
    of_means,
    percentiles,
    terms_of,
)
from fire_toolkit.inference.judged_pairs import JudgedPairs, Tell, silent
from fire_toolkit.measures import parse_measures
from fire_toolkit.tables import Qrels

_COLUMNS = ("run_id", "measure", "before", "after", "change", "low", "high")


def score_changes(
    joined: JudgedPairs,
    before: Qrels,
    after: Qrels,
    measures: Sequence[str],
    *,
    run_ids: Sequence[str],
    clusters: pd.Series | None = None,
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
    tell: Tell = silent,
) -> pd.DataFrame:
    """Return for each run and measure the score by both labellings, the change and its bootstrap interval.

    Args:
        joined: the runs, joined with the pairs of both qrels; its queries are the universe.
        before, after: two states of the labels of these queries.
        measures: names.
        run_ids: of which runs of `joined`; none gives an empty table.
        clusters: index query_id, values the cluster; whole clusters are then drawn.
        confidence: of the interval, strictly between 0 and 1.
        n_resamples, seed: of the bootstrap. A resample of queries is scored by both labellings, so that what
            is hard about its queries is in both and leaves the change.
        tell: is told what is being worked on, for those who wait.

    Returns:
        run_id, measure, before, after, change (after − before), low and high, by run and measure as given.

    Raises:
        JoinError: a pair was no part of the join; a query has no cluster.
    """
    parsed = parse_measures(measures)
    codes = code_clusters(joined.queries, clusters)
    sides = [joined.label(qrels) for qrels in (before, after)]
    rows = []
    for run_id in run_ids:
        tell(f"{n_resamples:,} resamples of the change of {run_id}")
        both = [*parsed, *parsed]
        values = np.column_stack([joined.values(run_id, side, parsed) for side in sides])
        terms = terms_of(values, both)
        means = of_means(centres(terms, both), both).reshape(2, len(parsed))
        draws = of_means(
            bootstrap_means(
                terms, clusters=codes, is_median=are_medians(both), n_resamples=n_resamples, seed=seed
            ),
            both,
        )
        limits = percentiles(draws[:, len(parsed) :] - draws[:, : len(parsed)], confidence=confidence)
        for measure, old, new, low, high in zip(parsed, *means, *limits, strict=True):
            rows.append((run_id, measure.name, old, new, new - old, low, high))
    return pd.DataFrame(rows, columns=list(_COLUMNS))
