"""Judgments as counted answers: what every rule decides on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from pyarrow import compute

from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.errors import TableError, UsageError
from fire_toolkit.guidelines.grades import refuse_unknown_labels
from fire_toolkit.tables import SUPPORT, Judgments
from fire_toolkit.tables.columns import code_pairs, rows_of_controls

Grades = Mapping[str, float | None]

VOTE_SHARE, POSTERIOR = SUPPORT


@dataclass(frozen=True)
class VoteTable:
    """The answers on each pair, by query_id and doc_id.

    judgments: the answers; pair, label: their codes, row by row; pairs: query_id and doc_id of each pair
    code; labels: all labels of the guideline, in its order; relevance: their grades, 0 where there is
    none; is_vote: whether a label has a grade, so that an answer with it is a vote; truth: the code of
    each pair's known label, −1 where none is known; is_adjudicator: for each answer, whether an
    adjudicator gave it.
    """

    judgments: Judgments
    pair: Ints
    label: Ints
    pairs: pd.DataFrame
    labels: tuple[str, ...]
    relevance: Ints
    is_vote: npt.NDArray[np.bool_]
    truth: Ints
    is_adjudicator: npt.NDArray[np.bool_]

    @cached_property
    def answers(self) -> Ints:
        """Answers with each label on each pair: pairs × labels."""
        shape = (len(self.pairs), len(self.labels))
        cells = np.bincount(self.pair * shape[1] + self.label, minlength=shape[0] * shape[1])
        return cells.astype(np.int64).reshape(shape)

    @cached_property
    def by_label(self) -> Ints:
        """Votes for each label on each pair: as `answers`, 0 in the columns of labels that are not votes."""
        return self.answers * self.is_vote

    @cached_property
    def n_votes(self) -> Ints:
        """Votes on each pair."""
        return np.asarray(self.by_label.sum(axis=1), dtype=np.int64)

    @cached_property
    def voting(self) -> Ints:
        """Row numbers of the judgments that are votes."""
        return np.flatnonzero(self.is_vote[self.label])

    @cached_property
    def annotator(self) -> Ints:
        """The annotator's code of each judgment; codes sort as ids do."""
        return np.asarray(pd.factorize(self.judgments["annotator_id"], sort=True)[0], dtype=np.int64)

    @cached_property
    def rounds(self) -> pd.Series | None:
        """The rounds of the votes on each pair, ascending, joined by `;`; None where none are known."""
        if "round" not in self.judgments.columns or self.judgments["round"].dtype.kind not in "iu":
            return None
        numbers, codes = np.unique(self.judgments["round"].to_numpy()[self.voting], return_inverse=True)
        by_pair = np.unique(self.pair[self.voting] * max(len(numbers), 1) + codes)
        pairs, rounds = np.divmod(by_pair, max(len(numbers), 1))
        ends = np.searchsorted(pairs, np.arange(len(self.pairs) + 1))
        texts = pa.array(numbers.astype(str).tolist(), pa.string()).take(pa.array(rounds))
        lists = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), texts)
        return pd.Series(pd.array(compute.binary_join(lists, ";"), dtype="str"))


@dataclass(frozen=True)
class Verdicts:
    """What a rule decided: for each pair the code of its label, −1 for a dispute.

    support: one number a pair, in [0, 1]; None: the share of votes for the label; support_name: what that
    number is, one of `tables.SUPPORT`. Of a model also: posterior: pairs × labels; confusions: annotators ×
    true label × given label, of labels that are votes; trace: the log-likelihood of each
    iteration; converged: whether it ended.
    """

    label: Ints
    support: Floats | None = None
    support_name: str = VOTE_SHARE
    posterior: Floats | None = None
    confusions: Floats | None = None
    trace: tuple[float, ...] = ()
    converged: bool = True


def count_votes(
    judgments: Judgments,
    *,
    grades: Grades,
    controls: pd.DataFrame | None = None,
    adjudicators: Collection[str] = (),
) -> VoteTable:
    """Return `judgments` as VoteTable, pairs by query_id and doc_id.

    Raises:
        UsageError: no grades; a grade that is no whole number; an adjudicator without a judgment.
        TableError: a label that `grades` does not hold, or holds as no vote where a control has it.
    """
    if not grades:
        raise UsageError("grades are empty; expected the grade of each label of the guideline")
    labels = tuple(grades)
    relevance = np.array([_whole(label, grade) for label, grade in grades.items()], dtype=np.int64)
    is_vote = np.array([grade is not None for grade in grades.values()], dtype=np.bool_)
    pair, pairs = code_pairs(judgments)
    label = _label_codes(judgments, labels, "judgments")
    truth = _known_labels(controls, pairs, labels, is_vote)
    by_adjudicator = _by_adjudicators(judgments, adjudicators)
    return VoteTable(judgments, pair, label, pairs, labels, relevance, is_vote, truth, by_adjudicator)


def _known_labels(
    controls: pd.DataFrame | None,
    pairs: pd.DataFrame,
    labels: tuple[str, ...],
    is_vote: npt.NDArray[np.bool_],
) -> Ints:
    if controls is None:
        return np.full(len(pairs), -1, dtype=np.int64)
    codes = _label_codes(controls, labels, "controls")
    if not is_vote[codes].all():
        wrong = labels[codes[~is_vote[codes]][0]]
        raise TableError(f"controls: label {wrong!r} has no grade; expected the pair's known label")
    rows = rows_of_controls(pairs, controls)
    return np.where(rows >= 0, np.append(codes, -1)[rows], -1)


def _by_adjudicators(judgments: Judgments, adjudicators: Collection[str]) -> npt.NDArray[np.bool_]:
    silent = sorted(set(adjudicators) - set(judgments["annotator_id"].unique()))
    if silent:
        raise UsageError(f"adjudicator {silent[0]!r} gave no judgment; expected ids of annotators")
    return np.asarray(judgments["annotator_id"].isin(list(adjudicators)), dtype=np.bool_)


def _whole(label: str, grade: float | None) -> int:
    if grade is None:
        return 0
    if not float(grade).is_integer():
        raise UsageError(
            f"grade of label {label!r} is {grade}; relevance is a whole number, or None for no vote"
        )
    return int(grade)


def _label_codes(table: pd.DataFrame, labels: tuple[str, ...], where: str) -> Ints:
    codes, found = pd.factorize(table["label"])
    refuse_unknown_labels(found, labels, where)
    place = {label: code for code, label in enumerate(labels)}
    return np.array([place[label] for label in found], dtype=np.int64)[codes]
