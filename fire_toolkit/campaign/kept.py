"""Answers into the tables of the record: what many share once, all else by row, and the hash of both.

They come as rows, or as columns where a whole file is read at once.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count, islice, pairwise
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import compute

from fire_toolkit.arrays import Ints
from fire_toolkit.campaign.ledger import ANSWERED, COLUMNS, STATES
from fire_toolkit.campaign.said import Kept, Version, read_said, version_of, versions_of
from fire_toolkit.campaign.schema import KEPT, LATE, NAMES, OWN, SHARED
from fire_toolkit.errors import TableError
from fire_toolkit.resolution.judgments import utc_time
from fire_toolkit.tables.coded import Coded, coded, joined, same
from fire_toolkit.workspace.database import Database

# Rows by columns: a sequence of each column of `KEPT` that rows have of their own, coded what they share.
Columns = Mapping[str, Any]
Numbers = dict[str, dict[Kept, int]]  # of a table of what rows share: of each value
AsNew = Callable[[Kept, Sequence[Version]], Kept | None]
AT_ONCE = 20_000
_ROWS_OF_A_STATEMENT = 100
_ROW = f"({', '.join('?' * (2 + len(OWN) + len(SHARED)))})"
_MARK = "\x1f"
_LAST = "select number, sha256 from batches order by number desc limit 1"
_NO_SERVERS = ("file:", "page:")
_PLACES = ("source", "annotation", "seen_at", "pair_id", "answer", "state")
_SOURCE, _KEY, _SEEN_AT, _PAIR, _ANSWER, _STATE = map(COLUMNS.index, _PLACES)
_key_of, _state_of = itemgetter(_KEY), itemgetter(_STATE)


def add_chunks(database: Database, chunks: Iterable[Sequence[Kept] | Columns], as_new: AsNew) -> Counter[str]:
    """Add those of the rows that are new, all or none; return how many of each state there were.

    Args:
        database: the record.
        chunks: rows, or columns of first answers; each is looked at after the one before it was inserted.
        as_new: gives the row to add of one that is there in versions, which it may be one of: then None.
    """
    chunks = iter(chunks)
    counts, seen, numbers = Counter[str](), set[str](), count(1 << 40)
    chunk = next(chunks, None)
    if not chunk:
        return counts
    with database.transaction() as db:
        was_empty = not db.execute("select 1 from answers limit 1").fetchall()  # all there is was seen here
        shared: Numbers | None = {} if was_empty else None
        is_indexed_last = was_empty and len(_names_in(chunk)) == AT_ONCE  # sorted once, not row by row
        if is_indexed_last:
            drop_indexes(db)
        while chunk:
            names = _names_in(chunk)
            distinct = set(names)
            again = seen & distinct if was_empty else distinct
            if again and is_indexed_last:
                make_indexes(db)
                is_indexed_last = False
            known = versions_of(database, again) if again else {}
            if len(distinct) < len(names):
                known = {name: [] for name, n in Counter(names).items() if n > 1} | known
            seen |= distinct if was_empty else set()
            if isinstance(chunk, Mapping) and not known:
                counts[ANSWERED] += len(names)
                keep_columns(db, chunk, shared)
            else:
                new = _new(rows_of(chunk) if isinstance(chunk, Mapping) else chunk, known, as_new, numbers)
                counts.update(map(_state_of, new))
                if unknown := sorted(counts.keys() - set(STATES)):
                    raise TableError(f"ledger: state {', '.join(unknown)}, expected {', '.join(STATES)}")
                keep_rows(db, new, shared)
            chunk = next(chunks, None)
        if is_indexed_last:
            make_indexes(db)
    return counts


def _new(
    rows: Iterable[Kept], known: Mapping[str, list[Version]], as_new: AsNew, numbers: Iterator[int]
) -> list[Kept]:
    """Return the rows that are new.

    known: the versions of answers that are there or come twice, to which the new ones are added; numbers: of
    new versions.
    """
    new = []
    for row in rows:
        versions = known.get(row[_KEY])
        if (found := as_new(row, versions or ())) is not None:
            new.append(found)
            if versions is not None:
                insort(versions, version_of(found, next(numbers)))
    return new


def _names_in(chunk: Sequence[Kept] | Columns) -> Sequence[str]:
    """Return the names of the answers in a chunk."""
    return chunk["annotation"] if isinstance(chunk, Mapping) else list(map(_key_of, chunk))


def chunks_of(rows: Iterable[Kept]) -> Iterator[Sequence[Kept]]:
    """Return rows as chunks."""
    rows = iter(rows)
    return iter(lambda: list(islice(rows, AT_ONCE)), [])


def keep_rows(db: sqlite3.Connection, rows: Sequence[Kept], known: Numbers | None = None) -> None:
    """Add rows as `keep_columns` does, with what each says, which is read where a row has it not."""
    if not rows:
        return
    unread = [row for row in rows if len(row) == len(COLUMNS)]
    said = read_said([row[_PAIR] for row in unread], [row[_ANSWER] for row in unread])
    kept = [(*row, *next(said)) if len(row) == len(COLUMNS) else row for row in rows] if unread else rows
    keep_columns(db, columns_of(kept), known)


def columns_of(rows: Sequence[Kept]) -> Columns:
    """Return rows as columns."""
    columns = zip(KEPT, zip(*rows, strict=True), strict=True)
    return {name: column if name in OWN else coded(column) for name, column in columns}


def part_of(columns: Columns, start: int, stop: int) -> Columns:
    """Return some rows of columns."""
    part = slice(start, stop)
    return {
        name: column.of_rows(part) if isinstance(column, Coded) else column[part]
        for name, column in columns.items()
    }


def rows_of(columns: Columns) -> list[Kept]:
    """Return columns as rows."""
    each = (columns[name] for name in KEPT)
    lists = (column.rows().tolist() if isinstance(column, Coded) else column for column in each)
    return list(zip(*lists, strict=True))


def keep_columns(db: sqlite3.Connection, columns: Columns, known: Numbers | None = None) -> None:
    """Add rows behind all that are there.

    known: all that rows share so far, where that is known; what is new is added to it.
    """
    last, before = db.execute(_LAST).fetchone() or (0, b"")
    own, shared = _apart(columns)
    hashes = _hashes(own, shared)
    numbers = range(last + 1, last + 1 + len(hashes))
    places = []
    for table, (codes, values, texts) in zip(SHARED, shared, strict=True):
        places.append(np.array(_numbers(db, table, values, texts, known), dtype=np.int64)[codes].tolist())
    for name in ("created_at", "changed_at"):  # mostly that of the version, and not written again
        both = zip(own[name], own["updated_at"], strict=True)
        own[name] = [None if moment == updated_at else moment for moment, updated_at in both]
    _insert(db, [numbers, *own.values(), *places, hashes])
    origins = (dict(zip(NAMES["origins"], value, strict=True)) for value in shared[0].values)
    seen = _seen((origin["seen_at"], origin["source"]) for origin in origins)
    batch = [numbers[-1], *seen, batch_sha256(before, hashes)]
    db.execute("insert into batches values (?, ?, ?, ?)", batch)


def _insert(db: sqlite3.Connection, columns: Sequence[Sequence[Any]]) -> None:
    """Insert versions, many with each statement: it takes longer to begin one than to add a row."""
    rows = zip(*columns, strict=True)
    while values := list(islice(rows, _ROWS_OF_A_STATEMENT)):
        marks = ", ".join([_ROW] * len(values))
        db.execute(f"insert into versions values {marks}", list(chain.from_iterable(values)))


def drop_indexes(db: sqlite3.Connection) -> None:
    """Take away the indexes that are sorted at once behind very many rows."""
    for name in LATE:
        db.execute(f"drop index {name}")


def make_indexes(db: sqlite3.Connection) -> None:
    """Make the indexes that `drop_indexes` took away."""
    for statement in LATE.values():
        db.execute(statement)


class _Shared(NamedTuple):
    """What rows have of a table that they share: the place of each, and the values as values and as texts."""

    codes: Ints
    values: Sequence[Kept]
    texts: Sequence[str]


def _apart(columns: Columns) -> tuple[dict[str, Sequence[Any]], list[_Shared]]:
    """Return what rows have of their own as columns, then what they share, for each table."""
    answer, is_elsewhere = columns["answer"], columns["is_elsewhere"]
    n_rows = len(columns["annotation"])
    columns = {**columns, "answer": same(None, n_rows)}
    own = {name: columns[name] for name in OWN}
    if not any(is_elsewhere.distinct):
        own["answer"] = answer
    elif all(is_elsewhere.distinct):
        own["answer"] = [None] * n_rows
        columns["answer"] = answer if isinstance(answer, Coded) else coded(answer)
    else:
        answers = list(zip(answer, is_elsewhere.rows(), strict=True))
        own["answer"] = [None if is_shared else text for text, is_shared in answers]
        columns["answer"] = coded(text if is_shared else None for text, is_shared in answers)
    shared = []
    for names in NAMES.values():
        codes, values = joined(lambda *value: value, *(columns[name] for name in names))
        shared.append(_Shared(codes, values, [_MARK.join(map(str, value)) for value in values]))
    return own, shared


def _hashes(own: Mapping[str, Sequence[Any]], shared: Sequence[_Shared]) -> list[bytes]:
    """Return the hash of each row: of the texts of all its values, one behind the other."""
    parts = [_bytes_of(list(map(str, values))) for values in own.values()]
    parts += [_bytes_of(each.texts).take(pa.array(each.codes)) for each in shared]
    whole = compute.binary_join_element_wise(*parts, pa.scalar(_MARK.encode(), pa.large_binary()))
    _, offsets, content = whole.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[: len(whole) + 1].tolist()
    content = memoryview(content)
    return [hashlib.sha256(content[start:end]).digest() for start, end in pairwise(ends)]


def _bytes_of(texts: Sequence[str]) -> Any:
    """Return texts in UTF-8; half a character, which that has not, stays one."""
    try:
        return pa.array(texts, pa.large_string()).cast(pa.large_binary())
    except UnicodeEncodeError:
        return pa.array([text.encode("utf-8", "surrogatepass") for text in texts], pa.large_binary())


def hashes_of(kept: Sequence[Kept]) -> list[bytes]:
    """Return the hash of each row of a record."""
    return _hashes(*_apart(columns_of(kept)))


def _numbers(
    db: sqlite3.Connection,
    table: str,
    values: Sequence[Kept],
    texts: Sequence[str],
    whole: Numbers | None,
) -> list[int]:
    """Return the number of each value in a table of what rows share; new ones are added to it."""
    crcs = [zlib.crc32(text.encode("utf-8", "surrogatepass")) for text in texts]
    if whole is None:
        there = db.execute(
            f"select {', '.join(NAMES[table])}, number from json_each(?) as wanted cross join {table} "
            "on crc = wanted.value",
            [json.dumps(crcs)],
        )
        known = {tuple(value): number for *value, number in there}
    else:
        known = whole.setdefault(table, {})
    ((last,),) = db.execute(f"select ifnull(max(number), 0) from {table}").fetchall()
    new = [(value, crc) for value, crc in zip(values, crcs, strict=True) if value not in known]
    known |= {value: number for number, (value, _) in enumerate(new, start=last + 1)}
    marks = ", ".join("?" * len(NAMES[table]))
    added = ((known[value], crc, *value) for value, crc in new)
    db.executemany(f"insert into {table} values (?, ?, {marks})", added)
    return [known[value] for value in values]


def _seen(rows: Iterable[tuple[str, str]]) -> tuple[str, str]:
    """Return when answers (seen_at, source) were seen last, and when on a server; empty if never."""
    seen = {(at, source.startswith(_NO_SERVERS)) for at, source in set(rows) if utc_time(at) == at}
    on_server = (at for at, is_no_server in seen if not is_no_server)
    return max((at for at, _ in seen), default=""), max(on_server, default="")


def batch_sha256(before: bytes, hashes: Sequence[bytes]) -> bytes:
    """Return the hash of all answers up to those of some hashes; before: that of those before them."""
    return hashlib.sha256(before + b"".join(hashes)).digest()


def check_rows(database: Database) -> None:
    """Read every answer, and what each says.

    Raises:
        FormatError: a row is not the one that was written, or rows are missing.
    """
    batches = database.select("select number, sha256, seen_at, seen_on_server from batches order by number")
    n_written = batches[-1][0] if batches else 0
    hashes: list[bytes] = []
    seen: list[tuple[str, str]] = []
    for rows in database.chunks("select * from answers order by number")[1]:
        kept = [row[1:-1] for row in rows]
        for row, sha256 in zip(rows, hashes_of(kept), strict=True):
            if row[-1] != sha256:
                raise database.damaged(f"answer {row[0]} is not the one that was kept")
            hashes.append(sha256)
        seen += [(row[_SEEN_AT], row[_SOURCE]) for row in kept]
    if len(hashes) != n_written:
        raise database.damaged(f"{len(hashes)} of {n_written} answers can be read")
    first, before = 0, b""
    for number, sha256, *times in batches:
        before = batch_sha256(before, hashes[first:number])
        if before != sha256 or [*_seen(seen[first:number])] != times:
            raise database.damaged(f"answers {first + 1} to {number} are not those that were kept")
        first = number
