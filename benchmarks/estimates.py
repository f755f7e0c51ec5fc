"""How far estimates lie from what they estimate: `python benchmarks/estimates.py [COCO_ECCV] [--full]`.

COCO_ECCV is the folder of COCO captions with ECCV's positives: qrels.orig.txt, qrels.eccv.txt and
runs/*.run.gz. The labels of all pairs are known there, so samples are drawn again and again, and each
estimate is compared with the score by the labels of the whole depth-50 union. Prints a table in Markdown;
exits 1 where an estimator that the toolkit offers is worse than its limit by more than four Monte-Carlo
errors. --full draws 2,000 times, else 40.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.runs.read import read_run
from fire_toolkit.inference.drawn_pairs import UNDRAWN, DrawnPairs, micro_recall, sampled_precision
from fire_toolkit.inference.judged_pairs import JudgedPairs, join_runs
from fire_toolkit.inference.two_phase import TwoPhase, missing_share
from fire_toolkit.measures import parse_measure, parse_measures
from fire_toolkit.measures.defaults import ESTIMATED_BY_QUERIES
from fire_toolkit.pooling.pool import pool_runs
from fire_toolkit.tables import Qrels, check_qrels
from fire_toolkit.tables.columns import PAIR, pair_rows

MEASURES = ("AP", "AP@10", "nDCG@10", "R@10", "R@50", "Rprec", "mAP@R", "AP@10/min", "P@20")
SHALLOW, DEEP = 10, 50
RATE = 0.1


@dataclass
class Checked:
    """An estimator on one measure: max |bias| and mean RMSE over runs, mean coverage of the 95% interval."""

    estimator: str
    measure: str
    bias: float
    rmse: float
    coverage: float
    n_draws: int
    most_bias: float = 0.002
    coverages: tuple[float, float] = (0.92, 0.97)

    @property
    def bias_error(self) -> float:
        """The Monte-Carlo error of the bias."""
        return self.rmse / self.n_draws**0.5

    @property
    def is_met(self) -> bool:
        """Whether bias and coverage lie within their limits, but for four Monte-Carlo errors."""
        (low, high), room = self.coverages, 4 * (0.05 * 0.95 / self.n_draws) ** 0.5
        return self.bias <= self.most_bias + 4 * self.bias_error and (
            self.coverage != self.coverage or low - room <= self.coverage <= high + room
        )


@dataclass
class World:
    """The runs joined with all pairs of the depth-50 union, and labels of them."""

    joined: JudgedPairs
    shallow: Qrels
    deep: Qrels
    original: Qrels

    def scores(self, qrels: Qrels, measures: Iterable[str]) -> np.ndarray:
        """Return queries × measures × runs."""
        labelling, parsed = self.joined.label(qrels), parse_measures(list(measures))
        return np.stack([self.joined.values(run, labelling, parsed) for run in self.joined.places], axis=-1)


def labelled(original: Qrels, truth: Qrels, runs: list[Any], depth: int) -> Qrels:
    """Return the originals, and the pairs of the runs' top `depth` as the truth has them."""
    pool = pool_runs(runs, depth=depth).pool
    relevance = np.append(truth["relevance"].to_numpy(), 0)[pair_rows(pool, truth)]
    new = pool[PAIR].assign(relevance=relevance)[pair_rows(pool, original) < 0]
    return check_qrels(pd.concat([original[[*PAIR, "relevance"]], new]))


def read_world(folder: Path) -> tuple[World, Qrels, list[Any]]:
    """Return the five runs and their labels, the truth, and the runs."""
    runs = [read_run(path) for path in sorted((folder / "runs").glob("*.run.gz"))]
    original, truth = (read_qrels(folder / f"qrels.{name}.txt") for name in ("orig", "eccv"))
    shallow, deep = (labelled(original, truth, runs, depth) for depth in (SHALLOW, DEEP))
    return World(join_runs(runs, original, shallow, deep), shallow, deep, original), truth, runs


def checked(name: str, measure: str, found: np.ndarray, true: np.ndarray, **limits: Any) -> Checked:
    """Return what draws × runs × (estimate, low, high) are worth; low and high may be missing."""
    found = found[~np.isnan(found[..., 0]).any(axis=1)]  # draws that were refused
    errors = found[..., 0] - true
    covers = np.nan
    if found.shape[-1] == 3:
        covers = float(((found[..., 1] <= true) & (true <= found[..., 2])).mean())
    bias, rmse = float(np.abs(errors.mean(axis=0)).max()), float(np.sqrt((errors**2).mean(axis=0)).mean())
    return Checked(name, measure, bias, rmse, covers, len(found), **limits)


Draw = Callable[[np.random.Generator], np.ndarray]


def repeated(draw: Draw, n_draws: int) -> np.ndarray:
    """Return what `draw` gives, n_draws times, seeded."""
    rng = np.random.default_rng(15)
    return np.stack([draw(rng) for _ in range(n_draws)])


