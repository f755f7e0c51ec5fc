"""Do the intervals of `plan --pilot` hold? Three made worlds that differ in how deep their positives lie.

    python benchmarks/plans.py [--full]

Each world has 400 queries, three runs, one known positive a query, and 5, 30 or 60% of its positives below
rank 10 of every run. Nothing of it comes from the model that `plan` fits: docs have noisy scores, queries
differ in difficulty and in how many positives they have. A pilot of 500 pairs is drawn from the top 10 and
judged twice, with a third vote where the two differ; `plan` says how far C@1, C@10 and P@10 will be off,
by labels and corrected for errors of votes. What they are off in truth is simulated with votes on all pairs,
by code of its own that knows the positives. Printed: how often the 95% intervals hold it (± Monte-Carlo
error, over worlds), in brackets the median of predicted over true error, and
how far AP of the depth-10 pool is off, which `plan` does not print.

The default draws 4 worlds of each kind and 2 pilots of each; --full draws 40 and 50 (18 minutes of CPU).
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.planning.lists import Lists, draw_pilot, lists_of
from fire_toolkit.planning.plan import plan_lists
from fire_toolkit.tables import check_qrels
from fire_toolkit.tables.columns import pair_rows

N_QUERIES, N_DOCS, N_RUNS, DEPTH, POOLED = 400, 150, 3, 50, 10
N_PILOT, OVERLAP, N_SIMULATED = 500, 0.1, 100
CUTOFFS = {"C@1": 1, "C@10": 10, "P@10": 10}
RATES = ((0.92, 0.04), (0.85, 0.02), (0.95, 0.01), (0.88, 0.06))  # of annotators, in turn
KINDS = {"5%": (3.6, 2.0, 3), "30%": (1.6, 2.6, 3), "60%": (0.75, 4.5, 3)}  # strength, positives, dispersion


COLUMNS = ["world", "number", "below", "ap", "measure", "estimate", "policy", "right", "error", "held"]


class World(NamedTuple):
    """rank: (n_runs, n_queries, n_docs) from 1; positive, original: (n_queries, n_docs)."""

    rank: np.ndarray
    positive: np.ndarray
    original: np.ndarray

    @property
    def share_below(self) -> float:
        return float((self.rank.min(axis=0) > POOLED)[self.positive].mean())


def make_world(kind: str, seed: int) -> World:
    rng = np.random.default_rng([seed, *kind.encode()])
    strength, mean, dispersion = KINDS[kind]
    n_positive = 1 + rng.negative_binomial(dispersion, dispersion / (dispersion + mean), N_QUERIES)
    positive = np.arange(N_DOCS) < np.minimum(n_positive, 40)[:, None]
    ease = np.exp(0.4 * rng.standard_normal((N_QUERIES, 1)))
    shared = rng.standard_normal((N_QUERIES, N_DOCS))
    rank = np.empty((N_RUNS, N_QUERIES, N_DOCS), dtype=np.int64)
    for run in range(N_RUNS):
        own = rng.standard_normal((N_QUERIES, N_DOCS))
        signal = strength * (1 - 0.12 * run) * ease * (1 + 0.3 * rng.standard_normal((N_QUERIES, N_DOCS)))
        score = positive * signal + 0.7 * shared + 0.7 * own
        rank[run] = 1 + np.argsort(np.argsort(-score, axis=1), axis=1)
    chosen = (rng.random(N_QUERIES) * positive.sum(axis=1)).astype(int)
    return World(rank, positive, np.arange(N_DOCS) == chosen[:, None])


def tables_of(world: World) -> Lists:
    query, doc = (each.ravel() for each in np.indices(world.positive.shape))
    frame = pd.DataFrame({"query_id": [f"q{q:03}" for q in query], "doc_id": [f"d{d:03}" for d in doc]})
    runs = []
    for number, rank in enumerate(world.rank):
        kept = rank.ravel() <= DEPTH
        runs.append(rank_run(frame[kept].assign(run_id=f"r{number}", score=-1.0 * rank.ravel()[kept])))
    originals = frame[world.original.ravel()].assign(relevance=1)
    return lists_of(runs, check_qrels(originals), depth=DEPTH, most_queries=N_QUERIES, seed=0)


def judged_pilot(lists: Lists, positive: np.ndarray, rates: tuple[float, float], seed: int) -> pd.DataFrame:
    rng = np.random.default_rng([seed, 7])
    pool = draw_pilot(lists, N_PILOT, depth=POOLED, seed=seed)
    pair = pair_rows(pool, lists.pairs)
    votes = rng.random((3, len(pair))) < np.where(positive[pair], *rates)
    has_third = votes[0] != votes[1]
    return pd.DataFrame(
        {"pair": pair, "n_positive": votes[:2].sum(axis=0) + (has_third & votes[2]), "n_votes": 2 + has_third}
    )


class Pool(NamedTuple):
    """The pool of depth 10, (n_queries, n_places) in the order in which pairs are asked; empty places are
    no one's: their rank is 999."""

    rank: np.ndarray
    positive: np.ndarray
    original: np.ndarray
    is_pair: np.ndarray


