"""Judgments as integer codes: what every statistic of agreement counts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from fire_toolkit.arrays import Floats, Ints, are_among
from fire_toolkit.errors import TableError, UsageError
from fire_toolkit.guidelines.grades import refuse_unknown_labels, usual_grades
from fire_toolkit.guidelines.model import fitting_level
from fire_toolkit.tables import Judgments
from fire_toolkit.tables.columns import code_pairs, distinct_codes

Grades = Mapping[str, float | None]

Level = Literal["nominal", "ordinal", "interval", "ratio"]

LEVELS: tuple[Level, ...] = get_args(Level)


@dataclass(frozen=True)
class Votes:
    """Answers as codes: `unit` is the pair, `value` the label, −1 for an answer that is not a vote.

    labels: the label of each value code, in the guideline's order; grades: their grades, nan where
    there is none. A pair is pairable when it has two votes or more. inclusion: for each answer the
    probability with which its pair was chosen for a second judgment; cluster: the code of what its pair
    belongs to. Both are None where nothing is known of them.
    """

    unit: Ints
    value: Ints
    annotator: Ints
    labels: tuple[str, ...]
    grades: Floats
    inclusion: Floats | None = None
    cluster: Ints | None = None

    @cached_property
    def _counted(self) -> tuple[Ints, Ints]:
        voted = self.value >= 0
        units, row = distinct_codes(self.unit[voted])
        cells = row * len(self.labels) + self.value[voted]
        counts = np.bincount(cells, minlength=len(units) * len(self.labels))
        counts = counts.astype(np.int64).reshape(len(units), len(self.labels))
        return units, counts

    @property
    def units(self) -> Ints:
        """Codes of the pairs with at least one vote, ascending."""
        return self._counted[0]

    @property
    def all_counts(self) -> Ints:
        """Votes for each label on each pair with a vote: units × labels, int64."""
        return self._counted[1]

    @cached_property
    def is_pairable(self) -> npt.NDArray[np.bool_]:
        """For each of `units`, whether it has two votes or more."""
        return np.asarray(self.all_counts.sum(axis=1) >= 2)

    @cached_property
    def counts(self) -> Ints:
        """Votes for each label on each pairable pair: pairable × labels, int64."""
        return np.asarray(self.all_counts[self.is_pairable])

    @cached_property
    def weights(self) -> Floats:
        """Weight of each of `units`: inverse inclusion probability, of mean 1 over pairable pairs; else 1."""
        weights = np.ones(len(self.units))
        if self.inclusion is not None and self.is_pairable.any():
            inverse = 1 / self.inclusion[self._first_rows[self.is_pairable]]
            weights[self.is_pairable] = inverse / inverse.mean()
        return weights

    @property
    def clusters(self) -> Ints | None:
        """Cluster code of each of `units`."""
        return None if self.cluster is None else np.asarray(self.cluster[self._first_rows])

    @cached_property
    def _first_rows(self) -> Ints:
        return first_rows(self.unit)[self.units]

    @property
    def n_annotators(self) -> int:
        """How many annotators cast a vote."""
        return int((np.bincount(self.annotator[self.value >= 0]) > 0).sum())

    @property
    def n_without_vote(self) -> int:
        """How many answers are not votes."""
        return int((self.value < 0).sum())

    def select(self, rows: npt.NDArray[Any]) -> Votes:
        """Return the answers at `rows` (a mask or row numbers), under the same codes."""
        return replace(
            self,
            unit=self.unit[rows],
            value=self.value[rows],
            annotator=self.annotator[rows],
            inclusion=None if self.inclusion is None else self.inclusion[rows],
            cluster=None if self.cluster is None else self.cluster[rows],
        )

    def on_pairs_of(self, rows: npt.NDArray[np.bool_]) -> Votes:
        """Return all answers on the pairs on which one of `rows` is a vote."""
        own = self.unit[rows & (self.value >= 0)]
        return self.select(are_among(own, self.unit.max(initial=-1) + 1)[self.unit])


def code_votes(
    judgments: Judgments,
    *,
    grades: Grades | None = None,
    level: str = "nominal",
    inclusion: str | None = None,
    cluster: str | None = None,
) -> Votes:
    """Return `judgments` as Votes, in the same row order; check that labels, level and columns fit.

    Args:
        judgments, grades, level: as in `agreement`.
        inclusion, cluster: columns of `judgments`, constant within a pair.

    Raises:
        UsageError: an unknown level; a level other than nominal and a label without a grade; a grade
            that is not finite; a negative grade at the ratio level; a column that is not there.
        TableError: a label that `grades` does not hold; an inclusion probability out of (0, 1] on a
            pairable pair; one that, like a cluster, differs within a pair.
    """
    for column in (inclusion, cluster):
        if column is not None and column not in judgments.columns:
            raise UsageError(f"judgments have no column {column!r}; found {', '.join(judgments.columns)}")
    if level not in LEVELS:
        raise UsageError(f"level of measurement {level!r} is unknown; expected one of {', '.join(LEVELS)}")
    codes, found = pd.factorize(judgments["label"])
    grades = usual_grades(found) if grades is None else grades
    known = _no_grades(list(found), level) if grades is None else _given_grades(list(found), grades)
    _check_grades(known, level)
    labels = tuple(label for label, grade in known.items() if grade is not None)
    place = {label: code for code, label in enumerate(labels)}
    value = np.array([place.get(label, -1) for label in found], dtype=np.int64)[codes]
    numbers = np.array([known[label] for label in labels], dtype=np.float64)
    annotator = np.asarray(pd.factorize(judgments["annotator_id"])[0], dtype=np.int64)
    votes = Votes(code_pairs(judgments)[0], value, annotator, labels, numbers)
    if cluster is not None:
        votes = replace(votes, cluster=_of_pairs(judgments, votes, cluster))
    if inclusion is not None:
        _of_pairs(judgments, votes, inclusion)
        chance = pd.to_numeric(judgments[inclusion], errors="coerce").to_numpy(dtype=np.float64)
        votes = replace(votes, inclusion=chance)
        _check_inclusion(votes, inclusion)
    return votes


def level_for(grades: Grades | None, level: str | None) -> str:
    """Return the level of measurement given, else the one that fits the grades given."""
    return fitting_level(grades or {}) if level is None else level


def first_rows(codes: Ints) -> Ints:
    """Return the first row with each code from 0 on; a code that no row has gets any."""
    first = np.zeros(int(codes.max(initial=-1)) + 1, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return first


def _of_pairs(judgments: Judgments, votes: Votes, column: str) -> Ints:
    """Return the code of `column`'s value for each answer, after a look that it is one for each pair."""
    codes = np.asarray(pd.factorize(judgments[column], use_na_sentinel=False)[0], dtype=np.int64)
    first = first_rows(votes.unit)
    varied = np.flatnonzero(codes != codes[first[votes.unit]])
    if len(varied):
        row = int(first[votes.unit[varied[0]]])
        pair = f"{judgments['query_id'].iloc[row]} {judgments['doc_id'].iloc[row]}"
        raise TableError(
            f"judgments: {column} differs within {len(np.unique(votes.unit[varied]))} pairs ({pair}); "
            "expected one value for each pair"
        )
    return codes


