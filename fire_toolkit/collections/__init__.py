"""Queries, items and original positives of a benchmark: put together, audited, compared by text."""

from fire_toolkit.collections.parts import Collection as Collection
