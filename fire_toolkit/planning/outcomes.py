"""What a design costs and gets wrong, for each truth that is possible, by counts of positives in the tops."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist

import numpy as np

from fire_toolkit.arrays import Bools, Floats, Ints
from fire_toolkit.inference.label_errors import MOST_BEYOND
from fire_toolkit.measures import Measure
from fire_toolkit.planning.designs import Design
from fire_toolkit.planning.lists import Lists
from fire_toolkit.planning.relevance import Truths
from fire_toolkit.planning.votes import Mixture, Rest, open_pairs, rate_covariance, rest_of, votes_a_pair
from fire_toolkit.tables.design import DOUBLED, SINGLE, VERIFY

LABELLED, CORRECTED, NOT_KNOWN = "labelled", "corrected", "not known"
FEW = 8  # truths that costs and differences between runs are averaged over
_MOST_REFUSED = 0.05  # of the draws of rates
_STEP = 1e-3


@dataclass(frozen=True, eq=False)
class Cost:
    """What a design takes when it judges all queries of the universe, by each of a few truths.

    mixture: the classes of pairs; rates_from: the class whose votes tell how votes err; n_rates,
    share_positive: of its pairs, over the truths.
    """

    n_pairs: Floats
    n_judgments: Floats
    mixture: Mixture
    rates_from: str
    n_rates: float
    share_positive: float


@dataclass(frozen=True, eq=False)
class Outcome:
    """The error of one estimate of a measure; arrays by truth and run, or by pair of runs.

    bias, noise: the error's mean and standard deviation; spread, differing: of each pair of runs, the
    standard deviation of its difference on one query, and the share of queries on which it is not 0; kept:
    how large a difference between runs is by this estimate, as a share of the true one.
    """

    design: Design
    measure: Measure
    estimate: str
    bias: Floats
    noise: Floats
    spread: Floats
    differing: Floats
    kept: float


class Tops:
    """How many new positives and other docs each run's top k holds, (n_runs, 2, n_draws, n_queries), and
    originals, (n_runs, 1, n_queries); shared: of both runs of each pair, by a few truths."""

    def __init__(self, lists: Lists, truths: Truths, measure: Measure) -> None:
        assert measure.depth is not None
        self.k, self.is_precision = measure.depth, measure.definition.is_precision
        kinds = truths.positive & ~lists.is_original, ~truths.positive
        inside = (lists.ranks <= self.k).T
        self.one, self.two = np.triu_indices(len(inside), 1)
        self.counts = np.stack([[lists.count(kind, own) for kind in kinds] for own in inside])
        self.original = np.stack([lists.count(lists.is_original[None], own) for own in inside])
        both = inside[self.one] & inside[self.two]
        shared = [[lists.count(kind[:FEW], own) for kind in kinds] for own in both]
        self.shared = np.array(shared, dtype=np.int64).reshape(len(both), *self.counts[0, :, :FEW].shape)

    @cached_property
    def truth(self) -> Floats:
        """Return the measure's true value: (n_runs, n_draws, n_queries)."""
        right = np.array([0.0, 1.0]).reshape(2, 1, 1)
        return self.means(Rest(right, right))

    def means(self, rest: Rest) -> Floats:
        """Return the measure's expected value: (n_runs, n_draws, n_queries)."""
        if self.is_precision:
            return np.asarray((self.original + ((1 - rest.mean) * self.counts).sum(axis=1)) / self.k)
        return np.asarray(1 - (self.original == 0) * _product((rest.mean, self.counts)))

    def variances(self, rest: Rest, means: Floats) -> Floats:
        """Return what votes add to the variance of each query's value: as `means`."""
        if self.is_precision:
            found = ((rest.square - rest.mean**2) * self.counts).sum(axis=1) / self.k**2
        else:
            found = (self.original == 0) * _product((rest.square, self.counts)) - (1 - means) ** 2
        return np.asarray(np.maximum(found, 0.0))

    def covariances(self, rest: Rest, means: Floats) -> Floats:
        """Return the covariance of both runs of each pair that votes on shared docs make, of a few truths."""
        mean, square = rest.mean[:, :FEW], rest.square[:, :FEW]
        if self.is_precision:
            return np.asarray(((square - mean**2) * self.shared).sum(axis=1) / self.k**2)
        few = self.counts[:, :, :FEW]
        apart = few[self.one] + few[self.two] - 2 * self.shared
        has_none = (self.original[self.one] == 0) & (self.original[self.two] == 0)
        left = (1 - means[self.one, :FEW]) * (1 - means[self.two, :FEW])
        return np.asarray(has_none * _product((square, self.shared), (mean, apart)) - left)


