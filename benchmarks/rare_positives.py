"""Whether estimates from drawn samples hold where positives are rare: `python benchmarks/rare_positives.py`.

Worlds of 300 queries with one original positive each, where 1, 3, 6 and 15% of the other pairs are relevant;
no data is needed. Three designs are drawn again and again: pairs in strata by the score of a machine judge
(seven judges, from one that knows nothing to one of AUC .99; one is surer than it is right), pairs in strata
of ranks, and queries judged deep. Every estimate that is printed counts, also those of draws that brought no
positive; *noted* are draws with the note that few positives were drawn. Prints a table in Markdown, and the
cells whose coverage lies outside .92 to .98 by two Monte-Carlo errors. Exits 1 where more than 20% of all
draws are refused, or a cell has a bias above .002 or a coverage below .92 by more than four Monte-Carlo
errors.

`--full` draws each cell 2,000 times, from 40 worlds; the default 40 times, from 8 worlds.
"""

from __future__ import annotations

import argparse
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from statistics import NormalDist

import numpy as np

from fire_toolkit.inference.drawn_pairs import (
    KNOWN,
    UNDRAWN,
    DrawnPairs,
    micro_recall,
    sampled_precision,
    undrawn_share,
)
from fire_toolkit.inference.estimates import LEAST_FOUND
from fire_toolkit.inference.limits import Estimate
from fire_toolkit.inference.two_phase import TwoPhase, missing_share
from fire_toolkit.pooling.machine import allocate, stratify_scores

PREVALENCES = (0.01, 0.03, 0.06, 0.15)
N_QUERIES, K = 300, 10
JUDGES = {
    "knows nothing": (0.5, 1),
    "AUC .65": (0.65, 1),
    "AUC .80": (0.8, 1),
    "AUC .90": (0.9, 1),
    "AUC .90, surer than right": (0.9, 3),
    "AUC .95": (0.95, 1),
    "AUC .99": (0.99, 1),
}
MOST_BIAS, LEAST_COVERAGE, MOST_COVERAGE, MOST_REFUSED = 0.002, 0.92, 0.98, 0.2

# The truth, the estimate and its limits, nan where refused, and whether it has the note on few positives.
Cell = tuple[float, float, float, float, bool]
Draw = Callable[[np.random.Generator], dict[str, Cell]]


def judge_scores(truth: np.ndarray, auc: float, surer: float, rng: np.random.Generator) -> np.ndarray:
    """Return P(yes): calibrated, from two normal distributions as far apart as the AUC; at .5 noise."""
    if auc == 0.5:
        return rng.random(len(truth))
    gap, share = NormalDist().inv_cdf(auc) * 2**0.5, truth.mean()
    shown = rng.normal(size=len(truth)) + gap * truth
    return 1 / (1 + np.exp(surer * (gap**2 / 2 - gap * shown - np.log(share / (1 - share)))))


def cell(truth: float, found: Estimate) -> Cell:
    return truth, found.estimate, found.low, found.high, found.n_differing < LEAST_FOUND


def machine_draws(prevalence: float, judge: str, n: int, rng: np.random.Generator) -> Draw:
    """Return how to draw n pairs of two runs' top tens in strata by a judge's score."""
    n_pairs = N_QUERIES * 15  # the runs share a half of their tops
    truth, is_known = rng.random(n_pairs) < prevalence, np.arange(n_pairs) % 15 == 0
    known_in_top = rng.random(n_pairs) < 0.7
    truth[is_known] = True
    query, in_top = np.arange(n_pairs) // 15, np.where(is_known, known_in_top, np.arange(n_pairs) % 15 < K)
    score, stratum = np.zeros(n_pairs), np.full(n_pairs, KNOWN)
    score[~is_known] = judge_scores(truth[~is_known], *JUDGES[judge], rng)
    stratum[~is_known] = stratify_scores(score[~is_known])
    could = np.flatnonzero(~is_known)
    wanted, size = allocate(score[could], stratum[could], n), np.bincount(stratum[could])
    starts = (np.cumsum(size) - size)[np.sort(stratum[could])]

    def draw(rng: np.random.Generator) -> dict[str, Cell]:
        order = could[np.lexsort([rng.random(len(could)), stratum[could]])]
        chosen = order[np.arange(len(could)) - starts < wanted[stratum[order]]]
        label = np.where(is_known, 1.0, np.nan)
        label[chosen] = truth[chosen]
        pairs = DrawnPairs(score, label, query, N_QUERIES, stratum=stratum)
        return {
            "P@10": cell(truth[in_top].sum() / K / N_QUERIES, sampled_precision(pairs, in_top, k=K)),
            "micro R@10": cell(truth[in_top].sum() / truth.sum(), micro_recall(pairs, in_top)),
        }

    return draw


