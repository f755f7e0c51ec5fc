"""The answers in Label Studio's JSON: from nested objects to a table.

What Label Studio writes is stated once, as types, which msgspec decodes without making dicts. Whatever is not
so is a `FormatError` with file, task and place: then the tasks are taken one by one, until one is refused.
What counts as a vote is decided in `votes`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NewType

import msgspec
import pandas as pd
import pyarrow as pa
from msgspec import UNSET

from fire_toolkit.campaign.answer_types import (
    LEAST,
    LISTS,
    MAX_ID,
    TASKS,
    TOO_LONG,
    UNDECODED,
    WHOLE,
    Annotation,
    Data,
    Draft,
    Result,
    Task,
    User,
    described,
    kind_of,
)
from fire_toolkit.campaign.page_json import is_page, split_pages
from fire_toolkit.campaign.task_json import PAIR_ID, round_of
from fire_toolkit.campaign.tasks import split_pair_id, split_pair_ids
from fire_toolkit.errors import FireError, FormatError
from fire_toolkit.files import BOM, text_of
from fire_toolkit.guidelines.model import COMMENT, FLAGS, RELEVANCE
from fire_toolkit.resolution.judgments import utc_times
from fire_toolkit.tables.ids import are_ids, is_id

API = "api"

LOST = (
    "it leaves out skips, drafts, who edited an answer and how it came about, so they would be lost; export "
    "the project again as JSON"
)

DRAFT = "draft"
SKIPPED = "skipped"
NO_LABEL = "no_label"
SEVERAL_LABELS = "several_labels"
UNREAD = "unread"
EDITED_BY_OTHER = "edited-by-other"

Answers = NewType("Answers", pd.DataFrame)
_Given = tuple[tuple[str, str], int, object, Annotation | Draft]  # pair, round, the task's project, answer
_NUMBERS = {"number": "int64", "duration_s": "float64", "round": "int64"}


class Fault(Exception):
    """What is wrong with a task, as it follows the task's place in an error."""


def read_export(content: bytes, *, where: str) -> Answers:
    """Return the answers in an export's bytes, as `read_answers` has them.

    Raises:
        FormatError: as `text_of`, `parse_export` and `read_answers`.
    """
    raw = content.removeprefix(BOM)
    try:
        if b"\0" not in raw and (raw.isascii() or raw.decode()):
            return _table(_of_tasks(TASKS.decode(raw), has_pages=True))
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
        return _table(_of_tasks(msgspec.convert([task for _, task in numbered], list[Task])))
    except (msgspec.ValidationError, UnicodeError, Fault):
        given = [entry for number, task in numbered for entry in _given_by(task, f"{where}: task {number}")]
        return _table(given)


def _of_tasks(tasks: Sequence[Task], *, has_pages: bool = False) -> list[_Given]:
    """Return the answers of tasks, whose keys of pairs are read at once.

    has_pages: pages may be among them, and are refused.
    """
    given = (task.data.pair_id for task in tasks if type(task.data) is Data)
    keys = [key for key in given if isinstance(key, str)]
    known = split_pair_ids(keys)
    if has_pages and any(is_page(key) for key in keys if key not in known):
        raise Fault(": a page of several captions")
    if not are_ids([value for pair in known.values() for value in pair]):
        known = {}
    found: list[_Given] = []
    for task in tasks:
        pair = _checked_pair(task, known)
        asked = round_of(task.meta) if task.meta else 1
        found += [(pair, asked, task.project, entry) for entry in task.annotations or ()]
        if task.drafts:
            drafts = [Draft(id=draft) if isinstance(draft, int) else draft for draft in task.drafts]
            found += [(pair, asked, None, draft) for draft in drafts]
    return found


def _given_by(task: object, place: str) -> list[_Given]:
    """Return the answers of one task, read one by one; what is wrong with it is said with its place."""
    number = task.get("id") if isinstance(task, dict) else None
    shown = f" (id {number})" if isinstance(number, int) and LEAST <= number < MAX_ID else ""
    found = []
    for within, part in _parts(task):
        try:
            given = _of_tasks([msgspec.convert(part, Task)])
            _columns(given)  # refuses what cannot be read
            found += given
        except msgspec.ValidationError as error:
            raise FormatError(f"{place}{shown}{within}{described(part, str(error))}") from None
        except UnicodeError:
            raise FormatError(f"{place}{shown}{within}: half a character where no text is expected") from None
        except Fault as fault:
            raise FormatError(f"{place}{shown}{within}{fault}") from None
    return found


