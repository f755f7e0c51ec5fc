"""The votes on the pairs that a gallery shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools, Ints
from fire_toolkit.gallery.pairs import CONFIRMED, NEW, Shown
from fire_toolkit.guidelines.model import Grades
from fire_toolkit.tables import Judgments, asked_judgments
from fire_toolkit.tables.columns import codes_in_order, pair_rows

_COLUMNS = ["pair", "who", "label", "flags", "comment"]


@dataclass(frozen=True, eq=False)
class Votes:
    """The votes on shown pairs.

    table: each vote, by pair, then in the order in which they were given: pair (its place), who (the number
    of the annotator, from 1), label, flags and comment, empty where there are none; n_for, n_against: how
    many of each pair are positive and negative.
    """

    table: pd.DataFrame
    n_for: Ints
    n_against: Ints

    @property
    def is_split(self) -> Bools:
        """Whether the votes on each pair differ."""
        return (self.n_for > 0) & (self.n_against > 0)


def votes_on(
    shown: Shown, judgments: Judgments | None, *, grades: Grades, numbers: Mapping[str, int]
) -> Votes:
    """Return the votes on shown pairs.

    Args:
        shown: the pairs.
        judgments: answers not asked of their annotator are left out; None: votes are not known one by one.
        grades: label → relevance, None where the label is not a vote.
        numbers: annotator → number in the gallery.

    Returns:
        `Votes`; without judgments none, with n_for and n_against by the labels.
    """
    if judgments is None:
        is_for = np.isin(shown.state, [NEW, CONFIRMED])
        agree, n_votes = (np.nan_to_num(each).astype(np.int64) for each in (shown.n_agree, shown.n_votes))
        other = np.maximum(n_votes - agree, 0)
        nothing = pd.DataFrame({name: [] for name in _COLUMNS})
        return Votes(nothing, np.where(is_for, agree, other), np.where(is_for, other, agree))
    asked = asked_judgments(judgments)
    who = asked["annotator_id"].map(numbers).astype("int64")
    table = asked.assign(pair=pair_rows(asked, shown.pairs), who=who)
    table = table.reindex(columns=[*_COLUMNS, "created_at"])[table["pair"] >= 0].fillna("")
    when = codes_in_order(table["created_at"].astype("str"))
    table = table.iloc[np.lexsort((table["who"], when, table["pair"]))]
    is_for = table["label"].map({label: grade >= 1 for label, grade in grades.items() if grade is not None})
    counts = [
        np.bincount(table["pair"][is_for.eq(side)], minlength=len(shown.query)) for side in (True, False)
    ]
    return Votes(table, *counts)
