"""A campaign's projects on servers: how they are set up and known again, where they lie, and what is wrong.

Every project that a workspace makes or reads is written down as a place in its record, so that one that is
gone, has lost its mark, or is there twice is missed whoever asks.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fire_toolkit.campaign.queue_pages import queue_pages
from fire_toolkit.campaign.records import BY_SERVER, Campaign, QueueName, Rounds, queue_named
from fire_toolkit.campaign.store import Store
from fire_toolkit.errors import ServerError
from fire_toolkit.guidelines.instructions import instructions_html
from fire_toolkit.guidelines.label_config import (
    IN_PLACE_OF_KEYS,
    config_sha256,
    parse_label_config,
    several_config,
)
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.resolution.judgments import utc_time
from fire_toolkit.words import n_of
from fire_toolkit.workspace.database import STORE

if TYPE_CHECKING:
    from fire_toolkit.labelstudio.api import Api  # heavy

Project = dict[str, Any]

_MARK = re.compile(r"fire-toolkit campaign (\S+) round (\d+) queue (\S+)")
_MAX_TITLE = 50

# What nobody may change by hand: blind, no empty answers, in our order.
GUARDED: dict[str, Any] = {
    "show_collab_predictions": False,
    "enable_empty_annotation": False,
    "sampling": "Sequential sampling",
}


def project_mark(campaign: Campaign, queue: QueueName) -> str:
    """Return the description by which a queue's project is known again."""
    return f"fire-toolkit campaign {campaign.key} round {queue.round} queue {queue.annotator_id}"


def marked_queue(campaign: Campaign, project: Project) -> QueueName | None:
    """Return the queue of this campaign that a project's description names; None: it is not ours."""
    found = _MARK.search(str(project.get("description") or ""))
    return QueueName(int(found[2]), found[3]) if found and found[1] == campaign.key else None


def own_projects(listed: Iterable[Project], campaign: Campaign) -> dict[QueueName, list[Project]]:
    """Return those of a server's projects that are of the campaign, by queue: first those that have tasks.

    The first one of each queue is the one to judge in. Label Studio on SQLite carries a request out again by
    itself where its database was locked, so that an empty copy may be older than the one that got the tasks.
    """
    found: dict[QueueName, list[Project]] = {}
    for project in sorted(listed, key=lambda each: not each.get("task_number")):
        if queue := marked_queue(campaign, project):
            found.setdefault(queue, []).append(project)
    return found


def project_settings(
    campaign: Campaign, name: QueueName, guideline: Guideline, *, is_several: bool = False
) -> dict[str, Any]:
    """Return the settings of a queue's project: blind, no empty answers, in our order.

    The title tells annotators which project is theirs, and nothing of where pairs come from.
    is_several: its pages have several captions.
    """
    title = f"{name.annotator_id} · round {name.round} · {campaign.guideline}"
    return {
        "title": title[:_MAX_TITLE],
        "description": project_mark(campaign, name),
        "label_config": several_config(guideline.label_config) if is_several else guideline.label_config,
        "expert_instruction": (f"<p><b>{IN_PLACE_OF_KEYS}</b></p>\n" if is_several else "")
        + instructions_html(guideline.text),
        "show_instruction": True,
        **GUARDED,
        "maximum_annotations": 1,
    }


def check_config(campaign: Campaign, project: Project) -> None:
    """Raise `ServerError` unless a project shows the campaign's labeling page, or that of several captions.

    The latter is made of the former, and may look as another version of this package made it.
    """
    shown = str(project.get("label_config") or "")
    where = f"project {project.get('id')} ({project.get('title')})"
    is_same = config_sha256(shown or "<View/>", where=where) == campaign.config_sha256
    several = several_config(campaign.label_config) if not is_same and "<Repeater" in shown else ""
    if several:
        is_same = parse_label_config(shown, where=where).asks_as(parse_label_config(several))
    if not is_same:
        raise ServerError(
            f"{where}: its labeling config was changed on the server, so answers may not mean what the "
            "guideline says; restore it under Settings, Labeling Interface (`fire-toolkit guideline "
            f"{campaign.guideline} --part {'pages' if several else 'config'}` prints it)"
        )


def refuse_fewer(project: Project, n_shown: int) -> None:
    """Raise `ServerError` where fewer tasks of a project are shown than it has: the others may be there."""
    if n_shown < (n_tasks := int(project.get("task_number") or 0)):
        raise ServerError(
            f"project {project['id']} has {n_of(n_tasks, 'task')}, but {n_shown:,} are shown; is somebody "
            "deleting tasks? Run the command again"
        )


