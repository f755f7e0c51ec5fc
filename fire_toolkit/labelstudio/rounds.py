"""Which pairs are asked again, and of whom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from fire_toolkit.assignment import assign_round
from fire_toolkit.errors import JoinError
from fire_toolkit.labelstudio.campaign import Round, queue_named
from fire_toolkit.ledger import Ledger
from fire_toolkit.tables import Disputes, Labels, Tasks, check_qrels

_PAIR = ["query_id", "doc_id"]


def unverified_positives(labels: Labels) -> pd.DataFrame:
    """Return the pairs (query_id, doc_id) that one judgment alone calls positive (relevance 1 or more)."""
    alone = (labels["relevance"] >= 1) & (labels["n_judgments"] == 1)
    return pd.DataFrame(labels.loc[alone, _PAIR].reset_index(drop=True))


def seen_pairs(rounds: Sequence[Round], ledger: Ledger) -> pd.DataFrame:
    """Return annotator_id and pair_id of everybody who was given a pair or left anything at it."""
    given = [entry.assignments[["annotator_id", "pair_id"]] for entry in rounds]
    answered = ledger[["annotator_id", "pair_id"]]
    names = [queue_named(queue) for queue in ledger["queue"]]
    owners = answered.assign(annotator_id=[name.annotator_id if name else "" for name in names])
    return pd.concat([*given, answered, owners]).drop_duplicates(ignore_index=True)


def plan_round(
    pairs: pd.DataFrame,
    rounds: Sequence[Round],
    ledger: Ledger,
    annotators: Iterable[str],
    *,
    seed: int = 0,
) -> tuple[Round | None, int]:
    """Return the next round, and how many of `pairs` are left out since they wait in an earlier one.

    Args:
        pairs: query_id and doc_id of what is to be asked again.
        rounds: all so far, at least one; they hold what each task shows.
        ledger: what was answered by whom.
        annotators: who can be asked; nobody gets a pair that she was given or has answered.
        seed: of the queues.

    Returns:
        The round (kind `adjudication`), or None when no pair is left.

    Raises:
        JoinError: a pair that no round had as a task.
        UsageError: a pair that every annotator has seen.
    """
    tasks = _tasks_of(pairs, rounds)
    waiting = _waiting(rounds, ledger)
    open_tasks = Tasks(tasks[~tasks["pair_id"].isin(waiting)])
    n_waiting = len(tasks) - len(open_tasks)
    if not len(open_tasks):
        return None, n_waiting
    number = rounds[-1].number + 1
    assigned = assign_round(open_tasks, annotators, seen=seen_pairs(rounds, ledger), seed=seed + number)
    numbered = Tasks(open_tasks.assign(batch=1, position=range(1, len(open_tasks) + 1)))
    nothing = check_qrels(pd.DataFrame({"query_id": [], "doc_id": [], "relevance": []}))
    return Round(number, numbered, assigned, nothing), n_waiting


def _tasks_of(pairs: pd.DataFrame, rounds: Sequence[Round]) -> Tasks:
    known = pd.concat([entry.tasks for entry in rounds]).drop_duplicates("pair_id")
    found = pairs[_PAIR].drop_duplicates().merge(known, on=_PAIR, how="left")
    lost = found[found["pair_id"].isna()]
    if len(lost):
        examples = ", ".join(" ".join(pair) for pair in lost[_PAIR].head(3).itertuples(index=False))
        raise JoinError(f"{len(lost)} of {len(found)} pairs were never a task of this campaign ({examples})")
    return Tasks(found.sort_values("pair_id", ignore_index=True))


def _waiting(rounds: Sequence[Round], ledger: Ledger) -> set[str]:
    """Return the pairs that a later round asks for and nobody has answered there."""
    asked = {
        (f"{entry.number}/{name}", pair)
        for entry in rounds[1:]
        for name, pair in zip(entry.assignments["annotator_id"], entry.assignments["pair_id"], strict=True)
    }
    answered = set(zip(ledger["queue"], ledger["pair_id"], strict=True))
    return {pair for queue, pair in asked - answered}


def disputed_pairs(disputes: Disputes) -> pd.DataFrame:
    """Return the pairs (query_id, doc_id) in dispute."""
    return pd.DataFrame(disputes[_PAIR])
