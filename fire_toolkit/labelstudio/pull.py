"""Answers from the server to the record: what is new, what changed, and what is gone."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from fire_toolkit.campaign.carrier import Fetched, Report, no_report
from fire_toolkit.campaign.ledger import KEPT, Origin, answer_rows, pairs_of
from fire_toolkit.campaign.page_json import split_pages
from fire_toolkit.campaign.records import Campaign, other_caption, queue_named
from fire_toolkit.campaign.store import Store
from fire_toolkit.errors import ServerError
from fire_toolkit.guidelines.model import CAPTION
from fire_toolkit.labelstudio.api import Api, CallFailed, Project
from fire_toolkit.labelstudio.places import (
    DROPPED,
    LACKING,
    NEVER,
    Key,
    OnServer,
    born_at,
    check_config,
    find_doubled,
    keep_places,
    missed_words,
    n_answers,
    refuse_fewer,
)
from fire_toolkit.resolution.judgments import utc_time
from fire_toolkit.words import n_of

# The server writes a change's time before the change can be seen by others: look again at what is recent.
LOOK_BACK_S = 120
_INCLUDE = ("data", "annotations", *KEPT)
_COUNTED = "total_annotations_number"


def pull_answers(
    api: Api,
    campaign: Campaign,
    store: Store,
    *,
    names: Mapping[str, str],
    is_full: bool = False,
    accepts_loss: bool = False,
    report: Report = no_report,
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
    their mark or are there twice are named in the notes, as are answers to a caption that the round has not:
    they are not read.

    Raises:
        ServerError: a labeling page was changed (nothing is read then), or the server fails; what was
            read by then is in the record, and another pull goes on.
    """
    pull = _Pull(api, campaign, store, names, report)
    own = pull.on_server.own
    for project in own.values():
        check_config(campaign, project)
    pull.count()
    for key, project in own.items():
        pull.read(key, project, is_whole=is_full)
    pull.count()
    for key, project in own.items():
        pull.look_again(key, project)
    lost = pull.keep_found(drops=accepts_loss)
    doubled = find_doubled(pull.on_server.listed, campaign)
    notes = [*pull.notes, *map("; ".join, [*lost, *doubled])]
    return Fetched(store.counts, (*notes, *store.notes))


