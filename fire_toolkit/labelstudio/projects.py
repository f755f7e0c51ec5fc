"""A campaign's projects on a server: how they are set up, known again, and held to what they show."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from fire_toolkit.campaign.records import Campaign, QueueName
from fire_toolkit.errors import ServerError
from fire_toolkit.guidelines.instructions import instructions_html
from fire_toolkit.guidelines.label_config import config_sha256, parse_label_config
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.guidelines.several import IN_PLACE_OF_KEYS, several_config

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
    """Return those of a server's projects that are of the campaign, by queue, in the order listed.

    The first one of each queue is the one to judge in.
    """
    found: dict[QueueName, list[Project]] = {}
    for project in listed:
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
            "guideline says; restore it under Settings, Labeling Interface "
            f"(`fire-toolkit guideline --part {'pages' if several else 'config'}` prints it)"
        )
