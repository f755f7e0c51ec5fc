"""How often a rule's labels are right on pairs whose label is known, beside a majority's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd

from fire_toolkit.arrays import are_among
from fire_toolkit.resolution.majority import majority
from fire_toolkit.resolution.votes import Grades, Verdicts, Votes
from fire_toolkit.tables.columns import PAIR

FOLDS = 5


def accuracy_on_controls(votes: Votes, decide: Callable[[Votes], Verdicts]) -> dict[str, int] | None:
    """Return how often a rule and a majority are right on controls; None with fewer than two of them.

    Some rules learn from controls, and all would be right on what they have been told. So the controls are
    taken in five parts (every fifth pair; each one alone where there are fewer), and the labels of a part
    are those that the rule gives without knowing it.

    Returns:
        n_controls (those that somebody voted on), n_labelled and n_right (of the rule), majority_labelled and
        majority_right.
    """
    controls = np.flatnonzero((votes.truth >= 0) & (votes.n_votes > 0))
    if len(controls) < 2:
        return None
    found = np.full(len(votes.pairs), -1, dtype=np.int64)
    for fold in range(min(FOLDS, len(controls))):
        hidden = controls[fold::FOLDS]
        truth = np.where(are_among(hidden, len(found)), -1, votes.truth)
        found[hidden] = decide(replace(votes, truth=truth)).label[hidden]
    counts = {"n_controls": len(controls)}
    for whose, label in (("n", found[controls]), ("majority", majority(votes).label[controls])):
        counts[f"{whose}_labelled"] = int((label >= 0).sum())
        counts[f"{whose}_right"] = int((label == votes.truth[controls]).sum())
    return counts


def answers_to_controls(
    dropped: pd.DataFrame | None, controls: pd.DataFrame | None, grades: Grades
) -> pd.DataFrame:
    """Return the answers to controls among those that are no votes: they say how well annotators judge."""
    if dropped is None or controls is None:
        return pd.DataFrame()
    answers = dropped[(dropped["reason"] == "control") & dropped["label"].isin(list(grades))]
    return answers.drop(columns="reason").merge(controls[PAIR])
