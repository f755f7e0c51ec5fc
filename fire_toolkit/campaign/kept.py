"""Answers into the tables of the record: what many share once, all else by row, and the hash of both.

They come as rows, or as columns where a whole file is read at once.
"""

import hashlib
import json
import sqlite3
import zlib
from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count, islice, pairwise
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute

from fire_toolkit.arrays import Ints
from fire_toolkit.campaign.coded import Coded, beside, coded, same
from fire_toolkit.campaign.ledger import COLUMNS, STATES
from fire_toolkit.campaign.said import Kept, Version, read_said, version_of, versions_of
from fire_toolkit.campaign.schema import KEPT, LATE, NAMES, OWN, SHARED
from fire_toolkit.errors import TableError
from fire_toolkit.resolution.judgments import utc_time
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
_SEEN_AT_OF_ORIGIN = NAMES["origins"].index("seen_at")
_NO_SERVERS = ("file:", "page:")
_PLACES = ("source", "annotation", "seen_at", "pair_id", "answer", "state")
_SOURCE, _KEY, _SEEN_AT, _PAIR, _ANSWER, _STATE = map(COLUMNS.index, _PLACES)
_key_of, _state_of = itemgetter(_KEY), itemgetter(_STATE)


def add_rows(database: Database, rows: Iterable[Kept], as_new: AsNew) -> Counter[str]:
    """Add those of the rows that are new, all or none; return how many of each state there were.

    Args:
        database: the record.
        rows: each is looked at after the one before it was inserted.
        as_new: gives the row to add of one that is there in versions, which it may be one of: then None.
    """
    rows = iter(rows)
    counts, seen, numbers = Counter[str](), set[str](), count(1 << 40)
    chunk = list(islice(rows, AT_ONCE))
    if not chunk:
        return counts
    with database.transaction() as db:
        was_empty = db.execute(_LAST).fetchone() is None  # then all that is there was seen here
        shared: Numbers | None = {} if was_empty else None
        is_indexed_last = was_empty and len(chunk) == AT_ONCE  # sorted once, not row by row
        if is_indexed_last:
            drop_indexes(db)
        while chunk:
            names = Counter(map(_key_of, chunk))
            known: dict[str, list[Version]] = {name: [] for name, n in names.items() if n > 1}
            again = seen.intersection(names) if was_empty else names
            if again and is_indexed_last:
                make_indexes(db)
                is_indexed_last = False
            known |= versions_of(database, again) if again else {}
            seen.update(names if was_empty else ())
            new = _new(chunk, known, as_new, numbers)
            counts.update(map(_state_of, new))
            if unknown := sorted(counts.keys() - set(STATES)):
                raise TableError(f"ledger: state {', '.join(unknown)}, expected {', '.join(STATES)}")
            keep_rows(db, new, shared)
            chunk = list(islice(rows, AT_ONCE))
        if is_indexed_last:
            make_indexes(db)
    return counts


def add_first(database: Database, columns: Columns) -> None:
    """Add answers of which none is there, all or none."""
    with database.transaction() as db:
        is_indexed_last = db.execute(_LAST).fetchone() is None and len(columns["annotation"]) >= AT_ONCE
        if is_indexed_last:
            drop_indexes(db)
        keep_columns(db, columns)
        if is_indexed_last:
            make_indexes(db)


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


def rows_of(columns: Columns) -> list[Kept]:
    """Return columns as rows."""
    return list(zip(*(_listed(columns[name]) for name in KEPT), strict=True))


def _listed(column: Sequence[Any] | Coded) -> Sequence[Any]:
    return column.rows().tolist() if isinstance(column, Coded) else column


