"""A campaign over a shared disk: a sheet for each annotator in a folder that all can reach."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fire_toolkit.campaign.carrier import Carried, Delivered, Fetched, Report, no_report
from fire_toolkit.campaign.queues import Assignments
from fire_toolkit.campaign.records import QueueName, Round
from fire_toolkit.folder.carrier import Folder, queue_tasks
from fire_toolkit.folder.sheets import sheet_of
from fire_toolkit.workspace.manifests import write_files


class SharedDisk:
    """The carrier of the workspace `root`: sheets lie in its folder `shared`, and are filled in there."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._disk = root / "shared"

    def deliver(self, carried: Carried, *, report: Report = no_report) -> list[Delivered]:
        """Write the sheets that are not there; one that is may hold answers, and stays."""
        given = []
        for entry in carried.rounds:
            for queue, sheet in self._sheets(entry).items():
                is_own = entry.assignments["annotator_id"] == queue.annotator_id
                tasks = queue_tasks(entry, Assignments(entry.assignments[is_own]))
                is_new = not sheet.exists()
                if is_new:
                    write_files({sheet: sheet_of(tasks, carried.guideline)})
                report(len(tasks))
                given.append(Delivered(queue, *((0, len(tasks)) if is_new else (len(tasks), 0))))
        return given

    def fetch(self, carried: Carried, *, is_full: bool = False, report: Report = no_report) -> Fetched:
        """Read every sheet as the files of a campaign by hand are read; what is known is not added again."""
        found = [sheet for entry in carried.rounds for sheet in self._sheets(entry).values()]
        files = Folder(self._root, exports=[sheet for sheet in found if sheet.is_file()])
        return files.fetch(carried, is_full=is_full, report=report)

    def retire(self, names: Iterable[str]) -> None:
        """Do nothing: who has a sheet may finish it."""

    def where(self, carried: Carried) -> dict[QueueName, str]:
        """Return the sheet of each queue."""
        sheets = {queue: sheet for entry in carried.rounds for queue, sheet in self._sheets(entry).items()}
        return {queue: str(sheet) for queue, sheet in sheets.items() if sheet.is_file()}

    def _sheets(self, entry: Round) -> dict[QueueName, Path]:
        names = dict.fromkeys(entry.assignments["annotator_id"])
        return {
            QueueName(entry.number, name): self._disk / f"round-{entry.number}.{name}.csv" for name in names
        }
