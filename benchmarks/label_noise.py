"""What errors of votes do to C@k and P@k, and what the correction leaves: policies on coco-eccv, simulated.

    python benchmarks/label_noise.py DIR [--repetitions 25]

DIR holds qrels.orig.txt, qrels.eccv.txt and runs/ of coco-eccv. Annotators err independently (t .92, f .04).
Prints for each policy the votes a pair, and over runs and repetitions the mean error of the scores as
labelled and as corrected, the latter's root mean square, and how often 1.96 standard errors for these queries
alone hold the truth.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit import pool_runs, read_qrels, read_run, score_runs
from fire_toolkit.inference.corrected import corrected_scores
from fire_toolkit.inference.design_votes import votes_by_design
from fire_toolkit.inference.judged_pairs import join_runs
from fire_toolkit.measures import parse_measures
from fire_toolkit.resolution.design import POLICIES, decide_classes, design_pairs, open_pairs
from fire_toolkit.tables import check_qrels
from fire_toolkit.tables.columns import PAIR, pair_rows

T, F = 0.92, 0.04
MEASURES = ["C@1", "C@5", "C@10", "P@10"]
DESIGNS: dict[str, tuple[str | None, float]] = {
    "15% doubled": (None, 0.15),
    **{name: (name, 0.0) for name in POLICIES},
}


class World:
    """The pool of depth 10, what is relevant in it, and the scores by that."""

    def __init__(self, folder: Path) -> None:
        self.runs = [read_run(path) for path in sorted((folder / "runs").glob("*.run.gz"))]
        self.original = read_qrels(folder / "qrels.orig.txt")
        positives = read_qrels(folder / "qrels.eccv.txt").query("relevance >= 1")
        pooled = pool_runs(self.runs, depth=10)
        self.pairs, self.sources = pooled.pool[PAIR].reset_index(drop=True), pooled.sources
        self.truth = (pair_rows(self.pairs, positives) >= 0) | (pair_rows(self.pairs, self.original) >= 0)
        self.scores = self.score(self.pairs[self.truth])

    def score(self, positives: pd.DataFrame) -> pd.Series:
        """Return the scores by the originals and these pairs, by run and measure."""
        both = pd.concat([positives[PAIR], self.original[PAIR]]).drop_duplicates()
        augmented = check_qrels(both.assign(relevance=1))
        scored = score_runs(self.runs, self.original, MEASURES, augmented=augmented).scores
        return scored[scored["qrels"] == "augmented"].set_index(["run_id", "measure"])["value"]


def simulate(world: World, policy: str | None, overlap: float, seed: int) -> tuple[pd.DataFrame, float, int]:
    """Return the pairs with class and votes, the votes a pair, and how many rounds followed the first."""
    draw = np.random.default_rng(seed)
    chance = np.where(world.truth[:, None], T, F)
    votes = (draw.random((len(world.pairs), 3)) < chance).astype(int).astype(str)
    pairs = world.pairs.assign(is_doubled=draw.random(len(world.pairs)) < overlap)
    design = design_pairs(pairs, policy=policy, sources=world.sources, original=world.original)
    votes = votes[pair_rows(design, world.pairs)]
    n_votes = np.where(design["design_class"] == "doubled", 2, 1)
    n_rounds = 0
    while True:
        texts = ["".join(row[:n]) for row, n in zip(votes, n_votes, strict=True)]
        decided = decide_classes(design, design[PAIR].assign(design_votes=pd.array(texts, dtype="str")))
        asked = open_pairs(decided)
        if not len(asked):
            break
        n_votes[pair_rows(asked, design)] += 1
        n_rounds += 1
    return decided, float(n_votes.mean()), n_rounds


def try_once(world: World, policy: str | None, overlap: float, seed: int) -> tuple[pd.DataFrame, float, int]:
    """Return raw and corrected errors of each run and measure, the votes a pair and the rounds."""
    decided, cost, n_rounds = simulate(world, policy, overlap, seed)
    votes = votes_by_design(decided, world.original)
    joined = join_runs(world.runs, world.original, votes.pairs[[*PAIR, "relevance"]])
    options: dict[str, Any] = {"n_resamples": 200, "seed": seed}
    found = corrected_scores(joined, world.original, votes, parse_measures(MEASURES), **options)
    found = found.set_index(["run_id", "measure"])
    found["raw"] = world.score(votes.pairs[votes.pairs["relevance"] == 1]) - world.scores
    found["left"] = found["estimate"] - world.scores
    return found, cost, n_rounds


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repetitions", type=int, default=25)
    given = parser.parse_args()
    world = World(given.folder)
    print(f"{len(world.pairs):,} pairs, {int(world.truth.sum()):,} relevant; {given.repetitions} repetitions")
    for name, (policy, overlap) in DESIGNS.items():
        tried = [try_once(world, policy, overlap, seed) for seed in range(given.repetitions)]
        table = pd.concat([found for found, _, _ in tried]).reset_index()
        table = table.assign(square=table["left"] ** 2, raw_square=table["raw"] ** 2)
        table["covered"] = table["left"].abs() < 1.96 * table["error"]
        means = (
            table.groupby("measure")[["raw", "raw_square", "left", "square", "covered"]].mean().loc[MEASURES]
        )
        means[["raw_square", "square"]] **= 0.5
        print(f"\n{name}: {np.mean([cost for _, cost, _ in tried]):.3f} votes a pair, "
              f"{np.mean([n for _, _, n in tried]):.1f} further rounds")  # fmt: skip
        names = ["raw", "raw RMSE", "corrected", "corrected RMSE", "coverage"]
        print(means.set_axis(names, axis=1).round(4).to_string(), flush=True)


if __name__ == "__main__":
    main()
