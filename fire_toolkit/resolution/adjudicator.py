"""The word of an adjudicator, or of the latest round."""

from __future__ import annotations

import numpy as np

from fire_toolkit.arrays import Ints
from fire_toolkit.errors import TableError, UsageError
from fire_toolkit.resolution.vote_table import Verdicts, VoteTable


def adjudicator(ballots: VoteTable) -> Verdicts:
    """Return the label with more than half of the votes that count first; anything else is a dispute.

    On each pair these are the votes of adjudicators or, if none are named, of the latest round (the
    judgments' column `round`). Where no adjudicator voted, all votes count.
    """
    precedence = _precedence(ballots)
    rows = ballots.voting
    first = np.full(len(ballots.pairs), np.iinfo(np.int64).min)
    np.maximum.at(first, ballots.pair[rows], precedence[rows])
    rows = rows[precedence[rows] == first[ballots.pair[rows]]]
    shape = ballots.votes.shape
    cells = np.bincount(ballots.pair[rows] * shape[1] + ballots.label[rows], minlength=shape[0] * shape[1])
    votes = cells.reshape(shape)
    return Verdicts(np.where(2 * votes.max(axis=1, initial=0) > votes.sum(axis=1), votes.argmax(axis=1), -1))


def _precedence(ballots: VoteTable) -> Ints:
    if ballots.is_adjudicator.any():
        return ballots.is_adjudicator.astype(np.int64)
    if "round" not in ballots.judgments.columns:
        raise UsageError("rule adjudicator needs adjudicators, or judgments with a column round")
    rounds = ballots.judgments["round"]
    if not len(rounds):
        return np.empty(0, dtype=np.int64)
    if rounds.dtype.kind not in "iu":
        raise TableError(f"judgments: round is of type {rounds.dtype}; expected whole numbers, none missing")
    return np.asarray(rounds, dtype=np.int64)
