"""What files and manifests say of the labels that a command is given, see `inference.background`."""

from __future__ import annotations

import pandas as pd

from fire_toolkit.cli.as_augmented import guideline_grade, policy_of
from fire_toolkit.cli.auditing import audit_if_any
from fire_toolkit.cli.common import workspace_path
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.score_design import design_if_any
from fire_toolkit.evidence.qrels import words_of_shared
from fire_toolkit.inference.background import Background
from fire_toolkit.tables import Labels
from fire_toolkit.tables.design import DESIGN
from fire_toolkit.workspace.manifests import writer_of
from fire_toolkit.workspace.settled import settled_by


def labels_beside(given: Given) -> Labels | None:
    """Return the labels of augmented qrels, where there are any; those that honest rows need."""
    if given.values.get("honest"):
        return given.labels
    return None if given.augmented_if_any is None else given.labels_if_any


def background_of(given: Given) -> Background:
    """Return what is known of the labels and augmented qrels; nothing where a command has neither."""
    labels = labels_beside(given)
    if labels is None and given.augmented_if_any is None:
        return Background()
    path = given.found("augmented") if given.augmented_if_any is not None else None
    writer = writer_of(path) if path else None
    counts = writer.counts if writer else {}
    return Background(
        disputes=None if labels is None else _disputes(given, labels),
        design=design_if_any(given),
        audit=None if labels is None else audit_if_any(given),
        is_settled=_are_settled(given),
        policy=policy_of(given),
        unusable=given.unusable,
        original_grade=given.original_grade,
        highest_grade=guideline_grade(given),
        label_errors=counts.get("label_errors", {}),
        notes=words_of_shared(counts),
    )


def _disputes(given: Given, labels: Labels) -> pd.DataFrame | None:
    """Return the disputes beside labels that hold a design; None where there is no such file."""
    if not set(DESIGN) <= set(labels.columns) or _are_settled(given):
        return None
    is_there = given.needed("labels").with_name("disputes.csv").is_file()
    return given.disputes if is_there else None


def _are_settled(given: Given) -> bool:
    """Return whether the pool, or the augmented qrels, were asked until a measure was settled."""
    pool = given.found("pool_sources") if "pool_sources" in given.values else workspace_path("pool/pool.csv")
    augmented = given.found("augmented") if "augmented" in given.values else None
    return any(path is not None and settled_by(path) is not None for path in (pool, augmented))
