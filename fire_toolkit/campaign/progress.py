"""How far a campaign is: for each queue what is done and left, its pace, how controls were judged."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from fire_toolkit.campaign.queues import TRAINING
from fire_toolkit.campaign.records import Round
from fire_toolkit.campaign.store import Store
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
    query = (
        "select round, annotator_id, kind is not null, kind is ?, label, relevance, is_skipped, count(*), "
        "json_group_array(seconds) from standing left join controls using (round, query_id, doc_id) "
        "group by 1, 2, 3, 4, 5, 6, 7"
    )
    answers: dict[tuple[int, str], list[_Alike]] = {}
    everybody = list[_Alike]()
    for number, name, has_task, *row in store.database.select(query, [TRAINING]):
        alike = _Alike(*row)
        everybody.append(alike)
        answers.setdefault((number, name), []).extend([alike] * has_task)
    pace = _median_seconds(everybody)
    return [_queue_progress(sized, answers.get(sized[:2], []), guideline, pace) for sized in sizes]


class _Alike(NamedTuple):
    """Answers of a queue that differ in nothing but the pair; seconds: as JSON has them."""

    is_training: int
    label: str
    relevance: int | None
    is_skipped: int
    n: int
    seconds: str


def _median_seconds(answers: Iterable[_Alike]) -> float:
    """Return the median time of the answers that are no skips; nan if none is known."""
    return _median(each.seconds for each in answers if not each.is_skipped)


def _median(texts: Iterable[str]) -> float:
    known = [seconds for text in texts for seconds in json.loads(text) if seconds is not None]
    return median(known) if known else math.nan


def _queue_progress(
    sized: tuple[int, str, int, int], answers: Sequence[_Alike], guideline: Guideline, everybody: float
) -> QueueProgress:
    """Return the progress of a queue.

    sized: round, annotator, and how many tasks and training tasks she has; everybody: the median time of all
    answers.
    """
    number, name, n_tasks, n_training = sized
    votes, grades = [each for each in answers if not each.is_skipped], guideline.grades
    known = [each for each in votes if each.relevance is not None and grades.get(each.label) is not None]
    right = [each for each in known if (each.relevance >= 1) == (grades[each.label] >= 1)]  # type: ignore[operator]
    n_left, seconds = n_tasks - sum(each.n for each in answers), _median_seconds(votes)
    pace = everybody if math.isnan(seconds) else seconds
    return QueueProgress(
        round=number,
        annotator_id=name,
        n_tasks=n_tasks,
        n_done=sum(each.n for each in votes),
        n_skipped=sum(each.n for each in answers if each.is_skipped),
        n_left=n_left,
        n_training_left=n_training - sum(each.n for each in answers if each.is_training),
        n_escalated=sum(each.n for each in votes if grades.get(each.label, 0) is None),
        seconds=seconds,
        hours_left=n_left * pace / 3600 if n_left else 0.0,
        n_controls=sum(each.n for each in known),
        n_right=sum(each.n for each in right),
    )


def judgment_seconds(store: Store) -> float:
    """Return the median time of an answer, in seconds; nan if there is none."""
    store.count()
    query = "select json_group_array(seconds) from standing where not is_skipped"
    return _median(text for (text,) in store.database.select(query))


def total_progress(queues: Sequence[QueueProgress]) -> QueueProgress:
    """Return the sum over queues, under the name `all` and round 0; seconds: the median of the medians."""
    known = [queue.seconds for queue in queues if not math.isnan(queue.seconds)]
    sums = {
        name: sum(getattr(queue, name) for queue in queues)
        for name in QueueProgress.__annotations__
        if name.startswith("n_") or name == "hours_left"
    }
    return QueueProgress(round=0, annotator_id="all", seconds=median(known) if known else math.nan, **sums)


def open_people(store: Store, retired: Collection[str] = ()) -> dict[int, list[str]]:
    """Return for each round with a task that is not answered who has one, sorted.

    retired: who will answer no more.
    """
    store.count()
    found: dict[int, list[str]] = {}
    query = (
        "select round, annotator_id from (select distinct round, to_annotator_id as annotator_id from given "
        "where to_annotator_id <> '') own where exists (select 1 from open_tasks where open_tasks.round = "
        "own.round and open_tasks.annotator_id = own.annotator_id) order by 1, 2"
    )
    for number, name in store.database.select(query):
        if name not in retired:
            found.setdefault(int(number), []).append(str(name))
    return found


def has_unread_page(store: Store) -> bool:
    """Whether something was done on our own page that the answers do not have: what was done there last."""
    found = store.database.select(
        "with last as (select record ->> '$.at' as at, record ->> '$.pair' as pair, "
        "(record ->> '$.round') || '/' || (record ->> '$.annotator') as queue from page "
        "where record ->> '$.kind' in ('answer', 'undo') order by number desc limit 1) "
        "select 1 from last join campaign where not exists (select 1 from answers where annotation = "
        "'page:' || key || '#' || last.queue || '#' || last.pair and seen_at >= last.at)"
    )
    return bool(found)


def load_of(entry: Round) -> dict[str, dict[str, int]]:
    """Return how many tasks of each kind each annotator has."""
    found: dict[str, dict[str, int]] = {}
    for annotator_id, kind in entry.assignments[["annotator_id", "kind"]].itertuples(index=False):
        kinds = found.setdefault(annotator_id, {})
        kinds[kind] = kinds.get(kind, 0) + 1
    return found
