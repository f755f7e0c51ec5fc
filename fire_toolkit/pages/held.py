"""Who is asked what on our own page by now: everything, or the training alone until it is passed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fire_toolkit.campaign.ledger import Ledger
from fire_toolkit.campaign.qualification import PASSED, Qualification, training_results
from fire_toolkit.campaign.records import (
    BY_PAGE,
    PAUSED,
    RETIRED,
    Round,
    away,
    read_campaign,
    read_pass_mark,
)
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.pages.desk import Desk, make_desk


def has_passed(
    root: Path, rounds: Sequence[Round], ledger: Ledger, guideline: Guideline, annotator_id: str
) -> bool:
    """Whether an annotator has passed every training that she has; where no mark was set, she has."""
    mark = read_pass_mark(root)
    if mark is None:
        return True
    found = training_results(rounds, ledger, Qualification(*mark), grades=guideline.grades)
    return all(each.state == PASSED for each in found if each.queue.annotator_id == annotator_id)


def desks_now(
    root: Path, rounds: Sequence[Round], ledger: Ledger, guideline: Guideline, *, n_captions: int | None
) -> dict[str, Desk]:
    """Return what everybody is asked now who is neither retired nor paused, by name.

    Whoever has not passed the training is asked the training alone.
    """
    campaign = read_campaign(root)
    own = [entry for entry in rounds if entry.carrier == BY_PAGE]
    people = {name for entry in own for name in entry.assignments["annotator_id"]}
    desks = {}
    for name in sorted(people - away(root, RETIRED) - away(root, PAUSED)):
        desk = make_desk(own, name, campaign_key=campaign.key if campaign else "", n_captions=n_captions)
        if not has_passed(root, own, ledger, guideline, name):
            desk = Desk(tuple(page for page in desk.pages if page.tasks[0].is_training))
        desks[name] = desk
    return desks
