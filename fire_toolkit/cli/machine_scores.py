"""What a machine judge said of each pair as one number, for orders and samples, and whom it favours."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from fire_toolkit.cli.common import current_workspace, setting_or_default, workspace_path
from fire_toolkit.cli.given import Given
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.formats.tables.table_files import read_machine_judgments
from fire_toolkit.tables import MachineJudgments
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.tables.machine import one_answer_per_pair
from fire_toolkit.workspace.backbones import shared_backbones

MACHINE_SAMPLE = "machine_sample.csv"


def answers_of_judge(given: Given, judge: str) -> MachineJudgments:
    """Return what a judge said, from `--machine`, else from the workspace.

    Raises:
        UsageError: there is no such judge.
    """
    named = given.values.get("machine")
    path = Path(named) if named else workspace_path(f"machine/{judge}")
    file = path / "machine.csv" if path and path.is_dir() else path
    if file is None or not file.is_file():
        where = f"no {file}" if file else "no workspace here"
        raise UsageError(
            f"judge {judge!r}: {where}; run `machine run` or `machine import`, or give --machine FILE"
        )
    found = read_machine_judgments(given.use(file))
    own = MachineJudgments(found[found["judge_id"] == judge].reset_index(drop=True))
    if not len(own):
        others = ", ".join(map(repr, found["judge_id"].unique()[:5])) or "none"
        raise UsageError(f"{file}: no answer of a judge {judge!r}, found {others}")
    return own


def scores_of_judge(given: Given, judge: str) -> pd.DataFrame:
    """Return query_id, doc_id and score; a label alone is 1 where its grade is positive, else 0."""
    answers = one_answer_per_pair(answers_of_judge(given, judge))
    is_label = answers["score"].isna()
    grade = _grades(answers.loc[is_label, "label"], judge)
    answers.loc[is_label, "score"] = (grade >= 1).astype("float64").where(grade.notna())
    return answers[[*PAIR, "score"]]


def labels_of_judge(given: Given, judge: str) -> pd.DataFrame:
    """Return query_id, doc_id and relevance: the grade of the label, else 1 for a score from .5 on, or 0.

    Raises:
        UsageError: a score without label is no probability.
    """
    answers = one_answer_per_pair(answers_of_judge(given, judge))
    scores = answers.loc[answers["label"] == "", "score"].dropna()
    if not scores.between(0, 1).all():
        raise UsageError(
            f"judge {judge!r}: scores lie between {scores.min():g} and {scores.max():g}, expected labels, or "
            "probabilities from 0 to 1"
        )
    relevance = _grades(answers["label"], judge).fillna((answers["score"] >= 0.5).astype("float64"))
    return answers[PAIR].assign(relevance=relevance.astype("int64"))


def _grades(labels: pd.Series, judge: str) -> pd.Series:
    """Return the grade of each label by the guideline; nan without a label, or for one that is not a vote."""
    if (labels == "").all():
        return pd.Series(float("nan"), index=labels.index)
    grades = read_guideline(str(setting_or_default(None, "tasks", "guideline"))).grades
    unknown = sorted(set(labels) - {"", *grades})
    if unknown:
        raise UsageError(
            f"judge {judge!r}: label {unknown[0]!r} is not in the guideline ({', '.join(grades)}); name its "
            "guideline in [tasks] of fire.toml, or give scores"
        )
    return labels.map(grades).astype("float64")


def shared_runs(given: Given, judge: str, run_ids: Iterable[str]) -> dict[str, str]:
    """Return the runs that share a backbone with a judge, by fire.toml and the judge's own table, and why."""
    try:
        named = answers_of_judge(given, judge)["backbone"]
    except UsageError:  # the sample is here and the judge's table is not
        named = pd.Series([], dtype="str")
    known = named.iloc[0] if len(named) and named.nunique() == 1 else ""
    return shared_backbones(current_workspace(), judge, run_ids, known=str(known))
