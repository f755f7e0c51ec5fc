"""What a judge was asked and has said, so that nothing that was answered is asked again after any kill.

It lies in the campaign's record, as rows that are only added: that a request is about to be sent, which is
on disk before it is, and what became of it. A request without a second row was in flight when a run ended: it
may have been answered and paid for.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from fire_toolkit.campaign.store import Store
from fire_toolkit.errors import UsageError
from fire_toolkit.machines.judge import Answer, Judge
from fire_toolkit.workspace.database import row_sha256
from fire_toolkit.workspace.locks import hold_lock

_SETTINGS = ""  # the key of the row that says whose answers these are
_COLUMNS = "key, query_id, doc_id, sample_number, answer, sha256"
_INSERT = f"insert into machine (judge, {_COLUMNS}) values (?, ?, ?, ?, ?, ?, ?)"


Place = tuple[str, str, int]  # query_id, doc_id, sample_number


class Cache:
    """What one judge was asked, held by this process alone while its block runs, and used by one thread.

    stored: each answer that need not be asked for again, by its request's key; n_lost: requests that were in
    flight when earlier runs ended.

    Args:
        record: the file.
        folder: of the judge; its place beside the record is the judge's name there.
        judge: whose settings must be those of earlier runs.

    Raises:
        FireError: another run of this judge goes on; the file cannot be written.
        FormatError: the file is damaged.
        UsageError: the folder is another judge's.
    """

    def __init__(self, record: Path, folder: Path, judge: Judge) -> None:
        base, place = record.parent.resolve(), folder.resolve()
        self._name = (place.relative_to(base) if place.is_relative_to(base) else place).as_posix()
        self._record, self._folder, self._judge = record, folder, judge
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            stack.enter_context(hold_lock(self._folder / ".lock", wait_s=0, what="a run of this judge"))
            self._db = stack.enter_context(Store(self._record)).database
            self._refuse_another()
            asked, rows = self._select("key", "answer is null"), self.rows()
            self.n_lost = (Counter(key for (key,) in asked) - Counter(key for key, *_ in rows)).total()
            self.stored = {key: answer for key, _, answer in rows if answer.is_final}
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        """Close the file and let others in."""
        self._stack.close()

    def _select(self, columns: str, which: str) -> list[Any]:
        query = f"select {columns} from machine where judge = ? and {which} order by number"
        return self._db.select(query, [self._name])

    def _refuse_another(self) -> None:
        """Write down whose answers these are, or refuse another judge's."""
        settings = self._judge.settings
        found = self._select("answer", f"key = '{_SETTINGS}'")
        if not found:
            self._add(_SETTINGS, ("", "", 0), json.dumps(settings, sort_keys=True))
            return
        before = json.loads(found[0][0])
        changed = [
            f"{name} {value!r}, was {before.get(name)!r}"
            for name, value in settings.items()
            if value != before.get(name)
        ]
        if changed:
            raise UsageError(
                f"{self._folder}: belongs to another judge ({'; '.join(changed)}); whoever changes a judge "
                "has another one: give it a file of its own"
            )

    def rows(self) -> list[tuple[str, Place, Answer]]:
        """Return all that was answered, the earliest first: the request's key, what it asked, the answer."""
        rows = []
        found = self._select(_COLUMNS, f"answer is not null and key != '{_SETTINGS}'")
        for key, query_id, doc_id, number, answer, sha256 in found:
            if row_sha256([key, answer]) != sha256:
                raise self._db.damaged(f"the answer on {query_id} {doc_id} is not the one that was kept")
            rows.append((key, (query_id, doc_id, int(number)), Answer(**json.loads(answer))))
        return rows

    def add(self, key: str, place: Place, answer: Answer | None = None) -> None:
        """Keep that a request is about to be sent, or what became of it; on disk when this returns."""
        self._add(key, place, None if answer is None else json.dumps(asdict(answer), sort_keys=True))

    def _add(self, key: str, place: Place, answer: str | None) -> None:
        sha256 = row_sha256([key, answer]) if answer is not None else None
        with self._db.transaction() as db:
            db.execute(_INSERT, [self._name, key, *place, answer, sha256])
