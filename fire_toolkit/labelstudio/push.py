"""Queues to projects: what is missing on the server is added, once, whatever went wrong before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fire_toolkit.campaign.carrier import GivenOut
from fire_toolkit.campaign.moves import withdrawn_pairs
from fire_toolkit.campaign.page_json import key_words, page_tasks
from fire_toolkit.campaign.queue_pages import QueuePage
from fire_toolkit.campaign.queues import TRAINING
from fire_toolkit.campaign.records import (
    Campaign,
    QueueName,
    Round,
)
from fire_toolkit.campaign.task_json import PAIR_ID, tasks_to_json
from fire_toolkit.errors import FireError, ServerError
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.labelstudio.api import Api, Uncertain, status_of
from fire_toolkit.labelstudio.projects import (
    GUARDED,
    campaign_projects,
    check_config,
    is_retired,
    project_settings,
)
from fire_toolkit.labelstudio.sweep import sweep_tasks, tasks_with_keys

Payload = dict[str, Any]

BATCH_SIZE = 1000
_TRIES = 5
_SOON = (0, 1, 2)
_LATE = (0, 1, 2, 4, 8, 15, 30)
_SHOWN = 3
_OVER_SOON = (408, 409, 425, 429, 500, 503)  # answered by the server itself: it is not at work on it


@dataclass(frozen=True)
class Queue:
    """The tasks of one annotator in their order, as they are sent; n_held wait for the training.

    withdrawn: tasks that were hers and are not asked of her any more; answered: tasks whose answer the ledger
    has, which are not asked again should they be gone (with their project, say). Each task is known by its
    key: the pair, or the page where is_several.
    """

    name: QueueName
    tasks: tuple[Payload, ...]
    n_held: int = 0
    withdrawn: frozenset[str] = frozenset()
    answered: frozenset[str] = frozenset()
    is_several: bool = False

    @property
    def to_ask(self) -> tuple[Payload, ...]:
        """The tasks that have no answer yet."""
        return tuple(task for task in self.tasks if _key(task) not in self.answered)


@dataclass(frozen=True)
class Plan:
    """What a queue lacks on the server, as a look there found it.

    project: the queue's, None where there is none yet; twins: further projects of the same queue; restored:
    settings that somebody changed, as they should be; there: how often each pair is there (tasks without
    pair_id under the empty text); missing: tasks that are not; changed: by its number each task that holds
    another caption or address, and what it should hold.
    """

    queue: Queue
    project: Mapping[str, Any] | None = None
    twins: tuple[Mapping[str, Any], ...] = ()
    restored: Mapping[str, Any] = field(default_factory=dict)
    there: Counter[str] = field(default_factory=Counter)
    missing: tuple[Payload, ...] = ()
    changed: Mapping[int, Payload] = field(default_factory=dict)

    @property
    def to_send(self) -> tuple[Payload, ...]:
        """The tasks that would be added or updated."""
        return (*self.missing, *self.changed.values())


@dataclass(frozen=True)
class Pushed(GivenOut):
    """What a push found and did in one project.

    n_updated: tasks that held another caption or address; crossed: those of them that were answered in that
    moment, so that the answer may be of either; duplicates: pairs that are there more than once; n_foreign:
    tasks that are not of this queue or have no pair_id; twins: further projects of the same queue; restored:
    settings that somebody had changed.
    """

    project: int = 0
    n_updated: int = 0
    crossed: tuple[str, ...] = ()
    duplicates: Mapping[str, int] = field(default_factory=dict)
    n_foreign: int = 0
    twins: tuple[int, ...] = ()
    restored: tuple[str, ...] = ()


def make_queues(
    entry: Round,
    guideline: Guideline,
    *,
    done: Collection[tuple[str, str]],
    barred: Collection[QueueName] = (),
    campaign_key: str = "",
) -> list[Queue]:
    """Return the queues of a round, by annotator.

    Args:
        entry: the round; if its pages have several captions, each is one task.
        guideline: names the keys of a task's data.
        done: (queue, pair) of every answer so far; while a queue's training is not done, the
            rest of it is held back, so that nobody can begin with it.
        barred: queues whose training was not passed; the rest of them is held back too.
        campaign_key: makes the keys of pages.
    """
    if entry.n_captions > 1:
        names = [QueueName(entry.number, name) for name in sorted(set(entry.assignments["annotator_id"]))]
        return [_queue_of_pages(entry, name, guideline, done, barred, campaign_key) for name in names]
    contents = tasks_to_json(entry.tasks, guideline).get(1, [])
    by_pair = {content["data"][PAIR_ID]: content for content in contents}
    withdrawn = withdrawn_pairs(entry.moves)
    queues = []
    for annotator_id, rows in entry.assignments.groupby("annotator_id", sort=True):
        name = QueueName(entry.number, str(annotator_id))
        ordered = rows.sort_values("position")
        training = ordered.loc[ordered["kind"] == TRAINING, "pair_id"]
        is_trained = name not in barred and all((str(name), pair) in done for pair in training)
        pairs = list(ordered["pair_id"] if is_trained else training)
        tasks = tuple(by_pair[pair] for pair in pairs)
        answered = frozenset(pair for pair in pairs if (str(name), pair) in done)
        gone = withdrawn.get(name.annotator_id, frozenset())
        queues.append(Queue(name, tasks, len(ordered) - len(pairs), gone, answered))
    return queues


def _queue_of_pages(
    entry: Round,
    name: QueueName,
    guideline: Guideline,
    done: Collection[tuple[str, str]],
    barred: Collection[QueueName],
    campaign_key: str,
) -> Queue:
    """Return a queue whose tasks are pages; one with an unanswered pair is asked whole."""
    pages = page_tasks(entry, name, guideline, campaign_key)

    def is_done(page: QueuePage) -> bool:
        return all((str(name), pair) in done for pair in page.pairs if pair not in page.withdrawn)

    kept = [(page, task) for page, task in pages if not page.is_withdrawn]
    is_trained = name not in barred and all(is_done(page) for page, _ in kept if page.is_training)
    sent = [(page, task) for page, task in kept if is_trained or page.is_training]
    gone = frozenset(_key(task) for page, task in pages if page.is_withdrawn)
    answered = frozenset(_key(task) for page, task in sent if is_done(page))
    tasks = tuple(task for _, task in sent)
    return Queue(name, tasks, len(kept) - len(sent), gone, answered, is_several=True)


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
    kept = [project for project in projects if not is_retired(project)]
    if not kept:
        return Plan(queue, missing=queue.to_ask)
    project = api.project(int(kept[0]["id"]))
    check_config(campaign, project)
    wanted = {_key(task): task for task in queue.tasks}
    there = Counter[str]()
    changed: dict[int, Payload] = {}
    for task in _tasks_there(api, int(project["id"])):
        key = _key(task)
        there[key] += 1
        if key in wanted and _differs(task, wanted[key]):
            changed[int(task["id"])] = wanted[key]
    return Plan(
        queue,
        project,
        twins=tuple(kept[1:]),
        restored={name: value for name, value in GUARDED.items() if project.get(name) != value},
        there=there,
        missing=tuple(task for task in queue.to_ask if _key(task) not in there),
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
    if plan.project is None or not plan.changed:
        return []
    keys = list(dict.fromkeys(map(_key, plan.changed.values())))
    counted = ("total_annotations", "cancelled_annotations")
    tasks = _once(tasks_with_keys(api, int(plan.project["id"]), keys, include=("id", "data", *counted)))
    return [
        _key(task) for task in tasks if task["id"] in plan.changed and any(task.get(name) for name in counted)
    ]


def carry_out(
    api: Api,
    campaign: Campaign,
    plans: Sequence[Plan],
    *,
    guideline: Guideline,
    report: Callable[[int], None] = lambda n: None,
) -> Iterator[Pushed]:
    """Make the projects of queues hold every task of theirs once; yield what was done in each.

    Args:
        api: the server.
        campaign: its key marks the projects, by which they are found again.
        plans: as `plan_push` returned them a moment ago.
        guideline: the page and the instructions.
        report: called with a number of tasks that are now there.

    Raises:
        ServerError: the server fails for good, or somebody changed a project's labeling page; what is there
            by then stays, and another push goes on from there.
    """
    for planned in plans:
        plan, number = _with_project(api, campaign, planned, guideline)
        keys = [_key(task) for task in plan.queue.tasks]
        if plan.restored:
            api.update_project(number, plan.restored)
        for task, content in plan.changed.items():
            api.update_task(task, content["data"])
        report(len(keys) - len(plan.missing))
        repeated = _add(api, number, plan.missing, report)
        foreign = plan.there.keys() - set(keys) - plan.queue.withdrawn
        yield Pushed(
            plan.queue.name,
            project=number,
            n_there=len(keys) - len(plan.missing),
            n_added=len(plan.missing),
            n_held=plan.queue.n_held,
            n_updated=len(plan.changed),
            crossed=tuple(_answered(api, plan)),
            duplicates={key: n for key, n in plan.there.items() if key and n > 1} | repeated,
            n_foreign=sum(plan.there[key] for key in foreign),
            twins=tuple(int(project["id"]) for project in plan.twins),
            restored=tuple(plan.restored),
        )


def _with_project(api: Api, campaign: Campaign, plan: Plan, guideline: Guideline) -> tuple[Plan, int]:
    """Return the plan and the number of the queue's project, which is made where there is none."""
    if plan.project is not None:
        return plan, int(plan.project["id"])
    number, is_ours = _create(api, campaign, plan.queue, guideline)
    return (plan if is_ours else _plan(api, campaign, plan.queue, [{"id": number}])), number


def _create(api: Api, campaign: Campaign, queue: Queue, guideline: Guideline) -> tuple[int, bool]:
    """Return the number of a queue's new project, and whether the server said that this call made it.

    After a failure a project that is found may also be one of another push at the same time.
    """
    settings = project_settings(campaign, queue.name, guideline, is_several=queue.is_several)
    for _ in range(_TRIES):
        try:
            return api.create_project(settings), True
        except Uncertain as error:
            last = error
        for seconds in _pauses(last):
            api.pause(seconds)
            projects = campaign_projects(api, campaign).get(queue.name)
            if projects:
                return int(projects[0]["id"]), False
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