def check_two_phase(x: np.ndarray, y: np.ndarray, n: int, n_draws: int) -> list[Checked]:
    """Return how the difference estimator does on each measure, and on pairs of runs."""
    rows = []
    pairs = list(combinations(range(x.shape[2]), 2))
    for place, measure in enumerate(MEASURES):
        own_x, own_y = x[:, place], y[:, place]

        def draw(
            rng: np.random.Generator, own_x: np.ndarray = own_x, own_y: np.ndarray = own_y
        ) -> np.ndarray:
            sample = rng.choice(len(own_x), n, replace=False)
            found = TwoPhase(own_x, own_y[sample], sample)
            runs = [found.of(run)[:3] for run in range(own_x.shape[1])]
            return np.array(runs + [found.of(a, b)[:3] for a, b in pairs])

        found, true = repeated(draw, n_draws), own_y.mean(axis=0)
        of_pairs = np.array([true[a] - true[b] for a, b in pairs])
        is_refused = parse_measure(measure).definition.key not in ESTIMATED_BY_QUERIES
        limits = {"most_bias": np.inf, "coverages": (0, 1)} if is_refused else {}
        mark = " (refused)" if is_refused else ""
        name = f"n = {n}{mark}"
        rows.append(checked(f"two-phase difference, {name}", measure, found[:, : len(true)], true, **limits))
        rows.append(checked(f"pairs of runs, {name}", measure, found[:, len(true) :], of_pairs, **limits))
    return rows


def check_later_run(world: World, truth: Qrels, runs: list[Any], n: int, n_draws: int) -> list[Checked]:
    """Return how it does for each run left out of the pool, its own top 50 judged on S or not."""
    full = world.scores(world.deep, MEASURES[:5])
    ids = list(world.joined.places)
    parts: dict[tuple[str, str], list[tuple[np.ndarray, float]]] = {}
    for late, run_id in enumerate(ids):
        others = [run for run in runs if run["run_id"].iloc[0] != run_id]
        shallow, deep = (labelled(world.original, truth, others, depth) for depth in (SHALLOW, DEEP))
        x, without = world.scores(shallow, MEASURES[:5]), world.scores(deep, MEASURES[:5])
        for place, measure in enumerate(MEASURES[:5]):
            for name, y in (("own top 50 judged too", full), ("not judged", without)):

                def draw(rng: np.random.Generator, x: np.ndarray = x, y: np.ndarray = y) -> np.ndarray:
                    sample = rng.choice(len(x), n, replace=False)
                    found = TwoPhase(x[:, place], y[sample, place], sample)  # noqa: B023
                    return np.array(found.of(late)[:3])  # noqa: B023

                true = full[:, place, late].mean()
                parts.setdefault((name, measure), []).append((repeated(draw, n_draws) - true, true))
    rows = []
    for (name, measure), each in parts.items():
        found = np.stack([errors for errors, _ in each], axis=1)
        limits = (
            {"coverages": (0.91, 0.97)}
            if name.startswith("own")
            else {"most_bias": 0.02, "coverages": (0.5, 1)}
        )
        rows.append(
            checked(f"run that comes later, {name}, n = {n}", measure, found, np.zeros(len(ids)), **limits)
        )
    return rows


def check_missing(world: World, n: int, n_draws: int) -> Checked:
    """Return how the share of positives outside the shallow pool is met."""
    n_shallow, n_deep = (world.joined.label(each).n_positives for each in (world.shallow, world.deep))

    def draw(rng: np.random.Generator) -> np.ndarray:
        sample = rng.choice(len(n_deep), n, replace=False)
        found = missing_share(n_shallow[sample], n_deep[sample], n_queries=len(n_deep))
        return np.array([found[:3]])

    true = np.array([1 - n_shallow.sum() / n_deep.sum()])
    name = f"share of positives never pooled, n = {n}"
    return checked(name, "positives", repeated(draw, n_draws), true, most_bias=0.004, coverages=(0.92, 0.98))


def sampled(world: World) -> tuple[DrawnPairs, dict[str, np.ndarray]]:
    """Return the pairs of the depth-50 union, below depth 10 drawn at `RATE`, and their ranks in each run."""
    joined = world.joined
    both = (joined.label(each).relevance for each in (world.original, world.deep))
    before, after = ((each >= 1).astype(np.float64) for each in both)
    held = joined.label(world.shallow).relevance != joined.label(world.deep).relevance
    probability = np.where(held & (before == 0), RATE, 1.0)
    ranks = {}
    for run_id, run in joined.places.items():
        ranks[run_id] = np.full(len(joined.pairs), np.inf)
        ranks[run_id][run.relevance] = run.rank
    return DrawnPairs(before, after, joined.query, len(joined.queries), chance=probability), ranks


