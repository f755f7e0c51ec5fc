"""Our own page as a carrier: queues are shown, and answers come, from the campaign's record."""

from collections.abc import Iterable
from pathlib import Path

from fire_toolkit.campaign.carrier import Carried, Delivered, Fetched, Report, no_report
from fire_toolkit.campaign.records import QueueName, write_retired
from fire_toolkit.campaign.store import Store
from fire_toolkit.pages.answers import fold_records
from fire_toolkit.pages.office import end_links, read_links


class OwnPage:
    """The page of `fire-toolkit page serve` for the workspace `root`."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def deliver(self, carried: Carried, *, report: Report = no_report) -> list[Delivered]:
        """Count every queue; the page reads them from the campaign's record, so nothing is sent."""
        given = []
        for entry in carried.rounds:
            for name, rows in entry.assignments.groupby("annotator_id", sort=True):
                given.append(Delivered(QueueName(entry.number, str(name)), n_there=len(rows)))
                report(len(rows))
        return given

    def fetch(self, carried: Carried, *, is_full: bool = False, report: Report = no_report) -> Fetched:
        """Add what was done on the page to the record's answers, as far as they are not there."""
        key = carried.campaign.key
        with Store(carried.store) as kept:
            report(fold_records(kept.page_records(), key, kept))
            return Fetched(kept.counts, tuple(kept.notes))

    def retire(self, names: Iterable[str]) -> None:
        """End annotators' links; what they answered stays theirs."""
        gone = set(names)
        write_retired(self._root, gone)
        end_links(self._root, gone)

    def where(self, carried: Carried) -> dict[QueueName, str]:
        """Return for each queue whether its annotator has a link; the links themselves are not kept."""
        known = read_links(self._root)
        return {
            QueueName(entry.number, name): "a link was made" if name in known else "no link yet"
            for entry in carried.rounds
            for name in entry.assignments["annotator_id"].unique()
        }
