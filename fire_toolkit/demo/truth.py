"""What only a made world can tell: how near labels and scores came to the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from fire_toolkit.demo.world import World
from fire_toolkit.scoring import score_runs
from fire_toolkit.tables import Labels, Pool, Qrels, Run, Scores
from fire_toolkit.tables.columns import PAIR


@dataclass(frozen=True)
class TruthReport:
    """Counts of labels and positives, and scores three ways.

    scores: columns run_id, measure, original, corrected, true.
    """

    n_labels: int
    n_right: int
    n_positives: int
    n_original: int
    n_pooled: int
    scores: pd.DataFrame


def compare_with_truth(
    world: World,
    *,
    labels: Labels,
    pool: Pool,
    runs: Sequence[Run],
    augmented: Qrels,
    measures: Sequence[str],
) -> TruthReport:
    """Return how near `labels` and the scores by `augmented` came to the truth of `world`."""
    judged = labels.merge(world.pairs[[*PAIR, "relevance"]], on=PAIR, suffixes=("", "_true"))
    corrected = score_runs(runs, world.original, measures, augmented=augmented).scores
    true = score_runs(runs, world.original, measures, augmented=world.truth).scores
    columns = {
        "original": _values(corrected, "original"),
        "corrected": _values(corrected, "augmented"),
        "true": _values(true, "augmented"),
    }
    return TruthReport(
        n_labels=len(judged),
        n_right=int((judged["relevance"] == judged["relevance_true"]).sum()),
        n_positives=len(world.truth),
        n_original=len(world.original),
        n_pooled=len(world.truth.merge(pool[PAIR], on=PAIR)),
        scores=pd.DataFrame(columns).reset_index(),
    )


def _values(scores: Scores, qrels: str) -> pd.Series[float]:
    kept = scores[scores["qrels"] == qrels]
    return kept.set_index(["run_id", "measure"])["value"]
