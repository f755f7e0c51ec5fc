"""What Label Studio's JSON export says of answers: types that msgspec decodes, and their content as columns.

Equal words are read once. What is not as Label Studio writes it is a `Fault`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import UNSET, Raw, UnsetType
from pyarrow import compute

from fire_toolkit.arrays import Ints
from fire_toolkit.campaign.coded import coded, distinct_rows
from fire_toolkit.guidelines.model import COMMENT, FLAGS, RELEVANCE
from fire_toolkit.resolution.judgments import utc_times
from fire_toolkit.tables.columns import Texts

LEAST, MAX_ID = -(2**63), 2**63

Number = Annotated[int, msgspec.Meta(ge=LEAST, le=MAX_ID - 1)]


class User(msgspec.Struct, gc=False):
    """An account, where an export has more of it than its number."""

    id: Number | None = None


class Result(msgspec.Struct, gc=False):
    """What was answered with one control; where a value is looked at, `answers` looks."""

    from_name: str | UnsetType | None = UNSET
    value: Any = None
    origin: Any = None


class Entry(msgspec.Struct, gc=False):
    """What annotations and drafts have in common."""

    id: Number | None = None
    result: list[Result] | None = None
    unique_id: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    lead_time: int | float | None = None


class Annotation(Entry, gc=False):
    """What a person submitted or skipped."""

    completed_by: Number | User | UnsetType | None = UNSET
    updated_by: Number | User | None = None
    project: Number | UnsetType | None = UNSET
    was_cancelled: bool | None = None


class Kept(Annotation, gc=False, omit_defaults=True, kw_only=True):
    """An annotation as the record keeps it: all that says what was answered, by whom, when and how."""

    id: Number
    completed_by: Number | User | None
    result: Raw | UnsetType = UNSET  # type: ignore[assignment]
    ground_truth: Any = None
    parent_prediction: Any = None
    parent_annotation: Any = None
    last_action: Any = None


class Row(Annotation, gc=False):
    """An annotation in the ledger, whose row says whose it is; of a page, its place there."""

    completed_by: Number | User | None = None
    page: str | None = None  # empty: of one caption
    position: Any = ""
    page_s: int | float | None = None
    round: int | None = None
    elsewhere: Any = None


class Draft(Entry, gc=False):
    """What a person left unsent; nothing else that it may say is read."""

    id: Number | None = 0
    user: Number | str | User | None = None
    updated_by: ClassVar[None] = None
    project: ClassVar[None] = None
    was_cancelled: ClassVar[bool] = False


class Data(msgspec.Struct, gc=False):
    """What names the pair of a task."""

    pair_id: Any = UNSET
    query_id: Any = UNSET
    doc_id: Any = UNSET


class Task(msgspec.Struct, gc=False):
    """A task as Label Studio exports it, as far as anything is read of it."""

    data: Data | UnsetType | None = UNSET
    annotations: list[Annotation] | UnsetType | None = UNSET
    drafts: list[bool | Number | Draft] | None = None
    id: Any = None
    project: Any = None
    meta: Any = None


TASKS = msgspec.json.Decoder(list[Task])
ROW = msgspec.json.Decoder(Row)
UNDECODED = (msgspec.MsgspecError, UnicodeError, RecursionError)
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")

_OBJECT, WHOLE = "an object", "a whole number"
TOO_LONG = ": a number of more than 64 bits; expected an id"
LISTS = ("annotations", "drafts")
_USERS = ("completed_by", "updated_by", "user")
_EXPECTED = {  # a whole number for all others
    "data": _OBJECT,
    **dict.fromkeys(("annotations", "drafts", "result"), "a list"),
    **dict.fromkeys(("unique_id", "from_name", "created_at", "updated_at"), "text"),
    "was_cancelled": "true or false",
    "lead_time": "seconds",
}


def described(task: Any, error: str) -> str:
    """Return what is wrong at the place in a task that an error of msgspec names at its end."""
    steps = [name or int(row) for name, row in _STEP.findall(error.rpartition("`$")[2])]
    value = task
    for step in steps:
        value = value[step]
    if len(steps) > 1 and steps[0] in LISTS:
        steps = steps[2:]  # within the only answer
    names = [step for step in steps if isinstance(step, str)]
    key = (names[0] if names[0] in _USERS else names[-1]) if names else ""
    expected = _EXPECTED.get(key, WHOLE) if steps and steps[-1] == names[-1] else _OBJECT
    if expected == WHOLE and type(value) is int:
        return TOO_LONG
    return f"{key and f': {key}'} is {kind_of(value)}, expected {expected}"


_KINDS = {
    dict: "an object",
    list: "a list",
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
}


def kind_of(value: object) -> str:
    """Return what an error calls a value of JSON."""
    return "nothing" if value is None else _KINDS.get(type(value), type(value).__name__)


API = "api"
DRAFT = "draft"
SKIPPED = "skipped"
NO_LABEL = "no_label"
SEVERAL_LABELS = "several_labels"
EDITED_BY_OTHER = "edited-by-other"


class Fault(Exception):
    """What is wrong with a task, as it follows the task's place in an error."""


