"""Our own page as a carrier: queues are shown, and answers come, from the campaign's record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from fire_toolkit.campaign.carrier import Delivered, Fetched, Report, no_report
from fire_toolkit.campaign.records import Campaign, QueueName, Round, write_retired
from fire_toolkit.campaign.store import Store
from fire_toolkit.errors import UsageError
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.pages.answers import fold_records
from fire_toolkit.pages.links import end_links, read_links


class OwnPage:
    """The page of `fire-toolkit page serve` for the workspace `root`."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def deliver(
        self,
        campaign: Campaign,
        rounds: Sequence[Round],
        guideline: Guideline,
        store: Path,
        *,
        report: Report = no_report,
    ) -> list[Delivered]:
        """Count every queue; the page reads them from the campaign's record, so nothing is sent."""
        given = []
        for entry in rounds:
            for name, rows in entry.assignments.groupby("annotator_id", sort=True):
                given.append(Delivered(QueueName(entry.number, str(name)), n_there=len(rows)))
                report(len(rows))
        return given

    def fetch(
        self,
        campaign: Campaign | None,
        rounds: Sequence[Round],
        store: Path,
        *,
        is_full: bool = False,
        report: Report = no_report,
    ) -> Fetched:
        """Add what was done on the page to the record's answers, as far as they are not there."""
        if campaign is None:
            raise UsageError("nothing was pushed from this workspace; push first")
        with Store(store) as kept:
            report(fold_records(kept.page_records(), campaign.key, kept))
            return Fetched(kept.counts, tuple(kept.notes))

    def retire(self, names: Iterable[str]) -> None:
        """End annotators' links; what they answered stays theirs."""
        gone = set(names)
        write_retired(self._root, gone)
        end_links(self._root, gone)

    def where(self, campaign: Campaign, rounds: Sequence[Round]) -> dict[QueueName, str]:
        """Return for each queue whether its annotator has a link; the links themselves are not kept."""
        known = read_links(self._root)
        return {
            QueueName(entry.number, name): "a link was made" if name in known else "no link yet"
            for entry in rounds
            for name in entry.assignments["annotator_id"].unique()
        }
