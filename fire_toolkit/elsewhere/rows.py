"""Answers from elsewhere to rows of the ledger: pseudonyms for people, labels for values, versions."""

from __future__ import annotations

import hmac
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.campaign.ledger import ANSWERED, answer_text
from fire_toolkit.campaign.said import AS_READ, Version, read_said
from fire_toolkit.campaign.schema import SAID_NAMES
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.tasks import pair_ids
from fire_toolkit.campaign.votes import DELETED
from fire_toolkit.elsewhere.answers import BY_FILE
from fire_toolkit.elsewhere.meaning import Labels, Values
from fire_toolkit.elsewhere.tables import SKIP, FoundFile
from fire_toolkit.guidelines.model import COMMENT, RELEVANCE
from fire_toolkit.resolution.judgments import just_after
from fire_toolkit.tables.columns import PAIR, codes_of, listed, packed_codes

PEOPLE_KEY = "people.key"  # of pseudonyms, in a workspace's private folder
SOURCES = BY_TABLE, BY_SERVER = ("table", "labelstudio")  # whose people are told apart, where nobody names it
WHERE = "elsewhere"  # the entry of a row's answer that says with which tool it was given
_WORDS = ("values", "why", "comment")  # what an answer says, in many rows the same
_TOLD = ("created_at", "updated_at", "seconds", "number", "round")
_MILLISECONDS = len("2026-03-02T09:23:56.123")
_MOMENT, _ROUND = map(SAID_NAMES.index, ("changed_at", "round_said"))
_COMPARED = {
    name: SAID_NAMES.index(name) for name in ("label", "no_vote", "comment", "created_at", "duration_s")
}


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
    source = f"{file.tool} of one person" if file.roles.get("annotator") == BY_FILE else Path(file.path).name
    same = {"source": f"file:{source}", "project": "", "state": ANSWERED, "seen_at": seen_at}
    same |= {"task": "", "queue": ""}

    def entries() -> Iterator[tuple[tuple[str, str], str, str, list[Any], bool]]:
        """Yield who gave each answer to which pair, its key, what it says, and whether that is new."""
        parts = (zip(*map(answers.get, names), strict=True) for names in (_WORDS, _TOLD, PAIR))
        for person, key, words, told, pair in zip(persons, keys, *parts, strict=True):
            created_at, updated_at, seconds, number, in_round = told
            there = versions.get(key, ())
            if not is_round_known:
                in_round = there[-1].round_said if there else asked_in.get(person[1], 1)
            answer, meant, fault = said_of(*words)
            times = (created_at, updated_at or seen_at, None if math.isnan(seconds) else seconds)
            said = [*pair, number, *meant, *times, None, "", None, in_round, 1, fault]
            is_new = not there or _is_other(said, there, is_round_known=is_round_known)
            yield person, key, answer, said, is_new

    found = entries() if versions else ()
    redone = {who for who, _, _, said, is_new in found if is_new and said[_MOMENT] == seen_at}
    for person, key, answer, said, is_new in entries():
        if not is_new and (said[_MOMENT] != seen_at or person not in redone):
            continue
        if key in versions:
            said[_MOMENT] = _as_version(said[_MOMENT], versions[key][-1].updated_at, seen_at)
        yield {
            **same,
            "annotation": key,
            "updated_at": said[_MOMENT],
            "pair_id": person[1],
            "annotator_id": person[0],
            "answer": answer,
            AS_READ: tuple(said),
        }


def _keys(answers: pd.DataFrame, name_of: Callable[[str], str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Return who gave each answer to which pair, and its key, counted within one person and pair."""
    pseudonym, n_seen = cache(name_of), Counter[tuple[str, str]]()
    workers = zip(answers["worker"].tolist(), answers["number"].tolist(), strict=True)
    names = [pseudonym(who) if who else f"{DELETED}{number}" for who, number in workers]
    codes = packed_codes([codes_of(answers[name]) for name in PAIR])
    places, distinct = np.unique(codes, return_index=True, return_inverse=True)[1:]
    of_distinct = listed(pair_ids(*(answers[name].iloc[places] for name in PAIR)))
    persons, keys = (
        [(name, of_distinct[place]) for name, place in zip(names, distinct.tolist(), strict=True)],
        [],
    )
    for person, key in zip(persons, answers["key"].tolist(), strict=True):
        n_seen[person] += 1
        keys.append(f"{person[0]}#{person[1]}#{key or n_seen[person]}")
    return persons, keys


def _said(
    labels: Labels, tool: str, values: Values, why: str, comment: str
) -> tuple[str, Sequence[Any], str | None]:
    """Return what the record keeps of an answer's values, why it is no vote, and its comment.

    That is as they were given, then label, no_vote, flags, comment, origin and controls as it has them of
    answers of Label Studio, and why these cannot be read.
    """
    meant = labels.of(values, tool) or ()
    is_skip, words = bool(why) or SKIP in meant, why or comment
    result = [{"from_name": RELEVANCE, "origin": "manual", "value": {"choices": list(meant)}}]
    beside = [{"from_name": COMMENT, "value": {"text": [words]}}] if words else []
    content = {"id": 0, "result": [*([] if is_skip or not meant else result), *beside]}
    ((_, _, _, *columns, fault),) = read_said([""], [answer_text(content | {"was_cancelled": is_skip})])
    given = {"given": values, WHERE: tool} | ({COMMENT: words} if words else {})
    return answer_text(given), columns[:6], fault


def _is_other(said: Sequence[Any], versions: Sequence[Version], *, is_round_known: bool) -> bool:
    """Whether an answer says something else than its last version, and is none of the versions before it."""
    moment, last = said[_MOMENT], versions[-1]
    if [getattr(last, name) for name in _COMPARED] == [said[place] for place in _COMPARED.values()] and not (
        is_round_known and said[_ROUND] != last.round_said
    ):
        return False
    is_before = moment[:_MILLISECONDS] < last.updated_at[:_MILLISECONDS]
    return not (is_before and moment in {each.updated_at for each in versions})


def _as_version(moment: str, last: str, seen_at: str) -> str:
    """Return the time of a version, which no other of its answer has; last: that of the last one."""
    own, before = moment[:_MILLISECONDS], last[:_MILLISECONDS]
    return moment if own > before or (own < before and moment != seen_at) else just_after(last)
