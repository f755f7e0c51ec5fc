"""How often 95% intervals of scores, gains and differences hold the truth, by simulation.

    python benchmarks/intervals.py [--data DIR] [--full]

Queries are drawn with replacement from the queries of coco-eccv (DIR holds its qrels.orig.txt, qrels.eccv.txt
and runs/), or of a made world of much the same shape, whose weights are tilted so that the true mean is what
the row says. Prints a table for each kind of number: coverage by the number of queries, starred where fewer
than 15 queries are expected to differ. --full: 2,000 samples a cell, whose Monte-Carlo error is at most .0061
at .92; else 100, of some rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.runs.read import read_run
from fire_toolkit.inference.intervals import LEAST_CHANGED, change_interval, score_interval
from fire_toolkit.inference.judged_pairs import join_runs
from fire_toolkit.inference.limits import Estimate
from fire_toolkit.measures import Measure, parse_measures

MEASURES = parse_measures(["C@1", "C@10", "AP", "nDCG@10"])
SIZES = (20, 30, 40, 100, 1000)
POINTS = (0.0, 0.005, 0.01, 0.05)
KINDS = ("score", "gain of few queries", "gain and loss of many queries", "difference of two runs")
STRONG, OTHER, WEAK = "bm25", "tfidf_char", "lsa300"


class Values(NamedTuple):
    """What each query has, (n_queries, measures): a strong run and another, a weak one by the originals."""

    strong: Floats
    strong_before: Floats
    other: Floats
    weak_before: Floats


class Cell(NamedTuple):
    """What is drawn from: values and their weights, the true mean, and what makes an interval of a sample."""

    values: Floats
    weights: Floats
    truth: float
    interval: Callable[..., Estimate]


def read_values(folder: Path) -> Values:
    """Return the values of coco-eccv's queries."""
    qrels = [read_qrels(folder / f"qrels.{name}.txt") for name in ("orig", "eccv")]
    runs = [read_run(folder / "runs" / f"{name}.run.gz") for name in (STRONG, OTHER, WEAK)]
    joined = join_runs(runs, *qrels)
    before, after = (joined.label(each) for each in qrels)
    of = {STRONG: after, OTHER: after}
    strong, other = (joined.values(name, labelling, MEASURES) for name, labelling in of.items())
    early, weak = (joined.values(name, before, MEASURES) for name in (STRONG, WEAK))
    return Values(strong, early, other, weak)


def make_values() -> Values:
    """Return values of 1,300 made queries: skewed, and zero for some or for most."""
    rng = np.random.default_rng(5)
    hard = rng.normal(0, 1, 1300)

    def run(level: float, share_known: float) -> Floats:
        strength = level + hard + rng.normal(0, 0.6, 1300)
        first = rng.geometric(np.clip(1 / (1 + np.exp(-strength)), 0.02, 0.98))
        ap = np.where(first <= 50, 1 / first * rng.beta(4 * share_known, 2, 1300), 0.0)
        ndcg = np.where(first <= 10, 1 / np.log2(1 + first) * rng.beta(5 * share_known, 2, 1300), 0.0)
        return np.column_stack([first <= 1, first <= 10, ap, ndcg]).astype(float)

    return Values(run(0.6, 0.5), run(-0.6, 2.0), run(0.0, 0.5), run(-2.6, 2.0))


def tilted(values: Floats, truth: float) -> Floats:
    """Return weights ∝ e^(κ·value) under which the mean is `truth`."""
    low, high = -500.0, 500.0
    for _ in range(100):
        weights = np.exp((low + high) / 2 * (values - values.mean()))
        weights /= weights.sum()
        low, high = ((low + high) / 2, high) if weights @ values < truth else (low, (low + high) / 2)
    return weights


def of_change(measure: Measure, *, only_up: bool = False) -> Callable[..., Estimate]:
    """Return what makes the interval of a gain or difference."""
    return lambda values, clusters=None: change_interval(
        values, np.zeros(len(values)), measure, only_up=only_up, clusters=clusters
    )


