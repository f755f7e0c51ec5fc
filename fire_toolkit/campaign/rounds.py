"""Which pairs a round asks, and of whom: for the first time, or again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from fire_toolkit.campaign.ledger import Ledger
from fire_toolkit.campaign.queues import (
    ADJUDICATION,
    CONTROL,
    TRAINING,
    assign_round,
    assign_tasks,
    check_assignments,
)
from fire_toolkit.campaign.records import Round, queue_named
from fire_toolkit.errors import JoinError
from fire_toolkit.tables import FOURTH, Qrels, Tasks, check_qrels
from fire_toolkit.tables.columns import PAIR, are_in


def seen_pairs(rounds: Sequence[Round], ledger: Ledger) -> pd.DataFrame:
    """Return annotator_id and pair_id of everybody who was given a pair or left anything at it."""
    given = [entry.given[["annotator_id", "pair_id"]] for entry in rounds]
    answered = ledger[["annotator_id", "pair_id"]]
    names = [queue_named(queue) for queue in ledger["queue"]]
    owners = answered.assign(annotator_id=[name.annotator_id if name else "" for name in names])
    return pd.concat([*given, answered, owners]).drop_duplicates(ignore_index=True)


def first_round(
    number: int,
    asked: Tasks,
    loads: Mapping[str, float],
    *,
    training: Tasks | None = None,
    controls: Tasks | None = None,
    answers: Qrels | None = None,
    n_captions: int = 1,
    seed: int = 0,
) -> Round:
    """Return a round of pairs that are asked for the first time: of the first pool, or of a later model.

    Args:
        number: of the round.
        asked: the tasks, batch 2 of those to be judged twice.
        loads: id of each annotator → relative load.
        training: tasks that everybody judges first.
        controls: tasks whose answer is known, mixed in for everybody.
        answers: the known answers.
        n_captions: how many captions of one item a page may have; more than 1: pages are drawn.
        seed: of the queues.

    Raises:
        UsageError, JoinError: as `assign_tasks`.
    """
    drawn = assign_tasks(asked, loads, training=training, controls=controls, n_captions=n_captions, seed=seed)
    contents = pd.concat([table for table in (asked, training, controls) if table is not None])
    once = contents.drop_duplicates("pair_id").sort_values("pair_id")
    once = once.assign(batch=1, position=range(1, len(once) + 1), round=number).reset_index(drop=True)
    nothing = check_qrels(pd.DataFrame({"query_id": [], "doc_id": [], "relevance": []}))
    known = nothing if answers is None else answers
    return Round(number, Tasks(once), drawn, known, n_captions=n_captions)


def asked_before(tasks: Tasks, rounds: Sequence[Round]) -> list[str]:
    """Return the pairs of `tasks` that a round has given out for a judgment, sorted."""
    given: set[str] = set()
    for entry in rounds:
        is_vote = ~entry.assignments["kind"].isin([TRAINING, CONTROL])
        given.update(entry.assignments.loc[is_vote, "pair_id"])
    return sorted(given.intersection(tasks["pair_id"]))


def assign_next_round(
    pairs: pd.DataFrame,
    rounds: Sequence[Round],
    ledger: Ledger,
    annotators: Iterable[str],
    *,
    retired: Collection[str] = (),
    fourth: pd.DataFrame | None = None,
    number: int | None = None,
    kind: str = ADJUDICATION,
    n_captions: int = 1,
    seed: int = 0,
) -> Round | None:
    """Return the next round: each pair goes to somebody who has not seen it.

    Args:
        pairs: query_id and doc_id of what is to be asked again; those that wait are left out.
        rounds: all so far, at least one; they hold what each task shows.
        ledger: what was answered by whom.
        annotators: who can be asked; nobody gets a pair that she was given or has answered.
        retired: who will answer no more: pairs do not wait for them.
        fourth: those of `pairs` whose answers are fourth votes, which no label counts.
        number: of the round; None: the one after the last of `rounds`.
        kind: of its assignments.
        n_captions: how many captions of one item a page may have.
        seed: of the queues.

    Returns:
        The round, or None when no pair is left.

    Raises:
        JoinError: a pair that no round had as a task.
        UsageError: a pair that every annotator has seen.
    """
    tasks = _tasks_of(pairs, rounds)
    tasks = tasks[~tasks["pair_id"].isin(_waiting(rounds, ledger, retired))]
    if not len(tasks):
        return None
    number = number or rounds[-1].number + 1
    numbered = Tasks(tasks.assign(batch=1, position=range(1, len(tasks) + 1), round=number))
    options: dict[str, Any] = {"kind": kind, "n_captions": n_captions, "seed": seed + number}
    assigned = assign_round(numbered, annotators, seen=seen_pairs(rounds, ledger), **options)
    if fourth is not None:
        is_fourth = are_in(assigned["pair_id"], _tasks_of(fourth, rounds)["pair_id"])
        assigned = check_assignments(assigned.assign(kind=assigned["kind"].mask(is_fourth, FOURTH)))
    nothing = check_qrels(pd.DataFrame({"query_id": [], "doc_id": [], "relevance": []}))
    return Round(number, numbered, assigned, nothing, n_captions=n_captions)


def waiting_pairs(rounds: Sequence[Round], ledger: Ledger, retired: Collection[str] = ()) -> pd.DataFrame:
    """Return the pairs (query_id, doc_id) that a later round asks for and nobody has answered there.

    retired: who will answer no more, so that what they have does not wait.
    """
    known = pd.concat([entry.tasks for entry in rounds]).drop_duplicates("pair_id")
    waiting = known.loc[known["pair_id"].isin(_waiting(rounds, ledger, retired)), PAIR]
    return pd.DataFrame(waiting.reset_index(drop=True))


def seen_by_all(rounds: Sequence[Round], ledger: Ledger, annotators: Collection[str]) -> pd.DataFrame:
    """Return the pairs (query_id, doc_id) that each of `annotators` has seen, whom nobody can ask again."""
    seen = seen_pairs(rounds, ledger)
    counts = seen.loc[seen["annotator_id"].isin(annotators), "pair_id"].value_counts()
    by_all = counts.index[counts >= len(set(annotators))]
    known = pd.concat([entry.tasks for entry in rounds]).drop_duplicates("pair_id")
    return pd.DataFrame(known.loc[known["pair_id"].isin(by_all), PAIR].reset_index(drop=True))


def _tasks_of(pairs: pd.DataFrame, rounds: Sequence[Round]) -> Tasks:
    known = pd.concat([entry.tasks for entry in rounds]).drop_duplicates("pair_id")
    found = pairs[PAIR].drop_duplicates().merge(known, on=PAIR, how="left")
    lost = found[found["pair_id"].isna()]
    if len(lost):
        examples = ", ".join(" ".join(pair) for pair in lost[PAIR].head(3).itertuples(index=False))
        raise JoinError(f"{len(lost)} of {len(found)} pairs were never a task of this campaign ({examples})")
    return Tasks(found.sort_values("pair_id", ignore_index=True))


def _waiting(rounds: Sequence[Round], ledger: Ledger, retired: Collection[str]) -> set[str]:
    """Return the pairs that a later round asks for and nobody has answered there."""
    asked = set()
    for entry in rounds[1:]:
        columns = (entry.assignments[name].tolist() for name in ("annotator_id", "pair_id"))
        own = zip(*columns, strict=True)
        asked |= {(f"{entry.number}/{name}", pair) for name, pair in own if name not in retired}
    answered = zip(ledger["queue"].tolist(), ledger["pair_id"].tolist(), strict=True) if asked else ()
    return {pair for queue, pair in asked.difference(answered)}
