"""The pages of a queue: the pairs of one item that are judged together, on every carrier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from fire_toolkit.campaign.page_json import PAGE
from fire_toolkit.campaign.queues import TRAINING, even_pages
from fire_toolkit.campaign.records import QueueName, Round
from fire_toolkit.campaign.task_json import META, PAIR_ID, ROUND, shown_columns
from fire_toolkit.files import text_sha256
from fire_toolkit.guidelines.label_config import CAPTIONS, TEXT, caption_entry, parse_label_config
from fire_toolkit.guidelines.model import CAPTION, Guideline
from fire_toolkit.tables.columns import listed


@dataclass(frozen=True)
class QueuePage:
    """Pairs of one item in their order, as they are shown; is_training: all of them, or none.

    withdrawn: those of them that have moved away from the annotator since.
    """

    pairs: tuple[str, ...]
    is_training: bool
    withdrawn: frozenset[str] = frozenset()

    @property
    def is_withdrawn(self) -> bool:
        """Whether nothing on the page is the annotator's any more."""
        return self.withdrawn.issuperset(self.pairs)


def queue_pages(entry: Round, annotator_id: str) -> list[QueuePage]:
    """Return the pages of an annotator's queue in a round, in their order; none if she has no queue.

    Pages are made once of what was drawn, and of what came into the queue on each later occasion: what moves
    away leaves the page as it was, so that a page on a server stays the same task.
    """
    own = entry.given[entry.given["annotator_id"] == annotator_id].sort_values("position")
    gone = frozenset(own.loc[~own["is_there"], "pair_id"])
    return [
        QueuePage(pairs, is_training, gone.intersection(pairs))
        for _, rows in own.groupby("batch", sort=True)
        for pairs, is_training in pages_of(rows, entry.items, entry.n_captions)
    ]


def pages_of(
    rows: pd.DataFrame, items: Mapping[str, tuple[str, str]], n_captions: int
) -> list[tuple[tuple[str, ...], bool]]:
    """Return the pairs of a queue as pages of one item, each with whether it is training, which comes first.

    Args:
        rows: pair_id and kind, in the order of the queue. The pairs of an item come together, as early as the
            first of them, in this order, which is random; captions without an item come one by one.
        items: of each pair, as `Round.items`.
        n_captions: how many pairs a page may have.
    """
    grouped: dict[tuple[bool, tuple[str, str]], list[str]] = {}
    queue = listed(rows["pair_id"])
    for pair, kind in zip(queue, listed(rows["kind"]), strict=True):
        item = items[pair] if items[pair][0] else (pair, "")
        grouped.setdefault((kind == TRAINING, item), []).append(pair)
    order = {pair: place for place, pair in enumerate(queue)}
    pages = [
        (page, is_training)
        for (is_training, _), own in grouped.items()
        for page in even_pages(own, n_captions)
    ]
    return sorted(pages, key=lambda page: (not page[1], order[page[0][0]]))


def task_pages(
    entry: Round, guideline: Guideline, campaign_key: str
) -> dict[QueueName, list[tuple[QueuePage, dict[str, Any]]]]:
    """Return the pages of each queue of a round, in their order, each as a task that Label Studio imports.

    Queues are by annotator, those too from whom all has moved away. A page of one caption is the task of its
    pair.

    Args:
        entry: the round.
        guideline: whose labeling page has the answers and flags.
        campaign_key: makes the keys of pages with several captions.
    """
    names = shown_columns(guideline)
    columns = (listed(entry.tasks[name]) for name in names.values())
    contents = [dict(zip(names, texts, strict=True)) for texts in zip(*columns, strict=True)]
    by_pair = {content[PAIR_ID]: content for content in contents}
    labeling = parse_label_config(guideline.label_config)
    later = {META: {ROUND: entry.number}} if entry.number > 1 else {}
    queues: dict[QueueName, list[tuple[QueuePage, dict[str, Any]]]] = {}
    for annotator_id in sorted(entry.given["annotator_id"].unique()):
        queue = QueueName(entry.number, annotator_id)
        queues[queue] = found = []
        for page in queue_pages(entry, annotator_id):
            data = shown = by_pair[page.pairs[0]]
            if entry.n_captions > 1:
                captions = [
                    {TEXT: by_pair[pair][CAPTION], PAIR_ID: pair, **caption_entry(labeling, row)}
                    for row, pair in enumerate(page.pairs)
                ]
                data = {key: text for key, text in shown.items() if key != CAPTION}
                digest = text_sha256("\x1f".join([campaign_key, str(queue), *page.pairs]))
                data |= {CAPTIONS: captions, PAIR_ID: PAGE + digest[:24]}  # tells nothing of its pairs
            found.append((page, {"data": data} | later))
    return queues
