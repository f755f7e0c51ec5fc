"""What carries a campaign: its tasks to people, their answers back into the ledger.

A server is one carrier (`labelstudio`), a folder of files another (`folder`). Who is asked what (`queues`,
`rounds`), the ledger and all that is read from it are the campaign's own, whoever carries it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from fire_toolkit.campaign.ledger import ANSWERED, DELETED, EDITED, RESTORED
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
    """What came into the ledger.

    n_new: answers not seen before; n_edited; n_deleted; n_restored; n_projects: projects or files read;
    marks: for each project the time up to which its changes have been read; notes: sentences with counts.
    """

    n_new: int = 0
    n_edited: int = 0
    n_deleted: int = 0
    n_restored: int = 0
    n_projects: int = 0
    marks: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """How many rows of each state were added."""
        numbers = (self.n_new, self.n_edited, self.n_deleted, self.n_restored)
        return dict(zip(("new", "edited", "deleted", "restored"), numbers, strict=True))


def fetched(
    states: Mapping[str, int],
    *,
    n_projects: int = 0,
    marks: Mapping[str, str] | None = None,
    notes: Iterable[str] = (),
) -> Fetched:
    """Return what came in, from how many rows of each state were added."""
    n_new, n_edited, n_deleted, n_restored = (
        states[state] for state in (ANSWERED, EDITED, DELETED, RESTORED)
    )
    return Fetched(n_new, n_edited, n_deleted, n_restored, n_projects, marks or {}, tuple(notes))


def all_fetched(parts: Sequence[Fetched]) -> Fetched:
    """Return what came in from several carriers, of one what it was."""
    if len(parts) == 1:
        return parts[0]
    new, edited, deleted, restored = (
        sum(part.counts[state] for part in parts) for state in ("new", "edited", "deleted", "restored")
    )
    marks = {key: mark for part in parts for key, mark in part.marks.items()}
    notes = tuple(note for part in parts for note in part.notes)
    return Fetched(new, edited, deleted, restored, sum(part.n_projects for part in parts), marks, notes)


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
