"""The record of a campaign: one SQLite file from which nothing is taken away (`campaign.sqlite`).

A row of `answers` is a version of an answer, or the word that it is gone from its server or there again, in
the order in which these arrived, each with the hash of its content. A row of `moves` says that somebody was
given a task, or that it went from one hand to another; `asked` has what each task shows. What counts, who
has what, and what is open are views of these rows (`campaign.views`), so that nothing beside them can be
wrong. A row of `page` is what somebody did on our own page, kept before the page goes on.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, Self

import pandas as pd
import pyarrow as pa

from fire_toolkit.campaign.counting import check_counted, count_answers
from fire_toolkit.campaign.kept import Adding, AsNew, Columns, check_rows
from fire_toolkit.campaign.ledger import (
    ANSWERED,
    COLUMNS,
    DELETED,
    EDITED,
    EVENTS,
    RESTORED,
    STATES,
    Version,
    after,
    version_of,
)
from fire_toolkit.campaign.page_json import BESIDE
from fire_toolkit.campaign.said import says, versions_of
from fire_toolkit.campaign.schema import RESTS_ON_COUNTED, SCHEMA, VERSION, VIEWS
from fire_toolkit.campaign.sealed import check_asked
from fire_toolkit.files import opened
from fire_toolkit.resolution.judgments import just_after
from fire_toolkit.words import n_of
from fire_toolkit.workspace.database import KEPT, MAGIC, Database, row_sha256

Row = Mapping[str, str]  # of an answer: its `COLUMNS`
Record = Mapping[str, Any]  # of our own page: consent, an answer, or that one was taken back
TaskKey = tuple[str, str]  # a task's number, and its pair

_REMEDY = (
    "restore it from a copy; or run `python -m fire_toolkit.campaign.salvage {}`, which puts what can be "
    "read of it in its place, then `fire-toolkit import` or `pull --full`, which reads lost answers again"
)


def time_now() -> str:
    """Return the time now as the record writes it: UTC, microseconds, `Z`."""
    return datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


class Store(Database):
    """The record at `path`; there is a file as soon as something was added. A context, or `close`.

    Args:
        path: the file.
        shows_now: the answers added are what their source shows now, so that one with an earlier time than
            its last version was changed after a clock was set back, and counts; and one that was deleted, or
            known from files alone, and is shown is restored, so that it is missed once it is gone.
        clock: gives the time of reading.

    Attributes:
        counts: how many rows of each state were added.

    Raises:
        FormatError: the file is damaged, or not such a record.
        FireError: it cannot be read or written; it is as it was.
    """

    def __init__(
        self, path: Path, *, shows_now: bool = False, clock: Callable[[], str] | None = None
    ) -> None:
        super().__init__(path, schema=SCHEMA, version=VERSION, remedy=_REMEDY, views=VIEWS)
        self._shows_now, self._clock = shows_now, clock
        self._n_earlier = self._n_contradicting = 0
        self._behind: tuple[str, str] | None = None
        self._last_seen: str | None = None
        self._adding: Adding | None = None
        self.counts = dict.fromkeys(STATES, 0)

    @classmethod
    @contextmanager
    def at(cls, path: Path) -> Iterator[Self]:
        """Give the record at `path`, for all but new answers: inside `kept_open` that which is open there."""
        if (kept := KEPT.get()) is None or not os.path.lexists(path):  # one of no file does not see it made
            with cls(path) as alone:
                yield alone
        else:
            yield kept.get(path) or kept.setdefault(path, cls(path))

    def table(self, query: str, values: Iterable[Any] = ()) -> pd.DataFrame:
        """Return what a query finds, texts as text and numbers as numbers."""
        names, chunks = self.chunks(query, values)
        parts = [[pa.array(column) for column in zip(*chunk, strict=True)] for chunk in chunks]
        columns = zip(*parts, strict=True) if parts else [[] for _ in names]
        return pd.DataFrame(dict(zip(names, map(_typed, columns), strict=True)))

    # What is there

    def check(self) -> None:
        """Read every answer, and all that was asked, and count anew which answers count.

        Raises:
            FormatError: a row is not the one that was written, rows are missing, or others are kept as those
                that count.
        """
        check_rows(self)
        check_asked(self)
        check_counted(self)

    def _prepare(self, query: str) -> None:
        """Bring what counts up to all that is there, where a query rests on it."""
        if RESTS_ON_COUNTED.search(query):
            count_answers(self)

    def labels(self) -> Counter[str]:
        """Return the labels of the answers that count, with how many there are of each."""
        query = (
            "select label, sum(n) from (select meanings, count(*) as n from counted join versions "
            "using (number) where not is_deleted group by meanings) "
            "join meanings on meanings.number = meanings where no_vote = '' group by label"
        )
        return Counter(dict(self.select(query)))

    def has_answers(self) -> bool:
        """Whether anything was ever answered."""
        return bool(self.select("select 1 from answers limit 1"))

    def versions(self, annotations: Iterable[str]) -> dict[str, list[Version]]:
        """Return what is there of answers, of each the last word last."""
        return versions_of(self, annotations)

    def n_there(self, source: str, spans: Mapping[str, tuple[str, str]]) -> Counter[str]:
        """Return how many answers, skips too, are there of each project; of a page of several captions one.

        spans: the projects, each with the times from which on and before which its answers were last changed:
        a server uses the number of a deleted project again.
        """
        place = f"instr(annotation, '{BESIDE}')"
        whole = f"iif({place}, substr(annotation, 1, {place}), null)"
        query = (
            "with wanted as (select key as project, json_extract(value, '$[0]') as since, "
            "json_extract(value, '$[1]') as until from json_each(?)), "
            "places as materialized (select number as origins, project, since, until "
            "from wanted join origins using (project) where source = ? and project <> '') "
            f"select project, count(iif({place}, null, 1)) + count(distinct {whole}) "
            "from counted cross join versions using (number) cross join places using (origins) "
            "where not is_deleted and updated_at >= since and updated_at < until group by project"
        )
        return Counter(dict(self.select(query, [json.dumps(spans), source])))

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
        numbers = None if tasks is None else json.dumps([task for task, _ in tasks])
        of_tasks = "json_each(?) as looked_at cross join answers on task = looked_at.value and task <> ''"
        found = self.select(
            f"select distinct annotation, task, pair_id from {of_tasks if numbers else 'answers'} "
            "where project = ? and project <> '' and source = ?",
            [*([numbers] if numbers else []), project, source],
        )
        looked_at = {name for name, *task in found if tasks is None or tuple(task) in tasks}
        names = (f"{'named_people' if name == 'annotator_id' else 'answers'}.{name}" for name in COLUMNS)
        rows = self.select(
            f"select {', '.join(names)} from json_each(?) as wanted cross join answers "
            "on annotation = wanted.value cross join counted using (number) "
            "join named_people on named_people.people = counted.people where source = ? and project = ? "
            "and not is_deleted and updated_at >= ? and updated_at < ? order by annotation",
            [json.dumps(list(looked_at.difference(seen))), source, project, since, until],
        )
        return [dict(zip(COLUMNS, row, strict=True)) for row in rows]

    def page_records(self) -> list[Record]:
        """Return what was done on our own page, in its order.

        Raises:
            FormatError: a record is not the one that was written.
        """
        found = self.select("select number, record, sha256 from page order by number")
        for number, text, sha256 in found:
            if row_sha256([str(text)]) != sha256:
                raise self.damaged(f"record {number} of the page is not the one that was kept")
        return [json.loads(text) for _, text, _ in found]

    def add_page_records(self, *records: Record, check: Callable[[], None] = lambda: None) -> None:
        """Add what somebody did on our own page, all or none; it is on disk when this returns.

        check: raises where it is not to be added, and is asked while nobody else can write.
        """
        texts = [json.dumps(record, sort_keys=True, separators=(",", ":")) for record in records]
        rows = [(text, row_sha256([text])) for text in texts]
        with self.transaction() as db:
            check()
            db.executemany("insert into page (record, sha256) values (?, ?)", rows)

    # What is added

    def now(self) -> str:
        """Return the time of reading, which is after every earlier one whatever the clock says."""
        if self._last_seen is None:
            ((self._last_seen,),) = self.select("select coalesce(max(seen_at), '') from batches")
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

    @contextmanager
    def together(self) -> Iterator[Adding]:
        """Add inside: all that is added is on disk afterwards, or, where anything is raised, nothing."""
        if self._adding:
            yield self._adding
            return
        with self.transaction() as db:
            self._adding = Adding(self, db)
            try:
                yield self._adding
                self._adding.finish()
            finally:
                self._adding = None

    def add_answers(self, rows: Iterable[Row | Version]) -> None:
        """Add the versions of answers that are not there, all or none, with their states."""
        self._add(rows, self._as_version)

    def add_columns(self, columns: Columns) -> None:
        """Add answers as `add_answers` does, none of them edited: columns with what they say."""
        if len(columns["annotation"]):
            with self.together() as to:
                self._count(to.add_columns(columns, self._as_version))

    def add_deleted(self, rows: Iterable[Row], seen_at: str) -> None:
        """Add of each answer that this version is not on its server any more."""
        self.add_rows({**row, "state": DELETED, "seen_at": seen_at} for row in rows)

    def add_rows(self, rows: Iterable[Row | Version]) -> None:
        """Add rows as they are, all or none, but for those that are there.

        Raises:
            TableError: a state is unknown.
        """
        self._add(rows, self._as_row)

    def _add(self, rows: Iterable[Row | Version], as_new: AsNew) -> None:
        versions = (row if isinstance(row, Version) else version_of(row) for row in rows)
        for first in versions:  # else no file is made
            with self.together() as to:
                self._count(to.add_rows(chain([first], versions), as_new))

    def _count(self, counts: Counter[str]) -> None:
        self.counts = {state: n + counts[state] for state, n in self.counts.items()}

    def _as_version(self, row: Version, versions: Sequence[Version]) -> Version | None:
        """Return a row with its state, and with a time after those of the versions that it is later than.

        None: it says nothing new.
        """
        last, moment = versions[-1] if versions else None, row.updated_at
        if last is None or moment > last.updated_at:
            state = EDITED if last else ANSWERED
            return row if row.state == state else row._replace(state=state)
        if same := [each for each in versions if each.is_of(moment)]:
            is_of_files = all(each.source.startswith("file:") for each in versions)
            is_back = self._shows_now and last in same and (last.state == DELETED or is_of_files)
            if not any(says(each, row) for each in ([last] if is_back else same)):
                return self._contradicting(row, versions)
            return row._replace(updated_at=last.updated_at, state=RESTORED) if is_back else None
        self._n_earlier += 1
        return row._replace(updated_at=after(last.updated_at) if self._shows_now else moment, state=EDITED)

    def _as_row(self, row: Version, versions: Sequence[Version]) -> Version | None:
        """Return a row of another record, with another time where it contradicts one here; None: known."""
        there = [each for each in versions if (each.source, each.project) == (row.source, row.project)]
        if row.state in EVENTS:
            event = (row.updated_at, row.state, row.seen_at)
            return None if any((v.updated_at, v.state, v.seen_at) == event for v in there) else row
        same = [each for each in there if each.state not in EVENTS and each.is_of(row.updated_at)]
        if not same:
            return row
        return None if any(says(v, row) for v in same) else self._contradicting(row, versions)

    def _contradicting(self, row: Version, versions: Sequence[Version]) -> Version:
        self._n_contradicting += 1
        return row._replace(updated_at=after(max(each.updated_at for each in versions)), state=EDITED)


def _typed(parts: Sequence[Any]) -> Any:
    """Return the parts of a column as text, or as numbers, some of which may be missing."""
    kinds = [part.type for part in parts if not pa.types.is_null(part.type)]
    if kinds and not any(map(pa.types.is_string, kinds)):
        is_whole = len(kinds) == len(parts) and all(map(pa.types.is_integer, kinds))
        kind = pa.int64() if is_whole else pa.float64()
        return pa.chunked_array(part.cast(kind) for part in parts).to_numpy()
    texts = pa.chunked_array([part.cast(pa.large_string()) for part in parts], pa.large_string())
    return pd.array(texts.combine_chunks(), dtype="str")


def is_record(path: Path) -> bool:
    """Whether a file is an SQLite file, as another site's record is."""
    with opened(path) as stream:
        return stream.read(len(MAGIC)) == MAGIC


def check_record(path: Path) -> None:
    """Read every answer in the record at `path`, if there is one; errors as of `Store.check`."""
    with Store.at(path) as store:
        store.check()
