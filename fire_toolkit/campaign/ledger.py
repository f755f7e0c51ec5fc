"""The record of raw answers: append-only segments in a folder, from which nothing is ever taken away.

A segment is a Parquet file named by the hash of its bytes, so a damaged or foreign one is known by its
name, and two sites' ledgers are merged by copying files. An edit or a deletion on the server is a row of its
own; which version of an answer counts is computed when reading. A row has one id wherever it was
seen, so that appending twice, or merging what overlaps, changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NewType

import pandas as pd

from fire_toolkit.errors import FormatError, TableError
from fire_toolkit.files import text_sha256
from fire_toolkit.tables.checks import Column, TableSpec, check_table
from fire_toolkit.workspace.segments import SegmentKind, append_segment, sound_segments

Ledger = NewType("Ledger", pd.DataFrame)

ANSWERED = "answered"
EDITED = "edited"
DELETED = "deleted"
RESTORED = "restored"
STATES = (ANSWERED, EDITED, DELETED, RESTORED)

LEDGER = TableSpec(
    "ledger",
    (
        Column("row_id", "id"),
        Column("source", "text"),
        Column("project", "text"),
        Column("annotation", "text"),
        Column("updated_at", "text", missing=True),
        Column("state", "id"),
        Column("seen_at", "text"),
        Column("pair_id", "text", missing=True),
        Column("task", "text", missing=True),
        Column("queue", "text", missing=True),
        Column("annotator_id", "text", missing=True),
        Column("answer", "text"),
    ),
    ("row_id",),
    order=("annotation", "updated_at", "seen_at", "row_id"),
)
SEGMENTS = SegmentKind(LEDGER.names, b"fire_toolkit.ledger")


def check_ledger(table: pd.DataFrame, *, where: str = "") -> Ledger:
    """Return `table` as Ledger, or raise `TableError` with all that is wrong with it.

    source: the server (or file) it was read from; project: its number there; annotation: the key of the
    answer (`annotation_key`); updated_at: the version, UTC; state: `answered` (first seen), `edited` (a later
    version), `deleted` (this version is gone from the server), `restored` (it is there again); seen_at: when
    it was read, UTC; pair_id: the pair, empty if the task named none; task: the task's number; queue: the
    round and annotator that the project was made for, empty if unknown; annotator_id: the author, empty
    if the account was gone; answer: the annotation as the server gave it, JSON.
    """
    checked = check_table(LEDGER, table, where=where)
    unknown = sorted(set(checked["state"]) - set(STATES))
    if unknown:
        raise TableError(f"{where or 'ledger'}: state {', '.join(unknown)}, expected {', '.join(STATES)}")
    return Ledger(checked)


def annotation_key(source: str, project: str, number: int, unique_id: str) -> str:
    """Return what makes two entries versions of one answer.

    Numbers are used again after a deletion and differ between servers; a unique id, where there is one,
    is the same everywhere.

    Examples:
        >>> annotation_key("http://a", "7", 3, "b09f5cac")
        'b09f5cac'
        >>> annotation_key("http://a", "7", 3, "")
        'http://a#7#3'
    """
    return unique_id or f"{source}#{project}#{number}"


def row_id(source: str, project: str, annotation: str, updated_at: str, state: str, seen_at: str) -> str:
    """Return the id of a row: the hash of what it says was seen.

    A version of an answer has one id, whenever it is seen and whether or not it was the first; a deletion
    and a restoration are events, so that the time at which they were noticed is part of them.
    """
    is_event = state in (DELETED, RESTORED)
    parts = [source, project, annotation, updated_at, *((state, seen_at) if is_event else ())]
    return text_sha256("\x1f".join(parts))[:32]


def append_rows(folder: Path, rows: Ledger, *, known: Iterable[str] = ()) -> int:
    """Add the rows that are not in `known` to the ledger as one segment, and return how many these are.

    Args:
        folder: the ledger; made if it is not there.
        rows: checked rows.
        known: ids of rows that the ledger has (`read_ledger`).

    After a kill the whole segment is there or none of it. Nothing new: nothing is written.

    Raises:
        FireError: the folder cannot be written, or the disk is full; the ledger is as it was.
    """
    there = set(known)
    new = Ledger(rows[[row not in there for row in rows["row_id"]]]) if there else rows
    append_segment(folder, new, SEGMENTS)
    return len(new)


def read_ledger(folder: Path) -> Ledger:
    """Return all rows of the ledger in `folder`, each once; empty if there is no such folder.

    Of a row in several segments the one that was seen first stands.

    Raises:
        FormatError: segments that are damaged, cut short or foreign, each by name; the others can be read
            when these are moved elsewhere.
    """
    return ledger_of(ledger_tables(folder))


def ledger_tables(folder: Path, *, names: Sequence[str] = LEDGER.names) -> list[Any]:
    """Return the Arrow table of each segment of the ledger in `folder`, as it was written.

    names: the columns to read.

    Raises:
        FormatError: as `read_ledger`.
    """
    tables, problems = sound_segments(folder, SEGMENTS, names=names)
    if problems:
        raise FormatError(
            f"{'; '.join(problems)}; move {'it' if len(problems) == 1 else 'them'} out of the ledger "
            "(`fire-toolkit pull --full` then reads again what the server still has), or copy "
            f"{'it' if len(problems) == 1 else 'them'} from another copy of the ledger"
        )
    return tables


def ledger_of(tables: Sequence[Any]) -> Ledger:
    """Return the rows of segments in the ledger's order, each once."""
    import pyarrow as pa

    if not tables:
        return empty_ledger()
    # By all columns, so that it does not matter which segment holds a row.
    table = pa.concat_tables(tables)
    order = dict.fromkeys((*LEDGER.order, *table.column_names))
    rows = table.sort_by([(name, "ascending") for name in order]).to_pandas()
    if rows["row_id"].duplicated().any():
        # An id stands for annotation and updated_at, so the first of its rows is the one that was seen first.
        rows = rows.drop_duplicates("row_id", ignore_index=True)
    return Ledger(rows)


