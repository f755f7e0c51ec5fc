"""The files of a release, made of its tables; and what changed since another release."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from fire_toolkit.files import read_text
from fire_toolkit.formats.releases import qrels_of_release, scores_of_release
from fire_toolkit.formats.runs.trec import trec_qrels_text
from fire_toolkit.formats.tables.delimited import delimited_bytes
from fire_toolkit.formats.tables.guideline_files import guideline_files, list_guidelines
from fire_toolkit.release.card import card
from fire_toolkit.release.changes import ReleaseChanges, changelog, compare_releases
from fire_toolkit.release.citation import citation_cff, licence_text, package_files
from fire_toolkit.release.croissant import croissant_json
from fire_toolkit.release.datasheet import datasheet
from fire_toolkit.release.facts import ReleaseFacts
from fire_toolkit.tables import Qrels
from fire_toolkit.workspace.config import Workspace


@dataclass(frozen=True)
class Material:
    """The tables of a release by their names, its qrels, and the pseudonym of each annotator."""

    tables: Mapping[str, pd.DataFrame]
    original: Qrels
    corrected: Qrels
    names: Mapping[str, str]
    has_captions: bool
    has_media: bool


def release_contents(
    workspace: Workspace, facts: ReleaseFacts, material: Material, previous: Path | None
) -> dict[str, bytes]:
    """Return every file of the release but the manifest."""
    tables = material.tables
    full = {name: table for name, table in tables.items() if len(table)}  # `datasets` loads no empty split
    found: dict[str, bytes] = {f"data/{name}.parquet": _parquet(table) for name, table in full.items()}
    hashes = hashes_of(found)
    for name in tables.keys() - {"corpus", "queries", "qrels", "original"}:
        unknown = "" if name == "judgments" else "nan"  # as readers of judgments have a missing number
        found[f"{name}.csv"] = delimited_bytes(tables[name], nan=unknown)
    for name in ("corpus", "queries"):
        found[f"{name}.jsonl"] = _json_lines(tables[name])
    found["qrels/test.tsv"] = delimited_bytes(tables["qrels"], delimiter="\t")
    changes = compare_with(previous, material.corrected, tables["leaderboard"]) if previous else None
    if changes is not None:
        found["changed_pairs.csv"] = delimited_bytes(changes.pairs)
    texts = {
        "qrels.txt": trec_qrels_text(material.corrected),
        "qrels.original.txt": trec_qrels_text(material.original),
        "qrels.json": _by_query(material.corrected),
        "README.md": card(facts, full),
        "croissant.json": croissant_json(facts, full, hashes),
        "DATASHEET.md": datasheet(facts),
        "CITATION.cff": citation_cff(facts),
        "LICENSE": licence_text(facts),
        "CHANGELOG.md": _changelog(facts, previous, changes),
        **package_files(facts),
        **{
            f"guideline/{name}": text
            for name, text in guideline_files(_judged_by(workspace, material)).items()
        },
    }
    return found | {name: text.encode() for name, text in texts.items()}


def _judged_by(workspace: Workspace, material: Material) -> Path | str:
    """Return the guideline that the judgments name, else the workspace's."""
    named = material.tables["judgments"].get("guideline", pd.Series(dtype="str")).unique()
    own = workspace.root / named[0] if len(named) == 1 and named[0] else None
    if own is not None and (named[0] in list_guidelines() or own.is_dir()):
        return own if own.is_dir() else str(named[0])
    return str(workspace.setting("tasks", "guideline"))


def hashes_of(contents: Mapping[str, bytes]) -> dict[str, str]:
    """Return the SHA-256 of each file, by its name."""
    return {name: hashlib.sha256(content).hexdigest() for name, content in sorted(contents.items())}


def _parquet(table: pd.DataFrame) -> bytes:
    """Return a table as Parquet: types survive, ids such as 007 among them, and so do checksums."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    arrow = pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(None)
    pq.write_table(arrow, buffer, compression="zstd", write_page_checksum=True)
    return buffer.getvalue()


def _json_lines(table: pd.DataFrame) -> bytes:
    rows = table.fillna("").astype("str").to_dict("records")
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _by_query(qrels: Qrels) -> str:
    found: dict[str, dict[str, int]] = {}
    for query, doc, relevance in zip(qrels["query_id"], qrels["doc_id"], qrels["relevance"], strict=True):
        found.setdefault(query, {})[doc] = int(relevance)
    return json.dumps(found, ensure_ascii=False) + "\n"


def compare_with(previous: Path, corrected: Qrels, scores: pd.DataFrame | None) -> ReleaseChanges:
    """Return what changed since the release `previous`."""
    before = qrels_of_release(previous)
    return compare_releases(before, corrected, old_scores=scores_of_release(previous), new_scores=scores)


def changes_between(old: Path, new: Path) -> ReleaseChanges:
    """Return what changed from one release to another."""
    return compare_with(old, qrels_of_release(new), scores_of_release(new))


def _changelog(facts: ReleaseFacts, previous: Path | None, changes: ReleaseChanges | None) -> str:
    path = previous / "CHANGELOG.md" if previous else None
    earlier = read_text(path) if path and path.is_file() else ""
    return changelog(facts.version, facts.date, previous=facts.previous, changes=changes, earlier=earlier)
