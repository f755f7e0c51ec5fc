"""Queues to projects: what is missing on the server is added, once, whatever went wrong before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from fire_toolkit.campaign.carrier import Delivered
from fire_toolkit.campaign.page_json import key_words
from fire_toolkit.campaign.queue_pages import task_pages
from fire_toolkit.campaign.records import Campaign, Round
from fire_toolkit.campaign.task_json import PAIR_ID
from fire_toolkit.errors import FireError, ServerError
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.labelstudio.api import Api, Project, Task
from fire_toolkit.labelstudio.calls import CallFailed
from fire_toolkit.labelstudio.places import Place
from fire_toolkit.labelstudio.projects import GUARDED, check_config, own_projects, project_settings

BATCH_SIZE = 1000
_TRIES = 5
_SOON, _LATE = (0, 1, 2), (0, 1, 2, 4, 8, 15, 30)
_OVER_SOON = (408, 409, 425, 429, 500, 503)  # answered by the server itself: it is not at work on it
_SHOWN = 3
_COUNTS = ("total_annotations", "cancelled_annotations")

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Plan(Delivered):
    """A queue, what it lacks on the server as a look there found it, and what was done about it.

    tasks: of one annotator in their order, as they are sent, each known by its key (`key_of`): the pair, or
    the page where is_several; n_held wait for the training; withdrawn: tasks that were hers and are not asked
    of her any more; answered: tasks whose answer the record has, which are not asked again should they be
    gone (with their project, say).

    project: its number, 0 where there is none yet, or needs none; twins: numbers of further projects of the
    queue; there: how often each key is there (tasks without one under the empty text); missing: tasks that
    are not; changed: by its number each task that holds another caption or address, and what it should hold;
    restored: settings that somebody changed, as they should be.

    Once carried out: crossed: what was answered in the moment of its change, so that the answer may be of
    either; repeated: what was added once and is there more often.
    """

    tasks: tuple[Task, ...]
    withdrawn: frozenset[str] = frozenset()
    answered: frozenset[str] = frozenset()
    is_several: bool = False
    project: int = 0
    twins: tuple[int, ...] = ()
    there: Counter[str] = field(default_factory=Counter)
    missing: tuple[Task, ...] = ()
    changed: Mapping[int, Task] = field(default_factory=dict)
    restored: Mapping[str, Any] = field(default_factory=dict)
    crossed: tuple[str, ...] = ()
    repeated: Mapping[str, int] = field(default_factory=dict)

    @property
    def to_send(self) -> tuple[Task, ...]:
        """The tasks that would be added or updated."""
        return (*self.missing, *self.changed.values())

    @property
    def duplicates(self) -> dict[str, int]:
        """The pairs that are there more than once, and how often."""
        return {key: n for key, n in self.there.items() if key and n > 1} | dict(self.repeated)

    @property
    def n_foreign(self) -> int:
        """How many tasks there are not of this queue, or have no pair_id."""
        own = {*map(key_of, self.tasks), *self.withdrawn}
        return sum(n for key, n in self.there.items() if key not in own)


def make_queues(
    entry: Round, guideline: Guideline, *, done: Collection[tuple[str, str]], campaign_key: str = ""
) -> list[Plan]:
    """Return the queues of a round, by annotator, of those too who have nothing any more.

    Args:
        entry: the round; if its pages have several captions, each is one task.
        guideline: names the keys of a task's data.
        done: (queue, pair) of every answer so far; while a queue's training is not done, the
            rest of it is held back, so that nobody can begin with it.
        campaign_key: makes the keys of pages.
    """
    queues = []
    for name, pages in task_pages(entry, guideline, campaign_key).items():
        gone = frozenset(key_of(task) for page, task in pages if page.is_withdrawn)
        kept = [(page, task) for page, task in pages if not page.is_withdrawn]
        answered = frozenset(
            key_of(task)
            for page, task in kept
            if all((str(name), pair) in done for pair in page.pairs if pair not in page.withdrawn)
        )
        is_trained = all(key_of(task) in answered for page, task in kept if page.is_training)
        sent = tuple(task for page, task in kept if is_trained or page.is_training)
        queues.append(
            Plan(
                queue=name,
                tasks=sent,
                n_held=len(kept) - len(sent),
                withdrawn=gone,
                answered=answered,
                is_several=entry.n_captions > 1,
            )
        )
    return queues


def key_of(task: Mapping[str, Any]) -> str:
    """Return the key that a task's data holds; empty if there is none."""
    content = task.get("data")
    key = content.get(PAIR_ID) if isinstance(content, dict) else None
    return key if isinstance(key, str) else ""


