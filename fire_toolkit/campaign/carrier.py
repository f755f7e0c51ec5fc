"""What carries a campaign: its tasks to people, their answers back into the ledger.

A server is one carrier (`labelstudio`), a folder of files another (`folder`). Who is asked what (`queues`,
`rounds`), the ledger and all that is read from it are the campaign's own, whoever carries it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from fire_toolkit.campaign.records import Campaign, QueueName, Round
from fire_toolkit.errors import UsageError
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.plugins import Registry

Report = Callable[[int], None]
NOT_PUSHED = "nothing was pushed from this workspace; push first (answers from files: `fire-toolkit import`)"


def no_report(n: int) -> None:
    """Count nothing."""


@dataclass(frozen=True)
class Delivered:
    """What was done for one queue.

    n_there: tasks that people had before; n_added; n_held: tasks that wait for the training.
    """

    queue: QueueName
    n_there: int = 0
    n_added: int = 0
    n_held: int = 0


@dataclass(frozen=True)
class Fetched:
    """What came into the ledger: how many rows of each state, and sentences with counts."""

    counts: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Carried:
    """What a carrier carries: its rounds of a campaign, and the guideline they are judged by.

    known: the campaign, None where none has begun; store: the file of its record.
    """

    known: Campaign | None
    rounds: Sequence[Round]
    guideline: Guideline
    store: Path

    @property
    def campaign(self) -> Campaign:
        """The campaign; a usage error where none has begun."""
        if self.known is None:
            raise UsageError(NOT_PUSHED)
        return self.known


class Carrier(Protocol):
    """What a campaign asks of its carrier. Each step can be cut short and run again: nothing is doubled."""

    def deliver(self, carried: Carried, *, report: Report = no_report) -> Sequence[Delivered]:
        """Bring every queue to its annotator, as far as it is not there."""

    def fetch(self, carried: Carried, *, is_full: bool = False, report: Report = no_report) -> Fetched:
        """Add to the record what was answered since the last time (is_full: read all again)."""

    def retire(self, names: Iterable[str]) -> None:
        """Stop asking annotators; what they answered stays theirs."""

    def where(self, carried: Carried) -> dict[QueueName, str]:
        """Return where each queue is judged, an address or a file; without those that are nowhere."""


# Carriers of plug-ins, each made for the folder of a workspace; the built-in two take more than that.
CARRIERS: Registry[Callable[[Path], Carrier]] = Registry("carriers", "carrier")
