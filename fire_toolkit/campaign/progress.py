"""How far a campaign is: for each queue what is done and left, its pace, how controls were judged."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from statistics import median

import pandas as pd

from fire_toolkit.campaign.records import QueueName, Round
from fire_toolkit.campaign.store import Store
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.words import n_of

# Answers to tasks that are nobody's there any more are of no queue.
_QUEUES = """
with graded as materialized (select key as label, value as grade from json_each(?)),
answers as materialized (
  select round, people, sum(not is_skipped) as n_done, sum(is_skipped) as n_skipped,
    sum(kind = 'training') as n_trained,
    sum(not is_skipped and graded.label is not null and grade is null) as n_escalated,
    sum(not is_skipped and relevance is not null and grade is not null) as n_controls,
    sum(not is_skipped and relevance is not null and grade is not null
      and (relevance >= 1) = (grade >= 1)) as n_right,
    json_group_array(seconds) filter (where not is_skipped and seconds is not null) as times
  from standing left join controls using (round, query_id, doc_id)
  left join graded on graded.label = standing.label
  where kind is not null group by 1, 2),
sizes as (
  select round, people, count(*) as n_tasks, sum(kind = 'training') as n_training
  from queues group by 1, 2)
select round, annotator_id, n_tasks, ifnull(n_done, 0) as n_done, ifnull(n_skipped, 0) as n_skipped,
  n_tasks - ifnull(n_done + n_skipped, 0) as n_left, n_training - ifnull(n_trained, 0) as n_training_left,
  ifnull(n_escalated, 0) as n_escalated, ifnull(times, '[]') as seconds, 0.0 as hours_left,
  ifnull(n_controls, 0) as n_controls, ifnull(n_right, 0) as n_right
from sizes left join answers using (round, people) join named_people using (people) order by 1, 2
"""


def measure_progress(store: Store, *, guideline: Guideline) -> pd.DataFrame:
    """Return the progress of each queue, by round and annotator.

    Args:
        store: the record.
        guideline: the grades of labels: a control is right if label and known answer are both positive (from
            grade 1), or neither; an escalated control counts as neither right nor wrong.

    Returns:
        round, annotator_id; n_tasks; n_done: tasks with an answer; n_skipped: tasks that were only skipped;
        n_left; n_training_left: of these, training; n_escalated: answers that are not votes; seconds: median
        time of an answer, nan if unknown; hours_left: at that time (or that of all queues), nan if unknown;
        n_controls: votes on pairs whose answer is known; n_right: of these, right; control_accuracy: their
        share, nan if none was judged.
    """
    found = store.table(_QUEUES, [json.dumps(guideline.grades)])
    times = [*map(json.loads, found["seconds"])]
    found["seconds"] = [*map(_median, times)]
    texts = dict.fromkeys(found, "int64") | {"annotator_id": "str"}  # of no queue all are
    found = found.astype(texts | dict.fromkeys(("seconds", "hours_left"), "float64"))
    pace = found["seconds"].fillna(_median([*chain(*times)]))
    found["hours_left"] = (found["n_left"] * pace / 3600).where(found["n_left"] != 0, 0.0)
    return found.assign(control_accuracy=found["n_right"] / found["n_controls"])


def _median(seconds: list[float]) -> float:
    return median(seconds) if seconds else math.nan


def judgment_seconds(store: Store) -> float:
    """Return the median time of an answer, in seconds; nan if there is none."""
    query = "select seconds from standing where not is_skipped and seconds is not null"
    return _median([seconds for (seconds,) in store.select(query)])


def with_total(queues: pd.DataFrame) -> pd.DataFrame:
    """Return queues with their sum behind them, as `all` and round 0; seconds: the median of the medians."""
    total = queues.filter(regex="^n_|hours_left").sum(skipna=False)
    last = total.to_frame().T.astype(queues.dtypes[total.index])
    last = last.assign(round=0, annotator_id="all", seconds=queues["seconds"].median())
    last = last.assign(control_accuracy=last["n_right"] / last["n_controls"])
    return pd.concat([queues, last[queues.columns]], ignore_index=True)


def progress_in_words(
    queues: pd.DataFrame, places: Mapping[QueueName, str], retired: Collection[str]
) -> Iterator[str]:
    """Yield how far each annotator is; of earlier rounds that are done, all of them in one line.

    places: where the files of a queue's tasks are. retired: who will answer no more.
    """
    for number, own in queues.groupby("round"):
        if not own["n_left"].any() and number != queues["round"].max():
            n_tasks = n_of(int(own["n_tasks"].sum()), "task")
            yield f"round {number}: all {n_tasks} of {n_of(len(own), 'annotator')}"
            continue
        for queue in own.to_dict("records"):
            name, n_left = queue["annotator_id"], queue["n_left"]
            place = places.get(QueueName(queue["round"], name), "")
            where = f" ({place})" if place and n_left else ""
            if n_left and name in retired:
                where += "; retired, `annotators reassign` gives the others to somebody else"
            done = f"{queue['n_tasks'] - n_left:,} of {n_of(queue['n_tasks'], 'task')}"
            yield f"{name}, round {number}: {done}{where}"


def open_people(store: Store, retired: Collection[str] = ()) -> dict[int, list[str]]:
    """Return for each round with a task that is not answered who has one, sorted.

    retired: who will answer no more.
    """
    found: dict[int, list[str]] = {}
    for number, name in store.select("select * from open_people"):
        if name not in retired:
            found.setdefault(number, []).append(name)
    return found


def load_of(entry: Round) -> dict[str, Counter[str]]:
    """Return how many tasks of each kind each annotator has."""
    return {str(name): Counter(own) for name, own in entry.assignments.groupby("annotator_id")["kind"]}
