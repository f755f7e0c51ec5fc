"""What a machine judge is worth, on data whose truth is known: `python benchmarks/machines.py [COCO_ECCV]`.

COCO_ECCV is the folder of COCO captions with ECCV's positives. The judge is simulated: no model was asked, so
that its AUC and its calibration are known. Prints P@10 of bm25 by 500 labels, for judges of three AUCs, and
every run's P@10 and micro R@10 by 1,000 labels of the union of all top tens; then P@10 where positives are
rare, by few labels and a judge that is surer than it is right. Exits 1 where a figure is worse than its
limit.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from statistics import NormalDist

import numpy as np

from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.runs.read import read_run
from fire_toolkit.inference.drawn_pairs import DrawnPairs, micro_recall, sampled_precision
from fire_toolkit.inference.limits import Estimate
from fire_toolkit.pooling.machine import allocate, stratify_scores
from fire_toolkit.pooling.pool import pool_runs
from fire_toolkit.tables import Qrels
from fire_toolkit.tables.columns import PAIR, pair_rows

N_LABELS, K = 500, 10
# what 500 labels with the judge were worth in labels without one, as last measured
WORTH = {0.8: {"strata": 1.4}, 0.924: {"hard": 1.65, "P(yes)": 2.15, "strata": 2.7}, 0.98: {"strata": 6.5}}
_LEAST_COVERAGE, _MOST_BIAS, _NEAR = 0.93, 0.002, 0.15
_RARE = 0.05  # the share of positives among rare ones


@dataclass
class World:
    """Pairs of several runs' top tens: whether each is positive, its query, and its rank in each run."""

    truth: np.ndarray
    query: np.ndarray
    n_queries: int
    ranks: dict[str, np.ndarray]


def world_of(runs: list, truth: Qrels, depth: int = K) -> World:
    """Return the pairs of the runs' top `depth`."""
    found = pool_runs(runs, depth=depth)
    relevance = np.append(truth["relevance"].to_numpy(), 0)[pair_rows(found.pool, truth)]
    ids = np.sort(truth["query_id"].unique())
    ranks = {}
    for run_id, own in found.pool_sources.groupby("run_id"):
        ranks[run_id] = np.full(len(found.pool), np.inf)
        ranks[run_id][pair_rows(own[PAIR], found.pool)] = own["rank"]
    return World(relevance >= 1.0, np.searchsorted(ids, found.pool["query_id"]), len(ids), ranks)


def simulated_judge(truth: np.ndarray, auc: float, rng: np.random.Generator) -> np.ndarray:
    """Return P(yes) of a calibrated judge: two normal distributions, as far apart as its AUC."""
    gap, share = NormalDist().inv_cdf(auc) * 2**0.5, truth.mean()
    shown = rng.normal(size=len(truth)) + gap * truth
    return 1 / (1 + np.exp(gap**2 / 2 - gap * shown - np.log(share / (1 - share))))


def drawn(
    world: World, score: np.ndarray, stratum: np.ndarray, wanted: np.ndarray, rng: np.random.Generator
) -> DrawnPairs:
    """Return the pairs with labels of so many of each stratum."""
    order = np.lexsort([rng.random(len(score)), stratum])
    size = np.bincount(stratum)
    place = np.arange(len(score)) - (np.cumsum(size) - size)[stratum[order]]
    label = np.full(len(score), np.nan)
    chosen = order[place < wanted[stratum[order]]]
    label[chosen] = world.truth[chosen]
    return DrawnPairs(score, label, world.query, world.n_queries, stratum=stratum)


def one_draw(world: World, auc: float, rng: np.random.Generator) -> dict[str, Estimate]:
    """Return P@10 of the first run by each method, from one judge and one sample of each kind."""
    score = simulated_judge(world.truth, auc, rng)
    in_top, one = np.ones(len(score), dtype=bool), np.zeros(len(score), dtype=np.int64)
    alone = drawn(world, score, one, np.array([N_LABELS]), rng)
    hard = (score > 0.5).astype(np.float64)
    of_hard = replace(alone, guess=hard)
    stratum = stratify_scores(score)
    strata = drawn(world, score, stratum, allocate(score, stratum, N_LABELS), rng)
    share = float(hard.mean())
    return {
        "labels alone": sampled_precision(replace(alone, trust=0), in_top, k=K),
        "judge alone": Estimate(share, share, share, 0.0),
        "hard": sampled_precision(of_hard, in_top, k=K),
        "P(yes)": sampled_precision(alone, in_top, k=K),
        "strata": sampled_precision(strata, in_top, k=K),
    }


def line(name: str, found: list[Estimate], true: float, labels: float) -> tuple[str, float, float, float]:
    """Return a method's row: bias, coverage, and how many labels without a judge one with it is worth."""
    values = np.array([each[:4] for each in found])
    covers = float(((values[:, 1] <= true) & (true <= values[:, 2])).mean())
    variance = float((values[:, 3] ** 2).mean())
    bias, worth = float(values[:, 0].mean() - true), labels / variance if variance else np.nan
    shown = "–" if not variance else f"{worth:.2f}"
    return f"| {name} | {bias:+.4f} | {covers:.3f} | {shown} |", bias, covers, worth


