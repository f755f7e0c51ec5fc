"""How likely each pair near the top of a run is a positive: assumed, or fitted to a pilot's judgments.

    logit P(positive) = level + Σ over runs (weight · nearness + spread · effect · √(nearness / nearest))
                        + more · (n_runs − 1) + apart · (share of runs without the query's original)

nearness: log((depth + 3) / (rank + 2)) of the pair in each run, 0 where the run does not have it; nearest: at
rank 1; effect: N(0, 1) of each query and run, since a run finds positives in some queries and fails in
others. Originals are positives; where few runs have one in their top 10, other positives may be rarer too,
and these are the queries on which C@k is open. Where originals stand says how much each run's ranks are
worth: a logistic regression of "is an original" on nearness gives the weights that a fit starts from.

Parameters are an array: level, a weight of each run, more, apart, log spread, and the logits of t and f. The
model is used for the ranks that a pilot judges. How many positives lie deeper it does not know.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools, Floats, Ints
from fire_toolkit.errors import UsageError
from fire_toolkit.planning.lists import Lists

POOL_DEPTH = 10  # of the pools that assumptions count positives in
FEW = 8
_STEPS = 60
_WIDER = 1.35  # than the votes leave parameters open: no made world is like the model
_NODE, _WEIGHT = np.polynomial.hermite_e.hermegauss(9)

# As fitted to ECCV Caption's positives of 1,332 COCO captions and five runs; and how far a pilot may take
# each from there (standard deviations of normal priors; of the logarithm of the spread, the rates' logits).
_LEVEL, _SLOPE, _MORE, _SPREAD = -4.3, 0.35, 0.26, 0.8
_LOOSE_LEVEL, _LOOSE_WEIGHT, _LOOSE_REST = 3.0, 0.4, [0.4, 2.0, 0.8, 1.0, 1.0]
_OFFSET = 2  # added to ranks: the first is not worth as much more than the second as log(rank) has it

# Positives a query that the originals leave out in the top 10 of all runs: FIRE on MSVD (39,909 positives of
# 27,763 captions, at least 85.4% with their original among them) and on MSR-VTT (2,855 of 1,000 captions, 708
# of them originals); ECCV Caption on COCO (5,521 of 1,332 captions, 1,006 of them originals).
ASSUMED = (0.58, 2.15, 3.39)


class Truths(NamedTuple):
    """What may be true, by one pilot or one assumption.

    positive: (n_draws, n_pairs), which pairs are positives; rates: (2, n_draws, 1), t and f of one vote.
    """

    positive: Bools
    rates: Floats

    @property
    def few(self) -> "Truths":
        """The first draws, that costs and differences between runs are averaged over."""
        return Truths(self.positive[:FEW], self.rates[:, :FEW])


class _Model:
    """The columns of the model (1, nearness in each run, n_runs − 1, originals missing) of some pairs, and
    how much of its query's and run's effect each takes: all at rank 1, none outside the run."""

    def __init__(self, lists: Lists, chosen: Bools | Ints | slice = slice(None)) -> None:
        nearest, own = lists.depth + 1 + _OFFSET, (lists.ranks + _OFFSET)[chosen]
        near = np.log(nearest / own)
        self.carried: Floats = np.sqrt(near / math.log(nearest / (1 + _OFFSET)))
        beside = np.column_stack([lists.n_runs - 1.0, lists.without_original[lists.query]])[chosen]
        self.columns = np.column_stack([np.ones(len(own)), near, beside])

    def chances(self, parameters: Floats) -> Floats:
        """Return P(positive) of each pair over all effects, by Gauss and Hermite's rule."""
        moved = np.sqrt((self.carried**2).sum(axis=1))  # by all effects together, for a spread of 1
        logit = (self.columns @ parameters[:-3])[:, None]
        logit = logit + math.exp(parameters[-3]) * moved[:, None] * _NODE
        return np.asarray(_logistic(logit) @ (_WEIGHT / _WEIGHT.sum()))


def draw_truths(lists: Lists, parameters: Floats, rng: np.random.Generator) -> Truths:
    """Return positives and error rates drawn for each row of parameters."""
    model = _Model(lists)
    positive = np.empty((len(parameters), len(lists.query)), dtype=bool)
    for row, each in enumerate(parameters):
        effect = rng.standard_normal((lists.n_queries, len(lists.run_ids)))
        of_query = (effect[lists.query] * model.carried).sum(axis=1)
        logit = model.columns @ each[:-3] + math.exp(each[-3]) * of_query
        positive[row] = (rng.random(len(logit)) < _logistic(logit)) | lists.is_original
    return Truths(positive, _logistic(parameters[:, -2:].T)[:, :, None])