def empty_ledger() -> Ledger:
    """Return a ledger without rows."""
    return check_ledger(pd.DataFrame({name: pd.Series(dtype="str") for name in LEDGER.names}))


def latest_answers(ledger: Ledger) -> Ledger:
    """Return the version of each answer that counts: the last one, with what became of it.

    Args:
        ledger: any rows.

    Returns:
        One row for each annotation: of the versions the one with the highest updated_at (of several sources
        of the same version one that names the author and the queue, then the first by name). Its state is
        `deleted` if the last word on that version is a deletion; else `edited` if there are earlier
        versions, or `answered`. The author is the last one known, also if the account was deleted since.

    A version that is seen again after its deletion (in an old export, say) does not come back; a server that
    shows it again is recorded as `restored`.
    """
    is_alone = ~ledger["annotation"].duplicated(keep=False)
    alone = ledger[is_alone]
    state = alone["state"].where(alone["state"] == DELETED, ANSWERED)
    rows = pd.concat([alone.assign(state=state), _last_of_several(Ledger(ledger[~is_alone]))])
    return Ledger(in_order(rows[list(LEDGER.names)]))


def in_order(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows of a ledger in its order."""
    import pyarrow as pa
    from pyarrow import compute

    keys = pa.table({name: pa.array(rows[name].array, pa.large_string()) for name in LEDGER.order})
    places = compute.sort_indices(keys, sort_keys=[(name, "ascending") for name in LEDGER.order])
    return rows.take(places.to_numpy()).reset_index(drop=True)


def _last_of_several(ledger: Ledger) -> pd.DataFrame:
    """Return what counts of answers that have several rows."""
    known = ledger.assign(is_nameless=ledger["annotator_id"] == "", is_loose=ledger["queue"] == "")
    best = ["is_nameless", "is_loose", "source", "project", "row_id"]
    versions = known.sort_values(["annotation", "updated_at", *best], kind="stable")
    versions = versions.drop_duplicates(["annotation", "updated_at"])
    last = versions.drop_duplicates("annotation", keep="last").set_index("annotation", drop=False)
    named = versions[~versions["is_nameless"]].drop_duplicates("annotation", keep="last")
    authors = named.set_index("annotation")["annotator_id"].reindex(last.index)
    n_versions = versions["annotation"].value_counts().reindex(last.index)
    state = pd.Series(ANSWERED, index=last.index).where(n_versions == 1, EDITED)
    return last.assign(
        annotator_id=last["annotator_id"].where(last["annotator_id"] != "", authors.fillna("")),
        state=state.where(~_is_gone(ledger, last), DELETED),
    )


def _is_gone(ledger: Ledger, last: pd.DataFrame) -> pd.Series[bool]:
    """Return for each annotation of `last` (its index) whether the last word on it is a deletion."""
    events = ledger[ledger["state"].isin([DELETED, RESTORED])]
    events = events.sort_values(["annotation", "updated_at", "seen_at", "row_id"], kind="stable")
    final = events.drop_duplicates("annotation", keep="last").set_index("annotation").reindex(last.index)
    return (final["state"] == DELETED) & (final["updated_at"] == last["updated_at"])
