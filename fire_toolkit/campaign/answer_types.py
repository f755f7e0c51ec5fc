"""What Label Studio's JSON export says of answers, as types that msgspec decodes, and what is not so."""

import re
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import UNSET, UnsetType

LEAST, MAX_ID = -(2**63), 2**63

_Number = Annotated[int, msgspec.Meta(ge=LEAST, le=MAX_ID - 1)]


class User(msgspec.Struct, gc=False):
    """An account, where an export has more of it than its number."""

    id: _Number | None = None


class Result(msgspec.Struct, gc=False):
    """What was answered with one control; where a value is looked at, `answers` looks."""

    from_name: str | UnsetType | None = UNSET
    value: Any = None
    origin: Any = None


class Entry(msgspec.Struct, gc=False):
    """What annotations and drafts have in common."""

    id: _Number | None = None
    result: list[Result] | None = None
    unique_id: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    lead_time: int | float | None = None


class Annotation(Entry, gc=False):
    """What a person submitted or skipped."""

    completed_by: _Number | User | UnsetType | None = UNSET
    updated_by: _Number | User | None = None
    project: _Number | UnsetType | None = UNSET
    was_cancelled: bool | None = None


class Row(Annotation, gc=False):
    """An annotation in the ledger, whose row says whose it is; of a page, its place there."""

    completed_by: _Number | User | None = None
    page: str | None = None  # empty: of one caption
    position: Any = ""
    page_s: int | float | None = None
    round: int | None = None
    elsewhere: Any = None


class Draft(Entry, gc=False):
    """What a person left unsent; nothing else that it may say is read."""

    id: _Number | None = 0
    user: _Number | str | User | None = None
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
    drafts: list[bool | _Number | Draft] | None = None
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
