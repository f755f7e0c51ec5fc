"""Reciprocal rank fusion (Cormack, Clarke & Büttcher, SIGIR 2009)."""

from __future__ import annotations

from fire_toolkit.errors import UsageError
from fire_toolkit.pooling.candidates import Budget, Candidates, Choice
from fire_toolkit.pooling.orders import best_by, fused_ranks
from fire_toolkit.tables.design import RRF


def rrf(candidates: Candidates, budget: Budget, *, k: int = RRF) -> Choice:
    """Pool the pairs of the highest sum of 1 / (k + rank) over the runs that brought them.

    Raises:
        UsageError: k below 0.
    """
    if k < 0:
        raise UsageError(f"k is {k}, expected 0 or more")
    return best_by(fused_ranks(candidates, k), candidates, budget)
