"""Answers from the server to the ledger: what is new, what changed, and what is gone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from fire_toolkit.campaign.carrier import Fetched, fetched
from fire_toolkit.campaign.ledger import Ledger
from fire_toolkit.campaign.ledger_index import LedgerIndex
from fire_toolkit.campaign.ledger_rows import KEPT, Origin, answer_rows, gone_rows, pair_of
from fire_toolkit.campaign.records import Campaign, queue_named
from fire_toolkit.errors import ServerError
from fire_toolkit.judgments import utc_time
from fire_toolkit.labelstudio.api import Api, Filter, Task
from fire_toolkit.labelstudio.projects import campaign_projects, check_config
from fire_toolkit.labelstudio.sweep import sweep_tasks

# The server writes a change's time before the change can be seen by others: look again at what is recent.
LOOK_BACK_S = 120
_INCLUDE = ("data", "annotations", *KEPT)


def pull_answers(
    api: Api,
    campaign: Campaign,
    folder: Path,
    *,
    names: Mapping[str, str],
    marks: Mapping[str, str],
    now: Callable[[], str],
    is_full: bool = False,
    report: Callable[[int], None] = lambda n: None,
    keep: Callable[[Mapping[str, str]], None] = lambda marks: None,
) -> Fetched:
    """Add to the ledger what has changed on the server since `marks`, and return how much that was.

    Args:
        api: the server.
        campaign: whose projects are read.
        folder: the ledger.
        names: account number → pseudonym.
        marks: project → the time up to which its changes have been read (`Fetched.marks`). A project that is
            there with its number and birth also tells that this is the server it was read from.
        now: the time of reading, UTC.
        is_full: read everything again; what the ledger has and the server has not is recorded as deleted.
        report: called with the number of tasks read.
        keep: called with the marks after each project, to be kept for the next pull.

    Raises:
        ServerError: a labeling page was changed (nothing is read then), or the server fails; what was
            read by then is in the ledger, and another pull goes on.
    """
    projects = _checked_projects(api, campaign)
    source = _known_source(projects, marks) or api.identity()
    index = LedgerIndex(folder)
    kept = dict(marks)
    for project in projects:
        origin = Origin(source, str(project.number), project.queue, now(), names)
        key = f"{source}{project.key}"
        since = "" if is_full else kept.get(key, "")
        newest = _pull_project(api, project.number, origin, index, since=since, report=report)
        kept |= {key: newest} if newest else {}
        if not since:
            index.write()
            keep(kept)
    if is_full:
        _note_gone_projects(index, source, {str(project.number) for project in projects}, now())
    index.write()
    if kept != dict(marks):
        keep(kept)
    return fetched(index.counts, n_projects=len(projects), marks=kept)


@dataclass(frozen=True)
class _Project:
    """A project of the campaign: its number, its queue, and the moment it was made."""

    number: int
    queue: str
    born: str

    @property
    def key(self) -> str:
        """The project among those of a server, also where numbers are used again."""
        return f"#{self.number}#{self.born}"


def _checked_projects(api: Api, campaign: Campaign) -> list[_Project]:
    """Return the campaign's projects by number, all of which show its page."""
    found = []
    for name, projects in campaign_projects(api, campaign).items():
        for project in projects:
            check_config(campaign, project)
            found.append(_Project(int(project["id"]), str(name), str(project.get("created_at") or "")))
    return sorted(found, key=lambda project: project.number)


def _known_source(projects: Iterable[_Project], marks: Mapping[str, str]) -> str:
    """Return the server from which all of these projects were pulled before; empty if that is not sure."""
    sources = {
        next((key.removesuffix(project.key) for key in marks if key.endswith(project.key)), "")
        for project in projects
        if project.born
    }
    return sources.pop() if len(sources) == 1 else ""


def _newest_change(api: Api, project: int) -> str:
    """Return the time of the project's last change, by the server's clock; empty if it has no task."""
    tasks, _ = api.task_page(project, ordering="-tasks:updated_at", include=("id", "updated_at"), page_size=1)
    return _last_change(tasks)


def _last_change(tasks: Iterable[Task]) -> str:
    moments = (task.get("updated_at") for task in tasks)
    return max((utc_time(moment) or "" for moment in moments if isinstance(moment, str)), default="")


def _pull_project(
    api: Api, project: int, origin: Origin, index: LedgerIndex, *, since: str, report: Callable[[int], None]
) -> str:
    """Read what has changed since a time (empty: all), and return up to which time all is read now.

    That is the last change of all before a whole sweep, and the last one on the first page of changes: what
    changes while the other pages are read is later than either.
    """
    newest = since or _newest_change(api, project)
    is_first = bool(since)
    filters = [Filter("updated_at", "greater", "Datetime", _earlier(since))] if since else []
    where = f"{api.connection.url}: project {project}"
    seen: set[str] = set()
    tasks_seen: set[tuple[str, str]] = set()
    pages = sweep_tasks(api, project, include=_INCLUDE, filters=filters, with_answers=True)
    for page in pages:
        if is_first:
            newest, is_first = max(newest, _last_change(page)), False
        if any(not isinstance(task.get("annotations"), list) for task in page):
            raise ServerError(f"{where}: tasks without their answers; see `fire-toolkit doctor`")
        rows = [row for task in page for row in answer_rows(task, origin, where=where)]
        index.add_answers(rows)
        seen.update(row["annotation"] for row in rows)
        tasks_seen.update(_task_keys(page))
        report(len(page))
    if tasks_seen or not since:
        looked_at = tasks_seen if since else None
        missing = index.missing(origin.source, origin.project, seen=seen, tasks=looked_at)
        if not missing.empty:
            index.append(gone_rows(missing, origin.seen_at))
    return newest


def _task_keys(page: Iterable[Task]) -> Iterable[tuple[str, str]]:
    return ((str(task["id"]), pair_of(task.get("data"))) for task in page)


def _earlier(moment: str) -> str:
    """Return the time a look-back before `moment`."""
    earlier = datetime.fromisoformat(moment) - timedelta(seconds=LOOK_BACK_S)
    return utc_time(earlier.isoformat()) or moment


def _note_gone_projects(index: LedgerIndex, source: str, there: set[str], seen_at: str) -> None:
    """Record as deleted what belongs to projects of the campaign that are not on the server any more."""
    for project in set(index.projects(source)) - there:
        rows = index.missing(source, project, seen=())
        is_ours = [queue_named(queue) is not None for queue in rows["queue"]]
        index.append(gone_rows(Ledger(rows[is_ours]), seen_at))
