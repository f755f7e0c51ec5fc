"""Runs that a vector search found: which index searched, as their manifests say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fire_toolkit.workspace.manifests import writer_of


def approximate_index(path: Path) -> str | None:
    """Return the index that searched for a run, and its recall, in words; None where every doc was compared.

    Args:
        path: the run's file; one that `add-run` did not write has no index.

    Raises:
        FormatError: its manifest is damaged.
    """
    writer = writer_of(path)
    return in_words(writer.counts.get("index")) if writer else None


def in_words(index: Any) -> str | None:
    """Return what a manifest says of an index in words, None where every doc was compared."""
    if not isinstance(index, Mapping) or index.get("is_exact"):
        return None
    recall = index.get("recall")
    return f"{index.get('name')}: {recall['words'] if isinstance(recall, Mapping) else 'recall not measured'}"
