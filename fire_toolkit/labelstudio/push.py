"""Queues to projects: what is missing on the server is added, once, whatever went wrong before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fire_toolkit.campaign.carrier import GivenOut
from fire_toolkit.campaign.queues import TRAINING
from fire_toolkit.campaign.records import (
    Campaign,
    QueueName,
    Round,
)
from fire_toolkit.campaign.task_json import PAIR_ID, tasks_to_json
from fire_toolkit.errors import ServerError
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.labelstudio.api import Api, Uncertain, status_of
from fire_toolkit.labelstudio.projects import GUARDED, campaign_projects, check_config, project_settings
from fire_toolkit.labelstudio.sweep import sweep_tasks, tasks_with_keys

Payload = dict[str, Any]

BATCH_SIZE = 1000
_TRIES = 5
_SOON = (0, 1, 2)
_LATE = (0, 1, 2, 4, 8, 15, 30)
_OVER_SOON = (408, 409, 425, 429, 500, 503)  # answered by the server itself: it is not at work on it


@dataclass(frozen=True)
class Queue:
    """The tasks of one annotator in their order, as they are sent; n_held wait for the training."""

    name: QueueName
    tasks: tuple[Payload, ...]
    n_held: int = 0


@dataclass(frozen=True)
class Pushed(GivenOut):
    """What a push found and did in one project.

    duplicates: pairs that are there more than once; n_foreign: tasks that are not of this queue or have no
    pair_id; twins: further projects of the same queue; restored: settings that somebody had changed.
    """

    project: int = 0
    duplicates: Mapping[str, int] = field(default_factory=dict)
    n_foreign: int = 0
    twins: tuple[int, ...] = ()
    restored: tuple[str, ...] = ()


def make_queues(entry: Round, guideline: Guideline, *, done: Collection[tuple[str, str]]) -> list[Queue]:
    """Return the queues of a round, by annotator.

    Args:
        entry: the round.
        guideline: names the keys of a task's data.
        done: (queue, pair) of every answer so far; while a queue's training is not done, the
            rest of it is held back, so that nobody can begin with it.
    """
    contents = tasks_to_json(entry.tasks, guideline).get(1, [])
    by_pair = {content["data"][PAIR_ID]: content for content in contents}
    queues = []
    for annotator_id, rows in entry.assignments.groupby("annotator_id", sort=True):
        name = QueueName(entry.number, str(annotator_id))
        ordered = rows.sort_values("position")
        training = ordered.loc[ordered["kind"] == TRAINING, "pair_id"]
        is_trained = all((str(name), pair) in done for pair in training)
        pairs = list(ordered["pair_id"] if is_trained else training)
        queues.append(Queue(name, tuple(by_pair[pair] for pair in pairs), len(ordered) - len(pairs)))
    return queues


def push_queues(
    api: Api,
    campaign: Campaign,
    queues: Sequence[Queue],
    *,
    guideline: Guideline,
    report: Callable[[int], None] = lambda n: None,
) -> Iterator[Pushed]:
    """Make the projects of `queues` hold every task of theirs once; yield what was done in each.

    Args:
        api: the server.
        campaign: its key marks the projects, by which they are found again.
        queues: in the order in which they are pushed.
        guideline: the page and the instructions.
        report: called with a number of tasks that are now there.

    Raises:
        ServerError: the server fails for good, or somebody changed a project's labeling page; what is there
            by then stays, and another push goes on from there.
    """
    found = campaign_projects(api, campaign)
    for queue in queues:
        projects = found.get(queue.name, [])
        number, restored, is_empty = _project(api, campaign, queue.name, guideline, projects)
        twins = tuple(int(project["id"]) for project in projects[1:])
        there = Counter[str]() if is_empty else _keys_there(api, number)
        keys = [task["data"][PAIR_ID] for task in queue.tasks]
        report(sum(key in there for key in keys))
        missing = [task for task, key in zip(queue.tasks, keys, strict=True) if key not in there]
        repeated = _add(api, number, missing, report)
        foreign = there.keys() - set(keys)
        duplicates = {key: n for key, n in there.items() if key and n > 1} | repeated
        yield Pushed(
            queue.name,
            project=number,
            n_there=len(keys) - len(missing),
            n_added=len(missing),
            n_held=queue.n_held,
            duplicates=duplicates,
            n_foreign=sum(there[key] for key in foreign),
            twins=twins,
            restored=restored,
        )


def _project(
    api: Api,
    campaign: Campaign,
    name: QueueName,
    guideline: Guideline,
    projects: Sequence[Mapping[str, Any]],
) -> tuple[int, tuple[str, ...], bool]:
    """Return a queue's project, which of its settings were restored, and whether it is surely empty."""
    if not projects:
        number, is_ours = _create(api, campaign, name, guideline)
        return number, (), is_ours
    project = api.project(int(projects[0]["id"]))
    check_config(campaign, project)
    changed = {key: value for key, value in GUARDED.items() if project.get(key) != value}
    if changed:
        api.update_project(int(project["id"]), changed)
    return int(project["id"]), tuple(changed), False


