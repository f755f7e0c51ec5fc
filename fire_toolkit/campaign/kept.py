"""Answers into the tables of the record: what many share once, all else by row, and the hash of both.

They come as rows, or as columns where a whole file is read at once.
"""

import hashlib
import json
import sqlite3
import zlib
from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any

import numpy as np

from fire_toolkit.campaign.coded import Coded, beside, coded, listed_rows, same
from fire_toolkit.campaign.ledger import ANSWERED, STATES, Version
from fire_toolkit.campaign.said import versions_of, with_said
from fire_toolkit.campaign.schema import KEPT, NAMES, OWN, SAME_TIME, SHARED
from fire_toolkit.errors import TableError
from fire_toolkit.resolution.judgments import utc_time
from fire_toolkit.workspace.database import Database, row_sha256

# Rows by columns: a sequence of each column of `KEPT` that rows have of their own, coded what they share.
Columns = Mapping[str, Any]
Value = tuple[Any, ...]  # a row of a table of what versions share
Numbers = dict[str, dict[Value, int]]  # of each such table: of each value
AsNew = Callable[[Version, Sequence[Version]], Version | None]
AT_ONCE = 20_000
_MARK = "\x1f"
_LAST = "select number, sha256 from batches order by number desc limit 1"
_OF_OWN = [f"nullif(?, ?{OWN.index('updated_at') + 2})" if name in SAME_TIME else "?" for name in OWN]
_INSERT = f"insert into versions values (?, {', '.join([*_OF_OWN, *'?' * len(SHARED)])}, ?)"
_SEEN_AT_OF_ORIGIN = NAMES["origins"].index("seen_at")
_NO_SERVERS = ("file:", "page:")
_key_of, _state_of, _order_of = map(attrgetter, ("annotation", "state", "order"))


class Adding:
    """Answers on their way into a record, inside one transaction: all of them come in, or none.

    While nothing was ever answered there, indexes are sorted once, behind all that comes in.
    """

    def __init__(self, database: Database, db: sqlite3.Connection) -> None:
        self._database, self._db = database, db
        self._seen = set[str]()  # the answers that came in, where there were none before
        self._was_empty = db.execute(_LAST).fetchone() is None
        self._shared: Numbers | None = {} if self._was_empty else None
        self._late = _without_indexes(db) if self._was_empty else []

    def add_rows(self, rows: Iterable[Version], as_new: AsNew) -> Counter[str]:
        """Add those of the rows that are new; return how many of each state there were.

        Args:
            rows: each is looked at after the one before it was inserted.
            as_new: gives the row to add of one that is there in versions, which it may be one of: then None.
        """
        counts, rows = Counter[str](), iter(rows)
        while chunk := list(islice(rows, AT_ONCE)):
            names = Counter(map(_key_of, chunk))
            known: dict[str, list[Version]] = {name: [] for name, n in names.items() if n > 1}
            new = _new(chunk, known | self._versions_of(names), as_new)
            counts.update(map(_state_of, new))
            if unknown := sorted(counts.keys() - set(STATES)):
                raise TableError(f"ledger: state {', '.join(unknown)}, expected {', '.join(STATES)}")
            if new:
                self._keep(columns_of(with_said(new)))
        return counts

    def add_columns(self, columns: Columns, as_new: AsNew) -> Counter[str]:
        """Add answers, none of them edited, as `add_rows` does: columns with what they say."""
        names = columns["annotation"]
        if len(set(names)) < len(names) or self._versions_of(names):
            return self.add_rows(rows_of(columns), as_new)
        if len(names):
            self._keep(columns)
        return Counter({ANSWERED: len(names)})

    def finish(self) -> None:
        """Make the indexes that were put off."""
        while self._late:
            self._db.execute(self._late.pop())

    def _versions_of(self, names: Iterable[str]) -> dict[str, list[Version]]:
        """Return what is there of answers."""
        again = self._seen.intersection(names) if self._was_empty else names
        if not again:
            return {}
        self.finish()
        return versions_of(self._database, again)

    def _keep(self, columns: Columns) -> None:
        self._seen.update(columns["annotation"] if self._was_empty else ())
        keep_columns(self._db, columns, self._shared)


def _new(rows: Iterable[Version], known: Mapping[str, list[Version]], as_new: AsNew) -> list[Version]:
    """Return the rows that are new.

    known: the versions of answers that are there or come twice, to which the new ones are added.
    """
    new = []
    for row in rows:
        versions = known.get(row.annotation)
        if (found := as_new(row, versions or ())) is not None:
            new.append(found)
            if versions is not None:
                insort(versions, with_said([found])[0], key=_order_of)
    return new


