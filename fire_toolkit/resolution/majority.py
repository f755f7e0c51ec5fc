"""The label with the most votes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fire_toolkit.arrays import Ints
from fire_toolkit.resolution.votes import Verdicts, Votes


def majority(votes: Votes) -> Verdicts:
    """Return the label with the most votes, be they half of them or fewer; a tie is a dispute."""
    is_decided = ~are_tied(votes.by_label) & (votes.n_votes > 0)
    return Verdicts(np.where(is_decided, votes.by_label.argmax(axis=1), -1))


def are_tied(votes: Ints) -> npt.NDArray[np.bool_]:
    """Return for each pair whether several labels have the most votes; votes: pairs × labels."""
    n_best = votes.max(axis=1, initial=0)
    return np.asarray((votes == n_best[:, None]).sum(axis=1) > 1)