def check_pair_samples(world: World, n_draws: int) -> list[Checked]:
    """Return how estimates from pairs drawn in strata do: P@k, R@k by totals and by query."""
    pairs, ranks = sampled(world)
    chance = np.asarray(pairs.chance)

    def draw(rng: np.random.Generator) -> np.ndarray:
        kept = rng.random(len(chance)) < chance
        label = np.where(kept, pairs.label, UNDRAWN)
        own = DrawnPairs(pairs.guess, label, pairs.query, pairs.n_queries, chance=chance)
        found = []
        for rank in ranks.values():
            found += [sampled_precision(own, rank <= k, k=k)[:3] for k in (20, 50)]
            found.append(micro_recall(own, rank <= DEEP)[:3])
            found.append((hajek_recall(own, rank <= DEEP), np.nan, np.nan))
        return np.array(found).reshape(len(ranks), 4, 3)

    found = repeated(draw, n_draws)
    n_found = {k: np.array([pairs.label[rank <= k].sum() for rank in ranks.values()]) for k in (20, 50)}
    n_all = pairs.label.sum()
    rows = []
    for place, k in enumerate((20, 50)):
        true = n_found[k] / k / pairs.n_queries
        rows.append(
            checked("Horvitz–Thompson over strata", f"P@{k}", found[:, :, place], true, coverages=(0.9, 0.98))
        )
    limits = {"most_bias": 0.004, "coverages": (0.9, 0.98)}
    rows.append(checked("ratio of totals", f"micro R@{DEEP}", found[:, :, 2], n_found[50] / n_all, **limits))
    true = world.scores(world.deep, [f"R@{DEEP}"])[:, 0].mean(axis=0)
    rows.append(checked("ratio per query (refused)", f"R@{DEEP}", found[:, :, 3, :1], true, most_bias=np.inf))
    return rows


def hajek_recall(pairs: DrawnPairs, is_in_top: np.ndarray) -> float:
    """Return the mean over queries of each query's own ratio, which the toolkit refuses."""
    weight = (pairs.label == 1) / np.asarray(pairs.chance)
    found, all_of = (
        np.bincount(pairs.query, weights=weight * each, minlength=pairs.n_queries)
        for each in (is_in_top, np.ones_like(weight))
    )
    return float(np.divide(found, all_of, out=np.zeros_like(found), where=all_of > 0).mean())


def check_xinfap(world: World, runs: list[Any], n_draws: int) -> list[Checked]:
    """Return how far xinfAP lies from AP where the pairs below depth 10 are drawn at several rates."""
    pairs, _ = sampled(world)
    joined, measure = world.joined, parse_measure("xinfAP")
    true = world.scores(world.deep, ["AP"])[:, 0].mean(axis=0)
    ids = {"query_id": joined.queries[joined.query], "doc_id": joined.docs[joined.doc]}
    deep = joined.label(world.deep).relevance
    rows = []
    for rate in (0.1, 0.2, 0.5, 0.8):

        def draw(rng: np.random.Generator, rate: float = rate) -> np.ndarray:
            is_deep = np.asarray(pairs.chance) < 1
            undrawn = is_deep & (rng.random(is_deep.size) >= rate)
            columns = ids | {"relevance": np.where(undrawn, -1, deep), "stratum": np.where(is_deep, "2", "1")}
            qrels = check_qrels(pd.DataFrame(columns))
            own = join_runs(runs, qrels)
            values = [own.values(run, own.label(qrels), [measure]).mean() for run in own.places]
            return np.array(values)[:, None]

        found = repeated(draw, n_draws)
        drawn = (deep[np.asarray(pairs.chance) < 1] >= 1).sum() * rate / pairs.n_queries
        name = f"xinfAP, rate {rate}, {drawn:.1f} positives drawn a query (refused)"
        rows.append(checked(name, "AP", found, true, most_bias=np.inf))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    known = Path(os.environ.get("FIRE_TOOLKIT_DATA", ".")) / "coco-eccv"
    parser.add_argument("folder", type=Path, nargs="?", default=known)
    parser.add_argument("--full", action="store_true", help="2,000 draws instead of 40")
    given = parser.parse_args()
    n_draws = 2000 if given.full else 40
    if not given.folder.is_dir():
        print(f"left out: no {given.folder}; name the folder, or set FIRE_TOOLKIT_DATA to the one around it")
        return 0
    world, truth, runs = read_world(given.folder)
    x, y = world.scores(world.shallow, MEASURES), world.scores(world.deep, MEASURES)
    rows: list[Checked] = []
    for place, measure in enumerate(MEASURES):
        rows.append(
            checked(
                "shallow labels alone",
                measure,
                x.mean(axis=0)[None, place, :, None],
                y[:, place].mean(axis=0),
                most_bias=np.inf,
            )
        )
    for n in (67, 133, 266):
        rows += check_two_phase(x, y, n, n_draws)
        rows.append(check_missing(world, n, n_draws))
    rows += check_later_run(world, truth, runs, 133, n_draws)
    rows += check_pair_samples(world, n_draws)
    rows += check_xinfap(world, runs, 3)
    print("| estimator | measure | max \\|bias\\| | its Monte-Carlo error | RMSE | coverage |")
    print("|---|---|---|---|---|---|")
    for row in rows:
        covers = "" if row.coverage != row.coverage else f"{row.coverage:.3f}"
        numbers = (f"{each:.4f}" for each in (row.bias, row.bias_error, row.rmse))
        print(f"| {row.estimator} | {row.measure} | {' | '.join(numbers)} | {covers} |")
    worse = [row for row in rows if not row.is_met]
    for row in worse:
        print(f"worse than its limit: {row}", file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