Key = tuple[int, str]  # a project's number and birth

NEVER = "~"  # above all times
GONE, UNMARKED, DROPPED = "was deleted", "has lost its mark (its description was changed)", "dropped"
LACKING = "lacks tasks"  # that it had; until the next push


@dataclass(frozen=True)
class Place:
    """A project that this workspace made or read on a server; it is known by its server, number and birth.

    queue: whose it is; read_up_to: the time up to which its changes were read, whole_at: when it was
    last read from its beginning, each empty: never; n_tasks: it had when it was read, None: unknown; n_more:
    by how many answers the server counts more than a whole reading found; lost: what had become of it at the
    last look, empty: nothing; n_lost: how many of its answers count still.
    """

    source: str
    project: int
    born: str
    queue: str
    read_up_to: str = ""
    whole_at: str = ""
    n_tasks: int | None = None
    n_more: int = 0
    lost: str = ""
    n_lost: int = 0

    @property
    def key(self) -> Key:
        """The project among those of a server, also where numbers are used again."""
        return self.project, self.born

    @property
    def is_missed(self) -> bool:
        """Whether it was gone, or had lost its mark, at the last look."""
        return self.lost not in ("", LACKING, DROPPED)


def born_at(project: Project) -> str:
    """Return when a project was made, UTC, as answers' times are written; empty if nobody says."""
    born = str(project.get("created_at") or "")
    return utc_time(born) or born


def _key(project: Project) -> Key:
    return int(project["id"]), born_at(project)


def read_places(store: Store) -> list[Place]:
    """Return all places, in the order of their numbers, those that are not missed any more too."""
    columns = ", ".join(each.name for each in fields(Place))
    return [Place(*row) for row in store.select(f"select {columns} from places order by 2, 3, 1")]


def keep_places(store: Store, places: Iterable[Place]) -> None:
    """Write places down, in place of what was known of them."""
    there = set(read_places(store))
    changed = [astuple(place) for place in places if place not in there]
    if changed:
        marks = ", ".join("?" * len(fields(Place)))
        with store.transaction() as db:
            db.executemany(f"insert or replace into places values ({marks})", changed)


def to_push_again(store: Store, people: Mapping[int, Collection[str]]) -> str:
    """Return how to push where tasks of somebody who has some to answer are gone; else nothing.

    people: by round.
    """
    queues = {str(QueueName(number, name)) for number, names in people.items() for name in names}
    own = [place for place in read_places(store) if place.queue in queues]
    there = {place.queue for place in own if place.lost in ("", LACKING)}
    lost = {place.lost for place in own if place.lost == LACKING or place.queue not in there}
    return "push --replace" if GONE in lost else "push" if lost & {LACKING, DROPPED} else ""


class OnServer:
    """What a server lists of a campaign at a moment, beside what the record `store` has of its projects.

    Attributes:
        source: the server; listed: all of its projects; own: those of the campaign, and places: where all lie
        that it ever had there, each by number and birth.
    """

    def __init__(self, api: Api, campaign: Campaign, store: Store) -> None:
        self._campaign, self._store = campaign, store
        self.listed = api.projects()
        self.own = {_key(each): each for each in self.listed if marked_queue(campaign, each)}
        known = read_places(store)
        seen = {place.key: place.source for place in known}
        sources = {seen.get(key) for key in self.own if key[1]}
        # The one on which all of the campaign's projects were seen before; else it is asked.
        self.source = (sources.pop() if len(sources) == 1 else None) or api.identity()
        self.places = {place.key: place for place in known if place.source == self.source}
        self._add(self.own.values())

    def _add(self, projects: Iterable[Project]) -> None:
        for project in projects:
            if queue := marked_queue(self._campaign, project):
                key = _key(project)
                place = self.places.get(key) or Place(self.source, *key, "")
                self.places[key] = replace(place, queue=str(queue))

    def note(self, *projects: Project) -> None:
        """Write all places down, with those of these projects."""
        self._add(projects)
        keep_places(self._store, self.places.values())

    def note_pushed(self, n_left: Mapping[int, int]) -> None:
        """Write down that projects lack nothing since a push, which left so many tasks in each of them."""
        for key, place in self.places.items():
            if place.project in n_left and place.lost in ("", LACKING):
                n_tasks = place.n_tasks if place.read_up_to else n_left[place.project]
                self.places[key] = replace(place, n_tasks=n_tasks, lost="")
        self.note()

    def lost(self) -> dict[Place, str]:
        """Return the places that are missed, by number, each with until when answers there are its own.

        A place is missed if it is gone or has lost its mark; but a deleted one without answers is not where
        its queue has another project. Another project may have its number now, from its own birth on.
        """
        born = dict(map(_key, self.listed))
        queues = {self.places[key].queue for key in self.own}
        until: dict[Place, str] = {}
        for key, place in sorted(self.places.items()):
            if key in self.own or place.lost == DROPPED:
                continue
            is_there = born.get(place.project) == place.born
            end = NEVER if is_there else born.get(place.project, NEVER)
            number = str(place.project)
            n_lost = self._store.n_there(self.source, {number: (place.born, end)})[number]
            if n_lost or is_there or place.queue not in queues:
                until[replace(place, lost=UNMARKED if is_there else GONE, n_lost=n_lost)] = end
        return until