def pool_of(world: World) -> Pool:
    best = world.rank.min(axis=0)
    fusion = (1 / (60 + np.where(world.rank <= DEPTH, world.rank, 10**9))).sum(axis=0)
    order = np.lexsort([-fusion, best], axis=1)[:, : N_RUNS * POOLED]
    rank, positive, original, best = (
        np.take_along_axis(each, np.broadcast_to(order, (*each.shape[:-1], order.shape[1])), axis=-1)
        for each in (world.rank, world.positive, world.original, best)
    )
    is_pair = best <= POOLED
    return Pool(np.where(is_pair, rank, 999), positive & is_pair, original & is_pair, is_pair)


def true_errors(world: World, rates: tuple[float, float], seed: int) -> dict[tuple[str, str, str], float]:
    """Return by policy, measure and estimate the root mean square of the error over runs and votes."""
    pool, rng = pool_of(world), np.random.default_rng([seed, 13])
    truth = {name: value_of(name, pool, pool.positive.astype(float)) for name in CUTOFFS}
    squares: dict[tuple[str, str, str], list[np.ndarray]] = {}
    for _ in range(N_SIMULATED):
        v1, v2, v3 = (rng.random(pool.positive.shape) < np.where(pool.positive, *rates) for _ in range(3))
        is_doubled = rng.random(pool.positive.shape) < OVERLAP
        both, majority = v1 & (v2 | v3), np.where(v1 == v2, v1, v3)
        for policy in ("one", "verify", "until-confirmed", "doubled"):
            doubled = is_doubled | (policy == "doubled")
            verified = (
                open_in(pool, both) if policy == "until-confirmed" else np.full_like(v1, policy == "verify")
            )
            verified &= ~doubled
            label = np.where(doubled, majority, np.where(verified, both, v1))
            errors = {"labelled": label.astype(float)}
            t, f = estimated_rates((v1, v2, v3), doubled & pool.is_pair, verified & pool.is_pair)
            if np.isfinite(t):
                of = [
                    np.where(doubled, r**2 * (3 - 2 * r), np.where(verified, r**2 * (2 - r), r))
                    for r in (t, f)
                ]
                errors["corrected"] = (label - of[1]) / (of[0] - of[1])
            for estimate, relevance in errors.items():
                relevance = np.where(pool.original, 1.0, relevance)
                for name in CUTOFFS:
                    off = value_of(name, pool, relevance) - truth[name]
                    squares.setdefault((policy, name, estimate), []).append(off**2)
    return {key: float(np.sqrt(np.mean(each))) for key, each in squares.items()}


def value_of(name: str, pool: Pool, relevance: np.ndarray) -> np.ndarray:
    """Return each run's mean of a measure for docs that are relevant so far."""
    inside = pool.rank <= CUTOFFS[name]
    if name.startswith("P"):
        return np.where(inside, relevance, 0).sum(axis=2).mean(axis=1) / CUTOFFS[name]
    return (1 - np.where(inside, 1 - relevance, 1).prod(axis=2)).mean(axis=1)


def open_in(pool: Pool, is_verified: np.ndarray) -> np.ndarray:
    """Return which pairs stand in some top 1, 5 or 10 without a positive that is known or confirmed."""
    tops = np.stack([pool.rank <= k for k in (1, 5, 10)])  # cutoff, run, query, place
    closed = (tops & pool.original).any(axis=3)
    is_open = np.zeros_like(is_verified)
    for place in range(is_verified.shape[1]):
        is_open[:, place] = (tops[..., place] & ~closed).any(axis=(0, 1))
        closed |= tops[..., place] & (is_open & is_verified)[:, place]
    return is_open


