"""What designs are expected to get wrong, by simulation on the runs themselves: bias, error, power, cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from fire_toolkit.arrays import Bools, Floats
from fire_toolkit.measures import Measure
from fire_toolkit.planning.answers import Answers, answer, draw_votes
from fire_toolkit.planning.correction import (
    correctable,
    corrected_values,
    rate_covariance,
    slopes_by_rates,
)
from fire_toolkit.planning.designs import Design
from fire_toolkit.planning.lists import Lists
from fire_toolkit.planning.relevance import RelevanceModel

LABELLED, CORRECTED, DIFFERENCE = "as labelled", "corrected", "difference"


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a design is expected to come to; arrays by estimate and run, or by estimate and pair of runs.

    estimates: the place of each one's measure, and how it is made: `as labelled`; `corrected` for the errors
    of votes; `difference`, from the queries judged deep.
    n_asked, n_votes: over all queries that it judges; recall: the share of positives in the lists that were
    asked, or are originals; share_positive: of the pairs asked; bias, noise: the error's mean and standard
    deviation; spread, differing: of each pair of runs, the standard deviation of its difference (of one
    query), and the share of queries on which it is not 0; kept: how large a difference between runs is by
    this estimate, as a share of the true one; factors: by which the error of each estimate may be off, as far
    as a pilot leaves it open (95%).
    """

    design: Design
    estimates: tuple[tuple[int, str], ...]
    n_asked: float
    n_votes: float
    n_queries: int
    recall: float
    share_positive: float
    bias: Floats
    noise: Floats
    spread: Floats
    differing: Floats
    kept: Floats
    factors: tuple[float, ...] = ()

    @property
    def error(self) -> Floats:
        """Return the root of the mean squared error of each measure and run."""
        return np.asarray(np.sqrt(self.bias**2 + self.noise**2))

    @property
    def root_mean_square(self) -> Floats:
        """Return the error of each measure, over runs."""
        return np.asarray(np.sqrt((self.error**2).mean(axis=1)))


@dataclass
class _Sums:
    """Sums over repetitions, of arrays (measures × runs × queries) and of what they come to."""

    n: int = 0
    counts: list[tuple[float, float, float, float]] = field(default_factory=list)
    error: Floats | float = 0.0
    squared: Floats | float = 0.0
    parts: list[tuple[Floats, ...]] = field(default_factory=list)
    estimates: tuple[tuple[int, str], ...] = ()
    slopes: Floats | None = None
    covariance: Floats | None = None


def simulate(
    lists: Lists,
    designs: Sequence[Design],
    measures: Sequence[Measure],
    model: RelevanceModel,
    *,
    n_repeats: int,
    seed: int,
    truth: Bools | None = None,
    tell: Callable[[int], None] = lambda n: None,
) -> list[Outcome]:
    """Return what each design is expected to come to, on positives and votes drawn `n_repeats` times.

    The truth is the score by all positives of the lists: what no run found so deep, no design can see.
    Errors of queries are drawn apart, so that the error of their mean follows from those of the queries,
    and a few repetitions do. All designs see the same positives and the same votes.

    Args:
        model: what draws positives; its error rates are those of a vote.
        truth: which pairs are positives, where that is known.
        n_repeats: 2 or more.
        tell: called with 1 for each design and repetition.
    """
    sums = [_Sums() for _ in designs]
    everything = np.ones(len(lists.query), dtype=bool)
    for repeat in range(n_repeats):
        rng = np.random.default_rng([seed, repeat])
        positive = model.draw(lists, rng) if truth is None else truth
        votes = draw_votes(positive, model.rates, rng)
        right = lists.score(everything, positive, measures)
        for design, total in zip(designs, sums, strict=True):
            answers = answer(lists, design, votes)
            if total.n == 0:
                _prepare(total, lists, design, answers, positive, measures, model.rates)
            _add(total, lists, answers, right, measures, model.rates)
            total.counts.append(_counts(design, answers, lists, positive))
            tell(1)
    return [_outcome(lists, design, total) for design, total in zip(designs, sums, strict=True)]