def _parts(task: Any) -> Iterator[tuple[str, object]]:
    """Yield a task without its answers, then with each alone, and what to call this answer in an error."""
    named = [name for name in LISTS if isinstance(task, dict) and isinstance(task.get(name), list)]
    bare = {**task, **{name: [] for name in named}} if named else task
    yield "", bare
    for name in named:
        for row, entry in enumerate(task[name], start=1):
            yield f", {name[:-1]} {row}", {**bare, name: [entry]}


def _checked_pair(task: Task, known: Mapping[str, tuple[str, str]]) -> tuple[str, str]:
    """Return the pair of a task that may be one of an export."""
    number, content = task.id, task.data
    if type(number) is int and not LEAST <= number < MAX_ID:
        raise Fault(TOO_LONG)
    if task.annotations is UNSET:
        words = ": no annotations: these are tasks to be judged, not an export of answers"
        other = f": neither data nor annotations; if this is a JSON_MIN export: {LOST}"
        raise Fault(other if content is UNSET else words)
    if type(content) is not Data:
        raise Fault(": data is nothing, expected an object")
    pair = known.get(content.pair_id) if content.query_id is UNSET and type(content.pair_id) is str else None
    return pair or _pair(content)


def _pair(content: Data) -> tuple[str, str]:
    if content.query_id is not UNSET and content.doc_id is not UNSET:
        return _id_text(content.query_id, "query_id"), _id_text(content.doc_id, "doc_id")
    if content.pair_id is UNSET:
        raise Fault(
            f": data has no {PAIR_ID} (nor query_id and doc_id), so the pair is unknown; "
            "import tasks that this toolkit wrote"
        )
    try:
        ids = split_pair_id(_text(content.pair_id, PAIR_ID))
    except FireError as error:
        raise Fault(f": {error}") from None
    for value in ids:
        _id_text(value, PAIR_ID)
    return ids


def _table(given: Sequence[_Given]) -> Answers:
    columns = _columns(given)
    texts = {
        name: pa.array(each, pa.large_string()) for name, each in columns.items() if name not in _NUMBERS
    }
    typed = {name: pd.Series(columns[name], dtype=dtype) for name, dtype in _NUMBERS.items()}
    typed |= {name: pd.Series(pd.array(each, dtype="str")) for name, each in texts.items()}
    return Answers(pd.DataFrame(typed)[list(columns)])


def _columns(given: Sequence[_Given]) -> dict[str, list[Any]]:
    names = [entry.unique_id or "" for *_, entry in given]
    projects = [own if entry.project is UNSET else entry.project for *_, own, entry in given]
    return answer_columns(given) | {
        "unique_id": names if "".join(names).isascii() else list(map(_sound, names)),
        "project": _spelled(projects, "project"),
    }


def answer_columns(given: Sequence[_Given]) -> dict[str, list[Any]]:
    """Return annotations and drafts as the columns of Answers, but for where they are from."""
    pairs, rounds, _, entries = zip(*given, strict=True) if given else ((), (), (), ())
    authors = _authors(entries)
    numbers: list[Any] = [entry.id for entry in entries]
    if None in numbers:
        _number(None, "id")
    created = _times([entry.created_at or "" for entry in entries], "created_at")
    changed = _times([entry.updated_at or "" for entry in entries], "updated_at")
    return {
        "query_id": [query_id for query_id, _ in pairs],
        "doc_id": [doc_id for _, doc_id in pairs],
        "number": numbers,
        **_answered(entries, authors),
        "created_at": created,
        "changed_at": [last or made for last, made in zip(changed, created, strict=True)],
        "duration_s": [
            math.nan if (seconds := entry.lead_time) is None or not 0 <= seconds < MAX_ID else float(seconds)
            for entry in entries
        ],
        "round": list(rounds),
        "annotator_id": authors,
    }


def _authors(entries: Sequence[Annotation | Draft]) -> list[str]:
    users: list[Any] = [entry.user if isinstance(entry, Draft) else entry.completed_by for entry in entries]
    if UNSET in users:
        raise Fault(": no completed_by, so the annotator is unknown")
    return _users([None if isinstance(user, str) else user for user in users])


