"""Does a plan hold? What it predicts from 500 judged pairs, beside what labels really get wrong.

The positives that people found for COCO captions (ECCV Caption, in the depth-10 pool of five runs) are the
truth. Measured: annotators are made up, the pool is judged, labels and scores are made as `pool`, `augment`
and `score` make them, a few times; the root mean squared error of each measure over the runs. Predicted: by
`plan`, from a pilot of 500 pairs that the same kind of annotators judged, and nothing else.

    python examples/plan_coco.py COCO_ECCV_FOLDER [NUMBER_OF_PILOTS [REPETITIONS]]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

import fire_toolkit as fire
from fire_toolkit.planning.lists import Lists, draw_pilot, lists_of
from fire_toolkit.planning.plan import plan_lists
from fire_toolkit.tables import Qrels, Run, check_qrels
from fire_toolkit.tables.columns import PAIR, pair_rows

MEASURES = ["C@1", "C@10", "P@10"]
POLICIES = ["one", "verify", "doubled"]
TRUE_RATE, FALSE_RATE, DEPTH = 0.92, 0.04, 10


def vote(is_positive: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.random(len(is_positive)) < np.where(is_positive, TRUE_RATE, FALSE_RATE)


def label(is_positive: np.ndarray, policy: str, rng: np.random.Generator) -> np.ndarray:
    """Return labels of pairs: one vote; each positive verified; or two votes and a third."""
    first, second, third = (vote(is_positive, rng) for _ in range(3))
    if policy == "one":
        return first
    both = np.where(first == second, first, third)
    return both if policy == "doubled" else first & both


def means(runs: list[Run], original: Qrels, found: pd.DataFrame) -> np.ndarray:
    """Return each measure and run by the original positives and those found."""
    both = pd.concat([original[[*PAIR, "relevance"]], found[PAIR].assign(relevance=1)])
    augmented = check_qrels(both.drop_duplicates(PAIR))
    table = fire.score(runs, original, augmented, measures=MEASURES).scores
    table = table[table["qrels"] == "augmented"]
    return table.pivot(index="measure", columns="run_id", values="value").loc[MEASURES].to_numpy(copy=True)


def measured(runs: list[Run], original: Qrels, positives: pd.DataFrame, n_repeats: int) -> np.ndarray:
    """Return the root mean squared error of each policy and measure, over runs and repetitions."""
    pool = fire.pool(runs, depth=DEPTH).pool
    is_true = pair_rows(pool, positives) >= 0
    is_original = pair_rows(pool, original) >= 0
    truth = means(runs, original, pool[is_true])
    errors = np.zeros((n_repeats, len(POLICIES), len(MEASURES), len(runs)))
    for repeat in range(n_repeats):
        rng = np.random.default_rng(1000 + repeat)
        for place, policy in enumerate(POLICIES):
            labels = label(is_true | is_original, policy, rng)
            errors[repeat, place] = means(runs, original, pool[labels]) - truth
    return np.sqrt((errors**2).mean(axis=(0, 3)))


def judged_pilot(lists: Lists, positive: np.ndarray, seed: int) -> pd.DataFrame:
    """Return the votes on a pilot, each pair judged twice, with a third vote where the two differ."""
    pair = pair_rows(draw_pilot(lists, 500, depth=DEPTH, seed=seed), lists.pairs)
    rng = np.random.default_rng([seed, 1])  # apart from the draw of pairs
    first, second, third = (vote(positive[pair], rng).astype(np.int64) for _ in range(3))
    differ = (first != second).astype(np.int64)
    return pd.DataFrame({"pair": pair, "n_positive": first + second + differ * third, "n_votes": 2 + differ})


def predicted(lists: Lists, votes: pd.DataFrame, seed: int) -> np.ndarray:
    """Return the error that a plan expects and the ends of its interval: (3, n_policies, n_measures)."""
    # without doubled pairs, as `measured` has none
    table = plan_lists(lists, MEASURES, votes=votes, overlap=0.0, seed=seed).designs
    table = table[table["policy"].isin(POLICIES) & (table["estimate"] == "labelled")]
    ends = table[["error", "error_low", "error_high"]].to_numpy()
    return ends.T.reshape(3, len(POLICIES), len(MEASURES))


def main() -> None:
    folder = Path(sys.argv[1])
    numbers = sys.argv[2:4]
    n_pilots, n_repeats = (*map(int, numbers), *(20, 24)[len(numbers) :])
    runs = [fire.run(path) for path in sorted((folder / "runs").glob("*.run.gz"))]
    original, eccv = (fire.qrels(folder / f"qrels.{name}.txt") for name in ("orig", "eccv"))
    positives = eccv[PAIR][eccv["relevance"] >= 1].reset_index(drop=True)
    lists = lists_of(runs, original, depth=50, most_queries=10_000, seed=0)
    positive = (pair_rows(lists.pairs, positives) >= 0) | lists.is_original
    truth = measured(runs, original, positives, n_repeats)
    plans = [predicted(lists, judged_pilot(lists, positive, seed), seed) for seed in range(n_pilots)]
    is_held = np.mean([(low <= truth) & (truth <= high) for _, low, high in plans], axis=0)
    middle = np.median([error for error, _, _ in plans], axis=0)
    cells = "".join(f"{policy:>22}" for policy in POLICIES)
    print(f"points: measured, predicted (median of {n_pilots} pilots), intervals that hold{cells}")
    for place, name in enumerate(MEASURES):
        values = zip(truth[:, place], middle[:, place], is_held[:, place], strict=True)
        print(name, *(f"{100 * a:.2f} {100 * b:.2f} {c:.0%}" for a, b, c in values))


if __name__ == "__main__":
    main()
