"""Label Studio as the carrier of a campaign: queues to projects, answers to the record."""

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from fire_toolkit.campaign.carrier import Carried, Fetched, Report, no_report
from fire_toolkit.campaign.records import QueueName
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.views import answered_pairs
from fire_toolkit.errors import FireError
from fire_toolkit.labelstudio.accounts import Accounts, pseudonyms
from fire_toolkit.labelstudio.api import Api
from fire_toolkit.labelstudio.connection import SERVER_FOLDER, Connection
from fire_toolkit.labelstudio.places import OnServer, missed_words, own_projects
from fire_toolkit.labelstudio.pull import pull_answers
from fire_toolkit.labelstudio.push import Plan, Push, make_queues

_STILL_TRUE_S = 5.0  # so long after a look at the server its findings are acted upon


class LabelStudio:
    """A server that carries the campaign of the workspace `root`: a project for each queue.

    accepts_loss: `fetch` records the answers of projects that are gone as deleted; replaces: `deliver` makes
    other projects for those that are gone; ready: is told what each queue lacks before anything is written,
    and may refuse by raising.
    """

    def __init__(
        self,
        connection: Connection,
        root: Path,
        *,
        accepts_loss: bool = False,
        replaces: bool = False,
        ready: Callable[[Sequence[Plan]], None] = lambda plans: None,
    ) -> None:
        self._connection, self._private = connection, root / SERVER_FOLDER
        self._accepts_loss, self._replaces, self._ready = accepts_loss, replaces, ready

    def deliver(self, carried: Carried, *, report: Report = no_report) -> list[Plan]:
        """Push every queue; what waits for a training that is done follows now.

        Tasks that have moved to somebody else are closed first. Every project of the campaign is written down
        as a place as soon as it is seen or made.

        Raises:
            FireError: a project that this workspace knows is gone or has lost its mark, and it lacks tasks.
        """
        campaign, guideline = carried.campaign, carried.guideline
        with Api(self._connection) as api, Store(carried.store) as kept:
            done = answered_pairs(kept)
            queues = [
                queue
                for entry in carried.rounds
                for queue in make_queues(entry, guideline, done=done, campaign_key=campaign.key)
            ]
            seen = OnServer(api, campaign, kept)
            push = Push(api, campaign, guideline, made=seen.note)
            plans = push.plan(queues, listed=seen.listed)
            started = time.monotonic()
            waiting = {str(plan.queue) for plan in plans if plan.missing and not self._replaces}
            if missed := [
                missed_words(campaign, place)[0] for place in seen.lost() if place.queue in waiting
            ]:
                raise FireError(
                    f"{'; '.join(missed)}; nothing was sent. Restore it (`fire-toolkit doctor` says how), or "
                    "push with --replace, which makes another for what has no answer here"
                )
            self._ready(plans)
            seen.note(*seen.listed)
            if time.monotonic() - started > _STILL_TRUE_S:
                plans = push.plan(queues)
            pushed = list(push.carry_out(plans, report=report))
            seen.note_pushed({plan.project: plan.there.total() + len(plan.missing) for plan in pushed})
            return pushed

    def fetch(self, carried: Carried, *, is_full: bool = False, report: Report = no_report) -> Fetched:
        """Pull what has changed, under the pseudonyms of the register."""
        campaign = carried.campaign
        names = pseudonyms(Accounts(self._connection, self._private).refresh())
        loss = self._accepts_loss
        with Api(self._connection) as api, Store(carried.store, shows_now=True) as kept:
            return pull_answers(
                api, campaign, kept, names=names, is_full=is_full, accepts_loss=loss, report=report
            )

    def retire(self, names: Iterable[str]) -> None:
        """Deactivate annotators' accounts."""
        Accounts(self._connection, self._private).retire(names)

    def where(self, carried: Carried) -> dict[QueueName, str]:
        """Return the addresses at which the tasks of each queue come one after another."""
        numbers = {entry.number for entry in carried.rounds}
        with Api(self._connection) as api:
            found = own_projects(api.projects(), carried.campaign)
        return {
            queue: self._connection.labeling_page(int(copies[0]["id"]))
            for queue, copies in found.items()
            if queue.round in numbers
        }
