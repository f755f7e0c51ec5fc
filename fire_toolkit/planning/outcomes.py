"""What a design costs and gets wrong, for each truth that is possible, by counts of positives in the tops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
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

    mixtures: the classes of pairs, for positives and for other docs; rates_from: the class whose votes tell
    how votes err; n_rates, share_positive: of its pairs.
    """

    n_pairs: Floats
    n_judgments: Floats
    mixtures: tuple[Mixture, Mixture]
    rates_from: str
    n_rates: Floats
    share_positive: Floats


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
    """How many new positives, other docs and originals each run's top k holds, by truth and query."""

    def __init__(self, lists: Lists, truths: Truths, measure: Measure) -> None:
        assert measure.depth is not None
        self.k, self.is_precision = measure.depth, measure.definition.is_precision
        new, other = truths.positive & ~lists.is_original, ~truths.positive
        inside = lists.ranks <= self.k
        self.counts = [(lists.count(new, own), lists.count(other, own)) for own in inside.T]
        self.original = [lists.count(lists.is_original[None], own)[0] for own in inside.T]
        self.pairs = list(combinations(range(len(self.counts)), 2))
        few, few_others = new[:FEW], other[:FEW]
        both = (inside[:, one] & inside[:, two] for one, two in self.pairs)
        self.shared = [(lists.count(few, own), lists.count(few_others, own)) for own in both]

    @cached_property
    def truth(self) -> Floats:
        """Return the measure's true value: (n_runs, n_draws, n_queries)."""
        zero, one = np.zeros((1, 1)), np.ones((1, 1))
        return self.means(Rest((zero, zero), (one, one)))

    def means(self, rest: Rest) -> Floats:
        """Return the measure's expected value: (n_runs, n_draws, n_queries)."""
        of_positive, of_other = rest.positive[0], rest.other[0]
        values = []
        for (positive, other), original in zip(self.counts, self.original, strict=True):
            if self.is_precision:
                values.append((original + positive * (1 - of_positive) + other * (1 - of_other)) / self.k)
            else:
                values.append(1 - (original == 0) * _product((of_positive, positive), (of_other, other)))
        return np.stack(values)

    def variances(self, rest: Rest, means: Floats) -> Floats:
        """Return what votes add to the variance of each query's value: as `means`."""
        values = []
        for (positive, other), original, mean in zip(self.counts, self.original, means, strict=True):
            if self.is_precision:
                values.append(_summed(rest, positive, other) / self.k**2)
            else:
                square = _product((rest.positive[1], positive), (rest.other[1], other))
                values.append((original == 0) * square - (1 - mean) ** 2)
        return np.maximum(np.stack(values), 0.0)

    def covariances(self, rest: Rest, means: Floats) -> Floats:
        """Return the covariance of both runs of each pair that votes on shared docs make, of a few truths."""
        rest = Rest(*((mean[:FEW], square[:FEW]) for mean, square in rest))
        values = []
        for (one, two), (positive, other) in zip(self.pairs, self.shared, strict=True):
            if self.is_precision:
                values.append(_summed(rest, positive, other) / self.k**2)
                continue
            apart = [
                self.counts[one][kind][:FEW] + self.counts[two][kind][:FEW] - 2 * shared
                for kind, shared in enumerate((positive, other))
            ]
            product = _product(
                (rest.positive[1], positive),
                (rest.other[1], other),
                (rest.positive[0], apart[0]),
                (rest.other[0], apart[1]),
            )
            has_none = (self.original[one] == 0) & (self.original[two] == 0)
            values.append(has_none * product - (1 - means[one, :FEW]) * (1 - means[two, :FEW]))
        return np.stack(values) if values else np.zeros((0, *means[0, :FEW].shape))


def _product(*factors: tuple[Floats, Ints]) -> Floats:
    """Return Π base ** count, by truth and query."""
    product: Floats = np.ones(1)
    for base, count in factors:
        powers = base ** np.arange(int(count.max(initial=0)) + 1)
        row = np.arange(len(count))[:, None] * (len(powers) > 1)  # one row of powers, or one for each draw
        product = product * powers[row, count]
    return product


