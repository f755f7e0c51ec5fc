"""Queues to projects: what is missing on the server is added, once, whatever went wrong before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from fire_toolkit.campaign.carrier import Delivered
from fire_toolkit.campaign.page_json import key_words
from fire_toolkit.campaign.records import (
    Campaign,
)
from fire_toolkit.campaign.task_json import PAIR_ID
from fire_toolkit.errors import FireError, ServerError
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.labelstudio.api import Api, Uncertain, status_of
from fire_toolkit.labelstudio.connection import MOST_TASKS
from fire_toolkit.labelstudio.projects import (
    GUARDED,
    campaign_projects,
    check_config,
    kept_parts,
    project_settings,
)
from fire_toolkit.labelstudio.sent_tasks import Payload, Queue, key_of
from fire_toolkit.labelstudio.sweep import sweep_tasks, tasks_with_keys

BATCH_SIZE = 1000
_TRIES = 5
_SOON = (0, 1, 2)
_LATE = (0, 1, 2, 4, 8, 15, 30)
_SHOWN = 3
_OVER_SOON = (408, 409, 425, 429, 500, 503)  # answered by the server itself: it is not at work on it


@dataclass(frozen=True)
class Part:
    """A project that holds a part of a queue, mostly all of it.

    part: from 1; n_tasks: how many tasks it has, of whatever queue; restored: settings that somebody changed,
    as they should be.
    """

    part: int
    project: int
    n_tasks: int = 0
    restored: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """What a queue lacks on the server, as a look there found it.

    parts: its projects, none where there are none yet; twins: numbers of further projects of the same parts;
    there: how often each pair is there, in whichever part (tasks without pair_id under the empty text);
    missing: tasks that are not; changed: by its number each task that holds another caption or address, and
    what it should hold.
    """

    queue: Queue
    parts: tuple[Part, ...] = ()
    twins: tuple[int, ...] = ()
    there: Counter[str] = field(default_factory=Counter)
    missing: tuple[Payload, ...] = ()
    changed: Mapping[int, Payload] = field(default_factory=dict)

    @property
    def to_send(self) -> tuple[Payload, ...]:
        """The tasks that would be added or updated."""
        return (*self.missing, *self.changed.values())


@dataclass(frozen=True)
class Pushed(Delivered):
    """What a push found and did in the projects of one queue.

    project: its first; further: those of its other parts;
    n_updated: tasks that held another caption or address; crossed: those of them that were answered in that
    moment, so that the answer may be of either; duplicates: pairs that are there more than once; n_foreign:
    tasks that are not of this queue or have no pair_id; twins: copies of these projects; restored:
    settings that somebody had changed.
    """

    project: int = 0
    further: tuple[int, ...] = ()
    n_updated: int = 0
    crossed: tuple[str, ...] = ()
    duplicates: Mapping[str, int] = field(default_factory=dict)
    n_foreign: int = 0
    twins: tuple[int, ...] = ()
    restored: tuple[str, ...] = ()

    @property
    def projects(self) -> tuple[int, ...]:
        """The projects of all parts."""
        return (self.project, *self.further)


def plan_push(api: Api, campaign: Campaign, queues: Sequence[Queue]) -> list[Plan]:
    """Return what each queue lacks on the server; nothing is changed there.

    Raises:
        ServerError: the server fails for good, or somebody changed a project's labeling page.
        FireError: a task that holds another caption or address was answered already.
    """
    found = campaign_projects(api, campaign)
    plans = [_plan(api, campaign, queue, found.get(queue.name, [])) for queue in queues]
    _refuse_answered(api, plans)
    return plans


def _plan(api: Api, campaign: Campaign, queue: Queue, projects: Sequence[Mapping[str, Any]]) -> Plan:
    wanted = {key_of(task): task for task in queue.tasks}
    there = Counter[str]()
    changed: dict[int, Payload] = {}
    parts: list[Part] = []
    kept = kept_parts(dict(project) for project in projects)
    for part, copies in kept.items():
        project = api.project(int(copies[0]["id"]))
        check_config(campaign, project)
        restored = {name: value for name, value in GUARDED.items() if project.get(name) != value}
        n_tasks = 0
        for task in _tasks_there(api, int(project["id"])):
            key = key_of(task)
            there[key] += 1
            n_tasks += 1
            if key in wanted and _differs(task, wanted[key]):
                changed[int(task["id"])] = wanted[key]
        parts.append(Part(part, int(project["id"]), n_tasks, restored))
    return Plan(
        queue,
        tuple(parts),
        twins=tuple(int(project["id"]) for copies in kept.values() for project in copies[1:]),
        there=there,
        missing=tuple(task for task in queue.to_ask if key_of(task) not in there),
        changed=changed,
    )


def _differs(task: Payload, wanted: Payload) -> bool:
    """Whether a task on the server shows something else; what somebody added beside it does not count."""
    content = task["data"]
    return any(content.get(name) != value for name, value in wanted["data"].items())


def _refuse_answered(api: Api, plans: Iterable[Plan]) -> None:
    """Raise `FireError` if tasks that would be updated were answered, or skipped."""
    answered = [
        f"{plan.queue.name.annotator_id}: {key_words(key)}" for plan in plans for key in _answered(api, plan)
    ]
    if answered:
        shown = "; ".join(answered[:_SHOWN]) + ("; …" if len(answered) > _SHOWN else "")
        n_changed = sum(len(plan.changed) for plan in plans)
        raise FireError(
            f"{n_changed:,} tasks on the server have another caption or media_url, and {len(answered):,} of "
            f"them were answered already ({shown}); nothing was sent. An answer belongs to what was shown: "
            "restore the old file of tasks, or ask these pairs in another workspace"
        )


def _answered(api: Api, plan: Plan) -> list[str]:
    """Return the pairs among the tasks to be updated that have an answer."""
    if not plan.changed:
        return []
    keys = list(dict.fromkeys(map(key_of, plan.changed.values())))
    counted = ("total_annotations", "cancelled_annotations")
    include = ("id", "data", *counted)
    found = (tasks_with_keys(api, part.project, keys, include=include) for part in plan.parts)
    tasks = _once(task for tasks in found for task in tasks)
    return [
        key_of(task)
        for task in tasks
        if task["id"] in plan.changed and any(task.get(name) for name in counted)
    ]


def carry_out(
    api: Api,
    campaign: Campaign,
    plans: Sequence[Plan],
    *,
    guideline: Guideline,
    most_tasks: int = MOST_TASKS,
    report: Callable[[int], None] = lambda n: None,
) -> Iterator[Pushed]:
    """Make the projects of queues hold every task of theirs once; yield what was done in each.

    Args:
        api: the server.
        campaign: its key marks the projects, by which they are found again.
        plans: as `plan_push` returned them a moment ago.
        guideline: the page and the instructions.
        most_tasks: in one project; what a queue has more goes to further ones. What is there stays where it
            is, so that another number from one push to the next moves and doubles nothing.
        report: called with a number of tasks that are now there.

    Raises:
        ServerError: the server fails for good, or somebody changed a project's labeling page; what is there
            by then stays, and another push goes on from there.
    """
    for planned in plans:
        plan = _with_room(api, campaign, planned, guideline, most_tasks)
        keys = [key_of(task) for task in plan.queue.tasks]
        for part in plan.parts:
            if part.restored:
                api.update_project(part.project, part.restored)
        for task, content in plan.changed.items():
            api.update_task(task, content["data"])
        report(len(keys) - len(plan.missing))
        repeated: dict[str, int] = {}
        for project, tasks in _shares(plan, most_tasks):
            repeated |= _add(api, project, tasks, report)
        foreign = plan.there.keys() - set(keys) - plan.queue.withdrawn
        yield Pushed(
            plan.queue.name,
            project=plan.parts[0].project,
            further=tuple(part.project for part in plan.parts[1:]),
            n_there=len(keys) - len(plan.missing),
            n_added=len(plan.missing),
            n_held=plan.queue.n_held,
            n_updated=len(plan.changed),
            crossed=tuple(_answered(api, plan)),
            duplicates={key: n for key, n in plan.there.items() if key and n > 1} | repeated,
            n_foreign=sum(plan.there[key] for key in foreign),
            twins=plan.twins,
            restored=tuple(sorted({name for part in plan.parts for name in part.restored})),
        )


def _with_room(api: Api, campaign: Campaign, plan: Plan, guideline: Guideline, most_tasks: int) -> Plan:
    """Return the plan with projects that have room for all that is missing, made where there are too few."""
    while not plan.parts or sum(_room(part, most_tasks) for part in plan.parts) < len(plan.missing):
        taken = {part.part for part in plan.parts}
        part = next(number for number in count(1) if number not in taken)
        project, is_ours = _create(api, campaign, plan.queue, guideline, part)
        if is_ours and all(project != other.project for other in plan.parts):  # numbers are used again
            plan = replace(plan, parts=(*plan.parts, Part(part, project)))
        else:
            plan = _plan(api, campaign, plan.queue, campaign_projects(api, campaign).get(plan.queue.name, []))
    return plan


def _room(part: Part, most_tasks: int) -> int:
    return max(0, most_tasks - part.n_tasks)


def _shares(plan: Plan, most_tasks: int) -> Iterator[tuple[int, tuple[Payload, ...]]]:
    """Yield the number of each project that lacks tasks, and these, in the queue's order."""
    place = 0
    for part in sorted(plan.parts, key=lambda part: part.part):
        share = plan.missing[place : place + _room(part, most_tasks)]
        place += len(share)
        if share:
            yield part.project, share