def _product(*factors: tuple[Floats, Ints]) -> Floats:
    """Return Π base ** count over both kinds: bases (2, n_draws, 1), counts (n, 2, n_draws, n_queries)."""
    product: Floats = np.ones(1)
    for bases, counts in factors:
        for base, count in zip(bases, counts.swapaxes(0, 1), strict=True):
            powers = base ** np.arange(int(count.max(initial=0)) + 1)
            row = np.arange(count.shape[1])[:, None] * (len(powers) > 1)  # one row, or one for each draw
            product = product * powers[row, count]
    return product


def cost_of(lists: Lists, everything: Lists, design: Design, truths: Truths, *, seed: int) -> Cost:
    """Return what a design takes when it judges all queries of the universe, by a few truths.

    lists: the pairs that designs read; everything: those that deep queries read too.
    """
    few = Truths(truths.positive[:FEW], truths.t[:FEW], truths.f[:FEW])
    asked: Bools = np.broadcast_to(lists.best_rank <= design.depth, few.positive.shape)
    is_open = asked
    if design.is_settled or design.policy == "until-confirmed":
        is_open = open_pairs(lists, few, design.depth, settles=design.is_settled, seed=seed)
        asked = is_open if design.is_settled else asked
    kinds = np.stack([few.positive, ~few.positive])
    n_asked = (asked & kinds).sum(axis=2)
    opened = (is_open & kinds).sum(axis=(1, 2)) / np.maximum(1, n_asked.sum(axis=1))
    mixture = _mixture(design, opened)
    n_votes = (n_asked * votes_a_pair(few.rates, mixture)[..., 0]).sum(axis=0)
    n_pairs = n_asked.sum(axis=0).astype(np.float64)
    n_each = {name: n_asked * mixture[name][..., 0] for name in (DOUBLED, VERIFY) if name in mixture}
    name = max(n_each, key=lambda each: float(n_each[each].sum()))
    n_rates = n_each[name].sum(axis=0)
    if design.n_deep:
        n_deeper = (everything.best_rank <= everything.depth).sum() - len(lists.top(design.depth).query)
        deeper = n_deeper * design.n_deep / lists.n_universe
        n_votes = n_votes * (1 + deeper / n_pairs)
        n_pairs = n_pairs + deeper
    share = float((n_each[name][0] / np.maximum(1e-9, n_rates)).mean())
    scale = lists.scale
    return Cost(n_pairs * scale, n_votes * scale, mixture, name, float(n_rates.mean()) * scale, share)


def _mixture(design: Design, is_open: Floats) -> Mixture:
    """Return the classes of pairs; is_open: the shares of positives and of others that are open."""
    if design.policy == "doubled":
        return {DOUBLED: np.ones((2, 1, 1))}
    shares = {"one": np.zeros(2), "verify": np.ones(2), "until-confirmed": is_open}
    verified = shares[design.policy].reshape(2, 1, 1)
    rest = 1 - design.overlap
    doubled = np.full((2, 1, 1), design.overlap)
    return {SINGLE: rest * (1 - verified), VERIFY: rest * verified, DOUBLED: doubled}


