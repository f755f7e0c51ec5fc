"""What a workspace's files say of how its labels were made, for the paragraphs of a paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fire_toolkit.campaign.records import read_rounds
from fire_toolkit.cli.designs import policy_of
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.judged_files import grades_of, judgments_from, level_of, rules_of
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.reporting.methods import STUDY, MethodFacts, facts_of_judgments
from fire_toolkit.tables import Judgments, first_round
from fire_toolkit.workspace.config import Workspace
from fire_toolkit.workspace.manifests import manifest_path, read_manifest


def workspace_facts(workspace: Workspace, given: Given, *, judgments: Judgments | None = None) -> MethodFacts:
    """Return what is known of the study in a workspace; stages that were not run leave blanks.

    judgments: the workspace's, where they were read already.
    """
    root = workspace.root
    path = root / "judgments/judgments.csv"
    if judgments is None and path.is_file():
        judgments = judgments_from(given.use(path))
    guideline = None if judgments is None else rules_of(judgments, None)
    guideline = guideline or read_guideline(workspace.setting("tasks", "guideline"))
    facts: dict[str, Any] = {
        "study": {name: workspace.setting("study", name) for name in STUDY},
        "pool": _stage(given, root / "pool", is_folder=True),
        "guideline": guideline.name,
        "question": guideline.question,
        "answers": [label.name for label in guideline.labels],
        "asked": _asked(root),
        "policy": policy_of(root) or "",
        "labels_by": _stage(given, root / "labels", is_folder=True),
        "augmented": _stage(given, root / "augmented/qrels.txt", is_folder=False),
        "shows_item": not guideline.is_of_queries,
    }
    unusable = given.unusable
    if unusable is not None:
        facts["unusable"] = {"n": len(unusable.queries), **unusable.parameters}
    if judgments is not None:
        excluded = (facts["labels_by"] or {}).get("excluded", {})
        is_out, dropped = judgments["annotator_id"].isin(list(excluded)), path.with_name("dropped.csv")
        first = first_round(Judgments(judgments[~is_out]))
        reasons = read_delimited(given.use(dropped), required=["reason"]) if dropped.is_file() else None
        facts |= facts_of_judgments(
            judgments,
            excluded=excluded,
            dropped=None if reasons is None else reasons["reason"],
            grades=grades_of(first, None),
            level=level_of(None, first, None),
        )
    return MethodFacts(**facts)


def _stage(given: Given, out: Path, *, is_folder: bool) -> Mapping[str, Any] | None:
    """Return parameters and counts of a stage's manifest; None where it was not run."""
    at = manifest_path(out, is_folder=is_folder)
    if not at.is_file():
        return None
    manifest = read_manifest(at)
    given.used.append(at)
    return {**manifest.parameters, **manifest.counts}


def _asked(root: Path) -> Mapping[str, int] | None:
    """Return how many tasks of each kind the campaign's queues hold; None where none has begun."""
    rounds = read_rounds(root)
    return Counter(kind for entry in rounds for kind in entry.assignments["kind"]) if rounds else None
