"""Do the intervals of corrected scores and gaps hold? Errors of votes on a made world, simulated.

    python benchmarks/label_noise.py [--full]

Each repetition draws queries from a world of 20,000 with five runs, has five annotators of mixed quality
vote by a design, and corrects C@1, C@5, C@10 and P@10 as the product does, written out anew here in arrays;
for each design both are held against each other once, to 1e-12. Prints for each cell

- the votes a pair, fourth votes left out;
- the largest mean error of a gap between two runs, over measures and pairs, as labelled and as corrected
  (with its Monte-Carlo error), against the truth of the drawn queries, and so for scores;
- the share of 95% intervals that hold the world's gap or score, lowest and highest over measures and runs;
- how often rates by bands of ranks were used, and how many repetitions were refused;
- the largest mean error of corrected C@1, and how often corrected scores come first, if all positives by
  2 to 1 have a fourth vote.

--full takes 2,000 repetitions of each cell (20 minutes of CPU), the default 40 of a few.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.inference.corrected import corrected_terms, gaps_of
from fire_toolkit.inference.distributions import t_quantile
from fire_toolkit.inference.judged_pairs import join_runs
from fire_toolkit.inference.votes import votes_by_design
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.measures import parse_measures
from fire_toolkit.tables import check_qrels

N_RUNS, DEPTH, N_WORLD, SHARE = 5, 10, 20_000, 0.15
KS = (1, 5, 10)
MEASURES = ["C@1", "C@5", "C@10", "P@10"]
QUALITIES = (1.9, 1.6, 1.4, 1.1, 0.7)
SINGLE, DOUBLED, VERIFY = 0, 1, 2
DESIGNS = ("15% doubled", "verify-positives", "until-confirmed")
PAIRS = list(combinations(range(N_RUNS), 2))
HALF_CHI = {1: 0.0, 2: 1.386294, 3: 3.356694}  # chi-square with 2(bands − 1) degrees of freedom at p = .5
Arrays = Any


class World(NamedTuple):
    """Pooled docs of each query by best rank, then RRF; lists: (query, run, rank) → place of the doc."""

    relevant: Arrays
    original: Arrays
    best: Arrays
    ranks: Arrays
    lists: Arrays

    @property
    def valid(self) -> Arrays:
        """Which places hold a pooled doc that is no original."""
        return (self.best <= DEPTH) & ~self.original

    def of(self, queries: Arrays) -> World:
        """Return some of the queries."""
        return World(*(each[queries] for each in self))

    def truth(self) -> Arrays:
        """Return each query's true values, (queries, runs, measures)."""
        found = at(self.relevant | self.original, self.lists)
        hits = [found[..., :k].any(-1) for k in KS]
        return np.stack([*hits, found.mean(-1)], axis=-1).astype(float)


def at(values: Arrays, lists: Arrays) -> Arrays:
    """Return the values of the docs in lists."""
    return np.take_along_axis(values, lists.reshape(len(lists), -1), 1).reshape(lists.shape)


def make_world(n: int = N_WORLD, *, n_docs: int = 60, seed: int = 1) -> World:
    """Return a world in which queries have 1 to 40 relevant docs and runs find what they share."""
    draw = np.random.default_rng(seed)
    n_relevant = np.minimum(1 + draw.negative_binomial(1.2, 1.2 / 6.2, n), 40)
    relevant = np.arange(n_docs) < n_relevant[:, None]
    original = np.zeros((n, n_docs), bool)
    original[:, 0] = True
    shared = draw.normal(size=(n, n_docs))
    lists, ranks = np.empty((n, N_RUNS, DEPTH), int), np.full((n, n_docs, N_RUNS), 999)
    for run, quality in enumerate(QUALITIES):
        score = quality * relevant + 0.5 * quality * original + 0.6 * shared + draw.normal(size=(n, n_docs))
        lists[:, run] = np.argsort(-score, axis=1)[:, :DEPTH]
        np.put_along_axis(ranks[:, :, run], lists[:, run], np.arange(1, DEPTH + 1)[None], axis=1)
    best = ranks.min(axis=2)
    order = np.lexsort((-(1 / (60 + ranks)).sum(axis=2), best), axis=1)
    order = order[:, : int((best <= DEPTH).sum(axis=1).max())]
    place = np.zeros((n, n_docs), int)
    np.put_along_axis(place, order, np.arange(order.shape[1])[None].repeat(n, 0), axis=1)
    relevant, original, best = (np.take_along_axis(each, order, 1) for each in (relevant, original, best))
    return World(relevant, original, best, np.take_along_axis(ranks, order[..., None], 1), at(place, lists))


