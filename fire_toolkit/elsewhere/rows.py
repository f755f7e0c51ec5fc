"""Answers from elsewhere to rows of the ledger: pseudonyms for people, labels for values, versions."""

from __future__ import annotations

import hmac
import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from fire_toolkit.campaign.ledger import ANSWERED, Version, says_the_same
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.task_json import ROUND
from fire_toolkit.campaign.tasks import pair_ids
from fire_toolkit.campaign.votes import DELETED
from fire_toolkit.elsewhere.meaning import Labels
from fire_toolkit.elsewhere.tables import BY_FILE, FoundFile
from fire_toolkit.elsewhere.tools import SKIP
from fire_toolkit.guidelines.model import COMMENT, RELEVANCE
from fire_toolkit.resolution.judgments import just_after

WHERE = "elsewhere"  # the entry of a row's answer that says with which tool it was given
_MILLISECONDS = len("2026-03-02T09:23:56.123")
_answer_text = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode  # as the ledger writes answers


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
    labels: Labels,
    *,
    name_of: Callable[[str], str],
    known: Mapping[str, Collection[str] | None],
    seen_at: str,
) -> list[dict[str, str]]:
    """Return a row of the ledger for each answer at a pair of the collection, in the order of their times.

    Args:
        file: its answers, whose values all have labels.
        labels: which value is which label.
        name_of: worker → pseudonym.
        known: `query` and `doc` → the ids of the collection; None: all.
        seen_at: the time of reading, which is also the version of an answer without a time.
    """
    answers = file.answers
    for role, ids in known.items():
        answers = answers if ids is None else answers[answers[f"{role}_id"].isin(ids)]
    names_somebody = file.roles.get("annotator") == BY_FILE
    source = "file:" + (f"{file.tool} of one person" if names_somebody else Path(file.path).name)
    pseudonym, meaning_of = cache(name_of), cache(labels.of)
    times: dict[tuple[str, str], int] = {}
    rows = []
    answer: Any
    in_order = answers.sort_values(["updated_at", "number"], kind="stable").astype("object")
    pairs = pair_ids(in_order["query_id"].tolist(), in_order["doc_id"].tolist())
    for pair, answer in zip(pairs, in_order.itertuples(index=False), strict=True):
        name = pseudonym(answer.worker) if answer.worker else f"{DELETED}{answer.number}"
        times[name, pair] = times.get((name, pair), 0) + 1
        meant = meaning_of(answer.values, file.tool) or ()
        content = _content(answer, meant, file.tool, seen_at, is_round_known=file.is_round_known)
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
                "answer": _answer_text(content),
            }
        )
    return rows


def _content(
    answer: Any, meant: Sequence[str], tool: str, seen_at: str, *, is_round_known: bool
) -> dict[str, Any]:
    is_skip = bool(answer.why) or SKIP in meant
    result = [{"from_name": RELEVANCE, "origin": "manual", "value": {"choices": list(meant)}}]
    words = answer.why or answer.comment
    comment = [{"from_name": COMMENT, "value": {"text": [words]}}] if words else []
    return {
        "id": answer.number,
        "completed_by": None,
        "result": [*([] if is_skip or not meant else result), *comment],
        "was_cancelled": is_skip,
        "created_at": answer.created_at or None,
        "updated_at": answer.updated_at or seen_at,
        "lead_time": None if math.isnan(answer.seconds) else answer.seconds,
        "given": answer.values,
        WHERE: tool,
        **({ROUND: answer.round} if is_round_known else {}),
    }


def new_rows(
    rows: Sequence[dict[str, str]], store: Store, asked_in: Mapping[str, int]
) -> list[dict[str, str]]:
    """Return the rows that say something new of their answers, each as a version of its own.

    A file that was read before gives none. An answer that says something else at the same time (its value is
    mapped to another label now, its work was rejected since, it is said to be of another round) becomes a
    later version, in the round that was said last; one without a time
    does so together with all answers of its annotator to the pair, so that their order stays.

    asked_in: pair → the round that asked it last, which a new answer is of where the file says none; 1 for
    others.
    """
    known = store.versions(row["annotation"] for row in rows)
    persons = {(row["annotator_id"], row["pair_id"]) for row in rows if row["annotation"] in known}
    found, again = [], []
    for row in rows:
        is_again = (row["annotator_id"], row["pair_id"]) in persons
        again += [row] if is_again else []
        found += [] if is_again else [_in_round(row, asked_in.get(row["pair_id"]))]
    by_person = sorted(again, key=lambda row: (row["annotator_id"], row["pair_id"]))
    for _, group in groupby(by_person, key=lambda row: (row["annotator_id"], row["pair_id"])):
        own = [(row, known.get(row["annotation"], [])) for row in group]
        new = [row for row, versions in own if _is_new(row, versions)]
        is_redone = any(row["updated_at"] == row["seen_at"] for row in new)
        for row, versions in own:
            if row in new or (is_redone and row["updated_at"] == row["seen_at"]):
                is_there = bool(versions)
                said = (
                    json.loads(versions[-1].answer).get(ROUND) if is_there else asked_in.get(row["pair_id"])
                )
                found.append(_as_version(_in_round(row, said), versions[-1].updated_at if is_there else ""))
    return found


def _is_new(row: Mapping[str, str], versions: Sequence[Version]) -> bool:
    if not versions:
        return True
    last = versions[-1]
    rounds = [json.loads(text).get(ROUND) for text in (row["answer"], last.answer)]
    if says_the_same(row["answer"], last.answer) and rounds[0] in (None, rounds[1] or 1):
        return False
    is_older = row["updated_at"][:_MILLISECONDS] < last.updated_at[:_MILLISECONDS]
    return not (is_older and row["updated_at"] in {each.updated_at for each in versions})


def _in_round(row: dict[str, str], known: int | None) -> dict[str, str]:
    """Return the row in the round that is known, where nothing says its own."""
    if known is None or ROUND in (content := json.loads(row["answer"])):
        return row
    return {**row, "answer": _answer_text(content | {ROUND: known})}


def _as_version(row: dict[str, str], last: str) -> dict[str, str]:
    """Return the row with a time that no other version of its answer has; last: that of the last one."""
    own, before = row["updated_at"][:_MILLISECONDS], last[:_MILLISECONDS]
    if own > before or (own < before and row["updated_at"] != row["seen_at"]):
        return row
    later = just_after(last)
    content = json.loads(row["answer"]) | {"updated_at": later}
    return {**row, "updated_at": later, "answer": _answer_text(content)}
