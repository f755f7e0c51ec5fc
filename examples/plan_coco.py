"""Does a plan hold? What it predicts from 500 judged pairs, beside what designs really get wrong.

The positives that people found for COCO captions (ECCV Caption, within the top 50 of five lexical runs) are
the truth. Measured: annotators are made up, pairs pooled, labels and scores made as `pool`, `augment` and
`score` make them, a few times; the root mean squared error of each measure over the runs. Predicted: by
`plan`, from a pilot of 500 pairs that the same kind of annotators judged, and nothing else.

How much of what is off the pilot's size alone explains is said by a second comparison: with positives drawn
from the model that all labels give, so that nothing but the pilot's chance stands between the two.

    python examples/plan_coco.py COCO_ECCV_FOLDER [NUMBER_OF_PILOTS [REPETITIONS [all]]]

`all` tries larger pilots too, and more votes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

import fire_toolkit as fire
from fire_toolkit.inference.two_phase import two_phase_difference
from fire_toolkit.planning.designs import Design
from fire_toolkit.planning.lists import Lists, lists_of
from fire_toolkit.planning.pilot import draw_pilot
from fire_toolkit.planning.plan import plan_worlds
from fire_toolkit.planning.relevance import RelevanceModel, fit_model
from fire_toolkit.tables import Qrels, Run, check_qrels
from fire_toolkit.tables.columns import PAIR, pair_rows

MEASURES = ["C@1", "C@10", "P@10", "AP", "nDCG@10"]
DEEP_MEASURES = ["AP", "nDCG@10"]
TRUE_RATE, FALSE_RATE = 0.92, 0.04


@dataclass(frozen=True)
class Pilot:
    """How many pairs are judged, the most votes of a pair that got a positive one, and what is known."""

    n_pairs: int = 500
    most_votes: int = 2
    rates_known: bool = False


PILOTS = {
    "500 pairs, error rates from the pilot too": Pilot(),
    "500 pairs, error rates known from elsewhere": Pilot(rates_known=True),
    "500 pairs, a third vote on each that got a positive one": Pilot(most_votes=3),
    "500 pairs, up to seven votes on each that got a positive one": Pilot(most_votes=7),
    "1,000 pairs": Pilot(1000),
    "2,000 pairs": Pilot(2000),
}
DESIGNS = [
    *(Design(depth=k, policy=p, overlap=0) for k in (5, 10, 20) for p in ("one", "verify", "doubled")),
    *(Design("rrf", per_query=10, policy=p, overlap=0) for p in ("one", "verify")),
    Design(policy="verify", overlap=0, deep_share=0.1),
]


def vote(is_positive: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.random(len(is_positive)) < np.where(is_positive, TRUE_RATE, FALSE_RATE)


def label(is_positive: np.ndarray, policy: str, rng: np.random.Generator) -> np.ndarray:
    """Return labels of pairs: one vote; each positive verified; or two votes and a third."""
    first, second, third = (vote(is_positive, rng) for _ in range(3))
    if policy == "one":
        return first
    both = np.where(first == second, first, third)
    return both if policy == "doubled" else first & both


def corrected(original: Qrels, pairs: pd.DataFrame, labels: np.ndarray) -> Qrels:
    """Return the original positives and the pairs labelled relevant."""
    found = pairs.loc[labels, PAIR].assign(relevance=1)
    return check_qrels(pd.concat([original[[*PAIR, "relevance"]], found]).drop_duplicates(PAIR))


def scores(runs: list[Run], original: Qrels, augmented: Qrels, per_query: bool = False) -> pd.DataFrame:
    table = fire.score_runs(runs, original, MEASURES, augmented=augmented, per_query=per_query).scores
    return table[table["qrels"] == "augmented"]


def means(runs: list[Run], original: Qrels, augmented: Qrels) -> np.ndarray:
    """Return the mean of each measure and run."""
    table = scores(runs, original, augmented)
    return table.pivot(index="measure", columns="run_id", values="value").loc[MEASURES].to_numpy(copy=True)


def deep_means(
    runs: list[Run], original: Qrels, shallow: Qrels, deep: Qrels, rng: np.random.Generator
) -> np.ndarray:
    """Return the mean of each measure and run, estimated for AP and nDCG from a tenth of the queries."""
    found = means(runs, original, shallow)
    tables = [scores(runs, original, qrels, per_query=True) for qrels in (shallow, deep)]
    for place, measure in enumerate(MEASURES):
        if measure in DEEP_MEASURES:
            x, y = (
                table[(table["measure"] == measure) & (table["query_id"] != "all")]
                .pivot(index="query_id", columns="run_id", values="value")
                .to_numpy()
                for table in tables
            )
            sample = np.sort(rng.choice(len(x), size=round(0.1 * len(x)), replace=False))
            found[place] = two_phase_difference(x, y[sample], sample).estimate
    return found


def measured(
    runs: list[Run], original: Qrels, positives: pd.DataFrame, depth: int, n_repeats: int
) -> np.ndarray:
    """Return the root mean squared error of each design and measure, over runs and repetitions."""
    union = fire.pool_runs(runs, depth=depth).pool
    is_true = pair_rows(union, positives) >= 0
    truth = means(runs, original, corrected(original, union, is_true))
    errors = np.zeros((n_repeats, len(DESIGNS), len(MEASURES), len(runs)))
    for repeat in range(n_repeats):
        rng = np.random.default_rng(1000 + repeat)
        for place, design in enumerate(DESIGNS):
            taken = {"depth": design.depth} if design.per_query is None else {"depth": depth}
            pool = fire.pool_runs(
                runs, strategy=design.strategy, per_query=design.per_query, originals=original, **taken
            ).pool
            labels = label(pair_rows(pool, positives) >= 0, design.policy, rng)
            shallow = corrected(original, pool, labels)
            if not design.deep_share:
                errors[repeat, place] = means(runs, original, shallow) - truth
                continue
            rest = union[pair_rows(union, pool) < 0].reset_index(drop=True)
            more = label(pair_rows(rest, positives) >= 0, "verify", rng)
            found = pd.concat([pool.loc[labels, PAIR], rest.loc[more, PAIR]], ignore_index=True)
            deep = corrected(original, found, np.ones(len(found), dtype=bool))
            errors[repeat, place] = deep_means(runs, original, shallow, deep, rng) - truth
    return np.sqrt((errors**2).mean(axis=(0, 3)))


def pilot_model(lists: Lists, positive: np.ndarray, seed: int, pilot: Pilot) -> RelevanceModel:
    """Return the model of a pilot, each pair judged twice, with a third vote on disagreements."""
    pair = pair_rows(draw_pilot(lists, pilot.n_pairs, seed=seed), lists.pairs)
    is_true, rng = positive[pair], np.random.default_rng([seed, 1])  # apart from the draw of pairs
    first, second, third, *more = (vote(is_true, rng).astype(np.int64) for _ in range(3 + pilot.most_votes))
    differ = (first != second).astype(np.int64)
    n_positive, n_votes = first + second + differ * third, 2 + differ
    has_positive = n_positive > 0
    for each in more:
        is_asked = has_positive & (n_votes < pilot.most_votes)
        n_positive, n_votes = n_positive + is_asked * each, n_votes + is_asked
    rates = (TRUE_RATE, FALSE_RATE) if pilot.rates_known else (0.9, 0.05)
    return fit_model(lists, pair, n_positive, n_votes, rates=rates, rates_known=pilot.rates_known)


def whole_model(lists: Lists, positive: np.ndarray) -> RelevanceModel:
    """Return the model that labels of all pairs give."""
    pair = np.flatnonzero(lists.best_rank <= lists.depth)
    votes = np.full(len(pair), 50)
    rates = (TRUE_RATE, FALSE_RATE)
    found = fit_model(lists, pair, votes * positive[pair], votes, rates=rates, rates_known=True)
    return replace(found, true_positive_rate=TRUE_RATE, false_positive_rate=FALSE_RATE, others=())


def predicted(lists: Lists, model: RelevanceModel) -> np.ndarray:
    """Return the error of each design and measure that a plan expects, and the ends of its interval."""
    table = plan_worlds(lists, {"pilot": model}, MEASURES, designs=DESIGNS).designs
    table = table[table["estimate"] != "corrected"]
    ends = table[["error", "error_low", "error_high"]].to_numpy()
    return ends.T.reshape(3, len(DESIGNS), len(MEASURES))


def rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.corrcoef(a.argsort().argsort(), b.argsort().argsort())[0, 1])


def main() -> None:
    folder = Path(sys.argv[1])
    numbers = sys.argv[2:4]
    n_pilots, n_repeats = (*map(int, numbers), *(20, 24)[len(numbers) :])
    runs = [fire.read_run(path) for path in sorted((folder / "runs").glob("*.run.gz"))]
    original, eccv = (fire.read_qrels(folder / f"qrels.{name}.txt") for name in ("orig", "eccv"))
    positives = eccv.loc[eccv["relevance"] >= 1, PAIR].reset_index(drop=True)
    lists = lists_of(runs, original, depth=50, most_queries=10_000, seed=0)
    positive = pair_rows(lists.pairs, positives) >= 0
    whole = whole_model(lists, positive)
    worlds = {
        "people's labels": (
            measured(runs, original, positives, lists.depth, n_repeats),
            lambda seed: positive,
        ),
        "positives drawn from the model": (
            predicted(lists, whole)[0],
            lambda seed: whole.draw(lists, np.random.default_rng([seed, 2])),
        ),
    }
    for world, (truth, positives_of) in worlds.items():
        for name, pilot in list(PILOTS.items())[: None if sys.argv[4:] else 2]:
            print(f"\n{world}; {name}")
            compare(lists, positives_of, truth, n_pilots, pilot)


def compare(
    lists: Lists,
    positives_of: Callable[[int], np.ndarray],
    truth: np.ndarray,
    n_pilots: int,
    pilot: Pilot,
) -> None:
    """Print how often the error that a pilot predicts is near the measured one, by measure."""
    ratios, orders, is_held = [], [], []
    for seed in range(n_pilots):
        model = pilot_model(lists, positives_of(seed), seed, pilot)
        expected, low, high = predicted(lists, model)
        is_held.append((low <= truth) & (truth <= high))
        ratios.append(expected / truth)
        orders.append([rank_correlation(a, b) for a, b in zip(expected.T, truth.T, strict=True)])
    middle = np.median(ratios, axis=0)
    is_near = np.abs(middle - 1) <= 0.25
    print(
        f"the median pilot is within 25% in {is_near.sum()} of {is_near.size} cells:",
        *shares(is_near.mean(axis=0)),
    )
    print(f"error measured, points; in brackets predicted / measured, median of {n_pilots} pilots")
    print(f"{'':<44}" + "".join(f"{name:>15}" for name in MEASURES))
    for design, errors, ratio in zip(DESIGNS, truth, middle, strict=True):
        cells = "".join(f"{100 * e:>8.2f} ({r:.2f})" for e, r in zip(errors, ratio, strict=True))
        print(f"{design.pool + ', ' + design.policy:<44}{cells}")
    off = np.abs(np.array(ratios) - 1)
    print("within 25%, of all designs and pilots:", *shares((off <= 0.25).mean(axis=(0, 1))))
    is_close = (off <= 0.25) | (off * truth <= 0.005)
    print("within 25% or half a point:", *shares(is_close.mean(axis=(0, 1))))
    print("the interval of a single pilot holds the measured error:", *shares(np.mean(is_held, axis=(0, 1))))
    print("order of designs, rank correlation:", *shares(np.mean(orders, axis=0), "{:.2f}"))


def shares(values: np.ndarray, form: str = "{:.0%}") -> list[str]:
    return [f"{name} {form.format(value)}" for name, value in zip(MEASURES, values, strict=True)]


if __name__ == "__main__":
    main()
