"""How far a campaign is: for each queue what is done and left, its pace, how controls were judged."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median

from fire_toolkit.campaign.queues import TRAINING
from fire_toolkit.campaign.records import QueueName, Round
from fire_toolkit.campaign.store import Store
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.words import n_of

# Of the answers in each queue, apart those to tasks that are nobody's there: how many are done, skipped, of
# training, escalated, controls and right, and their seconds.
_ANSWERS = """
with graded as materialized (select key as label, value as grade from json_each(?))
select round, annotator_id, kind is not null, sum(not is_skipped), sum(is_skipped), sum(kind is ?),
  sum(not is_skipped and graded.label is not null and grade is null),
  sum(not is_skipped and relevance is not null and grade is not null),
  sum(not is_skipped and relevance is not null and grade is not null and (relevance >= 1) = (grade >= 1)),
  json_group_array(seconds) filter (where not is_skipped)
from standing left join controls using (round, query_id, doc_id)
left join graded on graded.label = standing.label
group by 1, 2, 3
"""


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
    answers: dict[tuple[int, str], tuple[list[int], list[float]]] = {}
    everybody = list[float]()
    for number, name, has_task, *counts, times in store.database.select(
        _ANSWERS, [json.dumps(guideline.grades), TRAINING]
    ):
        seconds = _known(times)
        everybody += seconds
        answers |= {(number, name): (counts, seconds)} if has_task else {}
    found = []
    for number, name, n_tasks, n_training in sizes:
        (n_done, n_skipped, n_trained, *judged), seconds = answers.get((number, name), ([0] * 6, []))
        n_left, pace = n_tasks - n_done - n_skipped, _median(seconds or everybody)
        of_tasks = (n_tasks, n_done, n_skipped, n_left, n_training - n_trained)
        n_escalated, *controls = judged
        hours_left = n_left * pace / 3600 if n_left else 0.0
        found.append(
            QueueProgress(number, name, *of_tasks, n_escalated, _median(seconds), hours_left, *controls)
        )
    return found


def _known(times: str) -> list[float]:
    """Return the seconds that are known of those that JSON has."""
    return [seconds for seconds in json.loads(times) if seconds is not None]


def _median(seconds: Sequence[float]) -> float:
    return median(seconds) if seconds else math.nan


def judgment_seconds(store: Store) -> float:
    """Return the median time of an answer, in seconds; nan if there is none."""
    store.count()
    query = "select json_group_array(seconds) from standing where not is_skipped"
    return _median(_known(store.database.select(query)[0][0]))


def total_progress(queues: Sequence[QueueProgress]) -> QueueProgress:
    """Return the sum over queues, under the name `all` and round 0; seconds: the median of the medians."""
    known = [queue.seconds for queue in queues if not math.isnan(queue.seconds)]
    sums = {
        name: sum(getattr(queue, name) for queue in queues)
        for name in QueueProgress.__annotations__
        if name.startswith("n_") or name == "hours_left"
    }
    return QueueProgress(round=0, annotator_id="all", seconds=median(known) if known else math.nan, **sums)


def progress_in_words(
    queues: Sequence[QueueProgress], places: Mapping[QueueName, str], retired: Collection[str]
) -> Iterator[str]:
    """Yield how far each annotator is; of earlier rounds that are done, all of them in one line.

    places: where the files of a queue's tasks are. retired: who will answer no more.
    """
    shown = {queue.round for queue in queues if queue.n_left} | {queue.round for queue in queues[-1:]}
    for number, own in groupby(queues, key=lambda queue: queue.round):
        if number not in shown:
            sizes = [queue.n_tasks for queue in own]
            yield f"round {number}: all {n_of(sum(sizes), 'task')} of {n_of(len(sizes), 'annotator')}"
    for queue in (queue for queue in queues if queue.round in shown):
        name, place = queue.annotator_id, places.get(QueueName(queue.round, queue.annotator_id), "")
        where = f" ({place})" if place and queue.n_left else ""
        if queue.n_left and name in retired:
            where += "; retired, `annotators reassign` gives the others to somebody else"
        done = f"{queue.n_tasks - queue.n_left:,} of {n_of(queue.n_tasks, 'task')}"
        yield f"{name}, round {queue.round}: {done}{where}"


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
        "with last as (select json_extract(record, '$.at') as at, json_extract(record, '$.pair') as pair, "
        "json_extract(record, '$.round') || '/' || json_extract(record, '$.annotator') as queue from page "
        "where json_extract(record, '$.kind') in ('answer', 'undo') order by number desc limit 1) "
        "select 1 from last join campaign where not exists (select 1 from answers where annotation = "
        "'page:' || key || '#' || last.queue || '#' || last.pair and seen_at >= last.at)"
    )
    return bool(found)


def load_of(entry: Round) -> dict[str, Counter[str]]:
    """Return how many tasks of each kind each annotator has."""
    return {str(name): Counter(own) for name, own in entry.assignments.groupby("annotator_id")["kind"]}
