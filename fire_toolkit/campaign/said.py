"""Answers into the record: each with what it says, which is read once, and with the hash of both."""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from fire_toolkit.campaign.answer_types import ROW, UNDECODED, Row
from fire_toolkit.campaign.answers import UNREAD, Fault, answer_columns
from fire_toolkit.campaign.ledger import COLUMNS, EVENTS
from fire_toolkit.campaign.schema import KEPT, LATE, NAMES, OWN, SAID_NAMES, SHARED
from fire_toolkit.campaign.tasks import split_pair_id, split_pair_ids
from fire_toolkit.errors import FireError
from fire_toolkit.resolution.judgments import utc_time
from fire_toolkit.workspace.database import Database

# A row of the record: the values of `COLUMNS`, and what it says (`SAID_NAMES`) where that was read.
Kept = tuple[Any, ...]
_INSERT = (
    "insert into versions values (?1, ?2, ?3, ?4, ?5, ?6, nullif(?7, ?3), nullif(?8, ?3), "
    f"{', '.join(f'?{place}' for place in range(9, 11 + len(SHARED)))})"
)
_MARK = "\x1f"
_JOINED = _MARK.join(["%s"] * (len(OWN) + len(SHARED)))
_LAST = "select number, sha256 from batches order by number desc limit 1"
_PLACES = ("source", "project", "seen_at", "pair_id", "answer", "updated_at", "state")
_SOURCE, _PROJECT, _SEEN_AT, _PAIR, _ANSWER, _MOMENT, _STATE = map(COLUMNS.index, _PLACES)
_ANSWER_OF_ITS_OWN = OWN.index("answer")
_NO_SERVERS = ("file:", "page:")


def row_as(row: Kept, moment: str, state: str) -> Kept:
    """Return a row with another time and state."""
    return (*row[:_MOMENT], moment, *row[_MOMENT + 1 : _STATE], state, *row[_STATE + 1 :])


class Version(NamedTuple):
    """A row of an answer, as far as it tells versions apart; the last word of an answer comes last.

    changed_at: the time that its source gave it.
    """

    updated_at: str
    is_event: bool
    seen_at: str
    number: int
    state: str
    source: str
    project: str
    answer: str
    changed_at: str
    created_at: str
    duration_s: float | None
    round_said: int
    label: str
    no_vote: str
    comment: str

    def is_of(self, moment: str) -> bool:
        """Whether a time is the one that it counts by, or the one that its source gave it."""
        return moment in (self.updated_at, self.changed_at)

    def says(self, row: Kept) -> bool:
        """Whether it says what a row does, whatever else a source tells of both."""
        if self.answer != row[_ANSWER] and _given(self.answer) != _given(row[_ANSWER]):
            return False
        said = row[len(COLUMNS) :]
        return not said or self[-3:] == tuple(said[place] for place in _OF_VERSIONS[-3:])


_OF_VERSIONS = [SAID_NAMES.index(name) for name in Version._fields[8:]]


def version_of(row: Kept, number: int) -> Version:
    """Return a row as a version of its answer."""
    said = row[len(COLUMNS) :] or next(read_said([row[_PAIR]], [row[_ANSWER]]))
    own = (row[place] for place in (_STATE, _SOURCE, _PROJECT, _ANSWER))
    told = (said[place] for place in _OF_VERSIONS)
    return Version(row[_MOMENT], row[_STATE] in EVENTS, row[_SEEN_AT], number, *own, *told)


def versions_of(database: Database, annotations: Iterable[str]) -> dict[str, list[Version]]:
    """Return what is there of answers, of each the last word last."""
    found: dict[str, list[Version]] = {}
    rows = database.select(
        f"select annotation, updated_at, state in {EVENTS}, seen_at, {', '.join(Version._fields[3:])} "
        "from json_each(?) as wanted cross join answers on annotation = wanted.value "
        "order by 1, 2, 3, 4, 5",
        [json.dumps(list(set(annotations)))],
    )
    for annotation, *version in rows:
        found.setdefault(annotation, []).append(Version(*version))
    return found


def _given(answer: str) -> Any:
    content = json.loads(answer)
    result = content.get("result")
    items = result if isinstance(result, list) else []
    given = [(item.get("from_name"), item.get("value")) for item in items if isinstance(item, dict)]
    return given, bool(content.get("was_cancelled"))


Numbers = dict[str, dict[Kept, int]]  # of a table of what rows share: of each value


def keep_rows(db: sqlite3.Connection, rows: Sequence[Kept], known: Numbers | None = None) -> None:
    """Add rows behind all that are there, with what each says, which is read where a row has it not.

    known: all that rows share so far, where that is known; what is new is added to it.
    """
    if not rows:
        return
    last, before = db.execute(_LAST).fetchone() or (0, b"")
    unread = [row for row in rows if len(row) == len(COLUMNS)]
    said = read_said([row[_PAIR] for row in unread], [row[_ANSWER] for row in unread])
    kept = [(*row, *next(said)) if len(row) == len(COLUMNS) else row for row in rows] if unread else rows
    own, shared = _apart(kept)
    distinct = [_Distinct(values) for values in shared]
    hashes = _hashes(own, distinct)
    numbers = range(last + 1, last + 1 + len(rows))
    places = (
        each.of_rows(_numbers(db, table, each, known)) for table, each in zip(SHARED, distinct, strict=True)
    )
    db.executemany(_INSERT, zip(numbers, *own, *places, hashes, strict=True))
    origins = (dict(zip(NAMES["origins"], value, strict=True)) for value in distinct[0].values)
    seen = _seen((origin["seen_at"], origin["source"]) for origin in origins)
    batch = [numbers[-1], *seen, batch_sha256(before, hashes)]
    db.execute("insert into batches values (?, ?, ?, ?)", batch)


