"""The answers in Label Studio's JSON: from nested objects of any shape to flat, typed records.

Syntax only: whatever is not as Label Studio writes it is a `FormatError` with file, task and place.
What counts as a vote is decided in `export`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn

from fire_toolkit.campaign.task_json import META, PAIR_ID, ROUND
from fire_toolkit.campaign.tasks import split_pair_id, split_pair_ids
from fire_toolkit.errors import FireError, FormatError
from fire_toolkit.guidelines.model import COMMENT, FLAGS, RELEVANCE
from fire_toolkit.judgments import utc_time
from fire_toolkit.tables.checks import is_id

API = "api"
_is_id = lru_cache(1 << 16)(is_id)

LOST = (
    "it leaves out skips, drafts, who edited an answer and how it came about, so they would be lost; export "
    "the project again as JSON"
)
_MAX_ID = 2**63


class Answer(NamedTuple):
    """What one person left at one pair: a submitted annotation, a skip or a draft.

    number: the annotation's (or draft's) id, 0 if unknown; annotator_id: empty if the account is
    deleted; round: 1 unless the task says a later one; labels, flags: what was chosen, each once;
    controls: the names of all controls answered;
    created_at, updated_at: UTC or empty; duration_s: nan if unknown.
    """

    query_id: str
    doc_id: str
    annotator_id: str
    number: int
    unique_id: str
    project: str
    labels: tuple[str, ...]
    flags: tuple[str, ...]
    comment: str
    origin: str
    controls: tuple[str, ...]
    created_at: str
    updated_at: str
    duration_s: float
    is_draft: bool
    is_skipped: bool
    is_edited: bool
    round: int = 1


def read_answers(export: object, *, where: str) -> list[Answer]:
    """Return every annotation and draft in a parsed JSON export, in the file's order.

    Args:
        export: a list of tasks as Label Studio's JSON export has them.
        where: what the export is called in an error (its path).

    Raises:
        FormatError: JSON_MIN or tasks without answers; a value of another type than Label Studio
            writes; a task without `pair_id` (or `query_id` and `doc_id`).
    """
    if not isinstance(export, list):
        raise FormatError(
            f"{where}: {_kind(export)}, expected the list of tasks of a Label Studio JSON export"
        )
    known = split_pair_ids(_keys(export))
    return [
        answer
        for number, task in enumerate(export, start=1)
        for answer in _task_answers(task, f"{where}: task {number}", known)
    ]


def _keys(export: list[Any]) -> Iterator[str]:
    """Yield the keys of pairs in tasks, as far as they are where they should be."""
    for task in export:
        content = task.get("data") if isinstance(task, dict) else None
        key = content.get(PAIR_ID) if isinstance(content, dict) else None
        if isinstance(key, str):
            yield key


def _task_answers(task: object, place: str, known: Mapping[str, tuple[str, str]]) -> Iterator[Answer]:
    record = _record(task, place)
    number = record.get("id")
    if isinstance(number, int):
        place = f"{place} (id {_int_text(number, place)})"
    if "annotations" not in record:
        _refuse_other_form(record, place)
    pair = _pair(_record(record.get("data"), f"{place}: data"), place, known)
    project = record.get("project")
    asked = round_of(record.get(META))
    for which, annotation in enumerate(_list(record, "annotations", place), start=1):
        yield _annotation(annotation, pair, project, asked, f"{place}, annotation {which}")
    for which, draft in enumerate(_list(record, "drafts", place), start=1):
        yield _draft(draft, pair, asked, f"{place}, draft {which}")


def round_of(meta: object) -> int:
    """Return the round that a task of this toolkit names; 1 where there is none, or somebody else's word."""
    found = meta.get(ROUND) if isinstance(meta, dict) else None
    return found if type(found) is int and 1 <= found < _MAX_ID else 1


def _refuse_other_form(record: Mapping[str, Any], place: str) -> NoReturn:
    if "data" in record:
        raise FormatError(f"{place}: no annotations: these are tasks to be judged, not an export of answers")
    raise FormatError(f"{place}: neither data nor annotations; if this is a JSON_MIN export: {LOST}")


def _pair(content: Mapping[str, Any], place: str, known: Mapping[str, tuple[str, str]]) -> tuple[str, str]:
    if "query_id" in content and "doc_id" in content:
        query_id, doc_id = (_id_text(content[key], key, place) for key in ("query_id", "doc_id"))
        return query_id, doc_id
    if PAIR_ID not in content:
        raise FormatError(
            f"{place}: data has no {PAIR_ID} (nor query_id and doc_id), so the answers belong to no pair; "
            "import tasks that this toolkit wrote"
        )
    key = _text(content, PAIR_ID, place)
    try:
        ids = known.get(key) or split_pair_id(key)
    except FireError as error:
        raise FormatError(f"{place}: {error}") from None
    for value in ids:
        _id_text(value, PAIR_ID, place)
    return ids


def _annotation(annotation: object, pair: tuple[str, str], project: object, asked: int, place: str) -> Answer:
    record = _record(annotation, place)
    if "completed_by" not in record:
        raise FormatError(f"{place}: no completed_by, so nobody knows who answered")
    author = _user(record["completed_by"], "completed_by", place)
    editor = _user(record.get("updated_by"), "updated_by", place)
    own_project = record.get("project", project)
    return _answer(
        record,
        pair,
        asked,
        place,
        annotator_id=author,
        number=_number(record.get("id"), "id", place),
        project="" if own_project is None else str(_number(own_project, "project", place)),
        is_skipped=_flag(record, "was_cancelled", place),
        is_edited=bool(author and editor and author != editor),
    )


