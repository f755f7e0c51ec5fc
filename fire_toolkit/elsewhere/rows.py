"""Answers from elsewhere to rows of the ledger: pseudonyms for people, labels for values, versions."""

import hmac
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path

import numpy as np
import pandas as pd

from fire_toolkit.campaign.coded import Coded, beside, coded, same
from fire_toolkit.campaign.kept import Columns, rows_of
from fire_toolkit.campaign.keys import pair_ids
from fire_toolkit.campaign.ledger import ANSWERED, Version, answer_text
from fire_toolkit.campaign.said import read_said
from fire_toolkit.campaign.schema import KEPT, SAID_NAMES
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.votes import DELETED
from fire_toolkit.elsewhere.answers import BY_FILE
from fire_toolkit.elsewhere.meaning import Labels, Values
from fire_toolkit.elsewhere.tables import SKIP, FoundFile
from fire_toolkit.guidelines.model import COMMENT, RELEVANCE
from fire_toolkit.resolution.judgments import just_after
from fire_toolkit.tables.columns import PAIR, listed, packed_codes

PEOPLE_KEY = "people.key"  # of pseudonyms, in a workspace's private folder
SOURCES = BY_TABLE, BY_SERVER = ("table", "labelstudio")  # whose people are told apart, where nobody names it
WHERE = "elsewhere"  # the entry of a row's answer that says with which tool it was given
_MEANT = ("answer", "label", "no_vote", "flags", "comment", "origin", "controls", "fault")
_MILLISECONDS = len("2026-03-02T09:23:56.123")
_compared = attrgetter("label", "no_vote", "comment", "created_at", "duration_s")


def pseudonym_of(worker: str, *, key: bytes, source: str) -> str:
    """Return the name under which somebody's answers go: the same for each worker of a source.

    Examples:
        >>> one, other = (pseudonym_of(name, key=b"k", source="mturk") for name in ("A1", "A2"))
        >>> one[:7], len(one), one == other
        ('worker-', 19, False)
    """
    digest = hmac.digest(key, f"{source}\0{worker}".encode("utf-8", "surrogatepass"), "sha256")
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
    answers = file.answers
    for role, ids in known.items():
        if ids is not None:
            is_in = answers[f"{role}_id"].where(ids.__contains__)
            answers = {name: column.of_rows(is_in) for name, column in answers.items()}
    if not len(answers["values"].codes):
        return
    file = file._replace(answers=answers)
    columns = _columns(file, labels, seen_at, name_of=name_of, asked_in=asked_in)
    there = store.versions(columns["annotation"]) if store.has_answers() else {}
    if there:
        store.add_answers(_new(rows_of(columns), there, seen_at, is_round_known=is_round_known))
    else:
        store.add_columns(columns)


