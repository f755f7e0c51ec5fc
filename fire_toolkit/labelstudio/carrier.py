"""Label Studio as the carrier of a campaign: queues to projects, answers to the ledger."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from fire_toolkit.campaign.carrier import Fetched, Report, no_report
from fire_toolkit.campaign.ledger import Ledger
from fire_toolkit.campaign.progress import answered_pairs
from fire_toolkit.campaign.records import (
    Campaign,
    QueueName,
    Round,
    read_marks,
    write_marks,
)
from fire_toolkit.campaign.store import Store
from fire_toolkit.errors import UsageError
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.labelstudio.accounts import Accounts
from fire_toolkit.labelstudio.annotators import pseudonyms
from fire_toolkit.labelstudio.api import Api
from fire_toolkit.labelstudio.connection import MOST_TASKS, SERVER_FOLDER, Connection, labeling_page
from fire_toolkit.labelstudio.projects import campaign_projects, kept_parts
from fire_toolkit.labelstudio.pull import pull_answers
from fire_toolkit.labelstudio.push import Plan, Pushed, carry_out, plan_push
from fire_toolkit.labelstudio.sent_tasks import make_queues
from fire_toolkit.labelstudio.withdraw import close_withdrawn

_STILL_TRUE_S = 5.0  # so long after a look at the server its findings are acted upon


def _ready(plans: Sequence[Plan]) -> None:
    """Refuse nothing."""


class LabelStudio:
    """A server that carries the campaign of the workspace `root`: a project for each queue, or several.

    accepts_loss: `fetch` records the answers of projects that are gone as deleted; most_tasks: in a project,
    beyond which a queue goes on in another.
    """

    def __init__(
        self,
        connection: Connection,
        root: Path,
        *,
        accepts_loss: bool = False,
        most_tasks: int = MOST_TASKS,
    ) -> None:
        self._connection = connection
        self._root = root
        self._accepts_loss = accepts_loss
        self._most_tasks = most_tasks

    @property
    def _accounts(self) -> Accounts:
        return Accounts(self._connection, self._root / SERVER_FOLDER)

    def deliver(
        self,
        campaign: Campaign,
        rounds: Sequence[Round],
        guideline: Guideline,
        ledger: Ledger,
        *,
        report: Report = no_report,
        ready: Callable[[Sequence[Plan]], None] = _ready,
    ) -> list[Pushed]:
        """Push every queue; what waits for a training that is done follows now.

        Tasks that have moved to somebody else are closed first.

        ready: is told what each queue lacks before anything is written, and may refuse by raising.
        """
        done = answered_pairs(ledger, rounds)
        queues = [
            queue
            for entry in rounds
            for queue in make_queues(entry, guideline, done=done, campaign_key=campaign.key)
        ]
        with Api(self._connection) as api:
            plans = plan_push(api, campaign, queues)
            started = time.monotonic()
            ready(plans)
            close_withdrawn(api, campaign, rounds)
            if time.monotonic() - started > _STILL_TRUE_S:
                plans = plan_push(api, campaign, queues)
            done_in = carry_out(
                api, campaign, plans, guideline=guideline, most_tasks=self._most_tasks, report=report
            )
            return list(done_in)

    def fetch(
        self,
        campaign: Campaign | None,
        rounds: Sequence[Round],
        store: Path,
        *,
        is_full: bool = False,
        report: Report = no_report,
    ) -> Fetched:
        """Pull what has changed, under the pseudonyms of the register."""
        if campaign is None:
            raise UsageError("nothing was pushed from this workspace; push first")
        names = pseudonyms(self._accounts.refresh())
        with Api(self._connection) as api, Store(store, shows_now=True) as kept:
            return pull_answers(
                api,
                campaign,
                kept,
                names=names,
                marks=read_marks(self._root),
                is_full=is_full,
                accepts_loss=self._accepts_loss,
                report=report,
                keep=lambda marks: write_marks(self._root, marks),
            )

    def retire(self, names: Iterable[str]) -> None:
        """Deactivate annotators' accounts."""
        self._accounts.retire(names)

    def where(self, campaign: Campaign, rounds: Sequence[Round]) -> dict[QueueName, str]:
        """Return the addresses at which the tasks of each queue come one after another, joined by commas."""
        numbers = {entry.number for entry in rounds}
        with Api(self._connection) as api:
            found = campaign_projects(api, campaign)
        return {
            queue: ", ".join(
                labeling_page(self._connection, int(copies[0]["id"]))
                for copies in kept_parts(projects).values()
            )
            for queue, projects in found.items()
            if queue.round in numbers
        }
