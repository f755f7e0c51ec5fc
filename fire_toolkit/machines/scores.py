"""What a judge said of each pair as one number or as a label, and which runs may share its errors."""

from __future__ import annotations

import pandas as pd

from fire_toolkit.errors import UsageError
from fire_toolkit.guidelines.model import Grades
from fire_toolkit.tables import MachineJudgments
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.tables.machine import one_answer_per_pair


def scores_of_answers(answers: MachineJudgments, grades: Grades) -> pd.DataFrame:
    """Return query_id, doc_id and score of each pair; a label alone is 1 where its grade is positive, else 0.

    Args:
        answers: of one judge.
        grades: label → relevance, of the guideline.

    Raises:
        UsageError: a label that the guideline does not have.
    """
    found = one_answer_per_pair(answers)
    is_label = found["score"].isna()
    grade = _graded(found.loc[is_label], grades)
    found.loc[is_label, "score"] = (grade >= 1).astype("float64").where(grade.notna())
    return found[[*PAIR, "score"]]


def labels_of_answers(answers: MachineJudgments, grades: Grades) -> pd.DataFrame:
    """Return query_id, doc_id and relevance: a label is its grade, a score from .5 on is 1, one below it 0.

    Raises:
        UsageError: as `scores_of_answers`; a score without label that is no probability.
    """
    found = one_answer_per_pair(answers)
    scores = found.loc[found["label"] == "", "score"].dropna()
    if not scores.between(0, 1).all():
        raise UsageError(
            f"judge {_judge(found)!r}: scores lie between {scores.min():g} and {scores.max():g}, expected "
            "labels, or probabilities from 0 to 1"
        )
    relevance = _graded(found, grades).fillna((found["score"] >= 0.5).astype("float64"))
    return found[PAIR].assign(relevance=relevance.astype("int64"))


def _graded(answers: pd.DataFrame, grades: Grades) -> pd.Series:
    """Return the grade of each label; nan without a label, or for one that is not a vote."""
    labels = answers["label"]
    if (labels == "").all():
        return pd.Series(float("nan"), index=labels.index)
    unknown = sorted(set(labels) - {"", *grades})
    if unknown:
        raise UsageError(
            f"judge {_judge(answers)!r}: label {unknown[0]!r} is not in the guideline ({', '.join(grades)}); "
            "name its guideline in [tasks] of fire.toml, or give scores"
        )
    return labels.map(grades).astype("float64")


def _judge(answers: pd.DataFrame) -> str:
    return str(answers["judge_id"].iloc[0])
