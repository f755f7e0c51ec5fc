"""The queues of a round as the tasks that are sent, each known by its key: a pair, or a page of several."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from fire_toolkit.campaign.moves import withdrawn_pairs
from fire_toolkit.campaign.page_json import page_tasks
from fire_toolkit.campaign.queue_pages import QueuePage
from fire_toolkit.campaign.queues import TRAINING
from fire_toolkit.campaign.records import QueueName, Round
from fire_toolkit.campaign.task_json import PAIR_ID, tasks_to_json
from fire_toolkit.guidelines.model import Guideline

Payload = dict[str, Any]


@dataclass(frozen=True)
class Queue:
    """The tasks of one annotator in their order, as they are sent; n_held wait for the training.

    withdrawn: tasks that were hers and are not asked of her any more; answered: tasks whose answer the ledger
    has, which are not asked again should they be gone (with their project, say). Each task is known by its
    key: the pair, or the page where is_several.
    """

    name: QueueName
    tasks: tuple[Payload, ...]
    n_held: int = 0
    withdrawn: frozenset[str] = frozenset()
    answered: frozenset[str] = frozenset()
    is_several: bool = False

    @property
    def to_ask(self) -> tuple[Payload, ...]:
        """The tasks that have no answer yet."""
        return tuple(task for task in self.tasks if key_of(task) not in self.answered)


def make_queues(
    entry: Round,
    guideline: Guideline,
    *,
    done: Collection[tuple[str, str]],
    campaign_key: str = "",
) -> list[Queue]:
    """Return the queues of a round, by annotator.

    Args:
        entry: the round; if its pages have several captions, each is one task.
        guideline: names the keys of a task's data.
        done: (queue, pair) of every answer so far; while a queue's training is not done, the
            rest of it is held back, so that nobody can begin with it.
        campaign_key: makes the keys of pages.
    """
    if entry.n_captions > 1:
        names = [QueueName(entry.number, name) for name in sorted(set(entry.assignments["annotator_id"]))]
        return [_queue_of_pages(entry, name, guideline, done, campaign_key) for name in names]
    contents = tasks_to_json(entry.tasks, guideline).get(1, [])
    by_pair = {content["data"][PAIR_ID]: content for content in contents}
    withdrawn = withdrawn_pairs(entry.moves)
    queues = []
    for annotator_id, rows in entry.assignments.groupby("annotator_id", sort=True):
        name = QueueName(entry.number, str(annotator_id))
        ordered = rows.sort_values("position")
        training = ordered.loc[ordered["kind"] == TRAINING, "pair_id"]
        is_trained = all((str(name), pair) in done for pair in training)
        pairs = list(ordered["pair_id"] if is_trained else training)
        tasks = tuple(by_pair[pair] for pair in pairs)
        answered = frozenset(pair for pair in pairs if (str(name), pair) in done)
        gone = withdrawn.get(name.annotator_id, frozenset())
        queues.append(Queue(name, tasks, len(ordered) - len(pairs), gone, answered))
    return queues


def _queue_of_pages(
    entry: Round,
    name: QueueName,
    guideline: Guideline,
    done: Collection[tuple[str, str]],
    campaign_key: str,
) -> Queue:
    """Return a queue whose tasks are pages; one with an unanswered pair is asked whole."""
    pages = page_tasks(entry, name, guideline, campaign_key)

    def is_done(page: QueuePage) -> bool:
        return all((str(name), pair) in done for pair in page.pairs if pair not in page.withdrawn)

    kept = [(page, task) for page, task in pages if not page.is_withdrawn]
    is_trained = all(is_done(page) for page, _ in kept if page.is_training)
    sent = [(page, task) for page, task in kept if is_trained or page.is_training]
    gone = frozenset(key_of(task) for page, task in pages if page.is_withdrawn)
    answered = frozenset(key_of(task) for page, task in sent if is_done(page))
    tasks = tuple(task for _, task in sent)
    return Queue(name, tasks, len(kept) - len(sent), gone, answered, is_several=True)


def key_of(task: Mapping[str, Any]) -> str:
    """Return the key that a task's data holds; empty if there is none."""
    content = task.get("data")
    key = content.get(PAIR_ID) if isinstance(content, dict) else None
    return key if isinstance(key, str) else ""
