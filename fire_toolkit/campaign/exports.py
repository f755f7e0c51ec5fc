"""Exports of Label Studio as bytes: plain votes into columns at once, all else through `answers`.

Nearly every task of an export holds plain votes alone: one known account, one label, no flag, no comment.
Their shape is written down here as types, which msgspec decodes without making dicts. A task that is of any
other shape, right or wrong, is read by `answers`, and so is a file that msgspec does not take for JSON. What
`answers` would refuse has no such shape.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from itertools import chain, compress
from operator import not_
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import pyarrow as pa
from msgspec import UNSET, UnsetType
from pyarrow import compute

from fire_toolkit.campaign.answers import (
    Answer,
    answers_of_tasks,
    one_line,
    origin_of,
    parse_export,
    read_answers,
)
from fire_toolkit.campaign.tasks import split_pair_ids
from fire_toolkit.files import text_of, without_mark
from fire_toolkit.tables import JUDGMENTS
from fire_toolkit.tables.checks import are_ids

_WHOLE = ("round", "place", "number")
_COLUMNS = [*JUDGMENTS.names, "updated_at", "unique_id", "project", *_WHOLE, "kind"]
VOTES = pa.schema(
    (name, pa.int64() if name in _WHOLE else pa.float64() if name == "duration_s" else pa.string())
    for name in _COLUMNS
)
EDITED = "edited-by-other"
_TIMES = ("created_at", "updated_at")
_UNKNOWN = ("", "")
_DIGITS = 2_000  # a whole number of 4,300 digits, which Python does not read, covers a stretch of so many
_TIME = "^[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}Z$"

_Int = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_Seconds = Annotated[float, msgspec.Meta(ge=0, lt=2**53)]


class _Value(msgspec.Struct, gc=False):
    choices: tuple[str]


class _Result(msgspec.Struct, gc=False):
    from_name: Literal["relevance"]
    value: _Value
    origin: str | None = None


class _Annotation(msgspec.Struct, gc=False):
    id: _Int
    completed_by: _Int
    unique_id: str
    created_at: str
    updated_at: str
    result: tuple[_Result]
    lead_time: _Seconds | None = None
    updated_by: _Int | None = None
    was_cancelled: bool | None = None
    project: _Int | UnsetType | None = UNSET


class _Data(msgspec.Struct, gc=False):
    pair_id: str
    query_id: UnsetType = UNSET


class _Meta(msgspec.Struct, gc=False):
    round: Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)] = 1


class _Task(msgspec.Struct, gc=False):
    """A task of plain votes, as far as its types can say that."""

    data: _Data
    annotations: list[_Annotation]
    id: _Int
    project: _Int | None = None
    meta: _Meta | None = None
    drafts: tuple[()] | None = None


_TASKS, _PLAIN = msgspec.json.Decoder(list[msgspec.Raw]), msgspec.json.Decoder(_Task)
_ANSWER = msgspec.json.Decoder(_Annotation)
_REFUSED = (msgspec.MsgspecError, UnicodeError, RecursionError)


class Batch(NamedTuple):
    """The answers of a file: plain votes as a table of `VOTES`, the others with their places.

    n_places: every place, which says where in the file an answer stands, is below it.
    """

    votes: pa.Table
    others: list[tuple[int, Answer]]
    n_places: int


def read_export(content: bytes, *, where: str) -> Batch:
    """Return the answers in an export's bytes as `read_answers` has them; their place is their task.

    Raises:
        FormatError: as `text_of`, `parse_export` and `read_answers`.
    """
    content = without_mark(content)
    raw = _raw_tasks(content if content.isascii() else text_of(content, where))
    if raw is None:
        text = text_of(content, where)
        return split_answers(read_answers(parse_export(text, where=where), where=where))
    votes = _votes_of([(place, task) for place, task in enumerate(map(_plain, raw)) if task is not None])
    odd = sorted({*range(len(raw))}.difference(votes["place"].to_pylist()))
    others = answers_of_tasks(((place + 1, json.loads(bytes(raw[place]))) for place in odd), where=where)
    return Batch(votes, [(number - 1, answer) for number, answer in others], len(raw))


def _raw_tasks(content: bytes | str) -> list[msgspec.Raw] | None:
    """Return the tasks of an export unread; None where the file is not JSON as both readers have it."""
    try:
        tasks = _TASKS.decode(content)
    except _REFUSED:
        return None
    stretches = range(0, len(content), _DIGITS)
    are_long = (content[at : at + 9].isdigit() and content[at : at + _DIGITS].isdigit() for at in stretches)
    return None if any(are_long) else tasks


def _plain(task: msgspec.Raw) -> _Task | None:
    try:
        return _PLAIN.decode(task)
    except _REFUSED:
        return None


def plain_votes(pairs: Sequence[str], answers: Sequence[str], keys: Sequence[str]) -> pa.Table:
    """Return the plain votes among answers as a table of `VOTES`, by their place among all.

    pairs: the pair_id of each answer; answers: each as JSON; keys: what stands in the place of unique_ids.
    """
    tasks = []
    for place, (pair, text, key) in enumerate(zip(pairs, answers, keys, strict=True)):
        try:
            answer = _ANSWER.decode(text)
        except _REFUSED:
            continue
        answer.unique_id = key
        tasks.append((place, _Task(_Data(pair), [answer], 0)))
    return _votes_of(tasks)


def _votes_of(tasks: Sequence[tuple[int, _Task]]) -> pa.Table:
    """Return the votes of the tasks that hold plain votes alone."""
    pairs = split_pair_ids([task.data.pair_id for _, task in tasks])
    if not are_ids([*chain.from_iterable(pairs.values())]):
        pairs = {}
    rows = [(place, task, answer) for place, task in tasks for answer in task.annotations]
    found = [pairs.get(task.data.pair_id, _UNKNOWN) for _, task, _ in rows]
    answers = [answer for _, _, answer in rows]
    projects = [task.project if answer.project is UNSET else answer.project for _, task, answer in rows]
    columns = {
        "query_id": [query_id for query_id, _ in found],
        "doc_id": [doc_id for _, doc_id in found],
        "annotator_id": _spelled([answer.completed_by for answer in answers], str),
        "label": [answer.result[0].value.choices[0] for answer in answers],
        "created_at": [answer.created_at for answer in answers],
        "duration_s": [answer.lead_time for answer in answers],
        "flags": pa.repeat("", len(rows)),
        "comment": pa.repeat("", len(rows)),
        "origin": _spelled([answer.result[0].origin for answer in answers], origin_of),
        "updated_at": [answer.updated_at for answer in answers],
        "unique_id": [answer.unique_id for answer in answers],
        "project": _spelled(projects, lambda number: "" if number is None else str(number)),
        "round": [1 if task.meta is None else task.meta.round for _, task, _ in rows],
        "place": [place for place, _, _ in rows],
        "number": [answer.id for answer in answers],
        "kind": pa.repeat("", len(rows)),
    }
    votes = pa.table({name: pa.array(columns[name], VOTES.field(name).type) for name in VOTES.names}, VOTES)
    is_sound = compute.and_(_are_sound(votes), pa.array(map(_is_own_vote, answers), pa.bool_()))
    unsound = votes["place"].filter(compute.invert(is_sound))
    return votes.filter(compute.invert(compute.is_in(votes["place"], unsound)))


def _spelled(values: Sequence[Any], spell: Callable[[Any], str]) -> list[str]:
    """Return each value spelled, of which few are different."""
    known = {value: spell(value) for value in set(values)}
    return [known[value] for value in values]


def _is_own_vote(answer: _Annotation) -> bool:
    """Return whether an answer is not a skip, and nobody else has changed it."""
    return not answer.was_cancelled and answer.updated_by in (None, answer.completed_by)


def _are_sound(votes: pa.Table) -> pa.ChunkedArray:
    """Return which votes have a pair, times in this toolkit's form, and a unique_id that is plain."""
    unique_id = votes["unique_id"]
    found = [compute.not_equal(votes["query_id"], ""), compute.not_equal(unique_id, "")]
    found += [compute.string_is_ascii(unique_id), *(_are_times(votes[name]) for name in _TIMES)]
    return reduce(compute.and_, found)