def _create(api: Api, campaign: Campaign, queue: Queue, guideline: Guideline, part: int) -> tuple[int, bool]:
    """Return the number of a new project of a queue, and whether the server said that this call made it.

    After a failure a project that is found may also be one of another push at the same time.
    """
    settings = project_settings(campaign, queue.name, guideline, part, is_several=queue.is_several)
    for _ in range(_TRIES):
        try:
            return api.create_project(settings), True
        except Uncertain as error:
            last = error
        for seconds in _pauses(last):
            api.pause(seconds)
            copies = kept_parts(campaign_projects(api, campaign).get(queue.name, ())).get(part)
            if copies:
                return int(copies[0]["id"]), False
    raise ServerError(str(last))


def _pauses(error: Uncertain) -> tuple[int, ...]:
    """Return how long to wait between looks whether the server carried a write out after all."""
    cause = error.__cause__
    status = status_of(cause) if isinstance(cause, ServerError) else 0
    return _SOON if status in _OVER_SOON else _LATE


def _tasks_there(api: Api, project: int) -> Iterator[Payload]:
    """Yield the tasks of a project, each once, with their data."""
    numbers: set[int] = set()
    for page in sweep_tasks(api, project, include=("id", "data")):
        yield from (task for task in page if task["id"] not in numbers)
        numbers.update(task["id"] for task in page)


def _add(api: Api, project: int, tasks: Sequence[Payload], report: Callable[[int], None]) -> dict[str, int]:
    """Add tasks in batches; return the pairs that are there more than once though added once."""
    doubtful: list[str] = []
    for start in range(0, len(tasks), BATCH_SIZE):
        batch = tasks[start : start + BATCH_SIZE]
        doubtful += _add_batch(api, project, batch)
        report(len(batch))
    times = Counter(key_of(task) for task in _once(tasks_with_keys(api, project, doubtful)))
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
                missing.pop(key_of(task), None)
            if not missing:
                return doubtful
    raise ServerError(str(last))
