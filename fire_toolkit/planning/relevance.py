"""How likely each pair is a positive: a small model, assumed by name or fitted to a pilot's judgments.

    logit P(positive) = level + Σ over runs (weight · nearness + spread · effect · √(nearness / nearest))
                        + more · (n_runs − 1)

nearness: log((depth + 3) / (rank + 2)) of the pair in each run, 0 where the run does not have it; nearest: at
rank 1; effect: N(0, 1) of each query and run, since a run finds positives in some queries and fails in
others. Originals are positives. Where they stand says how much each run's ranks are worth: a logistic
regression of "is an original" on nearness gives weights, which the model takes up to a slope. How many
positives the originals leave out, the level, only judgments can tell.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fire_toolkit.arrays import Bools, Floats, Ints
from fire_toolkit.errors import UsageError
from fire_toolkit.planning.lists import Lists

POOL_DEPTH = 10  # of the pools that assumptions count positives in
_STEPS = 60
_PENALTY = 1.0
_NODES = 9
_OTHERS = 12  # models that a pilot leaves possible

# As fitted to ECCV Caption's positives of 1,332 COCO captions and five runs; and how far a pilot may take
# each from there (standard deviations of normal priors; of the rates' logits).
SLOPE, MORE, SPREAD = 0.35, 0.26, 0.8
_LEVEL, _LOOSE = -4.3, {"level": 3.0, "weight": 0.12, "more": 0.15, "rate": 0.4}
_OFFSET = 2  # added to ranks: the first is not worth as much more than the second as log(rank) has it
_KNOWN = 0.02  # the same for rates that are known from elsewhere


@dataclass(frozen=True)
class Assumption:
    """How many positives a query the originals leave out in the top 10 of all runs, and who found so many."""

    name: str
    missing: float
    source: str


ASSUMPTIONS = (
    Assumption(
        "low",
        0.58,
        "as FIRE found on MSVD: 39,909 positives of 27,763 captions in a depth-10 pool, of which at least "
        "85.4% have their original there",
    ),
    Assumption(
        "middle",
        2.15,
        "as FIRE found on MSR-VTT: 2,855 positives of 1,000 captions in a depth-10 pool, 708 of them "
        "originals",
    ),
    Assumption(
        "high",
        3.39,
        "as ECCV Caption found on COCO: 5,521 positives of 1,332 captions in a depth-10 pool, 1,006 of them "
        "originals",
    ),
)


@dataclass(frozen=True, eq=False)
class RelevanceModel:
    """The parameters of the model, and the error rates of one vote that they were fitted with or assume.

    weights: of each run; true_positive_rate: P(vote 1 | positive); false_positive_rate: P(vote 1 | not);
    others: models drawn from what the judgments leave open, where it was fitted to some.
    """

    level: float
    weights: Floats
    more: float = MORE
    spread: float = SPREAD
    true_positive_rate: float = 0.92
    false_positive_rate: float = 0.04
    others: tuple[RelevanceModel, ...] = ()

    @property
    def rates(self) -> tuple[float, float]:
        """Return the error rates of a vote: P(1 | positive), P(1 | not)."""
        return self.true_positive_rate, self.false_positive_rate

    def chances(self, lists: Lists, rng: np.random.Generator) -> Floats:
        """Return P(positive) of each pair, for effects of queries and runs drawn anew."""
        near = nearness(lists)
        effect = rng.standard_normal((lists.n_queries, near.shape[1]))
        of_query = np.einsum("pr,pr->p", effect[lists.query], _carried(near, lists.depth))
        logit = self.level + near @ self.weights + self.more * (lists.n_runs - 1) + self.spread * of_query
        return _logistic(logit)

    def draw(self, lists: Lists, rng: np.random.Generator) -> Bools:
        """Return for each pair whether it is a positive, drawn from the model; originals are."""
        chance = self.chances(lists, rng)
        return np.asarray((rng.random(len(chance)) < chance) | lists.is_original)


def nearness(lists: Lists) -> Floats:
    """Return log((depth + 3) / (rank + 2)) of each pair and run, 0 where the run does not have the pair."""
    return np.log((lists.depth + 1 + _OFFSET) / (lists.ranks + _OFFSET))


def _carried(near: Floats, depth: int) -> Floats:
    """Return how much of its query's and run's effect a pair takes: all at rank 1, none outside the run."""
    return np.asarray(np.sqrt(near / math.log((depth + 1 + _OFFSET) / (1 + _OFFSET))))


def original_weights(lists: Lists) -> Floats:
    """Return what the originals say each run's ranks are worth; shrunk towards 0."""
    is_found = lists.best_rank <= lists.depth
    near = nearness(lists)[is_found]
    penalty = np.append(0.0, np.full(near.shape[1], _PENALTY))
    columns = np.column_stack([np.ones(len(near)), near])
    return _logistic_regression(columns, lists.is_original[is_found], penalty)[1:]