def _are_times(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return which texts are times as `utc_time` writes them; none if one in this form is not a time."""
    are_in_form = compute.match_substring_regex(texts, _TIME)
    try:
        texts.filter(are_in_form).cast(pa.timestamp("us", "UTC"))
    except pa.ArrowInvalid:
        return compute.equal(texts, "")
    return are_in_form


def split_answers(answers: Iterable[Answer]) -> Batch:
    """Return answers as a batch, each in its place."""
    numbered = list(enumerate(answers))
    is_plain = [_is_plain(answer) for _, answer in numbered]
    votes = vote_table(compress(numbered, is_plain))
    return Batch(votes, list(compress(numbered, map(not_, is_plain))), len(numbered))


def _is_plain(answer: Answer) -> bool:
    """Return whether an answer is one label by a known account, without flags, with a plain unique_id."""
    return (
        len(answer.labels) == 1
        and answer.labels[0].isprintable()  # no half a character, which Arrow cannot hold
        and not (answer.flags or answer.is_draft or answer.is_skipped or answer.is_edited)
        and answer.annotator_id != ""
        and answer.unique_id != ""
        and answer.unique_id.isascii()
    )


def vote_table(votes: Iterable[tuple[int, Answer]]) -> pa.Table:
    """Return votes and their places as a table of `VOTES`."""
    rows = [_vote_row(place, vote) for place, vote in votes]
    columns = zip(*rows, strict=True) if rows else [()] * len(_COLUMNS)
    typed = [pa.array(column, kind) for column, kind in zip(columns, VOTES.types, strict=True)]
    return pa.table(typed, schema=VOTES)


def plain_unique_id(unique_id: str) -> str:
    """Return the unique_id of a plain vote; empty, which equals that of no plain vote, for any other."""
    return unique_id if unique_id.isascii() else ""


def _vote_row(place: int, vote: Answer) -> tuple[object, ...]:
    """Return a vote's values of `_COLUMNS`."""
    flags = [one_line(flag).replace(";", ",") for flag in vote.flags]
    return (
        vote.query_id,
        vote.doc_id,
        vote.annotator_id,
        vote.labels[0],
        vote.created_at,
        vote.duration_s,
        ";".join([*flags, EDITED] if vote.is_edited else flags),
        vote.comment,
        vote.origin,
        vote.updated_at or vote.created_at,
        plain_unique_id(vote.unique_id),
        vote.project,
        vote.round,
        place,
        vote.number,
        vote.kind,
    )
