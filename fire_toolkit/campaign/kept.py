"""Answers into the tables of the record: what many share once, all else by row, and the hash of both.

They come as rows, or as columns where a whole file is read at once.
"""

import hashlib
import sqlite3
from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any

import numpy as np

from fire_toolkit.campaign.coded import Coded, beside, coded, listed_rows
from fire_toolkit.campaign.ledger import ANSWERED, STATES, Version
from fire_toolkit.campaign.numbers import MANY, Numbers, Value, spelled
from fire_toolkit.campaign.said import versions_of, with_said
from fire_toolkit.campaign.schema import KEPT, NAMES, OWN, SAME_TIME, SHARED, WHOLE
from fire_toolkit.errors import TableError
from fire_toolkit.resolution.judgments import utc_time
from fire_toolkit.workspace.database import Database, row_sha256

# Rows by columns: a sequence of each column of `KEPT` that rows have of their own, coded what they share.
Columns = Mapping[str, Any]
AsNew = Callable[[Version, Sequence[Version]], Version | None]
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
        self.numbers = Numbers(db, is_whole=True) if self._was_empty else None
        late = "from sqlite_master where name = 'versions_by_annotation' or name like '%_by_crc'"
        indexes = db.execute(f"select name, sql {late}").fetchall() if self._was_empty else []
        for name, _ in indexes:
            db.execute(f"drop index {name}")
        self._late = [statement for _, statement in indexes]

    def add_rows(self, rows: Iterable[Version], as_new: AsNew) -> Counter[str]:
        """Add those of the rows that are new; return how many of each state there were.

        Args:
            rows: each is looked at after the one before it was inserted.
            as_new: gives the row to add of one that is there in versions, which it may be one of: then None.
        """
        counts, rows = Counter[str](), iter(rows)
        while chunk := list(islice(rows, MANY)):
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
        keep_columns(self._db, columns, self.numbers)


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


def keep_columns(db: sqlite3.Connection, columns: Columns, numbers: Numbers | None = None) -> None:
    """Add rows behind all that are there, in batches; numbers: of what they share, where these are known."""
    last, before = db.execute(_LAST).fetchone() or (0, b"")
    own, shared = _apart(columns)
    numbers = numbers or Numbers(db)
    places = [
        listed_rows(each._replace(distinct=numbers.of(table, each.distinct)))
        for table, each in zip(SHARED, shared, strict=True)
    ]
    hashes = _hashes(own, shared)
    values = [*map(listed_rows, own.values()), *places]
    for start in range(0, len(hashes), MANY):
        part = slice(start, start + MANY)
        rows = range(last + 1, last + 1 + len(hashes[part]))
        hashed = map(bytearray, hashes[part])  # which Python's SQLite takes as it is, as it does text
        db.executemany(_INSERT, zip(rows, *(each[part] for each in values), hashed, strict=True))
        origins = [shared[0].distinct[code] for code in np.unique(shared[0].codes[part]).tolist()]
        seen = _seen((row[_SEEN_AT_OF_ORIGIN], row[0]) for row in origins)
        last, before = rows[-1], batch_sha256(before, hashes[part])
        db.execute("insert into batches values (?, ?, ?, ?)", [last, *seen, before])


def _apart(columns: Columns) -> tuple[dict[str, Any], list[Coded]]:
    """Return what rows have of their own as columns, then what they share, for each table."""
    answers = list(zip(listed_rows(columns["answer"]), columns["is_elsewhere"].rows(), strict=True))
    own = {name: columns[name] for name in OWN}
    own["answer"] = [None if is_shared else text for text, is_shared in answers]
    columns = {**columns, "answer": coded(text if is_shared else None for text, is_shared in answers)}
    return own, [beside(*(columns[name] for name in names)) for names in NAMES.values()]


def _hashes(own: Columns, shared: Sequence[Coded]) -> list[bytes]:
    """Return the hash of each row: of the texts of all its values, one behind the other."""
    texts = [*own.values(), *(each._replace(distinct=list(map(spelled, each.distinct))) for each in shared)]
    named = (listed_rows(each.named(str)) if isinstance(each, Coded) else map(str, each) for each in texts)
    return list(map(row_sha256, zip(*named, strict=True)))


def hashes_of(kept: Sequence[Value]) -> list[bytes]:
    """Return the hash of each row of a record."""
    return _hashes(*_apart(columns_of(kept)))


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
    for rows in database.chunks(f"select {WHOLE} from answers order by number")[1]:
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