@dataclass(frozen=True)
class Cell:
    """What is simulated: a design, queries, the mean t and f, by bands of ranks, and how errors correlate."""

    design: str
    n_queries: int
    t: float
    f: float
    t_by_band: tuple[float, float, float] = (0, 0, 0)
    f_by_band: tuple[float, float, float] = (1, 1, 1)
    correlation: float = 0.0

    @property
    def name(self) -> str:
        """The cell in words."""
        errors = f"{self.t:.2f}/{self.f:.2f}"
        if self.f_by_band != (1, 1, 1):
            errors = "/".join(f"{self.f * each:.3f}" for each in self.f_by_band)
        hard = f", correlation {self.correlation}" if self.correlation else ""
        return f"{self.design}, {self.n_queries} queries, {errors}{hard}"


class Voted(NamedTuple):
    """The four votes on each pair, its design class, its label by design, and its band of ranks."""

    votes: Arrays
    design_class: Arrays
    label: Arrays
    band: Arrays


def vote(world: World, cell: Cell, draw: np.random.Generator) -> Voted:
    """Return votes of five annotators of mixed quality, four different ones for each pair."""
    band = np.searchsorted([2, 4], world.best, "right")
    base = np.where(
        world.relevant, cell.t + np.array(cell.t_by_band)[band], cell.f * np.array(cell.f_by_band)[band]
    )
    if rho := cell.correlation:
        base = draw.beta(base * (1 - rho) / rho, (1 - base) * (1 - rho) / rho)
    better, worse = np.array([-0.04, -0.02, 0, 0.02, 0.04]), np.array([0.5, 0.75, 1, 1.25, 1.5])
    start, step = draw.integers(5, size=base.shape), draw.integers(1, 5, size=base.shape)
    votes = np.empty((4, *base.shape), bool)
    for number in range(4):
        who = (start + number * step) % 5
        votes[number] = draw.random(base.shape) < np.where(
            world.relevant, base + better[who], base * worse[who]
        )
    a, b, c, _ = votes
    if cell.design == "15% doubled":
        design_class = np.where(draw.random(base.shape) < SHARE, DOUBLED, SINGLE)
    elif cell.design == "verify-positives":
        design_class = np.full(base.shape, VERIFY)
    else:
        design_class = until_confirmed(world, a & (b | c))
    by_class = [a, (a & b) | ((a ^ b) & c), a & (b | c)]
    return Voted(votes, design_class, np.choose(design_class, by_class), band)


def until_confirmed(world: World, confirmed: Arrays) -> Arrays:
    """Return the policy's classes: verify while some top 1, 5 or 10 that holds the pair has no positive."""
    found = np.full(world.best.shape, SINGLE)
    holds = world.ranks[..., None] <= np.array(KS)
    is_done = (holds & world.original[..., None, None]).any(axis=1)
    for place in range(found.shape[1]):
        is_asked = (holds[:, place] & ~is_done).any(axis=(1, 2)) & world.valid[:, place]
        found[is_asked, place] = VERIFY
        is_done |= holds[:, place] & (is_asked & confirmed[:, place])[:, None, None]
    return found


def moments(world: World, voted: Voted, *, is_doubled: bool) -> Arrays:
    """Return n, first, both and third of each query and band, (queries, 3, 4)."""
    a, b, c, _ = voted.votes
    used = (voted.design_class == (DOUBLED if is_doubled else VERIFY)) & world.valid
    first, third = ((a + 0.0 + b) / 2, ((a ^ b) & c) / 2) if is_doubled else (a, a & ~b & c)
    each = np.stack([np.ones(a.shape), first, a & b, third], axis=-1) * used[..., None]
    return np.stack([(each * (voted.band == band)[..., None]).sum(axis=1) for band in range(3)], axis=1)


def rates_of(counts: Arrays) -> tuple[Arrays, Arrays, Arrays]:
    """Return t, f and the share of relevant pairs from (..., 4) counts, which may be complex."""
    n, first, both, third = np.moveaxis(counts, -1, 0)
    with np.errstate(all="ignore"):
        m1, m2, m3 = first / n, both / n, (both - third) / n
        total = (m3 - m1 * m2) / (m2 - m1**2)
        root = np.sqrt(total**2 - 4 * (total * m1 - m2))
        t, f = (total + root) / 2, (total - root) / 2
        return t, f, (m1 - f) / (t - f)