def cells(found: Values) -> dict[tuple[str, str], Cell]:
    """Return the cells by kind and row."""
    made: dict[tuple[str, str], Cell] = {}
    for m, measure in enumerate(MEASURES):
        name, is_hit = measure.name, measure.definition.is_binary
        for words, values in (("strong run", found.strong[:, m]), ("weak run", found.weak_before[:, m])):
            even = np.full(len(values), 1 / len(values))
            interval = lambda values, clusters=None, measure=measure: score_interval(  # noqa: E731
                values, measure, clusters=clusters
            )
            made["score", f"{name}, {words}"] = Cell(values, even, float(values.mean()), interval)
        changes, between = (
            found.strong[:, m] - found.strong_before[:, m],
            found.strong[:, m] - found.other[:, m],
        )
        gains = np.abs(changes[changes != 0])
        few = np.append(0.0, gains)
        for truth in POINTS:
            share = truth / gains.mean()
            weights = np.append(1 - share, np.full(len(gains), share / len(gains)))
            words = f"{name}, {100 * truth:g} points"
            one_way = of_change(measure, only_up=is_hit)
            made["gain of few queries", words] = Cell(few, weights, truth, one_way)
            if not is_hit:
                both_ways = Cell(changes, tilted(changes, truth), truth, of_change(measure))
                made["gain and loss of many queries", words] = both_ways
            made["difference of two runs", words] = Cell(
                between, tilted(between, truth), truth, of_change(measure)
            )
    return made


def in_clusters(rng: np.random.Generator, cell: Cell, n_clusters: int) -> tuple[Floats, Ints]:
    """Return values of clusters of 1 to 9 queries, of which half share one value, and the codes."""
    sizes = np.random.default_rng(n_clusters).integers(1, 10, n_clusters)  # the same in every sample
    codes = np.repeat(np.arange(n_clusters), sizes)
    own, shared = (rng.choice(cell.values, len(codes), p=cell.weights) for _ in range(2))
    return np.where(rng.random(len(codes)) < 0.5, shared[codes], own), codes


def coverage(cell: Cell, n: int, *, n_samples: int, seed: int, clustered: bool) -> tuple[float, float]:
    """Return how often the interval of n queries, or clusters, holds the truth, and the events expected."""
    rng = np.random.default_rng([seed, n])
    known: dict[bytes, Estimate] = {}
    n_held, n_events = 0, 0
    for _ in range(n_samples):
        if clustered:
            found = cell.interval(*in_clusters(rng, cell, n))
        else:
            drawn = np.sort(rng.choice(cell.values, n, p=cell.weights))
            found = known.get(drawn.tobytes()) or cell.interval(drawn)
            known[drawn.tobytes()] = found
        n_held += found.low <= cell.truth <= found.high
        n_events += found.n_differing
    return n_held / n_samples, n_events / n_samples


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--full", action="store_true")
    options = parser.parse_args()
    n_samples = 2000 if options.full else 100
    made = cells(read_values(options.data) if options.data else make_values())
    kept = [("score", f"{name}, strong run") for name in ("C@1", "AP")]
    kept += [("difference of two runs", f"{name}, 1 points") for name in ("C@1", "AP")]
    ordered = sorted(made, key=lambda key: KINDS.index(key[0]))
    rows = [(kind, row, False, made[kind, row]) for kind, row in ordered]
    rows += [("over clusters of queries", f"{kind}, {row}", True, made[kind, row]) for kind, row in kept]
    worst = [1.0, 0.0]
    heading = ""
    for place, (kind, row, is_clustered, cell) in enumerate(rows):
        if not options.full and place % 4:
            continue
        if kind != heading:
            heading = kind
            print(f"\n| {kind} | " + " | ".join(f"{n:,}" for n in SIZES) + " |\n" + "|---" * 6 + "|")
        shown = []
        for n in SIZES:
            held, events = coverage(cell, n, n_samples=n_samples, seed=place, clustered=is_clustered)
            is_few = events < LEAST_CHANGED
            shown.append(f"{held:.3f}{'*' if is_few else ''}".removeprefix("0"))
            worst = [min(worst[0], held), worst[1] if is_few else max(worst[1], held)]
        print(f"| {row} | " + " | ".join(shown) + " |", flush=True)
    print(f"\nleast {worst[0]:.3f}; most, where 15 or more are expected to differ, {worst[1]:.3f}")


if __name__ == "__main__":
    main()
