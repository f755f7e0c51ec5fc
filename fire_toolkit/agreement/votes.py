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

from fire_toolkit.errors import TableError, UsageError
from fire_toolkit.tables import Judgments

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Grades = Mapping[str, float | None]

Level = Literal["nominal", "ordinal", "interval", "ratio"]

LEVELS: tuple[Level, ...] = get_args(Level)


@dataclass(frozen=True)
class Votes:
    """Answers as codes: `unit` is the pair, `value` the label, −1 for an answer that is no vote.

    labels: the label of each value code, in the guideline's order; grades: their grades, nan where
    there is none. A pair is pairable when it has two votes or more.
    """

    unit: Ints
    value: Ints
    annotator: Ints
    labels: tuple[str, ...]
    grades: Floats

    @cached_property
    def _counted(self) -> tuple[Ints, Ints]:
        voted = self.value >= 0
        units, row = np.unique(self.unit[voted], return_inverse=True)
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

    @property
    def n_annotators(self) -> int:
        """How many annotators cast a vote."""
        return len(np.unique(self.annotator[self.value >= 0]))

    @property
    def n_without_vote(self) -> int:
        """How many answers are no vote."""
        return int((self.value < 0).sum())

    def select(self, rows: npt.NDArray[Any]) -> Votes:
        """Return the answers at `rows` (a mask or row numbers), under the same codes."""
        return replace(self, unit=self.unit[rows], value=self.value[rows], annotator=self.annotator[rows])

    def of_annotator(self, annotator: int) -> Votes:
        """Return all answers on the pairs that `annotator` voted on."""
        has_voted = np.zeros(self.unit.max(initial=-1) + 1, dtype=np.bool_)
        has_voted[self.unit[(self.annotator == annotator) & (self.value >= 0)]] = True
        return self.select(has_voted[self.unit])


def code_votes(judgments: Judgments, *, grades: Grades | None = None, level: str = "nominal") -> Votes:
    """Return `judgments` as Votes, in the same row order; check that labels and level fit.

    Raises:
        UsageError: an unknown level; a level other than nominal and a label without a grade; a grade
            that is not finite; a negative grade at the ratio level.
        TableError: a label that `grades` does not hold.
    """
    if level not in LEVELS:
        raise UsageError(f"level of measurement {level!r} is unknown; expected one of {', '.join(LEVELS)}")
    codes, found = pd.factorize(judgments["label"])
    known = _own_grades(list(found), level) if grades is None else _given_grades(list(found), grades)
    _check_grades(known, level)
    labels = tuple(label for label, grade in known.items() if grade is not None)
    place = {label: code for code, label in enumerate(labels)}
    value = np.array([place.get(label, -1) for label in found], dtype=np.int64)[codes]
    numbers = np.array([known[label] for label in labels], dtype=np.float64)
    annotator = np.asarray(pd.factorize(judgments["annotator_id"])[0], dtype=np.int64)
    return Votes(unit_codes(judgments), value, annotator, labels, numbers)


def unit_codes(judgments: pd.DataFrame) -> Ints:
    """Return 0, 1, ... for each row, the same for rows of the same query_id and doc_id."""
    query, _ = pd.factorize(judgments["query_id"])
    doc, docs = pd.factorize(judgments["doc_id"])
    return np.asarray(pd.factorize(query.astype(np.int64) * len(docs) + doc)[0], dtype=np.int64)


def _given_grades(found: list[str], grades: Grades) -> dict[str, float | None]:
    unknown = sorted(set(found) - set(grades))
    if unknown:
        raise TableError(
            f"judgments: label {', '.join(map(repr, unknown[:3]))} is not in the guideline "
            f"({len(unknown)} unknown labels); expected one of {', '.join(map(repr, grades))}"
        )
    return dict(grades)


def _own_grades(found: list[str], level: str) -> dict[str, float | None]:
    """Return each label with the number it spells, ascending; with nan, by code point, if any spells none."""
    numbers = {label: _number(label) for label in sorted(found)}
    bad = [label for label, number in numbers.items() if math.isnan(number)]
    if not bad:
        return {label: numbers[label] for label in sorted(numbers, key=numbers.__getitem__)}
    if level != "nominal":
        raise UsageError(
            f"level {level} needs a grade for every label; label {bad[0]!r} is no number and has none "
            "(give grades, or use level nominal)"
        )
    return dict.fromkeys(numbers, math.nan)


def _number(label: str) -> float:
    try:
        number = float(label)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan


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