def are_rates(counts: Arrays) -> bool:
    """Whether labels may be corrected by the rates of each band."""
    t, f, _ = rates_of(counts)
    return bool(((t - f >= 0.5) & (t <= 1.1) & (f >= -0.1)).all())


def chi_square(by_band: Arrays, *, is_doubled: bool) -> float:
    """Return Pearson's chi-square of vote patterns against one pair of rates for all bands."""
    t, f, _ = rates_of(by_band.sum(axis=0))
    t, f, total = min(max(t, 0), 1), min(max(f, 1e-6), 1), 0.0
    for n, first, both, third in by_band:
        share = min(max((first / n - f) / (t - f), 0), 1)
        if is_doubled:
            seen = [both, 2 * third, 2 * (first - both - third), n - 2 * first + both]
            chance = [
                np.array([e * e, 2 * e * e * (1 - e), 2 * e * (1 - e) ** 2, (1 - e) ** 2]) for e in (t, f)
            ]
        else:
            seen = [both, third, first - both - third, n - first]
            chance = [np.array([e * e, e * e * (1 - e), e * (1 - e) ** 2, 1 - e]) for e in (t, f)]
        expected = n * (share * chance[0] + (1 - share) * chance[1])
        total += float(((np.array(seen) - expected) ** 2 / expected).sum())
    return total


def p_table(t: Arrays, f: Arrays) -> Arrays:
    """Return p̂ by class, band and label."""
    classes = [(e, e**2 * (3 - 2 * e), e**2 * (2 - e)) for e in (t, f)]
    return np.array(
        [[(label - g) / (s - g) for label in (0, 1)] for s, g in zip(*classes, strict=True)]
    ).swapaxes(1, 2)


class Estimate(NamedTuple):
    """Terms of each query, run and measure, and the counts of the bands with rates of their own.

    added: (runs, KS), the variance that votes add to the term of a query without a hit.
    """

    terms: Arrays
    counts: Arrays
    added: Arrays

    @property
    def n_bands(self) -> int:
        """How many bands have rates of their own."""
        return int(self.counts.shape[1])


def correct(world: World, voted: Voted, counts: Arrays, *, is_doubled: bool) -> Estimate | None:
    """Return the corrected scores' terms; None where they are refused."""
    by_band = counts.sum(axis=0)
    is_split = are_rates(by_band) and chi_square(by_band, is_doubled=is_doubled) > HALF_CHI[3]
    counts = counts if is_split else counts.sum(axis=1, keepdims=True)
    total, n_bands, n = counts.sum(axis=0), counts.shape[1], len(counts)
    if not are_rates(total):
        return None
    table = p_table(*rates_of(total)[:2])
    steps = total + 1e-30j * np.eye(4 * n_bands).reshape(-1, n_bands, 4)
    slopes = np.array([p_table(*rates_of(step)[:2]).imag / 1e-30 for step in steps]).reshape(4 * n_bands, -1)
    band = voted.band if is_split else np.zeros_like(voted.band)
    kind = (voted.design_class * n_bands + band) * 2 + voted.label
    kind = np.where(world.original, 6 * n_bands, kind)
    left = 1 - at(np.append(table.reshape(-1), 1.0)[kind], world.lists)
    kind = at(kind, world.lists)
    values, by_kind = [], []
    for k in (*KS, 0):
        rest = left[..., : k or DEPTH]
        product = rest.prod(axis=-1, keepdims=True)
        values.append(1 - (product[..., 0] if k else rest.mean(axis=-1)))
        weight = np.divide(product, rest, out=np.zeros_like(rest), where=rest != 0)
        weight = weight if k else np.full(rest.shape, 1 / DEPTH)
        tops, size = kind[..., : k or DEPTH], 6 * n_bands + 1
        by_kind.append(
            [np.bincount(tops[:, run].ravel(), weight[:, run].ravel(), size)[:-1] for run in range(N_RUNS)]
        )
    gradient = np.einsum("mrk,ck->crm", np.array(by_kind), slopes)
    moved = np.tensordot(counts.reshape(n, -1), gradient, axes=1)
    values = np.stack(values, axis=-1)
    return Estimate(values + moved - bias(kind, counts, values), counts, added_by_votes(kind, table))


def added_by_votes(kinds: Arrays, table: Arrays) -> Arrays:
    """Return the mean of Π(1 + f(1 − f)/(t − f)²) − 1 over the tops without an original."""
    raised = np.append(1 + np.maximum(-table[..., 0] * table[..., 1], 0).repeat(2), np.nan)[kinds]
    of_tops = [raised[..., :k].prod(axis=-1) for k in KS]
    return np.stack([np.nanmean(each, axis=0) for each in of_tops], axis=-1) - 1


