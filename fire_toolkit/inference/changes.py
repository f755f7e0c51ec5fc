"""What the scores of runs have become from one labelling to another, with paired intervals."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from fire_toolkit.inference.intervals import change_interval, code_clusters, influences
from fire_toolkit.inference.judged_pairs import JudgedPairs
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
) -> pd.DataFrame:
    """Return for each run and measure the score by both labellings, the change and its interval.

    Args:
        joined: the runs, joined with the pairs of both qrels; its queries are the universe.
        before, after: two states of the labels of these queries.
        measures: names.
        run_ids: of which runs of `joined`; none gives an empty table.
        clusters: index query_id, values the cluster of the query, where whole clusters were drawn.

    Returns:
        run_id, measure, before, after, change (after − before), low and high, by run and measure as given.
        The limits are of the queries' changes (see `intervals`); nan where nothing is known.

    Raises:
        JoinError: a pair was no part of the join; a query has no cluster.
    """
    parsed = parse_measures(measures)
    codes = code_clusters(joined.queries, clusters)
    sides = [joined.label(qrels) for qrels in (before, after)]
    rows = []
    for run_id in run_ids:
        values = [joined.values(run_id, side, parsed).T for side in sides]
        for measure, *each in zip(parsed, *values, strict=True):
            old, new = (measure.aggregate(own) for own in each)
            early, late = (influences(own, measure) for own in each)
            found = change_interval(late, early, measure, clusters=codes)
            rows.append((run_id, measure.name, old, new, new - old, found.low, found.high))
    return pd.DataFrame(rows, columns=list(_COLUMNS))
