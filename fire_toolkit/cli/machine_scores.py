"""What a machine judge said of each pair as one number, for orders and samples, and whom it favours."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from fire_toolkit.cli.common import current_workspace, setting_or_default, workspace_path
from fire_toolkit.cli.given import Given
from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.evidence.qrels import MACHINE, Augmented, include_machine
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.formats.tables.table_files import read_machine_judgments
from fire_toolkit.tables import MachineJudgments
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.tables.machine import one_answer_per_pair

MACHINE_SAMPLE = "machine_sample.csv"


def judge_file(name: str | None) -> Path:
    """Return machine.csv of a judge: of that name in the workspace, or at that path; the only one if unnamed.

    Raises:
        UsageError: several judges, and none named.
        FormatError: there is none.
    """
    for path in (Path(name), Path(name) / "machine.csv") if name else ():
        if path.is_file():
            return path
    workspace = current_workspace()
    paths = sorted(workspace.root.glob("machine/*/machine.csv")) if workspace else []
    found = {path.parent.name: path for path in paths}
    if name in found:
        return found[str(name)]
    if name is None and len(found) == 1:
        return paths[0]
    none = "there are none; `machine run` or `machine import` first"
    known = f"known are {', '.join(found)}" if found else none
    if name is None and found:
        raise UsageError(f"JUDGE is needed: {known}")
    raise FormatError(f"{name or 'machine/*/machine.csv'}: no such judge; {known}")


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
        raise UsageError(f"judge {judge!r}: {where}; run `machine run` or `machine import`")
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


def with_machine(given: Given, found: Augmented, judge: str) -> tuple[Augmented, dict[str, Any]]:
    """Return augmented qrels with a judge's labels where there are no people's, and how many these are.

    A label is its grade, a score from .5 on is 1, one below it 0.

    Raises:
        UsageError: a score without label is no probability.
    """
    beside = given.needed("labels").with_name("disputes.csv")
    left_out = given.disputes if beside.is_file() else None
    answers = one_answer_per_pair(answers_of_judge(given, judge))
    scores = answers.loc[answers["label"] == "", "score"].dropna()
    if not scores.between(0, 1).all():
        raise UsageError(
            f"judge {judge!r}: scores lie between {scores.min():g} and {scores.max():g}, expected labels, or "
            "probabilities from 0 to 1"
        )
    relevance = _grades(answers["label"], judge).fillna((answers["score"] >= 0.5).astype("float64"))
    labels = answers[PAIR].assign(relevance=relevance.astype("int64"))
    both = include_machine(found, labels, judge=judge, left_out=left_out)
    own = both[0]["source"] == f"{MACHINE}:{judge}"
    n_positive = int((both[0].loc[own, "relevance"] >= 1).sum())
    return both, {"machine_positive": n_positive, "machine_irrelevant": int(own.sum()) - n_positive}


def shared_runs(given: Given, judge: str, run_ids: Iterable[str]) -> dict[str, str]:
    """Return the runs that may share a backbone with a judge, and why: such a judge judges its own errors.

    The judge's own table names its backbone, [runs.NAME] of fire.toml that of a run; several are joined by
    commas, case does not matter, and one that is not named counts as shared.
    """
    try:
        named = answers_of_judge(given, judge)["backbone"].unique().tolist()
    except UsageError:  # the sample is here and the judge's table is not
        named = []
    own = _backbones(named[0]) if len(named) == 1 else set()
    workspace = current_workspace()
    found = {}
    for run_id in run_ids:
        of_run = _backbones(workspace.runs.get(run_id, {}).get("backbone", "")) if workspace else set()
        unknown = f"judge {judge}" if not own else "" if of_run else f"run {run_id}"
        if unknown:
            found[run_id] = f"the backbone of {unknown} is not named"
        elif both := ", ".join(sorted(own & of_run)):
            found[run_id] = f"judge {judge} and run {run_id} share the backbone {both}"
    return found


def _backbones(named: str) -> set[str]:
    return {name.strip().casefold() for name in named.split(",") if name.strip()}
