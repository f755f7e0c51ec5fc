"""Tasks that are not asked of an annotator any more: closed on the server, never deleted."""

from __future__ import annotations

from collections.abc import Sequence

from fire_toolkit.campaign.moves import withdrawn_pairs
from fire_toolkit.campaign.page_json import page_key
from fire_toolkit.campaign.queue_pages import queue_pages
from fire_toolkit.campaign.records import Campaign, QueueName, Round
from fire_toolkit.labelstudio.api import Api
from fire_toolkit.labelstudio.projects import campaign_projects
from fire_toolkit.labelstudio.sweep import tasks_with_keys


def close_withdrawn(api: Api, campaign: Campaign, rounds: Sequence[Round]) -> int:
    """Close the tasks that have moved away from their annotator, and return how many were still open.

    A page of several captions is closed when all its pairs have moved. To delete tasks could take along an
    answer that is given at the same moment. A closed task is not offered any more; whoever has it open can
    still submit it.

    Raises:
        ServerError: the server fails; what is closed by then stays so, and another push goes on.
    """
    moved = {
        QueueName(entry.number, name): _withdrawn_tasks(entry, QueueName(entry.number, name), campaign.key)
        for entry in rounds
        for name in withdrawn_pairs(entry.moves)
    }
    if not moved:
        return 0
    n_closed = 0
    for queue, projects in campaign_projects(api, campaign).items():
        keys = sorted(moved.get(queue, ()))
        for project in projects if keys else ():
            found = tasks_with_keys(api, int(project["id"]), keys, include=("id", "data", "is_labeled"))
            for number in {task["id"]: None for task in found if not task.get("is_labeled")}:
                api.close_task(number)
                n_closed += 1
    return n_closed


def _withdrawn_tasks(entry: Round, queue: QueueName, campaign_key: str) -> frozenset[str]:
    """Return the keys of the tasks of a queue that its annotator has no more."""
    if entry.n_captions == 1:
        return withdrawn_pairs(entry.moves)[queue.annotator_id]
    pages = queue_pages(entry, queue.annotator_id)
    return frozenset(page_key(campaign_key, queue, page.pairs) for page in pages if page.is_withdrawn)
