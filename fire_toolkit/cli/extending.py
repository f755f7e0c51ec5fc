"""judgments.csv and dropped.csv of before with what new answers change in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd

from fire_toolkit import __version__
from fire_toolkit.campaign.ledger_judgments import ledger_to_judgments, notes_of
from fire_toolkit.campaign.ledger_part import rows_beside
from fire_toolkit.campaign.ledger_splice import columns_of, spliced
from fire_toolkit.campaign.records import LEDGER_FOLDER, files_of_rounds, rounds_about
from fire_toolkit.campaign.tasks import split_pair_ids
from fire_toolkit.campaign.votes import DROPPED_ORDER
from fire_toolkit.errors import FireError
from fire_toolkit.files import read_bytes, sha256_of
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.formats.tables.table_files import typed_judgments
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.tables import JUDGMENTS, Judgments, check_judgments
from fire_toolkit.workspace.hashes import read_sealed, write_sealed
from fire_toolkit.workspace.manifests import Manifest, manifest_path, read_manifest
from fire_toolkit.workspace.segments import segments_of

RECORD = ".fire-judged"
_ORDER = {"judgments.csv": JUDGMENTS.order, "dropped.csv": DROPPED_ORDER}
_COUNTED = {
    "judgments.csv": ("annotator_id", "flags", "origin", "round", "kind"),
    "dropped.csv": ("reason",),
}


@dataclass(frozen=True)
class Derived:
    """The two files, as tables or as they are; their columns that are counted; what is to be said of them."""

    files: Mapping[str, pd.DataFrame | bytes]
    judgments: pd.DataFrame
    dropped: pd.DataFrame
    notes: tuple[str, ...]


def extended(root: Path, out: Path, rules: Guideline) -> Derived | None:
    """Return what all judgments made anew would be, from the files of before and the rows that are new.

    root: the workspace; out: its judgments.csv; rules: the guideline.

    None where that cannot be told: the files or what was asked of whom are not those of then, another version
    of the toolkit made them, or `rows_beside` has to look at all rows.
    """
    manifest = _own_manifest(root, out, rules)
    if manifest is None:
        return None
    try:
        before = {name: read_bytes(out.with_name(name)) for name in _ORDER}
        if {name: sha256(content).hexdigest() for name, content in before.items()} != manifest.outputs:
            return None
        known = [Path(name).name for name in manifest.inputs if name.startswith(f"{LEDGER_FOLDER}/")]
        by_page = b"page" in before["judgments.csv"].split(b"\n", 1)[0].split(b",")
        part = rows_beside(root / LEDGER_FOLDER, known, by_page=by_page)
        if part is None:
            return None
        rows = part.rows
        pairs = split_pair_ids(rows["pair_id"])
        if len(pairs) < rows["pair_id"].nunique():
            return None
        found = ledger_to_judgments(rows, rounds_about(root, pairs), guideline=rules)
    except FireError:
        return None  # made anew, all is looked at, and what is wrong is said
    tables = {"judgments.csv": found.judgments, "dropped.csv": found.dropped}
    files = {
        name: spliced(before[name], table, order=_ORDER[name], pairs=pairs.values())
        for name, table in tables.items()
    }
    if any(content is None for content in files.values()):
        return None
    return _derived({name: content for name, content in files.items() if content is not None}, rules)


def _derived(files: Mapping[str, bytes], rules: Guideline) -> Derived:
    judgments, dropped = (columns_of(files[name], _COUNTED[name]) for name in _ORDER)
    judgments = judgments.assign(round=judgments["round"].astype("int64"))
    return Derived(files, judgments, dropped, notes_of(judgments, dropped, rules))


def judgments_now(root: Path, out: Path, rules: Guideline) -> Judgments | None:
    """Return what `ledger_to_judgments` makes of the whole ledger, as the file `out` has it.

    None where that cannot be told, as `extended`; or where it has pages of several captions.
    """
    manifest = _own_manifest(root, out, rules)
    there = {f"{LEDGER_FOLDER}/{path.name}" for path in segments_of(root / LEDGER_FOLDER)}
    if manifest is None or there != {n for n in manifest.inputs if n.startswith(f"{LEDGER_FOLDER}/")}:
        return None
    if not out.is_file() or sha256_of(out) != manifest.outputs[out.name]:
        return None
    judgments = typed_judgments(check_judgments(read_delimited(out)), where=str(out))
    return None if "page" in judgments.columns else judgments


def keep_asked(root: Path, out: Path, asked: Mapping[str, str]) -> None:
    """Write down what was asked of whom (`files_of_rounds`) when the files beside a manifest were made."""
    write_sealed(root / RECORD, _record(out, asked))


def _record(out: Path, asked: Mapping[str, str]) -> dict[str, Any]:
    content = read_bytes(manifest_path(out, is_folder=False))
    return {"manifest": sha256(content).hexdigest(), "asked": dict(asked)}


def _own_manifest(root: Path, out: Path, rules: Guideline) -> Manifest | None:
    """Return the manifest of files that this version made from what is asked of whom now."""
    at = manifest_path(out, is_folder=False)
    if not at.is_file() or read_sealed(root / RECORD) != _record(out, files_of_rounds(root)):
        return None
    manifest = read_manifest(at)
    is_own = manifest.tool_version == __version__ and manifest.parameters == rules.record
    return manifest if is_own else None
