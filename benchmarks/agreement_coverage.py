"""How often 95% intervals of agreement hold the truth where few pairs are judged twice and few are relevant.

Two votes on each doubled pair, two kinds of people, three ways to draw the pairs:

- people: right in 94% whatever the pair; or they find 85% of the relevant pairs and call 2% of the others so;
- pairs: drawn one by one;
- captions: five pairs of each caption are doubled, captions differ in how many of their pairs are relevant
  (beta, as if five had been seen) and in how hard they are (gamma, variance .5), and are drawn whole;
- uneven: all pairs with a positive first vote, and a tenth of the others, weighted by their chances.

The truth is the formula of each statistic over endlessly many pairs (of captions, over two million). Printed
for each cell: the share of samples whose interval holds the truth, of those that have one; for alpha also the
share of samples with the note on few positives, and the coverage where it does not stand. The last line below
a table is the largest Monte-Carlo error in it.

Usage: python benchmarks/agreement_coverage.py [--full]
--full: 2,000 samples a cell (docs/agreement.md); else 60.
"""

import math
import sys
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.agreement.intervals import interval_of
from fire_toolkit.resolution.votes import Votes

PEOPLE = {"right in 94%": (0.94, 0.06), "find 85%, 2% wrong": (0.85, 0.02)}
PREVALENCES, SIZES = (0.02, 0.05, 0.13), (50, 100, 300)
DESIGNS = {"pairs": 0, "captions": 5, "uneven": 0}
STATISTICS = ("alpha", "positive_agreement", "percent_agreement", "prevalence")
REST = 0.1  # of the pairs with a negative first vote, in the uneven draw


class World(NamedTuple):
    """Relevant pairs and people: how many of n pairs are relevant, and who calls which relevant."""

    prevalence: float
    found: float
    wrong: float
    n_each: int

    def answers(self, rng: np.random.Generator, n_pairs: int) -> np.ndarray:
        """Return two votes on each of n pairs; pairs of one caption follow one another."""
        rate, hard = np.full(n_pairs, self.prevalence), np.ones(n_pairs)
        if self.n_each:
            n = n_pairs // self.n_each
            rate = np.repeat(rng.beta(5 * self.prevalence, 5 - 5 * self.prevalence, n), self.n_each)
            hard = np.repeat(rng.gamma(2, 0.5, n), self.n_each)
        is_relevant = rng.random(n_pairs) < rate
        error = np.minimum(np.where(is_relevant, 1 - self.found, self.wrong) * hard, 0.5)
        return is_relevant ^ (rng.random((2, n_pairs)) < error)

    def truth(self) -> dict[str, float]:
        """Return each statistic of endlessly many pairs, by its formula."""
        if self.n_each:
            one, other = self.answers(np.random.default_rng(0), 2_000_000)
            both, apart = np.mean(one & other), np.mean(one ^ other)
        else:
            p, t, f = self.prevalence, self.found, self.wrong
            both = p * t**2 + (1 - p) * f**2
            apart = 2 * p * t * (1 - t) + 2 * (1 - p) * f * (1 - f)
        share = float(both + apart / 2)
        values = (1 - apart / (2 * share * (1 - share)), both / share, 1 - apart, share)
        return dict(zip(STATISTICS, map(float, values), strict=True))


def sample(world: World, design: str, n_doubled: int, rng: np.random.Generator) -> Votes:
    """Return votes on so many pairs judged twice; of an uneven draw so many are expected."""
    if design != "uneven":
        first, second = world.answers(rng, n_doubled)
        pair, n_pairs, chance = np.tile(np.arange(n_doubled), 2), n_doubled, None
    else:
        positive = world.prevalence * world.found + (1 - world.prevalence) * world.wrong
        n_pairs = round(n_doubled / (positive + REST * (1 - positive)))
        first, second = world.answers(rng, n_pairs)
        chance = np.where(first, 1.0, REST)
        is_doubled = rng.random(n_pairs) < chance
        second = second[is_doubled]
        pair = np.concatenate([np.arange(n_pairs), np.flatnonzero(is_doubled)])
    value = np.concatenate([first, second]).astype(np.int64)
    who = np.repeat([0, 1], [len(first), len(second)])
    cluster = np.arange(n_pairs) // world.n_each if world.n_each else None
    pairs = pd.DataFrame(index=range(n_pairs))
    return Votes(pair, value, who, ("0", "1"), np.arange(2.0), pairs, chance=chance, cluster=cluster)


