"""All tasks of a project that pass a filter, page by page, whatever the server's pages look like."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fire_toolkit.campaign.task_json import PAIR_ID
from fire_toolkit.errors import ServerError
from fire_toolkit.labelstudio.api import Api, Filter, Task, status_of

_SWEEPS = 5
_STALE_PAGES = 5
KEYS_AT_ONCE = 500


def sweep_tasks(
    api: Api,
    project: int,
    *,
    include: Sequence[str],
    filters: Sequence[Filter] = (),
    with_answers: bool = False,
) -> Iterator[list[Task]]:
    """Yield the tasks in stretches, by number; a task that changes meanwhile may come twice.

    Each page is asked for as the tasks above the highest number so far, so that nothing shifts when tasks
    go. The server says how many there are: if fewer came, the sweep begins again.

    Raises:
        ServerError: the pages do not add up after several sweeps, or the server fails for good.
    """
    for _ in range(_SWEEPS):
        found: set[int] = set()
        expected: int | None = None
        stale = last = 0
        while True:
            above = Filter("id", "greater", "Number", last)
            page, total = api.task_page(
                project,
                filters=[*filters, above],
                include=include,
                with_answers=with_answers,
            )
            expected = total if expected is None else expected
            fresh = {task["id"]: task for task in page if task["id"] > last}
            if not fresh:
                if not page or (stale := stale + 1) > _STALE_PAGES:
                    break
                continue
            found |= fresh.keys()
            last = max(fresh)
            yield [fresh[number] for number in sorted(fresh)]
            if total <= len(fresh):
                break
        if len(found) >= expected:
            return
        api.pause(1)
    raise ServerError(
        f"{api.connection.url}: project {project} reports {expected} such tasks, but its pages have "
        f"{len(found)}; is somebody deleting tasks? Run the command again"
    )


def tasks_with_keys(
    api: Api, project: int, keys: Sequence[str], *, include: Sequence[str] = ("id", "data")
) -> Iterator[Task]:
    """Yield the tasks whose pair_id is one of `keys`, asking in small portions.

    A server or a proxy that finds an address too long is asked for fewer at once.
    """
    portion = KEYS_AT_ONCE
    place = 0
    while place < len(keys):
        asked = list(keys[place : place + portion])
        condition = Filter(f"data.{PAIR_ID}", "in_list", "List", asked)
        try:
            for page in sweep_tasks(api, project, include=include, filters=[condition]):
                yield from page
        except ServerError as error:
            if status_of(error) != 414 or portion == 1:
                raise
            portion //= 2
            continue
        place += portion
