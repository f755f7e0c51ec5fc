"""How far a pilot leaves open what it predicts: the errors that other models, as likely, would expect."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from fire_toolkit.inference.student import t_quantile
from fire_toolkit.measures import Measure
from fire_toolkit.planning.designs import Design
from fire_toolkit.planning.lists import Lists
from fire_toolkit.planning.relevance import RelevanceModel
from fire_toolkit.planning.simulate import Outcome, simulate

REPEATS = 2  # of each other model


def n_simulations(model: RelevanceModel, n_repeats: int) -> int:
    """Return how often a design is simulated: by the model, and by its others."""
    return n_repeats + REPEATS * len(model.others)


def with_doubt(
    outcomes: Sequence[Outcome],
    lists: Lists,
    designs: Sequence[Design],
    measures: Sequence[Measure],
    model: RelevanceModel,
    *,
    seed: int,
    tell: Callable[[int], None] = lambda n: None,
) -> list[Outcome]:
    """Return the outcomes with the factor by which each error may be off; as they are without other models.

    The logarithms of the errors that the models expect are taken as normal; all see the same draws.
    """
    others = [
        simulate(lists, designs, measures, other, n_repeats=REPEATS, seed=seed, tell=tell)
        for other in model.others
    ]
    return [
        replace(outcome, factors=_factors(outcome, [each[place] for each in others]))
        for place, outcome in enumerate(outcomes)
    ]


def _factors(outcome: Outcome, others: Sequence[Outcome]) -> tuple[float, ...]:
    """Return for each estimate the factor of a 95% interval; nan where fewer than three others have it."""
    found = []
    for estimate in outcome.estimates:
        having = [other for other in others if estimate in other.estimates]
        errors = np.array([other.root_mean_square[other.estimates.index(estimate)] for other in having])
        if len(errors) < 3 or not (errors > 0).all():
            found.append(math.nan)
            continue
        off = t_quantile(0.975, len(errors) - 1) * float(np.log(errors).std(ddof=1))
        found.append(math.exp(off))
    return tuple(found)
