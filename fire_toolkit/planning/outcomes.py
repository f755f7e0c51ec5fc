"""What a design costs and gets wrong, by one pilot or one assumption, in expectation over votes.

Rates are (2, n_draws, 1) arrays: P(vote 1 | positive), P(vote 1 | not). Shares are (3, 2, 1, 1) arrays: of
the positives and of the others, how many are of each of the `CLASSES`. What is left of 1 after a pair's
label is a (2, 2, n_draws, 1) array: mean and mean square, of a positive and of another doc. A score follows
from how many new positives, other docs and originals stand in a top.
"""

from collections.abc import Iterator
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from fire_toolkit.arrays import Bools, Floats, Ints, starts_of_lists
from fire_toolkit.inference.label_errors import MOST_BEYOND, class_rate, moment_rates
from fire_toolkit.measures import Measure
from fire_toolkit.planning.designs import Design
from fire_toolkit.planning.lists import Lists
from fire_toolkit.planning.relevance import FEW, Truths
from fire_toolkit.tables.design import CLASSES, DEPTHS, DOUBLED, RRF, VERIFY

LABELLED, CORRECTED, NOT_KNOWN = "labelled", "corrected", "not known"
_MOST_REFUSED = 0.05  # of the draws of rates
_STEP = 1e-3
_RIGHT = np.tile(np.array([0.0, 1.0]).reshape(2, 1, 1), (2, 1, 1, 1))  # what is left where no vote errs


class Cost(NamedTuple):
    """What a design takes when it judges all queries of the universe, on the mean of a few truths.

    verified: of positives and others, the shares that get a second vote if the first is positive, originals
    left out; n_rates: pairs whose votes tell how votes err; covariance: of t and f as they tell them,
    (n_draws, 2, 2).
    """

    n_pairs: float
    n_judgments: float
    verified: Floats
    n_rates: float
    covariance: Floats


class Outcome(NamedTuple):
    """The error of one estimate of a measure.

    bias, noise: (n_draws, n_runs), the error's mean and standard deviation. Of each pair of runs: spread,
    the standard deviation of the difference on one query; differing, the share of queries on which it is not
    0. kept: how large a difference between runs is by this estimate, as a share of the true one.
    """

    measure: Measure
    estimate: str
    bias: Floats
    noise: Floats
    spread: Floats
    differing: Floats
    kept: float


def class_shares(design: Design, verified: Floats) -> Floats:
    """Return the share of each class; verified: see `Cost`."""
    shares, doubled = np.reshape(verified, (2, 1, 1)), design.doubled
    return np.stack([(1 - doubled) * (1 - shares), np.full_like(shares, doubled), (1 - doubled) * shares])


def rest_of(rates: Floats, shares: Floats, used: Floats | None = None) -> Floats:
    """Return what is left of 1 after a pair's label, or after its relevance as corrected.

    used: rates that the correction takes, 1 − (label − f) / (t − f) being left; None: the label as it is.
    """
    chance = np.stack([class_rate(rates, name) for name in CLASSES])
    taken = np.array([1.0, 0.0]).reshape(2, 1, 1) if used is None else used
    t, f = np.stack([class_rate(taken, name) for name in CLASSES], axis=1)[:, :, None]
    of_one, of_zero = (t - 1) / (t - f), t / (t - f)
    means = (chance * of_one**n + (1 - chance) * of_zero**n for n in (1, 2))
    return np.stack([(shares * each).sum(axis=0) for each in means])


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
    is_confirmed = (np.random.default_rng(seed).random(rate.shape) < rate) & ~is_original
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