def _create(api: Api, campaign: Campaign, name: QueueName, guideline: Guideline) -> tuple[int, bool]:
    """Return the number of a queue's new project, and whether the server said that this call made it.

    After a failure a project that is found may also be one of another push at the same time.
    """
    settings = project_settings(campaign, name, guideline)
    for _ in range(_TRIES):
        try:
            return api.create_project(settings), True
        except Uncertain as error:
            last = error
        for seconds in _pauses(last):
            api.pause(seconds)
            projects = campaign_projects(api, campaign).get(name)
            if projects:
                return int(projects[0]["id"]), False
    raise ServerError(str(last))


def _pauses(error: Uncertain) -> tuple[int, ...]:
    """Return how long to wait between looks whether the server carried a write out after all."""
    cause = error.__cause__
    status = status_of(cause) if isinstance(cause, ServerError) else 0
    return _SOON if status in _OVER_SOON else _LATE


def _keys_there(api: Api, project: int) -> Counter[str]:
    """Return how often each pair_id is in a project; tasks without one count under the empty text."""
    keys = Counter[str]()
    numbers: set[int] = set()
    for page in sweep_tasks(api, project, include=("id", "data")):
        new = [task for task in page if task["id"] not in numbers]
        numbers.update(task["id"] for task in new)
        keys.update(map(_key, new))
    return keys


def _key(task: Mapping[str, Any]) -> str:
    content = task.get("data")
    key = content.get(PAIR_ID) if isinstance(content, dict) else None
    return key if isinstance(key, str) else ""


def _add(api: Api, project: int, tasks: Sequence[Payload], report: Callable[[int], None]) -> dict[str, int]:
    """Add tasks in batches; return the pairs that are there more than once though added once."""
    doubtful: list[str] = []
    for start in range(0, len(tasks), BATCH_SIZE):
        batch = tasks[start : start + BATCH_SIZE]
        doubtful += _add_batch(api, project, batch)
        report(len(batch))
    times = Counter(_key(task) for task in _once(tasks_with_keys(api, project, doubtful)))
    return {key: n for key, n in times.items() if n > 1}


def _once(tasks: Iterable[Payload]) -> Iterator[Payload]:
    return iter({task["id"]: task for task in tasks}.values())


def _add_batch(api: Api, project: int, batch: Sequence[Payload]) -> list[str]:
    """Add a batch, looking after each doubtful failure what of it is there; return its keys if in doubt."""
    missing = {task["data"][PAIR_ID]: task for task in batch}
    doubtful: list[str] = []
    for _ in range(_TRIES):
        try:
            api.import_tasks(project, list(missing.values()))
        except Uncertain as error:
            last = error
        else:
            return doubtful
        doubtful = [task["data"][PAIR_ID] for task in batch]
        for seconds in _pauses(last):
            api.pause(seconds)
            for task in tasks_with_keys(api, project, list(missing)):
                missing.pop(_key(task), None)
            if not missing:
                return doubtful
    raise ServerError(str(last))
