"""Answers from the server to the record: what is new, what changed, and what is gone."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from fire_toolkit.campaign.carrier import Fetched
from fire_toolkit.campaign.ledger import KEPT, Origin, answer_rows, pairs_of
from fire_toolkit.campaign.page_json import split_pages
from fire_toolkit.campaign.records import Campaign, other_caption, queue_named
from fire_toolkit.campaign.store import Store
from fire_toolkit.errors import ServerError
from fire_toolkit.guidelines.model import CAPTION
from fire_toolkit.labelstudio.api import Api, CallFailed, Project, Task
from fire_toolkit.labelstudio.places import (
    DROPPED,
    LACKING,
    NEVER,
    OnServer,
    Place,
    born_at,
    check_config,
    find_doubled,
    keep_places,
    lost_words,
    n_answers,
    places_of,
    read_places,
)
from fire_toolkit.resolution.judgments import utc_time
from fire_toolkit.words import n_of

# The server writes a change's time before the change can be seen by others: look again at what is recent.
LOOK_BACK_S = 120
_INCLUDE = ("data", "annotations", *KEPT)
_COUNTED = "total_annotations_number"

Key = tuple[int, str]  # of a place


def pull_answers(
    api: Api,
    campaign: Campaign,
    store: Store,
    *,
    names: Mapping[str, str],
    is_full: bool = False,
    accepts_loss: bool = False,
    report: Callable[[int], None] = lambda n: None,
) -> Fetched:
    """Add to the record what has changed on the server since the last time, and return how much that was.

    Args:
        api: the server.
        campaign: whose projects are read.
        store: the record, which takes what is read as what the server shows now, and keeps for each project
            up to when it was read.
        names: account number → pseudonym.
        is_full: read everything again; what the record has and its project has not is recorded as deleted.
        accepts_loss: record the answers of projects that are gone as deleted; without it they count on.
        report: called with the number of tasks read.

    A project in which the server counts more or fewer answers than the record has, or another number of tasks
    than the last time, is read anew: a task's time does not move with every answer, a deleted task has none,
    and one of each leaves the number of answers as it was. One without an answer, here and there, is not read
    again: its last change is that its tasks came, and all of them would be. Projects that are gone, have lost
    their mark or are there twice are named in the notes, as are answers to a caption that the round has not
    (in a copy of a project, which no push corrects): they are not read.

    Raises:
        ServerError: a labeling page was changed (nothing is read then), or the server fails; what was
            read by then is in the record, and another pull goes on.
    """
    on_server, others = OnServer(api, campaign, store), defaultdict[Place, set[str]](set)
    is_other = other_caption(store)
    source, projects = on_server.source, on_server.own
    for _, project in projects:
        check_config(campaign, project)
    places = {place.key: place for place in read_places(store) if place.source == source}
    whole, notes = set[Key](), list[str]()

    def read(at: Place, project: Project, *, is_whole: bool) -> None:
        before, n_tasks = places.get(at.key, at), project.get("task_number")
        if n_tasks is not None and (n_less := (before.n_tasks or 0) - n_tasks) > 0:
            words = f"project {at.project} ({at.queue}) has {n_of(n_less, 'task')} fewer than before"
            notes.append(f"{words}; `fire-toolkit push` adds those again that wait for an answer")
        is_same = None in (n_tasks, before.n_tasks) or before.n_tasks == n_tasks
        since = before.read_up_to if is_same and not is_whole else ""
        newest = since
        if not since or project.get(_COUNTED) != 0 or n_answers(project) or known[at]:
            origin = Origin(source, str(at.project), at.queue, store.now(), names)
            found = _pull_project(api, at, origin, store, is_other, others[at], since=since, report=report)
            newest = min(found, store.now())
        places[at.key] = replace(before.with_tasks(n_tasks), queue=at.queue, read_up_to=newest or since)
        whole.update([] if since else [at.key])
        keep_places(store, [places[at.key]])

    known = _known(store, (at for at, _ in projects))
    for at, project in projects:
        read(at, project, is_whole=is_full)
    known = _known(store, (at for at, _ in projects))
    suspects = {
        at.key: (n_answers(project), expected)
        for at, project in projects
        if project.get(_COUNTED) is not None
        and n_answers(project) != (expected := known[at] + places[at.key].n_more)
    }
    for at, project in places_of(api.projects(), campaign, source) if suspects else ():
        if at.key not in suspects:
            continue
        check_config(campaign, project)
        # People go on answering while we read: a number between the server's before and after is right.
        counted, expected = suspects[at.key]
        if not min(counted, n_answers(project)) <= expected <= max(counted, n_answers(project)):
            read(at, project, is_whole=True)
            n_more = n_answers(project) - _known(store, [at])[at]
            places[at.key] = replace(places[at.key], n_more=max(n_more, 0))
    lost = on_server.lost()
    _keep_found(store, places, lost, whole, drops=accepts_loss)
    notes += [] if accepts_loss or not lost else [lost_words(lost)]
    notes += [*_unread(others), *map("; ".join, find_doubled(on_server.listed, campaign))]
    return Fetched(store.counts, (*notes, *store.notes))


def _keep_found(
    store: Store, places: dict[Key, Place], lost: Mapping[Place, str], whole: Collection[Key], *, drops: bool
) -> None:
    """Write down what was found of all places; those that were read `whole` were so now.

    drops: answers of those lost are recorded as deleted, each up to its time. Their queues lack tasks then.
    """
    now = store.now()
    for place, until in lost.items() if drops else ():
        rows = store.missing(place.source, str(place.project), seen=(), since=place.born, until=until)
        store.add_deleted([row for row in rows if queue_named(row["queue"])], now)
    lacking = {place.queue for place in lost if drops and place.n_lost}
    for key, place in places.items():
        state = "" if place.is_missed else place.lost
        state = state or (LACKING if place.queue in lacking else "")
        places[key] = replace(place, whole_at=now if key in whole else place.whole_at, lost=state, n_lost=0)
    found = {place.key: replace(place, lost=DROPPED) if drops else place for place in lost}
    keep_places(store, (places | found).values())


def _unread(others: Mapping[Place, Collection[str]]) -> Iterator[str]:
    """Yield in which projects answers to another caption than the record's were left."""
    for at, found in others.items():
        if found:
            words = f"project {at.project} ({at.queue}): {n_of(len(found), 'answer')} not read, as the tasks "
            words += "there show another caption than the record; delete them there"
            yield f"{words} (the task is still asked as the record has it)"


