"""C@k and P@k corrected for the errors of votes, in simulation: their values, and what unsure rates add."""

from __future__ import annotations

import numpy as np

from fire_toolkit.arrays import Bools, Floats, Ints, starts_of_groups, sum_by_query
from fire_toolkit.inference.corrected import why_uncorrected
from fire_toolkit.inference.label_errors import (
    VoteCounts,
    class_rate,
    error_rates,
    estimated_relevance,
)
from fire_toolkit.measures import Measure
from fire_toolkit.planning.answers import Answers
from fire_toolkit.planning.designs import Design
from fire_toolkit.planning.lists import Lists
from fire_toolkit.tables.design import CLASSES, DOUBLED, VERIFY

_DRAWS, _STEP = 400, 1e-3
_LEAST_VALID = 0.95  # of the draws of rates


def correctable(measure: Measure, design: Design) -> bool:
    """Return whether `score` corrects a measure on this design: C@k and P@k within the pool, not settled."""
    k = measure.depth
    if k is None or why_uncorrected(measure):
        return False
    return not design.settles and k <= design.reach


def corrected_values(
    lists: Lists, answers: Answers, measures: list[Measure], rates: tuple[float, float]
) -> Floats:
    """Return each measure's corrected value, (n_measures, n_runs, n_queries); see `inference.corrected`."""
    relevance = np.zeros(len(lists.query))
    for place, name in enumerate(CLASSES):
        own = answers.design_class == place
        relevance[own] = estimated_relevance(
            answers.is_positive[own], *(class_rate(rate, name) for rate in rates)
        )
    relevance[lists.is_original] = 1.0
    values = np.zeros((len(measures), len(lists.run_ids), lists.n_queries))
    for run, (pair, rank) in enumerate(lists.entries):
        for place, measure in enumerate(measures):
            assert measure.depth is not None
            top = pair[rank <= measure.depth]
            query = lists.query[top]
            if measure.definition.is_precision:
                values[place, run] = sum_by_query(query, relevance[top], lists.n_queries) / measure.depth
            elif len(top):
                starts = starts_of_groups(query)
                values[place, run, query[starts]] = 1 - np.multiply.reduceat(1 - relevance[top], starts)
    return values


def slopes_by_rates(
    lists: Lists, answers: Answers, measures: list[Measure], rates: tuple[float, float]
) -> Floats:
    """Return how each measure's mean moves with t and with f, (n_measures, n_runs, 2)."""
    slopes = []
    for place in range(2):
        ends = []
        for step in (_STEP, -_STEP):
            moved = list(rates)
            moved[place] += step
            ends.append(corrected_values(lists, answers, measures, (moved[0], moved[1])).mean(axis=2))
        slopes.append((ends[0] - ends[1]) / (2 * _STEP))
    return np.stack(slopes, axis=2)


def rate_covariance(
    answers: Answers, positive: Bools, rates: tuple[float, float], scale: float
) -> Floats | None:
    """Return the covariance of t and f as they will be estimated; None where they will be refused.

    From the doubled pairs, or where there are more of them, those of the verify class.

    Args:
        answers: which pairs are of which class.
        positive: which pairs are positives.
        rates: of a vote.
        scale: how many pairs each of these stands for.
    """
    n_each: Ints = np.array([(answers.design_class == place).sum() for place in range(len(CLASSES))])
    name = DOUBLED if n_each[CLASSES.index(DOUBLED)] >= n_each[CLASSES.index(VERIFY)] else VERIFY
    own = answers.design_class == CLASSES.index(name)
    n = round(float(own.sum()) * scale)
    if n < 2:
        return None
    share = float(positive[own].mean())
    t, f = rates
    chances = share * _patterns(t) + (1 - share) * _patterns(f)
    drawn = np.random.default_rng(0).multinomial(n, chances, size=_DRAWS).astype(np.float64)
    n111, n110, n101, n100, n011, n010 = drawn.T[:6]
    both = n111 + n110
    if name == DOUBLED:
        counts = VoteCounts.of_doubled(n, both, n101 + n100 + n011 + n010, n101 + n011)
    else:
        counts = VoteCounts(np.asarray(n), both + n101 + n100, both, n101)
    found = error_rates(counts)
    is_valid = ~np.isnan(found.t)
    if is_valid.mean() < _LEAST_VALID:
        return None
    return np.asarray(np.cov(np.stack([found.t[is_valid], found.f[is_valid]])))


def _patterns(rate: float) -> Floats:
    """Return the chances of three votes: 111, 110, 101, 100, 011, 010, 001, 000."""
    bits = [(a, b, c) for a in (1, 0) for b in (1, 0) for c in (1, 0)]
    return np.array([np.prod([rate if bit else 1 - rate for bit in each]) for each in bits])