def assumed_parameters(lists: Lists, missing: Sequence[float], rates: tuple[float, float]) -> Floats:
    """Return a row of parameters for each number of positives a query beside originals that the depth-10 pool
    may hold.

    Raises:
        UsageError: as many as the pool has docs, or more.
    """
    in_pool = (lists.best_rank <= POOL_DEPTH) & ~lists.is_original
    found, model = np.tile(_centres(lists, rates), (len(missing), 1)), _Model(lists, in_pool)
    for each, own in zip(missing, found, strict=True):
        wanted, low, high = each * lists.n_queries, -30.0, 30.0
        if not 0 < wanted < in_pool.sum():
            raise UsageError(
                f"{each:g} missing positives a query assumed; the runs' top {POOL_DEPTH} hold "
                f"{in_pool.sum() / lists.n_queries:.2f} docs a query beside originals; judge a pilot "
                "(--draw-pilot)"
            )
        for _ in range(40):
            own[0] = (low + high) / 2
            low, high = (own[0], high) if model.chances(own).sum() < wanted else (low, own[0])
    return found


def fitted_parameters(
    lists: Lists, votes: pd.DataFrame, rates: tuple[float, float], *, n_draws: int, rng: np.random.Generator
) -> Floats:
    """Return parameters drawn from what a pilot's votes leave open: (n_draws, n_parameters).

    The posterior, of parameters and error rates together, is taken as normal around its maximum, and a third
    wider than votes alone leave it, since the model may be wrong. A pair's votes are independent given what
    it is; each pair counts by its chance over all effects.

    Args:
        votes: pair, n_positive and n_votes of pairs that were chosen by their ranks; originals are left out,
            whatever the votes on them; who votes a third time may depend on the first two.
        rates: P(vote 1 | positive) and P(vote 1 | not), as they are thought to be before any vote.

    Raises:
        UsageError: no judged pair of these lists that is not an original.
    """
    votes = votes[~lists.is_original[votes["pair"]]]
    if votes.empty:
        raise UsageError(
            "the pilot judges no pair of these runs beside originals; draw one with --draw-pilot"
        )
    pair, n_positive, n_votes = votes[["pair", "n_positive", "n_votes"]].to_numpy(dtype=np.int64).T
    model, n_negative = _Model(lists, pair), n_votes - n_positive

    def log_likelihoods(parameters: Floats) -> Floats:
        of_positive, of_other = (
            n_positive * np.log(rate) + n_negative * np.log1p(-rate)
            for rate in np.clip(_logistic(parameters[-2:]), 1e-6, 1 - 1e-6)
        )
        chance = np.clip(model.chances(parameters), 1e-12, 1 - 1e-12)
        return np.asarray(np.logaddexp(np.log(chance) + of_positive, np.log1p(-chance) + of_other))

    spreads = np.array([_LOOSE_LEVEL, *[_LOOSE_WEIGHT] * len(lists.run_ids), *_LOOSE_REST])
    found, information = _maximise(log_likelihoods, _centres(lists, rates), spreads)
    drawn = rng.standard_normal((n_draws, len(found)))
    return np.asarray(found + _WIDER * np.linalg.solve(np.linalg.cholesky(information).T, drawn.T).T)


def _centres(lists: Lists, rates: Sequence[float]) -> Floats:
    """Return the parameters before any judgment: weights by where the originals stand, with a ridge."""
    is_found = lists.best_rank <= lists.depth
    columns, is_one = _Model(lists, is_found).columns[:, :-2], lists.is_original[is_found]
    weights: Floats = np.zeros(columns.shape[1])
    penalty = np.append(0.0, np.ones(len(weights) - 1))
    for _ in range(_STEPS):
        chance = _logistic(columns @ weights)
        gradient = columns.T @ (is_one - chance) - penalty * weights
        information = (columns * (chance * (1 - chance))[:, None]).T @ columns + np.diag(penalty + 1e-9)
        step = np.linalg.solve(information, gradient)
        weights = weights + step
        if np.abs(step).max() < 1e-8:
            break
    logits = [math.log(rate / (1 - rate)) for rate in rates]
    return np.array([_LEVEL, *(_SLOPE * weights[1:]), _MORE, 0.0, math.log(_SPREAD), *logits])


def _maximise(terms: Callable[[Floats], Floats], centres: Floats, spreads: Floats) -> tuple[Floats, Floats]:
    """Return where a sum of terms and normal log-priors is largest, and the information there: by scoring
    with the terms' gradients, each step halved until it gains."""

    def total(at: Floats, values: Floats) -> float:
        return float(values.sum() - (((at - centres) / spreads) ** 2).sum() / 2)

    at, values, step_size = centres, terms(centres), 1e-5
    for _ in range(_STEPS):
        shifted = (terms(at + step_size * unit) for unit in np.eye(len(at)))
        slopes = np.column_stack([(one - values) / step_size for one in shifted])
        gradient = slopes.sum(axis=0) - (at - centres) / spreads**2
        information = slopes.T @ slopes + np.diag(1 / spreads**2)
        step = np.linalg.solve(information, gradient)
        tries = (at + step / 2**n for n in range(12))
        better = next((t for t in tries if total(t, terms(t)) > total(at, values)), at)
        gained = total(better, terms(better)) - total(at, values)
        at, values = better, terms(better)
        if gained < 1e-6:
            break
    return at, information


def _logistic(values: Floats) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh(values / 2)))