def outcomes_of(
    lists: Lists, design: Design, cost: Cost, truths: Truths, tops: Sequence[tuple[Measure, Tops]]
) -> Iterator[Outcome]:
    """Yield the error of each measure that the design predicts: of labels as they are, and corrected."""
    n_queries = max(2.0, design.queries * lists.n_universe)
    covariance, errors = _rates_as_estimated(cost, truths, design)
    estimates = [LABELLED, CORRECTED][: 1 + _is_correctable(design, cost, truths, errors)]
    for measure, top in tops:
        if not design.predicts(measure):
            continue
        mixture = cost.mixture
        if design.policy == "until-confirmed" and not top.is_precision:
            mixture = _mixture(replace(design, policy="verify"), np.ones(2))  # until a top has a positive
        for estimate in estimates:
            of_rates = covariance if estimate == CORRECTED else None
            found = _errors(top, truths.rates, mixture, n_queries, design.queries, of_rates)
            yield Outcome(design, measure, estimate, *found)


def _errors(
    top: Tops, rates: Floats, mixture: Mixture, n_queries: float, share: float, of_rates: Floats | None
) -> tuple[Floats, Floats, Floats, Floats, float]:
    """Return bias, noise, spread, differing and kept; of_rates: the rates' covariance where labels are
    corrected."""
    rest = rest_of(rates, mixture, None if of_rates is None else rates)
    means = top.means(rest)
    variances = top.variances(rest, means)
    noise = (variances.mean(axis=2) + (1 - share) * means.var(axis=2)) / n_queries
    one, two = means[top.one, :FEW], means[top.two, :FEW]
    both = top.covariances(rest, means)
    of_votes = variances[top.one, :FEW] + variances[top.two, :FEW] - 2 * both
    spread = (one - two).var(axis=2) + of_votes.mean(axis=2)
    if of_rates is not None:
        slopes = _slopes(top, rates, mixture)
        noise = noise + np.einsum("rdx,dxy,rdy->rd", slopes, of_rates, slopes)
        apart = slopes[top.one, :FEW] - slopes[top.two, :FEW]
        spread = spread + n_queries * np.einsum("pdx,dxy,pdy->pd", apart, of_rates[:FEW], apart)
    # of labels that are 0 or 1: A + B − 2AB; without labels' noise it is the squared difference
    differing = (one + two - 2 * (both + one * two)).mean(axis=(1, 2))
    right = (top.truth[top.one, :FEW] - top.truth[top.two, :FEW]).mean(axis=(1, 2))
    squares = float((right**2).sum())
    kept = float(((one - two).mean(axis=(1, 2)) * right).sum()) / squares if squares > 0 else math.nan
    bias = (means - top.truth).mean(axis=2).T
    spread = np.sqrt(np.maximum(spread, 0.0).mean(axis=1))
    return bias, np.sqrt(noise).T, spread, np.clip(differing, 0.0, 1.0), kept


def _slopes(top: Tops, rates: Floats, mixture: Mixture) -> Floats:
    """Return how each run's corrected mean moves with t and with f: (n_runs, n_draws, 2)."""
    slopes = []
    for step in _STEP * np.eye(2)[:, :, None, None]:
        up, down = (top.means(rest_of(rates, mixture, rates + each)).mean(axis=2) for each in (step, -step))
        slopes.append((up - down) / (2 * _STEP))
    return np.stack(slopes, axis=2)


def _rates_as_estimated(cost: Cost, truths: Truths, design: Design) -> tuple[Floats, Floats]:
    """Return the covariance of t and f as this design's votes will tell them, and their standard errors."""
    n = np.full(len(truths.t), max(2.0, cost.n_rates * design.queries))
    share = np.full(len(truths.t), cost.share_positive)
    covariance, errors = rate_covariance(cost.rates_from, n, share, truths.t[:, 0], truths.f[:, 0])
    return np.nan_to_num(covariance), np.median(np.nan_to_num(errors), axis=0)


def _is_correctable(design: Design, cost: Cost, truths: Truths, errors: Floats) -> bool:
    """Return whether `score` will correct the labels: in 19 of 20 draws their votes tell the rates."""
    if design.is_settled or cost.n_rates * design.queries < 2 or not (errors > 0).all():
        return False
    t, f = float(np.median(truths.t)), float(np.median(truths.f))
    beyond = ((-f - MOST_BEYOND) / errors[1], (t - 1 - MOST_BEYOND) / errors[0])
    return bool(sum(map(NormalDist().cdf, beyond)) <= _MOST_REFUSED)
