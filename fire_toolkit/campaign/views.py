"""What the record says now: which answers count and what they were asked for, and which tasks are open."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from urllib.parse import quote

import pandas as pd
from pyarrow import compute

from fire_toolkit.campaign.answers import Answers
from fire_toolkit.campaign.keys import ids_of_keys
from fire_toolkit.campaign.queues import CONTROL, TRAINING
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.votes import (
    DELETED,
    DROPPED_ORDER,
    ImportResult,
    dropped_answers,
    judgments_of_votes,
    notes_of_votes,
)
from fire_toolkit.errors import FormatError
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.resolution.judgments import DUPLICATE, SUPERSEDED
from fire_toolkit.tables import ELSEWHERE, UNASSIGNED, Dropped, Judgments, check_dropped, check_judgments
from fire_toolkit.tables.columns import PAIR, arrow_text, pair_rows
from fire_toolkit.words import n_of

NO_PAIR = "no_pair"


def answered_pairs(store: Store) -> set[tuple[str, str]]:
    """Return (queue, pair) of every answer that is there and no skip, on our own page too."""
    query = f"select round || '/' || annotator_id, pair_id from standing {_NAMED} where not is_skipped"
    return set(store.select(f"{query} union select queue, pair from page_now where label <> ''"))


def answered_tasks(store: Store, annotator_id: str) -> set[tuple[int, str]]:
    """Return (round, pair) of every task of an annotator that has an answer or a skip."""
    query = f"select round, pair_id from standing {_NAMED} where annotator_id = ?"
    return set(store.select(query, [annotator_id]))


def left_pairs(store: Store) -> dict[int, set[tuple[str, str]]]:
    """Return for each round (annotator, pair) of every task of its queues that has no answer and no skip."""
    found: dict[int, set[tuple[str, str]]] = {}
    query = f"select round, annotator_id, pair_id from open_tasks {_NAMED}"
    for number, name, pair in store.select(query):
        found.setdefault(number, set()).add((name, pair))
    return found


def free_tasks(store: Store) -> dict[str, int]:
    """Return for each annotator who has tasks to be judged without an answer how many."""
    query = "select annotator_id, count(*) from open_votes join named_people using (people) group by people"
    return dict(store.select(query))


def people_asked(store: Store, carrier: str | None = None) -> set[str]:
    """Return everybody who was ever given a task; of a carrier: who has one in a round that it carries."""
    query = "select distinct to_annotator_id from given where to_annotator_id <> ''"
    if carrier is not None:
        of_rounds = "select people from queues where round in (select number from carried where carrier = ?)"
        query = f"select annotator_id from named_people where people in ({of_rounds})"
    return {name for (name,) in store.select(query, [] if carrier is None else [carrier])}


def waiting_pairs(store: Store, retired: Collection[str] = ()) -> pd.DataFrame:
    """Return the pairs (query_id, doc_id) that lie with somebody to be judged, and have no answer there.

    retired: who will answer no more, so that what they have does not wait.
    """
    query = f"select distinct query_id, doc_id from open_votes {_NAMED} where {_IS_ASKED}"
    return _pairs(store, query, retired)


def unanswered_pairs(store: Store, retired: Collection[str] = ()) -> pd.DataFrame:
    """Return the pairs that were asked and not answered, and wait with nobody who could still answer.

    They were skipped or reported, their work was rejected, or who has them is retired.
    """
    waits = f"select pairs from open_votes join named_people using (people) where {_IS_ASKED}"
    found = f"select pairs, min(place) as place from unvoted where pairs not in ({waits}) group by pairs"
    query = f"select query_id, doc_id from ({found}) join named_pairs using (pairs) order by place"
    return _pairs(store, query, retired)


def seen_pairs(store: Store) -> pd.DataFrame:
    """Return annotator_id and pair_id of everybody who was given a pair or left anything at it.

    is_known: 1 where it was a control or training.
    """
    query = (
        "select annotator_id, pair_id, max(is_known) as is_known from seen where pair_id <> '' group by 1, 2"
    )
    return store.table(query)


def first_asked(store: Store) -> pd.DataFrame:
    """Return the pairs that rounds ask for the first time, as their queues were drawn.

    Returns:
        query_id, doc_id, round, is_doubled: given to a second annotator too; each pair once, in the first
        round that asks it. Training and controls are no such pairs, nor are those asked again.
    """
    found = store.table("select * from first_asked")
    return found.assign(is_doubled=found["is_doubled"] == 1)


def task_links(store: Store, page_url: str) -> dict[tuple[str, str], str]:
    """Return by query and doc where the last task of each pair can be opened in a Label Studio.

    What came from files or our own page has no task there. page_url: the server's.
    """
    query = (
        "select query_id, doc_id, project, task, max(number) from answers where task <> '' and pair_id <> '' "
        "and source not glob 'file:*' and source not glob 'page:*' group by pair_id"
    )
    return {
        (query_id, doc_id): f"{page_url}/projects/{quote(project)}/data?task={quote(task)}"
        for query_id, doc_id, project, task, _ in store.select(query)
    }


def pairs_of_keys(keys: Iterable[str]) -> pd.DataFrame:
    """Return query_id and doc_id of keys, in their order."""
    return pd.DataFrame(dict(zip(PAIR, ids_of_keys(keys), strict=True)), dtype="str")


_NAMED = "join named_people using (people) join named_pairs using (pairs)"
_IS_ASKED = "annotator_id not in (select value from json_each(?))"


def _pairs(store: Store, query: str, retired: Collection[str]) -> pd.DataFrame:
    """Return query_id and doc_id of the pairs that a query finds."""
    return store.table(query, [json.dumps(sorted(retired))])


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
    for number, name, pair, fault in store.select("select * from unread limit 1"):
        where = f"{store.path}: answer {number} of {name} to {pair}"
        raise FormatError(f"{where}: {fault}; `pull --full` or `import` reads it again, or ask again")
    found = _answers(store, "judged")
    is_vote = found["reason"] == ""
    votes, others = [Answers(found if is_vote.all() else found[is_vote])], Answers(found[~is_vote])
    del found  # as large as all answers, and the votes are let go there as soon as they can be
    result = judgments_of_votes(votes.pop(), others, guideline=guideline)
    nameless = check_dropped(store.table("select * from of_no_pair"))
    parts = [_with_copies(result.dropped, result.judgments), nameless]
    if store.select("select (select count(*) from versions) > (select count(*) from counted)")[0][0]:
        parts.append(dropped_answers(_answers(store, "replaced")))  # of these each version once
    dropped = pd.concat(parts, ignore_index=True)
    dropped = check_dropped(dropped.sort_values(list(DROPPED_ORDER), kind="stable", ignore_index=True))
    judgments = check_judgments(_with_pages(result.judgments, store))
    notes = [*notes_of_votes(judgments, dropped, guideline), *_notes(judgments, dropped)]
    ahead = store.table("select * from ahead") if (dropped["reason"] == SUPERSEDED).any() else None
    if ahead is not None and (n := len(ahead.merge(judgments, on=list(ahead)))):
        notes.append(
            f"{n_of(n, 'judgment')} with a time after it was read, before which another label of the same "
            f"person does not count (dropped.csv, {SUPERSEDED}); if a clock was wrong and that label is "
            "right, import it as JSON with a later updated_at"
        )
    return ImportResult(judgments, dropped, tuple(notes))


def _with_copies(dropped: Dropped, judgments: Judgments) -> Dropped:
    """Return what was dropped, as duplicates what is superseded by the same answer.

    A server's lists name its answers otherwise than its exports do, so that both can be read.
    """
    columns, is_later = [*PAIR, "annotator_id", "label", "created_at"], dropped["reason"] == SUPERSEDED
    if not is_later.any():
        return dropped
    counting = judgments[columns][pair_rows(judgments, dropped) >= 0].drop_duplicates()
    found = dropped[columns].merge(counting, how="left", indicator=True).set_axis(dropped.index)
    is_copy = is_later & found["_merge"].eq("both") & dropped["created_at"].fillna("").ne("")
    words = {"reason": DUPLICATE, "detail": "the same answer, read from two places"}
    return Dropped(
        dropped.assign(**{name: dropped[name].mask(is_copy, text) for name, text in words.items()})
    )


_SHOWN = {
    "pairs": PAIR,
    "people": ["annotator_id"],
    "meanings": ["label", "flags", "comment", "origin", "controls"],
}
_NEEDS_NO_NAME = ("deleted", "edited", DUPLICATE, TRAINING, CONTROL)  # reasons why an answer is no vote


def _answers(store: Store, view: str) -> Answers:
    """Return the answers of a view with what they say; what they share is read once."""
    found = store.table(f"select * from {view}")
    for table, names in _SHOWN.items():
        given = found.pop(table)
        shared = store.table(
            f"select number, {', '.join(names)} from json_each(?) as wanted cross join {table} "
            "on number = wanted.value",
            [json.dumps(given.unique().tolist())],
        )
        places = pd.Index(shared["number"]).get_indexer(given)
        if (places < 0).any():
            raise store.damaged(f"{table} of answers are gone")
        found = found.assign(**{name: shared[name].array.take(places) for name in names})
    is_nobodys = (found["annotator_id"] == "") & ~found["reason"].isin(_NEEDS_NO_NAME)
    if is_nobodys.any():
        alone = DELETED + found.loc[is_nobodys, "number"].astype("str")
        found.loc[is_nobodys, "annotator_id"] = alone
    moment = arrow_text(found.pop("updated_at").array)
    own = {name: arrow_text(found[name].astype("str").array) for name in ("created_at", "changed_at")}
    times = {name: pd.array(compute.coalesce(each, moment), dtype="str") for name, each in own.items()}
    numbers = {"number": "int64", "duration_s": "float64", "round": "int64"}
    kinds = {name: kind for name, kind in numbers.items() if name in found}
    return Answers(found.assign(**times).astype(kinds))


def _with_pages(judgments: pd.DataFrame, store: Store) -> pd.DataFrame:
    """Return judgments with the pages of several captions that they were given on, where there are any."""
    if not store.select("select 1 from meanings where page <> '' limit 1"):
        return judgments
    in_order = store.table("select * from on_pages")
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


def _notes(judgments: pd.DataFrame, dropped: pd.DataFrame) -> list[str]:
    of_all, kinds = f"of {len(judgments)} judgments were", judgments["kind"]
    counts = {
        f"{of_all} not assigned to their annotator (kind {UNASSIGNED})": kinds == UNASSIGNED,
        f"{of_all} made elsewhere (kind {ELSEWHERE}); agreement takes them as given without sight of other "
        "answers": kinds == ELSEWHERE,
        "answers belong to tasks without pair_id, which were not pushed from here; they stay in the ledger "
        "and do not count as judgments": dropped["reason"] == NO_PAIR,
    }
    return [f"{int(found.sum())} {words}" for words, found in counts.items() if found.any()]
