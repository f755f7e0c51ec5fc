"""What a design costs and gets wrong, for each truth that is possible, in expectation over votes.

Rates are (2, n_draws, 1) arrays: P(vote 1 | positive), P(vote 1 | not). Shares are (3, 2, n_draws, 1) arrays:
of the positives and of the others, how many are of each of the `CLASSES`. A score follows from how many new
positives, other docs and originals stand in a top.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from fire_toolkit.arrays import Bools, Floats, Ints, starts_of_lists
from fire_toolkit.inference.label_errors import MOST_BEYOND, class_rate, moment_rates
from fire_toolkit.measures import Measure
from fire_toolkit.planning.designs import Design
from fire_toolkit.planning.lists import Lists
from fire_toolkit.planning.relevance import Truths
from fire_toolkit.tables.design import DEPTHS, DOUBLED, RRF, SINGLE, VERIFY

LABELLED, CORRECTED, NOT_KNOWN = "labelled", "corrected", "not known"
CLASSES = (SINGLE, DOUBLED, VERIFY)
_MOST_REFUSED = 0.05  # of the draws of rates
_STEP = 1e-3


class Rest(NamedTuple):
    """Mean and mean square of 1 − estimated relevance, of a positive and of another doc: (2, n_draws, 1)."""

    mean: Floats
    square: Floats


_RIGHT = Rest(*[np.array([0.0, 1.0]).reshape(2, 1, 1)] * 2)  # where no vote errs


class Cost(NamedTuple):
    """What a design takes when it judges all queries of the universe: of each group of truths, on the mean.

    is_open: (2, n_groups), the shares of positives and others that until-confirmed verifies, originals left
    out, as in what follows; rates_from: the class whose votes tell how votes err; n_rates, share_positive: of
    its pairs.
    """

    n_pairs: Floats
    n_judgments: Floats
    is_open: Floats
    rates_from: str
    n_rates: Floats
    share_positive: Floats


class Outcome(NamedTuple):
    """The error of one estimate of a measure.

    bias, noise: (n_draws, n_runs), the error's mean and standard deviation. Of each group of truths: spread,
    differing: (n_groups, n_pairs of runs), the standard deviation of the difference on one query, and the
    share of queries on which it is not 0; kept: (n_groups,), how large a difference between runs is by this
    estimate, as a share of the true one.
    """

    measure: Measure
    estimate: str
    bias: Floats
    noise: Floats
    spread: Floats
    differing: Floats
    kept: Floats


def class_shares(design: Design, is_open: Floats) -> Floats:
    """Return the share of each class; is_open: (2, n_draws, 1), what until-confirmed verifies."""
    verified = {"verify": np.ones_like(is_open), "until-confirmed": is_open}
    shares = verified.get(design.policy, np.zeros_like(is_open))
    doubled = 1.0 if design.policy == "doubled" else design.overlap
    return np.stack([(1 - doubled) * (1 - shares), np.full_like(shares, doubled), (1 - doubled) * shares])


def rest_of(rates: Floats, shares: Floats, used: Floats | None = None) -> Rest:
    """Return what is left of 1 after a pair's label, or after its relevance as corrected.

    used: rates that the correction takes, 1 − (label − f) / (t − f) being left; None: the label as it is.
    """
    chance = np.stack([class_rate(rates, name) for name in CLASSES])
    taken = np.array([1.0, 0.0]).reshape(2, 1, 1) if used is None else used
    t, f = np.stack([class_rate(taken, name) for name in CLASSES], axis=1)[:, :, None]
    of_one, of_zero = (t - 1) / (t - f), t / (t - f)
    means = (chance * of_one**n + (1 - chance) * of_zero**n for n in (1, 2))
    return Rest(*((shares * each).sum(axis=0) for each in means))


def open_pairs(lists: Lists, truths: Truths, depth: int, *, settles: bool, seed: int) -> Bools:
    """Return which pairs of each draw can still give some run its first positive: (n_draws, n_pairs).

    A run's top k is closed by an original or a verified positive that it holds; a pair is open where it
    stands in some top k that is not closed. Pairs are asked in order, verified on simulated votes.

    settles: whether C@depth is to be decided; else C@1, C@5 and C@10, of a pool of this depth.
    """
    cutoffs = np.array([depth] if settles else DEPTHS)
    first = -(lists.ranks <= depth).sum(axis=1) if settles else lists.best_rank
    fused = np.where(lists.ranks <= lists.depth, 1 / (RRF + lists.ranks), 0.0).sum(axis=1)
    order = np.lexsort([-fused, first, lists.query])
    order = order[lists.best_rank[order] <= depth]
    query, is_original = lists.query[order], lists.is_original[order]
    inside = (lists.ranks[order][:, :, None] <= cutoffs).reshape(len(order), -1)
    of_positive, of_other = class_rate(truths.rates, VERIFY)
    rate: Floats = np.where(truths.positive[:, order], of_positive, of_other)
    random = np.random.default_rng(seed).random((len(rate) // truths.n_groups, len(order)))
    is_confirmed = (np.tile(random, (truths.n_groups, 1)) < rate) & ~is_original
    by_originals = np.zeros((lists.n_queries, inside.shape[1]), dtype=bool)
    np.logical_or.at(by_originals, query[is_original], inside[is_original])
    closed = np.repeat(by_originals[None], len(rate), axis=0)
    is_open = np.zeros(truths.positive.shape, dtype=bool)
    lengths = np.bincount(query, minlength=lists.n_queries)
    start = starts_of_lists(lengths)
    for place in range(int(lengths.max(initial=0))):
        queries = np.flatnonzero(lengths > place)
        rows = start[queries] + place
        is_useful = (inside[rows] & ~closed[:, queries]).any(axis=2)
        is_open[:, order[rows]] = is_useful
        closed[:, queries] |= (is_useful & is_confirmed[:, rows])[:, :, None] & inside[rows]
    return is_open


def rate_covariance(name: str, n_pairs: Floats, share_positive: Floats, t: Floats, f: Floats) -> Floats:
    """Return the covariance of t and f as they are estimated from pairs of a class: (n_draws, 2, 2), by the
    delta method.

    name: `doubled` or `verify`; n_pairs, share_positive, t, f: of each draw.
    """
    one, both, all_three = (share_positive * t**n + (1 - share_positive) * f**n for n in (1, 2, 3))
    split, zero = both - all_three, np.zeros_like(both)  # split: votes 1, 0, 1
    means = np.stack([one, both, split])
    of_one, shared = (both + (one - both) / 2, split / 2) if name == DOUBLED else (one, split)
    second = np.array([[of_one, both, shared], [both, both, zero], [shared, zero, shared]])
    steps = means[:, None] + 1e-30j * np.eye(3)[:, :, None]  # imaginary parts are derivatives
    found = moment_rates(np.stack([np.ones_like(steps[0]), *steps], axis=-1))
    slopes = np.stack([found.t.imag, found.f.imag]) / 1e-30  # (2, 3, n_draws)
    return np.asarray(
        np.einsum("axd,xyd,byd->dab", slopes, (second - means[:, None] * means) / n_pairs, slopes)
    )


class Tops:
    """How many new positives, other docs and originals the runs' top k hold, and in how many queries.

    states: (3, n_states), the counts that there are; weights: (n_runs, n_draws, n_states), the share of the
    queries. Of each pair of runs, by a few truths: both, (8, n_states), the counts of one and of the other,
    and of the new positives and other docs that they share; weights_of_both: (n_pairs of runs, n_few, …).
    """

    def __init__(self, lists: Lists, truths: Truths, measure: Measure) -> None:
        assert measure.depth is not None
        self.measure, self.k, is_original = measure, measure.depth, lists.is_original
        inside = (lists.ranks <= self.k).T
        is_new, is_known = truths.positive & ~is_original, truths.positive & is_original
        kinds = np.stack([is_new, ~truths.positive, is_known])
        counts = np.stack([_count(lists, kinds, own) for own in inside])
        self.states, self.weights = _distinct(counts)
        self.one, self.two = np.triu_indices(len(inside), 1)
        few = kinds[:2, truths.few]
        shared = [_count(lists, few, inside[a] & inside[b]) for a, b in zip(self.one, self.two, strict=True)]
        both = [counts[self.one][:, :, truths.few], counts[self.two][:, :, truths.few]]
        self.both, self.weights_of_both = _distinct(
            np.concatenate([*both, np.reshape(shared, (-1, 2, *both[0].shape[2:]))], axis=1)
        )

    def means(self, top: Ints, rest: Rest) -> Floats:
        """Return the measure's expected value for such counts: (n_draws, n_states)."""
        if self.measure.definition.is_precision:
            return np.asarray((top[2] + ((1 - rest.mean) * top[:2, None]).sum(axis=0)) / self.k)
        return np.asarray(1 - (top[2] == 0) * (rest.mean ** top[:2, None]).prod(axis=0))

    def covariances(self, one: Ints, two: Ints, shared: Ints, rest: Rest) -> Floats:
        """Return the covariance of the values of two tops that votes on what they share make."""
        if self.measure.definition.is_precision:
            return np.asarray(((rest.square - rest.mean**2) * shared[:, None]).sum(axis=0) / self.k**2)
        apart = (one + two)[:2] - 2 * shared
        left = (rest.square ** shared[:, None] * rest.mean ** apart[:, None]).prod(axis=0)
        has_none = (one[2] == 0) & (two[2] == 0)
        return np.asarray(has_none * left - (1 - self.means(one, rest)) * (1 - self.means(two, rest)))


