"""The order of rank-biased precision (Moffat, Webber & Zobel, SIGIR 2007, method A: weights summed)."""

from __future__ import annotations

import numpy as np

from fire_toolkit.errors import UsageError
from fire_toolkit.pooling.candidates import Budget, Candidates, Choice
from fire_toolkit.pooling.orders import best_by, sum_by_rank


def rbp(candidates: Candidates, budget: Budget, *, p: float = 0.95) -> Choice:
    """Pool the pairs of the highest sum of (1 − p) · p^(rank − 1) over the runs that brought them.

    Raises:
        UsageError: p outside (0, 1).
    """
    if not 0 < p < 1:
        raise UsageError(f"p is {p:g}, expected a number between 0 and 1")
    weights = (1 - p) * np.power(p, np.arange(candidates.depth, dtype=np.float64))
    return best_by(sum_by_rank(candidates, weights), candidates, budget)
