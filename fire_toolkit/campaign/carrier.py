"""What carries a campaign: its tasks to people, their answers back into the ledger.

A server is one carrier (`labelstudio`), a folder of files another (`folder`). Who is asked what (`queues`,
`rounds`), the ledger and all that is read from it are the campaign's own, whoever carries it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from fire_toolkit.campaign.records import Campaign, QueueName, Round
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.plugins import Registry

Report = Callable[[int], None]


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


class Carrier(Protocol):
    """What a campaign asks of its carrier. Each step can be cut short and run again: nothing is doubled."""

    def deliver(
        self,
        campaign: Campaign,
        rounds: Sequence[Round],
        guideline: Guideline,
        store: Path,
        *,
        report: Report = no_report,
    ) -> Sequence[Delivered]:
        """Bring every queue of `rounds` to its annotator, as far as it is not there; `store`: the record."""

    def fetch(
        self,
        campaign: Campaign | None,
        rounds: Sequence[Round],
        store: Path,
        *,
        is_full: bool = False,
        report: Report = no_report,
    ) -> Fetched:
        """Add to the record `store` what was answered since the last time (is_full: read all again)."""

    def retire(self, names: Iterable[str]) -> None:
        """Stop asking annotators; what they answered stays theirs."""

    def where(self, campaign: Campaign, rounds: Sequence[Round]) -> dict[QueueName, str]:
        """Return where each queue is judged, an address or a file; without those that are nowhere."""


# Carriers of plug-ins, each made for the folder of a workspace; the built-in two take more than that.
CARRIERS: Registry[Callable[[Path], Carrier]] = Registry("carriers", "carrier")
