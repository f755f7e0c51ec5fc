"""The votes on the pairs that a gallery shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools, Ints
from fire_toolkit.gallery.pairs import Shown
from fire_toolkit.guidelines.model import Grades
from fire_toolkit.tables import Judgments, asked_judgments
from fire_toolkit.tables.columns import codes_in_order


@dataclass(frozen=True, eq=False)
class Votes:
    """The votes on shown pairs, by pair, then in the order in which they were given.

    pair: the place of each vote's pair; who: the number of its annotator, from 1; label: in words; flags,
    comment: empty where there are none; side: 1 for a positive vote, 0 for a negative one, −1 for neither;
    n_for, n_against: of each pair.
    """

    pair: Ints
    who: Ints
    label: Sequence[str]
    flags: Sequence[str]
    comment: Sequence[str]
    side: Ints
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
        return _by_labels(shown)
    asked = asked_judgments(judgments)
    query = shown.queries.get_indexer(pd.Index(asked["query_id"]))
    doc = shown.docs.get_indexer(pd.Index(asked["doc_id"]))
    keys = np.where((query < 0) | (doc < 0), -1, query * np.int64(len(shown.docs)) + doc)
    place = np.minimum(np.searchsorted(shown.keys, keys), max(len(shown.keys) - 1, 0))
    is_shown = shown.keys[place] == keys if len(shown.keys) else np.zeros(len(keys), dtype=bool)
    table = asked[is_shown].assign(_pair=place[is_shown])
    when = codes_in_order(table["created_at"].fillna("").astype("str"))
    who = table["annotator_id"].map(numbers).to_numpy(dtype=np.int64)
    table = table.iloc[np.lexsort((who, when, table["_pair"]))]
    relevance = table["label"].map(
        {label: -1 if grade is None else int(grade >= 1) for label, grade in grades.items()}
    )
    side = relevance.fillna(-1).to_numpy(dtype=np.int64)
    pair = table["_pair"].to_numpy(dtype=np.int64)
    n = len(shown.keys)
    return Votes(
        pair=pair,
        who=table["annotator_id"].map(numbers).to_numpy(dtype=np.int64),
        label=table["label"].tolist(),
        flags=_texts(table, "flags"),
        comment=_texts(table, "comment"),
        side=side,
        n_for=np.bincount(pair[side == 1], minlength=n),
        n_against=np.bincount(pair[side == 0], minlength=n),
    )


def _texts(table: pd.DataFrame, name: str) -> list[str]:
    return table[name].fillna("").astype("str").tolist() if name in table else [""] * len(table)


def _by_labels(shown: Shown) -> Votes:
    """Return the numbers of votes for and against that the labels name, and no single vote."""
    nothing: Any = np.empty(0, dtype=np.int64)
    is_for = np.isin(shown.state, [2, 3])
    agree, other = np.maximum(shown.n_agree, 0), np.maximum(shown.n_votes - shown.n_agree, 0)
    n_for, n_against = np.where(is_for, agree, other), np.where(is_for, other, agree)
    return Votes(nothing, nothing, [], [], [], nothing, n_for, n_against)
