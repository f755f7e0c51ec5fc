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
from fire_toolkit.campaign.tasks import split_pair_id
from fire_toolkit.campaign.views import open_tasks, standing_answers
from fire_toolkit.guidelines.model import Grades, Guideline

_QUEUE = ["round", "annotator_id"]


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
    sizes = store.table(
        "select round, annotator_id, count(*) as n_tasks, sum(kind = ?) as n_training from queues "
        "group by round, annotator_id order by round, annotator_id",
        [TRAINING],
    )
    held = store.table("select round, annotator_id, pair_id, kind from queues where pair_id in "
                       "(select pair_id from answers)")  # fmt: skip
    answers = standing_answers(store)
    everybody = _median(answers)
    answers = held.astype({"round": "int64"}).merge(answers, on=[*_QUEUE, "pair_id"])
    is_right = _are_right(answers[~answers["is_skipped"]], store, guideline.grades)
    of_queue = {tuple(key): rows for key, rows in answers.groupby(_QUEUE)}
    found = []
    for number, name, n_tasks, n_training in sizes.itertuples(index=False, name=None):
        own = of_queue.get((number, name), answers.iloc[:0])
        found.append(
            _queue_progress((number, name, n_tasks, n_training), own, is_right, guideline, everybody)
        )
    return found


def _queue_progress(
    sized: tuple[int, str, int, int],
    answers: pd.DataFrame,
    is_right: pd.Series[bool],
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
    own = _median(votes)
    seconds = everybody if math.isnan(own) else own
    right = is_right[is_right.index.isin(votes.index)]
    return QueueProgress(
        round=number,
        annotator_id=name,
        n_tasks=n_tasks,
        n_done=len(votes),
        n_skipped=len(answers) - len(votes),
        n_left=n_left,
        n_training_left=n_training - int((answers["kind"] == TRAINING).sum()),
        n_escalated=sum(guideline.grades.get(label, 0) is None for label in votes["label"]),
        seconds=own,
        hours_left=n_left * seconds / 3600 if n_left else 0.0,
        n_controls=len(right),
        n_right=int(right.sum()),
    )


def _are_right(votes: pd.DataFrame, store: Store, grades: Grades) -> pd.Series[bool]:
    """Return of each vote on a pair whose answer is known whether it is right, by the row of the vote."""
    query = "select round, query_id, doc_id, relevance from controls"
    known = {(number, *pair): relevance for number, *pair, relevance in store.database.select(query)}
    with_controls = votes[votes["round"].isin({number for number, *_ in known})]
    rows = zip(*(with_controls[name] for name in ("round", "pair_id", "label")), strict=True)
    right = {
        place: (relevance >= 1) == (grade >= 1)
        for place, (number, pair, label) in zip(with_controls.index, rows, strict=True)
        if (relevance := known.get((number, *split_pair_id(pair)))) is not None
        and (grade := grades.get(label)) is not None
    }
    return pd.Series(right, dtype="bool")


def judgment_seconds(store: Store) -> float:
    """Return the median time of an answer, in seconds; nan if there is none."""
    return _median(standing_answers(store))


def _median(answers: pd.DataFrame) -> float:
    """Return the median time of answers that are not skips and have one; nan if there is none."""
    return float(answers.loc[~answers["is_skipped"], "seconds"].median())


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
    untouched = store.database.select(query, [json.dumps(sorted(retired))])
    left = [] if untouched else open_tasks(store)[["round", "annotator_id"]].to_numpy().tolist()
    return next(((int(n), str(name)) for n, name in (*untouched, *left) if name not in retired), None)


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
