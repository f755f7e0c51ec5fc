"""An export of Label Studio as the record keeps it: decoded once, as columns, with what each answer says."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType

from fire_toolkit.campaign.answer_columns import (
    ROW,
    UNDECODED,
    Draft,
    Fault,
    Kept,
    Number,
    User,
    answer_columns,
)
from fire_toolkit.campaign.answers import parse_export
from fire_toolkit.campaign.coded import beside, coded, same
from fire_toolkit.campaign.kept import Columns, columns_of
from fire_toolkit.campaign.ledger import ANSWERED, Origin, answer_rows, pairs_of, version_of
from fire_toolkit.campaign.page_json import split_pages
from fire_toolkit.campaign.said import said_columns, with_said
from fire_toolkit.campaign.task_json import ROUND, round_of
from fire_toolkit.campaign.votes import judgments_from_export
from fire_toolkit.errors import FireError, FormatError
from fire_toolkit.files import BOM, text_of
from fire_toolkit.guidelines.model import CAPTION, Guideline, choose_grades
from fire_toolkit.tables import ALONE
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.tables.ids import are_ids


class _Data(msgspec.Struct, gc=False):
    pair_id: str
    caption: str = ""
    query_id: UnsetType = UNSET


class _Task(msgspec.Struct, gc=False):
    id: Number
    data: _Data
    annotations: list[Kept]
    project: Number | None = None
    drafts: list[bool | Number | Draft] | None = None
    meta: Any = None


_TASKS = msgspec.json.Decoder(list[_Task])


def columns_of_export(content: bytes, origin: Origin, guideline: Guideline, *, where: str) -> Columns:
    """Return the answers of an export that can become judgments, under their accounts, as `columns_of_rows`.

    Raises:
        FormatError: as `text_of`, `parse_export` and `judgments_from_export`; no task names its pair.
        TableError: a label that the guideline does not have.
    """
    raw = content.removeprefix(BOM)
    with suppress(*UNDECODED, Fault, FireError):  # else it is read as plain JSON, which names what is wrong
        if raw.isascii() or raw.decode():
            return _columns(_TASKS.decode(raw), origin, guideline)
    parsed = parse_export(text_of(raw, where), where=where)
    if not isinstance(parsed, list) or not all(
        isinstance(task, dict) and isinstance(task.get("annotations"), list) for task in parsed
    ):
        raise FormatError(
            f"{where}: expected the list of tasks of a JSON export, each with its annotations; export as "
            "JSON (JSON_MIN and CSV lose skips and who answered)"
        )
    tasks = list(split_pages(parsed))
    pairs = pairs_of(task.get("data") for task in tasks)
    found = answer_rows(tasks, origin, where=where, pairs=pairs)
    paired = [task for task, pair in zip(tasks, pairs, strict=True) if pair and task["annotations"]]
    if found and not paired:
        raise FormatError(f"{where}: no task names its pair")
    judgments_from_export([(where, paired)], guideline=guideline)  # refuses what cannot be read
    return columns_of_rows(found)


def columns_of_rows(rows: Sequence[dict[str, str]]) -> Columns:
    """Return rows of the ledger as columns of the record, with what each says.

    Further columns, round and caption, have what the task of each names and shows; 0 or empty: nothing.
    """
    versions = with_said(list(map(version_of, rows)))
    of_tasks = {ROUND: coded(int(row[ROUND] or 0) for row in rows)}
    return {**columns_of(versions), **of_tasks, CAPTION: coded(row.get(CAPTION, "") for row in rows)}


def _columns(tasks: Sequence[_Task], origin: Origin, guideline: Guideline) -> Columns:
    """Return the answers of tasks that are as nearly all are; any error: they are not."""
    for drafts in filter(None, [task.drafts for task in tasks]):
        answer_columns([Draft(id=each) if isinstance(each, int) else each for each in drafts])
    entries = list(chain.from_iterable(task.annotations for task in tasks))
    place = np.repeat(np.arange(len(tasks)), [len(task.annotations) for task in tasks])
    for entry in entries:
        user, entry.project = entry.completed_by, UNSET
        entry.completed_by = user.id if type(user) is User else user
    answers = [text.decode() for text in map(msgspec.json.encode, entries)]
    pairs = coded(task.data.pair_id for task in tasks).of_rows(place)
    said = said_columns(pairs, list(map(ROW.decode, answers)))
    votes = beside(said["label"], said["no_vote"])
    choose_grades([label for label, reason in votes.distinct if not reason], guideline=guideline)
    query_ids, doc_ids = (said[name].distinct for name in PAIR)
    if not are_ids([*query_ids, *doc_ids]) or {each == ALONE for each in doc_ids} - {guideline.is_of_queries}:
        raise Fault
    projects = coded(str(task.project or "") for task in tasks).of_rows(place)
    names = [str(task.id) for task in tasks]
    keys = zip(entries, projects.rows().tolist(), strict=True)
    alike = {"source": origin.source, "state": ANSWERED, "seen_at": origin.seen_at, "queue": origin.queue}
    return {
        **{name: same(value, len(entries)) for name, value in alike.items()},
        **said,
        "annotation": [e.unique_id or f"{origin.source}#{project}#{e.id}" for e, project in keys],
        "updated_at": said["changed_at"],
        "task": [names[row] for row in place.tolist()],
        "project": projects,
        "annotator_id": coded(entry.completed_by for entry in entries).named(
            lambda who: "" if who is None else str(who)
        ),
        "pair_id": pairs,
        "answer": answers,
        ROUND: coded(round_of(task.meta) if task.meta else 1 for task in tasks).of_rows(place),
        CAPTION: coded(task.data.caption for task in tasks).of_rows(place),
    }