def beyond_draws(prevalence: float, n: int) -> Draw:
    """Return how to draw queries of unlike prevalence, and n of their pairs by a judge, each time anew."""
    n_pairs = N_QUERIES * K
    query, in_top = np.repeat(np.arange(N_QUERIES), K), np.ones(n_pairs, dtype=bool)

    def draw(rng: np.random.Generator) -> dict[str, Cell]:
        truth = rng.random(n_pairs) < prevalence * rng.gamma(2, 0.5, N_QUERIES)[query]
        score = judge_scores(truth, 0.9, 1, rng)
        stratum = stratify_scores(score)
        label = np.full(n_pairs, np.nan)
        for code, wanted in enumerate(allocate(score, stratum, n)):
            chosen = rng.permutation(np.flatnonzero(stratum == code))[:wanted]
            label[chosen] = truth[chosen]
        pairs = DrawnPairs(score, label, query, N_QUERIES, stratum=stratum)
        found = sampled_precision(pairs, in_top, k=K, drawn=np.arange(pairs.n_queries))
        return {"P@10": cell(prevalence, found)}

    return draw


def strata_draws(prevalence: float, rates: tuple[float, float], rng: np.random.Generator) -> Draw:
    """Return how to draw the pairs of ranks 6 to 20 and 21 to 50 at two rates, ranks to 5 whole."""
    n = N_QUERIES * 60
    rank = np.tile(np.repeat([1, 6, 21], [6, 18, 36]), N_QUERIES)
    chance = np.select([rank == 1, rank == 6], [1.0, rates[0]], rates[1])
    truth = rng.random(n) < prevalence * np.select([rank == 1, rank == 6], [4.0, 1.5], 0.75)
    before = (np.arange(n) % 60 == 0) & (rng.random(n) < 0.8)
    truth |= before
    in_a, in_b = (rng.random((2, n)) < 0.8) & (rank <= 6)
    query = np.repeat(np.arange(N_QUERIES), 60)
    probability, known = np.where(before, 1.0, chance), before * 1.0

    def draw(rng: np.random.Generator) -> dict[str, Cell]:
        kept = (rng.random(n) < chance) | before
        pairs = DrawnPairs(known, np.where(kept, truth, UNDRAWN), query, N_QUERIES, chance=probability)
        found = {run: (truth & top).sum() / 20 / N_QUERIES for run, top in (("a", in_a), ("b", in_b))}
        return {
            "P@20": cell(found["a"], sampled_precision(pairs, in_a, k=20)),
            "difference in P@20": cell(found["a"] - found["b"], sampled_precision(pairs, in_a, in_b, k=20)),
            "micro R@20": cell((truth & in_a).sum() / truth.sum(), micro_recall(pairs, in_a)),
            "never judged": cell(1 - truth[kept].sum() / truth.sum(), undrawn_share(pairs)),
        }

    return draw


def deep_draws(prevalence: float, n: int, rng: np.random.Generator) -> Draw:
    """Return how to draw n queries of which 40 pairs more are judged than of the others."""
    n_shallow = 1 + rng.binomial(15, min(2 * prevalence, 0.5), N_QUERIES)
    n_more = rng.binomial(40, prevalence, N_QUERIES)
    both = []
    for strength in (0.8, 0.6, 0.4):
        found = rng.binomial(n_shallow, strength)
        hits = found + rng.binomial(n_more, strength / 2)
        both.append((found / n_shallow, found / (n_shallow + n_more), hits / (n_shallow + n_more)))
    x, at_shallow, at_deep = np.array(both).transpose(1, 2, 0)

    def draw(rng: np.random.Generator) -> dict[str, Cell]:
        sample = rng.choice(N_QUERIES, n, replace=False)
        cells: dict[str, Cell] = {}
        for name, y in (("R@10", at_shallow), ("R@50", at_deep)):
            found, true = TwoPhase(x, y[sample], sample), y.mean(axis=0)
            cells[name] = (true[1], *found.of(1)[:3], False)
            cells[f"difference in {name}"] = (true[0] - true[1], *found.of(0, 1)[:3], False)
        share = missing_share(n_shallow[sample], (n_shallow + n_more)[sample], n_queries=N_QUERIES)
        true_share = n_more.sum() / (n_shallow + n_more).sum()
        return cells | {"never judged": (true_share, *share[:3], False)}

    return draw


