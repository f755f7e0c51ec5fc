"""The one table of votes: judgments as integer codes, which every statistic and every rule counts."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools, Floats, Ints, are_among
from fire_toolkit.errors import TableError, UsageError
from fire_toolkit.guidelines.grades import choose_grades, refuse_unknown_labels
from fire_toolkit.guidelines.model import fitting_level
from fire_toolkit.tables import SUPPORT, Judgments
from fire_toolkit.tables.columns import PAIR, code_pairs, pair_rows

Grades = Mapping[str, float | None]
Level = Literal["nominal", "ordinal", "interval", "ratio"]
LEVELS: tuple[Level, ...] = get_args(Level)
INCLUSION = "inclusion_probability"


@dataclass(frozen=True)
class Votes:
    """Answers as codes.

    Of each answer: pair; label, −1 for an answer that is not a vote (an escalation, say); annotator; and,
    None where nothing is known of them, inclusion (the probability with which its pair was chosen for a
    second judgment), cluster (the code of what its pair belongs to) and round.
    labels: those that are votes, in the guideline's order; grades: of these labels, nan where there is none;
    level: at which alpha measures them. Made by `code_votes` there are also: pairs, the query_id and doc_id
    of each pair code, in their order; annotators, the ids of the codes, sorted; truth, for each pair the code
    of its known label, −1 where none is known; is_adjudicator, whether an adjudicator gave the answer.
    """

    pair: Ints
    label: Ints
    annotator: Ints
    labels: tuple[str, ...]
    grades: Floats
    inclusion: Floats | None = None
    cluster: Ints | None = None
    level: str = "nominal"
    round: pd.Series | None = None
    pairs: pd.DataFrame = field(default_factory=pd.DataFrame)
    annotators: tuple[str, ...] = ()
    truth: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    is_adjudicator: Bools = field(default_factory=lambda: np.empty(0, dtype=np.bool_))

    @cached_property
    def by_label(self) -> Ints:
        """Votes for each label on each pair: pairs × labels, int64."""
        return self.count(self.voting)

    @cached_property
    def n_votes(self) -> Ints:
        """Votes on each pair."""
        return np.asarray(self.by_label.sum(axis=1))

    @cached_property
    def is_pairable(self) -> Bools:
        """For each pair, whether it has two votes or more."""
        return np.asarray(self.n_votes >= 2)

    @cached_property
    def counts(self) -> Ints:
        """Votes for each label on each pairable pair: pairable × labels, int64."""
        return np.asarray(self.by_label[self.is_pairable])

    @cached_property
    def voting(self) -> Ints:
        """Row numbers of the answers that are votes."""
        return np.flatnonzero(self.label >= 0)

    @cached_property
    def weights(self) -> Floats:
        """Weight of each pair: inverse inclusion probability, of mean 1 over pairable pairs; else 1."""
        weights = np.ones(len(self.n_votes))
        if self.inclusion is not None and self.is_pairable.any():
            inverse = 1 / self.inclusion[self.first_rows[self.is_pairable]]
            weights[self.is_pairable] = inverse / inverse.mean()
        return weights

    @cached_property
    def clusters(self) -> Ints | None:
        """Cluster code of each pair."""
        return None if self.cluster is None else np.asarray(self.cluster[self.first_rows])

    @cached_property
    def first_rows(self) -> Ints:
        """The first answer to each pair."""
        return first_rows(self.pair)

    @property
    def relevance(self) -> Ints:
        """The grade of each label as a whole number, for rules: `resolve` refuses other grades."""
        return self.grades.astype(np.int64)

    def count(self, rows: Ints) -> Ints:
        """Return the votes for each label on each pair among some rows: pairs × labels, int64."""
        shape = (int(self.pair.max(initial=-1)) + 1, len(self.labels))
        cells = self.pair[rows] * shape[1] + self.label[rows]
        return np.bincount(cells, minlength=shape[0] * shape[1]).astype(np.int64).reshape(shape)

    def select(self, rows: Bools) -> Votes:
        """Return the answers at `rows`, under the same codes, for statistics."""
        known = {"inclusion": self.inclusion, "cluster": self.cluster}
        chosen: dict[str, Any] = {name: each[rows] for name, each in known.items() if each is not None}
        pair, label, annotator = self.pair[rows], self.label[rows], self.annotator[rows]
        return Votes(pair, label, annotator, self.labels, self.grades, level=self.level, **chosen)

    def on_pairs_of(self, rows: Bools) -> Votes:
        """Return all answers on the pairs on which one of `rows` is a vote."""
        own = self.pair[rows & (self.label >= 0)]
        return self.select(are_among(own, self.pair.max(initial=-1) + 1)[self.pair])


@dataclass(frozen=True)
class Verdicts:
    """What a rule decided: for each pair the code of its label, −1 for a dispute.

    support: one number a pair, in [0, 1]; None: the share of votes for the label; support_name: what that
    number is, one of `tables.SUPPORT`. Of a model also: posterior: pairs × labels; confusions: annotators ×
    true label × given label; trace: the log-likelihood of each iteration; converged: whether it ended.
    """

    label: Ints
    support: Floats | None = None
    support_name: str = SUPPORT[0]
    posterior: Floats | None = None
    confusions: Floats | None = None
    trace: tuple[float, ...] = ()
    converged: bool = True


def code_votes(
    judgments: Judgments,
    *,
    grades: Grades | None = None,
    level: str | None = None,
    inclusion: str | None = None,
    cluster: str | None = None,
    controls: pd.DataFrame | None = None,
    adjudicators: Collection[str] = (),
) -> Votes:
    """Return `judgments` as Votes, in the same row order; check that labels, level and columns fit.

    Args:
        judgments, grades, level: as in `agreement`.
        inclusion, cluster: columns of `judgments`, constant within a pair. That of the usual name,
            `inclusion_probability`, need not be there.
        controls: query_id, doc_id, label: pairs whose label is known.
        adjudicators: annotators with a judgment.

    Raises:
        UsageError: an unknown level; a level other than nominal and a label without a grade; a grade
            that is not finite; a negative grade at the ratio level; a column that is not there; an
            adjudicator without a judgment.
        TableError: a label that `grades` does not hold, or holds as no vote where a control has it; an
            inclusion probability out of (0, 1] on a pairable pair; one that, like a cluster, differs within
            a pair.
    """
    if inclusion == INCLUSION and (INCLUSION not in judgments or judgments[INCLUSION].isna().all()):
        inclusion = None
    refuse_unknown_columns(judgments, inclusion, cluster)
    level = level_for(grades, level)
    found = list(judgments["label"].unique())
    known = _known_grades(found, choose_grades(found) if grades is None else grades, level)
    labels = tuple(label for label, grade in known.items() if grade is not None)
    pair, pairs = code_pairs(judgments)
    annotator, names = pd.factorize(judgments["annotator_id"], sort=True)
    votes = Votes(
        pair,
        label_codes(judgments["label"], labels),
        annotator.astype(np.int64),
        labels,
        np.array([known[label] for label in labels], dtype=np.float64),
        cluster=None if cluster is None else _of_pairs(judgments, pair, cluster),
        level=level,
        round=judgments.get("round"),
        pairs=pairs,
        annotators=tuple(names),
        truth=_known_labels(controls, pairs, known, labels),
        is_adjudicator=_by_adjudicators(judgments, adjudicators),
    )
    if inclusion is None:
        return votes
    _of_pairs(judgments, pair, inclusion)
    chance = pd.to_numeric(judgments[inclusion], errors="coerce").to_numpy(dtype=np.float64)
    votes = replace(votes, inclusion=chance)
    of_pairs = chance[votes.first_rows[votes.is_pairable]]
    bad = ~((of_pairs > 0) & (of_pairs <= 1))
    if bad.any():
        raise TableError(
            f"judgments: {inclusion} is {of_pairs[bad][0]} ({int(bad.sum())} of {len(of_pairs)} pairs with "
            "two judgments); expected a probability above 0 and at most 1"
        )
    return votes


def refuse_unknown_columns(judgments: pd.DataFrame, *columns: str | None) -> None:
    """Raise a UsageError for the name of a column that judgments do not have."""
    for column in columns:
        if column is not None and column not in judgments.columns:
            raise UsageError(f"judgments have no column {column!r}; found {', '.join(judgments.columns)}")


def level_for(grades: Grades | None, level: str | None) -> str:
    """Return the level of measurement given, else the one that fits the grades given."""
    return fitting_level(grades or {}) if level is None else level


def first_rows(codes: Ints) -> Ints:
    """Return the first row with each code from 0 on; a code that no row has gets any."""
    first = np.zeros(int(codes.max(initial=-1)) + 1, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return first


def label_codes(column: pd.Series, labels: tuple[str, ...]) -> Ints:
    """Return the place of each value among the labels, −1 where it is not one of them."""
    place = {label: code for code, label in enumerate(labels)}
    codes, found = pd.factorize(column)
    return np.array([place.get(label, -1) for label in found], dtype=np.int64)[codes]


def _known_grades(found: list[str], grades: Grades | None, level: str) -> Grades:
    """Return the grade of each label, None where it is no vote, nan where nobody knows it."""
    if level not in LEVELS:
        raise UsageError(f"level of measurement {level!r} is unknown; expected one of {', '.join(LEVELS)}")
    if grades is None and level != "nominal":
        bad = [label for label in sorted(found) if not label.lstrip("+-").replace(".", "", 1).isdecimal()]
        raise UsageError(
            f"level {level} needs a grade for every label; label {bad[0]!r} is not a number and has no grade "
            "(give grades, or use level nominal)"
        )
    if grades is None:
        return dict.fromkeys(sorted(found), math.nan)
    refuse_unknown_labels(found, grades, "judgments")
    for label, grade in grades.items():
        if grade is None or level == "nominal":
            continue
        if not math.isfinite(grade):
            raise UsageError(f"grade of label {label!r} is {grade}; level {level} needs a finite number")
        if level == "ratio" and grade < 0:
            raise UsageError(
                f"grade of label {label!r} is {grade:g}; level ratio needs grades of 0 or more (use interval)"
            )
    return grades


def _of_pairs(judgments: Judgments, pair: Ints, column: str) -> Ints:
    """Return the code of `column`'s value for each answer, after a look that it is one for each pair."""
    codes = np.asarray(pd.factorize(judgments[column], use_na_sentinel=False)[0], dtype=np.int64)
    first = first_rows(pair)
    varied = np.flatnonzero(codes != codes[first[pair]])
    if len(varied):
        row = int(first[pair[varied[0]]])
        name = f"{judgments['query_id'].iloc[row]} {judgments['doc_id'].iloc[row]}"
        raise TableError(
            f"judgments: {column} differs within {len(np.unique(pair[varied]))} pairs ({name}); "
            "expected one value for each pair"
        )
    return codes


def _known_labels(
    controls: pd.DataFrame | None, pairs: pd.DataFrame, known: Iterable[str], labels: tuple[str, ...]
) -> Ints:
    if controls is None:
        return np.full(len(pairs), -1, dtype=np.int64)
    refuse_unknown_labels(controls["label"].unique(), list(known), "controls")
    codes = label_codes(controls["label"], labels)
    if (codes < 0).any():
        wrong = controls["label"][codes < 0].iloc[0]
        raise TableError(f"controls: label {wrong!r} has no grade; expected the pair's known label")
    if controls[PAIR].duplicated().any():
        raise TableError("controls: query_id, doc_id given twice; expected one known label for each pair")
    return np.append(codes, -1)[pair_rows(pairs, controls)]


def _by_adjudicators(judgments: Judgments, adjudicators: Collection[str]) -> Bools:
    silent = sorted(set(adjudicators) - set(judgments["annotator_id"].unique()))
    if silent:
        raise UsageError(f"adjudicator {silent[0]!r} gave no judgment; expected ids of annotators")
    return np.asarray(judgments["annotator_id"].isin(list(adjudicators)), dtype=np.bool_)