def check_one_run(world: World, auc: float, n_draws: int) -> list[str]:
    """Print one run's P@10 by each method, and return what is worse than its limit."""
    rng = np.random.default_rng(18)
    draws = [one_draw(world, auc, rng) for _ in range(n_draws)]
    true = float(world.truth.mean())
    print(f"\nP@10 of bm25 (true {true:.4f}), {N_LABELS} labels, {n_draws} draws, judge of AUC {auc}\n")
    print("| method | bias | 95% coverage | worth × labels |\n|---|---|---|---|")
    labels = float(np.mean([each["labels alone"].se ** 2 for each in draws]))
    worse = []
    for name in draws[0]:
        row, bias, covers, worth = line(name, [each[name] for each in draws], true, labels)
        print(row)
        known = WORTH[auc].get(name)
        is_near = known is None or abs(worth / known - 1) <= _NEAR
        is_sound = name == "judge alone" or (abs(bias) <= _MOST_BIAS and covers >= _LEAST_COVERAGE)
        if not (is_near and is_sound):
            worse.append(f"{row} (worth {known})")
    return worse


def check_all_runs(world: World, auc: float, n: int, n_draws: int) -> list[str]:
    """Print each run's P@10 and micro R@10 from one sample of the union, and return what is worse."""
    rng, everywhere = np.random.default_rng(19), world.truth.sum()
    tops = {run: rank <= K for run, rank in world.ranks.items()}
    methods: dict[str, Callable[[DrawnPairs, np.ndarray], Estimate]] = {
        "P@10": lambda pairs, top: sampled_precision(pairs, top, k=K),
        "P@10 without the judge": lambda pairs, top: sampled_precision(replace(pairs, trust=0), top, k=K),
        "micro R@10": micro_recall,
    }
    rows: dict[tuple[str, str], list[Estimate]] = {}
    for _ in range(n_draws):
        score = simulated_judge(world.truth, auc, rng)
        stratum = stratify_scores(score)
        pairs = drawn(world, score, stratum, allocate(score, stratum, n), rng)
        for run, top in tops.items():
            for name, estimate in methods.items():
                rows.setdefault((run, name), []).append(estimate(pairs, top))
    print(f"\nAll runs, {n} labels of their union ({len(world.truth):,} pairs), {n_draws} draws, AUC {auc}\n")
    print("| run, measure | bias | 95% coverage | standard error |\n|---|---|---|---|")
    worse = []
    for (run, name), found in rows.items():
        n_found = (world.truth & tops[run]).sum()
        true = n_found / everywhere if name.startswith("micro") else n_found / K / world.n_queries
        _, bias, covers, _ = line(name, found, float(true), 1.0)
        row = f"| {run}, {name} | {bias:+.4f} | {covers:.3f} | {np.mean([each.se for each in found]):.4f} |"
        print(row)
        if abs(bias) > 2 * _MOST_BIAS or covers < _LEAST_COVERAGE:
            worse.append(row)
    return worse


def check_rare(n_pairs: int, n_draws: int) -> list[str]:
    """Print P@10 where positives are rare, by a calibrated judge and by one of thrice its log-odds."""
    rng = np.random.default_rng(20)
    truth = rng.random(n_pairs) < _RARE
    world = World(truth, np.arange(n_pairs) // K, n_pairs // K, {})
    print(f"\nP@10 where {truth.mean():.3f} of {n_pairs:,} pairs are positive, {n_draws} draws, in strata\n")
    print("| labels, AUC, judge | bias | 95% coverage | interval × plain | refused |\n|---|---|---|---|---|")
    worse = []
    for n, auc, surer in product((200, 500), (0.924, 0.98), (1, 3)):
        found, n_refused = [], 0
        for _ in range(n_draws):
            calibrated = simulated_judge(truth, auc, rng)
            score = calibrated**surer / (calibrated**surer + (1 - calibrated) ** surer)
            stratum = stratify_scores(score)
            pairs = drawn(world, score, stratum, allocate(score, stratum, n), rng)
            each = sampled_precision(pairs, np.ones(n_pairs, dtype=bool), k=K)
            n_refused += bool(each.refused)
            found += [] if each.refused else [each]
        _, bias, covers, _ = line("", found, float(truth.mean()), 1.0)
        width = float(np.mean([(each.high - each.low) / (2 * 1.96 * each.se) for each in found if each.se]))
        name = f"{n}, {auc}, {'surer than right' if surer > 1 else 'calibrated'}"
        row = f"| {name} | {bias:+.4f} | {covers:.3f} | {width:.2f} | {n_refused} |"
        print(row)
        if abs(bias) > _MOST_BIAS or covers < _LEAST_COVERAGE:
            worse.append(row)
    return worse


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    known = Path(os.environ.get("FIRE_TOOLKIT_DATA", ".")) / "coco-eccv"
    parser.add_argument("folder", type=Path, nargs="?", default=known)
    parser.add_argument("--draws", type=int, default=1000)
    given = parser.parse_args()
    if not given.folder.is_dir():
        print(f"left out: no {given.folder}; name the folder, or set FIRE_TOOLKIT_DATA to the one around it")
        return 0
    runs = {path.name.split(".")[0]: read_run(path) for path in sorted((given.folder / "runs").glob("*.gz"))}
    truth = read_qrels(given.folder / "qrels.eccv.txt")
    worse = []
    for auc in WORTH:
        worse += check_one_run(world_of([runs["bm25"]], truth), auc, given.draws)
    worse += check_all_runs(world_of(list(runs.values()), truth), 0.924, 2 * N_LABELS, given.draws)
    worse += check_rare(13_320, given.draws)
    for row in worse:
        print(f"worse than its limit: {row}", file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