class _Pull:
    """What one pull has found so far: places, notes, and how many answers of each project the record has."""

    def __init__(
        self, api: Api, campaign: Campaign, store: Store, names: Mapping[str, str], report: Report
    ) -> None:
        self._api, self._campaign, self._store, self._report = api, campaign, store, report
        self._names, self._is_other = names, other_caption(store)
        self.on_server = OnServer(api, campaign, store)
        self._places = self.on_server.places
        self._known: dict[Key, int] = {}
        self._whole = set[Key]()
        self._others = defaultdict[Key, set[str]](set)
        self.notes: list[str] = []

    def count(self) -> None:
        """Count the answers of each project in the record, without those of an earlier one of its number."""
        spans = {str(number): (born, NEVER) for number, born in self.on_server.own}
        counts = self._store.n_there(self.on_server.source, spans)
        self._known = {key: counts[str(key[0])] for key in self.on_server.own}

    def read(self, key: Key, project: Project, *, is_whole: bool) -> None:
        """Read what has changed in a project, or all, and write down up to when that is."""
        before, n_tasks = self._places[key], project.get("task_number")
        n_tasks = before.n_tasks if n_tasks is None else n_tasks
        n_less = (before.n_tasks or 0) - (n_tasks or 0)
        if n_less > 0:
            words = f"project {key[0]} ({before.queue}) has {n_of(n_less, 'task')} fewer than before"
            self.notes.append(f"{words}; `fire-toolkit push` adds those again that wait for an answer")
        since = before.read_up_to if before.n_tasks in (None, n_tasks) and not is_whole else ""
        newest = since
        if not since or project.get(_COUNTED) != 0 or n_answers(project) or self._known[key]:
            newest = min(self._take(key, since), self._store.now())
        if not since:
            self._whole.add(key)
        lacks = n_less > 0 or (n_less == 0 and before.lost == LACKING)
        self._places[key] = replace(
            before, read_up_to=newest or since, n_tasks=n_tasks, lost=LACKING if lacks else ""
        )
        self.on_server.note()

    def look_again(self, key: Key, before: Project) -> None:
        """Read a project from its beginning if the server counts other answers in it than the record has."""
        expected = self._known[key] + self._places[key].n_more
        if before.get(_COUNTED) is None or n_answers(before) == expected:
            return
        if (now := self._there(key)) is None:
            return
        check_config(self._campaign, now)
        # People go on answering while we read: a number between the server's before and after is right.
        counted = n_answers(before), n_answers(now)
        if not min(counted) <= expected <= max(counted):
            self.read(key, now, is_whole=True)
            self.count()
            n_more = n_answers(now) - self._known[key]
            self._places[key] = replace(self._places[key], n_more=max(n_more, 0))

    def keep_found(self, *, drops: bool) -> list[tuple[str, str]]:
        """Write down what was found of all places; return what is wrong with each of them, and what to do.

        drops: answers of those that are lost are recorded as deleted, each up to its time. Their queues lack
        tasks then.
        """
        store, now, lost = self._store, self._store.now(), self.on_server.lost()
        for place, until in lost.items() if drops else ():
            rows = store.missing(place.source, str(place.project), seen=(), since=place.born, until=until)
            store.add_deleted([row for row in rows if queue_named(row["queue"])], now)
        lacking = {place.queue for place in lost if drops and place.n_lost}
        for key, place in self._places.items():
            state = "" if place.is_missed else place.lost
            state = state or (LACKING if place.queue in lacking else "")
            whole_at = now if key in self._whole else place.whole_at
            self._places[key] = replace(place, whole_at=whole_at, lost=state, n_lost=0)
        found = {place.key: replace(place, lost=DROPPED) if drops else place for place in lost}
        keep_places(store, (self._places | found).values())
        others = [
            (
                f"project {key[0]} ({self._places[key].queue}): {n_of(len(found), 'answer')} not read, as "
                "the tasks there show another caption than the record",
                "delete them there (the task is still asked as the record has it)",
            )
            for key, found in self._others.items()
            if found
        ]
        return [missed_words(self._campaign, place) for place in lost if not drops] + others

    def _there(self, key: Key) -> Project | None:
        """Return a project as it is now; None where it was deleted meanwhile."""
        try:
            found = self._api.project(key[0])
        except CallFailed as error:
            if error.status != 404:
                raise
            return None
        return found if born_at(found) == key[1] else None

    def _take(self, key: Key, since: str) -> str:
        """Read what has changed since a time (empty: all), and return up to which time all is read now.

        That is the last change of all after the first page, by the server's clock: what changes meanwhile is
        later, or within the time that is looked back.
        """
        api, store, place, others = self._api, self._store, self._places[key], self._others[key]
        newest, filters = "", []
        if since:
            earlier = datetime.fromisoformat(since) - timedelta(seconds=LOOK_BACK_S)
            filters = [("updated_at", "greater", "Datetime", utc_time(earlier.isoformat()) or since)]
        origin = Origin(place.source, str(key[0]), place.queue, store.now(), self._names)
        where = f"{api.connection.url}: project {key[0]}"
        seen: set[str] = set()
        looked_at: set[tuple[str, str]] = set()
        for page in api.sweep(key[0], include=_INCLUDE, filters=filters):
            if not newest:
                order, last = "-tasks:updated_at", page
                if len(page) == api.page_size:  # there may be more, of which one was changed later
                    last, _ = api.task_page(key[0], ordering=order, include=("id", "updated_at"), page_size=1)
                newest = max((utc_time(str(task.get("updated_at"))) or "" for task in last), default="")
            if not all("annotations" in task and all(map(_is_whole, task["annotations"])) for task in page):
                raise ServerError(f"{where}: tasks without their answers; see `fire-toolkit doctor`")
            tasks = list(split_pages(page))
            pairs = pairs_of(task.get("data") for task in tasks)
            rows = answer_rows(tasks, origin, where=where, pairs=pairs)
            seen.update(row["annotation"] for row in rows)
            is_other = self._is_other
            others |= {r["annotation"] for r in rows if is_other(place.queue, r["pair_id"], r[CAPTION])}
            store.add_answers(row for row in rows if row["annotation"] not in others)
            looked_at.update(zip((str(task["id"]) for task in tasks), pairs, strict=True))
            self._report(len(page))
        if looked_at or not since:
            of_tasks, here = looked_at if since else None, (origin.source, origin.project)
            missing = store.missing(*here, seen=seen, tasks=of_tasks, since=place.born)
            if missing and (now := self._there(key)):
                if not since:
                    refuse_fewer(now, len({task for task, _ in looked_at}))
                store.add_deleted(missing, origin.seen_at)
        return max(newest, since)


def _is_whole(answer: Any) -> bool:
    """Whether an annotation says what was answered, and when; without it another would count in its place."""
    is_object = isinstance(answer, dict) and isinstance(answer.get("result"), list)
    return is_object and bool(utc_time(str(answer.get("updated_at") or answer.get("created_at"))))