def _summed(rest: Rest, positive: Ints, other: Ints) -> Floats:
    return np.asarray(
        positive * (rest.positive[1] - rest.positive[0] ** 2) + other * (rest.other[1] - rest.other[0] ** 2)
    )


def cost_of(lists: Lists, everything: Lists, design: Design, truths: Truths, *, seed: int) -> Cost:
    """Return what a design takes when it judges all queries of the universe, by a few truths.

    Args:
        lists: the pairs that designs read; everything: those that deep queries read too.
    """
    few = Truths(truths.positive[:FEW], truths.t[:FEW], truths.f[:FEW])
    asked: Bools = np.broadcast_to(lists.best_rank <= design.depth, few.positive.shape)
    is_open = asked
    if design.is_settled or design.policy == "until-confirmed":
        is_open = open_pairs(lists, few, design.depth, settles=design.is_settled, seed=seed)
        asked = is_open if design.is_settled else asked
    n_positive, n_other = ((asked & of).sum(axis=1) for of in (few.positive, ~few.positive))
    opened = [
        float((is_open & of).sum() / max(1, (asked & of).sum())) for of in (few.positive, ~few.positive)
    ]
    mixtures = _mixtures(design, (opened[0], opened[1]))
    n_votes = (
        n_positive * votes_a_pair(few.t, mixtures[0])[:, 0] + n_other * votes_a_pair(few.f, mixtures[1])[:, 0]
    )
    n_pairs = (n_positive + n_other).astype(np.float64)
    n_each = {
        name: (n_positive * mixtures[0].get(name, 0.0), n_other * mixtures[1].get(name, 0.0))
        for name in (DOUBLED, VERIFY)
    }
    name = max(n_each, key=lambda each: float(np.sum(n_each[each])))
    n_rates = n_each[name][0] + n_each[name][1]
    share = n_each[name][0] / np.maximum(1e-9, n_rates)
    if design.n_deep:
        n_deeper = (everything.best_rank <= everything.depth).sum() - len(lists.top(design.depth).query)
        deeper = n_deeper * design.n_deep / lists.n_universe
        n_votes = n_votes * (1 + deeper / n_pairs)
        n_pairs = n_pairs + deeper
    scale = lists.scale
    return Cost(n_pairs * scale, n_votes * scale, mixtures, name, n_rates * scale, share)


def _mixtures(design: Design, is_open: tuple[float, float]) -> tuple[Mixture, Mixture]:
    """Return the classes of pairs, of positives and of others; is_open: the shares of both that are open."""
    if design.policy == "doubled":
        return {DOUBLED: 1.0}, {DOUBLED: 1.0}
    found = []
    for share in is_open:
        verified = {"one": 0.0, "verify": 1.0, "until-confirmed": share}[design.policy]
        rest = 1 - design.overlap
        found.append({SINGLE: rest * (1 - verified), VERIFY: rest * verified, DOUBLED: design.overlap})
    return found[0], found[1]


def outcomes_of(
    lists: Lists, design: Design, cost: Cost, truths: Truths, tops: Sequence[tuple[Measure, Tops]]
) -> list[Outcome]:
    """Return the error of each measure that the design predicts: of labels as they are, and corrected."""
    found = []
    for measure, top in tops:
        if not design.predicts(measure):
            continue
        mixtures = cost.mixtures
        if design.policy == "until-confirmed" and not top.is_precision:
            mixtures = _mixtures(replace(design, policy="verify"), (1.0, 1.0))  # until a top has a positive
        estimates = [LABELLED, *([CORRECTED] if _is_correctable(design, cost, truths) else [])]
        found += [_outcome(lists, design, cost, truths, measure, top, mixtures, each) for each in estimates]
    return found