def pattern(votes: Votes) -> tuple[int, ...]:
    """Return how many pairs have which votes and chance; without captions intervals hang on that alone."""
    n_pairs = len(votes.pairs)
    one_chance = np.zeros(n_pairs) if votes.chance is None else votes.chance < 1
    second = np.full(n_pairs, 2)
    second[votes.pair[n_pairs:]] = votes.label[n_pairs:]
    kind = (votes.label[:n_pairs] * 3 + second) * 2 + one_chance.astype(np.int64)
    return tuple(np.bincount(kind, minlength=12).tolist())


def measure(world: World, design: str, n_doubled: int, n_samples: int) -> dict[str, tuple[float, int]]:
    """Return by statistic the share of the intervals that hold the truth, and of how many.

    `noted`: the share of alpha's intervals with a note; `rest`: coverage of those without it.
    """
    truth, known = world.truth(), {}
    held: dict[str, list[bool]] = {name: [] for name in (*STATISTICS, "noted", "rest")}
    for seed in range(n_samples):
        votes = sample(world, design, n_doubled, np.random.default_rng([seed, n_doubled]))
        key = pattern(votes) if votes.cluster is None else seed
        if key not in known:
            known[key] = {name: interval_of(votes, name, 1000, seed=seed) for name in STATISTICS}
        for name, found in known[key].items():
            if math.isnan(found.low):
                continue
            held[name].append(found.low <= truth[name] <= found.high)
            if name == "alpha":
                held["noted"].append(bool(found.note))
                held["rest"] += [] if found.note else [held[name][-1]]
    return {name: (float(np.mean(each)) if each else math.nan, len(each)) for name, each in held.items()}


def rows(design: str, n_samples: int) -> Iterator[tuple[list[str], float]]:
    """Yield a row of the table, and the largest Monte-Carlo error of its coverages."""
    n_each = DESIGNS[design]
    for (people, (found, wrong)), prevalence, n_doubled in product(PEOPLE.items(), PREVALENCES, SIZES):
        world = World(prevalence, found, wrong, n_each)
        cell = measure(world, design, n_doubled, n_samples)
        shown = [_number(*cell[name]) for name in (*STATISTICS, "noted", "rest")]
        errors = [math.sqrt(p * (1 - p) / n) for p, n in (cell[name] for name in STATISTICS) if n]
        truth = world.truth()
        said = f"{truth['alpha']:.2f}".lstrip("0"), f"{truth['positive_agreement']:.2f}".lstrip("0")
        yield [people, f"{100 * prevalence:.0f}%", f"{n_doubled}", *said, *shown], max(errors)


def _number(share: float, n: int) -> str:
    return f"{share:.3f}".removeprefix("0") if n >= 20 else "–"


def main() -> None:
    """Print a table for each design."""
    n_samples = 2000 if "--full" in sys.argv[1:] else 60
    for design in DESIGNS:
        print(f"\n{design}, {n_samples:,} samples a row")
        print("| people | relevant | doubled | alpha is | PA+ is | alpha | PA+ | agreement | prevalence "
              "| noted | alpha, not noted |\n|---|---|---|---|---|---|---|---|---|---|---|")  # fmt: skip
        largest = 0.0
        for row, error in rows(design, n_samples):
            print(f"| {' | '.join(row)} |", flush=True)
            largest = max(largest, error)
        print(f"largest Monte-Carlo error {largest:.3f}")


if __name__ == "__main__":
    main()
