"""The word of an adjudicator, or of the latest round."""

from __future__ import annotations

import numpy as np

from fire_toolkit.arrays import Ints
from fire_toolkit.errors import TableError, UsageError
from fire_toolkit.resolution.votes import Verdicts, Votes


def adjudicator(votes: Votes) -> Verdicts:
    """Return the label with more than half of the votes that count first; anything else is a dispute.

    On each pair these are the votes of adjudicators or, if none are named, of the latest round (the
    judgments' column `round`). Where no adjudicator voted, all votes count.
    """
    rows, precedence = votes.voting, _precedence(votes)
    first = np.full(len(votes.pairs), np.iinfo(np.int64).min)
    np.maximum.at(first, votes.pair[rows], precedence[rows])
    counts = votes.count(rows[precedence[rows] == first[votes.pair[rows]]])
    is_decided = 2 * counts.max(axis=1, initial=0) > counts.sum(axis=1)
    return Verdicts(np.where(is_decided, counts.argmax(axis=1), -1))


def _precedence(votes: Votes) -> Ints:
    if votes.is_adjudicator.any():
        return votes.is_adjudicator.astype(np.int64)
    if votes.round is None:
        raise UsageError("rule adjudicator needs adjudicators, or judgments with a column round")
    if len(votes.round) and votes.round.dtype.kind not in "iu":
        raise TableError(
            f"judgments: round is of type {votes.round.dtype}; expected whole numbers, none missing"
        )
    return np.asarray(votes.round, dtype=np.int64)
