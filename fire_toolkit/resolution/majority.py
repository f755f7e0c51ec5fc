"""The label with the most votes."""

from __future__ import annotations

import numpy as np

from fire_toolkit.resolution.vote_table import Verdicts, VoteTable


def majority(ballots: VoteTable) -> Verdicts:
    """Return the label with the most votes, be they half of them or fewer; a tie is a dispute."""
    n_best = ballots.votes.max(axis=1, initial=0)
    is_alone = (ballots.votes == n_best[:, None]).sum(axis=1) == 1
    return Verdicts(np.where(is_alone & (n_best > 0), ballots.votes.argmax(axis=1), -1))
