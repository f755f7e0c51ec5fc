"""Judgments to labels and disputes, by named rules, one file each."""

from fire_toolkit.resolution.changes import against_majority, label_changes
from fire_toolkit.resolution.flagged import flagged_pairs
from fire_toolkit.resolution.plan import RoundPlan, plan_round
from fire_toolkit.resolution.registry import RULES
from fire_toolkit.resolution.rejected import rejected_originals
from fire_toolkit.resolution.resolve import Resolution, next_round, resolve, resolve_in_full
from fire_toolkit.resolution.settle import settle_disputes
from fire_toolkit.resolution.without import LabelsWithout, labels_without_each

__all__ = [
    "RULES",
    "LabelsWithout",
    "Resolution",
    "RoundPlan",
    "against_majority",
    "flagged_pairs",
    "label_changes",
    "labels_without_each",
    "next_round",
    "plan_round",
    "rejected_originals",
    "resolve",
    "resolve_in_full",
    "settle_disputes",
]