def _answered(entries: Sequence[Annotation | Draft], authors: Sequence[str]) -> dict[str, list[str]]:
    """Return what answers say as columns; what several say in the same words is read once."""
    results: list[Any] = [entry.result or () for entry in entries]
    try:
        texts: list[Any] = list(map(msgspec.json.encode, results))
    except (UnicodeError, OverflowError, RecursionError):  # half characters, numbers beyond 64 bits
        texts = list(map(repr, results))
    whys = [DRAFT if type(entry) is Draft else SKIPPED * bool(entry.was_cancelled) for entry in entries]
    editors = _users([entry.updated_by for entry in entries])
    # Whether an answer was last changed by another account than its annotator's.
    are_edited = [bool(own and last and own != last) for own, last in zip(authors, editors, strict=True)]
    known: dict[Any, tuple[str, ...]] = {}
    for key, result in zip(keys := list(zip(texts, whys, are_edited, strict=True)), results, strict=True):
        if key not in known:
            known[key] = _said(result, *key[1:])
    columns = zip(*map(known.__getitem__, keys), strict=True)
    names = ("label", "reason", "flags", "comment", "origin", "controls")
    return {name: [] for name in names} | dict(zip(names, map(list, columns), strict=bool(keys)))


def _said(results: Sequence[Result], reason: str, is_edited: bool) -> tuple[str, ...]:
    """Return label, why it is no vote, flags, comment, origin, and the names of all controls."""
    named: dict[Any, list[Result]] = {}
    for result in results:
        named.setdefault(result.from_name, []).append(result)
    labels = _chosen(named.get(RELEVANCE, ()), "choices")
    reason = reason or ("" if len(labels) == 1 else SEVERAL_LABELS if labels else NO_LABEL)
    label = _sound(labels[0]) if len(labels) == 1 else ";".join(map(one_line, labels))
    origin = origin_of(_text(named[RELEVANCE][0].origin, "origin") if RELEVANCE in named else "")
    flags = [one_line(flag).replace(";", ",") for flag in _chosen(named.get(FLAGS, ()), "choices")]
    flags += [EDITED_BY_OTHER] * is_edited
    comment = one_line(*_chosen(named.get(COMMENT, ()), "text"))
    controls = dict.fromkeys(name or "" for name in named if name is not UNSET)
    return label, reason, ";".join(flags), comment, origin, ", ".join(map(_sound, controls))


def _chosen(results: Sequence[Result], key: str) -> tuple[str, ...]:
    """Return the texts that the results hold under value.`key`, each once, in order."""
    texts: list[str] = []
    for result in results:
        if not isinstance(result.value, dict):
            raise Fault(f": value of {result.from_name} is {kind_of(result.value)}, expected an object")
        found = result.value.get(key)
        entries = [found] if isinstance(found, str) else found
        if not isinstance(entries, list) or [entry for entry in entries if not isinstance(entry, str)]:
            raise Fault(f": {key} of {result.from_name} is {kind_of(found)}, expected texts")
        texts += entries
    return tuple(dict.fromkeys(texts))


def origin_of(text: str | None) -> str:
    """Return how a label came about; an answer made through the API does not say it."""
    return _one_line(text or "") or API


def _sound(text: str) -> str:
    """Return a text with half a character, which no table holds, spelled out."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


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


def _times(texts: Sequence[str], key: str) -> list[str]:
    found = utc_times(texts)
    if None in found:
        text = texts[found.index(None)]
        raise Fault(f": {key} is {text[:40]!r}, expected a time as in ISO 8601")
    return found  # type: ignore[return-value]


def _users(values: Sequence[int | User | None]) -> list[str]:
    """Return users' ids as texts; empty for a deleted account."""
    return _spelled([value.id if type(value) is User else value for value in values], "id")


def _spelled(numbers: Sequence[Any], key: str) -> list[str]:
    """Return whole numbers as texts; empty for none."""
    are_whole = {*map(type, numbers)} <= {int, type(None)}
    each = set(numbers) if are_whole else numbers  # in which True would be 1
    spelled = {number: "" if number is None else str(_number(number, key)) for number in each}
    return list(map(spelled.__getitem__, numbers))


def _number(value: object, key: str) -> int:
    if type(value) is not int:
        raise Fault(f": {key} is {kind_of(value)}, expected {WHOLE}")
    if not LEAST <= value < MAX_ID:
        raise Fault(TOO_LONG)
    return value


def _id_text(value: object, key: str) -> str:
    """Return an id exactly as it is; a whole number becomes the text of its digits."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(_number(value, key))
    if not isinstance(value, str) or not is_id(value):
        shown = repr(value[:40]) if isinstance(value, str) else kind_of(value)
        raise Fault(f": {key} is {shown}, expected an id without white space")
    return value


def _text(value: object, key: str) -> str:
    if value is not None and not isinstance(value, str):
        raise Fault(f": {key} is {kind_of(value)}, expected text")
    return value or ""
