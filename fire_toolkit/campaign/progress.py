"""How far a campaign is: for each queue what is done and left, its pace, how controls were judged."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import median

import pandas as pd

from fire_toolkit.campaign.queues import TRAINING
from fire_toolkit.campaign.records import Round
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.views import standing_answers
from fire_toolkit.guidelines.model import Guideline


@dataclass(frozen=True)
class QueueProgress:
    """The state of a queue.

    n_done: tasks with an answer; n_skipped: tasks that were only skipped; n_left; n_training_left: of
    these, training; n_escalated: answers that are not votes; seconds: median time of an answer, nan if
    unknown; hours_left: at that time (or everybody's), nan if unknown; n_controls: votes on pairs whose
    answer is known; n_right: of these, right.
    """

    round: int
    annotator_id: str
    n_tasks: int
    n_done: int
    n_skipped: int
    n_left: int
    n_training_left: int
    n_escalated: int
    seconds: float
    hours_left: float
    n_controls: int
    n_right: int

    @property
    def control_accuracy(self) -> float:
        """The share of controls that were judged right; nan if none was judged."""
        return self.n_right / self.n_controls if self.n_controls else math.nan


def measure_progress(store: Store, *, guideline: Guideline) -> list[QueueProgress]:
    """Return the progress of each queue, by round and annotator.

    Args:
        store: the record.
        guideline: the grades of labels: a control is right if label and known answer are both positive (from
            grade 1), or neither; an escalated control counts as neither right nor wrong.
    """
    store.count()
    sizes = store.database.select(
        "select round, annotator_id, count(*), sum(kind = ?) from queues group by 1, 2 order by 1, 2",
        [TRAINING],
    )
    answers = store.table(
        "select round, annotator_id, kind, label, is_skipped, seconds, relevance from standing "
        "left join controls using (round, query_id, doc_id)"
    ).astype({"is_skipped": "bool", "seconds": "float64", "relevance": "float64"})
    everybody = float(answers.loc[~answers["is_skipped"], "seconds"].median())
    of_queue = dict(iter(answers[answers["kind"].notna()].groupby(["round", "annotator_id"])))
    return [
        _queue_progress(sized, of_queue.get(sized[:2], answers.iloc[:0]), guideline, everybody)
        for sized in sizes
    ]


def _queue_progress(
    sized: tuple[int, str, int, int],
    answers: pd.DataFrame,
    guideline: Guideline,
    everybody: float,
) -> QueueProgress:
    """Return the progress of a queue.

    sized: round, annotator, and how many tasks and training tasks she has; everybody: the median time of all
    answers.
    """
    number, name, n_tasks, n_training = sized
    votes = answers[~answers["is_skipped"]]
    n_left = n_tasks - len(answers)
    own = float(votes["seconds"].median())
    seconds = everybody if math.isnan(own) else own
    grades = votes["label"].map(guideline.grades).astype("float64")
    is_known = votes["relevance"].notna() & grades.notna()
    is_right = (votes["relevance"] >= 1) == (grades >= 1)
    return QueueProgress(
        round=number,
        annotator_id=name,
        n_tasks=n_tasks,
        n_done=len(votes),
        n_skipped=len(answers) - len(votes),
        n_left=n_left,
        n_training_left=n_training - int((answers["kind"] == TRAINING).sum()),
        n_escalated=int(
            votes["label"].isin([n for n, grade in guideline.grades.items() if grade is None]).sum()
        ),
        seconds=own,
        hours_left=n_left * seconds / 3600 if n_left else 0.0,
        n_controls=int(is_known.sum()),
        n_right=int((is_known & is_right).sum()),
    )


def judgment_seconds(store: Store) -> float:
    """Return the median time of an answer, in seconds; nan if there is none."""
    found = standing_answers(store)
    return float(found.loc[~found["is_skipped"], "seconds"].median())


def total_progress(queues: Sequence[QueueProgress]) -> QueueProgress:
    """Return the sum over queues, under the name `all` and round 0; seconds: the median of the medians."""
    known = [queue.seconds for queue in queues if not math.isnan(queue.seconds)]
    sums = {
        name: sum(getattr(queue, name) for queue in queues)
        for name in QueueProgress.__annotations__
        if name.startswith("n_") or name == "hours_left"
    }
    return QueueProgress(round=0, annotator_id="all", seconds=median(known) if known else math.nan, **sums)


def open_task(store: Store, retired: Collection[str] = ()) -> tuple[int, str] | None:
    """Return a round with a task that is not answered, and who has it; None: all are answered.

    retired: who will answer no more.
    """
    query = (
        "select round, annotator_id from queues where annotator_id not in (select value from json_each(?)) "
        "and not exists (select 1 from answers where answers.pair_id = queues.pair_id) limit 1"
    )
    gone = [json.dumps(sorted(retired))]
    found = store.database.select(query, gone)
    if not found:
        store.count()
        query = (
            "select round, annotator_id from open_tasks where annotator_id not in "
            "(select value from json_each(?)) order by round, batch, position limit 1"
        )
        found = store.database.select(query, gone)
    return (int(found[0][0]), str(found[0][1])) if found else None


def has_unread_page(store: Store) -> bool:
    """Whether something was done on our own page that the answers do not have: what was done there last."""
    found = store.database.select(
        "with last as (select record ->> '$.at' as at, record ->> '$.pair' as pair, "
        "(record ->> '$.round') || '/' || (record ->> '$.annotator') as queue from page "
        "where record ->> '$.kind' in ('answer', 'undo') order by number desc limit 1) "
        "select 1 from last where not exists (select 1 from answers where answers.pair_id = last.pair "
        "and answers.queue = last.queue and answers.seen_at >= last.at)"
    )
    return bool(found)


def load_of(entry: Round) -> dict[str, dict[str, int]]:
    """Return how many tasks of each kind each annotator has."""
    found: dict[str, dict[str, int]] = {}
    for annotator_id, kind in entry.assignments[["annotator_id", "kind"]].itertuples(index=False):
        kinds = found.setdefault(annotator_id, {})
        kinds[kind] = kinds.get(kind, 0) + 1
    return found
