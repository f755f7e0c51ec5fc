"""Benchmarks' own files, recognised by content and read into queries, items and positives."""

from fire_toolkit.formats.collections.registry import (
    READERS,
    Recognised,
    own_item_rule_of,
    read_collection,
    recognise,
)

__all__ = ["READERS", "Recognised", "own_item_rule_of", "read_collection", "recognise"]
