"""What each answer of the record says, read once and kept beside it in the table `said`."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fire_toolkit.campaign.answer_types import ROW, UNDECODED, Row
from fire_toolkit.campaign.answers import UNREAD, Fault, answer_columns
from fire_toolkit.campaign.tasks import split_pair_id, split_pair_ids
from fire_toolkit.errors import FireError
from fire_toolkit.workspace.database import row_sha256

# The columns between the answer's number and the hash; fault: why it cannot be read.
SAID = (
    "query_id, doc_id, id, label, no_vote, flags, comment, origin, controls, created_at, changed_at, "
    "duration_s, page, page_position, page_s, round_said, is_elsewhere, fault"
)
_UNREAD_YET = (
    "select number, pair_id, answer from answers where number > (select coalesce(max(number), 0) from said) "
    "order by number"
)
_AT_ONCE = 10_000


def keep_said(db: sqlite3.Connection) -> None:
    """Keep what those answers say that were not read yet."""
    found = db.execute(_UNREAD_YET)
    while rows := found.fetchmany(_AT_ONCE):
        numbers, pairs, texts = zip(*rows, strict=True)
        said = read_said(pairs, texts)
        hashed = ((n, *values, row_sha256(map(str, values))) for n, values in zip(numbers, said, strict=True))
        db.executemany(f"insert into said values (?, {'?, ' * len(SAID.split(','))}?)", hashed)


def read_said(pairs: Sequence[str], answers: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield what each answer of the record says, in the columns of its table `said` behind the number."""
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
    names = ("query_id", "doc_id", "number", "label", "reason", "flags", "comment", "origin", "controls")
    return zip(
        *(columns[name] for name in (*names, "created_at", "changed_at", "duration_s")),
        [row.page for row in rows],
        [str(row.position) if row.page else "" for row in rows],
        [row.page_s for row in rows],
        [row.round or 1 for row in rows],
        [int(row.elsewhere is not None) for row in rows],
        [None] * len(rows),
        strict=True,
    )


def _unread(answer: str, fault: str) -> tuple[Any, ...]:
    """Return what is said where an answer cannot be read."""
    content = json.loads(answer)
    found = content.get("id") if isinstance(content, dict) else 0
    number = found if type(found) is int else 0
    return ("", "", number, "", UNREAD, *[""] * 6, None, None, "", None, 1, 0, fault.removeprefix(": "))
