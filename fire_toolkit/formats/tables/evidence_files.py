"""Evidence on disk: a CSV, or Parquet above a million rows, whose manifest has what is known of the whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fire_toolkit.formats.runs.parquet_files import whole_table
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.formats.tables.table_files import has_columns
from fire_toolkit.tables.evidence import EVIDENCE, Evidence, Facts, check_evidence
from fire_toolkit.workspace.manifests import writer_of
from fire_toolkit.workspace.settled import settled_by

SUFFIXES = CSV, PARQUET = (".csv", ".parquet")
NEEDED = [column.name for column in EVIDENCE.columns if not column.rare]


def evidence_beside(path: Path) -> Path | None:
    """Return the file of evidence that a path names: itself, in a folder, or written with qrels.

    None for qrels of somebody's own.
    """
    if path.is_dir():
        return next((file for each in SUFFIXES if (file := path / f"evidence{each}").is_file()), None)
    if path.suffix == PARQUET or (path.suffix == CSV and path.is_file() and has_columns(path, *NEEDED)):
        return path
    ends = tuple(f"evidence{each}" for each in SUFFIXES)
    written = [name for name in writer_of(path).outputs if name.endswith(ends)] if path.is_file() else []
    return path.with_name(written[0]) if written else None


def read_evidence(path: str | Path) -> Evidence:
    """Return evidence: a file, or the folder that holds it.

    Raises:
        FormatError: no such file, or one that holds something else.
        TableError: what is wrong with its rows.
    """
    path = Path(path)
    file = evidence_beside(path) or path
    is_parquet = file.suffix == PARQUET
    found = whole_table(file).to_pandas() if is_parquet else read_delimited(file, required=NEEDED)
    return Evidence(check_evidence(found, where=str(file)), facts_of(file))


def facts_of(path: Path) -> Facts:
    """Return what the manifest of `augment` says of evidence as a whole; of somebody's own file nothing."""
    writer = writer_of(path)
    if not writer:
        return Facts()
    given: dict[str, Any] = writer.parameters
    return Facts(
        policy=str(given.get("policy", "union")),
        original_grade=given.get("original_grade"),
        grade_from=str(given.get("original_grade_from", "")),
        highest_grade=given.get("highest_grade"),
        unusable=str(given.get("unusable", "")),
        n_queries=int(given.get("n_queries", 0)),
        n_labelled=int(given.get("n_labelled", 0)),
        settled=settled_by(path),
        counts=writer.counts,
        backbone=str(given.get("backbone", "")),
    )
