"""The answers in Label Studio's JSON: from nested objects of any shape to flat, typed records.

Syntax only: whatever is not as Label Studio writes it is a `FormatError` with file, task and place.
What counts as a vote is decided in `votes`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn

from fire_toolkit.campaign.page_json import split_pages
from fire_toolkit.campaign.task_json import META, PAIR_ID, ROUND
from fire_toolkit.campaign.tasks import split_pair_id, split_pair_ids
from fire_toolkit.errors import FireError, FormatError
from fire_toolkit.guidelines.model import COMMENT, FLAGS, RELEVANCE
from fire_toolkit.judgments import utc_time
from fire_toolkit.tables.checks import are_ids, is_id

API = "api"
_is_id = lru_cache(1 << 16)(is_id)

LOST = (
    "it leaves out skips, drafts, who edited an answer and how it came about, so they would be lost; export "
    "the project again as JSON"
)
_LEAST, _MAX_ID = -(2**63), 2**63


class Answer(NamedTuple):
    """What one person left at one pair: a submitted annotation, a skip or a draft.

    number: the annotation's (or draft's) id, 0 if unknown; annotator_id: empty if the account is
    deleted; round: 1 unless the task says a later one; kind: empty unless a campaign knows what the answer
    was asked for; labels, flags: what was chosen, each once;
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
    kind: str = ""


class _Fault(Exception):
    """What is wrong with a task, as it follows the task's place in an error."""


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
    return [answer for _, answer in answers_of_tasks(enumerate(export, start=1), where=where)]


def answers_of_tasks(tasks: Iterable[tuple[int, object]], *, where: str) -> Iterator[tuple[int, Answer]]:
    """Yield the answers of parsed tasks, each with its task's number; errors are those of `read_answers`."""
    numbered = [(number, part) for number, task in tasks for part in split_pages([task])]
    known = _known_pairs([task for _, task in numbered])
    for number, task in numbered:
        try:
            for answer in _task_answers(task, known):
                yield number, answer
        except _Fault as fault:
            raise FormatError(f"{where}: task {number}{_id_shown(task)}{fault}") from None


def _known_pairs(export: list[Any]) -> Mapping[str, tuple[str, str]]:
    """Return the ids of pairs behind the tasks' keys, read at once; none if one of them cannot be an id."""
    known = split_pair_ids(_keys(export))
    return known if are_ids([value for pair in known.values() for value in pair]) else {}


def _keys(export: list[Any]) -> Iterator[str]:
    """Yield the keys of pairs in tasks, as far as they are where they should be."""
    for task in export:
        content = task.get("data") if isinstance(task, dict) else None
        key = content.get(PAIR_ID) if isinstance(content, dict) else None
        if isinstance(key, str):
            yield key


def _id_shown(task: object) -> str:
    number = task.get("id") if isinstance(task, dict) else None
    return f" (id {number})" if isinstance(number, int) and _LEAST <= number < _MAX_ID else ""


def _task_answers(task: object, known: Mapping[str, tuple[str, str]]) -> list[Answer]:
    record = _record(task)
    if type(number := record.get("id")) is int:
        _number(number, "id")
    if "annotations" not in record:
        _refuse_other_form(record)
    pair = _pair(_record(record.get("data"), ": data"), known)
    project = record.get("project")
    asked = round_of(record.get(META))
    answers = []
    for which, entry in enumerate(_list(record, "annotations"), start=1):
        try:
            answers.append(_annotation(entry, pair, project, asked))
        except _Fault as fault:
            raise _Fault(f", annotation {which}{fault}") from None
    for which, entry in enumerate(_list(record, "drafts"), start=1):
        try:
            answers.append(_draft(entry, pair, asked))
        except _Fault as fault:
            raise _Fault(f", draft {which}{fault}") from None
    return answers


def round_of(meta: object) -> int:
    """Return the round that a task of this toolkit names; 1 where it names none, or something else."""
    found = meta.get(ROUND) if isinstance(meta, dict) else None
    return found if type(found) is int and 1 <= found < _MAX_ID else 1


def _refuse_other_form(record: Mapping[str, Any]) -> NoReturn:
    if "data" in record:
        raise _Fault(": no annotations: these are tasks to be judged, not an export of answers")
    raise _Fault(f": neither data nor annotations; if this is a JSON_MIN export: {LOST}")


def _pair(content: Mapping[str, Any], known: Mapping[str, tuple[str, str]]) -> tuple[str, str]:
    if "query_id" in content and "doc_id" in content:
        query_id, doc_id = (_id_text(content[key], key) for key in ("query_id", "doc_id"))
        return query_id, doc_id
    if PAIR_ID not in content:
        raise _Fault(
            f": data has no {PAIR_ID} (nor query_id and doc_id), so the pair is unknown; "
            "import tasks that this toolkit wrote"
        )
    key = _text(content, PAIR_ID)
    if ids := known.get(key):
        return ids
    try:
        ids = split_pair_id(key)
    except FireError as error:
        raise _Fault(f": {error}") from None
    for value in ids:
        _id_text(value, PAIR_ID)
    return ids