def _count(lists: Lists, of_pair: Bools, chosen: Bools) -> Ints:
    """Return how many of the chosen pairs each query has of those: (…, n_queries) of (…, n_pairs)."""
    ends = np.searchsorted(lists.query[chosen], np.arange(lists.n_queries + 1))
    sums = np.zeros((*of_pair.shape[:-1], ends[-1] + 1), dtype=np.int64)
    np.cumsum(of_pair[..., chosen], axis=-1, out=sums[..., 1:])
    return np.asarray(np.diff(sums[..., ends]))


def _distinct(counts: Ints) -> tuple[Ints, Floats]:
    """Return the distinct columns of (n, n_counts, n_draws, n_queries), and the share of queries with each:
    (n, n_draws, n_states)."""
    base = int(counts.max(initial=0)) + 1
    powers = base ** np.arange(counts.shape[1])
    codes, place = np.unique(np.tensordot(powers, counts, (0, 1)), return_inverse=True)
    row = np.arange(place[..., 0].size).reshape(*place.shape[:-1], 1) * len(codes)
    n_each = np.bincount((row + place).ravel(), minlength=row.size * len(codes))
    weights = n_each.reshape(*place.shape[:-1], len(codes)) / counts.shape[-1]
    return codes // powers[:, None] % base, weights