def _outcome(
    lists: Lists,
    design: Design,
    cost: Cost,
    truths: Truths,
    measure: Measure,
    top: Tops,
    mixtures: tuple[Mixture, Mixture],
    estimate: str,
) -> Outcome:
    rates = truths.t, truths.f
    rest = rest_of(rates, mixtures, rates if estimate == CORRECTED else None)
    means, truth = top.means(rest), top.truth
    variances = top.variances(rest, means)
    n_queries = max(2.0, design.queries * lists.n_universe)
    noise = (variances.mean(axis=2) + (1 - design.queries) * means.var(axis=2)) / n_queries
    few = means[:, :FEW]
    pairs = np.array(top.pairs, dtype=np.int64).reshape(-1, 2).T
    differences = few[pairs[0]] - few[pairs[1]]
    both = top.covariances(rest, means)
    of_votes = variances[pairs[0], :FEW] + variances[pairs[1], :FEW] - 2 * both
    spread = differences.var(axis=2) + of_votes.mean(axis=2)
    if estimate == CORRECTED:
        slopes = _slopes(top, rates, mixtures)
        covariance, _ = _rates_as_estimated(cost, truths, design)
        noise = noise + np.einsum("rdx,dxy,rdy->rd", slopes, covariance, slopes)
        apart = slopes[pairs[0], :FEW] - slopes[pairs[1], :FEW]
        spread = spread + n_queries * np.einsum("pdx,dxy,pdy->pd", apart, covariance[:FEW], apart)
    # of labels that are 0 or 1: A + B − 2AB; without labels' noise it is the squared difference
    differing = (few[pairs[0]] + few[pairs[1]] - 2 * (both + few[pairs[0]] * few[pairs[1]])).mean(axis=2)
    right = (truth[pairs[0], :FEW] - truth[pairs[1], :FEW]).mean(axis=2).mean(axis=1)
    by_estimate = differences.mean(axis=2).mean(axis=1)
    squares = float((right**2).sum())
    return Outcome(
        design=design,
        measure=measure,
        estimate=estimate,
        bias=(means - truth).mean(axis=2).T,
        noise=np.sqrt(noise).T,
        spread=np.sqrt(np.maximum(spread, 0.0).mean(axis=1)),
        differing=np.clip(differing.mean(axis=1), 0.0, 1.0),
        kept=float((by_estimate * right).sum()) / squares if squares > 0 else math.nan,
    )


def _slopes(top: Tops, rates: tuple[Floats, Floats], mixtures: tuple[Mixture, Mixture]) -> Floats:
    """Return how each run's corrected mean moves with t and with f: (n_runs, n_draws, 2)."""
    slopes = []
    for place in range(2):
        ends = []
        for step in (_STEP, -_STEP):
            used = [rate + step * (place == number) for number, rate in enumerate(rates)]
            ends.append(top.means(rest_of(rates, mixtures, (used[0], used[1]))).mean(axis=2))
        slopes.append((ends[0] - ends[1]) / (2 * _STEP))
    return np.stack(slopes, axis=2)


def _rates_as_estimated(cost: Cost, truths: Truths, design: Design) -> tuple[Floats, Floats]:
    """Return the covariance of t and f as this design's votes will tell them, and their standard errors."""
    n = np.full(len(truths.t), max(2.0, float(cost.n_rates.mean()) * design.queries))
    share = np.full(len(truths.t), float(cost.share_positive.mean()))
    covariance, errors = rate_covariance(cost.rates_from, n, share, truths.t[:, 0], truths.f[:, 0])
    return np.nan_to_num(covariance), errors


def _is_correctable(design: Design, cost: Cost, truths: Truths) -> bool:
    """Return whether `score` will correct the labels: in 19 of 20 draws their votes tell the rates."""
    t, f = float(np.median(truths.t)), float(np.median(truths.f))
    if design.is_settled or cost.n_rates.mean() * design.queries < 2:
        return False
    errors = np.median(np.nan_to_num(_rates_as_estimated(cost, truths, design)[1]), axis=0)
    if not (errors > 0).all():
        return False
    normal = NormalDist()
    beyond = ((-f - MOST_BEYOND) / errors[1], (t - 1 - MOST_BEYOND) / errors[0])
    return bool(sum(map(normal.cdf, beyond)) <= _MOST_REFUSED)
