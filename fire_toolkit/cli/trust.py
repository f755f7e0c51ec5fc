"""What augmented scores may be trusted for, said below them by `score`."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from fire_toolkit.cli.given import Given
from fire_toolkit.cli.score_design import design_if_any
from fire_toolkit.inference.estimates import estimate_scores
from fire_toolkit.inference.judged_pairs import join_runs
from fire_toolkit.inference.trust import describe_missing, describe_unknown
from fire_toolkit.measures import parse_measures
from fire_toolkit.tables import Scores


def trust_notes(given: Given, measures: Sequence[str], scores: Scores) -> list[str]:
    """Return what is said of augmented scores of measures that divide by |G|; nothing by the originals alone.

    Where queries were judged deep by a design, the runs are scored again by the shallow labels; where pairs
    were drawn in strata, the sample says how many positives it left out.
    """
    divided = [each for each in parse_measures(measures) if each.definition.over_positives]
    if given.augmented_if_any is None or not divided:
        return []
    design = design_if_any(given)
    if design is None or design.sample is not None:
        n_queries = int(given.original["query_id"].nunique())
        return describe_unknown(divided, n_queries=n_queries, n_runs=int(scores["run_id"].nunique()))
    joined = join_runs(given.stored_runs, given.original, given.augmented)
    before, after = joined.label(given.original), joined.label(given.augmented)
    estimated = estimate_scores(joined, before, after, design, divided)
    rows = pd.DataFrame(
        {"run_id": run_id, "measure": measure, **cell} for (run_id, measure), cell in estimated.cells.items()
    )
    means = scores[(scores["query_id"] == "all") & (scores["qrels"] == "augmented")]
    augmented = means.rename(columns={"value": "augmented"})[["run_id", "measure", "augmented"]]
    return describe_missing(rows.merge(augmented, on=["run_id", "measure"]))
