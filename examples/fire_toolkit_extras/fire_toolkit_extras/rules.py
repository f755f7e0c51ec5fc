"""A rule for finding candidates: one annotator is enough."""

import numpy as np

from fire_toolkit.resolution.votes import Verdicts, Votes


def lenient(votes: Votes) -> Verdicts:
    """Return the label of the highest grade that anybody gave; a pair without a vote is a dispute."""
    order = np.argsort(votes.relevance, kind="stable")
    is_given = votes.by_label[:, order] > 0
    highest = is_given.shape[1] - 1 - is_given[:, ::-1].argmax(axis=1)
    return Verdicts(np.where(is_given.any(axis=1), order[highest], -1))
