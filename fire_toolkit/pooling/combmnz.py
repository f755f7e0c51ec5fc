"""CombMNZ (Fox & Shaw, TREC-2, 1994), with the scores of each run and query normalised (Lee, SIGIR 1997)."""

from __future__ import annotations

import numpy as np

from fire_toolkit.arrays import Floats
from fire_toolkit.pooling.candidates import Budget, Candidates, Choice
from fire_toolkit.pooling.orders import best_by

_UNITS = 2.0**40  # of a normalised score: sums of whole numbers are the same in any order


def combmnz(candidates: Candidates, budget: Budget) -> Choice:
    """Pool the pairs of the highest sum of normalised scores times the number of runs that brought them.

    Scores are normalised min–max over what is read of each list, its top `depth`: the first doc has 1, the
    last 0. In a list whose scores are all equal each doc has 1.
    """
    units = np.rint(_normalised(candidates) * _UNITS).astype(np.int64)
    total = np.add.reduceat(units, candidates.starts) if len(units) else units
    return best_by(total * candidates.n_runs, candidates, budget)


def _normalised(candidates: Candidates) -> Floats:
    """Return the score of each entry between the lowest and the highest of its list."""
    lists = candidates.entry_query.astype(np.int64) * len(candidates.run_ids) + candidates.run
    half = candidates.score / 2  # the range of any two finite scores is then finite too
    low = np.full(len(candidates.query_ids) * len(candidates.run_ids), np.inf)
    high = -low
    np.minimum.at(low, lists, half)
    np.maximum.at(high, lists, half)
    width = (high - low)[lists]
    share = np.ones(len(half))
    np.divide(half - low[lists], width, out=share, where=width > 0)
    return share