def plan_push(
    api: Api, campaign: Campaign, queues: Sequence[Plan], *, listed: Sequence[Project] | None = None
) -> list[Plan]:
    """Return what each queue lacks on the server; nothing is changed there.

    listed: the server's projects, where they are known.

    Raises:
        ServerError: the server fails for good, or somebody changed a project's labeling page.
        FireError: a task that holds another caption or address was answered already.
    """
    found = own_projects(api.projects() if listed is None else listed, campaign)
    plans = [_looked_at(api, campaign, each, found.get(each.queue, [])) for each in queues]
    answered = [
        f"{plan.queue.annotator_id}: {key_words(key)}" for plan in plans for key in _answered(api, plan)
    ]
    if answered:
        shown = "; ".join(answered[:_SHOWN]) + ("; …" if len(answered) > _SHOWN else "")
        n_changed = sum(len(plan.changed) for plan in plans)
        raise FireError(
            f"{n_changed:,} tasks on the server have another caption or media_url, and {len(answered):,} of "
            f"them were answered already ({shown}); nothing was sent. An answer belongs to what was shown: "
            "restore the old file of tasks, or ask these pairs in another workspace"
        )
    return plans


def refuse_second(plans: Iterable[Plan], lost: Iterable[Place]) -> None:
    """Raise `FireError` where tasks would go to another project in the place of one that is missed."""
    waiting = {str(plan.queue) for plan in plans if plan.missing}
    if missed := [place for place in lost if place.queue in waiting]:
        raise FireError(
            f"{'; '.join(place.words for place in missed)}; nothing was sent. Restore it (`fire-toolkit "
            "doctor` says how), or push with --replace, which makes another for what has no answer here"
        )


def _looked_at(api: Api, campaign: Campaign, plan: Plan, copies: Sequence[Project]) -> Plan:
    tasks: dict[int, Task] = {}
    project: Project = {"id": 0, **GUARDED}
    if copies:
        project = api.project(int(copies[0]["id"]))
        check_config(campaign, project)
        tasks = {task["id"]: task for page in api.sweep(int(project["id"])) for task in page}
    wanted = {key_of(task): task for task in plan.tasks}
    there = Counter(map(key_of, tasks.values()))
    missing = tuple(task for key, task in wanted.items() if key not in plan.answered and key not in there)
    changed = {}
    for number, task in tasks.items():
        own = wanted.get(key_of(task), {"data": {}})
        # What somebody added beside does not count.
        if any(task["data"].get(name) != value for name, value in own["data"].items()):
            changed[number] = own
    return replace(
        plan,
        n_there=len(plan.tasks) - len(missing),
        n_added=len(missing),
        project=int(project["id"]),
        twins=tuple(int(copy["id"]) for copy in copies[1:]),
        there=there,
        missing=missing,
        changed=changed,
        restored={name: value for name, value in GUARDED.items() if project.get(name) != value},
    )


def _answered(api: Api, plan: Plan) -> list[str]:
    """Return the pairs among the tasks to be updated that have an answer, or a skip."""
    keys = list(dict.fromkeys(map(key_of, plan.changed.values())))
    found = api.tasks_with_keys(plan.project, keys, include=("id", "data", *_COUNTS))
    return [
        key_of(task) for task in found if task["id"] in plan.changed and any(task.get(n) for n in _COUNTS)
    ]


