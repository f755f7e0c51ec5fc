"""Tasks that are not asked of an annotator any more: closed on the server, never deleted."""

from __future__ import annotations

from collections.abc import Sequence

from fire_toolkit.campaign.moves import withdrawn_pairs
from fire_toolkit.campaign.records import Campaign, QueueName, Round
from fire_toolkit.labelstudio.api import Api
from fire_toolkit.labelstudio.projects import campaign_projects
from fire_toolkit.labelstudio.sweep import tasks_with_keys


def close_withdrawn(api: Api, campaign: Campaign, rounds: Sequence[Round]) -> int:
    """Close the tasks that have moved away from their annotator, and return how many were still open.

    To delete them could take an answer along that is given at the same moment. A closed task is not offered
    any more; whoever has it open can still submit it.

    Raises:
        ServerError: the server fails; what is closed by then stays so, and another push goes on.
    """
    moved = {
        QueueName(entry.number, name): pairs
        for entry in rounds
        for name, pairs in withdrawn_pairs(entry.moves).items()
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