def _annotation(annotation: object, pair: tuple[str, str], project: object, asked: int) -> Answer:
    record = _record(annotation)
    if "completed_by" not in record:
        raise _Fault(": no completed_by, so the annotator is unknown")
    author = _user(record["completed_by"], "completed_by")
    editor = _user(record.get("updated_by"), "updated_by")
    own_project = record.get("project", project)
    return _answer(
        record,
        pair,
        asked,
        annotator_id=author,
        number=_number(record.get("id"), "id"),
        project="" if own_project is None else str(_number(own_project, "project")),
        is_skipped=_flag(record, "was_cancelled"),
        is_edited=bool(author and editor and author != editor),
    )


def _draft(draft: object, pair: tuple[str, str], asked: int) -> Answer:
    """Return a draft as an answer; an export that holds only its number tells nothing else of it."""
    record = {"id": draft} if isinstance(draft, int) else _record(draft)
    user = record.get("user")
    return _answer(
        record,
        pair,
        asked,
        annotator_id="" if isinstance(user, str) else _user(user, "user"),
        number=_number(record.get("id", 0), "id"),
        is_draft=True,
    )


def _answer(
    record: Mapping[str, Any],
    pair: tuple[str, str],
    asked: int,
    *,
    annotator_id: str,
    number: int,
    project: str = "",
    is_draft: bool = False,
    is_skipped: bool = False,
    is_edited: bool = False,
) -> Answer:
    results = [_record(entry, ": result") for entry in _list(record, "result")]
    label_results = _of(results, RELEVANCE)
    others = results if len(label_results) < len(results) else []
    return Answer(  # in the order of its fields, which takes half the time of their names
        *pair,
        annotator_id,
        number,
        _text(record, "unique_id"),
        project,
        _chosen(label_results, "choices"),
        _chosen(_of(others, FLAGS), "choices") if others else (),
        one_line(*_chosen(_of(others, COMMENT), "text")) if others else "",
        origin_of(_text(label_results[0], "origin") if label_results else ""),
        _controls(results) if others else _ONLY_LABELS[: len(results)],
        _time(record, "created_at"),
        _time(record, "updated_at"),
        _seconds(record.get("lead_time")),
        is_draft,
        is_skipped,
        is_edited,
        asked,
    )


_ONLY_LABELS = (RELEVANCE,)


def _of(results: Sequence[Mapping[str, Any]], control: str) -> list[Mapping[str, Any]]:
    return [result for result in results if result.get("from_name") == control]


def _controls(results: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_text(result, "from_name") for result in results if "from_name" in result))


def _chosen(results: Sequence[Mapping[str, Any]], key: str) -> tuple[str, ...]:
    """Return the texts that the results hold under value.`key`, each once, in order."""
    texts: list[str] = []
    for result in results:
        value = result.get("value")
        if not isinstance(value, dict):
            raise _Fault(f": value of {result['from_name']} is {_kind(value)}, expected an object")
        found = value.get(key)
        entries = [found] if isinstance(found, str) else found
        if not isinstance(entries, list) or [entry for entry in entries if not isinstance(entry, str)]:
            raise _Fault(f": {key} of {result['from_name']} is {_kind(found)}, expected texts")
        texts += entries
    return tuple(dict.fromkeys(texts) if len(texts) > 1 else texts)


def origin_of(text: str | None) -> str:
    """Return how a label came about; an answer made through the API does not say it."""
    return _one_line(text or "") or API


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


_one_line = lru_cache(1 << 8)(one_line)


def _time(record: Mapping[str, Any], key: str) -> str:
    text = _text(record, key)
    moment = utc_time(text) if text else ""
    if moment is None:
        raise _Fault(f": {key} is {text[:40]!r}, expected a time as in ISO 8601")
    return moment


def _seconds(value: object) -> float:
    """Return a lead time; nan where it is missing or impossible (negative, infinite)."""
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _Fault(f": lead_time is {_kind(value)}, expected seconds")
    possible = 0 <= value < _MAX_ID
    return float(value) if possible else math.nan


def _user(value: object, key: str) -> str:
    """Return a user's id as text; empty for a deleted account."""
    if isinstance(value, dict):
        value = value.get("id")
    return "" if value is None else str(_number(value, key))


def _number(value: object, key: str) -> int:
    if type(value) is not int:
        raise _Fault(f": {key} is {_kind(value)}, expected a whole number")
    return value if _LEAST <= value < _MAX_ID else _refuse_size()


def _refuse_size() -> NoReturn:
    raise _Fault(": a number of more than 64 bits; expected an id")


def _id_text(value: object, key: str) -> str:
    """Return an id exactly as it is; a whole number becomes the text of its digits."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(_number(value, key))
    if not isinstance(value, str) or not _is_id(value):
        shown = repr(value[:40]) if isinstance(value, str) else _kind(value)
        raise _Fault(f": {key} is {shown}, expected an id without white space")
    return value


def _flag(record: Mapping[str, Any], key: str) -> bool:
    value = record.get(key)
    if value is not None and not isinstance(value, bool):
        raise _Fault(f": {key} is {_kind(value)}, expected true or false")
    return bool(value)


def _text(record: Mapping[str, Any], key: str) -> str:
    value = record.get(key)
    if value is not None and not isinstance(value, str):
        raise _Fault(f": {key} is {_kind(value)}, expected text")
    return value or ""


def _list(record: Mapping[str, Any], key: str) -> list[Any]:
    value = record.get(key)
    if value is not None and not isinstance(value, list):
        raise _Fault(f": {key} is {_kind(value)}, expected a list")
    return value or []


def _record(value: object, what: str = "") -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _Fault(f"{what} is {_kind(value)}, expected an object")
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