def carry_out(
    api: Api,
    campaign: Campaign,
    plans: Sequence[Plan],
    *,
    guideline: Guideline,
    report: Callable[[int], None] = lambda n: None,
    made: Callable[[Project], None] = lambda project: None,
) -> Iterator[Plan]:
    """Make the projects of queues hold every task of theirs once; yield what was done in each.

    Args:
        api: the server.
        campaign: its key marks the projects, by which they are found again.
        plans: as `plan_push` returned them a moment ago.
        guideline: the page and the instructions.
        report: called with a number of tasks that are now there.
        made: called with each project as soon as it was made.

    Raises:
        ServerError: the server fails for good, or somebody changed a project's labeling page; what is there
            by then stays, and another push goes on from there.
    """
    for plan in plans:
        if plan.missing and not plan.project:
            project, is_ours = _create(api, campaign, plan, guideline)
            made(project)
            plan = replace(plan, project=int(project["id"]))
            plan = plan if is_ours else _looked_at(api, campaign, plan, [project])
        if plan.restored:
            api.change(f"api/projects/{plan.project}/", plan.restored)
        for task, content in plan.changed.items():
            api.change(f"api/tasks/{task}/", {"data": content["data"]})
        report(plan.n_there)
        repeated = _add(api, plan.project, plan.missing, report)
        if plan.tasks or plan.project:
            yield replace(plan, repeated=repeated, crossed=tuple(_answered(api, plan)))


def close_withdrawn(api: Api, campaign: Campaign, queues: Iterable[Plan]) -> int:
    """Close the tasks that have moved away from their annotator, and return how many were still open.

    To delete tasks could take along an answer that is given at the same moment. A closed task is not offered
    any more; whoever has it open can still submit it.

    Raises:
        ServerError: the server fails; what is closed by then stays so, and another push goes on.
    """
    moved = {each.queue: sorted(each.withdrawn) for each in queues if each.withdrawn}
    found = own_projects(api.projects(), campaign) if moved else {}
    tasks = [
        task["id"]
        for queue, keys in moved.items()
        for project in found.get(queue, ())
        for task in api.tasks_with_keys(int(project["id"]), keys, include=("id", "data", "is_labeled"))
        if not task.get("is_labeled")
    ]
    for number in tasks:
        api.change(f"api/tasks/{number}/", {"is_labeled": True})
    return len(tasks)


def _once(api: Api, write: Callable[[], T], look: Callable[[], T | None]) -> T:
    """Carry a write out once, and return what it, or a look at the server, gives.

    After a failure that leaves open whether the server carried it out, `look` tells; only where it finds
    nothing each time is it sent again.
    """
    for _ in range(_TRIES):
        try:
            return write()
        except CallFailed as error:
            if not error.may_pass:
                raise
            last = error
        for seconds in _SOON if last.status in _OVER_SOON else _LATE:
            api.pause(seconds)
            if (found := look()) is not None:
                return found
    raise last


def _create(api: Api, campaign: Campaign, plan: Plan, guideline: Guideline) -> tuple[Project, bool]:
    """Return a new project of a queue, and whether the server said that this call made it.

    After a failure a project that is found may also be one of another push at the same time.
    """
    settings = project_settings(campaign, plan.queue, guideline, is_several=plan.is_several)

    def write() -> tuple[Project, bool]:
        project = api.write("POST", "api/projects/", json=settings)
        if not isinstance(project, dict) or type(project.get("id")) is not int:
            raise ServerError(f"{api.connection.url}: the server created a project without an id")
        return project, True

    def look() -> tuple[Project, bool] | None:
        copies = own_projects(api.projects(), campaign).get(plan.queue)
        return (copies[0], False) if copies else None

    return _once(api, write, look)


def _add(api: Api, project: int, tasks: Sequence[Task], report: Callable[[int], None]) -> dict[str, int]:
    """Add tasks in batches; return the pairs that are there more than once though added once."""
    missing: dict[str, Task] = {}
    doubtful: dict[str, None] = {}

    def write() -> bool:
        api.write("POST", f"api/projects/{project}/import", json=list(missing.values()))
        return True

    def look() -> bool | None:
        doubtful.update(dict.fromkeys(missing))
        for task in api.tasks_with_keys(project, list(missing)):
            missing.pop(key_of(task), None)
        return None if missing else True

    for start in range(0, len(tasks), BATCH_SIZE):
        batch = tasks[start : start + BATCH_SIZE]
        missing = {key_of(task): task for task in batch}
        _once(api, write, look)
        report(len(batch))
    times = Counter(map(key_of, api.tasks_with_keys(project, list(doubtful))))
    return {key: n for key, n in times.items() if n > 1}
