"""The word of an adjudicator, or of the latest round."""

from __future__ import annotations

import numpy as np

from fire_toolkit.arrays import Ints
from fire_toolkit.errors import TableError, UsageError
from fire_toolkit.resolution.vote_table import Verdicts, VoteTable


def adjudicator(votes: VoteTable) -> Verdicts:
    """Return the label with more than half of the votes that count first; anything else is a dispute.

    On each pair these are the votes of adjudicators or, if none are named, of the latest round (the
    judgments' column `round`). Where no adjudicator voted, all votes count.
    """
    precedence = _precedence(votes)
    rows = votes.voting
    first = np.full(len(votes.pairs), np.iinfo(np.int64).min)
    np.maximum.at(first, votes.pair[rows], precedence[rows])
    rows = rows[precedence[rows] == first[votes.pair[rows]]]
    shape = votes.by_label.shape
    cells = np.bincount(votes.pair[rows] * shape[1] + votes.label[rows], minlength=shape[0] * shape[1])
    counts = cells.reshape(shape)
    is_decided = 2 * counts.max(axis=1, initial=0) > counts.sum(axis=1)
    return Verdicts(np.where(is_decided, counts.argmax(axis=1), -1))


def _precedence(votes: VoteTable) -> Ints:
    if votes.is_adjudicator.any():
        return votes.is_adjudicator.astype(np.int64)
    if "round" not in votes.judgments.columns:
        raise UsageError("rule adjudicator needs adjudicators, or judgments with a column round")
    rounds = votes.judgments["round"]
    if not len(rounds):
        return np.empty(0, dtype=np.int64)
    if rounds.dtype.kind not in "iu":
        raise TableError(f"judgments: round is of type {rounds.dtype}; expected whole numbers, none missing")
    return np.asarray(rounds, dtype=np.int64)
