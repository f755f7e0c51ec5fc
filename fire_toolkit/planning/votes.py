"""What votes make of a pair, in expectation: labels, corrected relevance, and how many votes it takes.

Everything follows from the share of pairs in each design class and the error rates of one vote; nothing is
drawn. Rates are (n_draws, 1) arrays: P(vote 1 | positive), P(vote 1 | not).
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

Mixture = Mapping[str, float | Floats]  # design class → the share of pairs that has it


class Rest(NamedTuple):
    """Mean and mean square of 1 − estimated relevance, of a positive and another doc: (n_draws, 1) each."""

    positive: tuple[Floats, Floats]
    other: tuple[Floats, Floats]


def rest_of(
    rates: tuple[Floats, Floats],
    mixtures: tuple[Mixture, Mixture],
    used: tuple[Floats, Floats] | None = None,
) -> Rest:
    """Return what is left of 1 after a pair's label, or after its relevance as corrected.

    Args:
        rates: with which votes err.
        mixtures: of positives and of other docs.
        used: rates that the correction takes; None: the label as it is.
    """
    kinds = []
    for rate, mixture in zip(rates, mixtures, strict=True):
        mean, square = np.zeros_like(rate), np.zeros_like(rate)
        for name, share in mixture.items():
            chance = class_rate(rate, name)
            if used is None:
                of_one, of_zero = np.zeros_like(rate), np.ones_like(rate)
            else:
                t, f = (class_rate(each, name) for each in used)
                of_one, of_zero = (1 - estimated_relevance(label, t, f) for label in (1.0, 0.0))
            mean = mean + share * (chance * of_one + (1 - chance) * of_zero)
            square = square + share * (chance * of_one**2 + (1 - chance) * of_zero**2)
        kinds.append((mean, square))
    return Rest(*kinds)


def votes_a_pair(rate: Floats, mixture: Mixture) -> Floats:
    """Return how many votes a pair takes: one or two, another on a positive, a third where two differ."""
    third = rate * (1 - rate)
    each = {SINGLE: np.ones_like(rate), DOUBLED: 2 + 2 * third, VERIFY: 1 + rate + third}
    return np.asarray(sum(share * each[name] for name, share in mixture.items()))


def open_pairs(lists: Lists, truths: Truths, depth: int, *, settles: bool, seed: int) -> Bools:
    """Return which pairs of each draw can still give some run its first positive: (n_draws, n_pairs).

    A run's top k is closed by an original or a verified positive that it holds; a pair is open where it
    stands in some top k that is not closed. Pairs are asked in order, verified on simulated votes.

    Args:
        settles: that C@depth is to be decided; else C@1, C@5 and C@10, of a pool of this depth.
    """
    cutoffs = np.array([depth] if settles else CUTOFFS)
    first = -(lists.ranks <= depth).sum(axis=1) if settles else lists.best_rank
    order = lists.in_order(first)
    order = order[lists.best_rank[order] <= depth]
    query, ranks = lists.query[order], lists.ranks[order]
    inside = (ranks[:, :, None] <= cutoffs).reshape(len(order), -1)
    rng = np.random.default_rng(seed)
    of_positive, of_other = (class_rate(each, VERIFY) for each in (truths.t, truths.f))
    rate: Floats = np.where(truths.positive[:, order], of_positive, of_other)
    is_confirmed = (rng.random(rate.shape) < rate) & ~lists.is_original[order]
    start = starts_of_lists(np.bincount(query, minlength=lists.n_queries))
    by_originals = np.zeros((lists.n_queries, inside.shape[1]), dtype=bool)
    np.logical_or.at(by_originals, query[lists.is_original[order]], inside[lists.is_original[order]])
    closed = np.repeat(by_originals[None], len(rate), axis=0)
    is_open = np.zeros((len(rate), len(lists.query)), dtype=bool)
    lengths = np.diff(start)
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

    Args:
        name: `doubled` or `verify`.
        n_pairs, share_positive, t, f: of each draw.
    """
    p = share_positive
    both, all_three = p * t**2 + (1 - p) * f**2, p * t**3 + (1 - p) * f**3
    one, split = p * t + (1 - p) * f, both - all_three  # split: votes 1, 0, 1
    if name == DOUBLED:
        differ = 2 * (one - both)
        squares = both + differ / 4, both, split / 2, both, split / 2, np.zeros_like(both)
    else:
        squares = one, both, split, both, split, np.zeros_like(both)
    means = np.stack([one, both, split])
    second = np.empty((3, 3, *both.shape))
    places = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    for (row, column), value in zip(places, squares, strict=True):
        second[row, column] = second[column, row] = value
    covariance = np.moveaxis(second - means[:, None] * means, -1, 0) / n_pairs[:, None, None]
    step = 1e-7
    slopes = []
    for place in range(3):
        ends = []
        for side in (step, -step):
            moved = means.copy()
            moved[place] += side
            found = error_rates(VoteCounts(np.ones_like(one), *moved))
            ends.append(np.stack([found.t, found.f]))
        slopes.append((ends[0] - ends[1]) / (2 * step))
    jacobian = np.moveaxis(np.stack(slopes), -1, 0)  # (n_draws, 3, 2)
    of_rates = np.einsum("dxa,dxy,dyb->dab", jacobian, covariance, jacobian)
    return of_rates, np.sqrt(np.einsum("daa->da", of_rates))
