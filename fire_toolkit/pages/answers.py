"""The records of our own page as answers: who has answered what by now, and as rows of the ledger."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fire_toolkit.campaign.ledger import ANSWERED, DELETED, answer_text
from fire_toolkit.campaign.records import QueueName
from fire_toolkit.campaign.store import Record, Store
from fire_toolkit.errors import FormatError
from fire_toolkit.guidelines.model import COMMENT, FLAGS, RELEVANCE, Guideline
from fire_toolkit.resolution.judgments import just_after

ANSWER, UNDO, CONSENT = "answer", "undo", "consent"
SOURCE = "page:"
MOST_SECONDS = 86400.0
_LONGEST = 10_000
Asked = tuple[int, str]  # a round and a pair


def open_answers(records: Iterable[Record], annotator_id: str) -> dict[Asked, Record]:
    """Return an annotator's answers that stand, in the order in which they were given."""
    found: dict[Asked, Record] = {}
    for record in records:
        if record["annotator"] != annotator_id:
            continue
        if record["kind"] == UNDO:
            found.pop((record["round"], record["pair"]), None)
        elif record["kind"] == ANSWER:
            asked = (record["round"], record["pair"])
            found.pop(asked, None)
            found[asked] = record
    return found


def checked_answer(content: Mapping[str, Any], guideline: Guideline) -> dict[str, Any]:
    """Return label, flags, comment and seconds of what a browser sent; no label: the item is missing.

    Raises:
        FormatError: it is not an answer to the guideline's question.
    """
    label, flags, seconds = content.get("label"), content.get("flags"), content.get("seconds")
    if label != "" and label not in {each.name for each in guideline.labels}:
        raise FormatError("label: not one of the guideline")
    if not isinstance(flags, list) or not set(map(str, flags)) <= {each.name for each in guideline.flags}:
        raise FormatError("flags: not of the guideline")
    if not isinstance(seconds, int | float) or not 0 <= seconds < math.inf:
        raise FormatError("seconds: expected a number from 0")
    kept: dict[str, Any] = {"label": label, "flags": sorted(set(flags)) if label else []}
    kept["comment"] = checked_text(content, "comment", _LONGEST)
    return kept | {"seconds": round(min(float(seconds), MOST_SECONDS), 3)}


def checked_text(content: Mapping[str, Any], name: str, longest: int) -> str:
    """Return the text `name` of what a browser sent; empty if there is none.

    Raises:
        FormatError: no text, or a longer one.
    """
    value = content.get(name, "")
    if not isinstance(value, str) or len(value) > longest:
        raise FormatError(f"{name}: expected a text of at most {longest} characters")
    return value


def answer_rows(records: Iterable[Record], campaign_key: str) -> list[dict[str, str]]:
    """Return a row of the ledger for each answer, also those that were taken back, in their order."""
    return [_row(record, campaign_key) for record in records if record["kind"] == ANSWER]


def undone_rows(records: Iterable[Record], campaign_key: str) -> Iterator[dict[str, str]]:
    """Yield for each answer that was taken back the row that says so."""
    last: dict[tuple[str, Asked], Record] = {}
    for record in records:
        if record["kind"] not in (ANSWER, UNDO):
            continue
        asked = (record["annotator"], (record["round"], record["pair"]))
        if record["kind"] == ANSWER:
            last[asked] = record
        elif asked in last:
            yield _row(last.pop(asked), campaign_key) | {"state": DELETED, "seen_at": record["at"]}


def fold_records(records: Sequence[Record], campaign_key: str, store: Store) -> int:
    """Add the answers of records to a ledger, and what was taken back; return how many it did not have."""
    records = in_sequence(records)
    before = sum(store.counts.values())
    store.add_answers(answer_rows(records, campaign_key))
    n_new = sum(store.counts.values()) - before
    store.add_rows(undone_rows(records, campaign_key))
    return n_new


def in_sequence(records: Iterable[Record]) -> list[Record]:
    """Return records whose times go on with their order, question by question, whatever the clock said."""
    last: dict[tuple[str, Asked], str] = {}
    found = []
    for record in records:
        if record["kind"] in (ANSWER, UNDO):
            asked = (record["annotator"], (record["round"], record["pair"]))
            before = last.get(asked, "")
            last[asked] = record["at"] if record["at"] > before else just_after(before)
            record = {**record, "at": last[asked]}
        found.append(record)
    return found


def _row(record: Record, campaign_key: str) -> dict[str, str]:
    queue = QueueName(record["round"], record["annotator"])
    return {
        "source": f"{SOURCE}{campaign_key}",
        "project": "",
        "annotation": f"{SOURCE}{campaign_key}#{queue}#{record['pair']}",
        "updated_at": record["at"],
        "state": ANSWERED,
        "seen_at": record["at"],
        "pair_id": record["pair"],
        "task": "",
        "queue": str(queue),
        "annotator_id": record["annotator"],
        "answer": answer_text(_annotation(record)),
    }


def _annotation(record: Record) -> dict[str, Any]:
    """Return an answer in the form that the ledger has for all carriers."""
    controls = (
        (RELEVANCE, "choices", [record["label"]] if record["label"] else []),
        (FLAGS, "choices", record["flags"]),
        (COMMENT, "text", [record["comment"]] if record["comment"] else []),
    )
    result = [
        {"from_name": control, "value": {key: values}, "origin": "manual"}
        for control, key, values in controls
        if values
    ]
    return {
        "id": record["n"],
        "completed_by": None,
        "was_cancelled": not record["label"],
        "created_at": record["at"],
        "updated_at": record["at"],
        "lead_time": record["seconds"],
        "result": result,
        "page": record["page"],
        "position": record["position"],
    }