def rate_covariance(name: str, n_pairs: float, share_positive: float, t: Floats, f: Floats) -> Floats:
    """Return the covariance of t and f as pairs of a class tell them, by the delta method: (n_draws, 2, 2).

    name: `doubled` or `verify`; t, f: of each draw.
    """
    one, both, all_three = (share_positive * t**n + (1 - share_positive) * f**n for n in (1, 2, 3))
    split, zero = both - all_three, np.zeros_like(both)  # split: votes 1, 0, 1
    means = np.stack([one, both, split])
    of_one, shared = (both + (one - both) / 2, split / 2) if name == DOUBLED else (one, split)
    second = np.array([[of_one, both, shared], [both, both, zero], [shared, zero, shared]])
    steps = means[:, None] + 1e-30j * np.eye(3)[:, :, None]  # imaginary parts are derivatives
    found = moment_rates(np.stack([np.ones_like(steps[0]), *steps], axis=-1))
    slopes = np.stack([found.t.imag, found.f.imag]) / 1e-30  # (2, 3, n_draws)
    of_votes = (second - means[:, None] * means) / n_pairs
    return np.asarray(np.nan_to_num(np.einsum("axd,xyd,byd->dab", slopes, of_votes, slopes)))


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
        together = (inside[a] & inside[b] for a, b in zip(self.one, self.two, strict=True))
        shared = [_count(lists, kinds[:2, :FEW], own) for own in together]
        both = [counts[self.one][:, :, :FEW], counts[self.two][:, :, :FEW]]
        self.both, self.weights_of_both = _distinct(
            np.concatenate([*both, np.reshape(shared, (-1, 2, *both[0].shape[2:]))], axis=1)
        )

    def means(self, top: Ints, rest: Floats) -> Floats:
        """Return the measure's expected value for such counts: (n_draws, n_states)."""
        if self.measure.definition.is_precision:
            return np.asarray((top[2] + ((1 - rest[0]) * top[:2, None]).sum(axis=0)) / self.k)
        return np.asarray(1 - (top[2] == 0) * (rest[0] ** top[:2, None]).prod(axis=0))

    def covariances(self, one: Ints, two: Ints, shared: Ints, rest: Floats) -> Floats:
        """Return the covariance of the values of two tops that votes on what they share make."""
        mean, square = rest
        if self.measure.definition.is_precision:
            return np.asarray(((square - mean**2) * shared[:, None]).sum(axis=0) / self.k**2)
        apart = (one + two)[:2] - 2 * shared
        left = (square ** shared[:, None] * mean ** apart[:, None]).prod(axis=0)
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
    """Return what a design takes when it judges all queries of the universe.

    lists: the pairs that designs read; everything: those that deep queries read too.
    """
    positive, rates = truths.few
    asked = is_open = np.broadcast_to(lists.best_rank <= design.depth, positive.shape)
    n_deeper = int((everything.best_rank <= everything.depth).sum() - asked[0].sum())
    if design.is_settled or design.policy == "until-confirmed":
        is_open = open_pairs(lists, truths.few, design.depth, settles=design.is_settled, seed=seed)
        asked = is_open if design.is_settled else asked
    kinds = np.stack([positive & ~lists.is_original, ~positive])
    n_asked, n_open = ((each & kinds).sum(axis=2) for each in (asked, is_open))  # (2, n_few)
    n_known = (asked & lists.is_original).sum(axis=1)  # no policy verifies them
    opened = n_open.sum(axis=1) / np.maximum(1, n_asked.sum(axis=1))
    verified = {"verify": np.ones(2), "until-confirmed": opened}.get(design.policy, np.zeros(2))
    shares = class_shares(design, verified)
    third = rates * (1 - rates)  # where two differ
    votes_a_pair = shares * np.stack([np.ones_like(rates), 2 + 2 * third, 1 + rates + third])
    n_votes = (n_asked * votes_a_pair.sum(axis=0)[..., 0]).sum(axis=0)
    n_votes += n_known * (1 + design.doubled * (1 + 2 * third[0, :, 0]))
    n_each = (n_asked * shares[..., 0])[1:]  # of classes with more than one vote
    place = int(n_each.sum(axis=(1, 2)).argmax())
    n_pairs, of_rates = n_asked.sum(axis=0) + n_known, n_each[place]
    if deeper := n_deeper * design.n_deep / lists.n_universe:
        n_votes, n_pairs = n_votes * (1 + deeper / n_pairs), n_pairs + deeper
    means = (float(each.mean()) * lists.scale for each in (n_pairs, n_votes, of_rates.sum(axis=0)))
    n_pairs, n_votes, n_rates = means
    share = float((of_rates[0] / np.maximum(1e-9, of_rates.sum(axis=0))).mean())
    told = rate_covariance(CLASSES[1 + place], max(n_rates, 2.0), share, *truths.rates[..., 0])
    return Cost(n_pairs, n_votes, verified, n_rates, told)


