"""Queues to projects: what is missing on the server is added, once, whatever went wrong before."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, TypeVar

from fire_toolkit.campaign.carrier import Delivered
from fire_toolkit.campaign.queue_pages import task_pages
from fire_toolkit.campaign.records import Campaign, Round, refuse_answered
from fire_toolkit.campaign.task_json import PAIR_ID
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.labelstudio.api import Api, CallFailed, Project, Task
from fire_toolkit.labelstudio.places import (
    GUARDED,
    check_config,
    own_projects,
    project_settings,
    refuse_fewer,
)
from fire_toolkit.words import n_of

BATCH_SIZE = 1000
_MANY = 50_000  # tasks in a project: the server walks through them at each import
_TRIES = 5
_SOON, _LATE = (0, 1, 2), (0, 1, 2, 4, 8, 15, 30)
_OVER_SOON = (408, 409, 425, 429, 500, 503)  # answered by the server itself: it is not at work on it
_COUNTS = ("total_annotations", "cancelled_annotations")
# What is said of a plan that has any of these.
_NOTES = {
    "n_held": "{tasks} held back until the training is done: pull, then push again",
    "crossed": "{tasks} answered in the moment of the update ({first}): the answers may be of the old "
    "caption or address; look at them",
    "duplicates": "{pairs} there more than once ({first}); delete the copies without answers in the Data "
    "Manager, or leave them: the latest answer counts",
    "n_foreign": "{tasks} not of this queue; their answers do not count for it",
    "twins": "projects {every} are copies of it; `fire-toolkit doctor` says which to delete",
    "restored": "{every} had been changed by hand and were restored",
}

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
    are not; changed: by its number each task, in any of its projects, that holds another caption or address,
    and what it should hold; open: numbers of those that are withdrawn and still offered; restored: settings
    that somebody changed, as they should be.

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
    open: tuple[int, ...] = ()
    restored: Mapping[str, Any] = field(default_factory=dict)
    crossed: tuple[str, ...] = ()
    repeated: Mapping[str, int] = field(default_factory=dict)

    @property
    def duplicates(self) -> dict[str, int]:
        """The pairs that are there more than once, and how often."""
        return {key: n for key, n in self.there.items() if key and n > 1} | dict(self.repeated)

    @property
    def n_foreign(self) -> int:
        """How many tasks there are not of this queue, or have no pair_id."""
        own = {*map(key_of, self.tasks), *self.withdrawn}
        return sum(n for key, n in self.there.items() if key not in own)

    @property
    def notes(self) -> Iterator[str]:
        """What is wrong with the project, or has yet to come."""
        for name, words in _NOTES.items():
            if found := getattr(self, name):
                n, named = (found, []) if isinstance(found, int) else (len(found), list(map(str, found)))
                first, every = ", ".join(named[:3]), ", ".join(named)
                yield words.format(tasks=n_of(n, "task"), pairs=n_of(n, "pair"), first=first, every=every)
        if self.n_there + self.n_added > _MANY:
            yield f"more than {_MANY:,} tasks slow a server down; hand out less at once (--budget)"


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
        asked = [(page, key_of(task), task) for page, task in pages if not page.is_withdrawn]
        answered = frozenset(
            key
            for page, key, _ in asked
            if all((str(name), pair) in done for pair in page.pairs if pair not in page.withdrawn)
        )
        is_trained = all(key in answered for page, key, _ in asked if page.is_training)
        sent = tuple(task for page, _, task in asked if is_trained or page.is_training)
        queues.append(
            Plan(
                queue=name,
                tasks=sent,
                n_held=len(asked) - len(sent),
                withdrawn=frozenset(key_of(task) for page, task in pages if page.is_withdrawn),
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


class Push:
    """Brings a campaign's queues to a server: what is missing there is added, once.

    guideline: the page and the instructions; made: called with each project as soon as it was made.

    Raises, in all calls:
        ServerError: the server fails for good, or somebody changed a project's labeling page; what is done by
            then stays, and another push goes on from there.
    """

    def __init__(
        self,
        api: Api,
        campaign: Campaign,
        guideline: Guideline,
        *,
        made: Callable[[Project], None] = lambda project: None,
    ) -> None:
        self._api, self._campaign, self._guideline, self._made = api, campaign, guideline, made

    def plan(self, queues: Sequence[Plan], *, listed: Sequence[Project] | None = None) -> list[Plan]:
        """Return what each queue lacks on the server; nothing is changed there.

        listed: the server's projects, where they are known.

        Raises:
            FireError: a task that holds another caption or address was answered already.
        """
        found = own_projects(self._api.projects() if listed is None else listed, self._campaign)
        plans = [self._looked_at(each, found.get(each.queue, [])) for each in queues]
        answered = [(plan.queue.annotator_id, key) for plan in plans for key in self._answered(plan)]
        refuse_answered(sum(len(plan.changed) for plan in plans), answered)
        return plans

    def carry_out(
        self, plans: Sequence[Plan], *, report: Callable[[int], None] = lambda n: None
    ) -> Iterator[Plan]:
        """Make the projects of queues hold every task once, by plans made a moment ago; yield what was done.

        What has moved away from its annotator is closed before anybody else gets it. To delete such a task
        could take along an answer that is given at the same moment; a closed one is not offered any more, and
        whoever has it open can still submit it.

        report: called with a number of tasks that are now there.
        """
        for number in (number for plan in plans for number in plan.open):
            self._api.change(f"api/tasks/{number}/", {"is_labeled": True})
        for plan in plans:
            if plan.missing and not plan.project:
                project, is_ours = self._create(plan)
                self._made(project)
                plan = replace(plan, project=int(project["id"]))
                plan = plan if is_ours else self._looked_at(plan, [project])
            if plan.restored:
                self._api.change(f"api/projects/{plan.project}/", plan.restored)
            for task, content in plan.changed.items():
                self._api.change(f"api/tasks/{task}/", {"data": content["data"]})
            report(plan.n_there)
            repeated = self._add(plan, report)
            if plan.tasks or plan.project:
                yield replace(plan, repeated=repeated, crossed=tuple(self._answered(plan)))

    def _looked_at(self, plan: Plan, copies: Sequence[Project]) -> Plan:
        numbers = [int(copy["id"]) for copy in copies]
        swept = [self._api.sweep(number, include=("id", "data", "is_labeled")) for number in numbers]
        found = [{task["id"]: task for page in pages for task in page} for pages in swept]
        project: Project = self._api.project(numbers[0]) if copies else {"id": 0, **GUARDED}
        tasks: dict[int, Task] = found[0] if copies else {}
        if copies:
            check_config(self._campaign, project)
        refuse_fewer(project, len(tasks))
        wanted, there = {key_of(task): task for task in plan.tasks}, Counter(map(key_of, tasks.values()))
        missing = {key: task for key, task in wanted.items() if key not in plan.answered and key not in there}
        changed = {}
        for number, task in chain.from_iterable(own.items() for own in found):
            own = wanted.get(key_of(task), {"data": {}})
            # What somebody added beside does not count.
            if any(task["data"].get(name) != value for name, value in own["data"].items()):
                changed[number] = own
        withdrawn = [task for own in found for task in own.values() if key_of(task) in plan.withdrawn]
        return replace(
            plan,
            n_there=len(plan.tasks) - len(missing),
            n_added=len(missing),
            project=int(project["id"]),
            twins=tuple(numbers[1:]),
            there=there,
            missing=tuple(missing.values()),
            changed=changed,
            open=tuple(task["id"] for task in withdrawn if not task.get("is_labeled")),
            restored={name: value for name, value in GUARDED.items() if project.get(name) != value},
        )

    def _answered(self, plan: Plan) -> list[str]:
        """Return the pairs among the tasks to be updated that have an answer, or a skip."""
        keys = list(dict.fromkeys(map(key_of, plan.changed.values())))
        return [
            key_of(task)
            for project in (plan.project, *plan.twins)
            for task in self._api.tasks_with_keys(project, keys, include=("id", "data", *_COUNTS))
            if task["id"] in plan.changed and any(task.get(name) for name in _COUNTS)
        ]

    def _once(self, write: Callable[[], T], look: Callable[[], T | None]) -> T:
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
                failed = error
            for seconds in _SOON if failed.status in _OVER_SOON else _LATE:
                self._api.pause(seconds)
                if (found := look()) is not None:
                    return found
        raise failed

    def _create(self, plan: Plan) -> tuple[Project, bool]:
        """Return a new project of a queue, and whether the server said that this call made it.

        After a failure a project that is found may also be one of another push at the same time.
        """
        settings = project_settings(self._campaign, plan.queue, self._guideline, is_several=plan.is_several)

        def write() -> tuple[Project, bool]:
            made = self._api.write("POST", "api/projects/", json=settings)
            return self._api.entries("projects", [made])[0], True

        def look() -> tuple[Project, bool] | None:
            copies = own_projects(self._api.projects(), self._campaign).get(plan.queue)
            return (copies[0], False) if copies else None

        return self._once(write, look)

    def _add(self, plan: Plan, report: Callable[[int], None]) -> dict[str, int]:
        """Add missing tasks in batches; return the pairs that are there more than once though added once."""
        missing: dict[str, Task] = {}
        doubtful: dict[str, None] = {}

        def write() -> bool:
            self._api.write("POST", f"api/projects/{plan.project}/import", json=list(missing.values()))
            return True

        def look() -> bool | None:
            doubtful.update(dict.fromkeys(missing))
            for task in self._api.tasks_with_keys(plan.project, list(missing)):
                missing.pop(key_of(task), None)
            return None if missing else True

        for start in range(0, len(plan.missing), BATCH_SIZE):
            batch = plan.missing[start : start + BATCH_SIZE]
            missing = {key_of(task): task for task in batch}
            self._once(write, look)
            report(len(batch))
        # Label Studio carries a request out again by itself where its database was locked.
        n_there = self._api.project(plan.project).get("task_number") if plan.missing else 0
        if (n_there or 0) > plan.there.total() + len(plan.missing):
            doubtful.update(dict.fromkeys(map(key_of, plan.missing)))
        times = Counter(map(key_of, self._api.tasks_with_keys(plan.project, list(doubtful))))
        return {key: n for key, n in times.items() if n > 1}