def columns_of(rows: Sequence[Value]) -> Columns:
    """Return rows as columns."""
    columns = zip(KEPT, zip(*rows, strict=True) if rows else [()] * len(KEPT), strict=True)
    return {name: column if name in OWN else coded(column) for name, column in columns}


def rows_of(columns: Columns) -> list[Version]:
    """Return columns as rows."""
    return list(map(Version._make, zip(*(listed_rows(columns[name]) for name in KEPT), strict=True)))


def keep_columns(db: sqlite3.Connection, columns: Columns, known: Numbers | None = None) -> None:
    """Add rows behind all that are there, in batches.

    known: all that rows share so far, where that is known; what is new is added to it.
    """
    last, before = db.execute(_LAST).fetchone() or (0, b"")
    own, shared = _apart(columns)
    spelled = _spelled(shared)
    places = [
        listed_rows(each._replace(distinct=_numbers(db, table, each.distinct, known, texts.distinct)))
        for table, each, texts in zip(SHARED, shared, spelled, strict=True)
    ]
    hashes = _hashes([*own.values(), *spelled])
    values = [*map(listed_rows, own.values()), *places]
    for start in range(0, len(hashes), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        numbers = range(last + 1, last + 1 + len(hashes[part]))
        hashed = map(bytearray, hashes[part])  # which Python's SQLite takes as it is, as it does text
        db.executemany(_INSERT, zip(numbers, *(each[part] for each in values), hashed, strict=True))
        origins = [shared[0].distinct[code] for code in np.unique(shared[0].codes[part]).tolist()]
        seen = _seen((row[_SEEN_AT_OF_ORIGIN], row[0]) for row in origins)
        last, before = numbers[-1], batch_sha256(before, hashes[part])
        db.execute("insert into batches values (?, ?, ?, ?)", [last, *seen, before])


def _without_indexes(db: sqlite3.Connection) -> list[str]:
    """Take away indexes that are sorted at once behind very many rows, and return what makes them again."""
    late = "from sqlite_master where name = 'versions_by_annotation' or name like '%_by_crc'"
    found = db.execute(f"select name, sql {late}").fetchall()
    for name, _ in found:
        db.execute(f"drop index {name}")
    return [statement for _, statement in found]


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
    return own, [beside(*(columns[name] for name in names)) for names in NAMES.values()]


def _spelled(shared: Sequence[Coded]) -> list[Coded]:
    """Return the texts that values which rows share are hashed as, and found by."""
    return [each._replace(distinct=[_MARK.join(map(str, row)) for row in each.distinct]) for each in shared]


def _hashes(columns: Iterable[Sequence[Any] | Coded]) -> list[bytes]:
    """Return the hash of each row: of the texts of all its values, one behind the other."""
    texts = (listed_rows(each.named(str)) if isinstance(each, Coded) else map(str, each) for each in columns)
    return list(map(row_sha256, zip(*texts, strict=True)))


def hashes_of(kept: Sequence[Value]) -> list[bytes]:
    """Return the hash of each row of a record."""
    own, shared = _apart(columns_of(kept))
    return _hashes([*own.values(), *_spelled(shared)])


def _numbers(
    db: sqlite3.Connection, table: str, values: Sequence[Value], whole: Numbers | None, texts: Iterable[str]
) -> list[int]:
    """Return the number of each value in a table of what rows share; new ones are added to it.

    texts: of the values, by which they are found.
    """
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
    added = ((known[value], crc, *value) for value, crc in new)
    db.executemany(f"insert into {table} values (?, ?{', ?' * len(NAMES[table])})", added)
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
        kept = [Version._make(row[1:-1]) for row in rows]
        for row, sha256 in zip(rows, hashes_of(kept), strict=True):
            if row[-1] != sha256:
                raise database.damaged(f"answer {row[0]} is not the one that was kept")
            hashes.append(sha256)
        seen += [(row.seen_at, row.source) for row in kept]
    if len(hashes) != n_written:
        raise database.damaged(f"{len(hashes)} of {n_written} answers can be read")
    first, before = 0, b""
    for number, sha256, *times in batches:
        before = batch_sha256(before, hashes[first:number])
        if before != sha256 or [*_seen(seen[first:number])] != times:
            raise database.damaged(f"answers {first + 1} to {number} are not those that were kept")
        first = number
