"""Rows of the record: what is kept of an answer, as any carrier gives it, and its versions."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec

from fire_toolkit.campaign.answer_columns import Kept
from fire_toolkit.campaign.keys import pair_ids, split_pair_id
from fire_toolkit.campaign.page_json import PART, part_key
from fire_toolkit.campaign.task_json import META, PAIR_ID, ROUND, round_of
from fire_toolkit.errors import FireError, FormatError
from fire_toolkit.guidelines.model import CAPTION
from fire_toolkit.resolution.judgments import just_after, utc_time
from fire_toolkit.tables.columns import listed
from fire_toolkit.tables.ids import is_id

Json = Mapping[str, Any]

ANSWERED = "answered"
EDITED = "edited"
DELETED = "deleted"
RESTORED = "restored"
STATES = (ANSWERED, EDITED, DELETED, RESTORED)
EVENTS = (DELETED, RESTORED)


class Version(NamedTuple):
    """A row of the record: a version of an answer, or the word that it is gone or there again.

    annotation: the answer that it is a version of; updated_at: the version, UTC; task: the task's number;
    source: the server (or file) it was read from; project: its number there; state: `answered` (first seen),
    `edited` (a later version), `deleted` (this version is gone from the server), `restored` (it
    is there again); seen_at: when it was read, UTC; queue: the round and annotator that the project was made
    for, empty if unknown; annotator_id: the author, empty if the account was gone; pair_id: the pair, empty
    if the task named none; answer: the annotation as the server gave it, JSON.

    All that follows is what it says (`said.py`); without a label (None) that was not read.
    """

    annotation: str
    updated_at: str
    task: str
    source: str
    project: str
    state: str
    seen_at: str
    queue: str
    annotator_id: str
    pair_id: str
    answer: str
    label: str | None = None
    no_vote: str = ""
    flags: str = ""
    comment: str = ""
    origin: str = ""
    controls: str = ""
    page: str | None = None
    page_position: str = ""
    page_s: float | None = None
    round_said: int = 1
    is_elsewhere: int = 0
    fault: str | None = None
    id: int = 0
    created_at: str = ""
    changed_at: str = ""
    duration_s: float | None = None
    query_id: str = ""
    doc_id: str = ""

    @property
    def order(self) -> tuple[str, bool, str]:
        """What the versions of an answer are sorted by; its last word comes last."""
        return self.updated_at, self.state in EVENTS, self.seen_at

    def is_of(self, moment: str) -> bool:
        """Whether a time is the one that it counts by, or the one that its source gave it."""
        return moment in (self.updated_at, self.changed_at)


COLUMNS = Version._fields[: Version._fields.index("label")]
_values = itemgetter(*COLUMNS)
KEPT = tuple(name for name in Kept.__struct_fields__ if name != "project")


@dataclass(frozen=True)
class Origin:
    """Where tasks were read from, for whom they were, when, and who the accounts are."""

    source: str
    project: str
    queue: str
    seen_at: str
    names: Mapping[str, str]


def version_of(row: Mapping[str, str]) -> Version:
    """Return a row of an answer, which has `COLUMNS`, before it is read what it says."""
    return Version(*_values(row))


def answer_rows(
    tasks: Sequence[Json], origin: Origin, *, where: str, pairs: Sequence[str] | None = None
) -> list[dict[str, str]]:
    """Return a row for each annotation of tasks, as first answers (`Store.add_answers` tells edits apart).

    Args:
        tasks: each of one pair; pages of several captions are split before (`split_pages`).
        origin: where they are from; without a project: that which the task names.
        where: what they are called in an error.
        pairs: theirs, as `pairs_of` has them; None: they are read here.

    Returns:
        Rows with further entries: round, which the task names, 1 where it names none; caption, which it
        shows, else empty. A task that names no pair gives rows without pair_id; their answer keeps the
        task's data.

    Raises:
        FormatError: an annotation that is not an object, or has no number.
    """
    pairs = pairs_of(task.get("data") for task in tasks) if pairs is None else pairs
    return [
        _row(annotation, task, pair, origin, where)
        for task, pair in zip(tasks, pairs, strict=True)
        for annotation in task.get("annotations") or ()
    ]


def _row(annotation: Any, task: Json, pair: str, origin: Origin, where: str) -> dict[str, str]:
    if not isinstance(annotation, dict) or not isinstance(annotation.get("id"), int):
        raise FormatError(f"{where}: task {task.get('id')}: an annotation without an id")
    part = task.get(PART)
    kept = {key: annotation[key] for key in KEPT if key in annotation}
    author = annotation.get("completed_by")
    author = author.get("id") if isinstance(author, dict) else author
    author = author if isinstance(author, int) and not isinstance(author, bool) else None
    kept["completed_by"] = author
    if isinstance(part, tuple):  # as `split_pages` makes it; JSON has none
        kept |= dict(zip(("page", "position"), part, strict=True))
        kept |= {"page_s": annotation["page_s"]} if "page_s" in annotation else {}
    if not pair:
        kept["task_data"] = task.get("data")
    updated_at = str(annotation.get("updated_at") or annotation.get("created_at") or "")
    unique_id = str(annotation.get("unique_id") or "")
    project = origin.project or str(task.get("project") or "")
    # Numbers are used again after a deletion and differ between servers; a unique id is the same everywhere.
    key = unique_id or f"{origin.source}#{project}#{annotation['id']}"
    return {
        "source": origin.source,
        "project": project,
        "annotation": part_key(key, pair) if isinstance(part, tuple) and not unique_id else key,
        "updated_at": utc_time(updated_at) or updated_at,
        "state": ANSWERED,
        "seen_at": origin.seen_at,
        "pair_id": pair,
        "task": str(task.get("id", "")),
        "queue": origin.queue,
        "annotator_id": "" if author is None else origin.names.get(str(author), str(author)),
        "answer": answer_text(kept),
        ROUND: str(round_of(task.get(META))),
        CAPTION: str(task["data"].get(CAPTION, "")) if pair else "",
    }


def answer_text(content: Json) -> str:
    """Return an answer as the record writes it."""
    try:
        return msgspec.json.encode(content, order="sorted").decode()
    except (OverflowError, UnicodeError, RecursionError):  # numbers beyond 64 bits, half characters
        return json.dumps(content, sort_keys=True, separators=(",", ":"))


def says_the_same(answer: str, earlier: str) -> bool:
    """Whether two answers differ in nothing but when they were read and in which row of a file."""
    one, other = (json.loads(text) for text in (answer, earlier))
    return all(one.get(key) == other.get(key) for key in ("result", "lead_time", "created_at"))


def pairs_of(contents: Iterable[object]) -> list[str]:
    """Return the pair_id that each task's data holds (or its query_id and doc_id make); empty if none."""
    given = list(map(_key_of, contents))
    named = list({each for each in given if isinstance(each, tuple)})
    made = dict(zip(named, listed(pair_ids(*zip(*named, strict=True))), strict=True)) if named else {}
    keys = [made[each] if isinstance(each, tuple) else each for each in given]
    return [key if _is_of_ids(key) else "" for key in keys]


def _key_of(content: object) -> str | tuple[str, str]:
    """Return a task's pair_id, or the two ids that it is made of; empty where there is neither."""
    if not isinstance(content, dict):
        return ""
    if "query_id" in content and "doc_id" in content:
        ids = (str(content["query_id"]), str(content["doc_id"]))
        return ids if all(map(is_id, ids)) else ""
    key = content.get(PAIR_ID)
    return key if isinstance(key, str) else ""


def _is_of_ids(key: str) -> bool:
    try:
        return all(map(is_id, split_pair_id(key)))
    except FireError:
        return False


def after(moment: str) -> str:
    """Return a time after another one, also where that is not written as times are."""
    return just_after(moment) if utc_time(moment) == moment else f"{moment}+"
