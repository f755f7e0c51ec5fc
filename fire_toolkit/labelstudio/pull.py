"""Answers from the server to the ledger: what is new, what changed, and what is gone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from fire_toolkit.campaign.carrier import Fetched, fetched
from fire_toolkit.campaign.ledger_rows import KEPT, Origin, answer_rows, pair_of
from fire_toolkit.campaign.page_json import split_pages
from fire_toolkit.campaign.records import FULL, VANISHED, Campaign, queue_named
from fire_toolkit.campaign.store import Store
from fire_toolkit.errors import ServerError
from fire_toolkit.labelstudio.api import Api, Filter, Json, Task, status_of
from fire_toolkit.labelstudio.projects import check_config, own_projects, part_of
from fire_toolkit.labelstudio.sweep import sweep_tasks
from fire_toolkit.labelstudio.vanished import PART, QUEUE, Vanished, born_at, find_vanished, vanished_words
from fire_toolkit.resolution.judgments import utc_time

# The server writes a change's time before the change can be seen by others: look again at what is recent.
LOOK_BACK_S = 120
_INCLUDE = ("data", "annotations", *KEPT)
MORE = " more"  # by how many answers the server counts more than a whole reading found
TASKS = " tasks"  # how many tasks the project had when it was read


def pull_answers(
    api: Api,
    campaign: Campaign,
    store: Store,
    *,
    names: Mapping[str, str],
    marks: Mapping[str, str],
    is_full: bool = False,
    accepts_loss: bool = False,
    report: Callable[[int], None] = lambda n: None,
    keep: Callable[[Mapping[str, str]], None] = lambda marks: None,
) -> Fetched:
    """Add to the ledger what has changed on the server since `marks`, and return how much that was.

    Args:
        api: the server.
        campaign: whose projects are read.
        store: the record, which takes what is read as what the server shows now.
        names: account number → pseudonym.
        marks: project → the time up to which its changes have been read (`Fetched.marks`). A project that is
            there with its number and birth also tells that this is the server it was read from.
        is_full: read everything again; what the ledger has and its project has not is recorded as deleted.
        accepts_loss: record the answers of projects that are gone as deleted; without it they count on.
        report: called with the number of tasks read.
        keep: called with the marks after each project, to be kept for the next pull.

    A project in which the server counts more or fewer answers than the ledger has, or another number of tasks
    than the last time, is read anew: a task's time does not move with every answer, a deleted task has none,
    and one of each leaves the number of answers as it was. Projects that are gone are named in the notes.

    Raises:
        ServerError: a labeling page was changed (nothing is read then), or the server fails; what was
            read by then is in the ledger, and another pull goes on.
    """
    listed = api.projects(with_counts=True)
    projects = _checked_projects(listed, campaign)
    source = _known_source(projects, marks) or api.identity()
    kept = dict(marks)

    def read(project: _Project, since: str) -> None:
        origin = Origin(source, str(project.number), project.queue, store.now(), names)
        key = f"{source}{project.key}"
        newest = min(_pull_project(api, project, origin, store, since=since, report=report), store.now())
        kept.update({key: newest} if newest else {}, **{f"{key}{QUEUE}": project.queue})
        kept.update({f"{key}{PART}": str(project.part)} if project.part > 1 else {})
        kept.update({} if project.n_tasks is None else {f"{key}{TASKS}": str(project.n_tasks)})
        if not since:
            keep(kept)

    def read_up_to(project: _Project) -> str:
        key = f"{source}{project.key}"
        is_same = kept.get(f"{key}{TASKS}", str(project.n_tasks)) == str(project.n_tasks)
        return kept.get(key, "") if is_same and not is_full else ""

    times = {project: read_up_to(project) for project in projects}
    for project, since in times.items():
        read(project, since)
    for project in _miscounted(api, campaign, projects, store, source, kept):
        read(project, "")
        n_more = (project.n_answers or 0) - _n_known(store, source, project)
        kept[f"{source}{project.key}{MORE}"] = str(max(n_more, 0))
    vanished = find_vanished(listed, campaign, store, kept, source)
    if accepts_loss:
        _record_loss(vanished, store, source, kept, store.now())
        vanished = []
    if is_full or (times and not any(times.values())):
        kept[FULL] = store.now()
    notes = [words] if (words := vanished_words(vanished)) else []
    kept[VANISHED] = " ".join(notes)
    if kept != dict(marks):
        keep(kept)
    return fetched(store.counts, n_projects=len(projects), marks=kept, notes=[*notes, *store.notes])


@dataclass(frozen=True)
class _Project:
    """A project of the campaign.

    n_answers: how many answers and skips the server counts, n_tasks: how many tasks; None if it does not say;
    part: which part of its queue.
    """

    number: int
    queue: str
    born: str
    n_answers: int | None
    n_tasks: int | None
    part: int = 1

    @property
    def key(self) -> str:
        """The project among those of a server, also where numbers are used again."""
        return f"#{self.number}#{self.born}"


def _checked_projects(listed: Iterable[Json], campaign: Campaign) -> list[_Project]:
    """Return the campaign's projects by number, all of which show its page."""
    found = []
    for name, projects in own_projects(listed, campaign).items():
        for project in projects:
            check_config(campaign, project)
            counts = [project.get(f"{what}_annotations_number") for what in ("total", "skipped")]
            n_answers = None if None in counts else sum(int(count or 0) for count in counts)
            n_tasks = project.get("task_number")
            part = part_of(project)
            found.append(_Project(int(project["id"]), str(name), born_at(project), n_answers, n_tasks, part))
    return sorted(found, key=lambda project: project.number)


