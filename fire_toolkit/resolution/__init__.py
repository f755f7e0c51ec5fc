"""Judgments to labels and disputes, by named rules, one file each."""

from fire_toolkit.resolution.registry import RULES
from fire_toolkit.resolution.resolve import next_round, resolve

__all__ = ["RULES", "next_round", "resolve"]