def bias(kinds: Arrays, counts: Arrays, values: Arrays, *, n_groups: int = 20) -> Arrays:
    """Return the bias of the means of values by the jackknife of groups; 0 where one leaves no rates.

    Lists with the same docs of each kind are worked out once: sums of random numbers tell them apart.
    """
    n, group = len(counts), np.arange(len(counts)) % n_groups
    totals = [counts[group != number].sum(axis=0) for number in range(n_groups)]
    if not all(are_rates(total) for total in totals):
        return np.zeros(values.shape[1:])
    rest = np.array([np.append(1 - p_table(*rates_of(total)[:2]).reshape(-1), 0.0) for total in totals])
    marks = np.random.default_rng(0).integers(1 << 50, size=rest.shape[1])
    left = np.empty(values.shape[1:])
    for run, place in np.ndindex(*left.shape):
        tops = kinds[:, run, : (*KS, DEPTH)[place]]
        marked = marks[tops].sum(axis=1)
        _, first, same = np.unique(marked, return_index=True, return_inverse=True)
        found = rest[:, tops[first]]
        value = 1 - (found.mean(axis=-1) if place == len(KS) else found.prod(axis=-1))
        own = np.bincount(group * len(first) + same, minlength=n_groups * len(first)).reshape(n_groups, -1)
        left[run, place] = (value * (own.sum(axis=0) - own)).sum() / n
    return left - (n_groups - 1) * values.mean(axis=0)


def fourth_votes(world: World, voted: Voted, counts: Arrays, *, is_doubled: bool) -> tuple[bool, bool]:
    """Return whether there are enough fourth votes on positives by 2 to 1, and whether they raise an alarm.

    counts: (queries, bands, 4) as they were corrected by.
    """
    a, b, c, d = voted.votes
    used = (voted.design_class == (DOUBLED if is_doubled else VERIFY)) & world.valid
    asked = used & c & ((a ^ b) if is_doubled else a & ~b)
    total, n_bands = counts.sum(axis=0), counts.shape[1]
    band = voted.band if n_bands > 1 else np.zeros_like(voted.band)
    t, f, share = (np.clip(each, 0, 1) for each in rates_of(total))
    shares, splits = [], []
    for rho in (0.0, 0.1):
        top, bottom = np.zeros(n_bands), np.zeros(n_bands)
        for mean, weight in ((t, share), (f, 1 - share)):
            m = [np.ones(n_bands)]
            for k in range(4):
                m.append(m[-1] * (mean * (1 - rho) + k * rho) / (1 - rho + k * rho))
            top, bottom = top + weight * (m[3] - m[4]), bottom + weight * (m[2] - m[3])
        shares.append(np.divide(top, bottom, out=np.zeros(n_bands), where=bottom > 0))
        splits.append(bottom * total[:, 0])
    expected = [each @ splits[0] / max(splits[0].sum(), 1e-300) for each in shares]
    spread = [math.sqrt(e * (1 - e)) for e in expected]
    gap = expected[0] - expected[1]
    needed = ((1.645 * spread[0] + 1.2816 * spread[1]) / gap) ** 2 if gap > 0 else math.inf
    n_each = np.bincount(band[asked], minlength=n_bands)
    variance = n_each @ (shares[0] * (1 - shares[0]))
    z = ((asked & d).sum() - n_each @ shares[0]) / math.sqrt(variance) if variance else 0.0
    return n_each.sum() >= needed, z < -1.645


