"""The records of our own page as answers: who has answered what by now, and as rows of all carriers' form."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
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


def checked_answer(content: Mapping[str, Any], guideline: Guideline) -> dict[str, Any]:
    """Return label, flags, comment and seconds of what a browser sent; no label: the item is missing.

    Raises:
        FormatError: it is not an answer to the guideline's question.
    """
    label, flags, seconds = content.get("label"), content.get("flags"), content.get("seconds")
    if label not in ["", *(each.name for each in guideline.labels)]:
        raise FormatError("label: not one of the guideline")
    if not isinstance(flags, list) or not set(map(str, flags)) <= {each.name for each in guideline.flags}:
        raise FormatError("flags: not of the guideline")
    if not isinstance(seconds, int | float) or not 0 <= seconds < math.inf:
        raise FormatError("seconds: expected a number from 0")
    kept: dict[str, Any] = {"label": label, "flags": sorted(set(flags)) if label else []}
    kept["comment"] = checked_text(content, "comment", _LONGEST)
    return kept | {"seconds": round(float(min(seconds, MOST_SECONDS)), 3)}


def checked_text(content: Mapping[str, Any], name: str, longest: int) -> str:
    """Return the text `name` of what a browser sent; empty if there is none.

    Raises:
        FormatError: no text, or a longer one.
    """
    value = content.get(name, "")
    if not isinstance(value, str) or len(value) > longest:
        raise FormatError(f"{name}: expected a text of at most {longest} characters")
    return value


def fold_records(records: Iterable[Record], campaign_key: str, store: Store) -> int:
    """Add the answers of records, and what was taken back, to a record; return how many it did not have.

    Times go on with the order of what was done, question by question, whatever a clock said.
    """
    last: dict[tuple[str, int, str], tuple[str, Record | None]] = {}
    answered, undone = [], []
    for record in records:
        if record["kind"] not in (ANSWER, UNDO):
            continue
        asked = (record["annotator"], record["round"], record["pair"])
        before, standing = last.get(asked, ("", None))
        at = record["at"] if record["at"] > before else just_after(before)
        now = {**record, "at": at} if record["kind"] == ANSWER else None
        if now:
            answered.append(_row(now, campaign_key))
        elif standing:
            undone.append(_row(standing, campaign_key) | {"state": DELETED, "seen_at": at})
        last[asked] = (at, now)
    n_before = sum(store.counts.values())
    store.add_answers(answered)
    n_new = sum(store.counts.values()) - n_before
    store.add_rows(undone)
    return n_new


def _row(record: Record, campaign_key: str) -> dict[str, str]:
    """Return an answer in the form that the record has for all carriers."""
    queue = QueueName(record["round"], record["annotator"])
    controls = (
        (RELEVANCE, "choices", [record["label"]] if record["label"] else []),
        (FLAGS, "choices", record["flags"]),
        (COMMENT, "text", [record["comment"]] if record["comment"] else []),
    )
    annotation = {
        "id": record["n"],
        "completed_by": None,
        "was_cancelled": not record["label"],
        "created_at": record["at"],
        "updated_at": record["at"],
        "lead_time": record["seconds"],
        "result": [
            {"from_name": control, "value": {key: values}, "origin": "manual"}
            for control, key, values in controls
            if values
        ],
        "page": record["page"],
        "position": record["position"],
    }
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
        "answer": answer_text(annotation),
    }
