"""Depth-K pooling: the union of the top K of every run (Spärck Jones & van Rijsbergen 1975; FIRE §3)."""

from __future__ import annotations

import numpy as np

from fire_toolkit.pooling.candidates import Budget, Candidates, Choice
from fire_toolkit.pooling.orders import best_by


def depth(candidates: Candidates, budget: Budget) -> Choice:
    """Pool all that is in the top of any run; with a budget, by the best rank over the runs."""
    if budget == Budget():
        return Choice(np.arange(len(candidates.starts)))
    return best_by(-candidates.best_rank, candidates, budget)
