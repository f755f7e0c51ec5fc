"""The record of a campaign: one SQLite file from which nothing is taken away (`campaign.sqlite`).

A row of `answers` is a version of an answer, or the word that it is gone from its server or there again, in
the order in which these arrived, each with the hash of its content. What counts is computed when reading
(`latest_answers`), so that nothing beside the rows can be wrong. A row of `page` is what somebody did on our
own page, kept before the page goes on.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from fire_toolkit.campaign.ledger import (
    ANSWERED,
    COLUMNS,
    DELETED,
    EDITED,
    EVENTS,
    OTHER_TABLES,
    RESTORED,
    STATES,
    Ledger,
    Version,
    in_order,
    latest_answers,
    make_ledger,
)
from fire_toolkit.campaign.page_json import whole_key
from fire_toolkit.errors import TableError
from fire_toolkit.files import opened
from fire_toolkit.resolution.judgments import just_after, utc_time
from fire_toolkit.words import n_of
from fire_toolkit.workspace.database import MAGIC, Database, row_sha256

Row = Mapping[str, str]
Record = Mapping[str, Any]  # of our own page: consent, an answer, or that one was taken back
TaskKey = tuple[str, str]  # a task's number, and its pair

_VERSION = 2
_SCHEMA = f"""
create table answers (
  number integer primary key autoincrement,
  {", ".join(f"{name} text not null" for name in COLUMNS)},
  sha256 blob not null,
  check (state in {STATES})
);
create index answers_by_annotation on answers (annotation);
create index answers_by_task on answers (project, task);
create table page (
  number integer primary key autoincrement,
  record text not null,
  sha256 blob not null
);
{OTHER_TABLES}
"""
_REMEDY = (
    "restore it from a copy; `fire_toolkit.campaign.salvage.salvage` reads what can be read of it, and "
    "`fire-toolkit pull --full` then reads again what the server still has"
)
_INSERT = f"insert into answers ({', '.join(COLUMNS)}, sha256) values ({', '.join('?' * (len(COLUMNS) + 1))})"
_LAST = f"updated_at, state in {EVENTS}, seen_at, number"


def time_now() -> str:
    """Return the time now as the ledger writes it: UTC, microseconds, `Z`."""
    return datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


class Store:
    """The record at `path`; there is a file as soon as something was added. A context, or `close`.

    Args:
        path: the file.
        shows_now: the answers added are what their source shows now, so that one with an earlier time than
            its last version was changed after a clock was set back, and counts; and one that was deleted and
            is shown again is restored.
        clock: gives the time of reading.

    Attributes:
        counts: how many rows of each state were added; database: the file itself.

    Raises:
        FormatError: the file is damaged, or not such a record.
        FireError: it cannot be read or written; it is as it was.
    """

    def __init__(
        self, path: Path, *, shows_now: bool = False, clock: Callable[[], str] | None = None
    ) -> None:
        self.database = self._db = Database(path, schema=_SCHEMA, version=_VERSION, remedy=_REMEDY)
        self._shows_now, self._clock = shows_now, clock
        self._n_earlier = self._n_contradicting = 0
        self._behind: tuple[str, str] | None = None
        self._last_seen: str | None = None
        self._names: set[str] = set()  # of answers that are there, as of the last time that others wrote
        self._others = 0
        self.counts = dict.fromkeys(STATES, 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; all that was added is in it."""
        self._db.close()

    # What is there

    def rows(self, columns: Collection[str] = COLUMNS) -> Ledger:
        """Return all rows in the ledger's order, or some of their columns.

        Raises:
            FormatError: a row is not the one that was written, or rows are missing.
        """
        import pyarrow as pa

        names = ["number", *columns]
        is_whole, n_rows, tables = len(names) > len(COLUMNS), 0, []
        query = f"select {', '.join(names)}{', sha256' * is_whole} from answers order by number"
        for chunk in self._db.chunks(query):
            if is_whole:
                self._refuse_damaged(chunk)
            n_rows += len(chunk)
            found = zip(*chunk, strict=True)
            types = (pa.int64(), *[pa.large_string()] * len(columns))
            arrays = [pa.array(column, kind) for column, kind in zip(found, types, strict=False)]
            tables.append(pa.table(arrays, names))
        n_written = sum(
            n for (n,) in self._db.select("select seq from sqlite_sequence where name = 'answers'")
        )
        if n_rows != n_written:
            raise self._db.damaged(f"{n_rows} of {n_written} answers can be read")
        return in_order(pa.concat_tables(tables)) if tables else make_ledger()

    def _refuse_damaged(self, rows: Iterable[tuple[Any, ...]]) -> None:
        for number, *values, sha256 in rows:
            try:
                is_sound = row_sha256(values) == sha256
            except TypeError:  # no text
                is_sound = False
            if not is_sound:
                raise self._db.damaged(f"answer {number} is not the one that was kept")

    def has_answers(self) -> bool:
        """Whether anything was ever answered."""
        return bool(self._db.select("select 1 from answers limit 1"))

    def latest(self, annotations: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Return time and content of the last version of each answer, of those that are there."""
        found = ((name, self._versions(name)) for name in annotations)
        return {name: (versions[-1].updated_at, versions[-1].answer) for name, versions in found if versions}

    def has_version(self, row: Row) -> bool:
        """Whether there is the version of an answer that a row is of, wherever it was seen."""
        return any(row["updated_at"] == each.updated_at for each in self._versions(row["annotation"]))

    def _versions(self, annotation: str) -> list[Version]:
        """Return what is there of an answer, the last word last."""
        query = f"select {', '.join(Version._fields)} from answers where annotation = ? order by {_LAST}"
        return list(map(Version._make, self._db.select(query, [annotation])))

    def queues(self, source: str) -> dict[str, str]:
        """Return the queue of each project of a source of which answers are there."""
        query = "select project, queue, max(number) from answers where source = ? group by project"
        return {project: queue for project, queue, _ in self._db.select(query, [source])}

    def answer_times(self, source: str) -> dict[str, list[str]]:
        """Return for each project of a source the updated_at of its answers, skips too, that are there.

        A page of several captions is one answer there.
        """
        query = f"select annotation, updated_at, state from answers where state in {EVENTS} order by {_LAST}"
        events = {name: (moment, state) for name, moment, state in self._db.select(query)}
        times: dict[tuple[str, str], str] = {}
        own = "from answers where source = ? group by annotation"
        query = f"select project, annotation, max(updated_at) {own}"
        for project, annotation, moment in self._db.select(query, [source]):
            if events.get(annotation) != (moment, DELETED):
                place = (project, whole_key(annotation))
                times[place] = max(moment, times.get(place, ""))
        found: dict[str, list[str]] = {}
        for (project, _), moment in times.items():
            found.setdefault(project, []).append(moment)
        return found

    def missing(
        self,
        source: str,
        project: str,
        *,
        seen: Collection[str],
        tasks: Collection[TaskKey] | None = None,
        since: str = "",
        until: str = "~",
    ) -> list[Row]:
        """Return the answers that were there at the last look and are not in `seen`.

        Args:
            source: the server.
            project: its number there.
            seen: annotations that are there.
            tasks: number and pair of the tasks that were looked at; None: all.
            since, until: only answers last changed from the one time on, before the other: a server uses the
                number of a deleted project again.
        """
        query = "select distinct annotation, task, pair_id from answers where project = ? and source = ?"
        there = [[project, source]] if tasks is None else [[project, source, task] for task, _ in tasks]
        query += "" if tasks is None else " and task = ?"
        found = [each for values in there for each in self._db.select(query, values)]
        looked_at = {name for name, *task in found if tasks is None or tuple(task) in tasks}
        unseen = sorted(looked_at.difference(seen))
        query = f"select {', '.join(COLUMNS)} from answers where annotation = ? order by number"
        rows = [row for name in unseen for row in self._db.select(query, [name])]
        last = latest_answers(make_ledger(dict(zip(COLUMNS, row, strict=True)) for row in rows))
        return [
            {name: str(row[name]) for name in COLUMNS}
            for row in last.to_dict("records")
            if (row["source"], row["project"]) == (source, project)
            and row["state"] != DELETED
            and since <= row["updated_at"] < until
        ]

    def last_from_a_server(self) -> str:
        """Return when answers were last read from a server; empty if never."""
        query = "select max(seen_at) from answers where source not glob 'file:*' and source not glob 'page:*'"
        ((last,),) = self._db.select(query)
        return last or ""

    def page_records(self) -> list[Record]:
        """Return what was done on our own page, in its order.

        Raises:
            FormatError: a record is not the one that was written.
        """
        found = self._db.select("select number, record, sha256 from page order by number")
        for number, text, sha256 in found:
            if row_sha256([str(text)]) != sha256:
                raise self._db.damaged(f"record {number} of the page is not the one that was kept")
        return [json.loads(text) for _, text, _ in found]

    # What is added

    def add_page_record(self, record: Record) -> None:
        """Add what was done on our own page; it is on disk when this returns."""
        text = json.dumps(record, sort_keys=True, separators=(",", ":"))
        with self._db.transaction() as db:
            db.execute("insert into page (record, sha256) values (?, ?)", [text, row_sha256([text])])

    def now(self) -> str:
        """Return the time of reading, which is after every earlier one whatever the clock says."""
        if self._last_seen is None:
            times = [time for (time,) in self._db.select("select distinct seen_at from answers")]
            self._last_seen = max((time for time in times if utc_time(time) == time), default="")
        now = (self._clock or time_now)()
        if now <= self._last_seen:
            self._behind = self._behind or (now, self._last_seen)
            now = just_after(self._last_seen)
        self._last_seen = now
        return now

    @property
    def notes(self) -> list[str]:
        """What is to be said of clocks and of versions that contradict each other."""
        found = []
        if self._behind:
            now, last = self._behind
            found.append(
                f"this clock says {now}, and the ledger was last read into at {last}: it is behind, or was "
                "ahead then; what is read now counts as later"
            )
        if self._n_earlier:
            counts = (
                "the clock of their source was set back; as it shows them now, they count"
                if self._shows_now
                else "the later versions count; if a clock was wrong, correct these answers once more"
            )
            were = n_of(self._n_earlier, "answer")
            found.append(f"{were} changed at a time before the version in the ledger: {counts}")
        if self._n_contradicting:
            were = n_of(self._n_contradicting, "answer")
            found.append(
                f"{were} came again with the same time and another content; both versions are kept, and the "
                "one that came last counts"
            )
        return found

    def add_answers(self, rows: Iterable[Row]) -> None:
        """Add the versions of answers that are not there, all or none, with their states."""
        self._insert(rows, self._as_version)

    def add_deleted(self, rows: Iterable[Row], seen_at: str) -> None:
        """Add of each answer that this version is not on its server any more."""
        self.add_rows({**row, "state": DELETED, "seen_at": seen_at} for row in rows)

    def add_rows(self, rows: Iterable[Row]) -> None:
        """Add rows as they are, all or none, but for those that are there.

        Raises:
            TableError: a state is unknown.
        """
        self._insert(rows, self._as_row)

    def merge(self, other: Path) -> None:
        """Add the rows of another copy of the record, as of another site, in their order."""
        with Store(other) as found:
            rows = found.rows().sort_values("number")[list(COLUMNS)]
        self.add_rows(dict(zip(COLUMNS, values, strict=True)) for values in rows.to_numpy().tolist())

    def _as_version(self, row: Row, versions: list[Version]) -> Row | None:
        """Return a row with its state, and with a time after those of the versions that it is later than.

        None: it says nothing new.
        """
        if not versions:
            return {**row, "state": ANSWERED}
        last, moment = versions[-1], row["updated_at"]
        if moment > last.updated_at:
            return {**row, "state": EDITED}
        if same := [each for each in versions if each.is_of(moment)]:
            if not any(each.says(row["answer"]) for each in same):
                return self._contradicting(row, versions)
            is_back = self._shows_now and last.state == DELETED and last in same
            return {**row, "updated_at": last.updated_at, "state": RESTORED} if is_back else None
        self._n_earlier += 1
        return {**row, "updated_at": _after(last.updated_at) if self._shows_now else moment, "state": EDITED}

    def _as_row(self, row: Row, versions: list[Version]) -> Row | None:
        """Return a row of another record, with another time where it contradicts one here; None: known."""
        own = (row["source"], row["project"])
        there = [each for each in versions if (each.source, each.project) == own]
        if row["state"] in EVENTS:
            event = (row["updated_at"], row["state"], row["seen_at"])
            return None if any(each[:3] == event for each in there) else row
        same = [each for each in there if each.state not in EVENTS and each.is_of(row["updated_at"])]
        if not same:
            return row
        says_it = any(each.says(row["answer"]) for each in same)
        return None if says_it else self._contradicting(row, versions)

    def _contradicting(self, row: Row, versions: list[Version]) -> Row:
        self._n_contradicting += 1
        return {**row, "updated_at": _after(max(each.updated_at for each in versions)), "state": EDITED}

    def _insert(self, rows: Iterable[Row], as_new: Callable[[Row, list[Version]], Row | None]) -> None:
        """Insert those of the rows that are new; each is looked at after the one before it was inserted."""
        rows, counts = list(rows), Counter[str]()
        if not rows:
            return

        def new_values() -> Iterator[list[str | bytes]]:
            for row in rows:
                name = row["annotation"]
                new = as_new(row, self._versions(name) if name in self._names else [])
                if new is not None:
                    values = [new[column] for column in COLUMNS]
                    counts[new["state"]] += 1
                    self._names.add(name)
                    yield [*values, row_sha256(values)]

        with self._db.transaction() as db:
            (others,) = db.execute("pragma data_version").fetchone()
            if others != self._others:
                found = db.execute("select annotation from answers")
                self._names, self._others = {name for (name,) in found}, others
            try:
                db.executemany(_INSERT, new_values())
            except sqlite3.IntegrityError:
                unknown = ", ".join(sorted(set(counts).difference(STATES)))
                raise TableError(f"ledger: state {unknown}, expected {', '.join(STATES)}") from None
        for state, n in counts.items():
            self.counts[state] += n


def _after(moment: str) -> str:
    """Return a time after another one, also where that is not written as times are."""
    return just_after(moment) if utc_time(moment) == moment else f"{moment}+"


def is_record(path: Path) -> bool:
    """Whether a file is an SQLite file, as another site's record is."""
    with opened(path) as stream:
        return stream.read(len(MAGIC)) == MAGIC


def read_ledger(path: Path) -> Ledger:
    """Return all rows of the record at `path`; none where there is no such file.

    Raises:
        FormatError: it is damaged.
    """
    with Store(path) as store:
        return store.rows()
