"""Judgments to labels and disputes, by named rules, one file each."""

from fire_toolkit.resolution.changes import label_changes
from fire_toolkit.resolution.registry import RULES
from fire_toolkit.resolution.resolve import next_round, resolve

__all__ = ["RULES", "label_changes", "next_round", "resolve"]