def _known(store: Store, own: Iterable[Place]) -> dict[Place, int]:
    """Return how many answers of each project count, without those of an earlier one of its number."""
    places = list(own)
    spans = {str(at.project): (at.born, NEVER) for at in places}
    counts = store.n_there(places[0].source, spans) if places else Counter()
    return {at: counts[str(at.project)] for at in places}


def _last_change(tasks: Iterable[Task]) -> str:
    return max((utc_time(str(task.get("updated_at"))) or "" for task in tasks), default="")


def _newest(api: Api, at: Place) -> str:
    """Return when a project's tasks were last changed, empty where it has none."""
    include, order = ("id", "updated_at"), "-tasks:updated_at"
    return _last_change(api.task_page(at.project, ordering=order, include=include, page_size=1)[0])


def _pull_project(
    api: Api,
    at: Place,
    origin: Origin,
    store: Store,
    is_other: Callable[[str, str, str], bool],
    others: set[str],
    *,
    since: str,
    report: Callable[[int], None],
) -> str:
    """Read what has changed since a time (empty: all), and return up to which time all is read now.

    is_other: see `other_caption`; others: takes in the answers of which it is so, which are left there.

    That is the last change of all before the reading, or after its first page, by the server's clock:
    what changes meanwhile is later, or within the time that is looked back.
    """
    newest, is_first, filters = since, bool(since), []
    if not since:
        newest = _newest(api, at)
    else:
        earlier = datetime.fromisoformat(since) - timedelta(seconds=LOOK_BACK_S)
        filters = [("updated_at", "greater", "Datetime", utc_time(earlier.isoformat()) or since)]
    where = f"{api.connection.url}: project {at.project}"
    seen: set[str] = set()
    looked_at: set[tuple[str, str]] = set()
    for page in api.sweep(at.project, include=_INCLUDE, filters=filters, with_answers=True):
        if is_first:
            newest = max(newest, _last_change(page) if len(page) < api.page_size else _newest(api, at))
            is_first = False
        if any(not isinstance(task.get("annotations"), list) for task in page):
            raise ServerError(f"{where}: tasks without their answers; see `fire-toolkit doctor`")
        tasks = list(split_pages(page))
        pairs = pairs_of(task.get("data") for task in tasks)
        rows = answer_rows(tasks, origin, where=where, pairs=pairs)
        seen.update(row["annotation"] for row in rows)
        others.update(row["annotation"] for row in rows if is_other(at.queue, row["pair_id"], row[CAPTION]))
        store.add_answers(row for row in rows if row["annotation"] not in others)
        looked_at.update(zip((str(task["id"]) for task in tasks), pairs, strict=True))
        report(len(page))
    if looked_at or not since:
        here = (origin.source, origin.project)
        missing = store.missing(*here, seen=seen, tasks=looked_at if since else None, since=at.born)
        if missing and _is_there(api, at):
            store.add_deleted(missing, origin.seen_at)
    return newest


def _is_there(api: Api, at: Place) -> bool:
    """Whether a project that was read was not deleted meanwhile, so that what it lacks was deleted in it."""
    try:
        return born_at(api.project(at.project)) == at.born
    except CallFailed as error:
        if error.status != 404:
            raise
        return False