def told_rates(design: Design, cost: Cost, truths: Truths) -> Floats | None:
    """Return the covariance of t and f as a design's votes tell them; None where 1 draw of 20 tells none."""
    covariance = cost.covariance / design.queries
    errors = np.median(np.sqrt(np.einsum("daa->da", covariance)), axis=0)
    if design.is_settled or cost.n_rates * design.queries < 2 or not (errors > 0).all():
        return None
    t, f = np.median(truths.rates[..., 0], axis=1)
    beyond = (np.array([t - 1, -f]) - MOST_BEYOND) / errors
    return covariance if sum(map(NormalDist().cdf, beyond.tolist())) <= _MOST_REFUSED else None


def outcomes_of(
    lists: Lists, design: Design, cost: Cost, truths: Truths, top: Tops, told: Floats | None
) -> Iterator[Outcome]:
    """Yield the error of a measure that the design predicts: of labels as they are, and corrected.

    told: see `told_rates`; None: labels are not corrected.
    """
    is_hit = top.measure.definition.by_first_positive
    is_whole = is_hit and design.policy == "until-confirmed"  # what it leaves open decides nothing
    shares = class_shares(design, np.ones(2) if is_whole else cost.verified)
    for of_rates in (None,) if told is None else (None, told):
        yield _outcome(top, truths, shares, design.queries, lists.n_universe, of_rates)


def _outcome(
    top: Tops, truths: Truths, shares: Floats, part: float, n_universe: int, of_rates: Floats | None
) -> Outcome:
    """Return the errors where a part of the queries is judged.

    of_rates: the covariance of the rates by which labels are corrected; None where they are not.
    """
    rates, n_queries = truths.rates, max(2.0, part * n_universe)
    rest = rest_of(rates, shares, None if of_rates is None else rates)
    value, right = (top.means(top.states, each) for each in (rest, _RIGHT))
    found = (top.weights * value).sum(axis=2)  # each run's mean
    of_votes = np.maximum(top.covariances(top.states, top.states, top.states[:2], rest), 0.0)
    of_queries = (value - found[..., None]) ** 2
    noise = (top.weights * (of_votes + (1 - part) * of_queries)).sum(axis=2) / n_queries
    few, (one, two, shared) = rest[:, :, :FEW], np.split(top.both, [3, 6])
    values = [top.means(each, few) for each in (one, two)]
    var_one, var_two = (np.maximum(top.covariances(each, each, each[:2], few), 0.0) for each in (one, two))
    both, gap = top.covariances(one, two, shared, few), values[0] - values[1]
    true_gap = top.means(one, _RIGHT) - top.means(two, _RIGHT)
    # of labels that are 0 or 1: A + B − 2AB; without labels' noise it is the squared difference
    is_apart = values[0] + values[1] - 2 * (both + values[0] * values[1])
    mean_gap, mean_true, differing = (
        (top.weights_of_both * each).sum(axis=2) for each in (gap, true_gap, is_apart)
    )
    of_both = (gap - mean_gap[..., None]) ** 2 + var_one + var_two - 2 * both
    spread = (top.weights_of_both * of_both).sum(axis=2)
    if of_rates is not None:
        slopes = np.empty((*found.shape, 2))  # how each run's corrected mean moves with t and with f
        for which, step in enumerate(_STEP * np.eye(2)[:, :, None, None]):
            ends = (rest_of(rates, shares, rates + each) for each in (step, -step))
            up, down = (top.means(top.states, each) for each in ends)
            slopes[..., which] = (top.weights * (up - down)).sum(axis=2) / (2 * _STEP)
        noise = noise + np.einsum("rdx,dxy,rdy->rd", slopes, of_rates, slopes)
        apart = (slopes[top.one] - slopes[top.two])[:, :FEW]
        spread = spread + n_queries * np.einsum("pdx,dxy,pdy->pd", apart, of_rates[:FEW], apart)
    spread, differing, mean_gap, mean_true = (
        each.mean(axis=1) for each in (np.maximum(spread, 0.0), differing, mean_gap, mean_true)
    )
    with np.errstate(invalid="ignore"):
        kept = (mean_gap * mean_true).sum() / (mean_true**2).sum()
    bias = (top.weights * (value - right)).sum(axis=2).T
    estimate = LABELLED if of_rates is None else CORRECTED
    errors = bias, np.sqrt(noise).T, np.sqrt(spread), np.clip(differing, 0.0, 1.0)
    return Outcome(top.measure, estimate, *errors, kept)
