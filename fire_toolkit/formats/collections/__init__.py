"""A benchmark's own files to queries, items and positives: one file a format, recognised by content."""

from fire_toolkit.formats.collections.registry import (
    READERS,
    Recognised,
    own_item_rule_of,
    read_collection,
    recognise,
)

__all__ = ["READERS", "Recognised", "own_item_rule_of", "read_collection", "recognise"]
