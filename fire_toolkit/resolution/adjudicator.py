"""The word of an adjudicator, or of the latest round."""

from __future__ import annotations

import numpy as np

from fire_toolkit.errors import TableError, UsageError
from fire_toolkit.resolution.votes import Verdicts, Votes


def adjudicator(votes: Votes) -> Verdicts:
    """Return the label with more than half of the votes that count first; anything else is a dispute.

    On each pair these are the votes of adjudicators or, if none are named, of the latest round (the
    judgments' column `round`). Where no adjudicator voted, all votes count.
    """
    place = votes.is_adjudicator.astype(np.int64)
    if not place.any():
        if votes.round is None:
            raise UsageError("rule adjudicator needs adjudicators, or judgments with a column round")
        if len(votes.round) and votes.round.dtype.kind not in "iu":
            found = f"round is of type {votes.round.dtype}"
            raise TableError(f"judgments: {found}; expected whole numbers, none missing")
        place = votes.round.to_numpy(dtype=np.int64)
    rows = votes.voting
    highest = np.full(len(votes.pairs), np.iinfo(np.int64).min)
    np.maximum.at(highest, votes.pair[rows], place[rows])
    counts = votes.count(rows[place[rows] == highest[votes.pair[rows]]])
    is_decided = 2 * counts.max(axis=1, initial=0) > counts.sum(axis=1)
    return Verdicts(np.where(is_decided, counts.argmax(axis=1), -1))
