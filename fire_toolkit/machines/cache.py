"""What a judge has said, kept so that nothing that was stored is asked again, wherever a run was killed.

While a run goes on, each request is noted in a journal before it is sent, and its answer is on disk before
it counts. At its end, or when the next run begins, the journal becomes an append-only segment
(`workspace.segments`); a request that was noted and has no answer was in flight when the run was killed: it
may have been answered and paid for, and is counted as lost.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, fields
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any, Self

import pandas as pd

from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.machines.judge import Answer, Judge, Request
from fire_toolkit.syntax import parse_json
from fire_toolkit.workspace.journal import Journal
from fire_toolkit.workspace.locks import hold_lock
from fire_toolkit.workspace.manifests import write_files
from fire_toolkit.workspace.segments import SegmentKind, append_segment, sound_segments

STORED, FAILED, LOST = "stored", "failed", "lost"
_ROWS = ("row_id", "key", "state", "seen_at", "query_id", "doc_id", "sample_number", "answer")
SEGMENTS = SegmentKind(_ROWS, b"fire_toolkit.machine")
JOURNAL = "answers.journal"
JUDGE = "judge.json"
_FIELDS = {field.name for field in fields(Answer)}


class Cache:
    """The folder of one judge, held by this process alone while its block runs.

    rows: all that is known, each with the columns of a segment. n_lost: requests that were in flight when
    earlier runs were killed.

    Raises:
        FireError: another run of this judge goes on; the folder cannot be written.
        FormatError: a damaged segment or journal.
        UsageError: the folder is another judge's.
    """

    def __init__(self, folder: Path, judge: Judge) -> None:
        self._folder = folder
        self._judge = judge
        self._guard = Lock()
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._stack.enter_context(hold_lock(self._folder / ".lock", wait_s=0, what="a run of this judge"))
        try:
            _keep_judge(self._folder, self._judge)
            self.rows = _read(self._folder)
            self._stored = {row["key"]: row["answer"] for row in self.rows if row["state"] == STORED}
            self.n_lost = sum(row["state"] == LOST for row in self.rows)
            self._journal = Journal(self._folder / JOURNAL)
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        """Move what has come into a segment."""
        self._journal.close()
        try:
            _fold_journal(self._folder)
        finally:
            self._stack.close()

    def find(self, key: str) -> Answer | None:
        """Return the answer that is stored under a key, None where it has to be asked."""
        found = self._stored.get(key)
        return None if found is None else answer_of(found)

    def stored(self) -> list[Answer]:
        """Return all answers that are stored."""
        return [answer_of(text) for text in self._stored.values()]

    def note_request(self, key: str, request: Request) -> None:
        """Note that a request is about to be sent; it is on disk when this returns."""
        self._append(key, LOST, request, "")

    def keep(self, key: str, request: Request, answer: Answer) -> None:
        """Keep what became of a request; it is on disk when this returns."""
        text = json.dumps(asdict(answer), sort_keys=True)
        self._append(key, STORED if answer.is_final else FAILED, request, text)
        if answer.is_final:
            self._stored[key] = text

    def _append(self, key: str, state: str, request: Request, answer: str) -> None:
        row = {
            "key": key,
            "state": state,
            "seen_at": datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z",
            "query_id": request.query_id,
            "doc_id": request.doc_id,
            "sample_number": str(request.sample_number),
            "answer": answer,
        }
        with self._guard:
            self._journal.append(row)
            self.rows.append(_with_id(row))


def answer_of(text: str) -> Answer:
    """Return an answer as a row of the cache holds it."""
    found = json.loads(text)
    return Answer(**{name: value for name, value in found.items() if name in _FIELDS})


def read_judge(folder: Path) -> Judge:
    """Return the judge that a folder was made for.

    Raises:
        FormatError: it holds none, or a damaged one.
    """
    path = folder / JUDGE
    if not path.is_file():
        raise FormatError(f"{path}: no such file; `fire-toolkit machine run` makes it")
    try:
        return Judge(**parse_json(path.read_text(encoding="utf-8"), str(path)))
    except (TypeError, UnicodeDecodeError):
        raise FormatError(f"{path}: damaged; restore it from a copy") from None


def _keep_judge(folder: Path, judge: Judge) -> None:
    """Write down whose folder this is, or refuse it as another judge's."""
    path = folder / JUDGE
    if not path.is_file():
        write_files({path: (json.dumps(judge.record, indent=1) + "\n").encode()})
        return
    if changed := judge.differences(read_judge(folder).record):
        raise UsageError(
            f"{folder}: belongs to another judge ({'; '.join(changed)}); whoever changes a judge has another "
            "one: give it a name of its own with --judge"
        )


def _read(folder: Path) -> list[dict[str, str]]:
    """Return the rows of all segments, after what a run left in its journal has become one."""
    _fold_journal(folder)
    tables, problems = sound_segments(folder, SEGMENTS)
    if problems:
        raise FormatError(f"{'; '.join(problems)}; move it out of the folder, or restore it from a copy")
    rows = {row["row_id"]: row for table in tables for row in table.to_pylist()}
    return sorted(rows.values(), key=lambda row: (row["seen_at"], row["row_id"]))


def _fold_journal(folder: Path) -> None:
    """Move the journal of a run that is over into a segment.

    A kill between the two leaves rows in both, which have the same ids, and so stand once.
    """
    path = folder / JOURNAL
    journal = Journal(path)
    journal.close()
    rows = _settled([_with_id(record) for record in journal.records])
    append_segment(folder, pd.DataFrame(rows, columns=list(_ROWS), dtype="str"), SEGMENTS)
    path.unlink()


def _settled(rows: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Return rows without the requests that were answered, or failed, later in the same journal."""
    waiting: dict[str, list[int]] = {}
    over: set[int] = set()
    for place, row in enumerate(rows):
        if row["state"] == LOST:
            waiting.setdefault(row["key"], []).append(place)
        elif sent := waiting.get(row["key"]):
            over.add(sent.pop())
    return [row for place, row in enumerate(rows) if place not in over]


def _with_id(row: Mapping[str, Any]) -> dict[str, str]:
    texts = {name: str(row[name]) for name in _ROWS if name != "row_id"}
    joined = "\x1f".join(texts.values()).encode("utf-8", "surrogatepass")
    return {"row_id": hashlib.sha256(joined).hexdigest()[:32], **texts}
