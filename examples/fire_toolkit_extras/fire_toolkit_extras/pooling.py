"""A pool for a small budget: what several runs agree on."""

import numpy as np

from fire_toolkit.errors import UsageError
from fire_toolkit.pooling.candidates import Budget, Candidates, Choice, Strategy


def choose(candidates: Candidates, budget: Budget, *, runs: int = 2) -> Choice:
    """Return the pairs in the top of so many runs."""
    if budget != Budget():
        raise UsageError("takes no budget: it pools what the runs agree on")
    is_shared = candidates.n_runs >= runs
    return Choice(np.flatnonzero(is_shared), {"runs_wanted": np.full(is_shared.sum(), runs)})


TWICE = Strategy(choose)