def design_costs(
    lists: Lists, designs: Sequence[Design], model: RelevanceModel, *, n_repeats: int, seed: int
) -> Floats:
    """Return the pairs and the judgments that each design asks for, were all queries judged, as `simulate`.

    Returns:
        Designs × (pairs, judgments), means over the repetitions.
    """
    costs = np.zeros((n_repeats, len(designs), 2))
    for repeat in range(n_repeats):
        rng = np.random.default_rng([seed, repeat])
        positive = model.draw(lists, rng)
        votes = draw_votes(positive, model.rates, rng)
        for place, design in enumerate(designs):
            costs[repeat, place] = _counts(design, answer(lists, design, votes), lists, positive)[:2]
    return np.asarray(costs.mean(axis=0))


def _prepare(
    total: _Sums,
    lists: Lists,
    design: Design,
    answers: Answers,
    positive: Bools,
    measures: Sequence[Measure],
    rates: tuple[float, float],
) -> None:
    """Note which estimates there are, and how unsure the rates leave those that are corrected."""
    is_deep = answers.deep is not None
    of_deep = [is_deep and needs_all_positives(measure, design.reach) for measure in measures]
    plain = [(place, DIFFERENCE if deep else LABELLED) for place, deep in enumerate(of_deep)]
    chosen = [place for place, measure in enumerate(measures) if correctable(measure, design)]
    scale = lists.scale * design.queries
    total.covariance = rate_covariance(answers, positive, rates, scale) if chosen else None
    if total.covariance is None:
        chosen = []
    total.estimates = (*plain, *((place, CORRECTED) for place in chosen))
    total.slopes = np.zeros((len(total.estimates), len(lists.run_ids), 2))
    if chosen:
        total.slopes[len(plain) :] = slopes_by_rates(lists, answers, [measures[p] for p in chosen], rates)


def _add(
    total: _Sums,
    lists: Lists,
    answers: Answers,
    right: Floats,
    measures: Sequence[Measure],
    rates: tuple[float, float],
) -> None:
    """Add one repetition: the values of each estimate, and their errors."""
    estimated = labelled = lists.score(answers.is_asked, answers.is_positive, measures)
    residual = np.zeros((len(total.estimates), *labelled.shape[1:]))
    if answers.deep is not None:
        is_deep = np.array([name == DIFFERENCE for _, name in total.estimates[: len(measures)]])
        deep = lists.score(answers.deep.is_asked, answers.deep.is_positive, measures)
        residual[: len(measures)][is_deep] = (deep - _slopes(labelled, deep) * labelled)[is_deep]
        estimated = np.where(is_deep[:, None, None], deep, labelled)
    if chosen := [measures[place] for place, name in total.estimates if name == CORRECTED]:
        estimated = np.concatenate([estimated, corrected_values(lists, answers, chosen, rates)])
    right = right[[place for place, _ in total.estimates]]
    error = estimated - right
    total.n += 1
    total.error = total.error + error
    total.squared = total.squared + error**2
    total.parts.append((*_of_pairs(estimated, right), estimated.var(axis=2, ddof=1), *_of_samples(residual)))


def needs_all_positives(measure: Measure, depth: int) -> bool:
    """Return whether a measure is wrong where positives below the pool's depth are unknown.

    It is not for a cutoff within the pool where |G| does not count: C@k, P@k, RR@k.
    """
    is_of_top = measure.definition.by_first_positive or measure.definition.is_precision
    return not (is_of_top and measure.depth is not None and measure.depth <= depth)


def _slopes(shallow: Floats, deep: Floats) -> Floats:
    """Return λ of each measure: pooled over runs, between 0 and 1 (see `inference.two_phase`)."""
    x = shallow - shallow.mean(axis=2, keepdims=True)
    y = deep - deep.mean(axis=2, keepdims=True)
    products, squares = (x * y).sum(axis=(1, 2)), (x * x).sum(axis=(1, 2))
    slope = np.divide(products, squares, out=np.ones_like(products), where=squares > 0)
    return np.asarray(np.clip(slope, 0, 1)[:, None, None])


def _counts(
    design: Design, answers: Answers, lists: Lists, positive: Bools
) -> tuple[float, float, float, float]:
    """Return pairs asked and votes over all queries, recall, and the share of positives among those asked."""
    asked, votes = float(answers.is_asked.sum()), float(answers.n_votes.sum())
    share = float(positive[answers.is_asked].mean()) if asked else 0.0
    if answers.deep is not None:
        part = design.deep_part(max(1, round(design.queries * lists.n_universe)))
        asked += part * (answers.deep.is_asked.sum() - asked)
        votes += part * (answers.deep.n_votes.sum() - votes)
    found = positive & (answers.is_asked | lists.is_original)
    return asked * lists.scale, votes * lists.scale, found.sum() / max(1, positive.sum()), share


