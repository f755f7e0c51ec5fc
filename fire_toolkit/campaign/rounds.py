"""Which pairs a round asks, and of whom: for the first time, or again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from fire_toolkit.campaign.moves import move_tasks
from fire_toolkit.campaign.queue_pages import queue_pages
from fire_toolkit.campaign.queues import (
    ADJUDICATION,
    assign_round,
    assign_tasks,
    check_assignments,
)
from fire_toolkit.campaign.records import Round
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.views import left_pairs, seen_by_all, seen_pairs, waiting_pairs
from fire_toolkit.errors import JoinError
from fire_toolkit.resolution.plan import FOURTH_VOTE
from fire_toolkit.tables import FOURTH, Qrels, Tasks, check_qrels
from fire_toolkit.tables.columns import PAIR, are_in, pair_rows


def first_round(
    number: int,
    asked: Tasks,
    loads: Mapping[str, float],
    *,
    training: Tasks | None = None,
    controls: Tasks | None = None,
    answers: Qrels | None = None,
    store: Store | None = None,
    n_captions: int = 1,
    seed: int = 0,
) -> Round:
    """Return a round of pairs that no round has asked: of the first pool, of a later model, or planned.

    Args:
        number: of the round.
        asked: the tasks, batch 2 of those to be judged twice.
        loads: id of each annotator → relative load.
        training: tasks that everybody judges first.
        controls: tasks whose answer is known, mixed in for everybody.
        answers: the known answers.
        store: the record: pairs that were answered in an earlier round, before the campaign began, are asked
            again (kind `adjudication`), of somebody else.
        n_captions: how many captions of one item a page may have; more than 1: pages are drawn.
        seed: of the queues.

    Raises:
        UsageError, JoinError: as `assign_tasks` and `assign_round`.
    """
    query = "select distinct annotator_id, pair_id from answers where queue = '' and round_said < ?"
    seen = store.table(query, [number]) if store else pd.DataFrame({"pair_id": []})
    is_again = asked["pair_id"].isin(seen["pair_id"])
    options: dict[str, Any] = {"n_captions": n_captions, "seed": seed}
    drawn = assign_tasks(Tasks(asked[~is_again]), loads, training=training, controls=controls, **options)
    for _, batch in asked[is_again].groupby("batch"):
        more = assign_round(Tasks(batch), loads, seen=pd.concat([seen, drawn]), **options)
        before = more["annotator_id"].map(drawn["annotator_id"].value_counts()).fillna(0).astype("int64")
        drawn = check_assignments(pd.concat([drawn, more.assign(position=more["position"] + before)]))
    contents = pd.concat([table for table in (asked, training, controls) if table is not None])
    once = contents.drop_duplicates("pair_id").sort_values("pair_id")
    once = once.assign(batch=1, position=range(1, len(once) + 1), round=number).reset_index(drop=True)
    known = _no_answers() if answers is None else answers
    return Round(number, Tasks(once), drawn, known, n_captions=n_captions)


def _no_answers() -> Qrels:
    return check_qrels(pd.DataFrame({"query_id": [], "doc_id": [], "relevance": []}))


def assign_next_round(
    pairs: pd.DataFrame,
    known: Tasks,
    store: Store,
    annotators: Iterable[str],
    *,
    number: int,
    also: Sequence[tuple[str, str]] = (),
    retired: Collection[str] = (),
    unanswered: pd.DataFrame | None = None,
    kind: str = ADJUDICATION,
    n_captions: int = 1,
    seed: int = 0,
) -> Round | None:
    """Return the next round: each pair goes to somebody who has not seen it.

    Args:
        pairs: query_id and doc_id of what is to be asked again; those that wait are left out. No label counts
            answers on those of stratum `fourth_vote`.
        known: what the tasks show, of all these pairs.
        store: the record: what was given to whom, and answered.
        annotators: who can be asked; nobody gets a pair that she was given or has answered.
        number: of the round.
        also: annotator and pair of who has seen more than the record says.
        retired: who will answer no more: pairs do not wait for them.
        unanswered: those of `pairs` that nobody could answer: they go to somebody else first, and where
            everybody has seen them, to anybody again.
        kind: of its assignments.
        n_captions: how many captions of one item a page may have.
        seed: of the queues.

    Returns:
        The round, or None when no pair is left.

    Raises:
        JoinError: a pair that is not among the tasks.
        UsageError: a pair that every annotator has seen.
    """
    tasks = _tasks_of(pairs, known)
    tasks = tasks[pair_rows(tasks, waiting_pairs(store, retired)) < 0]
    if not len(tasks):
        return None
    numbered = Tasks(tasks.assign(batch=1, position=range(1, len(tasks) + 1), round=number))
    options: dict[str, Any] = {"kind": kind, "n_captions": n_captions, "seed": seed + number}
    annotators, seen = list(annotators), seen_pairs(store, also)
    if unanswered is not None and len(unanswered):
        by_all = pair_rows(unanswered, seen_by_all(store, annotators, also)) >= 0
        again = _tasks_of(unanswered[by_all & (pair_rows(unanswered, numbered) >= 0)], numbered)["pair_id"]
        seen = seen[~seen["pair_id"].isin(again)]
    assigned = assign_round(numbered, annotators, seen=seen, **options)
    fourth = pairs[pairs["stratum"] == FOURTH_VOTE] if "stratum" in pairs else pairs[:0]
    if len(fourth):
        is_fourth = are_in(assigned["pair_id"], _tasks_of(fourth, known)["pair_id"])
        assigned = check_assignments(assigned.assign(kind=assigned["kind"].mask(is_fourth, FOURTH)))
    return Round(number, numbered, assigned, _no_answers(), n_captions=n_captions)


def _tasks_of(pairs: pd.DataFrame, known: Tasks) -> Tasks:
    found = pairs[PAIR].drop_duplicates().merge(known, on=PAIR, how="left")
    lost = found[found["pair_id"].isna()]
    if len(lost):
        examples = ", ".join(" ".join(pair) for pair in lost[PAIR].head(3).itertuples(index=False))
        raise JoinError(f"{len(lost)} of {len(found)} pairs were never a task of this campaign ({examples})")
    return Tasks(found.sort_values("pair_id", ignore_index=True))


def moved_rounds(
    rounds: Sequence[Round],
    store: Store,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    retired: Collection[str],
    also: Sequence[tuple[str, str]],
    seed: int,
) -> list[tuple[Round, pd.DataFrame]]:
    """Return the rounds in which tasks move, each with its new moves.

    sources: whose tasks move; none: everybody's, as many as leave all with equally much to do; retired: who
    then gives nothing; also: as of `assign_next_round`.
    """
    left = left_pairs(store)
    seen = set(seen_pairs(store, also).itertuples(index=False, name=None))
    found, number = [], "select max(batch) + 1 from given where round = ?"
    for entry in rounds:
        own = set(entry.assignments["annotator_id"])
        giving = sorted(own & {*sources} if sources else own - {*targets} - {*retired})
        ((batch,),) = store.database.select(number, [entry.number])
        page_of = {
            (name, pair): (name, place)
            for name in giving
            for place, page in enumerate(queue_pages(entry, name))
            for pair in page.pairs
            if pair not in page.withdrawn
        }
        moves = move_tasks(
            entry.assignments,
            left.get(entry.number, set()),
            giving,
            targets,
            seen=seen,
            batch=batch,
            page_of=page_of,
            is_share=not sources,
            seed=seed,
        )
        if len(moves):
            found.append((entry, moves))
            seen |= set(zip(moves["to_annotator_id"], moves["pair_id"], strict=True))
    return found


def count_moved(moved: Sequence[tuple[Round, pd.DataFrame]], targets: Sequence[str]) -> dict[str, int]:
    """Return how many tasks that are judged move to whom."""
    to = [each for _, moves in moved for each in moves.loc[moves["annotator_id"] != "", "to_annotator_id"]]
    return {name: to.count(name) for name in targets}
