"""Answers from elsewhere to rows of the ledger: pseudonyms for people, labels for values, versions."""

from __future__ import annotations

import hmac
import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import groupby
from operator import and_
from pathlib import Path
from typing import Any

from fire_toolkit.campaign.ledger import ANSWERED
from fire_toolkit.campaign.ledger_rows import answer_text, says_the_same
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.task_json import ROUND
from fire_toolkit.campaign.tasks import pair_id
from fire_toolkit.campaign.votes import DELETED
from fire_toolkit.elsewhere.found import BY_FILE, SKIP, WHERE, Found, FoundFile
from fire_toolkit.elsewhere.labels import LabelMap
from fire_toolkit.guidelines.model import COMMENT, RELEVANCE
from fire_toolkit.resolution.judgments import just_after

Row = dict[str, str]
_MILLISECONDS = len("2026-03-02T09:23:56.123")


def pseudonym_of(worker: str, *, key: bytes, source: str) -> str:
    """Return the name under which somebody's answers go: the same for each worker of a source.

    Examples:
        >>> one, other = (pseudonym_of(name, key=b"k", source="mturk") for name in ("A1", "A2"))
        >>> one[:7], len(one), one == other
        ('worker-', 19, False)
    """
    digest = hmac.digest(key, f"{source}\0{worker}".encode(), "sha256")
    return f"worker-{digest.hex()[:12]}"


def ledger_rows(
    file: FoundFile,
    labels: LabelMap,
    *,
    name_of: Callable[[str], str],
    known: Mapping[str, Collection[str] | None],
    seen_at: str,
) -> list[Row]:
    """Return a row of the ledger for each answer at a pair of the collection, in the order of their times.

    Args:
        file: its answers, whose values all have labels.
        labels: which value is which label.
        name_of: worker → pseudonym.
        known: `query` and `doc` → the ids of the collection; None: all.
        seen_at: the time of reading, which is also the version of an answer without a time.
    """
    times: dict[tuple[str, str], int] = {}
    rows = []
    names_somebody = file.roles.get("annotator") == BY_FILE
    source = "file:" + (f"{file.tool} of one person" if names_somebody else Path(file.path).name)
    for answer in sorted(file.answers, key=lambda answer: (answer.updated_at, answer.number)):
        ids = {"query": answer.query_id, "doc": answer.doc_id}
        if any(there is not None and ids[role] not in there for role, there in known.items()):
            continue
        name = name_of(answer.worker) if answer.worker else f"{DELETED}{answer.number}"
        pair = pair_id(answer.query_id, answer.doc_id)
        times[name, pair] = times.get((name, pair), 0) + 1
        content = _content(answer, labels, file.tool, seen_at)
        rows.append(
            {
                "source": source,
                "project": "",
                "annotation": f"{name}#{pair}#{answer.key or times[name, pair]}",
                "updated_at": content["updated_at"],
                "state": ANSWERED,
                "seen_at": seen_at,
                "pair_id": pair,
                "task": "",
                "queue": "",
                "annotator_id": name,
                "answer": answer_text(content),
            }
        )
    return rows


def _content(answer: Found, labels: LabelMap, tool: str, seen_at: str) -> dict[str, Any]:
    found = labels.labels_of(answer) or ()
    is_skip = bool(answer.why) or SKIP in found
    result = [{"from_name": RELEVANCE, "origin": "manual", "value": {"choices": list(found)}}]
    words = answer.why or answer.comment
    comment = [{"from_name": COMMENT, "value": {"text": [words]}}] if words else []
    return {
        "id": answer.number,
        "completed_by": None,
        "result": [*([] if is_skip or not found else result), *comment],
        "was_cancelled": is_skip,
        "created_at": answer.created_at or None,
        "updated_at": answer.updated_at or seen_at,
        "lead_time": None if math.isnan(answer.seconds) else answer.seconds,
        "given": [list(value) for value in answer.values],
        WHERE: tool,
        ROUND: answer.round,
    }


def new_rows(rows: Sequence[Row], store: Store) -> list[Row]:
    """Return the rows that say something new of their answers, each as a version of its own.

    A file that was read before gives none. An answer that says something else at the same time (its value is
    mapped to another label now, its work was rejected since) becomes a later version; one without a time
    does so together with all answers of its annotator to the pair, so that their order stays.
    """
    found: list[Row] = []
    known = store.latest({row["annotation"] for row in rows})
    by_person = sorted(rows, key=lambda row: (row["annotator_id"], row["pair_id"]))
    for _, group in groupby(by_person, key=lambda row: (row["annotator_id"], row["pair_id"])):
        own = list(group)
        latest = [known.get(row["annotation"], ("", "")) for row in own]
        are_new = [_is_new(*each, store) for each in zip(own, latest, strict=True)]
        untimed = [row["updated_at"] == row["seen_at"] for row in own]
        is_redone = any(map(and_, are_new, untimed))
        found += [
            _as_version(row, last)
            for row, (last, _), is_new, is_untimed in zip(own, latest, are_new, untimed, strict=True)
            if is_new or (is_redone and is_untimed)
        ]
    return found


def _is_new(row: Row, latest: tuple[str, str], store: Store) -> bool:
    last, answer = latest
    if not last or says_the_same(row["answer"], answer):
        return not last
    is_older = row["updated_at"][:_MILLISECONDS] < last[:_MILLISECONDS]
    return not (is_older and store.has_version(row))


def _as_version(row: Row, last: str) -> Row:
    """Return the row with a time that no other version of its answer has; last: that of the last one."""
    own, before = row["updated_at"][:_MILLISECONDS], last[:_MILLISECONDS]
    if own > before or (own < before and row["updated_at"] != row["seen_at"]):
        return row
    later = just_after(last)
    content = json.loads(row["answer"]) | {"updated_at": later}
    return {**row, "updated_at": later, "answer": answer_text(content)}
