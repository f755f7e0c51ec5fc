"""How likely each pair near the top of a run is a positive: assumed, or fitted to a pilot's judgments.

    logit P(positive) = level + Σ over runs (weight · nearness + spread · effect · √(nearness / nearest))
                        + more · (n_runs − 1) + apart · (share of runs without the query's original)

nearness: log((depth + 3) / (rank + 2)) of the pair in each run, 0 where the run does not have it; nearest: at
rank 1; effect: N(0, 1) of each query and run, since a run finds positives in some queries and fails in
others. Originals are positives; where few runs have one in their top 10, other positives may be rarer too,
and these are the queries on which C@k is open. Where originals stand says how much each run's ranks are
worth: a logistic regression of "is an original" on nearness gives the weights that a fit starts from.

The model is used for the ranks that a pilot judges. How many positives lie deeper it does not know.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from fire_toolkit.arrays import Bools, Floats, Ints
from fire_toolkit.errors import UsageError
from fire_toolkit.planning.lists import Lists
from fire_toolkit.planning.pilot import PilotVotes

POOL_DEPTH = 10  # of the pools that assumptions count positives in
_STEPS, _PENALTY = 60, 1.0
_WIDER = 1.35  # than the votes leave parameters open: no made world is like the model
_NODE, _WEIGHT = np.polynomial.hermite_e.hermegauss(9)

# As fitted to ECCV Caption's positives of 1,332 COCO captions and five runs; and how far a pilot may take
# each from there (standard deviations of normal priors; of the logarithm of the spread, the rates' logits).
_LEVEL, _SLOPE, _MORE, _SPREAD = -4.3, 0.35, 0.26, 0.8
_LOOSE = {"level": 3.0, "weight": 0.4, "more": 0.4, "apart": 2.0, "spread": 0.8, "rate": 1.0}
_OFFSET = 2  # added to ranks: the first is not worth as much more than the second as log(rank) has it

# Positives a query that the originals leave out in the top 10 of all runs: FIRE on MSVD (39,909 positives of
# 27,763 captions, at least 85.4% with their original among them) and on MSR-VTT (2,855 of 1,000 captions, 708
# of them originals); ECCV Caption on COCO (5,521 of 1,332 captions, 1,006 of them originals).
ASSUMED = (0.58, 2.15, 3.39)


class Truths(NamedTuple):
    """What may be true: (n_draws, n_pairs), which pairs are positives; (n_draws, 1), t and f of one vote."""

    positive: Bools
    t: Floats
    f: Floats

    @property
    def rates(self) -> Floats:
        """Both rates: (2, n_draws, 1)."""
        return np.stack([self.t, self.f])


def draw_truths(lists: Lists, parameters: Floats, rng: np.random.Generator) -> Truths:
    """Return positives and error rates drawn for each row of parameters: level, weights, more, apart, log
    spread, and the logits of t and f."""
    columns = _columns(lists)
    near = columns[:, 1:-2]
    carried = _carried(near, lists.depth)
    rates = _logistic(parameters[:, -2:])
    positive = np.empty((len(parameters), len(near)), dtype=bool)
    for row, each in enumerate(parameters):
        effect = rng.standard_normal((lists.n_queries, near.shape[1]))
        of_query = (effect[lists.query] * carried).sum(axis=1)
        logit = columns @ each[:-3] + math.exp(each[-3]) * of_query
        positive[row] = (rng.random(len(near)) < _logistic(logit)) | lists.is_original
    return Truths(positive, rates[:, :1], rates[:, 1:])


def assumed_parameters(lists: Lists, missing: float, rates: tuple[float, float]) -> Floats:
    """Return the parameters under which the depth-10 pool holds `missing` positives a query beside originals.

    Raises:
        UsageError: as many as the pool has docs, or more.
    """
    in_pool = (lists.best_rank <= POOL_DEPTH) & ~lists.is_original
    wanted = missing * lists.n_queries
    if not 0 < wanted < in_pool.sum():
        raise UsageError(
            f"{missing:g} missing positives a query assumed; the runs' top {POOL_DEPTH} hold "
            f"{in_pool.sum() / lists.n_queries:.2f} docs a query beside originals; judge a pilot "
            "(--draw-pilot)"
        )
    found = _centres(lists, rates)
    columns = _columns(lists)[in_pool]
    moved = _moved(columns[:, 1:-2], lists.depth)
    low, high = -30.0, 30.0
    for _ in range(40):
        found[0] = (low + high) / 2
        low, high = (found[0], high) if _chances(found, columns, moved).sum() < wanted else (low, found[0])
    return found


def fitted_parameters(
    lists: Lists, votes: PilotVotes, rates: tuple[float, float], *, n_draws: int, rng: np.random.Generator
) -> Floats:
    """Return parameters drawn from what a pilot's votes leave open: (n_draws, n_parameters).

    The posterior, of parameters and error rates together, is taken as normal around its maximum, and a third
    wider than votes alone leave it, since the model may be wrong. A pair's votes are independent given what
    it is; each pair counts by its chance over all effects.

    Args:
        votes: of pairs that were chosen by their ranks; originals are left out, whatever the votes on them;
            who votes a third time may depend on the first two.
        rates: P(vote 1 | positive) and P(vote 1 | not), as they are thought to be before any vote.

    Raises:
        UsageError: no judged pair of these lists that is not an original.
    """
    is_new = ~lists.is_original[votes.pair]
    if not is_new.any():
        raise UsageError(
            "the pilot judges no pair of these runs beside originals; draw one with --draw-pilot"
        )
    pair = votes.pair[is_new]
    columns = _columns(lists)[pair]
    counts = votes.n_positive[is_new], votes.n_votes[is_new]
    centres = _centres(lists, rates)
    loose = ["level", *["weight"] * len(lists.run_ids), "more", "apart", "spread", "rate", "rate"]
    moved = _moved(columns[:, 1:-2], lists.depth)
    found, information = _maximise(
        lambda at: _log_likelihoods(at, columns, *counts, moved),
        centres,
        np.array([_LOOSE[name] for name in loose]),
    )
    drawn = rng.standard_normal((n_draws, len(found)))
    return np.asarray(found + _WIDER * np.linalg.solve(np.linalg.cholesky(information).T, drawn.T).T)


def _centres(lists: Lists, rates: Sequence[float]) -> Floats:
    """Return the parameters before any judgment."""
    logits = [math.log(rate / (1 - rate)) for rate in rates]
    return np.array([_LEVEL, *(_SLOPE * _original_weights(lists)), _MORE, 0.0, math.log(_SPREAD), *logits])


def _nearness(lists: Lists) -> Floats:
    """Return log((depth + 3) / (rank + 2)) of each pair and run, 0 where the run does not have the pair."""
    return np.log((lists.depth + 1 + _OFFSET) / (lists.ranks + _OFFSET))


def _columns(lists: Lists) -> Floats:
    """Return what the model knows of each pair: 1, nearness in each run, n_runs − 1, originals missing."""
    missing = lists.without_original[lists.query]
    return np.column_stack([np.ones(len(missing)), _nearness(lists), lists.n_runs - 1.0, missing])


def _carried(near: Floats, depth: int) -> Floats:
    """Return how much of its query's and run's effect a pair takes: all at rank 1, none outside the run."""
    return np.asarray(np.sqrt(near / math.log((depth + 1 + _OFFSET) / (1 + _OFFSET))))


def _moved(near: Floats, depth: int) -> Floats:
    """Return the standard deviation of the effects' sum, of each pair, for a spread of 1."""
    return np.asarray(np.sqrt((_carried(near, depth) ** 2).sum(axis=1)))


