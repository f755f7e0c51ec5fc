"""What votes make of a pair, in expectation: labels, corrected relevance, and how many votes it takes.

Everything follows from the share of pairs in each design class and the error rates of one vote; nothing is
drawn. Rates are (2, n_draws, 1) arrays: P(vote 1 | positive), P(vote 1 | not).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from fire_toolkit.arrays import Bools, Floats, starts_of_lists
from fire_toolkit.inference.label_errors import VoteCounts, class_rate, error_rates, estimated_relevance
from fire_toolkit.planning.designs import CUTOFFS
from fire_toolkit.planning.lists import Lists
from fire_toolkit.planning.relevance import Truths
from fire_toolkit.tables.design import DOUBLED, SINGLE, VERIFY

Mixture = Mapping[str, Floats]  # design class → the share of positives and of others that has it: (2, 1, 1)


class Rest(NamedTuple):
    """Mean and mean square of 1 − estimated relevance, of a positive and of another doc: (2, n_draws, 1)."""

    mean: Floats
    square: Floats


def rest_of(rates: Floats, mixture: Mixture, used: Floats | None = None) -> Rest:
    """Return what is left of 1 after a pair's label, or after its relevance as corrected.

    used: rates that the correction takes; None: the label as it is.
    """
    mean, square = np.zeros((2, *rates.shape))
    for name, share in mixture.items():
        chance = class_rate(rates, name)
        t, f = class_rate(np.array([1.0, 0.0]) if used is None else used, name)
        of_one, of_zero = (1 - estimated_relevance(label, t, f) for label in (1.0, 0.0))
        mean += share * (chance * of_one + (1 - chance) * of_zero)
        square += share * (chance * of_one**2 + (1 - chance) * of_zero**2)
    return Rest(mean, square)


def votes_a_pair(rates: Floats, mixture: Mixture) -> Floats:
    """Return how many votes a pair takes: one or two, another on a positive, a third where two differ."""
    third = rates * (1 - rates)
    each = {SINGLE: np.ones_like(rates), DOUBLED: 2 + 2 * third, VERIFY: 1 + rates + third}
    return np.asarray(sum(share * each[name] for name, share in mixture.items()))


def open_pairs(lists: Lists, truths: Truths, depth: int, *, settles: bool, seed: int) -> Bools:
    """Return which pairs of each draw can still give some run its first positive: (n_draws, n_pairs).

    A run's top k is closed by an original or a verified positive that it holds; a pair is open where it
    stands in some top k that is not closed. Pairs are asked in order, verified on simulated votes.

    settles: whether C@depth is to be decided; else C@1, C@5 and C@10, of a pool of this depth.
    """
    cutoffs = np.array([depth] if settles else CUTOFFS)
    order = lists.in_order(-(lists.ranks <= depth).sum(axis=1) if settles else lists.best_rank)
    order = order[lists.best_rank[order] <= depth]
    query, is_original = lists.query[order], lists.is_original[order]
    inside = (lists.ranks[order][:, :, None] <= cutoffs).reshape(len(order), -1)
    of_positive, of_other = class_rate(truths.rates, VERIFY)
    rate: Floats = np.where(truths.positive[:, order], of_positive, of_other)
    is_confirmed = (np.random.default_rng(seed).random(rate.shape) < rate) & ~is_original
    by_originals = np.zeros((lists.n_queries, inside.shape[1]), dtype=bool)
    np.logical_or.at(by_originals, query[is_original], inside[is_original])
    closed = np.repeat(by_originals[None], len(rate), axis=0)
    is_open = np.zeros((len(rate), len(lists.query)), dtype=bool)
    lengths = np.bincount(query, minlength=lists.n_queries)
    start = starts_of_lists(lengths)
    for place in range(int(lengths.max(initial=0))):
        queries = np.flatnonzero(lengths > place)
        rows = start[queries] + place
        is_useful = (inside[rows] & ~closed[:, queries]).any(axis=2)
        is_open[:, order[rows]] = is_useful
        closed[:, queries] |= (is_useful & is_confirmed[:, rows])[:, :, None] & inside[rows]
    return is_open


def rate_covariance(
    name: str, n_pairs: Floats, share_positive: Floats, t: Floats, f: Floats
) -> tuple[Floats, Floats]:
    """Return t and f as they are estimated from pairs of a class: covariance (n_draws, 2, 2), by the delta
    method, and both standard errors (n_draws, 2).

    name: `doubled` or `verify`; n_pairs, share_positive, t, f: of each draw.
    """
    p = share_positive
    both, all_three = p * t**2 + (1 - p) * f**2, p * t**3 + (1 - p) * f**3
    one, split = p * t + (1 - p) * f, both - all_three  # split: votes 1, 0, 1
    means = np.stack([one, both, split])
    of_one, shared = (both + (one - both) / 2, split / 2) if name == DOUBLED else (one, split)
    zero = np.zeros_like(both)
    second = np.array([[of_one, both, shared], [both, both, zero], [shared, zero, shared]])
    covariance = np.moveaxis(second - means[:, None] * means, -1, 0) / n_pairs[:, None, None]
    slopes = []
    for step in 1e-7 * np.eye(3)[:, :, None]:
        up, down = (error_rates(VoteCounts(np.ones_like(one), *(means + side * step))) for side in (1, -1))
        slopes.append((np.stack([up.t, up.f]) - np.stack([down.t, down.f])) / 2e-7)
    jacobian = np.moveaxis(np.stack(slopes), -1, 0)  # (n_draws, 3, 2)
    of_rates = np.einsum("dxa,dxy,dyb->dab", jacobian, covariance, jacobian)
    return of_rates, np.sqrt(np.einsum("daa->da", of_rates))