def cost_of(lists: Lists, everything: Lists, design: Design, truths: Truths, *, seed: int) -> Cost:
    """Return what a design takes when it judges all queries of the universe, by a few truths of each group.

    lists: the pairs that designs read; everything: those that deep queries read too.
    """
    own = truths._replace(positive=truths.positive[truths.few], rates=truths.rates[:, truths.few])
    asked: Bools = np.broadcast_to(lists.best_rank <= design.depth, own.positive.shape)
    is_open, n_asked_deep = asked, int(asked[0].sum())
    if design.is_settled or design.policy == "until-confirmed":
        is_open = open_pairs(lists, own, design.depth, settles=design.is_settled, seed=seed)
        asked = is_open if design.is_settled else asked
    kinds = np.stack([own.positive & ~lists.is_original, ~own.positive])
    n_asked, n_open = ((each & kinds).sum(axis=2) for each in (asked, is_open))  # (2, n_few)
    n_known = (asked & lists.is_original).sum(axis=1)  # no policy verifies them
    of_groups = [own.by_group(each.T).sum(axis=1).T for each in (n_open, n_asked)]
    opened = of_groups[0] / np.maximum(1, of_groups[1])
    shares = class_shares(design, np.repeat(opened, len(own.positive) // own.n_groups, axis=1)[..., None])
    third = own.rates * (1 - own.rates)  # where two differ
    votes_a_pair = shares * np.stack([np.ones_like(own.rates), 2 + 2 * third, 1 + own.rates + third])
    n_votes = (n_asked * votes_a_pair.sum(axis=0)[..., 0]).sum(axis=0)
    n_votes += n_known * (1 + (shares[1, 0] * (1 + 2 * third[0]))[:, 0])
    n_each = (n_asked * shares[..., 0])[1:]  # of classes with more than one vote
    name = int(n_each.sum(axis=(1, 2)).argmax())
    n_pairs, n_rates = n_asked.sum(axis=0) + n_known, n_each[name].sum(axis=0)
    share = n_each[name][0] / np.maximum(1e-9, n_rates)
    if design.n_deep:
        n_deeper = int((everything.best_rank <= everything.depth).sum()) - n_asked_deep
        deeper = n_deeper * design.n_deep / lists.n_universe
        n_votes, n_pairs = n_votes * (1 + deeper / n_pairs), n_pairs + deeper
    n_pairs, n_votes, n_rates, share = (
        own.by_group(each).mean(axis=1)
        for each in (n_pairs * lists.scale, n_votes * lists.scale, n_rates * lists.scale, share)
    )
    return Cost(n_pairs, n_votes, opened, CLASSES[1 + name], n_rates, share)


def outcomes_of(
    lists: Lists, design: Design, cost: Cost, truths: Truths, tops: Sequence[Tops]
) -> Iterator[Outcome]:
    """Yield the error of each measure that the design predicts: of labels as they are, and corrected."""
    n_rates, share, is_open = (
        np.repeat(each, len(truths.positive) // truths.n_groups, axis=-1)
        for each in (cost.n_rates * design.queries, cost.share_positive, cost.is_open)
    )
    told = rate_covariance(cost.rates_from, np.maximum(n_rates, 2.0), share, *truths.rates[..., 0])
    told = np.nan_to_num(told)
    draws = np.sqrt(np.einsum("daa->da", told)), truths.rates[..., 0].T
    errors, rates = (np.median(truths.by_group(each), axis=1) for each in draws)  # (n_groups, 2)
    is_told = not design.is_settled and bool((n_rates >= 2).all() and (errors > 0).all())
    if is_told:  # in 19 of 20 draws votes tell the rates, whichever group of truths is right
        beyond = np.stack([rates[:, 0] - 1, -rates[:, 1]], axis=1) - MOST_BEYOND
        chances = (sum(map(NormalDist().cdf, each)) for each in (beyond / errors).tolist())
        is_told = max(chances) <= _MOST_REFUSED
    for top in tops:
        if not design.predicts(top.measure):
            continue
        shares = class_shares(design, is_open[..., None])
        if design.policy == "until-confirmed" and top.measure.definition.by_first_positive:
            shares = class_shares(replace(design, policy="verify"), is_open[..., None])
        for estimate, of_rates in ((LABELLED, None), (CORRECTED, told))[: 1 + is_told]:
            found = _errors(top, truths, shares, design.queries, lists.n_universe, of_rates)
            yield Outcome(top.measure, estimate, *found)


def _errors(
    top: Tops, truths: Truths, shares: Floats, part: float, n_universe: int, of_rates: Floats | None
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Return bias, noise, spread, differing and kept, where a part of the queries is judged.

    of_rates: the covariance of the rates by which labels are corrected; None where they are not.
    """
    rates, few, n_queries = truths.rates, truths.few, max(2.0, part * n_universe)
    rest = rest_of(rates, shares, None if of_rates is None else rates)
    value, right = (top.means(top.states, each) for each in (rest, _RIGHT))
    found = (top.weights * value).sum(axis=2)  # each run's mean
    of_votes = np.maximum(top.covariances(top.states, top.states, top.states[:2], rest), 0.0)
    of_queries = (value - found[..., None]) ** 2
    noise = (top.weights * (of_votes + (1 - part) * of_queries)).sum(axis=2) / n_queries
    rest, (one, two, shared) = Rest(*(each[:, few] for each in rest)), np.split(top.both, [3, 6])
    values = [top.means(each, rest) for each in (one, two)]
    var_one, var_two = (np.maximum(top.covariances(each, each, each[:2], rest), 0.0) for each in (one, two))
    both, gap = top.covariances(one, two, shared, rest), values[0] - values[1]
    mean_gap = (top.weights_of_both * gap).sum(axis=2)
    of_both = (gap - mean_gap[..., None]) ** 2 + var_one + var_two - 2 * both
    spread = (top.weights_of_both * of_both).sum(axis=2)
    if of_rates is not None:
        slopes = np.empty((*found.shape, 2))  # how each run's corrected mean moves with t and with f
        for which, step in enumerate(_STEP * np.eye(2)[:, :, None, None]):
            ends = (rest_of(rates, shares, rates + each) for each in (step, -step))
            up, down = (top.means(top.states, each) for each in ends)
            slopes[..., which] = (top.weights * (up - down)).sum(axis=2) / (2 * _STEP)
        noise = noise + np.einsum("rdx,dxy,rdy->rd", slopes, of_rates, slopes)
        apart = (slopes[top.one] - slopes[top.two])[:, few]
        spread = spread + n_queries * np.einsum("pdx,dxy,pdy->pd", apart, of_rates[few], apart)
    # of labels that are 0 or 1: A + B − 2AB; without labels' noise it is the squared difference
    is_apart = values[0] + values[1] - 2 * (both + values[0] * values[1])
    true_gap = top.means(one, _RIGHT) - top.means(two, _RIGHT)
    differing, true_gap = ((top.weights_of_both * each).sum(axis=2) for each in (is_apart, true_gap))
    spread, differing, gap, true_gap = (
        truths.by_group(each.T).mean(axis=1)
        for each in (np.maximum(spread, 0.0), differing, mean_gap, true_gap)
    )
    with np.errstate(invalid="ignore"):
        kept = (gap * true_gap).sum(axis=1) / (true_gap**2).sum(axis=1)
    bias = (top.weights * (value - right)).sum(axis=2).T
    return bias, np.sqrt(noise).T, np.sqrt(spread), np.clip(differing, 0.0, 1.0), kept