def designs() -> Iterator[tuple[str, float, Callable[[np.random.Generator], Draw]]]:
    """Yield the name of each design, the prevalence, and how to make its world."""
    for n, (judge, p) in product((100, 200, 500), product(JUDGES, PREVALENCES)):
        yield f"{n} pairs, judge {judge}", p, lambda rng, p=p, j=judge, n=n: machine_draws(p, j, n, rng)
    for p in PREVALENCES:
        yield "300 pairs, judge AUC .90, queries like these", p, lambda _, p=p: beyond_draws(p, 300)
    for rates, p in product(((0.05, 0.02), (0.1, 0.05), (0.3, 0.1)), PREVALENCES):
        yield f"strata at {rates[0]} and {rates[1]}", p, lambda rng, p=p, r=rates: strata_draws(p, r, rng)
    for n, p in product((40, 67, 133), PREVALENCES):
        yield f"{n} of {N_QUERIES} queries deep", p, lambda rng, p=p, n=n: deep_draws(p, n, rng)


@dataclass
class Cell95:
    """What a cell came to: bias, coverage of the 95% interval, their errors, shares refused and noted."""

    where: str
    bias: float
    bias_error: float
    covers: float
    covers_error: float
    refused: float
    noted: float

    @classmethod
    def of(cls, where: str, found: list[Cell]) -> Cell95:
        true, estimate, low, high, is_noted = np.array(found, dtype=float).T
        printed = ~np.isnan(estimate)
        if printed.sum() < 20:  # nearly all were refused
            return cls(where, np.nan, np.nan, np.nan, np.nan, 1 - printed.mean(), 0)
        off, is_covered = (estimate - true)[printed], ((low <= true) & (true <= high))[printed]
        errors = (each.std() / len(off) ** 0.5 for each in (off, is_covered))
        bias_error, covers_error = errors
        noted = is_noted[printed].mean()
        return cls(where, off.mean(), bias_error, is_covered.mean(), covers_error, 1 - printed.mean(), noted)

    def __str__(self) -> str:
        if np.isnan(self.bias):
            return "refused"
        shares = {"refused": self.refused, "noted": self.noted}
        told = ", ".join(f"{name} {share:.0%}" for name, share in shares.items() if share)
        share = f" ({told})" if told else ""
        return (
            f"{self.bias:+.4f} ± {self.bias_error:.4f} / {self.covers:.3f} ± {self.covers_error:.3f}{share}"
        )

    def is_outside(self, error: float) -> bool:
        """Return whether coverage misses its range by two Monte-Carlo errors."""
        return not LEAST_COVERAGE - 2 * error <= self.covers <= MOST_COVERAGE + 2 * error

    def is_worse(self, error: float) -> bool:
        """Return whether bias or too little coverage miss their limits by four Monte-Carlo errors."""
        is_low = self.covers < LEAST_COVERAGE - 4 * max(self.covers_error, error)
        return is_low or abs(self.bias) > MOST_BIAS + 4 * self.bias_error


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="2,000 repetitions a cell")
    parser.add_argument("--draws", type=int, help="as many, where 2,000 are too few")
    parser.add_argument("--only", default="", help="designs whose name and prevalence hold this")
    given = parser.parse_args()
    n, n_worlds = (given.draws or 2000, 40) if given.full or given.draws else (40, 8)
    error = (0.95 * 0.05 / n) ** 0.5
    table: dict[str, list[Cell95]] = {}
    for name, prevalence, world in designs():
        if given.only not in f"{name}, {prevalence:.0%}":
            continue
        rng = np.random.default_rng(zlib.crc32(f"{name} {prevalence}".encode()))
        draws = [world(rng) for _ in range(n_worlds)]
        drawn = [draws[number % n_worlds](rng) for number in range(n)]
        for of in drawn[0]:
            cell = Cell95.of(f"{name}, {of}, {prevalence:.0%}", [each[of] for each in drawn])
            table.setdefault(f"{name}, {of}", []).append(cell)
    print(f"{n:,} repetitions a cell; bias / coverage, each with its Monte-Carlo error\n")
    print("| design, estimate |", *(f"{prevalence:.0%} |" for prevalence in PREVALENCES))
    print("|---" * (1 + len(PREVALENCES)) + "|")
    for what, row in table.items():
        print(f"| {what} |", *(f"{cell} |" for cell in row))
    cells = [cell for row in table.values() for cell in row]
    refused = float(np.mean([cell.refused for cell in cells]))
    printed = [cell for cell in cells if not np.isnan(cell.bias)]
    print(f"\n{len(cells)} cells; {refused:.1%} of draws refused, by the design. Coverage outside its range:")
    for cell in printed:
        if cell.is_outside(error):
            print(f"- {cell.where}: {cell}")
    worse = [f"{cell.where}: {cell}" for cell in printed if cell.is_worse(error)]
    if refused > MOST_REFUSED:
        worse.append(f"{refused:.1%} refused, expected at most {MOST_REFUSED:.0%}")
    for line in worse:
        print(f"worse than its limit: {line}", file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
