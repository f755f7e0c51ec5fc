"""What an annotator is asked on our own page: pages of one item with one caption or a few, in order."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from fire_toolkit.campaign.queue_pages import items_of, pages_of
from fire_toolkit.campaign.records import Round
from fire_toolkit.files import text_sha256
from fire_toolkit.media.places import is_address
from fire_toolkit.pages.answers import Asked

_PART = re.compile(r"t=(?:npt:)?([0-9.]*)(?:,([0-9.]+))?")


@dataclass(frozen=True)
class Task:
    """A pair to be judged; id: what the annotator's browser calls it, which tells nothing of the pair."""

    id: str
    asked: Asked
    caption: str


@dataclass(frozen=True)
class Page:
    """An item with the captions that are judged with it; media_url as the tasks have it.

    reference_url: of the item that a composed query starts from; empty for other queries.
    """

    id: str
    media_url: str
    tasks: tuple[Task, ...]
    reference_url: str = ""

    @property
    def urls(self) -> tuple[str, ...]:
        """What the page shows."""
        return (self.media_url, self.reference_url) if self.reference_url else (self.media_url,)


def make_desk(
    rounds: Sequence[Round], annotator_id: str, *, campaign_key: str, n_captions: int | None = None
) -> list[Page]:
    """Return the pages that an annotator is asked in the rounds, the training of each round first.

    Args:
        rounds: those that the page carries.
        annotator_id: whose queues.
        campaign_key: makes the ids of tasks and pages.
        n_captions: how many captions a page may have; None: what each round was drawn for. Those of one item
            come together, as early as the first of them, in the order of the queue, which is random.
    """
    pages: list[Page] = []
    for entry in rounds:
        rows = entry.assignments[entry.assignments["annotator_id"] == annotator_id].sort_values("position")
        items, texts = items_of(entry), _texts(entry)
        for pairs, _ in pages_of(rows, items, n_captions or entry.n_captions):
            tasks = tuple(
                Task(
                    _name(campaign_key, annotator_id, entry.number, pair, texts[pair]),
                    (entry.number, pair),
                    texts[pair],
                )
                for pair in pairs
            )
            pages.append(Page(_name("page", tasks[0].id), items[pairs[0]][0], tasks, items[pairs[0]][1]))
    return pages


def _texts(entry: Round) -> dict[str, str]:
    return dict(zip(entry.tasks["pair_id"], entry.tasks["text"], strict=True))


def task_names(rounds: Sequence[Round], annotator_id: str, campaign_key: str) -> dict[str, Asked]:
    """Return by its name every task that an annotator was ever given, those that moved to others too.

    A name is the caption's too: answers to one that was changed meanwhile are not taken for the new one.
    """
    names = {}
    for entry in rounds:
        texts, given = _texts(entry), entry.given
        for pair in given.loc[given["annotator_id"] == annotator_id, "pair_id"]:
            name = _name(campaign_key, annotator_id, entry.number, str(pair), texts[pair])
            names[name] = (entry.number, str(pair))
    return names


def _name(*parts: object) -> str:
    return text_sha256("\x1f".join(map(str, parts)))[:24]


def media_name(campaign_key: str, annotator_id: str, media_url: str) -> str:
    """Return the name under which one annotator gets a file; to others it leads nowhere."""
    path = media_url.partition("#")[0]
    suffix = PurePosixPath(path.partition("?")[0]).suffix.lower()
    return _name("media", campaign_key, annotator_id, path) + (suffix if suffix[1:].isalnum() else "")


def media_address(files: Container[str], campaign_key: str, annotator_id: str, media_url: str) -> str:
    """Return where a page finds an item: beside it, elsewhere, or (empty) nowhere.

    files: every media_url, without its fragment, of which a file is here.
    """
    if media_url.partition("#")[0] in files:
        return "media/" + media_name(campaign_key, annotator_id, media_url)
    return media_url if is_address(media_url) else ""


def part_of(media_url: str) -> tuple[float, float | None] | None:
    """Return from which second to which a media fragment plays; None where there is none.

    Examples:
        >>> part_of("clip.mp4#t=3,5.5"), part_of("clip.mp4#t=,4"), part_of("clip.mp4")
        ((3.0, 5.5), (0.0, 4.0), None)
    """
    found = _PART.fullmatch(media_url.partition("#")[2])
    return (float(found[1] or 0), float(found[2]) if found[2] else None) if found else None


def shown_page(
    page: Page, labels: Mapping[Asked, str], was: Mapping[Asked, str], address: Callable[[str], str]
) -> dict[str, object]:
    """Return a page as the browser gets it: no pair, no kind, no file name.

    labels: what was answered so far; empty for what was reported as missing. was: what was answered, also
    where it was taken back. address: where the browser finds an item; of a text the text itself.
    """
    return {
        "id": page.id,
        "media": address(page.media_url),
        "part": part_of(page.media_url),
        "reference": address(page.reference_url) if page.reference_url else None,
        "captions": [
            {
                "task": task.id,
                "text": task.caption,
                "label": labels.get(task.asked),
                "was": was.get(task.asked),
            }
            for task in page.tasks
        ],
    }
