"""Answers from elsewhere to rows of the ledger: pseudonyms for people, labels for values, versions."""

from __future__ import annotations

import hmac
import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.campaign.ledger import ANSWERED, Version, answer_text
from fire_toolkit.campaign.said import AS_READ, read_said
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.task_json import ROUND
from fire_toolkit.campaign.tasks import pair_ids
from fire_toolkit.campaign.votes import DELETED
from fire_toolkit.elsewhere.answers import BY_FILE
from fire_toolkit.elsewhere.meaning import Labels, Values
from fire_toolkit.elsewhere.tables import SKIP, FoundFile
from fire_toolkit.guidelines.model import COMMENT, RELEVANCE
from fire_toolkit.resolution.judgments import just_after
from fire_toolkit.tables.columns import PAIR, codes_of, packed_codes

PEOPLE_KEY = "people.key"  # of pseudonyms, in a workspace's private folder
SOURCES = BY_TABLE, BY_SERVER = ("table", "labelstudio")  # whose people are told apart, where nobody names it
WHERE = "elsewhere"  # the entry of a row's answer that says with which tool it was given
_WORDS = ("values", "why", "comment")  # what an answer says, in many rows the same
_TOLD = ("created_at", "updated_at", "seconds", "number", "round")
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
) -> Iterator[dict[str, Any]]:
    """Yield a row of the ledger for each answer at a pair of the collection that says something new.

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
    persons, keys = _keys(answers, name_of)
    versions = store.versions(keys) if store.has_answers() else {}
    said_of, is_round_known = cache(partial(_said, labels, file.tool)), file.is_round_known
    columns_of = cache(lambda *words: _columns_said(said_of(*words)))
    source = f"{file.tool} of one person" if file.roles.get("annotator") == BY_FILE else Path(file.path).name
    same = {"source": f"file:{source}", "project": "", "state": ANSWERED, "seen_at": seen_at}
    same |= {"task": "", "queue": ""}

    def entries() -> Iterator[tuple[tuple[str, str], str, dict[str, Any], bool]]:
        """Yield who gave each answer to which pair, its key, what it says, and whether that is new."""
        words, told = (zip(*map(answers.get, names), strict=True) for names in (_WORDS, _TOLD))
        for person, key, own, more in zip(persons, keys, words, told, strict=True):
            created_at, updated_at, seconds, number, in_round = more
            there = versions.get(key, ())
            if not is_round_known:
                in_round = json.loads(there[-1].answer).get(ROUND) if there else asked_in.get(person[1])
            content = {
                **said_of(*own),
                "id": number,
                "created_at": created_at or None,
                "updated_at": updated_at or seen_at,
                "lead_time": None if math.isnan(seconds) else seconds,
            }
            content |= {ROUND: in_round} if in_round is not None else {}
            yield person, key, content, not there or _is_other(content, there, is_round_known=is_round_known)

    found = entries() if versions else ()
    redone = {who for who, _, content, is_new in found if is_new and content["updated_at"] == seen_at}
    own = zip(*map(answers.get, (*_WORDS, *PAIR)), strict=True)
    for (person, key, content, is_new), (*words, query_id, doc_id) in zip(entries(), own, strict=True):
        if not is_new and (content["updated_at"] != seen_at or person not in redone):
            continue
        if key in versions:
            _as_version(content, versions[key][-1].updated_at, seen_at)
        yield {
            **same,
            "annotation": key,
            "updated_at": content["updated_at"],
            "pair_id": person[1],
            "annotator_id": person[0],
            "answer": answer_text(content),
            AS_READ: _as_read((query_id, doc_id), columns_of(*words), content),
        }


def _columns_said(content: Mapping[str, Any]) -> Sequence[Any] | None:
    """Return label, no_vote, flags, comment, origin and controls as the record has them; None: unreadable."""
    ((_, _, _, *columns, fault),) = read_said([""], [answer_text({**content, "id": 0})])
    return None if fault else columns[:6]


def _as_read(
    pair: tuple[str, str], words: Sequence[Any] | None, content: Mapping[str, Any]
) -> tuple[Any, ...] | None:
    """Return what the record would read in an answer (`SAID`), whose words are read once for all alike."""
    if words is None:
        return None
    times = (content["created_at"] or "", content["updated_at"], content["lead_time"])
    return (*pair, content["id"], *words, *times, None, "", None, content.get(ROUND) or 1, 1, None)


def _keys(answers: pd.DataFrame, name_of: Callable[[str], str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Return who gave each answer to which pair, and its key, counted within one person and pair."""
    pseudonym, n_seen = cache(name_of), Counter[tuple[str, str]]()
    workers = zip(answers["worker"].tolist(), answers["number"].tolist(), strict=True)
    names = [pseudonym(who) if who else f"{DELETED}{number}" for who, number in workers]
    codes = packed_codes([codes_of(answers[name]) for name in PAIR])
    places, distinct = np.unique(codes, return_index=True, return_inverse=True)[1:]
    of_distinct = pair_ids(*(answers[name].iloc[places].tolist() for name in PAIR))
    persons, keys = (
        [(name, of_distinct[place]) for name, place in zip(names, distinct.tolist(), strict=True)],
        [],
    )
    for person, key in zip(persons, answers["key"].tolist(), strict=True):
        n_seen[person] += 1
        keys.append(f"{person[0]}#{person[1]}#{key or n_seen[person]}")
    return persons, keys


def _said(labels: Labels, tool: str, values: Values, why: str, comment: str) -> dict[str, Any]:
    """Return what an answer says by its values, why it is no vote, and its comment."""
    meant = labels.of(values, tool) or ()
    is_skip = bool(why) or SKIP in meant
    result = [{"from_name": RELEVANCE, "origin": "manual", "value": {"choices": list(meant)}}]
    words = why or comment
    beside = [{"from_name": COMMENT, "value": {"text": [words]}}] if words else []
    return {
        "completed_by": None,
        "result": [*([] if is_skip or not meant else result), *beside],
        "was_cancelled": is_skip,
        "given": values,
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


def _as_version(content: dict[str, Any], last: str, seen_at: str) -> None:
    """Give an answer a time that no other version of it has; last: that of the last one."""
    moment = content["updated_at"]
    own, before = moment[:_MILLISECONDS], last[:_MILLISECONDS]
    if not (own > before or (own < before and moment != seen_at)):
        content["updated_at"] = just_after(last)
