"""The label that all votes are for."""

from __future__ import annotations

import numpy as np

from fire_toolkit.resolution.votes import Verdicts, Votes


def unanimous(votes: Votes) -> Verdicts:
    """Return the label that has all votes (one vote stands); any disagreement is a dispute."""
    best = votes.by_label.argmax(axis=1)
    n_best = votes.by_label.max(axis=1, initial=0)
    return Verdicts(np.where((n_best == votes.n_votes) & (n_best > 0), best, -1))