def _of_pairs(estimated: Floats, right: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return of each measure and pair of runs: variance of the difference, share not 0; both means."""
    pairs = list(combinations(range(estimated.shape[1]), 2))
    shape = (len(estimated), len(pairs))
    variance, differing, labelled, true = (np.zeros(shape) for _ in range(4))
    for place, (one, other) in enumerate(pairs):
        difference = estimated[:, one] - estimated[:, other]
        variance[:, place] = difference.var(axis=1, ddof=1)
        differing[:, place] = (difference != 0).mean(axis=1)
        labelled[:, place] = difference.mean(axis=1)
        true[:, place] = (right[:, one] - right[:, other]).mean(axis=1)
    return variance, differing, labelled, true


def _of_samples(residual: Floats) -> tuple[Floats, Floats]:
    """Return the variance of residuals by measure and run, and of their differences by pair of runs."""
    pairs = list(combinations(range(residual.shape[1]), 2))
    of_pairs = np.zeros((len(residual), len(pairs)))
    for place, (one, other) in enumerate(pairs):
        of_pairs[:, place] = (residual[:, one] - residual[:, other]).var(axis=1, ddof=1)
    return residual.var(axis=2, ddof=1), of_pairs


def _outcome(lists: Lists, design: Design, total: _Sums) -> Outcome:
    """Return a design's outcome over all queries of the universe from the sums over repetitions."""
    n_judged = max(2, round(design.queries * lists.n_universe))
    share = n_judged / lists.n_universe
    of_query = (total.squared - np.asarray(total.error) ** 2 / total.n) / max(1, total.n - 1)
    within = np.maximum(np.asarray(of_query), 0.0).mean(axis=2)
    variance, differing, labelled, true, between, of_sample, of_pairs = (
        np.mean([parts[place] for parts in total.parts], axis=0) for place in range(7)
    )
    bias = (np.asarray(total.error) / total.n).mean(axis=2)
    doubt = within / (total.n * lists.n_queries)  # of the simulated bias itself
    bias = np.sign(bias) * np.sqrt(np.maximum(bias**2 - doubt, 0.0))
    sampled = (1 - share) * np.maximum(between - within, 0.0) / n_judged
    part = design.deep_part(n_judged)
    n_deep, left_out = max(2.0, part * n_judged), 1 - part
    by_rates, of_pairs_by_rates = _by_rates(total)
    n_asked, n_votes, recall, share_positive = (float(x) for x in np.mean(total.counts, axis=0))
    return Outcome(
        design=design,
        estimates=total.estimates,
        n_asked=n_asked * share,
        n_votes=n_votes * share,
        n_queries=n_judged,
        recall=recall,
        share_positive=share_positive,
        bias=bias,
        noise=np.sqrt(within / n_judged + sampled + left_out * of_sample / n_deep + by_rates),
        spread=np.sqrt(variance + n_judged * (left_out * of_pairs / n_deep + of_pairs_by_rates)),
        differing=differing,
        kept=_kept(labelled, true),
    )


def _by_rates(total: _Sums) -> tuple[Floats, Floats]:
    """Return the variance that unsure rates add to estimates, by run and by pair of runs."""
    assert total.slopes is not None
    pairs = list(combinations(range(total.slopes.shape[1]), 2))
    between = np.zeros((len(total.slopes), len(pairs), 2))
    for place, (one, other) in enumerate(pairs):
        between[:, place] = total.slopes[:, one] - total.slopes[:, other]
    covariance = np.zeros((2, 2)) if total.covariance is None else total.covariance
    of_runs, of_pairs = (
        np.einsum("erx,xy,ery->er", each, covariance, each) for each in (total.slopes, between)
    )
    return np.asarray(of_runs), np.asarray(of_pairs)


def _kept(labelled: Floats, true: Floats) -> Floats:
    """Return how much of the true differences is left, by measure: a line through 0; nan without any."""
    squares = (true**2).sum(axis=1)
    shares = (labelled * true).sum(axis=1)
    kept: Floats = np.full(len(true), math.nan)
    np.divide(shares, squares, out=kept, where=squares > 0)
    return kept