def _new(
    rows: Sequence[Version], versions: Mapping[str, Sequence[Version]], seen_at: str, *, is_round_known: bool
) -> Iterator[Version]:
    """Yield those of the rows that are new, as versions of their answers; versions: those that are there."""
    new, redone = [], set()
    for row in rows:
        there = versions.get(row.annotation, ())
        if there and not is_round_known:
            row = row._replace(round_said=there[-1].round_said)
        is_new = not there or _is_other(row, there, is_round_known=is_round_known)
        if is_new and row.updated_at == seen_at:
            redone.add((row.annotator_id, row.pair_id))
        new.append((row, is_new, there[-1].updated_at if there else ""))
    for row, is_new, last in new:
        if is_new or (row.updated_at == seen_at and (row.annotator_id, row.pair_id) in redone):
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
    times = file.answers["updated_at"]
    place = np.argsort(np.argsort(np.array(times.distinct, dtype="object"), kind="stable"))
    in_order = np.lexsort([file.answers["number"].rows().astype(np.int64), place[times.codes]])
    answers = {name: column.of_rows(in_order) for name, column in file.answers.items()}
    number, time, n_rows = answers["number"].rows().tolist(), answers["updated_at"], len(in_order)
    source = f"{file.tool} of one person" if file.roles.get("annotator") == BY_FILE else Path(file.path).name
    who = answers["worker"].named(lambda worker: worker and name_of(worker))
    if "" in who.distinct:
        who = coded(name or f"{DELETED}{n}" for name, n in zip(who.rows().tolist(), number, strict=True))
    pair = beside(*(answers[name] for name in PAIR))
    pair = pair._replace(distinct=listed(pair_ids(*zip(*pair.distinct, strict=True))))
    rounds = answers["round"]
    if not file.is_round_known and asked_in:
        rounds = pair.named(lambda each: asked_in.get(each, 1))
    said = beside(*(answers[name] for name in ("values", "why", "comment")))
    meant = zip(*_said(labels, file.tool, said.distinct), strict=True)
    moments = time.named(lambda each: each or seen_at)
    alike = dict.fromkeys(KEPT, "") | {"page": None, "page_s": None, "is_elsewhere": 1}
    alike |= {"source": f"file:{source}", "state": ANSWERED, "seen_at": seen_at}
    return {name: same(value, n_rows) for name, value in alike.items()} | {
        **{name: Coded(said.codes, values).unified() for name, values in zip(_MEANT, meant, strict=True)},
        **{name: answers[name] for name in PAIR},
        "annotation": _keys(who, pair, answers["key"]),
        "pair_id": pair,
        "annotator_id": who,
        "id": number,
        "created_at": answers["created_at"],
        "duration_s": answers["seconds"],
        "round_said": rounds,
        "updated_at": moments,
        "changed_at": moments,
    }


def _keys(who: Coded, pair: Coded, key: Coded) -> list[str]:
    """Return what answers are known by: by the tool's own key, else counted within one person and pair."""
    given = pd.Series(packed_codes([who.codes, pair.codes]))
    numbers = (given.groupby(given).cumcount() + 1).tolist()
    columns = zip(*(column.rows().tolist() for column in (who, pair, key)), numbers, strict=True)
    return [f"{name}#{at}#{own or n}" for name, at, own, n in columns]


def _said(
    labels: Labels, tool: str, given: Sequence[tuple[Values, str, str]]
) -> Iterator[Sequence[str | None]]:
    """Yield what the record keeps of answers: their values, why they are no votes, and their comments.

    That is as they were given, then as it has them of answers of Label Studio (`_MEANT`).
    """
    contents, shown = [], []
    for values, why, comment in given:
        meant = labels.of(values, tool) or ()
        is_skip, words = bool(why) or SKIP in meant, why or comment
        result = [{"from_name": RELEVANCE, "origin": "manual", "value": {"choices": list(meant)}}]
        beside = [{"from_name": COMMENT, "value": {"text": [words]}}] if words else []
        results = [*([] if is_skip or not meant else result), *beside]
        contents.append(answer_text({"id": 0, "result": results, "was_cancelled": is_skip}))
        shown.append(answer_text({"given": values, WHERE: tool} | ({COMMENT: words} if words else {})))
    places = [SAID_NAMES.index(name) for name in _MEANT[1:]]
    for text, columns in zip(shown, read_said([""] * len(contents), contents), strict=True):
        yield text, *(columns[place] for place in places)


def _is_other(row: Version, versions: Sequence[Version], *, is_round_known: bool) -> bool:
    """Whether an answer says something else than its last version, and is none of the versions before it."""
    moment, last = row.updated_at, versions[-1]
    if _compared(last) == _compared(row) and not (is_round_known and row.round_said != last.round_said):
        return False
    is_before = moment[:_MILLISECONDS] < last.updated_at[:_MILLISECONDS]
    return not (is_before and moment in {each.updated_at for each in versions})


def _later(row: Version, last: str, seen_at: str) -> Version:
    """Return a version of an answer with a time that no other of it has; last: that of the last one."""
    moment = row.updated_at
    own, before = moment[:_MILLISECONDS], last[:_MILLISECONDS]
    moment = moment if own > before or (own < before and moment != seen_at) else just_after(last)
    return row._replace(updated_at=moment, changed_at=moment, state=ANSWERED)