def keep_columns(db: sqlite3.Connection, columns: Columns, known: Numbers | None = None) -> None:
    """Add rows behind all that are there, in batches.

    known: all that rows share so far, where that is known; what is new is added to it.
    """
    last, before = db.execute(_LAST).fetchone() or (0, b"")
    own, shared = _apart(columns)
    texts = _texts(own, shared)
    of_shared = zip(SHARED, shared, texts[len(own) :], strict=True)
    places = [
        np.array(_numbers(db, table, each.distinct, known, content.to_pylist()), dtype=np.int64)[
            each.codes
        ].tolist()
        for table, each, (content, _) in of_shared
    ]
    values = {name: _listed(column) for name, column in own.items()}
    for name in ("created_at", "changed_at"):  # mostly that of the version, and not written again
        both = zip(values[name], values["updated_at"], strict=True)
        values[name] = [None if moment == updated_at else moment for moment, updated_at in both]
    for start in range(0, len(values["annotation"]), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        hashes = _hashes(texts, part)
        numbers = range(last + 1, last + 1 + len(hashes))
        rows = (each[part] for each in (*values.values(), *places))
        _insert(db, [numbers, *rows, hashes])
        origins = [shared[0].distinct[code] for code in np.unique(shared[0].codes[part]).tolist()]
        seen = _seen((row[_SEEN_AT_OF_ORIGIN], row[0]) for row in origins)
        last, before = numbers[-1], batch_sha256(before, hashes)
        db.execute("insert into batches values (?, ?, ?, ?)", [last, *seen, before])


def _insert(db: sqlite3.Connection, columns: Sequence[Sequence[Any]]) -> None:
    """Insert versions, many with each statement: it takes longer to begin one than to add a row."""
    rows, most = zip(*columns, strict=True), db.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER)
    while values := list(islice(rows, min(_ROWS_OF_A_STATEMENT, most // len(columns)))):
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


def _apart(columns: Columns) -> tuple[dict[str, Any], list[Coded]]:
    """Return what rows have of their own as columns, then what they share, for each table."""
    answer, is_elsewhere = columns["answer"], columns["is_elsewhere"]
    nothing = same(None, len(is_elsewhere.codes))
    own = {name: columns[name] for name in OWN}
    if not any(is_elsewhere.distinct):
        columns = {**columns, "answer": nothing}
    elif all(is_elsewhere.distinct):
        own["answer"] = nothing
        columns = {**columns, "answer": answer if isinstance(answer, Coded) else coded(answer)}
    else:
        answers = list(zip(answer, is_elsewhere.rows(), strict=True))
        own["answer"] = [None if is_shared else text for text, is_shared in answers]
        columns = {**columns, "answer": coded(text if is_shared else None for text, is_shared in answers)}
    shared = (beside(*(columns[name] for name in names)) for names in NAMES.values())
    return own, list(shared)


_Texts = tuple[Any, Ints | None]  # what a column's rows are hashed as; with codes: each value once


def _texts(own: Mapping[str, Any], shared: Sequence[Coded]) -> list[_Texts]:
    """Return the texts that rows are hashed as, column by column."""
    found: list[_Texts] = []
    for column in own.values():
        is_coded = isinstance(column, Coded)
        texts = list(map(str, column.distinct if is_coded else column))
        found.append((_bytes_of(texts), column.codes if is_coded else None))
    whole = ([_MARK.join(map(str, value)) for value in each.distinct] for each in shared)
    return found + [(_bytes_of(texts), each.codes) for texts, each in zip(whole, shared, strict=True)]


def _hashes(columns: Sequence[_Texts], part: slice) -> list[bytes]:
    """Return the hash of each of some rows: of the texts of all its values, one behind the other."""
    texts = (
        values[part] if codes is None else values.take(pa.array(codes[part])) for values, codes in columns
    )
    whole = compute.binary_join_element_wise(*texts, pa.scalar(_MARK.encode(), pa.large_binary()))
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
    return _hashes(_texts(*_apart(columns_of(kept))), slice(None))


def _numbers(
    db: sqlite3.Connection, table: str, values: Sequence[Kept], whole: Numbers | None, texts: Iterable[bytes]
) -> list[int]:
    """Return the number of each value in a table of what rows share; new ones are added to it.

    texts: of the values, by which they are found.
    """
    crcs = list(map(zlib.crc32, texts))
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