def drop_indexes(db: sqlite3.Connection) -> None:
    """Take away the indexes that are sorted at once behind very many rows."""
    for name in LATE:
        db.execute(f"drop index {name}")


def make_indexes(db: sqlite3.Connection) -> None:
    """Make the indexes that `drop_indexes` took away."""
    for statement in LATE.values():
        db.execute(statement)


class _Distinct:
    """The values of a column, each once, as values and as texts."""

    def __init__(self, column: Sequence[Kept]) -> None:
        places = {value: place for place, value in enumerate(dict.fromkeys(column))}
        self.values, self._codes = list(places), list(map(places.__getitem__, column))
        self.texts = [_MARK.join(map(str, value)) for value in self.values]

    def of_rows(self, each: Sequence[Any]) -> Iterable[Any]:
        """Return for each row what belongs to its value; each: what belongs to each value."""
        return map(each.__getitem__, self._codes)


def _apart(kept: Sequence[Kept]) -> tuple[list[Sequence[Any]], list[list[Kept]]]:
    """Return what rows have of their own as columns, then what they share, for each table."""
    columns = dict(zip(KEPT, zip(*kept, strict=True), strict=True))
    answers = list(zip(columns["answer"], columns["is_elsewhere"], strict=True))
    own: list[Sequence[Any]] = [columns[name] for name in OWN]
    own[_ANSWER_OF_ITS_OWN] = [None if is_elsewhere else answer for answer, is_elsewhere in answers]
    columns["answer"] = tuple(answer if is_elsewhere else None for answer, is_elsewhere in answers)
    return own, [list(zip(*map(columns.__getitem__, names), strict=True)) for names in NAMES.values()]


def _hashes(own: Sequence[Sequence[Any]], shared: Sequence[_Distinct]) -> list[bytes]:
    texts = (each.of_rows(each.texts) for each in shared)
    whole = (_JOINED % values for values in zip(*own, *texts, strict=True))
    return [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in whole]


def hashes_of(kept: Sequence[Kept]) -> list[bytes]:
    """Return the hash of each row of a record."""
    own, shared = _apart(kept)
    return _hashes(own, list(map(_Distinct, shared)))


def _numbers(db: sqlite3.Connection, table: str, column: _Distinct, whole: Numbers | None) -> list[int]:
    """Return the number of each value in a table of what rows share; new ones are added to it."""
    texts = zip(column.values, column.texts, strict=True)
    keys = {value: zlib.crc32(text.encode("utf-8", "surrogatepass")) for value, text in texts}
    if whole is None:
        there = db.execute(
            f"select {', '.join(NAMES[table])}, number from json_each(?) as wanted cross join {table} "
            "on crc = wanted.value",
            [json.dumps(list(keys.values()))],
        )
        known = {tuple(value): number for *value, number in there}
    else:
        known = whole.setdefault(table, {})
    ((last,),) = db.execute(f"select ifnull(max(number), 0) from {table}").fetchall()
    new = {
        value: last + n for n, value in enumerate((value for value in keys if value not in known), start=1)
    }
    marks = ", ".join("?" * len(NAMES[table]))
    added = ((number, keys[value], *value) for value, number in new.items())
    db.executemany(f"insert into {table} values (?, ?, {marks})", added)
    known.update(new)
    return [known[value] for value in keys]


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


def read_said(pairs: Sequence[str], answers: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield what each answer of the record says, in the order of the columns `SAID`."""
    try:
        yield from _said(pairs, list(map(ROW.decode, answers)))
    except (*UNDECODED, FireError, Fault) as error:
        if len(answers) == 1:
            yield _unread(answers[0], str(error))
            return
        half = len(answers) // 2
        yield from read_said(pairs[:half], answers[:half])
        yield from read_said(pairs[half:], answers[half:])


def _said(pairs: Sequence[str], rows: Sequence[Row]) -> Iterable[tuple[Any, ...]]:
    known = split_pair_ids(pairs) | {"": ("", "")}
    ids = [known.get(pair) or split_pair_id(pair) for pair in pairs]
    columns = answer_columns([(pair, 1, None, row) for pair, row in zip(ids, rows, strict=True)])
    columns["duration_s"] = [None if math.isnan(seconds) else seconds for seconds in columns["duration_s"]]
    n_rows = len(rows)
    return zip(
        *(columns[name] for name in ("label", "reason", "flags", "comment", "origin", "controls")),
        [row.page for row in rows],
        [str(row.position) if row.page else "" for row in rows],
        [None if row.page_s is None else float(row.page_s) for row in rows],
        [row.round or 1 for row in rows],
        [int(row.elsewhere is not None) for row in rows],
        [None] * n_rows,
        *(columns[name] for name in ("number", "created_at", "changed_at", "duration_s")),
        *(columns[name] for name in ("query_id", "doc_id")),
        strict=True,
    )


def _unread(answer: str, fault: str) -> tuple[Any, ...]:
    """Return what is said where an answer cannot be read."""
    content = json.loads(answer)
    found = content.get("id") if isinstance(content, dict) else 0
    number = found if type(found) is int else 0
    changed_at = utc_time(str(content.get("updated_at"))) or "" if isinstance(content, dict) else ""
    meant = ("", UNREAD, *[""] * 4, None, "", None, 1, 0, fault.removeprefix(": "))
    return (*meant, number, "", changed_at, None, "", "")