def assumed_model(lists: Lists, missing: float, *, rates: tuple[float, float]) -> RelevanceModel:
    """Return the model whose depth-10 pool holds `missing` positives a query that are not originals.

    Raises:
        UsageError: a number that is not above 0, or more than the pool has.
    """
    in_pool = (lists.best_rank <= POOL_DEPTH) & ~lists.is_original
    wanted = missing * lists.n_queries
    if not 0 < wanted < in_pool.sum():
        raise UsageError(
            f"{missing:g} missing positives a query assumed; the runs' top {POOL_DEPTH} hold "
            f"{in_pool.sum() / lists.n_queries:.2f} docs a query beside originals; expected a number "
            "above 0 and below that"
        )
    plain = RelevanceModel(0.0, SLOPE * original_weights(lists), MORE, SPREAD, *rates)
    logit = _logit_of(plain.chances(lists, np.random.default_rng(0))[in_pool])
    low, high = -30.0, 30.0
    for _ in range(50):
        level = (low + high) / 2
        low, high = (level, high) if _logistic(level + logit).sum() < wanted else (low, level)
    return replace(plain, level=(low + high) / 2)


def fit_model(
    lists: Lists,
    pair: Ints,
    n_positive: Ints,
    n_votes: Ints,
    *,
    rates: tuple[float, float],
    rates_known: bool = False,
) -> RelevanceModel:
    """Return the model fitted to votes, by maximum a posteriori: parameters and error rates together.

    Its `others` are drawn from the normal distribution that approximates what the votes leave open.

    A pair's votes are independent given what it is. The spread stays as assumed, since a few pairs of a query
    do not tell it; each pair counts by its chance over all effects.

    Args:
        pair: the judged pairs, places in `lists`; originals are left out, whatever the votes on them.
        n_positive, n_votes: of each of them; who votes a third time may depend on the first two.
        rates: P(vote 1 | positive) and P(vote 1 | not), as they are thought to be before any vote.
        rates_known: that they come from many more votes than these, which then do not move them.

    Raises:
        UsageError: no judged pair of these lists that is not an original.
    """
    is_new = ~lists.is_original[pair]
    if not is_new.any():
        raise UsageError(
            "the pilot judges no pair of these runs beside originals; draw one with --draw-pilot"
        )
    near = nearness(lists)
    columns = np.column_stack([np.ones(len(near)), near, lists.n_runs - 1.0])[pair[is_new]]
    votes = n_positive[is_new], n_votes[is_new]
    centres = np.array([_LEVEL, *(SLOPE * original_weights(lists)), MORE, *map(_logit, rates)])
    loose = ["level", *["weight"] * len(lists.run_ids), "more", "rate", "rate"]
    spreads = np.array([_LOOSE[name] for name in loose])
    spreads[-2:] = _KNOWN if rates_known else spreads[-2:]
    moved = SPREAD * np.sqrt((_carried(columns[:, 1:-1], lists.depth) ** 2).sum(axis=1))
    found, information = _maximise(
        lambda at: _log_likelihoods(at, columns, *votes, moved),
        centres,
        spreads,
    )
    normal = np.random.default_rng(0).standard_normal((_OTHERS, len(found)))
    drawn = found + np.linalg.solve(np.linalg.cholesky(information).T, normal.T).T
    return replace(_model_of(found), others=tuple(map(_model_of, drawn)))


def _model_of(parameters: Floats) -> RelevanceModel:
    t, f = _rates(parameters).tolist()
    return RelevanceModel(float(parameters[0]), parameters[1:-3], float(parameters[-3]), SPREAD, t, f)


def _log_likelihoods(
    parameters: Floats, columns: Floats, n_positive: Ints, n_votes: Ints, moved: Floats
) -> Floats:
    """Return the log-likelihood of each pair's votes, over its effects by Gauss and Hermite's rule.

    moved: the standard deviation of the effects' sum, of each pair.
    """
    of_positive, of_other = (
        n_positive * np.log(rate) + (n_votes - n_positive) * np.log1p(-rate) for rate in _rates(parameters)
    )
    node, weight = np.polynomial.hermite_e.hermegauss(_NODES)
    chance = _logistic((columns @ parameters[:-2])[:, None] + moved[:, None] * node) @ (weight / weight.sum())
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


def _logistic_regression(columns: Floats, is_one: Bools, penalty: Floats) -> Floats:
    """Return the weights of a logistic regression with a ridge penalty, by Newton's method."""
    weights = np.zeros(columns.shape[1])
    for _ in range(_STEPS):
        chance = _logistic(columns @ weights)
        gradient = columns.T @ (is_one - chance) - penalty * weights
        information = (columns * (chance * (1 - chance))[:, None]).T @ columns + np.diag(penalty + 1e-9)
        step = np.linalg.solve(information, gradient)
        weights = weights + step
        if np.abs(step).max() < 1e-8:
            break
    return weights


def _logistic(values: Floats) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh(values / 2)))


def _logit_of(shares: Floats) -> Floats:
    return np.log(shares / (1 - shares))


def _logit(share: float) -> float:
    return math.log(share / (1 - share))


def _rates(parameters: Floats) -> Floats:
    """Return P(vote 1 | positive) and P(vote 1 | not), the last two parameters, kept off 0 and 1."""
    return np.clip(_logistic(parameters[-2:]), 1e-6, 1 - 1e-6)