def _known_source(projects: Iterable[_Project], marks: Mapping[str, str]) -> str:
    """Return the server from which all of these projects were pulled before; empty if that is not sure."""
    sources = {
        next((key.removesuffix(project.key) for key in marks if key.endswith(project.key)), "")
        for project in projects
        if project.born
    }
    return sources.pop() if len(sources) == 1 else ""


def _miscounted(
    api: Api,
    campaign: Campaign,
    projects: Iterable[_Project],
    store: Store,
    source: str,
    marks: Mapping[str, str],
) -> list[_Project]:
    """Return the projects, as they are now, of which the server counts more or fewer answers than we have.

    People go on answering while we read: a number between the server's before and after is right.
    """

    def expected(project: _Project) -> int:
        return _n_known(store, source, project) + int(marks.get(f"{source}{project.key}{MORE}", 0))

    suspects = {p.key: p for p in projects if p.n_answers not in (None, expected(p))}
    if not suspects:
        return []
    after = _checked_projects(api.projects(with_counts=True), campaign)
    pairs = [(project, suspects[project.key]) for project in after if project.key in suspects]
    return [
        now
        for now, before in pairs
        if now.n_answers is not None
        and before.n_answers is not None
        and not min(now.n_answers, before.n_answers) <= expected(now) <= max(now.n_answers, before.n_answers)
    ]


def _n_known(store: Store, source: str, project: _Project) -> int:
    """Return how many answers of a project count, without those of an earlier one of its number."""
    return sum(moment >= project.born for moment in store.answer_times(source).get(str(project.number), ()))


def _record_loss(
    vanished: Iterable[Vanished], store: Store, source: str, marks: dict[str, str], seen_at: str
) -> None:
    """Record as deleted what belongs to projects that are gone, and forget these projects."""
    for each in vanished:
        rows = store.missing(source, each.number, seen=(), until=each.until)
        ours = [row for row in rows if queue_named(row["queue"]) is not None]
        store.add_deleted(ours, seen_at)
        for suffix in ("", QUEUE, PART, MORE, TASKS):
            marks.pop(f"{each.key}{suffix}", None)


def _newest_change(api: Api, project: int) -> str:
    """Return the time of the project's last change, by the server's clock; empty if it has no task."""
    tasks, _ = api.task_page(project, ordering="-tasks:updated_at", include=("id", "updated_at"), page_size=1)
    return _last_change(tasks)


def _last_change(tasks: Iterable[Task]) -> str:
    moments = (task.get("updated_at") for task in tasks)
    return max((utc_time(moment) or "" for moment in moments if isinstance(moment, str)), default="")


def _pull_project(
    api: Api,
    project: _Project,
    origin: Origin,
    store: Store,
    *,
    since: str,
    report: Callable[[int], None],
) -> str:
    """Read what has changed since a time (empty: all), and return up to which time all is read now.

    That is the last change of all before a whole sweep, and the last one on the first page of changes: what
    changes while the other pages are read is later than either.
    """
    newest = since or _newest_change(api, project.number)
    is_first = bool(since)
    filters = [Filter("updated_at", "greater", "Datetime", _earlier(since))] if since else []
    where = f"{api.connection.url}: project {project.number}"
    seen: set[str] = set()
    tasks_seen: set[tuple[str, str]] = set()
    pages = sweep_tasks(api, project.number, include=_INCLUDE, filters=filters, with_answers=True)
    for page in pages:
        if is_first:
            newest, is_first = max(newest, _last_change(page)), False
        if any(not isinstance(task.get("annotations"), list) for task in page):
            raise ServerError(f"{where}: tasks without their answers; see `fire-toolkit doctor`")
        tasks = list(split_pages(page))
        rows = [row for task in tasks for row in answer_rows(task, origin, where=where)]
        store.add_answers(rows)
        seen.update(row["annotation"] for row in rows)
        tasks_seen.update(_task_keys(tasks) if since else ())
        report(len(page))
    if tasks_seen or not since:
        looked_at = tasks_seen if since else None
        here = (origin.source, origin.project)
        missing = store.missing(*here, seen=seen, tasks=looked_at, since=project.born)
        if missing and _is_there(api, project):
            store.add_deleted(missing, origin.seen_at)
    return newest


def _is_there(api: Api, project: _Project) -> bool:
    """Whether a project that was read was not deleted meanwhile, so that what it lacks was deleted in it."""
    try:
        return born_at(api.project(project.number)) == project.born
    except ServerError as error:
        if status_of(error) != 404:
            raise
        return False


def _task_keys(page: Iterable[Task]) -> Iterable[tuple[str, str]]:
    return ((str(task["id"]), pair_of(task.get("data"))) for task in page)


def _earlier(moment: str) -> str:
    """Return the time a look-back before `moment`."""
    earlier = datetime.fromisoformat(moment) - timedelta(seconds=LOOK_BACK_S)
    return utc_time(earlier.isoformat()) or moment