def estimated_rates(
    votes: tuple[np.ndarray, ...], doubled: np.ndarray, verified: np.ndarray
) -> tuple[float, float]:
    """Return t and f by three moments, from the class of more pairs; nan where they are no probabilities."""
    v1, v2, v3 = votes
    if doubled.sum() >= verified.sum():
        one, two = (v1[doubled].mean() + v2[doubled].mean()) / 2, (v1 & v2)[doubled].mean()
        split = ((v1 != v2) & v3)[doubled].mean() / 2
    else:
        one, two = v1[verified].mean(), (v1 & v2)[verified].mean()
        split = (v1 & ~v2 & v3)[verified].mean()
    total = (two - split - one * two) / (two - one**2)
    gap = np.sqrt(max(0.0, total**2 - 4 * (total * one - two)))
    t, f = (total + gap) / 2, (total - gap) / 2
    return (t, f) if 0 <= f < t <= 1 else (np.nan, np.nan)


def ap_error(world: World) -> float:
    """Return by how many points AP (to rank 50) of the depth-10 pool's true labels is too high, over runs."""
    found = world.positive & ((world.rank.min(axis=0) <= POOLED) | world.original)
    means = []
    for positive in (found, world.positive & ((world.rank.min(axis=0) <= DEPTH) | world.original)):
        values = []
        for rank in world.rank:
            order = np.argsort(rank, axis=1)[:, :DEPTH]
            hit = np.take_along_axis(positive, order, axis=1)
            precision = hit.cumsum(axis=1) / np.arange(1, DEPTH + 1)
            values.append(((precision * hit).sum(axis=1) / positive.sum(axis=1)).mean())
        means.append(np.array(values))
    return 100 * float((means[0] - means[1]).mean())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="2,000 pilots of each kind of world")
    parser.add_argument("--worlds", type=int, metavar="N", help="Worlds of each kind.")
    parser.add_argument("--pilots", type=int, metavar="N", help="Pilots of each world.")
    given = parser.parse_args()
    n_worlds, n_pilots = given.worlds or (40 if given.full else 4), given.pilots or (50 if given.full else 2)
    for kind in KINDS:
        rows = []
        for number in range(n_worlds):
            world, rates = make_world(kind, number), RATES[number % len(RATES)]
            errors, lists = true_errors(world, rates, number), tables_of(world)
            rows_of = lists.pairs["query_id"].str[1:].astype(int), lists.pairs["doc_id"].str[1:].astype(int)
            positive, ap = world.positive[rows_of], ap_error(world)
            for pilot in range(n_pilots):
                votes = judged_pilot(lists, positive, rates, 1000 * number + pilot)
                plan = plan_lists(lists, list(CUTOFFS), votes=votes, n_draws=40, seed=pilot).designs
                plan = plan[plan["design"] == f"depth {POOLED}"]
                for row in plan.to_dict("records"):
                    right = errors.get((row["policy"], row["measure"], row["estimate"]))
                    if right is not None:
                        rows.append(
                            (
                                kind,
                                number,
                                world.share_below,
                                ap,
                                row["measure"],
                                row["estimate"],
                                row["policy"],
                                right,
                                row["error"],
                                row["error_low"] <= right <= row["error_high"],
                            )
                        )
        report(pd.DataFrame(rows, columns=COLUMNS), n_worlds * n_pilots)


def report(table: pd.DataFrame, n: int) -> None:
    for kind, own in table.groupby("world", sort=False):
        ap = f"AP of the depth-10 pool is off by {own['ap'].mean():+.1f} points"
        print(f"{kind}: {own['below'].mean():.1%} of positives below rank 10; {ap}; {n:,} pilots")
        for (measure, estimate), part in own.groupby(["measure", "estimate"], sort=False):
            cells = []
            for policy, each in part.groupby("policy", sort=False):
                by_world = each.groupby("number")["held"].mean()
                ratio = np.exp((each["error"] / each["right"]).map(np.log).median())
                error = by_world.std(ddof=1) / np.sqrt(len(by_world))
                cells.append(f"{policy} {by_world.mean():.3f} ±{error:.3f} ({ratio:.2f})")
            print(f"  {measure:5} {estimate:10}", "  ".join(cells))


if __name__ == "__main__":
    main()
