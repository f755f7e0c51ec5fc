"""Judgments to labels and disputes, by named rules, one file each."""

from fire_toolkit.resolution.changes import against_majority as against_majority
from fire_toolkit.resolution.flagged import flagged_pairs as flagged_pairs
from fire_toolkit.resolution.plan import RoundPlan as RoundPlan
from fire_toolkit.resolution.plan import plan_round as plan_round
from fire_toolkit.resolution.registry import RULES as RULES
from fire_toolkit.resolution.rejected import rejected_originals as rejected_originals
from fire_toolkit.resolution.resolve import Resolution as Resolution
from fire_toolkit.resolution.resolve import next_round as next_round
from fire_toolkit.resolution.resolve import resolve as resolve
from fire_toolkit.resolution.resolve import resolve_in_full as resolve_in_full
from fire_toolkit.resolution.settle import settle_disputes as settle_disputes
from fire_toolkit.resolution.without import LabelsWithout as LabelsWithout
from fire_toolkit.resolution.without import labels_without_each as labels_without_each
