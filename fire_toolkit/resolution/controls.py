"""How often a rule's labels are right on pairs whose label is known, beside a majority's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fire_toolkit.arrays import Ints
from fire_toolkit.resolution.majority import majority
from fire_toolkit.resolution.vote_table import Verdicts, VoteTable

FOLDS = 5


@dataclass(frozen=True)
class ControlAccuracy:
    """Labels on controls that somebody voted on: how many there are, of these labelled, of these right.

    n_labelled, n_right: of the rule; majority_labelled, majority_right: of a plain majority.
    """

    n_controls: int
    n_labelled: int
    n_right: int
    majority_labelled: int
    majority_right: int


def accuracy_on_controls(votes: VoteTable, decide: Callable[[VoteTable], Verdicts]) -> ControlAccuracy | None:
    """Return how often a rule and a majority are right on controls; None with fewer than two of them.

    Some rules learn from controls, and all would be right on what they have been told. So the controls are
    taken in five parts (every fifth pair; each one alone where there are fewer), and the labels of a part
    are those that the rule gives without knowing it.
    """
    controls = np.flatnonzero((votes.truth >= 0) & (votes.n_votes > 0))
    if len(controls) < 2:
        return None
    found = np.full(len(votes.pairs), -1, dtype=np.int64)
    for fold in range(min(FOLDS, len(controls))):
        hidden = controls[fold::FOLDS]
        truth = votes.truth.copy()
        truth[hidden] = -1
        found[hidden] = decide(replace(votes, truth=truth)).label[hidden]
    truth = votes.truth[controls]
    counts = [_labelled_and_right(label[controls], truth) for label in (found, majority(votes).label)]
    return ControlAccuracy(len(controls), *counts[0], *counts[1])


def _labelled_and_right(label: Ints, truth: Ints) -> tuple[int, int]:
    return int((label >= 0).sum()), int((label == truth).sum())
