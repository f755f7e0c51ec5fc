"""What a workspace's files say of how its labels were made, for the paragraphs of a paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from fire_toolkit.agreement.summary import agreement_summary
from fire_toolkit.campaign.records import read_rounds
from fire_toolkit.cli.designs import policy_of
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.judged_files import grades_of, judgments_from, level_of, rules_of
from fire_toolkit.cli.unusable import unusable_of
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.reporting.methods import STUDY, MethodFacts
from fire_toolkit.tables import Judgments, first_round
from fire_toolkit.tables.columns import PAIR
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
        "pool": _stage(root / "pool", is_folder=True),
        "guideline": guideline.name,
        "question": guideline.question,
        "answers": [label.name for label in guideline.labels],
        "asked": _asked(root),
        "policy": policy_of(root) or "",
        "labels_by": _stage(root / "labels", is_folder=True),
        "augmented": _stage(root / "augmented/qrels.txt", is_folder=False),
        "shows_item": not guideline.is_of_queries,
    }
    unusable = unusable_of(given)
    if unusable is not None:
        facts["unusable"] = {"n": len(unusable.queries), **unusable.parameters}
    if judgments is not None:
        excluded = (facts["labels_by"] or {}).get("excluded", {})
        facts |= _of_judgments(judgments, excluded, path.with_name("dropped.csv"), given)
    return MethodFacts(**facts)


def _stage(out: Path, *, is_folder: bool) -> Mapping[str, Any] | None:
    """Return parameters and counts of a stage's manifest; None where it was not run."""
    at = manifest_path(out, is_folder=is_folder)
    if not at.is_file():
        return None
    manifest = read_manifest(at)
    return {**manifest.parameters, **manifest.counts}


def _asked(root: Path) -> Mapping[str, int] | None:
    """Return how many tasks of each kind the campaign's queues hold; None where none has begun."""
    rounds = read_rounds(root)
    return Counter(kind for entry in rounds for kind in entry.assignments["kind"]) if rounds else None


def _of_judgments(
    judgments: Judgments, excluded: Collection[str], dropped: Path, given: Given
) -> dict[str, Any]:
    """Return what judgments say; those of annotators whom `resolve` left out are counted, and no more."""
    kept = judgments[~judgments["annotator_id"].isin(list(excluded))]
    first = first_round(Judgments(kept.reset_index(drop=True)))
    seconds = judgments["duration_s"].dropna()
    moments = pd.to_datetime(judgments["created_at"], utc=True, format="ISO8601", errors="coerce").dropna()
    counts: dict[str, Any] = {
        "judgments": len(judgments),
        "pairs": len(judgments.drop_duplicates(PAIR)),
        "annotators": judgments["annotator_id"].nunique(),
        "hours": float(seconds.sum()) / 3600,
    }
    if len(seconds):
        counts["seconds"] = tuple(float(seconds.quantile(share)) for share in (0.25, 0.5, 0.75))
    if len(moments):
        counts["days"] = tuple(str(moment.date()) for moment in (moments.min(), moments.max()))
    grades, level = grades_of(first, None), level_of(None, first, None)
    reasons = read_delimited(given.use(dropped), required=["reason"])["reason"] if dropped.is_file() else None
    return {
        "judgments": counts,
        "dropped": None if reasons is None else dict(sorted(Counter(reasons).items())),
        "n_later": len(kept) - len(first),
        "agreement": agreement_summary(first, grades=grades, level=level, all_rounds=True),
    }
