"""Pages of several captions as tasks of Label Studio, and their answers as those of single pairs.

A page is one task: the item, and under `captions` for each caption its text, its pair and its answers with
their keys. What comes back names captions by their places (`relevance_3`), so it is split here, where it is
read: whatever follows sees one task for each pair, with its share of the time.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fire_toolkit.campaign.keys import split_pair_id
from fire_toolkit.campaign.task_json import PAIR_ID
from fire_toolkit.guidelines.label_config import CAPTIONS, TEXT
from fire_toolkit.guidelines.model import CAPTION

PART = "page_part"
PAGE = "page:"
BESIDE = " pair "  # between the key of a page's annotation and the pair, in the key of one answer of it
_CONTROL = re.compile(r"(.+)_(0|[1-9][0-9]{0,5})")


def is_page(key: object) -> bool:
    """Whether a task's key is that of a page."""
    return isinstance(key, str) and key.startswith(PAGE)


def key_words(key: str) -> str:
    """Return what a task's key means: query and doc, or the page.

    Examples:
        >>> key_words("q1|video7"), key_words("page:0123")
        ('q1 video7', 'page:0123')
    """
    return key if is_page(key) else " ".join(split_pair_id(key))


def first_three(words: Sequence[str]) -> str:
    """Return the first three texts, and a sign where there are more.

    Examples:
        >>> first_three(["a", "b"]), first_three(["a", "b", "c", "d"])
        ('a; b', 'a; b; c; …')
    """
    return "; ".join([*words[:3], *(["…"] if len(words) > 3 else [])])


def split_pages(tasks: Iterable[Any]) -> Iterator[Any]:
    """Yield tasks with their answers as they are, and in place of each page a task for each of its captions.

    Such a task has the caption's text and pair, and of each annotation and draft what was answered to it,
    under the names that a page of one pair has (`relevance`, `flags`); its `page_part` is the page, empty
    where it has one caption, and the place there, from 1. lead_time is an
    equal share of the page's; page_s is that of the whole page. A caption that was not answered has an
    annotation without results, a page that was skipped a skip for each of its captions. A page whose captions
    are not as this toolkit writes them stays as it is, and names no pair.
    """
    for task in tasks:
        captions = _captions_of(task)
        if not captions:
            yield task
        for row, (pair, text) in enumerate(captions.items()):
            data = {key: value for key, value in task["data"].items() if key != CAPTIONS} | {CAPTION: text}
            page = data[PAIR_ID] if len(captions) > 1 else ""
            answers = {
                name: [_own(entry, row, pair, len(captions)) for entry in task[name]]
                for name in ("annotations", "drafts")
                if isinstance(task.get(name), list)
            }
            yield {**task, "data": {**data, PAIR_ID: pair}, PART: (page, row + 1), **answers}


def _captions_of(task: object) -> dict[str, object]:
    """Return the text of each pair of a page's captions; none where the task is no page."""
    data = task.get("data") if isinstance(task, dict) else None
    key = data.get(PAIR_ID) if isinstance(data, dict) else None
    captions = data.get(CAPTIONS) if isinstance(data, dict) else None
    if not is_page(key) or not isinstance(captions, list):
        return {}
    shown = [caption for caption in captions if isinstance(caption, dict)]
    named = {each[PAIR_ID]: each.get(TEXT) for each in shown if isinstance(each.get(PAIR_ID), str)}
    return named if len(named) == len(captions) else {}


def _own(entry: object, row: int, pair: str, n_captions: int) -> object:
    """Return what an annotation or a draft of a page says of one of its captions."""
    if not isinstance(entry, dict):
        return entry
    own = dict(entry)
    if isinstance(entry.get("result"), list):
        own["result"] = []
        for result in entry["result"]:
            name = result.get("from_name") if isinstance(result, dict) else None
            if not isinstance(name, str):  # not as Label Studio writes them: refused where results are read
                own["result"] += [] if result is None else [result]
            elif (found := _CONTROL.fullmatch(name)) and int(found[2]) == row:
                own["result"].append({**result, "from_name": found[1]})
    seconds = entry.get("lead_time")
    if isinstance(seconds, int | float) and not isinstance(seconds, bool):
        own |= {"lead_time": seconds / n_captions, "page_s": seconds}
    if isinstance(entry.get("unique_id"), str) and entry["unique_id"]:
        own["unique_id"] = part_key(entry["unique_id"], pair)
    return own


def part_key(annotation: str, pair: str) -> str:
    """Return the key of one answer of a page's annotation."""
    return f"{annotation}{BESIDE}{pair}"