def simulate(world: World, cell: Cell, n_repetitions: int, seed: int) -> dict[str, Any]:
    """Return what came of the repetitions of a cell."""
    draw = np.random.default_rng(seed)
    per_query, is_doubled = world.truth(), cell.design == "15% doubled"
    whole = per_query.mean(axis=0)
    reach = t_quantile(0.975, cell.n_queries - 1)
    names = ("raw", "left", "held", "gap_raw", "gap_left", "gap_held", "bands", "first", "votes")
    found: dict[str, list[Any]] = {name: [] for name in names}
    n_refused = 0
    a, b = np.array(PAIRS).T
    for _ in range(n_repetitions):
        queries = draw.integers(len(per_query), size=cell.n_queries)
        own = world.of(queries)
        voted = vote(own, cell, draw)
        counts = moments(own, voted, is_doubled=is_doubled)
        estimate = correct(own, voted, counts, is_doubled=is_doubled)
        if estimate is None:
            n_refused += 1
            continue
        truth, terms = per_query[queries].mean(axis=0), estimate.terms
        labelled = own._replace(relevant=voted.label & own.valid).truth().mean(axis=0)
        for name, values, of_world, of_drawn, raw in (
            ("", terms, whole, truth, labelled),
            (
                "gap_",
                terms[:, a] - terms[:, b],
                whole[a] - whole[b],
                truth[a] - truth[b],
                labelled[a] - labelled[b],
            ),
        ):
            mean, se = values.mean(axis=0), values.std(axis=0, ddof=1) / math.sqrt(cell.n_queries)
            found[f"{name}left"].append(mean - of_drawn)
            found[f"{name}raw"].append(raw - of_drawn)
            variance = se**2
            if not name:  # a share's variance is that at the world's share
                variance[:, : len(KS)] = variance_at(of_world, mean, variance, estimate, cell.n_queries)
            found[f"{name}held"].append(np.abs(mean - of_world) < reach * np.sqrt(variance))
        found["bands"].append(estimate.n_bands > 1)
        enough, is_raised = fourth_votes(own, voted, estimate.counts, is_doubled=is_doubled)
        found["first"].append((enough and not is_raised, enough))
        found["votes"].append(n_votes(voted)[own.valid].mean())
    return {name: np.array(each, dtype=float) for name, each in found.items()} | {"refused": n_refused}


def variance_at(share: Arrays, found: Arrays, variance: Arrays, estimate: Estimate, n: int) -> Arrays:
    """Return the variance of the shares C@k, (runs, KS), were they those of the world."""
    share, found, variance = (each[:, : len(KS)] for each in (share, found, variance))
    rest = np.maximum(variance - (1 - found) * (found + estimate.added) / (n - 1), 0)
    return (1 - share) * (share + estimate.added) / n + rest


def n_votes(voted: Voted) -> Arrays:
    """Return how many votes each pair gets by its class, fourth votes left out."""
    a, b = voted.votes[:2]
    third = 2 + (a ^ b)
    return np.choose(voted.design_class, [np.ones(a.shape, int), third, np.where(a, third, 1)])


def in_words(cell: Cell, found: dict[str, Any]) -> str:
    """Return a row of the table."""

    def worst(values: Arrays) -> tuple[float, float]:
        mean, error = np.abs(values.mean(axis=0)), values.std(axis=0) / math.sqrt(len(values))
        place = np.unravel_index(int(mean.argmax()), mean.shape)
        return float(mean[place]), float(error[place])

    def span(held: Arrays) -> str:
        share = held.mean(axis=0)
        return f"{share.min():.3f} to {share.max():.3f}"

    def error(values: Arrays) -> str:
        return "{:.4f} ({:.4f})".format(*worst(values))

    first, enough = found["first"].mean(axis=0)
    return " | ".join([
        cell.name,
        f"{found['votes'].mean():.2f}",
        f"{worst(found['gap_raw'])[0]:.3f}",
        error(found["gap_left"]),
        span(found["gap_held"]),
        error(found["left"]),
        span(found["held"]),
        f"{found['bands'].mean():.2f}",
        str(found["refused"]),
        error(found["left"][..., :1]),
        f"{first:.3f} of {enough:.3f}",
    ])  # fmt: skip


