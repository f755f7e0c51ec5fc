"""What the record says now: which answers count and what they were asked for, and which tasks are open."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from fire_toolkit.campaign.answers import Answer, read_rows
from fire_toolkit.campaign.ledger import COLUMNS, DELETED, EVENTS
from fire_toolkit.campaign.queues import CONTROL, OVERLAP, TASK, TRAINING
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.tasks import split_pair_id, split_pair_ids
from fire_toolkit.campaign.votes import (
    DROPPED_ORDER,
    ImportResult,
    dropped_row,
    judgments_of_answers,
    notes_of_votes,
)
from fire_toolkit.errors import FormatError
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.tables import DROPPED, ELSEWHERE, UNASSIGNED, Dropped, check_dropped, check_judgments
from fire_toolkit.tables.columns import PAIR, pair_rows

EDITED = "edited"
NO_PAIR = "no_pair"
_NO_VOTES = (TRAINING, CONTROL)
_ANSWERS = ", ".join(f"own.{name}" for name in COLUMNS)

# Of each answer that counts: the queue it was given in (owner_round, owner; 0 where none is named), the kind
# of the task there, whether the owner still has it, whether anybody was given the pair, and the last round in
# which its author was given it.
_ASKED = f"""
with own as (select *, case when queue glob '[0-9]*/?*' then cast(queue as integer) else 0 end as owner_round,
    substr(queue, instr(queue, '/') + 1) as owner, instr(answer, '"elsewhere":"') > 0 as is_elsewhere
  from latest),
tasks as (select round, to_annotator_id as annotator_id, pair_id, kind from given where to_annotator_id <> '')
select {_ANSWERS}, owner_round, owner, is_elsewhere,
  (select kind from tasks where tasks.pair_id = own.pair_id and tasks.round = owner_round
     and tasks.annotator_id = owner) as owner_kind,
  exists (select 1 from tasks where tasks.pair_id = own.pair_id) as is_asked,
  (select printf('%d %s', round, kind) from tasks where tasks.pair_id = own.pair_id
     and tasks.annotator_id = own.annotator_id order by round desc limit 1) as given_in,
  coalesce(json_extract(answer, '$.round'), 1) as round_said