def missed_words(campaign: Campaign, place: Place) -> tuple[str, str]:
    """Return what is wrong with a place that is missed, and what to do about it."""
    words = f"project {place.project} ({place.queue}) {place.lost}, with {n_of(place.n_lost, 'answer')}"
    if place.lost == UNMARKED and (queue := queue_named(place.queue)):
        return words, f"set its description under Settings to: {project_mark(campaign, queue)}"
    if place.n_lost:
        return words, "these answers still count: `fire-toolkit pull --full --accept-loss` drops them"
    return words, "`fire-toolkit push --replace` makes it again"


def queue_sizes(root: Path) -> dict[QueueName, int]:
    """Return how many tasks each queue that a server carries is to have there; a page is one task."""
    rounds = Rounds(root, BY_SERVER)
    with Store.at(root / STORE) as store:
        query = (
            "select round, annotator_id, count(*) from hands join named_people using (people) group by 1, 2"
        )
        found = store.select(query)
    return {
        QueueName(number, name): n
        if rounds.captions[number] == 1
        else len(queue_pages(rounds.numbered(number), name))
        for number, name, n in found
        if number in rounds.carriers
    }


# What is there more than once: nothing on a server keeps two pushes from making a queue's project twice.
# Answers in either count for the queue, so that nothing is lost; but the same pair may be asked twice.


def n_answers(project: Project) -> int:
    """Return how many answers and skips the server counts in a project."""
    return sum(int(project.get(f"{what}_annotations_number") or 0) for what in ("total", "skipped"))


def find_doubled(
    listed: Iterable[Project], campaign: Campaign, sizes: Mapping[QueueName, int] | None = None
) -> Iterator[tuple[str, str]]:
    """Yield what is there more than once, in words, each with the step that helps.

    Copies of a project, of which the oldest stays where nobody has answered; and projects that have more
    tasks than their queue, of those in `sizes`, see `queue_sizes`.
    """
    for queue, copies in own_projects(listed, campaign).items():
        answered = [project for project in copies if n_answers(project)]
        spare = ", ".join(str(each["id"]) for each in copies if each not in (answered or copies[:1]))
        if len(copies) > 1:
            shown = ", ".join(f"{each['id']} ({n_of(n_answers(each), 'answer')})" for each in copies)
            fix = f"delete project {spare} in Label Studio (its Settings, Danger Zone): nobody has answered "
            fix += "there"
            if len(answered) > 1:
                fix = "answers in each of them count; let the annotator go on in one, and delete the tasks "
                fix += "without answers in the others (Data Manager)"
            yield f"queue {queue} has {len(copies)} projects: {shown}", fix
        n_tasks, number = max((int(each.get("task_number") or 0), each["id"]) for each in copies)
        if sizes and (n_more := n_tasks - sizes.get(queue, n_tasks)) > 0:
            words = f"project {number} (queue {queue}) has {n_more:,} tasks more than its queue"
            fix = "fire-toolkit push (names them; delete copies without answers in the Data Manager)"
            yield f"{words}: doubled or foreign", fix


def full_pull_due(store: Store) -> str:
    """Return that all is to be pulled anew, if answers came in from a server since that was last done."""
    whole_at = [place.whole_at for place in read_places(store) if place.lost in ("", LACKING)]
    ((read_at,),) = store.select("select coalesce(max(seen_on_server), '') from batches")
    if read_at <= min(whole_at, default=""):
        return ""
    return (
        "answers came in since the last `pull --full`; run one at the end of a round: an edit that the "
        "server does not date shows only there"
    )
