"""The rule of the FIRE paper."""

from __future__ import annotations

import numpy as np

from fire_toolkit.resolution.vote_table import Verdicts, VoteTable


def fire(ballots: VoteTable) -> Verdicts:
    """Return the label with more than half of the votes; one vote stands; anything else is a dispute."""
    best = ballots.votes.argmax(axis=1)
    n_best = ballots.votes.max(axis=1, initial=0)
    return Verdicts(np.where(2 * n_best > ballots.n_votes, best, -1))
