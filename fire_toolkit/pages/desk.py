"""What an annotator is asked on our own page: pages of one item with one caption or a few, in order."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from fire_toolkit.campaign.queue_pages import pages_of
from fire_toolkit.campaign.records import Round
from fire_toolkit.campaign.store import Record
from fire_toolkit.files import text_sha256
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.media.places import is_address, part_of, without_part
from fire_toolkit.pages.answers import Asked


@dataclass(frozen=True)
class Task:
    """A pair to be judged; id: what the annotator's browser calls it, which tells nothing of the pair."""

    id: str
    asked: Asked
    caption: str


@dataclass(frozen=True)
class Page:
    """An item with the captions that are judged with it.

    item: its media_url, and the reference_url of what a composed query starts from, each as the tasks
    have it, or empty.
    """

    id: str
    item: tuple[str, str]
    tasks: tuple[Task, ...]


class Desk:
    """What one annotator is asked, the training of each round first, under names that tell others nothing.

    Captions of one item come together, as early as the first of them, in the order of the queue, which is
    random. What is in `without` is left out; what is left of such a page is a page of its own.

    files: the file of each media_url, without its fragment.

    Attributes:
        pages: in order; tasks: all of theirs in order, each with its page and its place there, from 1;
        numbers: where each is in this order; media: the file behind each name under which she gets one.
    """

    def __init__(
        self,
        rounds: Sequence[Round],
        annotator_id: str,
        guideline: Guideline,
        files: Mapping[str, Path],
        *,
        campaign_key: str,
        without: Collection[Asked] = (),
    ) -> None:
        self.annotator_id, self.guideline, self.campaign_key = annotator_id, guideline, campaign_key
        self.pages: list[Page] = []
        for entry in rounds:
            rows = entry.assignments[entry.assignments["annotator_id"] == annotator_id]
            items, given = entry.items, _given(entry, annotator_id, campaign_key)
            for pairs, _ in pages_of(rows.sort_values("position"), items, entry.n_captions):
                tasks = [given[pair] for pair in pairs]
                if left := tuple(task for task in tasks if task.asked not in without):
                    page_id = _name("page", tasks[0].id, *(task.id for task in tasks if task not in left))
                    self.pages.append(Page(page_id, items[pairs[0]], left))
        self.tasks = [(page, n, task) for page in self.pages for n, task in enumerate(page.tasks, start=1)]
        self.numbers = {task.asked: number for number, (_, _, task) in enumerate(self.tasks)}
        self.media: dict[str, Path] = {}
        self._names: dict[str, str] = {}
        shown = self.pages if guideline.shows_media else ()
        for url in dict.fromkeys(without_part(url) for page in shown for url in page.item):
            if url in files:
                suffix = PurePosixPath(url.partition("?")[0]).suffix.lower()
                name = _name("media", campaign_key, annotator_id, url)
                self._names[url] = name = name + (suffix if suffix[1:].isalnum() else "")
                self.media[name] = files[url]

    def _address(self, media_url: str) -> str:
        """Return where a page finds an item: beside it, elsewhere, or (empty) nowhere; a text is itself."""
        if name := self._names.get(without_part(media_url)):
            return f"media/{name}"
        return media_url if self.guideline.shows_texts or is_address(media_url) else ""

    def shown(
        self,
        page: Page,
        answers: Mapping[Asked, Record] | None = None,
        was: Mapping[Asked, str] | None = None,
    ) -> dict[str, object]:
        """Return a page as the browser gets it: no pair, no kind, no file name.

        answers: those that stand; without a label what was reported as missing. was: what was answered, also
        where it was taken back.
        """
        answers, was, (media_url, reference_url) = answers or {}, was or {}, page.item
        return {
            "id": page.id,
            "media": self._address(media_url),
            "part": part_of(media_url),
            "reference": self._address(reference_url) if reference_url else None,
            "captions": [
                {
                    "task": task.id,
                    "text": task.caption,
                    "label": answers[task.asked]["label"] if task.asked in answers else None,
                    "was": was.get(task.asked),
                }
                for task in page.tasks
            ],
        }


def given_tasks(rounds: Sequence[Round], annotator_id: str, campaign_key: str) -> dict[str, Asked]:
    """Return by its name every task that an annotator was ever given, those that moved to others too.

    A name is the caption's too: answers to one that was changed meanwhile are not taken for the new one.
    """
    given = (_given(entry, annotator_id, campaign_key).values() for entry in rounds)
    return {task.id: task.asked for tasks in given for task in tasks}


def _given(entry: Round, annotator_id: str, campaign_key: str) -> dict[str, Task]:
    """Return by its pair each task of a round that the annotator was ever given."""
    texts, number = dict(zip(entry.tasks["pair_id"], entry.tasks["text"], strict=True)), entry.number
    pairs = entry.given.loc[entry.given["annotator_id"] == annotator_id, "pair_id"]
    names = ((pair, _name(campaign_key, annotator_id, number, pair, texts[pair])) for pair in map(str, pairs))
    return {pair: Task(name, (number, pair), texts[pair]) for pair, name in names}


def _name(*parts: object) -> str:
    return text_sha256("\x1f".join(map(str, parts)))[:24]
