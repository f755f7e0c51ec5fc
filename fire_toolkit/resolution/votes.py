"""The one table of votes: judgments as integer codes, which every statistic and every rule counts."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools, Floats, Ints, are_among
from fire_toolkit.errors import TableError, UsageError
from fire_toolkit.guidelines.model import choose_grades, fitting_level, refuse_unknown_labels
from fire_toolkit.tables import SUPPORT, Judgments
from fire_toolkit.tables.columns import PAIR, code_pairs, pair_rows
from fire_toolkit.words import n_of

Grades = Mapping[str, float | None]
Level = Literal["nominal", "ordinal", "interval", "ratio"]
LEVELS: tuple[Level, ...] = get_args(Level)
INCLUSION = "inclusion_probability"


@dataclass(frozen=True)
class Votes:
    """Answers as codes.

    Of each answer: pair; label, −1 for an answer that is not a vote (an escalation, say); annotator; round,
    None where nobody says it; is_adjudicator. labels: those that are votes, in the guideline's order; grades:
    of these labels, nan where there is none; level: at which alpha measures them; pairs: the query_id and
    doc_id of each pair code, in their order; annotators: the ids of the codes, sorted. Of each pair: truth,
    the code of its known label, −1 where none is known; and, None where nothing is known of them, chance (the
    probability with which it was chosen for a second judgment) and cluster (the code of what it belongs to).
    """

    pair: Ints
    label: Ints
    annotator: Ints
    labels: tuple[str, ...]
    grades: Floats
    pairs: pd.DataFrame
    level: str = "nominal"
    annotators: tuple[str, ...] = ()
    chance: Floats | None = None
    cluster: Ints | None = None
    truth: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    round: pd.Series | None = None
    is_adjudicator: Bools = field(default_factory=lambda: np.empty(0, dtype=np.bool_))

    @cached_property
    def voting(self) -> Ints:
        """Row numbers of the answers that are votes."""
        return np.flatnonzero(self.label >= 0)

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
    def weights(self) -> Floats:
        """Weight of each pair: inverse inclusion probability, of mean 1 over pairable pairs; else 1."""
        weights = np.ones(len(self.pairs))
        if self.chance is not None and self.is_pairable.any():
            inverse = 1 / self.chance[self.is_pairable]
            weights[self.is_pairable] = inverse / inverse.mean()
        return weights

    @property
    def relevance(self) -> Ints:
        """The grade of each label as a whole number, for rules: `resolve` refuses other grades."""
        return self.grades.astype(np.int64)

    def count(self, rows: Ints) -> Ints:
        """Return the votes for each label on each pair among some rows: pairs × labels, int64."""
        n_pairs, n_labels = len(self.pairs), len(self.labels)
        cells = self.pair[rows] * n_labels + self.label[rows]
        return np.bincount(cells, minlength=n_pairs * n_labels).astype(np.int64).reshape(n_pairs, n_labels)

    def select(self, rows: Bools) -> Votes:
        """Return the answers at `rows`, under the same codes."""
        kept = {name: getattr(self, name)[rows] for name in ("pair", "label", "annotator", "is_adjudicator")}
        return replace(self, round=None if self.round is None else self.round[rows], **kept)

    def on_pairs_of(self, rows: Bools) -> Votes:
        """Return all answers on the pairs on which one of `rows` is a vote."""
        return self.select(are_among(self.pair[rows & (self.label >= 0)], len(self.pairs))[self.pair])


@dataclass(frozen=True)
class Model:
    """A fitted model of annotators.

    posterior: pairs × labels; prior: labels; confusions: annotators × true label × given label;
    log_likelihoods: one an iteration, of the votes (and known labels) under the parameters of that
    iteration; converged: whether the last step was small enough.
    """

    posterior: Floats
    prior: Floats
    confusions: Floats
    log_likelihoods: Floats
    converged: bool


@dataclass(frozen=True)
class Verdicts:
    """What a rule decided: for each pair the code of its label, −1 for a dispute.

    support: one number a pair, in [0, 1]; None: the share of votes for the label; support_name: what that
    number is, one of `tables.SUPPORT`. model: what the rule fitted, if it did.
    """

    label: Ints
    support: Floats | None = None
    support_name: str = SUPPORT[0]
    model: Model | None = None


def code_votes(
    judgments: Judgments,
    *,
    grades: Grades | None = None,
    level: str | None = None,
    with_weights: bool = False,
    cluster: str | None = None,
    controls: pd.DataFrame | None = None,
    adjudicators: Collection[str] = (),
) -> Votes:
    """Return `judgments` as Votes, in the same row order; check that labels, level and columns fit.

    Args:
        judgments, grades, level: as in `agreement`.
        with_weights: whether pairs weigh the inverse of their inclusion_probability, where that is known.
        cluster: a column of `judgments`, constant within a pair, as inclusion_probability is.
        controls: query_id, doc_id, label: pairs whose label is known.
        adjudicators: annotators with a judgment.

    Raises:
        UsageError: an unknown level; a level other than nominal and a label without a grade; a grade
            that is not finite; a negative grade at the ratio level; an adjudicator without a judgment.
        TableError: a label that `grades` does not hold, or holds as no vote where a control has it; an
            inclusion probability out of (0, 1] on a pairable pair; one that, like a cluster, differs within
            a pair.
    """
    found = list(judgments["label"].unique())
    level = fitting_level(grades or {}) if level is None else level
    known = _known_grades(found, choose_grades(found) if grades is None else grades, level)
    labels = [label for label, grade in known.items() if grade is not None]
    pair, pairs = code_pairs(judgments)
    annotator, names = pd.factorize(judgments["annotator_id"], sort=True)
    if silent := sorted(set(adjudicators) - set(names)):
        raise UsageError(f"adjudicator {silent[0]!r} gave no judgment; expected ids of annotators")
    votes = Votes(
        pair,
        codes_among(labels, judgments["label"]),
        annotator.astype(np.int64),
        tuple(labels),
        np.array([known[label] for label in labels], dtype=np.float64),
        pairs,
        level,
        tuple(names),
        cluster=None if cluster is None else _of_pairs(judgments, pair, cluster)[1],
        truth=np.full(len(pairs), -1, dtype=np.int64),
        round=judgments.get("round"),
        is_adjudicator=np.asarray(judgments["annotator_id"].isin(list(adjudicators)), dtype=np.bool_),
    )
    if controls is not None:
        refuse_unknown_labels(controls["label"].unique(), list(known), "controls")
        codes = codes_among(labels, controls["label"])
        if (codes < 0).any():
            wrong = controls["label"][codes < 0].iloc[0]
            raise TableError(f"controls: label {wrong!r} has no grade; expected the pair's known label")
        if controls[PAIR].duplicated().any():
            raise TableError("controls: query_id, doc_id given twice; expected one known label for each pair")
        votes = replace(votes, truth=np.append(codes, -1)[pair_rows(pairs, controls)])
    if not with_weights or INCLUSION not in judgments or judgments[INCLUSION].isna().all():
        return votes
    values = judgments[INCLUSION].iloc[_of_pairs(judgments, pair, INCLUSION)[0]]
    chance = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64)
    bad = votes.is_pairable & ~((chance > 0) & (chance <= 1))
    if bad.any():
        raise TableError(
            f"judgments: {INCLUSION} is {chance[bad][0]} ({int(bad.sum())} of {len(votes.counts)} pairs with "
            "two judgments); expected a probability above 0 and at most 1"
        )
    return replace(votes, chance=chance)


def codes_among(labels: Collection[str], column: pd.Series) -> Ints:
    """Return the place of each value of a column among the labels, −1 where it is not one of them."""
    codes, found = pd.factorize(column)
    places = pd.Index([*labels], dtype=object).get_indexer(pd.Index(found, dtype=object))
    return np.asarray(places, dtype=np.int64)[codes]


def first_rows(codes: Ints) -> Ints:
    """Return the first row with each code from 0 on; a code that no row has gets any."""
    first = np.zeros(int(codes.max(initial=-1)) + 1, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return first


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
    for label, grade in grades.items() if level != "nominal" else ():
        if grade is not None and not math.isfinite(grade):
            raise UsageError(f"grade of label {label!r} is {grade}; level {level} needs a finite number")
        if grade is not None and level == "ratio" and grade < 0:
            raise UsageError(
                f"grade of label {label!r} is {grade:g}; level ratio needs grades of 0 or more (use interval)"
            )
    return grades


def _of_pairs(judgments: Judgments, pair: Ints, column: str) -> tuple[Ints, Ints]:
    """Return each pair's first row, and the code of its value there, after a look that it has no other."""
    codes = np.asarray(pd.factorize(judgments[column], use_na_sentinel=False)[0], dtype=np.int64)
    first = first_rows(pair)
    varied = np.flatnonzero(codes != codes[first[pair]])
    if len(varied):
        name = " ".join(judgments[PAIR].iloc[int(first[pair[varied[0]]])])
        raise TableError(
            f"judgments: {column} differs within {len(np.unique(pair[varied]))} pairs ({name}); "
            "expected one value for each pair"
        )
    return first, codes[first]


def pairs_by_votes(n_pairs: Sequence[int]) -> str:
    """Return how many pairs have how many votes, in words; n_pairs: those with 0, 1, 2, … votes."""
    parts = [f"{n:,} with {votes}" for votes, n in enumerate(n_pairs[:4]) if n]
    more = sum(n_pairs[4:])
    last = [f"{more:,} with 4 or more"] if more else []
    return ", ".join([n_of(sum(n_pairs), "pair"), *parts, *last])