def check_against_the_product(world: World, cell: Cell, seed: int) -> None:
    """Raise `AssertionError` where the product's numbers are not those of this file, to 1e-12."""
    draw = np.random.default_rng(seed)
    own = world.of(draw.choice(len(world.best), size=cell.n_queries, replace=False))
    is_doubled = cell.design == "15% doubled"
    voted = vote(own, cell, draw)
    counts = moments(own, voted, is_doubled=is_doubled)
    estimate = correct(own, voted, counts, is_doubled=is_doubled)
    query, doc = np.nonzero(own.valid)
    length = n_votes(voted)[query, doc] + 0
    a, b, c, _ = (each[query, doc] for each in voted.votes)
    is_split = (length == 3) & c  # positives by 2 to 1 have a fourth vote
    signs = voted.votes[:, query, doc].astype(int).astype(str)
    texts = ["".join(each[:n]) for each, n in zip(signs.T, length + is_split, strict=True)]
    names = np.array(["single", "doubled", "verify"])[voted.design_class[query, doc]]
    ids = {"query_id": [f"q{n:05d}" for n in query], "doc_id": [f"d{n:02d}" for n in doc]}
    design = pd.DataFrame(
        {**ids, "design_class": names, "design_votes": texts, "best_rank": own.best[query, doc]}
    )
    of_queries, of_docs = np.nonzero(own.original)
    original = pd.DataFrame(
        {"query_id": [f"q{n:05d}" for n in of_queries], "doc_id": [f"d{n:02d}" for n in of_docs]}
    )
    scored = [(f"r{run}", f"q{q:05d}", f"d{d:02d}", -rank) for q, lists in enumerate(own.lists)
              for run, docs in enumerate(lists) for rank, d in enumerate(docs)]  # fmt: skip
    runs = rank_run(pd.DataFrame(scored, columns=["run_id", "query_id", "doc_id", "score"]))
    qrels = check_qrels(original.assign(relevance=1))
    votes = votes_by_design(design, qrels)
    joined = join_runs(runs, qrels, votes.pairs[["query_id", "doc_id", "relevance"]])
    terms = corrected_terms(joined, qrels, votes, parse_measures(MEASURES))
    assert estimate is not None
    assert len(votes.bands) == estimate.n_bands
    for (run_id, measure), one in terms.items():
        mine = estimate.terms[:, int(run_id[1]), MEASURES.index(measure)]
        np.testing.assert_allclose(one.terms, mine, rtol=0, atol=1e-12)
        if measure != "P@10":
            added = estimate.added[int(run_id[1]), MEASURES.index(measure)]
            np.testing.assert_allclose(one.added, added, rtol=0, atol=1e-12)
    mean = estimate.terms.mean(axis=0)
    for measure, run_a, run_b, gap in gaps_of(terms):
        a, b, m = int(run_a[1]), int(run_b[1]), MEASURES.index(measure)
        np.testing.assert_allclose(gap.terms.mean(), mean[a, m] - mean[b, m], rtol=0, atol=1e-12)
    assert len(terms) == N_RUNS * len(MEASURES)
    alarm = votes.alarm
    enough, is_raised = fourth_votes(own, voted, estimate.counts, is_doubled=is_doubled)
    assert alarm is not None
    assert (alarm.is_enough, alarm.is_raised) == (enough, is_raised)


LOOKALIKES: dict[str, Any] = {"t_by_band": (0.03, 0, -0.04), "f_by_band": (2.5, 1.25, 0.6)}
SLIGHT: dict[str, Any] = {"f_by_band": (1.5, 1.1, 0.8)}


def cells(*, full: bool) -> list[Cell]:
    """Return what is simulated."""
    few = [Cell(design, 300, 0.8, 0.08) for design in DESIGNS]
    few += [Cell(design, 300, 0.92, 0.04, **LOOKALIKES) for design in DESIGNS]
    few += [Cell("verify-positives", 600, 0.92, 0.04, correlation=0.2)]
    if not full:
        return few
    found = [Cell(d, 300, t, f) for d in DESIGNS for t in (0.8, 0.95) for f in (0.01, 0.08)]
    found += [Cell(d, 1200, t, f) for d in DESIGNS for t, f in ((0.8, 0.08), (0.95, 0.01))]
    found += [Cell(d, n, 0.92, 0.04, **LOOKALIKES) for n in (300, 1200) for d in DESIGNS]
    found += [Cell(d, 300, 0.92, 0.04, **SLIGHT) for d in DESIGNS]
    return found + [Cell(d, 600, 0.92, 0.04, correlation=rho) for rho in (0, 0.1, 0.2) for d in DESIGNS]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true", help="2,000 repetitions of every cell")
    full = parser.parse_args().full
    world = make_world(N_WORLD if full else 6_000)
    for design in DESIGNS:
        for more in ({}, LOOKALIKES):
            check_against_the_product(world, Cell(design, 200, 0.92, 0.04, **more), seed=3)
    share = world.relevant[world.valid].mean()
    n_pairs = world.valid.sum() / len(world.best)
    print(f"{n_pairs:.1f} pairs a query, {share:.3f} of them relevant; numbers are those of the product")
    heads = ["cell", "votes a pair", "gap as labelled", "gap corrected", "gaps held", "score corrected"]
    heads += ["scores held", "bands used", "refused", "C@1 corrected", "first, of enough fourth votes"]
    print(" | ".join(heads))
    for number, cell in enumerate(cells(full=full)):
        print(in_words(cell, simulate(world, cell, 2_000 if full else 40, seed=number)), flush=True)


if __name__ == "__main__":
    main()
