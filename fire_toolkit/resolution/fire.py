"""The rule of the FIRE paper."""

from __future__ import annotations

import numpy as np

from fire_toolkit.resolution.votes import Verdicts, Votes


def fire(votes: Votes) -> Verdicts:
    """Return the label with more than half of the votes; one vote stands; anything else is a dispute."""
    best = votes.by_label.argmax(axis=1)
    n_best = votes.by_label.max(axis=1, initial=0)
    return Verdicts(np.where(2 * n_best > votes.n_votes, best, -1))