def _original_weights(lists: Lists) -> Floats:
    """Return what the originals say each run's ranks are worth: logistic regression with a ridge penalty."""
    is_found = lists.best_rank <= lists.depth
    near, is_one = _nearness(lists)[is_found], lists.is_original[is_found]
    columns = np.column_stack([np.ones(len(near)), near])
    penalty = np.append(0.0, np.full(near.shape[1], _PENALTY))
    weights = np.zeros(columns.shape[1])
    for _ in range(_STEPS):
        chance = _logistic(columns @ weights)
        gradient = columns.T @ (is_one - chance) - penalty * weights
        information = (columns * (chance * (1 - chance))[:, None]).T @ columns + np.diag(penalty + 1e-9)
        step = np.linalg.solve(information, gradient)
        weights = weights + step
        if np.abs(step).max() < 1e-8:
            break
    return weights[1:]


def _chances(parameters: Floats, columns: Floats, moved: Floats) -> Floats:
    """Return P(positive) of each pair over all effects, by Gauss and Hermite's rule."""
    logit = (columns @ parameters[:-3])[:, None] + math.exp(parameters[-3]) * moved[:, None] * _NODE
    return np.asarray(_logistic(logit) @ (_WEIGHT / _WEIGHT.sum()))


def _log_likelihoods(
    parameters: Floats, columns: Floats, n_positive: Ints, n_votes: Ints, moved: Floats
) -> Floats:
    """Return the log-likelihood of each pair's votes."""
    of_positive, of_other = (
        n_positive * np.log(rate) + (n_votes - n_positive) * np.log1p(-rate)
        for rate in np.clip(_logistic(parameters[-2:]), 1e-6, 1 - 1e-6)
    )
    chance = np.clip(_chances(parameters, columns, moved), 1e-12, 1 - 1e-12)
    return np.asarray(np.logaddexp(np.log(chance) + of_positive, np.log1p(-chance) + of_other))


def _maximise(terms: Callable[[Floats], Floats], centres: Floats, spreads: Floats) -> tuple[Floats, Floats]:
    """Return where a sum of terms and normal log-priors is largest, and the information there.

    Scoring by the terms' gradients.
    """

    def total(at: Floats, values: Floats) -> float:
        return float(values.sum() - (((at - centres) / spreads) ** 2).sum() / 2)

    at, step_size = centres, 1e-5
    values = terms(at)
    for _ in range(_STEPS):
        shifted = (terms(at + step_size * unit) for unit in np.eye(len(at)))
        slopes = np.column_stack([(one - values) / step_size for one in shifted])
        gradient = slopes.sum(axis=0) - (at - centres) / spreads**2
        information = slopes.T @ slopes + np.diag(1 / spreads**2)
        step = np.linalg.solve(information, gradient)
        for _ in range(12):
            tried = terms(at + step)
            if total(at + step, tried) > total(at, values):
                break
            step = step / 2
        else:
            break
        gained = total(at + step, tried) - total(at, values)
        at, values = at + step, tried
        if gained < 1e-6:
            break
    return at, information


def _logistic(values: Floats) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh(values / 2)))
