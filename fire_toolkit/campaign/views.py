"""What the record says now: which answers count and what they were asked for, and which tasks are open."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence

import pandas as pd
from pyarrow import compute

from fire_toolkit.campaign.answers import Answers
from fire_toolkit.campaign.keys import ids_of_keys
from fire_toolkit.campaign.ledger import DELETED, EVENTS
from fire_toolkit.campaign.queues import CONTROL, OVERLAP, TASK, TRAINING
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.votes import DELETED as NOBODY
from fire_toolkit.campaign.votes import (
    DROPPED_ORDER,
    ImportResult,
    dropped_answers,
    judgments_of_votes,
    notes_of_votes,
)
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.resolution.judgments import SUPERSEDED
from fire_toolkit.tables import ELSEWHERE, UNASSIGNED, Dropped, check_dropped, check_judgments
from fire_toolkit.tables.columns import PAIR, arrow_text
from fire_toolkit.words import n_of

EDITED = "edited"
NO_PAIR = "no_pair"
_NO_VOTES = (TRAINING, CONTROL)
_COUNTED = "counted join said using (number)"
_IS_KNOWN = f"is_deleted or kind in {_NO_VOTES}"
_AUTHOR = f"iif(annotator_id <> '' or {_IS_KNOWN}, annotator_id, '{NOBODY}' || id) as annotator_id"
_WHY = f"iif(is_deleted, '{DELETED}', iif(kind in {_NO_VOTES}, kind, no_vote))"
_SEEN = (
    "select to_annotator_id as annotator_id, pair_id from given where to_annotator_id <> '' "
    "union all select annotator_id, pair_id from answers "
    "union all select substr(queue, instr(queue, '/') + 1), pair_id from answers where queue glob '[0-9]*/?*'"
    " union all select json_extract(value, '$[0]'), json_extract(value, '$[1]') from json_each(?)"
)


def answered_pairs(store: Store) -> set[tuple[str, str]]:
    """Return (queue, pair) of every answer that is there and no skip."""
    store.count()
    query = "select round || '/' || annotator_id, pair_id from standing where not is_skipped"
    return set(store.database.select(query))


def answered_tasks(store: Store, annotator_id: str) -> set[tuple[int, str]]:
    """Return (round, pair) of every task of an annotator that has an answer or a skip."""
    store.count()
    query = "select round, pair_id from standing where annotator_id = ?"
    return set(store.database.select(query, [annotator_id]))


def left_pairs(store: Store) -> dict[int, set[tuple[str, str]]]:
    """Return for each round (annotator, pair) of every task of its queues that has no answer and no skip."""
    store.count()
    found: dict[int, set[tuple[str, str]]] = {}
    for number, name, pair in store.database.select("select round, annotator_id, pair_id from open_tasks"):
        found.setdefault(number, set()).add((name, pair))
    return found


def free_tasks(store: Store, names: Collection[str]) -> dict[str, int]:
    """Return for each of these annotators how many tasks to be judged have no answer."""
    store.count()
    query = "select annotator_id, count(*) from open_tasks where kind not in (?, ?) group by annotator_id"
    return {name: n for name, n in store.database.select(query, _NO_VOTES) if name in names}


def people_asked(store: Store) -> set[str]:
    """Return everybody who was ever given a task."""
    return {name for (name,) in store.database.select("select distinct annotator_id from hands")}


def people_of_carrier(store: Store, carrier: str) -> set[str]:
    """Return everybody who has a task in a round that somebody carries."""
    query = (
        "select distinct annotator_id from queues where round in (select number from "
        "(select number, carrier, max(rowid) from rounds group by number) where carrier = ?)"
    )
    return {name for (name,) in store.database.select(query, [carrier])}


def waiting_pairs(store: Store, retired: Collection[str] = ()) -> pd.DataFrame:
    """Return the pairs (query_id, doc_id) that lie with somebody to be judged, and have no answer there.

    retired: who will answer no more, so that what they have does not wait.
    """
    store.count()
    query = (
        "select distinct pair_id from open_tasks where kind not in (?, ?) "
        "and annotator_id not in (select value from json_each(?))"
    )
    found = store.database.select(query, [*_NO_VOTES, json.dumps(sorted(retired))])
    return _pairs([pair for (pair,) in found])


def unanswered_pairs(store: Store, retired: Collection[str] = ()) -> pd.DataFrame:
    """Return the pairs that were asked and not answered, and wait with nobody who could still answer.

    They were skipped or reported, their work was rejected, or who has them is retired.
    """
    store.count()
    query = (
        "select pair_id from given own where to_annotator_id <> '' and kind not in (?, ?) and pair_id not in "
        "(select counted.pair_id from counted join said using (number) "
        "where no_vote = '' and not is_deleted and kind not in (?, ?)) "
        "and not exists (select 1 from open_tasks where open_tasks.pair_id = own.pair_id "
        "and kind not in (?, ?) and annotator_id not in (select value from json_each(?))) "
        "group by pair_id order by min(rowid)"
    )
    found = store.database.select(query, [*_NO_VOTES * 3, json.dumps(sorted(retired))])
    return _pairs([pair for (pair,) in found])


def reported_items(store: Store) -> pd.DataFrame:
    """Return the docs that several people skipped or reported, with who did and how often, most first.

    doc_id, n_people, n_reports, people (joined by `, `).
    """
    store.count()
    return store.table("select * from reported")


def seen_pairs(store: Store, also: Sequence[tuple[str, str]] = ()) -> pd.DataFrame:
    """Return annotator_id and pair_id of everybody who was given a pair or left anything at it, and also."""
    return store.table(f"select distinct annotator_id, pair_id from ({_SEEN})", [json.dumps(also)])


def seen_by_all(
    store: Store, annotators: Collection[str], also: Sequence[tuple[str, str]] = ()
) -> pd.DataFrame:
    """Return the pairs (query_id, doc_id) that each of `annotators` has seen, whom nobody can ask again.

    also: annotator and pair of who has seen more than the record says.
    """
    query = (
        f"select pair_id from ({_SEEN}) where pair_id <> '' and annotator_id in "
        "(select value from json_each(?)) group by pair_id having count(distinct annotator_id) >= ?"
    )
    names = set(annotators)
    found = store.database.select(query, [json.dumps(also), json.dumps(sorted(names)), len(names)])
    return _pairs([pair for (pair,) in found])


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
    ids = zip(PAIR, ids_of_keys(keys), strict=True)
    return pd.DataFrame({name: pd.array(each, dtype="str") for name, each in ids})


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
    store.count()
    store.refuse_unread()
    counted = "join counted using (number) where pair_id <> ''"
    found = _answers(store, f"{_AUTHOR}, round, kind, {_WHY} as reason", counted)
    is_vote = found["reason"] == ""
    votes, others = Answers(found if is_vote.all() else found[is_vote]), Answers(found[~is_vote])
    del found
    result = judgments_of_votes(votes, others, guideline=guideline)
    of_no_pair = (
        "select '' as query_id, '' as doc_id, counted.annotator_id, '' as label, '' as created_at, "
        "iif(is_deleted, ?, ?) as reason, 'annotation ' || id || ' at task ' || task || ' of project ' || "
        "project as detail from counted join answers using (number) where counted.pair_id = ''"
    )
    nameless = check_dropped(store.table(of_no_pair, [DELETED, NO_PAIR]))
    parts = (result.dropped, *_earlier_versions(store), nameless)
    dropped = pd.concat(parts, ignore_index=True)
    dropped = check_dropped(dropped.sort_values(list(DROPPED_ORDER), kind="stable", ignore_index=True))
    judgments = check_judgments(_with_pages(result.judgments, store))
    of_clocks = _notes_of_clocks(store, judgments, dropped)
    notes = (*notes_of_votes(judgments, dropped, guideline), *_notes(judgments, dropped), *of_clocks)
    return ImportResult(judgments, dropped, notes)


_SHOWN = {"pairs": PAIR, "meanings": ["label", "flags", "comment", "origin", "controls"]}
_OF_EACH = "pairs, meanings, id as number, updated_at, created_at, changed_at, duration_s"


def _answers(store: Store, columns: str, which: str) -> Answers:
    """Return what versions of answers say, with further columns; which: what stands after `from versions`.

    What they share is read once.
    """
    no_votes = "(select number as meaning, no_vote from meanings) on meaning = meanings"
    found = store.table(f"select {_OF_EACH}, {columns} from versions left join {no_votes} {which}")
    for table, names in _SHOWN.items():
        shared = store.table(f"select number, {', '.join(names)} from {table}")
        places = pd.Index(shared["number"]).get_indexer(found.pop(table))
        if (places < 0).any():
            raise store.database.damaged(f"{table} of answers are gone")
        found = found.assign(**{name: shared[name].array.take(places) for name in names})
    moment = arrow_text(found.pop("updated_at").array)
    own = {name: arrow_text(found[name].astype("str").array) for name in ("created_at", "changed_at")}
    times = {name: pd.array(compute.coalesce(each, moment), dtype="str") for name, each in own.items()}
    numbers = {"number": "int64", "duration_s": "float64", "round": "int64"}
    kinds = {name: kind for name, kind in numbers.items() if name in found}
    return Answers(found.assign(**times).astype(kinds))


def _earlier_versions(store: Store) -> Iterator[Dropped]:
    """Yield the versions of answers that a later one has replaced, each once, where there are any."""
    count = "select (select count(*) from versions) > (select count(*) from counted)"
    if not store.database.select(count)[0][0]:
        return
    which = (
        "join (select number, annotator_id, pair_id, state from answers) using (number) where annotation in "
        "(select annotation from versions group by annotation having count(*) > 1) "
        f"and pair_id <> '' and state not in {EVENTS} and exists (select 1 from versions later where "
        "later.annotation = versions.annotation and later.updated_at > versions.updated_at) "
        "group by annotation, updated_at"
    )
    columns = f"annotator_id, '{EDITED}' as reason, min(versions.number)"
    yield dropped_answers(_answers(store, columns, which))


def _with_pages(judgments: pd.DataFrame, store: Store) -> pd.DataFrame:
    """Return judgments with the pages of several captions that they were given on, where there are any."""
    if not store.database.select("select 1 from meanings where page <> '' limit 1"):
        return judgments
    in_order = store.table(
        "select annotator_id, query_id, doc_id, page, page_position, duration_s as share_s, page_s "
        f"from {_COUNTED} where page <> '' and not is_deleted order by no_vote <> 'skipped', updated_at"
    )
    if not len(in_order):
        return judgments
    names = ["annotator_id", "query_id", "doc_id", "page", "page_position"]
    pages = in_order.drop_duplicates(names[:3], keep="last").astype({"share_s": "float64"})
    seconds = pages.groupby(["annotator_id", "page"])["share_s"]
    whole_s = pages["page_s"].astype("float64").fillna(seconds.transform("sum"))
    pages = pages.assign(page_s=whole_s, share_s=seconds.transform("mean"))
    both = judgments.merge(pages[[*names, "page_s", "share_s"]], on=names[:3], how="left")
    both["duration_s"] = both.pop("share_s").fillna(both["duration_s"])
    return both.fillna({"page": "", "page_position": ""})


def _notes_of_clocks(store: Store, judgments: pd.DataFrame, dropped: pd.DataFrame) -> Iterator[str]:
    """Yield how many judgments count before a label that was read later, as their own time is ahead."""
    if not (dropped["reason"] == SUPERSEDED).any():
        return
    ahead = store.table(
        "select distinct own.query_id, own.doc_id, counted.annotator_id, own.label from counted "
        "join answers own using (number) where own.changed_at > own.seen_at and not is_deleted and exists "
        "(select 1 from counted other join answers later using (number) where not other.is_deleted and "
        "other.pair_id = counted.pair_id and other.annotator_id = counted.annotator_id and "
        "later.no_vote = '' and later.seen_at > own.seen_at and later.label <> own.label)"
    )
    if n := len(ahead.merge(judgments, on=list(ahead))):
        yield (
            f"{n_of(n, 'judgment')} with a time after it was read, before which another label of the same "
            f"person does not count (dropped.csv, {SUPERSEDED}); if a clock was wrong and that label is "
            "right, import it as JSON with a later updated_at"
        )


def _notes(judgments: pd.DataFrame, dropped: pd.DataFrame) -> Iterator[str]:
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