def _draft(draft: object, pair: tuple[str, str], asked: int, place: str) -> Answer:
    """Return a draft as an answer; an export that holds only its number tells nothing else of it."""
    record = {"id": draft} if isinstance(draft, int) else _record(draft, place)
    user = record.get("user")
    return _answer(
        record,
        pair,
        asked,
        place,
        annotator_id="" if isinstance(user, str) else _user(user, "user", place),
        number=_number(record.get("id", 0), "id", place),
        is_draft=True,
    )


def _answer(
    record: Mapping[str, Any],
    pair: tuple[str, str],
    asked: int,
    place: str,
    *,
    annotator_id: str,
    number: int,
    project: str = "",
    is_draft: bool = False,
    is_skipped: bool = False,
    is_edited: bool = False,
) -> Answer:
    results = [_record(entry, f"{place}: result") for entry in _list(record, "result", place)]
    label_results = _of(results, RELEVANCE)
    others = results if len(label_results) < len(results) else []
    names = (_text(result, "from_name", place) for result in results if "from_name" in result)
    return Answer(
        query_id=pair[0],
        doc_id=pair[1],
        annotator_id=annotator_id,
        number=number,
        unique_id=_text(record, "unique_id", place),
        project=project,
        labels=_chosen(label_results, "choices", place),
        flags=_chosen(_of(others, FLAGS), "choices", place),
        comment=one_line(*_chosen(_of(others, COMMENT), "text", place)),
        origin=_origin(label_results, place),
        controls=tuple(dict.fromkeys(names)),
        created_at=_time(record, "created_at", place),
        updated_at=_time(record, "updated_at", place),
        duration_s=_seconds(record.get("lead_time"), place),
        is_draft=is_draft,
        is_skipped=is_skipped,
        is_edited=is_edited,
        round=asked,
    )


def _of(results: Sequence[Mapping[str, Any]], control: str) -> list[Mapping[str, Any]]:
    return [result for result in results if result.get("from_name") == control]


def _chosen(results: Sequence[Mapping[str, Any]], key: str, place: str) -> tuple[str, ...]:
    """Return the texts that the results hold under value.`key`, each once, in order."""
    if not results:
        return ()
    texts: list[str] = []
    for result in results:
        value = _record(result.get("value"), f"{place}: value of {result['from_name']}").get(key)
        entries = [value] if isinstance(value, str) else value
        if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
            raise FormatError(f"{place}: {key} of {result['from_name']} is {_kind(value)}, expected texts")
        texts.extend(entries)
    return tuple(dict.fromkeys(texts))


def _origin(label_results: Sequence[Mapping[str, Any]], place: str) -> str:
    """Return how the label came about; an answer made through the API does not say it."""
    return one_line(*(_text(result, "origin", place) for result in label_results[:1])) or API


def one_line(*texts: str) -> str:
    """Return the lines of texts joined by ` / `, without control characters and empty lines.

    Examples:
        >>> one_line("no dog", "at 0:07\\n  a cat")
        'no dog / at 0:07 / a cat'
    """
    if len(texts) < 2 and "".join(texts).isprintable():
        return "".join(texts).strip()
    lines = (line for text in texts for line in text.splitlines())
    printable = ("".join(mark if mark.isprintable() else " " for mark in line).strip() for line in lines)
    return " / ".join(line for line in printable if line)


def _time(record: Mapping[str, Any], key: str, place: str) -> str:
    text = _text(record, key, place)
    moment = utc_time(text) if text else ""
    if moment is None:
        raise FormatError(f"{place}: {key} is {text[:40]!r}, expected a time as in ISO 8601")
    return moment


def _seconds(value: object, place: str) -> float:
    """Return a lead time; nan where there is none or where it is no possible time (negative, infinite)."""
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FormatError(f"{place}: lead_time is {_kind(value)}, expected seconds")
    possible = 0 <= value < _MAX_ID
    return float(value) if possible else math.nan


def _user(value: object, key: str, place: str) -> str:
    """Return a user's id as text; empty for a deleted account."""
    if isinstance(value, dict):
        value = value.get("id")
    return "" if value is None else str(_number(value, key, place))


def _number(value: object, key: str, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise FormatError(f"{place}: {key} is {_kind(value)}, expected a whole number")
    _int_text(value, place)
    return value


def _int_text(value: int, place: str) -> str:
    if not -_MAX_ID <= value < _MAX_ID:
        raise FormatError(f"{place}: a number of more than 64 bits, expected an id")
    return str(value)


def _id_text(value: object, key: str, place: str) -> str:
    """Return an id to the letter; a whole number is the text of its digits."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = _int_text(value, place)
    if not isinstance(value, str) or not _is_id(value):
        shown = repr(value[:40]) if isinstance(value, str) else _kind(value)
        raise FormatError(f"{place}: {key} is {shown}, expected an id without white space")
    return value


def _flag(record: Mapping[str, Any], key: str, place: str) -> bool:
    value = record.get(key)
    if value is not None and not isinstance(value, bool):
        raise FormatError(f"{place}: {key} is {_kind(value)}, expected true or false")
    return bool(value)


def _text(record: Mapping[str, Any], key: str, place: str) -> str:
    value = record.get(key)
    if value is not None and not isinstance(value, str):
        raise FormatError(f"{place}: {key} is {_kind(value)}, expected text")
    return value or ""


def _list(record: Mapping[str, Any], key: str, place: str) -> list[Any]:
    value = record.get(key)
    if value is not None and not isinstance(value, list):
        raise FormatError(f"{place}: {key} is {_kind(value)}, expected a list")
    return value or []


def _record(value: object, place: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise FormatError(f"{place} is {_kind(value)}, expected an object")
    return value


_KINDS = {
    dict: "an object",
    list: "a list",
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
}


def _kind(value: object) -> str:
    return "nothing" if value is None else _KINDS.get(type(value), type(value).__name__)
