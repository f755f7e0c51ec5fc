"""Benchmarks' own files, recognised by content and read into queries, items and positives."""

from fire_toolkit.formats.collections.registry import READERS as READERS
from fire_toolkit.formats.collections.registry import own_item_rule_of as own_item_rule_of
from fire_toolkit.formats.collections.registry import read_collection as read_collection
