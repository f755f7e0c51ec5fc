"""What a judge was asked and has said, so that nothing that was answered is asked again after any kill.

A row of `answers.sqlite` is a request. It is on disk before the request is sent, and its answer before it
counts; a row without an answer was in flight when a run ended: it may have been answered and paid for.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple, Self

from fire_toolkit.errors import FireError, FormatError, UsageError
from fire_toolkit.files import read_text, text_sha256
from fire_toolkit.machines.judge import Answer, Judge, Request
from fire_toolkit.syntax import parse_json
from fire_toolkit.workspace.locks import hold_lock
from fire_toolkit.workspace.manifests import write_files

STORE, JUDGE = "answers.sqlite", "judge.json"
_TABLE = """create table if not exists requests (
    id integer primary key, key text, query_id text, doc_id text, sample_number integer,
    asked_at text default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')), answer text, sha256 text
)"""


class Asked(NamedTuple):
    """A request that was sent, and what became of it; None: it was in flight when a run ended."""

    key: str
    place: tuple[str, str, int]
    answer: Answer | None


class Cache:
    """The folder of one judge, held by this process alone while its block runs, and used by one thread.

    stored: each answer that need not be asked for again, by its request's key; n_lost: requests that were in
    flight when earlier runs ended.

    Raises:
        FireError: another run of this judge goes on; the folder cannot be written.
        FormatError: the file is damaged.
        UsageError: the folder is another judge's.
    """

    def __init__(self, folder: Path, judge: Judge) -> None:
        self._folder, self._judge = folder, judge
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            stack.enter_context(hold_lock(self._folder / ".lock", wait_s=0, what="a run of this judge"))
            _keep_judge(self._folder, self._judge)
            with self._named():
                self._store = sqlite3.connect(self._folder / STORE, isolation_level=None)
                stack.callback(self._store.close)
                self._store.execute("pragma synchronous = extra")
                self._store.execute(_TABLE)
            rows = self.rows()
            self.stored = {row.key: row.answer for row in rows if row.answer and row.answer.is_final}
            self.n_lost = sum(row.answer is None for row in rows)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        """Close the file and let others in."""
        self._stack.close()

    def rows(self) -> list[Asked]:
        """Return all that was asked, the earliest first."""
        columns = "key, query_id, doc_id, sample_number, answer, sha256"
        with self._named():
            found = self._store.execute(f"select {columns} from requests order by id").fetchall()
        rows = []
        for key, query_id, doc_id, number, answer, sha256 in found:
            if answer is not None and sha256 != text_sha256(f"{key} {answer}"):
                raise self._damaged(f"the answer on {query_id} {doc_id} is not the one that was kept")
            rows.append(
                Asked(key, (query_id, doc_id, number), Answer(**json.loads(answer)) if answer else None)
            )
        return rows

    def note(self, key: str, request: Request) -> int:
        """Note that a request is about to be sent and return its row; it is on disk when this returns."""
        with self._named():
            done = self._store.execute(
                "insert into requests (key, query_id, doc_id, sample_number) values (?, ?, ?, ?)",
                (key, *request.place),
            )
        return int(done.lastrowid or 0)

    def keep(self, row: int, key: str, answer: Answer) -> None:
        """Keep what became of a request; it is on disk when this returns."""
        text = json.dumps(asdict(answer), sort_keys=True)
        with self._named():
            self._store.execute(
                "update requests set answer = ?, sha256 = ? where id = ?",
                (text, text_sha256(f"{key} {text}"), row),
            )

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Raise what SQLite says as our own errors."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise FireError(f"{self._folder / STORE}: cannot be read or written: {error}") from None
        except sqlite3.DatabaseError as error:
            raise self._damaged(str(error)) from None

    def _damaged(self, what: str) -> FormatError:
        return FormatError(f"{self._folder / STORE}: damaged: {what}; restore it from a copy")


def read_judge(folder: Path) -> Judge:
    """Return the judge that a folder was made for.

    Raises:
        FormatError: it holds a damaged one.
    """
    path = folder / JUDGE
    try:
        return Judge(**parse_json(read_text(path), str(path)))
    except TypeError:
        raise FormatError(f"{path}: damaged; restore it from a copy") from None


def _keep_judge(folder: Path, judge: Judge) -> None:
    """Write down whose folder this is, or refuse it as another judge's."""
    path = folder / JUDGE
    if not path.is_file():
        write_files({path: (json.dumps(asdict(judge), indent=1) + "\n").encode()})
        return
    before = asdict(read_judge(folder))
    changed = [
        f"{name} {v!r}, was {before[name]!r}" for name, v in asdict(judge).items() if v != before[name]
    ]
    if changed:
        raise UsageError(
            f"{folder}: belongs to another judge ({'; '.join(changed)}); whoever changes a judge has another "
            "one: give it a file of its own"
        )
