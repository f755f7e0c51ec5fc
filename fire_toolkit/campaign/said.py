"""Answers into the record: each with what it says, which is read once, and with the hash of both."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from fire_toolkit.campaign.answer_columns import Fault, answer_columns
from fire_toolkit.campaign.answer_types import ROW, UNDECODED, Row
from fire_toolkit.campaign.answers import UNREAD
from fire_toolkit.campaign.keys import ids_of_keys
from fire_toolkit.campaign.ledger import COLUMNS, EVENTS
from fire_toolkit.campaign.schema import SAID_NAMES
from fire_toolkit.errors import FireError
from fire_toolkit.resolution.judgments import utc_time
from fire_toolkit.workspace.database import Database

# A row of the record: the values of `COLUMNS`, and what it says (`SAID_NAMES`) where that was read.
Kept = tuple[Any, ...]
_PLACES = ("source", "project", "seen_at", "pair_id", "answer", "updated_at", "state")
_SOURCE, _PROJECT, _SEEN_AT, _PAIR, _ANSWER, _MOMENT, _STATE = map(COLUMNS.index, _PLACES)


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
        if self.no_vote == UNREAD and not said:  # an earlier version of this may not have read it
            said = next(read_said([row[_PAIR]], [row[_ANSWER]]))
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


def read_said(pairs: Sequence[str], answers: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield what each answer of the record says, in the order of the columns `SAID`."""
    try:
        yield from _said(pairs, list(map(ROW.decode, answers)))
    except (*UNDECODED, FireError, Fault):
        if len(answers) == 1:
            try:  # plain JSON reads half a character too
                yield from _said(pairs, [msgspec.convert(json.loads(answers[0]), Row)])
            except (*UNDECODED, FireError, Fault) as error:
                yield _unread(answers[0], str(error))
            return
        half = len(answers) // 2
        yield from read_said(pairs[:half], answers[:half])
        yield from read_said(pairs[half:], answers[half:])


def _said(pairs: Sequence[str], rows: Sequence[Row]) -> Iterable[tuple[Any, ...]]:
    columns: dict[str, list[Any]] = {
        name: each.tolist() if isinstance(each, np.ndarray) else each.to_pylist()
        for name, each in answer_columns(rows).items()
    }
    columns["duration_s"] = [None if math.isnan(seconds) else seconds for seconds in columns["duration_s"]]
    return zip(
        *(columns[name] for name in ("label", "reason", "flags", "comment", "origin", "controls")),
        [row.page for row in rows],
        [str(row.position) if row.page else "" for row in rows],
        [None if row.page_s is None else float(row.page_s) for row in rows],
        [row.round or 1 for row in rows],
        [int(row.elsewhere is not None) for row in rows],
        [None] * len(rows),
        *(columns[name] for name in ("number", "created_at", "changed_at", "duration_s")),
        *(each.to_pylist() for each in ids_of_keys(pairs)),
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
