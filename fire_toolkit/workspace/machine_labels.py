"""What augmented qrels hold of a machine judge's labels, as their manifest says."""

from __future__ import annotations

from pathlib import Path

from fire_toolkit.tables.machine import words_of_machine
from fire_toolkit.workspace.manifests import manifest_path, read_manifest


def machine_labels_in(qrels: Path) -> list[str]:
    """Return what no person labelled of a file of qrels, in words."""
    at = manifest_path(qrels, is_folder=False)
    if not at.is_file():
        return []
    manifest = read_manifest(at)
    return words_of_machine({**manifest.parameters, **manifest.counts})
