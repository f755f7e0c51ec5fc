"""Answers into the record: each with what it says, which is read once, and with the hash of both."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from math import isnan
from operator import attrgetter
from typing import Any

import msgspec

from fire_toolkit.campaign.answer_columns import ROW, UNDECODED, Fault, Row, answer_columns
from fire_toolkit.campaign.answers import UNREAD
from fire_toolkit.campaign.coded import Coded, coded, coded_texts, listed_rows, same
from fire_toolkit.campaign.keys import ids_of_keys
from fire_toolkit.campaign.ledger import COLUMNS, EVENTS, Version
from fire_toolkit.campaign.schema import SAID_NAMES, WHOLE
from fire_toolkit.errors import FireError
from fire_toolkit.resolution.judgments import utc_time
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.workspace.database import Database

_MEANT = attrgetter("label", "no_vote", "comment")


def with_said(rows: Sequence[Version]) -> list[Version]:
    """Return rows with what each says, which is read where it was not."""
    unread = [row for row in rows if row.label is None]
    said = read_said([row.pair_id for row in unread], [row.answer for row in unread])
    read = (Version._make((*row[: len(COLUMNS)], *each)) for row, each in zip(unread, said, strict=True))
    return [next(read) if row.label is None else row for row in rows]


def says(version: Version, row: Version) -> bool:
    """Whether a version says what a row does, whatever else a source tells of both."""
    if version.answer != row.answer and _given(version.answer) != _given(row.answer):
        return False
    if version.no_vote == UNREAD:  # an earlier version of this may not have read it
        (row,) = with_said([row])
    return row.label is None or _MEANT(version) == _MEANT(row)


def versions_of(database: Database, annotations: Iterable[str]) -> dict[str, list[Version]]:
    """Return what is there of answers, of each the last word last."""
    found: dict[str, list[Version]] = {}
    rows = database.select(
        f"select {WHOLE} from json_each(?) as wanted cross join answers on annotation = wanted.value "
        f"order by annotation, updated_at, state in {EVENTS}, seen_at, number",
        [json.dumps(list(set(annotations)))],
    )
    for _, *row, _ in rows:
        found.setdefault(row[0], []).append(Version._make(row))
    return found


def _given(answer: str) -> Any:
    content = json.loads(answer)
    result = content.get("result")
    items = result if isinstance(result, list) else []
    given = [(item.get("from_name"), item.get("value")) for item in items if isinstance(item, dict)]
    return given, bool(content.get("was_cancelled"))


def read_said(pairs: Sequence[str], answers: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield what each answer of the record says, in the order of `SAID_NAMES`."""
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
    columns = said_columns(coded(pairs), rows)
    return zip(*(listed_rows(columns[name]) for name in SAID_NAMES), strict=True)


def said_columns(pairs: Coded, rows: Sequence[Row]) -> dict[str, Any]:
    """Return what answers to pairs say as columns of the record (`SAID_NAMES`).

    Raises:
        Fault, FormatError: one of them cannot be read, or its pair.
    """
    found = answer_columns(rows)
    texts = ("label", "flags", "comment", "origin", "controls")
    return {
        **{name: coded_texts(found[name]) for name in texts},
        "no_vote": coded_texts(found["reason"]),
        "page": coded(row.page for row in rows),
        "page_position": coded(str(row.position) if row.page else "" for row in rows),
        "page_s": coded(None if row.page_s is None else float(row.page_s) for row in rows),
        "round_said": coded(row.round or 1 for row in rows),
        "is_elsewhere": coded(int(row.elsewhere is not None) for row in rows),
        "fault": same(None, len(rows)),
        "id": found["number"].tolist(),
        "created_at": found["created_at"].to_pylist(),
        "changed_at": found["changed_at"].to_pylist(),
        "duration_s": [None if isnan(each) else each for each in found["duration_s"].tolist()],
        **{
            name: Coded(pairs.codes, ids).unified()
            for name, ids in zip(PAIR, ids_of_keys(pairs.distinct), strict=True)
        },
    }


def _unread(answer: str, fault: str) -> tuple[Any, ...]:
    """Return what is said where an answer cannot be read."""
    content = json.loads(answer)
    found = content.get("id") if isinstance(content, dict) else 0
    number = found if type(found) is int else 0
    changed_at = utc_time(str(content.get("updated_at"))) or "" if isinstance(content, dict) else ""
    meant = ("", UNREAD, *[""] * 4, None, "", None, 1, 0, fault.removeprefix(": "))
    return (*meant, number, "", changed_at, None, "", "")
