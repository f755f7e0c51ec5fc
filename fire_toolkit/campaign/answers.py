"""The answers in Label Studio's JSON: from nested objects to a table.

What Label Studio writes is stated once, as types, which msgspec decodes without making dicts. Whatever is not
so is a `FormatError` with file, task and place: then the tasks are taken one by one, until one is refused.
What counts as a vote is decided in `votes`.
"""

import json
from collections.abc import Sequence
from itertools import chain
from typing import Any, NewType

import msgspec
import numpy as np
import pandas as pd
import pyarrow as pa
from msgspec import UNSET

from fire_toolkit.campaign.answer_columns import (
    LEAST,
    LISTS,
    MAX_ID,
    TASKS,
    TOO_LONG,
    UNDECODED,
    Data,
    Draft,
    Fault,
    Task,
    answer_columns,
    described,
    kind_of,
    plain_text,
    sound_text,
    spelled_numbers,
    texts_column,
    whole_number,
)
from fire_toolkit.campaign.keys import read_key, split_pair_id
from fire_toolkit.campaign.page_json import is_page, split_pages
from fire_toolkit.campaign.task_json import PAIR_ID, round_of
from fire_toolkit.errors import FireError, FormatError
from fire_toolkit.files import BOM, text_of
from fire_toolkit.tables.columns import PAIR, Texts
from fire_toolkit.tables.ids import are_ids, is_id

LOST = (
    "it leaves out skips, drafts, who edited an answer and how it came about, so they would be lost; export "
    "the project again as JSON"
)

UNREAD = "unread"

Answers = NewType("Answers", pd.DataFrame)


def read_export(content: bytes, *, where: str) -> Answers:
    """Return the answers in an export's bytes, as `read_answers` has them.

    Raises:
        FormatError: as `text_of`, `parse_export` and `read_answers`.
    """
    raw = content.removeprefix(BOM)
    try:
        if b"\0" not in raw and (raw.isascii() or raw.decode()):
            return _answers_of(TASKS.decode(raw), has_pages=True)
    except (*UNDECODED, Fault):
        pass  # not as nearly all exports are: read as plain JSON, which names what is wrong
    return read_answers(parse_export(text_of(raw, where), where=where), where=where)


def parse_export(text: str, *, where: str) -> object:
    """Return the content of an export file; its shape is checked by `judgments_from_export`.

    Raises:
        FormatError: not JSON (cut short, say); for CSV and TSV exports the error says what they lose.
    """
    try:
        content: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        if text.lstrip()[:1] not in ("[", "{"):
            raise FormatError(f"{where}: not JSON; if this is a CSV or TSV export: {LOST}") from None
        raise FormatError(f"{where}: not JSON ({error}); cut short? export it again") from None
    return content


def read_answers(export: object, *, where: str) -> Answers:
    """Return every annotation and draft in a parsed JSON export, in the file's order.

    Args:
        export: a list of tasks as Label Studio's JSON export has them.
        where: what the export is called in an error (its path).

    Returns:
        query_id, doc_id; annotator_id: empty if the account is deleted; number: the annotation's (or
        draft's) id, 0 if unknown; unique_id; project; label: what was chosen, several joined by `;`; reason:
        why it is no vote (`draft`, `skipped`, `no_label`, `several_labels`), else empty; flags: joined by
        `;`, each once, with `edited-by-other` if another account changed the answer; comment in one line;
        origin; controls: the names of all controls answered; created_at, changed_at (last): UTC or empty;
        duration_s: nan if unknown; round: 1 unless the task says a later one.

    Raises:
        FormatError: JSON_MIN or tasks without answers; a value of another type than Label Studio
            writes; a task without `pair_id` (or `query_id` and `doc_id`).
    """
    if not isinstance(export, list):
        raise FormatError(
            f"{where}: {kind_of(export)}, expected the list of tasks of a Label Studio JSON export"
        )
    numbered = [(number, part) for number, task in enumerate(export, start=1) for part in split_pages([task])]
    try:
        return _answers_of(msgspec.convert([task for _, task in numbered], list[Task]))
    except (msgspec.ValidationError, UnicodeError, Fault):
        parts = [
            part for number, task in numbered for part in _checked_parts(task, f"{where}: task {number}")
        ]
        return _answers_of(parts)


