"""Answers from elsewhere to rows of the ledger: pseudonyms for people, labels for values, versions."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from fire_toolkit.campaign.kept import Columns, rows_of
from fire_toolkit.campaign.ledger import ANSWERED, answer_text
from fire_toolkit.campaign.said import Kept, Version, read_said, row_as
from fire_toolkit.campaign.schema import KEPT, SAID_NAMES
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.tasks import pair_ids
from fire_toolkit.campaign.votes import DELETED
from fire_toolkit.elsewhere.answers import BY_FILE
from fire_toolkit.elsewhere.meaning import Labels, Values
from fire_toolkit.elsewhere.tables import SKIP, FoundFile
from fire_toolkit.guidelines.model import COMMENT, RELEVANCE
from fire_toolkit.resolution.judgments import just_after
from fire_toolkit.tables.coded import Coded, coded, distinct_rows, same
from fire_toolkit.tables.columns import PAIR, codes_of, listed, packed_codes

PEOPLE_KEY = "people.key"  # of pseudonyms, in a workspace's private folder
SOURCES = BY_TABLE, BY_SERVER = ("table", "labelstudio")  # whose people are told apart, where nobody names it
WHERE = "elsewhere"  # the entry of a row's answer that says with which tool it was given
_MILLISECONDS = len("2026-03-02T09:23:56.123")
_PLACES = ("annotation", "updated_at", "pair_id", "annotator_id", "changed_at", "round_said")
_KEY, _MOMENT, _PAIR, _WHO, _CHANGED, _ROUND = map(KEPT.index, _PLACES)
_COMPARED = {name: KEPT.index(name) for name in ("label", "no_vote", "comment", "created_at", "duration_s")}


def pseudonym_of(worker: str, *, key: bytes, source: str) -> str:
    """Return the name under which somebody's answers go: the same for each worker of a source.

    Examples:
        >>> one, other = (pseudonym_of(name, key=b"k", source="mturk") for name in ("A1", "A2"))
        >>> one[:7], len(one), one == other
        ('worker-', 19, False)
    """
    digest = hmac.digest(key, f"{source}\0{worker}".encode(), "sha256")
    return f"worker-{digest.hex()[:12]}"


def add_new(
    store: Store,
    file: FoundFile,
    labels: Labels,
    *,
    name_of: Callable[[str], str],
    known: Mapping[str, Collection[str] | None],
    asked_in: Mapping[str, int],
) -> None:
    """Add each answer at a pair of the collection that says something new to the record.

    A file that was read before gives none. An answer that says something else at the same time (its value is
    mapped to another label now, its work was rejected since, it is said to be of another round) becomes a
    later version, in the round that was said last; one without a time does so together with all answers of
    its annotator to the pair, so that their order stays.

    Args:
        store: the record; the time of reading is the version of an answer without a time.
        file: its answers, whose values all have labels.
        labels: which value is which label.
        name_of: worker → pseudonym.
        known: `query` and `doc` → the ids of the collection; None: all.
        asked_in: pair → the round that asked it last, which a new answer is of where the file says none; 1
            for others.
    """
    seen_at, is_round_known = store.now(), file.is_round_known
    for role, ids in known.items():
        if ids is not None:
            file = file._replace(answers=file.answers[file.answers[f"{role}_id"].isin(ids)])
    if file.answers.empty:
        return
    columns = _columns(file, labels, seen_at, name_of=name_of, asked_in=asked_in)
    there = store.versions(columns["annotation"]) if store.has_answers() else {}
    if there:
        store.add_read(_new(rows_of(columns), there, seen_at, is_round_known=is_round_known))
    else:
        store.add_columns(columns)


def _new(
    rows: Sequence[Kept], versions: Mapping[str, Sequence[Version]], seen_at: str, *, is_round_known: bool
) -> Iterator[Kept]:
    """Yield those of the rows that are new, as versions of their answers; versions: those that are there."""
    new, redone = [], set()
    for row in rows:
        there = versions.get(row[_KEY], ())
        if there and not is_round_known:
            row = (*row[:_ROUND], there[-1].round_said, *row[_ROUND + 1 :])
        is_new = not there or _is_other(row, there, is_round_known=is_round_known)
        if is_new and row[_MOMENT] == seen_at:
            redone.add((row[_WHO], row[_PAIR]))
        new.append((row, is_new, there[-1].updated_at if there else ""))
    for row, is_new, last in new:
        if is_new or (row[_MOMENT] == seen_at and (row[_WHO], row[_PAIR]) in redone):
            yield _later(row, last, seen_at) if last else row


def _columns(
    file: FoundFile,
    labels: Labels,
    seen_at: str,
    *,
    name_of: Callable[[str], str],
    asked_in: Mapping[str, int],
) -> Columns:
    """Return the answers of a file as the columns of the record, oldest first."""
    answers = file.answers.sort_values(["updated_at", "number"], kind="stable")
    n_rows = len(answers)
    source = f"{file.tool} of one person" if file.roles.get("annotator") == BY_FILE else Path(file.path).name
    names, pairs, keys = _keys(answers, name_of)
    codes = [codes_of(answers[name]) for name in ("values", "why", "comment")]
    code, first = distinct_rows(codes)
    distinct = answers[["values", "why", "comment"]].iloc[first]
    said = [_said(labels, file.tool, *each) for each in distinct.itertuples(index=False, name=None)]
    meant = ("answer", "label", "no_vote", "flags", "comment", "origin", "controls", "fault")
    seconds = answers["seconds"].to_numpy(dtype="object", copy=True)
    seconds[np.isnan(seconds.astype(np.float64))] = None
    rounds = coded(answers["round"].tolist())
    if not file.is_round_known and asked_in:
        rounds = pairs.named(lambda pair: asked_in.get(pair, 1))
    moments = answers["updated_at"].where(answers["updated_at"] != "", seen_at).tolist()
    alike = dict.fromkeys(KEPT, "") | {"page": None, "page_s": None, "is_elsewhere": 1}
    alike |= {"source": f"file:{source}", "state": ANSWERED, "seen_at": seen_at}
    return {name: same(value, n_rows) for name, value in alike.items()} | {
        **{name: Coded(code, values) for name, values in zip(meant, zip(*said, strict=True), strict=True)},
        "annotation": keys,
        "pair_id": pairs,
        "annotator_id": names,
        "query_id": coded(answers["query_id"].tolist()),
        "doc_id": coded(answers["doc_id"].tolist()),
        "task": [""] * n_rows,
        "id": answers["number"].tolist(),
        "created_at": answers["created_at"].tolist(),
        "duration_s": seconds.tolist(),
        "round_said": rounds,
        "updated_at": moments,
        "changed_at": moments,
    }


def _keys(answers: pd.DataFrame, name_of: Callable[[str], str]) -> tuple[Coded, Coded, list[str]]:
    """Return who gave each answer, to which pair, and its key, counted within one person and pair."""
    who = coded(answers["worker"].tolist()).named(lambda worker: worker and name_of(worker))
    if "" in who.distinct:
        each = zip(who.rows().tolist(), answers["number"].tolist(), strict=True)
        who = coded(name or f"{DELETED}{number}" for name, number in each)
    code, first = distinct_rows([codes_of(answers[name]) for name in PAIR])
    pair = Coded(code, listed(pair_ids(*(answers[name].iloc[first] for name in PAIR))))
    given = pd.Series(packed_codes([who.codes, code]))
    keys, numbers = answers["key"].tolist(), (given.groupby(given).cumcount() + 1).tolist()
    columns = zip(who.rows().tolist(), pair.rows().tolist(), keys, numbers, strict=True)
    return who, pair, [f"{name}#{at}#{key or n}" for name, at, key, n in columns]


def _said(labels: Labels, tool: str, values: Values, why: str, comment: str) -> Sequence[str | None]:
    """Return what the record keeps of an answer's values, why it is no vote, and its comment.

    That is as they were given, then label, no_vote, flags, comment, origin and controls as it has them of
    answers of Label Studio, and why these cannot be read.
    """
    meant = labels.of(values, tool) or ()
    is_skip, words = bool(why) or SKIP in meant, why or comment
    result = [{"from_name": RELEVANCE, "origin": "manual", "value": {"choices": list(meant)}}]
    beside = [{"from_name": COMMENT, "value": {"text": [words]}}] if words else []
    content = {"id": 0, "result": [*([] if is_skip or not meant else result), *beside]}
    (columns,) = read_said([""], [answer_text(content | {"was_cancelled": is_skip})])
    given = {"given": values, WHERE: tool} | ({COMMENT: words} if words else {})
    return [answer_text(given), *columns[:6], columns[SAID_NAMES.index("fault")]]


def _is_other(row: Kept, versions: Sequence[Version], *, is_round_known: bool) -> bool:
    """Whether an answer says something else than its last version, and is none of the versions before it."""
    moment, last = row[_MOMENT], versions[-1]
    if [getattr(last, name) for name in _COMPARED] == [row[place] for place in _COMPARED.values()] and not (
        is_round_known and row[_ROUND] != last.round_said
    ):
        return False
    is_before = moment[:_MILLISECONDS] < last.updated_at[:_MILLISECONDS]
    return not (is_before and moment in {each.updated_at for each in versions})


def _later(row: Kept, last: str, seen_at: str) -> Kept:
    """Return a version of an answer with a time that no other of it has; last: that of the last one."""
    moment = row[_MOMENT]
    own, before = moment[:_MILLISECONDS], last[:_MILLISECONDS]
    moment = moment if own > before or (own < before and moment != seen_at) else just_after(last)
    row = row_as(row, moment, ANSWERED)
    return (*row[:_CHANGED], moment, *row[_CHANGED + 1 :])
