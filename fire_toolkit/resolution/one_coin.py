"""The one-coin model: each annotator is right with one probability, whatever the true label."""

from __future__ import annotations

import numpy as np

from fire_toolkit.arrays import Floats
from fire_toolkit.resolution.dawid_skene import decide_by_model
from fire_toolkit.resolution.vote_table import Verdicts, VoteTable


def one_coin(votes: VoteTable) -> Verdicts:
    """Return the most probable label where each annotator has one accuracy; a tie is a dispute.

    Dawid and Skene's model with one number for each annotator: the wrong labels share the rest evenly. It
    asks less of few votes than full confusion matrices, and does badly where one label is rare and
    annotators miss it more often than they see it. Controls and tied votes as in `dawid_skene`.
    """
    return decide_by_model(votes, one_accuracy)


def one_accuracy(votes: Floats) -> Floats:
    """Return confusion matrices with one accuracy for each annotator, from expected votes."""
    n_labels = votes.shape[1]
    total = votes.sum(axis=(1, 2))
    right = np.trace(votes, axis1=1, axis2=2) / np.where(total > 0, total, 1)
    wrong = (1 - right) / max(n_labels - 1, 1)
    return np.where(np.eye(n_labels, dtype=np.bool_), right[:, None, None], wrong[:, None, None])
