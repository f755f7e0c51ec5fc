"""What only a made world can tell: how near labels and scores came to the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import pandas as pd

from fire_toolkit.demo.world import World
from fire_toolkit.measures import parse_measure
from fire_toolkit.scoring import score_runs
from fire_toolkit.tables import Labels, Pool, Qrels, Run, Scores
from fire_toolkit.tables.columns import PAIR


@dataclass(frozen=True)
class TruthReport:
    """Counts of labels and positives, scores three ways, and which runs change places.

    scores: columns run_id, measure, original, corrected, true; swaps: measure, the run that is ahead
    once corrected, and the run that was ahead of it before.
    """

    n_labels: int
    n_right: int
    n_positives: int
    n_original: int
    n_pooled: int
    scores: pd.DataFrame
    swaps: tuple[tuple[str, str, str], ...]


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
        swaps=tuple(_swaps(pd.DataFrame(columns), measures)),
    )


def _values(scores: Scores, qrels: str) -> pd.Series[float]:
    kept = scores[scores["qrels"] == qrels]
    return kept.set_index(["run_id", "measure"])["value"]


def _swaps(scores: pd.DataFrame, measures: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return each pair of runs that the corrected labels put in the other order."""
    found = []
    for measure in measures:
        sign = 1 if parse_measure(measure).definition.larger_is_better else -1
        values = scores.xs(measure, level="measure") * sign
        for one, two in combinations(values.index, 2):
            before = values.loc[one, "original"] - values.loc[two, "original"]
            after = values.loc[one, "corrected"] - values.loc[two, "corrected"]
            if before * after < 0:
                ahead, behind = (one, two) if after > 0 else (two, one)
                found.append((measure, str(ahead), str(behind)))
    return found
