"""Rules that count votes: the FIRE paper's, the most votes, all votes, and the word of an adjudicator."""

import numpy as np

from fire_toolkit.arrays import Bools, Ints
from fire_toolkit.errors import TableError, UsageError
from fire_toolkit.resolution.votes import Verdicts, Votes


def fire(votes: Votes) -> Verdicts:
    """Return the label with more than half of the votes; one vote stands; anything else is a dispute."""
    return _most_voted(votes.by_label, 2 * votes.by_label.max(axis=1, initial=0) > votes.n_votes)


def majority(votes: Votes) -> Verdicts:
    """Return the label with the most votes, be they half of them or fewer; a tie is a dispute."""
    return _most_voted(votes.by_label, ~are_tied(votes.by_label) & (votes.n_votes > 0))


def unanimous(votes: Votes) -> Verdicts:
    """Return the label that has all votes (one vote stands); any disagreement is a dispute."""
    n_best = votes.by_label.max(axis=1, initial=0)
    return _most_voted(votes.by_label, (n_best == votes.n_votes) & (n_best > 0))


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
    return _most_voted(counts, 2 * counts.max(axis=1, initial=0) > counts.sum(axis=1))


def dispute_all(votes: Votes) -> Verdicts:
    """Return no label for any pair, as where no label of the guideline is a vote."""
    return Verdicts(np.full(len(votes.pairs), -1, dtype=np.int64))


def are_tied(votes: Ints) -> Bools:
    """Return for each pair whether several labels have the most votes; votes: pairs × labels."""
    n_best = votes.max(axis=1, initial=0)
    return np.asarray((votes == n_best[:, None]).sum(axis=1) > 1)


def _most_voted(votes: Ints, is_decided: Bools) -> Verdicts:
    """Return the label with the most votes of each pair that is decided; the others are in dispute."""
    return Verdicts(np.where(is_decided, votes.argmax(axis=1), -1))