def answer_columns(entries: Sequence[Annotation | Draft]) -> dict[str, Any]:
    """Return annotations and drafts as columns of Answers: what the answers alone say."""
    users: list[Any] = [entry.user if isinstance(entry, Draft) else entry.completed_by for entry in entries]
    if UNSET in users:
        raise Fault(": no completed_by, so the annotator is unknown")
    authors = _users([None if isinstance(user, str) else user for user in users])
    numbers: list[Any] = [entry.id for entry in entries]
    if None in numbers:
        whole_number(None, "id")
    created = _times([entry.created_at or "" for entry in entries], "created_at")
    changed = _times([entry.updated_at or "" for entry in entries], "updated_at")
    seconds: list[Any] = [entry.lead_time for entry in entries]
    durations = [math.nan if each is None or not 0 <= each < MAX_ID else float(each) for each in seconds]
    # What several say in the same words is read once.
    results: list[Any] = [entry.result or () for entry in entries]
    try:
        texts: list[Any] = list(map(msgspec.json.encode, results))
    except (UnicodeError, OverflowError, RecursionError):  # half characters, numbers beyond 64 bits
        texts = list(map(repr, results))
    whys = [DRAFT if type(entry) is Draft else SKIPPED * bool(entry.was_cancelled) for entry in entries]
    # Whether an answer was last changed by another account than its annotator's.
    editors = _users([entry.updated_by for entry in entries])
    are_known = (np.asarray(compute.not_equal(each, "")) for each in (authors, editors))
    are_edited = np.logical_and(*are_known) & np.asarray(compute.not_equal(authors, editors))
    codes, firsts = distinct_rows([coded(texts).codes, coded(whys).codes, are_edited.astype(np.int64)])
    said = [_said(results[row], whys[row], bool(are_edited[row])) for row in firsts.tolist()]
    names = ("label", "reason", "flags", "comment", "origin", "controls")
    columns = zip(*said, strict=True) if said else [()] * len(names)
    return {
        "number": np.array(numbers, dtype=np.int64),
        **{name: texts_column(each, codes) for name, each in zip(names, columns, strict=True)},
        "created_at": created,
        "changed_at": compute.if_else(compute.equal(changed, ""), created, changed),
        "duration_s": np.array(durations, dtype=np.float64),
        "annotator_id": authors,
    }


def texts_column(distinct: Sequence[str], codes: Ints | None = None) -> Texts:
    """Return texts as a column; codes: of each row the place of its text, by default each is one."""
    found = pa.array(distinct, pa.large_string())
    return found if codes is None else found.take(pa.array(codes))


def _said(results: Sequence[Result], reason: str, is_edited: bool) -> tuple[str, ...]:
    """Return label, why it is no vote, flags, comment, origin, and the names of all controls."""
    named: dict[Any, list[Result]] = {}
    for result in results:
        named.setdefault(result.from_name, []).append(result)
    labels = _chosen(named.get(RELEVANCE, ()), "choices")
    reason = reason or ("" if len(labels) == 1 else SEVERAL_LABELS if labels else NO_LABEL)
    label = sound_text(labels[0]) if len(labels) == 1 else ";".join(map(one_line, labels))
    origin = plain_text(named[RELEVANCE][0].origin, "origin") if RELEVANCE in named else ""
    origin = _one_line(origin or "") or API  # an answer made through the API does not say it
    flags = [one_line(flag).replace(";", ",") for flag in _chosen(named.get(FLAGS, ()), "choices")]
    flags += [EDITED_BY_OTHER] * is_edited
    comment = one_line(*_chosen(named.get(COMMENT, ()), "text"))
    controls = dict.fromkeys(name or "" for name in named if name is not UNSET)
    return label, reason, ";".join(flags), comment, origin, ", ".join(map(sound_text, controls))


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


def sound_text(text: str) -> str:
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


def _times(texts: Sequence[str], key: str) -> Texts:
    found = utc_times(texts)
    if found.null_count:
        text = texts[found.is_null().index(True).as_py()]
        raise Fault(f": {key} is {text[:40]!r}, expected a time as in ISO 8601")
    return found


def _users(values: Sequence[int | User | None]) -> Texts:
    """Return users' ids as texts; empty for a deleted account."""
    return spelled_numbers([value.id if type(value) is User else value for value in values], "id")


def spelled_numbers(numbers: Sequence[Any], key: str) -> Texts:
    """Return whole numbers as texts; empty for none."""
    if not {*map(type, numbers)} <= {int, type(None)}:  # a set would take True for 1
        for number in numbers:
            whole_number(number, key)
    codes, distinct = coded(numbers)
    return texts_column(
        ["" if number is None else str(whole_number(number, key)) for number in distinct], codes
    )


def whole_number(value: object, key: str) -> int:
    """Return the value under a key, which is to be a whole number of at most 64 bits."""
    if type(value) is not int:
        raise Fault(f": {key} is {kind_of(value)}, expected {WHOLE}")
    if not LEAST <= value < MAX_ID:
        raise Fault(TOO_LONG)
    return value


def plain_text(value: object, key: str) -> str:
    """Return the value under a key, which is to be text or nothing, as text."""
    if value is not None and not isinstance(value, str):
        raise Fault(f": {key} is {kind_of(value)}, expected text")
    return value or ""
