"""Answers from the server to the ledger: what is new, what changed, and what is gone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from fire_toolkit.errors import FormatError, ServerError
from fire_toolkit.judgments import utc_time
from fire_toolkit.labelstudio.api import Api, Filter, Task
from fire_toolkit.labelstudio.campaign import Campaign, queue_named
from fire_toolkit.labelstudio.ledger_rows import KEPT, Origin, answer_rows, gone_rows, pair_of, with_states
from fire_toolkit.labelstudio.push import campaign_projects, check_config
from fire_toolkit.labelstudio.sweep import sweep_tasks
from fire_toolkit.ledger import (
    ANSWERED,
    DELETED,
    EDITED,
    RESTORED,
    STATES,
    Ledger,
    append_rows,
    latest_answers,
    read_ledger,
)

# The server writes a change's time before the change can be seen by others: look again at what is recent.
LOOK_BACK_S = 120
_INCLUDE = ("data", "annotations", *KEPT)


@dataclass(frozen=True)
class Pulled:
    """What a pull found.

    n_new: answers not seen before; n_edited; n_deleted; n_restored; n_projects; marks: for each project the
    time up to which its changes have been read.
    """

    n_new: int = 0
    n_edited: int = 0
    n_deleted: int = 0
    n_restored: int = 0
    n_projects: int = 0
    marks: Mapping[str, str] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """How many rows of each state were added."""
        numbers = (self.n_new, self.n_edited, self.n_deleted, self.n_restored)
        return dict(zip(("new", "edited", "deleted", "restored"), numbers, strict=True))

    def plus(self, other: Pulled) -> Pulled:
        """Return what both found together."""
        return Pulled(
            self.n_new + other.n_new,
            self.n_edited + other.n_edited,
            self.n_deleted + other.n_deleted,
            self.n_restored + other.n_restored,
            self.n_projects + other.n_projects,
            {**self.marks, **other.marks},
        )


class Book:
    """A ledger that is being written: what it holds of each answer, kept up to date."""

    def __init__(self, folder: Path) -> None:
        ledger = read_ledger(folder)
        self._folder = folder
        self._known = set(ledger["row_id"])
        self._latest: Ledger = latest_answers(ledger)
        self.states: dict[str, tuple[str, str]] = {}
        self.counts = dict.fromkeys(STATES, 0)
        self._note(self._latest)

    def _note(self, rows: Ledger) -> None:
        columns = (rows[name] for name in ("annotation", "updated_at", "state"))
        for annotation, updated_at, state in zip(*columns, strict=True):
            if updated_at >= self.states.get(annotation, ("", ""))[0]:
                self.states[annotation] = (updated_at, state)

    def append(self, rows: Ledger) -> None:
        """Add rows, durably, if the ledger does not have them."""
        new = Ledger(rows[~rows["row_id"].isin(self._known)])
        append_rows(self._folder, new)
        self._known.update(new["row_id"])
        self._note(new)
        for state, n in new["state"].value_counts().items():
            self.counts[str(state)] += int(n)

    def add_answers(self, rows: list[dict[str, str]]) -> None:
        """Add the versions of answers that the ledger does not have, with their states."""
        self.append(with_states(rows, self.states))

    def present(self, source: str, project: str | None = None) -> Ledger:
        """Return the answers that were there at the last look, of a project or of all of a source."""
        rows = self._latest[(self._latest["source"] == source) & (self._latest["state"] != DELETED)]
        return Ledger(rows if project is None else rows[rows["project"] == project])

    def pulled(self, *, n_projects: int, marks: Mapping[str, str]) -> Pulled:
        """Return what has been added since the book was opened."""
        n_new, n_edited, n_deleted, n_restored = (
            self.counts[state] for state in (ANSWERED, EDITED, DELETED, RESTORED)
        )
        return Pulled(n_new, n_edited, n_deleted, n_restored, n_projects, marks)


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
) -> Pulled:
    """Add to the ledger what has changed on the server since `marks`, and return how much that was.

    Args:
        api: the server.
        campaign: whose projects are read.
        folder: the ledger.
        names: account number → pseudonym.
        marks: project → the time up to which its changes have been read (`Pulled.marks`).
        now: the time of reading, UTC.
        is_full: read everything again; what the ledger has and the server has not is recorded as deleted.
        report: called with the number of tasks read.
        keep: called with the marks after each project, to be kept for the next pull.

    Raises:
        ServerError: a labeling page was changed (nothing is read then), or the server fails; what was
            read by then is in the ledger, and another pull goes on.
    """
    source = api.identity()
    queues = campaign_projects(api, campaign)
    projects = {int(project["id"]): str(name) for name, found in queues.items() for project in found}
    for found in queues.values():
        for project in found:
            check_config(campaign, project)
    book = Book(folder)
    kept = dict(marks)
    for number, queue in sorted(projects.items()):
        origin = Origin(source, str(number), queue, now(), names)
        key = f"{source}#{number}"
        newest = _newest_change(api, number)
        since = "" if is_full else kept.get(key, "")
        _pull_project(api, number, origin, book, since=since, report=report)
        if newest:
            kept[key] = newest
            keep(kept)
    if is_full:
        _note_gone_projects(book, source, {str(number) for number in projects}, now())
    return book.pulled(n_projects=len(projects), marks=kept)


def _newest_change(api: Api, project: int) -> str:
    """Return the time of the project's last change, by the server's clock; empty if it has no task."""
    tasks, _ = api.task_page(project, ordering="-tasks:updated_at", include=("id", "updated_at"), page_size=1)
    found = tasks[0].get("updated_at") if tasks else None
    return (utc_time(found) or "") if isinstance(found, str) else ""


def _pull_project(
    api: Api, project: int, origin: Origin, book: Book, *, since: str, report: Callable[[int], None]
) -> None:
    filters = [Filter("updated_at", "greater", "Datetime", _earlier(since))] if since else []
    where = f"{api.connection.url}: project {project}"
    before = book.present(origin.source, origin.project)
    seen: set[str] = set()
    tasks_seen: set[tuple[str, str]] = set()
    pages = sweep_tasks(api, project, include=_INCLUDE, filters=filters, with_answers=True)
    for page in pages:
        if any(not isinstance(task.get("annotations"), list) for task in page):
            raise ServerError(f"{where}: tasks without their answers; see `fire-toolkit doctor`")
        rows = [row for task in page for row in answer_rows(task, origin, where=where)]
        book.add_answers(rows)
        seen.update(row["annotation"] for row in rows)
        tasks_seen.update(_task_keys(page))
        report(len(page))
    missing = before[~before["annotation"].isin(seen)]
    if since:
        keys = list(zip(missing["task"], missing["pair_id"], strict=True))
        missing = missing[[key in tasks_seen for key in keys]]
    book.append(gone_rows(Ledger(missing), origin.seen_at))


def _task_keys(page: Iterable[Task]) -> Iterable[tuple[str, str]]:
    return ((str(task["id"]), pair_of(task.get("data"))) for task in page)


def _earlier(moment: str) -> str:
    """Return the time a look-back before `moment`."""
    earlier = datetime.fromisoformat(moment) - timedelta(seconds=LOOK_BACK_S)
    return utc_time(earlier.isoformat()) or moment


def _note_gone_projects(book: Book, source: str, there: set[str], seen_at: str) -> None:
    """Record as deleted what belongs to projects of the campaign that are not on the server any more."""
    rows = book.present(source)
    is_gone = [
        queue_named(queue) is not None and project not in there
        for queue, project in zip(rows["queue"], rows["project"], strict=True)
    ]
    book.append(gone_rows(Ledger(rows[is_gone]), seen_at))


def add_export(
    content: object, folder: Path, *, source: str, names: Mapping[str, str], seen_at: str
) -> Pulled:
    """Add the answers of a parsed JSON export to the ledger.

    Args:
        content: the list of tasks of a JSON export.
        folder: the ledger.
        source: what the export is called.
        names: account number → pseudonym.
        seen_at: the time of reading, UTC.

    Raises:
        FormatError: not such an export.
    """
    if not isinstance(content, list) or not all(
        isinstance(task, dict) and isinstance(task.get("annotations"), list) for task in content
    ):
        raise FormatError(
            f"{source}: expected the list of tasks of a JSON export, each with its annotations; export as "
            "JSON (JSON_MIN and CSV lose skips and who answered)"
        )
    rows: list[dict[str, str]] = []
    for task in content:
        origin = Origin(source, _project_of(task), "", seen_at, names)
        rows += answer_rows(task, origin, where=source)
    book = Book(folder)
    for start in range(0, len(rows), 20_000):
        book.add_answers(rows[start : start + 20_000])
    return book.pulled(n_projects=len({row["project"] for row in rows}), marks={})


def _project_of(task: Mapping[str, Any]) -> str:
    return str(task.get("project") or "")
