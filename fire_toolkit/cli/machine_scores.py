"""What a machine judge said of each pair as one number, for orders and samples, and whom it favours."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fire_toolkit.cli.common import current_workspace, setting_or_default, workspace_path
from fire_toolkit.cli.given import Given
from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.formats.tables.table_files import read_machine_judgments
from fire_toolkit.guidelines.model import Grades
from fire_toolkit.machines.scores import scores_of_answers
from fire_toolkit.tables import MachineJudgments

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
    """Return query_id, doc_id and score of a judge's answers, see `scores_of_answers`."""
    return scores_of_answers(answers_of_judge(given, judge), grades_of_workspace())


def grades_of_workspace() -> Grades:
    """Return the grades of the workspace's guideline, else of the default."""
    return read_guideline(str(setting_or_default(None, "tasks", "guideline"))).grades
