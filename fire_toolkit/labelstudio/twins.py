"""Projects and tasks of a campaign that are on the server more than once, and what can be done about it.

Nothing on the server keeps two pushes from two copies of a workspace from making a queue's project twice.
Answers in either project count for the queue, so that nothing is lost; but the same pair may be asked twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fire_toolkit.campaign.queue_pages import queue_pages
from fire_toolkit.campaign.records import Campaign, QueueName, Round
from fire_toolkit.labelstudio.api import Api
from fire_toolkit.labelstudio.projects import (
    RETIRED,
    kept_parts,
    own_projects,
    part_of,
    project_mark,
    project_title,
)
from fire_toolkit.words import n_of

Project = Mapping[str, Any]
REPAIR = "fire-toolkit push --repair"


def n_answers(project: Project) -> int:
    """Return how many answers and skips the server counts in a project listed with its counts."""
    return sum(int(project.get(f"{what}_annotations_number") or 0) for what in ("total", "skipped"))


@dataclass(frozen=True)
class Doubled:
    """What is there more than once: words, and the step that helps."""

    words: str
    fix: str


def find_doubled(
    listed: Iterable[dict[str, Any]], campaign: Campaign, rounds: Sequence[Round]
) -> list[Doubled]:
    """Return the queues with copies of a project, and the queues whose projects have more tasks than they.

    listed: the server's projects with their counts.
    """
    n_tasks = {
        QueueName(entry.number, str(name)): _n_tasks(entry, str(name), int(n))
        for entry in rounds
        for name, n in entry.given["annotator_id"].value_counts().items()
    }
    found: list[Doubled] = []
    for queue, projects in own_projects(listed, campaign).items():
        parts = kept_parts(projects)
        found += [_twins(queue, copies) for copies in parts.values() if len(copies) > 1]
        if queue in n_tasks and parts:
            fullest = [max(copies, key=_n_there) for copies in parts.values()]
            n_more = sum(map(_n_there, fullest)) - n_tasks[queue]
            if n_more > 0:
                found.append(_doubled_tasks(queue, fullest, n_more))
    return found


def _n_tasks(entry: Round, annotator_id: str, n_pairs: int) -> int:
    """Return how many tasks a queue of so many pairs is on a server."""
    return n_pairs if entry.n_captions == 1 else len(queue_pages(entry, annotator_id))


def _n_there(project: Project) -> int:
    return int(project.get("task_number") or 0)


def _twins(queue: QueueName, projects: Sequence[Project]) -> Doubled:
    counts = {project["id"]: n_answers(project) for project in projects}
    shown = ", ".join(f"{number} ({n_of(n, 'answer')})" for number, n in counts.items())
    part = part_of(projects[0])
    which = f"part {part} of queue {queue}" if part > 1 else f"queue {queue}"
    words = f"{which} has {len(projects)} projects: {shown}"
    if sum(n_answers(project) > 0 for project in projects) < 2:
        return Doubled(words, REPAIR)
    return Doubled(words, _BOTH_ANSWERED)


_BOTH_ANSWERED = (
    "answers in each of them count; let the annotator go on in one, and delete the tasks without answers in "
    "the others (Data Manager)"
)


def _doubled_tasks(queue: QueueName, projects: Sequence[Project], n_more: int) -> Doubled:
    numbers = ", ".join(str(project["id"]) for project in projects)
    where = f"project {numbers}" if len(projects) == 1 else f"projects {numbers} together"
    has = "has" if len(projects) == 1 else "have"
    words = f"{where} (queue {queue}) {has} {n_more:,} tasks more than its queue: doubled or foreign"
    return Doubled(words, "fire-toolkit push (names them; delete copies without answers in the Data Manager)")


@dataclass(frozen=True)
class Retired:
    """What a repair did: the numbers of the projects that were retired, and the twins that were left."""

    projects: tuple[int, ...] = ()
    left: tuple[Doubled, ...] = ()


def retire_twins(api: Api, campaign: Campaign) -> Retired:
    """Retire the projects without answers of every queue that has several; leave those with answers.

    Of projects that are all without answers the oldest stays. A retired project keeps its mark, so that an
    answer that somebody gives there all the same is pulled; its title says not to judge there.

    Raises:
        ServerError: the server fails; doing it again goes on.
    """
    done: list[int] = []
    left: list[Doubled] = []
    for queue, projects in own_projects(api.projects(with_counts=True), campaign).items():
        for part, copies in kept_parts(projects).items():
            stays = [project for project in copies if n_answers(project)] or copies[:1]
            for project in copies:
                if project not in stays and _retire(api, campaign, queue, part, int(project["id"])):
                    done.append(int(project["id"]))
                elif project not in stays:
                    stays.append(project)
            left += [_twins(queue, stays)] if len(stays) > 1 else []
    return Retired(tuple(done), tuple(left))


def _retire(api: Api, campaign: Campaign, queue: QueueName, part: int, number: int) -> bool:
    """Retire a project, unless it was answered in that moment; return whether it is retired."""
    mark = project_mark(campaign, queue, part)
    api.update_project(
        number, {"description": mark + RETIRED, "title": f"Do not judge here (copy, {number})"}
    )
    if not n_answers(api.project(number)):
        return True
    api.update_project(number, {"description": mark, "title": project_title(campaign, queue, part)})
    return False
