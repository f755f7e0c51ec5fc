"""Projects of a campaign that are not on the server any more, or not to be known as its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fire_toolkit.campaign.records import Campaign, queue_named
from fire_toolkit.campaign.store import Store
from fire_toolkit.labelstudio.projects import own_projects
from fire_toolkit.resolution.judgments import utc_time
from fire_toolkit.words import n_of

QUEUE = " queue"
PART = " part"  # of its queue, where it is not the first
NEVER = "~"  # above all times


@dataclass(frozen=True)
class Vanished:
    """A project that was read before and is not among the campaign's any more.

    key: source, number and birth, as the marks have it; queue: whose it was, empty if unknown; n_answers: how
    many of its answers count; is_unmarked: it is on the server, and its description was changed; until: the
    birth of the project that has its number now, above all times if there is none; part: which of the queue's
    parts it was.
    """

    key: str
    number: str
    queue: str
    n_answers: int
    is_unmarked: bool
    until: str = NEVER
    part: int = 1

    @property
    def words(self) -> str:
        """What is wrong with it."""
        what = "has lost its mark (its description was changed)" if self.is_unmarked else "was deleted"
        where = f"project {self.number}{f' ({self.queue})' if self.queue else ''}"
        return f"{where} {what}, with {n_of(self.n_answers, 'answer')}"


def find_vanished(
    listed: Iterable[dict[str, Any]],
    campaign: Campaign,
    store: Store,
    marks: Mapping[str, str],
    source: str,
) -> list[Vanished]:
    """Return the projects that were read from a server before and are not of the campaign now.

    Args:
        listed: all projects on the server now.
        campaign: whose mark they must have.
        store: the record.
        marks: what was kept of the projects that were read.
        source: the server.

    A project without answers whose queue has another project is not missed.
    """
    listed = list(listed)
    own = own_projects(listed, campaign)
    born = {str(project["id"]): born_at(project) for project in listed}
    marked = {str(project["id"]) for found in own.values() for project in found}
    times = store.answer_times(source)
    vanished = []
    for number, (key, queue) in sorted(
        _known(store, marks, source).items(), key=lambda item: item[0].zfill(9)
    ):
        is_same = number in born and key.endswith(("#", f"#{born[number]}"))
        is_unmarked = is_same and number not in marked
        until = NEVER if is_unmarked else born.get(number, NEVER)
        n_answers = sum(moment < until for moment in times.get(number, ()))
        if n_answers or queue not in map(str, own):
            part = marks.get(f"{key}{PART}", "1")
            vanished.append(Vanished(key, number, queue, n_answers, is_unmarked, until, int(part)))
    return vanished


def born_at(project: Mapping[str, Any]) -> str:
    """Return when a project was made, UTC, as answers' times are written; empty if nobody says."""
    born = str(project.get("created_at") or "")
    return utc_time(born) or born


def _known(store: Store, marks: Mapping[str, str], source: str) -> dict[str, tuple[str, str]]:
    """Return key and queue of each project that was read, or has answers that count in the ledger."""
    times = store.answer_times(source)
    queues = {number: queue for number, queue in store.queues(source).items() if queue_named(queue)}
    known = {number: (f"{source}#{number}#", queue) for number, queue in queues.items() if times.get(number)}
    for mark, queue in marks.items():
        if mark.startswith(f"{source}#") and mark.endswith(QUEUE):
            key = mark.removesuffix(QUEUE)
            known[key.removeprefix(f"{source}#").partition("#")[0]] = (key, queue)
    return known


def vanished_words(vanished: Iterable[Vanished]) -> str:
    """Return what is wrong with the projects, and what to do; empty if there are none."""
    found = list(vanished)
    if not found:
        return ""
    words = "; ".join(each.words for each in found)
    if any(each.n_answers for each in found):
        words += "; these answers still count: `fire-toolkit pull --full --accept-loss` drops them"
    if any(each.is_unmarked for each in found):
        words += "; restore the description of what lost its mark (`fire-toolkit doctor` prints it)"
    return words
