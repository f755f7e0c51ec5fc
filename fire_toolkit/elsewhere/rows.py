"""Answers from elsewhere to rows of the ledger: pseudonyms for people, labels for values, versions."""

from __future__ import annotations

import hmac
import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from fire_toolkit.campaign.ledger import ANSWERED, Version, answer_text
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.task_json import ROUND
from fire_toolkit.campaign.tasks import pair_ids
from fire_toolkit.campaign.votes import DELETED
from fire_toolkit.elsewhere.answers import BY_FILE
from fire_toolkit.elsewhere.meaning import Labels
from fire_toolkit.elsewhere.tables import SKIP, FoundFile
from fire_toolkit.guidelines.model import COMMENT, RELEVANCE
from fire_toolkit.resolution.judgments import just_after

WHERE = "elsewhere"  # the entry of a row's answer that says with which tool it was given
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


def new_rows(
    file: FoundFile,
    labels: Labels,
    store: Store,
    *,
    name_of: Callable[[str], str],
    known: Mapping[str, Collection[str] | None],
    asked_in: Mapping[str, int],
) -> list[dict[str, str]]:
    """Return a row of the ledger for each answer at a pair of the collection that says something new.

    A file that was read before gives none. An answer that says something else at the same time (its value is
    mapped to another label now, its work was rejected since, it is said to be of another round) becomes a
    later version, in the round that was said last; one without a time does so together with all answers of
    its annotator to the pair, so that their order stays.

    Args:
        file: its answers, whose values all have labels.
        labels: which value is which label.
        store: where they go; the time of reading is the version of an answer without a time.
        name_of: worker → pseudonym.
        known: `query` and `doc` → the ids of the collection; None: all.
        asked_in: pair → the round that asked it last, which a new answer is of where the file says none; 1
            for others.
    """
    answers, seen_at = file.answers, store.now()
    for role, ids in known.items():
        answers = answers if ids is None else answers[answers[f"{role}_id"].isin(ids)]
    answers = answers.sort_values(["updated_at", "number"], kind="stable")
    pseudonym, meaning_of = cache(name_of), cache(labels.of)
    workers = zip(answers["worker"], answers["number"], strict=True)
    names = [pseudonym(who) if who else f"{DELETED}{number}" for who, number in workers]
    pairs = pair_ids(answers["query_id"].tolist(), answers["doc_id"].tolist())
    persons, n_seen, keys = list(zip(names, pairs, strict=True)), Counter[tuple[str, str]](), []
    for person, key in zip(persons, answers["key"], strict=True):
        n_seen[person] += 1
        keys.append(f"{'#'.join(person)}#{key or n_seen[person]}")
    versions = store.versions(keys)
    names_somebody = file.roles.get("annotator") == BY_FILE
    source = "file:" + (f"{file.tool} of one person" if names_somebody else Path(file.path).name)
    rows, is_new, redone = [], [], set()
    answer: Any
    for person, key, answer in zip(persons, keys, answers.itertuples(index=False), strict=True):
        name, pair = person
        there = versions.get(key, [])
        said = json.loads(there[-1].answer) if there else {ROUND: asked_in.get(pair)}
        meant = meaning_of(answer.values, file.tool) or ()
        content = _content(answer, meant, file.tool) | {"updated_at": answer.updated_at or seen_at}
        round_here = answer.round if file.is_round_known else said.get(ROUND)
        content |= {ROUND: round_here} if round_here is not None else {}
        is_new.append(not there or _is_other(content, there, is_round_known=file.is_round_known))
        if is_new[-1] and not answer.updated_at:
            redone.add(person)
        rows.append(
            {
                "source": source,
                "project": "",
                "annotation": key,
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
    return [
        _as_version(row, versions[row["annotation"]][-1].updated_at) if row["annotation"] in versions else row
        for row, person, is_told in zip(rows, persons, is_new, strict=True)
        if is_told or (row["updated_at"] == seen_at and person in redone)
    ]


def _content(answer: Any, meant: Sequence[str], tool: str) -> dict[str, Any]:
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
        "lead_time": None if math.isnan(answer.seconds) else answer.seconds,
        "given": answer.values,
        WHERE: tool,
    }


def _is_other(content: Mapping[str, Any], versions: Sequence[Version], *, is_round_known: bool) -> bool:
    """Whether an answer says something else than its last version, and is none of the versions before it."""
    moment, last = content["updated_at"], versions[-1]
    said = json.loads(last.answer)
    is_same = all(content[entry] == said.get(entry) for entry in ("result", "lead_time", "created_at"))
    if is_same and not (is_round_known and content[ROUND] != (said.get(ROUND) or 1)):
        return False
    is_before = moment[:_MILLISECONDS] < last.updated_at[:_MILLISECONDS]
    return not (is_before and moment in {each.updated_at for each in versions})


def _as_version(row: dict[str, str], last: str) -> dict[str, str]:
    """Return the row with a time that no other version of its answer has; last: that of the last one."""
    own, before = row["updated_at"][:_MILLISECONDS], last[:_MILLISECONDS]
    if own > before or (own < before and row["updated_at"] != row["seen_at"]):
        return row
    content = json.loads(row["answer"]) | {"updated_at": just_after(last)}
    return {**row, "updated_at": content["updated_at"], "answer": answer_text(content)}
