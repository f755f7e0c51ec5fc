"""Judgments of a file, and the guideline by which they are graded."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fire_toolkit.cli.common import current_workspace, own_guideline, say, setting_or_default
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.tables.guideline_files import list_guidelines, read_guideline
from fire_toolkit.formats.tables.table_files import read_judgments_and_repeats
from fire_toolkit.guidelines.grades import choose_grades
from fire_toolkit.guidelines.model import Grades, Guideline
from fire_toolkit.tables import Judgments, repeated_answers
from fire_toolkit.workspace.config import BY_GUIDELINE


def judgments_from(path: Path) -> Judgments:
    """Read judgments; of several answers by one annotator to a pair the latest counts, and it is said."""
    judgments, superseded = read_judgments_and_repeats(path)
    if len(superseded):
        n_other = len(repeated_answers(judgments, superseded).query("label != label_now"))
        say(
            f"note: {path}: {len(superseded):,} earlier answers of an annotator to the same pair left out, "
            f"{n_other:,} of them with another label than the one that counts"
        )
    return judgments


def rules_of(judgments: Judgments, guideline: str | None) -> Guideline | None:
    """Return the guideline that grades the labels found: the one named, else the judgments' own, else the
    workspace's; None where there is none of these.

    The judgments' own is known where all of them name one that comes with the toolkit, or whose folder is in
    the workspace.
    """
    workspace = current_workspace()
    name = guideline or (own_guideline() if workspace else None)
    judged_by = sorted(judgments["guideline"].unique()) if "guideline" in judgments.columns else []
    if len(judged_by) > 1:
        names = ", ".join(judged_by)
        say(f"note: judged by {len(judged_by)} guidelines ({names}); --by guideline tells them apart")
    elif guideline is None and judged_by and judged_by[0] in list_guidelines():
        return read_guideline(judged_by[0])
    elif guideline is None and judged_by and workspace and (workspace.root / judged_by[0]).is_dir():
        return read_guideline(workspace.root / judged_by[0])
    rules = read_guideline(name) if name else None
    if rules and len(judged_by) == 1 and judged_by != [rules.name]:
        say(f"note: judged by guideline {judged_by[0]}, graded by {rules.name}")
    return rules


def grades_of(judgments: Judgments, guideline: str | None) -> Grades | None:
    """Return the grades of the labels found: by `rules_of`, or as they spell."""
    counts = {str(label): int(n) for label, n in judgments["label"].value_counts().items()}
    return choose_grades(counts, guideline=rules_of(judgments, guideline))


def known_grades(judgments: Judgments, guideline: str | None, path: Path) -> Grades:
    """Return the grades of the labels found; a usage error where labels have none."""
    grades = grades_of(judgments, guideline)
    if grades is None:
        found = ", ".join(sorted(judgments["label"].unique())[:5])
        raise UsageError(
            f"{path}: no grade is known for labels {found}; name their guideline with --guideline"
        )
    return grades


def level_of(level: str | None, judgments: Judgments, guideline: str | None) -> str:
    """Return the level of agreement given, else the workspace's, else the one that fits the guideline."""
    chosen = str(setting_or_default(level, "agree", "level"))
    if chosen != BY_GUIDELINE:
        return chosen
    rules = rules_of(judgments, guideline)
    return rules.level if rules else "nominal"


def reasons_of(dropped: pd.DataFrame) -> dict[str, int]:
    """Return how many answers were dropped for each reason, sorted by reason."""
    counts = dropped["reason"].value_counts().sort_index()
    return {str(reason): int(n) for reason, n in counts.items()}
