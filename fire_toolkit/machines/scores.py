"""What a judge said of each pair as one number or as a label, and which runs may share its errors."""

import pandas as pd

from fire_toolkit.errors import UsageError
from fire_toolkit.guidelines.model import Grades, refuse_unknown_labels
from fire_toolkit.tables import Labels, MachineJudgments
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.tables.further import OK

LEAST_DOUBT = 0.9


def one_answer_per_pair(machine: MachineJudgments) -> pd.DataFrame:
    """Return what each judge said of each pair over its samples: one row for each judge_id, query_id, doc_id.

    Args:
        machine: failed answers are left out, and with them pairs that only failed.

    Returns:
        Columns judge_id, query_id, doc_id, score (the mean of the samples' scores, nan where there are
        none), label (that of most samples; empty where there is none or two are tied), n_samples.

    Examples:
        >>> from fire_toolkit.tables import check_machine_judgments
        >>> machine = check_machine_judgments(pd.DataFrame({
        ...     "judge_id": "j", "query_id": "q", "doc_id": ["a", "a", "a", "b"],
        ...     "sample_number": [1, 2, 3, 1], "score": [1, 0.5, 0, None], "label": ["yes", "yes", "no", ""],
        ...     "status": ["ok", "ok", "ok", "failed"]}))
        >>> one_answer_per_pair(machine)[["doc_id", "score", "label", "n_samples"]]
          doc_id  score label  n_samples
        0      a    0.5   yes          3
    """
    keys = ["judge_id", "query_id", "doc_id"]
    answered = machine[machine["status"] == OK]
    pairs = answered.groupby(keys, sort=True)
    found = pairs.agg(score=("score", "mean"), n_samples=("sample_number", "size"))
    votes = answered[answered["label"] != ""].groupby([*keys, "label"]).size()
    most = votes[votes == votes.groupby(keys).transform("max")].reset_index("label")["label"]
    label = most[~most.index.duplicated(keep=False)].reindex(found.index).fillna("")
    return found.assign(label=label.astype("str")).reset_index()[[*keys, "score", "label", "n_samples"]]


def scores_of_answers(answers: MachineJudgments, grades: Grades) -> pd.DataFrame:
    """Return query_id, doc_id and score of each pair; a label alone is 1 where its grade is positive, else 0.

    Args:
        answers: of one judge.
        grades: label → relevance, of the guideline.

    Raises:
        TableError: a label that the guideline does not have.
    """
    found = one_answer_per_pair(answers)
    is_label = found["score"].isna()
    grade = _graded(found[is_label], grades)
    found.loc[is_label, "score"] = (grade >= 1).astype("float64").where(grade.notna())
    return found[[*PAIR, "score"]]


def labels_of_answers(answers: MachineJudgments, grades: Grades) -> pd.DataFrame:
    """Return query_id, doc_id and relevance: a label is its grade, a score from .5 on is 1, one below it 0.

    Raises:
        TableError: as `scores_of_answers`.
        UsageError: a score without label that is no probability.
    """
    found = one_answer_per_pair(answers)
    whose = "".join(f"judge {name!r}: " for name in found["judge_id"].head(1))
    _refuse_no_probabilities(found.loc[found["label"] == "", "score"], whose)
    relevance = _graded(found, grades).fillna((found["score"] >= 0.5).astype("float64"))
    return found[PAIR].assign(relevance=relevance.astype("int64"))


def _refuse_no_probabilities(scores: pd.Series, whose: str = "") -> None:
    if not (known := scores.dropna()).between(0, 1).all():
        lie = f"{whose}scores lie between {known.min():g} and {known.max():g}"
        raise UsageError(f"{lie}, expected labels, or probabilities from 0 to 1")


def _graded(answers: pd.DataFrame, grades: Grades) -> pd.Series:
    """Return the grade of each label; nan without a label, or for one that is not a vote."""
    labels = answers["label"]
    if known := set(labels) - {""}:
        whose = f"judge {answers['judge_id'].iloc[0]!r} (its guideline is that of [tasks] in fire.toml)"
        refuse_unknown_labels(known, grades, whose)
    return labels.where(labels != "").map(grades).astype("float64")


def doubted_labels(labels: Labels, scores: pd.DataFrame) -> pd.DataFrame:
    """Return the pairs whose label a judge considers wrong, the most doubtful first.

    A judge may be wrong, and its doubts are no sample. The doubt in a positive label is 1 − P(yes), in
    another one P(yes); pairs without a score are not doubted.

    Args:
        labels: people's.
        scores: query_id, doc_id and score, from 0 to 1.

    Raises:
        UsageError: scores that are no probabilities.

    Examples:
        >>> from fire_toolkit.tables import check_labels
        >>> labels = check_labels(
        ...     pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "label": "x", "relevance": [1, 0]}))
        >>> doubted_labels(labels, labels[PAIR].assign(score=[0.05, 0.2]))["doc_id"].tolist()
        ['a']
    """
    _refuse_no_probabilities(scores["score"])
    pairs = labels[[*PAIR, "relevance"]].merge(scores, on=PAIR)
    pairs["doubt"] = pairs["score"].mask(pairs["relevance"] >= 1, 1 - pairs["score"])
    found = pairs[pairs["doubt"] >= LEAST_DOUBT].sort_values(["doubt", *PAIR], ascending=[False, True, True])
    return found[PAIR].reset_index(drop=True)