def _check_inclusion(votes: Votes, column: str) -> None:
    assert votes.inclusion is not None
    chance = votes.inclusion[votes._first_rows[votes.is_pairable]]
    bad = ~((chance > 0) & (chance <= 1))
    if bad.any():
        raise TableError(
            f"judgments: {column} is {chance[bad][0]} ({int(bad.sum())} of {len(chance)} pairs with two "
            "judgments); expected a probability above 0 and at most 1"
        )


def _given_grades(found: list[str], grades: Grades) -> dict[str, float | None]:
    refuse_unknown_labels(found, grades, "judgments")
    return dict(grades)


def _no_grades(found: list[str], level: str) -> dict[str, float | None]:
    """Return each label, by code point, without a grade."""
    if level != "nominal":
        bad = [label for label in sorted(found) if not label.lstrip("+-").replace(".", "", 1).isdecimal()]
        raise UsageError(
            f"level {level} needs a grade for every label; label {bad[0]!r} is not a number and has no grade "
            "(give grades, or use level nominal)"
        )
    return dict.fromkeys(sorted(found), math.nan)


def _check_grades(grades: Mapping[str, float | None], level: str) -> None:
    for label, grade in grades.items():
        if grade is None or level == "nominal":
            continue
        if not math.isfinite(grade):
            raise UsageError(f"grade of label {label!r} is {grade}; level {level} needs a finite number")
        if level == "ratio" and grade < 0:
            raise UsageError(
                f"grade of label {label!r} is {grade:g}; level ratio needs grades of 0 or more (use interval)"
            )
