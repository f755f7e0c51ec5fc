"""Judgments that were written to files, brought up to what the record says now by what has changed since.

The record keeps of the files last written the hash of their manifest, and up to where it was counted then.
Where the files are still these, only the pairs with something new are read anew, and the others taken as they
stand; where they are not, all is. Both give the same tables.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fire_toolkit import __version__
from fire_toolkit.campaign.counting import UpTo, counted_up_to
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.views import changed_pairs, dropped_of, notes_of, record_to_judgments
from fire_toolkit.campaign.votes import ImportResult
from fire_toolkit.files import sha256_of
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.resolution.judgments import typed_judgments
from fire_toolkit.tables import JUDGMENTS, Judgments, check_dropped, check_judgments
from fire_toolkit.tables.checks import ordered
from fire_toolkit.tables.columns import pair_rows
from fire_toolkit.workspace.manifests import manifest_path, read_manifest

FILES = ("judgments.csv", "dropped.csv")
_KEPT = "create table if not exists written (manifest text, answer integer, task integer, n_answers integer)"
_N_ANSWERS = "select count(*) from answers where number <= ?"
_IS_KEPT = "select 1 from sqlite_master where name = 'written'"


def keep_written(store: Store, file: Path, up_to: UpTo) -> None:
    """Keep that the judgments in `file`, and what was dropped beside it, are of what was counted `up_to`."""
    with store.database.transaction() as db:
        db.execute(_KEPT)
        db.execute("delete from written")
        ((n_answers,),) = db.execute(_N_ANSWERS, [up_to.answer]).fetchall()
        db.execute("insert into written values (?, ?, ?, ?)", [_hash_of_manifest(file), *up_to, n_answers])


def judgments_now(
    store: Store, file: Path, *, guideline: Guideline, is_anew: bool = False
) -> tuple[ImportResult, UpTo]:
    """Return what `record_to_judgments` does, and up to where it is counted.

    file: where the judgments were written last, which are gone on from unless is_anew.
    """
    store.count()
    up_to = counted_up_to(store.database)
    before = None if is_anew else _written_before(store, file, guideline)
    if before is not None:
        old, since = before
        pairs = changed_pairs(store, since)
        new = record_to_judgments(store, guideline=guideline, only_changed=True)
        if list(old.judgments) == list(new.judgments):
            judgments = ordered(_both(old.judgments, new.judgments, pairs), JUDGMENTS.order)
            dropped = dropped_of([_both(old.dropped, new.dropped, pairs)])
            notes = notes_of(judgments, dropped, guideline)
            return ImportResult(Judgments(judgments), dropped, notes), up_to
    return record_to_judgments(store, guideline=guideline), up_to


def _both(old: pd.DataFrame, new: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that were written, but those on pairs that have changed as they are now."""
    kept = old[pair_rows(old, pairs) < 0] if len(old) else old
    parts = [table for table in (kept, new) if len(table)]
    return pd.concat(parts, ignore_index=True) if parts else new


def _written_before(store: Store, file: Path, guideline: Guideline) -> tuple[ImportResult, UpTo] | None:
    """Return what was written last, and up to where it is counted.

    None where they are not known to be what this version of the package writes by this guideline, where rows
    were taken out of the record, or where answers were given on pages of several captions, whose times hang
    together.
    """
    at = manifest_path(file, is_folder=False)
    kept = store.database.select("select * from written") if store.database.select(_IS_KEPT) else []
    if not at.is_file() or not kept or kept[0][0] != _hash_of_manifest(file):
        return None
    _, *since, n_answers = kept[0]
    n_there = store.database.select(_N_ANSWERS, since[:1])
    if n_there != [(n_answers,)] or counted_up_to(store.database).task < since[1]:
        return None
    manifest = read_manifest(at)
    if manifest.tool_version != __version__ or manifest.parameters != guideline.record:
        return None
    paths = [file.with_name(name) for name in FILES]
    if not all(path.is_file() and sha256_of(path) == manifest.outputs.get(path.name) for path in paths):
        return None
    judgments, dropped = map(read_delimited, paths)
    if "page" in judgments:
        return None
    typed = typed_judgments(check_judgments(judgments), where=FILES[0])
    return ImportResult(typed, check_dropped(dropped), ()), UpTo(*since)


def _hash_of_manifest(file: Path) -> str:
    return sha256_of(manifest_path(file, is_folder=False))
