"""A campaign's projects on a server: how they are known again, and how they are set up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from fire_toolkit.campaign.records import Campaign, QueueName
from fire_toolkit.errors import ServerError
from fire_toolkit.guidelines.instructions import instructions_html
from fire_toolkit.guidelines.label_config import config_sha256, parse_label_config
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.guidelines.several import IN_PLACE_OF_KEYS, several_config
from fire_toolkit.labelstudio.api import Api
from fire_toolkit.labelstudio.differences import config_difference

_MARK = re.compile(
    r"fire-toolkit campaign (?P<key>\S+) round (?P<round>\d+) queue (?P<annotator>\S+)"
    r"( part (?P<part>[1-9]\d{0,5})(?!\S))?"
)
_MAX_TITLE = 50
RETIRED = " retired"
_REPEATED = "<Repeater"

# What nobody may change by hand: blind, no empty answers, in our order.
GUARDED: dict[str, Any] = {
    "show_collab_predictions": False,
    "enable_empty_annotation": False,
    "sampling": "Sequential sampling",
}


def project_mark(campaign: Campaign, queue: QueueName, part: int = 1) -> str:
    """Return the description by which a project is known again as a part of a queue, mostly its only one."""
    mark = f"fire-toolkit campaign {campaign.key} round {queue.round} queue {queue.annotator_id}"
    return mark if part == 1 else f"{mark} part {part}"


def part_of(project: Mapping[str, Any]) -> int:
    """Return which part of its queue a project of a campaign is, from 1.

    Examples:
        >>> part_of({"description": "fire-toolkit campaign k round 1 queue A01 part 2"})
        2
    """
    found = _MARK.search(str(project.get("description") or ""))
    return int(found["part"] or 1) if found else 1


def marked_queue(campaign: Campaign, description: object) -> QueueName | None:
    """Return the queue of this campaign that a project's description names; None if it is not ours."""
    found = _MARK.search(description) if isinstance(description, str) else None
    if found is None or found["key"] != campaign.key:
        return None
    return QueueName(int(found["round"]), found["annotator"])


def is_retired(project: Mapping[str, Any]) -> bool:
    """Whether a project of the campaign is a copy in which nobody should judge."""
    return str(project.get("description") or "").rstrip().endswith(RETIRED)


def project_title(campaign: Campaign, queue: QueueName, part: int = 1) -> str:
    """Return a title that tells annotators which project is theirs, and nothing of where pairs come from."""
    which = f" · part {part}" if part > 1 else ""
    return f"{queue.annotator_id} · round {queue.round}{which} · {campaign.guideline}"[:_MAX_TITLE]


def campaign_projects(api: Api, campaign: Campaign) -> dict[QueueName, list[dict[str, Any]]]:
    """Return the projects of each queue of the campaign on the server, by part, lowest number first."""
    return own_projects(api.projects(), campaign)


def own_projects(
    listed: Iterable[dict[str, Any]], campaign: Campaign
) -> dict[QueueName, list[dict[str, Any]]]:
    """Return those of a server's projects that are of the campaign, by queue and part, in the order listed.

    Retired copies come last, so that the first one of each part is the one to judge in.
    """
    found: dict[QueueName, list[dict[str, Any]]] = {}
    for project in listed:
        name = marked_queue(campaign, project.get("description"))
        if name is not None:
            found.setdefault(name, []).append(project)
    return {
        name: sorted(projects, key=lambda project: (is_retired(project), part_of(project)))
        for name, projects in found.items()
    }


def kept_parts(projects: Iterable[dict[str, Any]]) -> dict[int, list[dict[str, Any]]]:
    """Return a queue's projects by part, without retired ones; the first of each is the one to judge in."""
    parts: dict[int, list[dict[str, Any]]] = {}
    for project in projects:
        if not is_retired(project):
            parts.setdefault(part_of(project), []).append(project)
    return dict(sorted(parts.items()))


def project_settings(
    campaign: Campaign, name: QueueName, guideline: Guideline, part: int = 1, *, is_several: bool = False
) -> dict[str, Any]:
    """Return the settings of a queue's project: blind, no empty answers, in our order.

    part: which one of the queue's projects, from 1; is_several: its pages have several captions.
    """
    return {
        "title": project_title(campaign, name, part),
        "description": project_mark(campaign, name, part),
        "label_config": several_config(guideline.label_config) if is_several else guideline.label_config,
        "expert_instruction": (f"<p><b>{IN_PLACE_OF_KEYS}</b></p>\n" if is_several else "")
        + instructions_html(guideline.text),
        "show_instruction": True,
        **GUARDED,
        "maximum_annotations": 1,
    }


def check_config(campaign: Campaign, project: Mapping[str, Any]) -> None:
    """Raise `ServerError` unless a project shows the campaign's labeling page, or that of several captions.

    The latter is made of the former, and may look as another version of this package made it.
    """
    shown = str(project.get("label_config") or "")
    where = f"project {project.get('id')} ({project.get('title')})"
    is_same = config_sha256(shown or "<View/>", where=where) == campaign.config_sha256
    several = several_config(campaign.label_config) if not is_same and _REPEATED in shown else ""
    if several:
        is_same = parse_label_config(shown, where=where).asks_as(parse_label_config(several))
    if not is_same:
        raise ServerError(
            f"{where}: its labeling config was changed on the server, so answers may not mean what the "
            f"guideline says: {config_difference(several or campaign.label_config, shown)}; restore it under "
            "Settings, Labeling Interface "
            f"(`fire-toolkit guideline --part {'pages' if several else 'config'}` prints it)"
        )