def _answers_of(tasks: Sequence[Task], *, has_pages: bool = False) -> Answers:
    """Return the answers of tasks that may be those of an export.

    has_pages: pages may be among them, and are refused.
    """
    for task in tasks:
        if type(task.id) is int and not LEAST <= task.id < MAX_ID:
            raise Fault(TOO_LONG)
        if task.annotations is UNSET:
            words = ": no annotations: these are tasks to be judged, not an export of answers"
            other = f": neither data nor annotations; if this is a JSON_MIN export: {LOST}"
            raise Fault(other if task.data is UNSET else words)
        if type(task.data) is not Data:
            raise Fault(": data is nothing, expected an object")
    pairs = _pairs_of([task.data for task in tasks], has_pages=has_pages)  # type: ignore[misc]
    answers: list[Any] = [
        [*(t.annotations or ()), *(Draft(id=each) if isinstance(each, int) else each for each in t.drafts)]
        if t.drafts
        else t.annotations or ()
        for t in tasks
    ]
    place = np.repeat(np.arange(len(tasks)), [*map(len, answers)])
    entries = list(chain.from_iterable(answers))
    rounds = np.array([round_of(task.meta) if task.meta else 1 for task in tasks], dtype=np.int64)
    projects = [
        tasks[row].project if entry.project is UNSET else entry.project
        for row, entry in zip(place.tolist(), entries, strict=True)
    ]
    names = [entry.unique_id or "" for entry in entries]
    columns = {
        **{name: ids.take(pa.array(place)) for name, ids in zip(PAIR, pairs, strict=True)},
        **answer_columns(entries),
        "round": rounds[place],
        "unique_id": texts_column(names if "".join(names).isascii() else list(map(sound_text, names))),
        "project": spelled_numbers(projects, "project"),
    }
    typed = {
        name: each if isinstance(each, np.ndarray) else pd.array(each, dtype="str")
        for name, each in columns.items()
    }
    return Answers(pd.DataFrame(typed, copy=False))


def _pairs_of(contents: Sequence[Data], *, has_pages: bool) -> list[Texts]:
    """Return the query ids and doc ids of tasks, most of which have keys as this toolkit writes them."""
    pairs: list[Any] = [
        read_key(data.pair_id) if type(data.pair_id) is str and data.query_id is UNSET else None
        for data in contents
    ]
    if not are_ids(list(chain.from_iterable(filter(None, pairs)))):
        pairs = [None] * len(pairs)
    rows = [row for row, pair in enumerate(pairs) if pair is None]
    if has_pages and any(is_page(contents[row].pair_id) for row in rows):
        raise Fault(": a page of several captions")
    for row in rows:
        pairs[row] = _pair(contents[row])
    return [pa.array([pair[side] for pair in pairs], pa.large_string()) for side in (0, 1)]


def _checked_parts(task: Any, place: str) -> list[Task]:
    """Return a task in parts, each of one answer or none; what is wrong with one is said with its place."""
    number = task.get("id") if isinstance(task, dict) else None
    shown = f" (id {number})" if isinstance(number, int) and LEAST <= number < MAX_ID else ""
    named = [name for name in LISTS if isinstance(task, dict) and isinstance(task.get(name), list)]
    bare: Any = {**task, **{name: [] for name in named}} if isinstance(task, dict) else task
    found, parts = [], [("", bare)]  # without its answers, then with each alone
    for name in named:
        entries = enumerate(task[name], start=1)
        parts += [(f", {name[:-1]} {row}", {**bare, name: [entry]}) for row, entry in entries]
    for within, part in parts:
        try:
            found.append(msgspec.convert(part, Task))
            _answers_of(found[-1:])  # refuses what cannot be read
        except msgspec.ValidationError as error:
            raise FormatError(f"{place}{shown}{within}{described(part, str(error))}") from None
        except UnicodeError:
            raise FormatError(f"{place}{shown}{within}: half a character where no text is expected") from None
        except Fault as fault:
            raise FormatError(f"{place}{shown}{within}{fault}") from None
    return found


def _pair(content: Data) -> tuple[str, str]:
    if content.query_id is not UNSET and content.doc_id is not UNSET:
        return _id_text(content.query_id, "query_id"), _id_text(content.doc_id, "doc_id")
    if content.pair_id is UNSET:
        raise Fault(
            f": data has no {PAIR_ID} (nor query_id and doc_id), so the pair is unknown; "
            "import tasks that this toolkit wrote"
        )
    try:
        ids = split_pair_id(plain_text(content.pair_id, PAIR_ID))
    except FireError as error:
        raise Fault(f": {error}") from None
    for value in ids:
        _id_text(value, PAIR_ID)
    return ids


def _id_text(value: object, key: str) -> str:
    """Return an id exactly as it is; a whole number becomes the text of its digits."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(whole_number(value, key))
    if not isinstance(value, str) or not is_id(value):
        shown = repr(value[:40]) if isinstance(value, str) else kind_of(value)
        raise Fault(f": {key} is {shown}, expected an id without white space")
    return value