from own order by annotation
"""


def answers_asked(store: Store) -> pd.DataFrame:
    """Return the version of each answer that counts, with columns round and kind: what it was asked for.

    Also owner: the annotator of the queue that it is in.

    An answer to what nobody was asked has no kind, and the round that its task named. An answer in a queue is
    of this queue's round; any other that of the task on its pair that its author was given last, else that
    which it names.

    Raises:
        FormatError: an answer is not the one that was kept.
    """
    store.check()
    found = store.table(_ASKED)
    columns = ("owner_round", "owner", "is_elsewhere", "owner_kind", "is_asked", "given_in", "round_said")
    names = ("annotator_id", "queue", *columns)
    rows = zip(*(found[name].tolist() for name in names), strict=True)
    asked = [_asked_for(*row) for row in rows]
    return found.drop(columns=list(columns)).assign(
        round=pd.Series([number for number, _, _ in asked], dtype="int64"),
        kind=pd.Series([kind for _, kind, _ in asked], dtype="str"),
        owner=pd.Series([owner for _, _, owner in asked], dtype="str"),
    )


def _asked_for(
    name: str,
    queue: str,
    owner_round: int,
    owner: str,
    is_elsewhere: int,
    kind: str | None,
    is_asked: int,
    given_in: str | None,
    round_said: int,
) -> tuple[int, str, str]:
    """Return round, kind and owner of an answer."""
    if not queue and (is_elsewhere or not is_asked):
        return round_said, ELSEWHERE if is_elsewhere else "", name
    if not owner_round:
        number, _, given = (
            given_in.partition(" ") if isinstance(given_in, str) else (round_said, "", UNASSIGNED)
        )
        return int(number), given, name
    kind = kind if isinstance(kind, str) else UNASSIGNED
    is_other = name not in ("", owner) and kind not in _NO_VOTES
    return owner_round, UNASSIGNED if is_other else kind, owner


def standing_answers(store: Store) -> pd.DataFrame:
    """Return the answer that stands for each task: a vote before a skip, a later before an earlier one.

    Returns:
        round, annotator_id (whose queue), pair_id, label (empty where it has none or several), is_skipped
        (not a vote and not to be asked of them again), seconds (nan if unknown). A page that was sent without
        an answer to a caption has not answered it.
    """
    answers = answers_asked(store)
    is_asked = (answers["state"] != DELETED) & (answers["pair_id"] != "") & (answers["kind"] != ELSEWHERE)
    answers = answers[is_asked].sort_values("updated_at", kind="stable")
    texts = answers["answer"].tolist()
    seen = list(map(_seen, _read(answers["pair_id"].tolist(), texts), texts))
    found = pd.DataFrame(
        {
            "round": answers["round"].array,
            "annotator_id": answers["owner"].array,
            "pair_id": answers["pair_id"].array,
            "label": pd.Series([each and each[0] for each in seen], dtype="object").array,
            "is_skipped": pd.array([bool(each and each[1]) for each in seen], dtype="bool"),
            "seconds": pd.array([each[2] if each else math.nan for each in seen], dtype="float64"),
        }
    )
    found = found[found["label"].notna()].sort_values("is_skipped", ascending=False, kind="stable")
    return found.drop_duplicates(["round", "annotator_id", "pair_id"], keep="last", ignore_index=True)


def _read(pairs: Sequence[str], texts: Sequence[str]) -> Sequence[Answer | None]:
    """Return the answer in each row; None where it cannot be read."""
    try:
        return read_rows(pairs, texts, where="ledger")
    except FormatError:
        if len(pairs) == 1:
            return [None]
        return [found for pair, text in zip(pairs, texts, strict=True) for found in _read([pair], [text])]


def _seen(answer: Answer | None, text: str) -> tuple[str, bool, float] | None:
    """Return label, whether it is skipped, and seconds; None if its page was sent without an answer to it."""
    if answer is None:
        return "", True, math.nan
    label = answer.labels[0] if len(answer.labels) == 1 else ""
    if not label and not answer.is_skipped and "page" in json.loads(text):
        return None
    return label, answer.is_skipped, answer.duration_s


def answered_pairs(store: Store) -> set[tuple[str, str]]:
    """Return (queue, pair) of every answer that is there and no skip."""
    found = standing_answers(store)
    found = found[~found["is_skipped"]]
    queues = found["round"].astype("str") + "/" + found["annotator_id"]
    return set(zip(queues, found["pair_id"], strict=True))


def open_tasks(store: Store) -> pd.DataFrame:
    """Return round, annotator_id, pair_id and kind of every task that somebody has and has not answered."""
    held = store.table(
        "select round, annotator_id, pair_id, kind from queues order by round, batch, position"
    )
    keys = ["round", "annotator_id", "pair_id"]
    done = pd.MultiIndex.from_frame(standing_answers(store)[keys].astype({"round": "int64"}))
    is_done = pd.MultiIndex.from_frame(held[keys].astype({"round": "int64"})).isin(done)
    return held[~is_done].reset_index(drop=True)


def left_pairs(store: Store) -> dict[int, set[tuple[str, str]]]:
    """Return for each round (annotator, pair) of every task of its queues that has no answer and no skip."""
    found: dict[int, set[tuple[str, str]]] = {}
    for number, name, pair, _ in open_tasks(store).itertuples(index=False, name=None):
        found.setdefault(number, set()).add((name, pair))
    return found


def free_tasks(store: Store, names: Collection[str]) -> dict[str, int]:
    """Return for each of these annotators how many tasks to be judged have no answer."""
    left = open_tasks(store)
    own = left[left["annotator_id"].isin(names) & ~left["kind"].isin(_NO_VOTES)]
    return {str(name): int(n) for name, n in own["annotator_id"].value_counts().items()}


def waiting_pairs(store: Store, retired: Collection[str] = ()) -> pd.DataFrame:
    """Return the pairs (query_id, doc_id) that lie with somebody to be judged, and have no answer there.

    retired: who will answer no more, so that what they have does not wait.
    """
    left = open_tasks(store)
    waits = left[~left["annotator_id"].isin(retired) & ~left["kind"].isin(_NO_VOTES)]
    return _pairs(waits["pair_id"].unique().tolist())


def unanswered_pairs(store: Store, judged: pd.DataFrame, retired: Collection[str] = ()) -> pd.DataFrame:
    """Return the pairs that were asked and have no judgment, and wait with nobody who could still give one.

    They were skipped or reported, their work was rejected, or who has them is retired.
    """
    marks = ", ".join("?" * len(_NO_VOTES))
    query = f"select distinct pair_id from given where to_annotator_id <> '' and kind not in ({marks})"
    asked = _pairs(store.table(query, _NO_VOTES)["pair_id"].tolist())
    return _without(_without(asked, judged), waiting_pairs(store, retired))


def reported_items(store: Store) -> pd.DataFrame:
    """Return the docs that several people skipped or reported, with who did and how often, most first.

    doc_id, n_people, n_reports, people (joined by `, `).
    """
    found = standing_answers(store)
    found = found[found["is_skipped"]]
    pairs = _pairs(found["pair_id"].tolist())
    found = pd.DataFrame({"doc_id": pairs["doc_id"], "annotator_id": found["annotator_id"].array})
    groups = found.groupby("doc_id")["annotator_id"]
    counts = pd.DataFrame(
        {
            "n_people": groups.nunique(),
            "n_reports": groups.size(),
            "people": groups.agg(lambda names: ", ".join(sorted(set(names)))),
        }
    ).reset_index()
    several = counts[counts["n_people"] > 1]
    return several.sort_values(["n_reports", "doc_id"], ascending=[False, True], ignore_index=True)


def seen_pairs(store: Store) -> pd.DataFrame:
    """Return annotator_id and pair_id of everybody who was given a pair or left anything at it."""
    return store.table(
        "select to_annotator_id as annotator_id, pair_id from given where to_annotator_id <> '' "
        "union select annotator_id, pair_id from answers "
        "union select substr(queue, instr(queue, '/') + 1), pair_id from answers where queue glob '[0-9]*/?*'"
    )


def seen_by_all(store: Store, annotators: Collection[str]) -> pd.DataFrame:
    """Return the pairs (query_id, doc_id) that each of `annotators` has seen, whom nobody can ask again."""
    seen = seen_pairs(store)
    counts = seen.loc[seen["annotator_id"].isin(annotators), "pair_id"].value_counts()
    return _pairs(counts.index[counts >= len(set(annotators))].tolist())


def first_asked(store: Store) -> pd.DataFrame:
    """Return the pairs that rounds ask for the first time, as their queues were drawn.

    Returns:
        query_id, doc_id, round, is_doubled: given to a second annotator too; each pair once, in the first
        round that asks it. Training and controls are no such pairs, nor are those asked again.
    """
    found = store.table(
        "select round, pair_id, max(kind = ?) as is_doubled from given where batch = 0 and kind in (?, ?) "
        "group by round, pair_id order by round, pair_id",
        [OVERLAP, TASK, OVERLAP],
    )
    found = found.drop_duplicates("pair_id", ignore_index=True)
    pairs = _pairs(found["pair_id"].tolist())
    return pairs.assign(round=found["round"].array, is_doubled=found["is_doubled"].astype("bool").array)


def _pairs(keys: Sequence[str]) -> pd.DataFrame:
    known = split_pair_ids(keys)
    ids = [known.get(key) or split_pair_id(key) for key in keys]
    return pd.DataFrame(ids, columns=PAIR, dtype="str")


def _without(pairs: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    return pairs[pair_rows(pairs, others) < 0].reset_index(drop=True)


def record_to_judgments(store: Store, *, guideline: Guideline) -> ImportResult:
    """Return the judgments in the record, and every other answer with the reason why it is not one.

    Args:
        store: the record.
        guideline: the one whose labeling page was shown.

    Returns:
        As `judgments_from_export`, with two further columns of judgments: round (from 1), and kind: `task`,
        `overlap`, `adjudication`, `recheck` or `fourth` as assigned, `unassigned` if this pair was not this
        annotator's to judge (an answer over the overlap, or in somebody else's project), `elsewhere` if it
        was given to another tool's question, empty if nothing was assigned.
        annotator_id: the pseudonym; `deleted-<annotation id>` if no version names its author. Further
        reasons in dropped: `deleted` (gone from the server), `edited` (an earlier version), `training`,
        `control` (no votes: the answer is known), `no_pair` (a task without pair_id).
        Where answers were given on pages of several captions: page (empty for others), page_position (from
        1), page_s (the seconds of all answers of the page); duration_s is then the mean of these.
    """
    answers = answers_asked(store)
    reason = answers["kind"].where(answers["kind"].isin(_NO_VOTES), "")
    reason = reason.where(answers["pair_id"] != "", NO_PAIR)
    reason = reason.where(answers["state"] != DELETED, DELETED)
    result = judgments_of_answers(
        # the record's key makes answers unique across servers
        _answers(answers[reason == ""], unique_id="annotation", round="round", kind="kind"),
        guideline=guideline,
    )
    dropped = [
        result.dropped,
        _dropped(_earlier_versions(store), EDITED),
        *(_dropped(answers[reason == name], name) for name in (DELETED, NO_PAIR, TRAINING, CONTROL)),
    ]
    both = pd.concat(dropped, ignore_index=True)
    both = both.sort_values(list(DROPPED_ORDER), kind="stable", ignore_index=True)
    notes = (*notes_of_votes(result.judgments, both, guideline), *_notes(result.judgments, both))
    judgments = _with_pages(result.judgments, answers[answers["state"] != DELETED])
    return ImportResult(check_judgments(judgments), check_dropped(both), notes)


def _earlier_versions(store: Store) -> pd.DataFrame:
    """Return the versions of answers that a later one has replaced, each once."""
    return store.table(
        f"select {_ANSWERS}, min(number) as number from answers own where pair_id <> '' "
        f"and state not in {EVENTS} and exists (select 1 from answers later where "
        "later.annotation = own.annotation and later.updated_at > own.updated_at) "
        "group by annotation, updated_at"
    )


def _answers(rows: pd.DataFrame, **names: str) -> Iterator[Answer]:
    """Yield the answer of each row that has a pair, under the row's annotator.

    names: the columns of rows that further fields of an answer come from.
    """
    names = {"annotator_id": "annotator_id", **names}
    pairs, texts, *columns = (rows[name].tolist() for name in ("pair_id", "answer", *names.values()))
    answers = read_rows(pairs, texts, where="ledger")
    for answer, *own in zip(answers, *columns, strict=True):
        yield answer._replace(**dict(zip(names, own, strict=True)))


def _dropped(rows: pd.DataFrame, reason: str) -> Dropped:
    is_paired = rows["pair_id"] != ""
    records = [dropped_row(answer, reason) for answer in _answers(rows[is_paired])]
    lost = rows[~is_paired]
    columns = (lost[name] for name in ("annotator_id", "answer", "project", "task"))
    for name, answer, project, task in zip(*columns, strict=True):
        detail = f"annotation {json.loads(answer).get('id')} at task {task} of project {project}"
        empty = dict.fromkeys(DROPPED.names, "")
        records.append({**empty, "annotator_id": name, "reason": reason, "detail": detail})
    return check_dropped(pd.DataFrame(records, columns=list(DROPPED.names)))


def _with_pages(judgments: pd.DataFrame, answers: pd.DataFrame) -> pd.DataFrame:
    """Return judgments with the pages of several captions that they were given on, where there are any."""
    paged = answers[answers["answer"].str.contains('"page":"', regex=False)]
    ordered = paged.sort_values("updated_at", kind="stable")
    columns = (ordered[name].tolist() for name in ("annotator_id", "pair_id", "answer"))
    given = [(*ids, json.loads(text)) for *ids, text in zip(*columns, strict=True)]
    given.sort(key=lambda each: not each[-1].get("was_cancelled"))  # what counts of a pair comes last
    rows = [
        (name, *split_pair_id(pair), content["page"], str(content["position"]), *_seconds(content))
        for name, pair, content in given
        if content.get("page")
    ]
    if not rows:
        return judgments
    names = ["annotator_id", "query_id", "doc_id", "page", "page_position"]
    pages = pd.DataFrame(rows, columns=[*names, "share_s", "page_s"]).drop_duplicates(names[:3], keep="last")
    seconds = pages.groupby(["annotator_id", "page"])["share_s"]
    whole_s = pages["page_s"].fillna(seconds.transform("sum"))
    pages = pages.assign(page_s=whole_s, share_s=seconds.transform("mean"))
    both = judgments.merge(pages[[*names, "page_s", "share_s"]], on=names[:3], how="left")
    both["duration_s"] = both.pop("share_s").fillna(both["duration_s"])
    return both.fillna({"page": "", "page_position": ""})


def _seconds(content: Mapping[str, Any]) -> tuple[float, float]:
    """Return an answer's seconds, and those of its whole page where the carrier tells these; nan: unknown."""
    share_s, page_s = (content.get(name) for name in ("lead_time", "page_s"))
    return (math.nan if share_s is None else float(share_s), math.nan if page_s is None else float(page_s))


def _notes(judgments: pd.DataFrame, dropped: pd.DataFrame) -> Iterator[str]:
    """Yield what is worth knowing of judgments with round and kind, and of answers that are none."""
    n_unassigned = int((judgments["kind"] == UNASSIGNED).sum())
    if n_unassigned:
        yield (
            f"{n_unassigned} of {len(judgments)} judgments were not assigned to their annotator "
            f"(kind {UNASSIGNED})"
        )
    n_elsewhere = int((judgments["kind"] == ELSEWHERE).sum())
    if n_elsewhere:
        yield (
            f"{n_elsewhere} of {len(judgments)} judgments were made elsewhere (kind {ELSEWHERE}); agreement "
            "takes them as given without sight of other answers"
        )
    n_lost = int((dropped["reason"] == NO_PAIR).sum())
    if n_lost:
        yield (
            f"{n_lost} answers belong to tasks without pair_id, which were not pushed from here; they stay "
            "in the ledger and do not count as judgments"
        )
