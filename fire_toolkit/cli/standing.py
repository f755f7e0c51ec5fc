"""How far each queue is, in counts that are kept and follow the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fire_toolkit import __version__
from fire_toolkit.campaign.ledger import ledger_of, ledger_tables
from fire_toolkit.campaign.ledger_part import rows_beside
from fire_toolkit.campaign.progress import (
    Counts,
    QueueProgress,
    count_answers,
    count_given,
    progress_of,
)
from fire_toolkit.campaign.records import LEDGER_FOLDER, files_of_rounds, rounds_about
from fire_toolkit.errors import FireError
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.workspace.hashes import read_sealed, write_sealed
from fire_toolkit.workspace.segments import segments_of

RECORD = ".fire-progress"


def queues_now(root: Path, rules: Guideline) -> list[QueueProgress]:
    """Return what `measure_progress` does of the ledger of the workspace `root` and all that was asked.

    What the rows of before come to is taken from the record, where it is of the same version, guideline and
    assignments, and of segments that are all still there; new segments are counted with the rows they bear
    upon. Else all is counted. The record may be deleted at any time.

    Raises:
        FormatError: a damaged segment or file of a round.
    """
    paths = segments_of(root / LEDGER_FOLDER)
    ledger_tables(root / LEDGER_FOLDER, only=paths, names=["state"])  # a damaged one is named, also if known
    state = _state(root, rules)
    record = read_sealed(root / RECORD)
    kept = record if isinstance(record, dict) and record.get("state") == state else None
    names = [path.name for path in paths]
    if kept and kept["segments"] == names:
        return progress_of(_counts_in(kept))
    counts = _followed(root, rules, paths, kept) if kept else None
    if counts is None:
        counts = _counted(root, rules, paths)
    if _state(root, rules) == state:
        rows = [[*key, n] for key, n in sorted(counts.items())]
        write_sealed(root / RECORD, {"state": state, "segments": names, "counts": rows})
    return progress_of(counts)


def _state(root: Path, rules: Guideline) -> list[Any]:
    return [__version__, rules.record, files_of_rounds(root)]


def _counts_in(record: dict[str, Any]) -> Counts:
    return Counts({tuple(key): n for *key, n in record["counts"]})


def _followed(root: Path, rules: Guideline, paths: Sequence[Path], kept: dict[str, Any]) -> Counts | None:
    """Return the counts of before with those of new rows; None where all rows have to be looked at."""
    try:
        part = rows_beside(root / LEDGER_FOLDER, kept["segments"], by_page=False, only=paths)
        if part is None:
            return None
        rounds = rounds_about(root, set(part.rows["pair_id"]))
        now, before = (count_answers(rows, rounds, guideline=rules) for rows in part)
    except FireError:
        return None  # when all is counted, what is wrong is said
    counts = _counts_in(kept)
    counts.update(now)
    counts.subtract(before)
    return None if min(counts.values(), default=0) < 0 else +counts


def _counted(root: Path, rules: Guideline, paths: Sequence[Path]) -> Counts:
    rounds = rounds_about(root)
    ledger = ledger_of(ledger_tables(root / LEDGER_FOLDER, only=paths))
    return count_given(rounds) + count_answers(ledger, rounds, guideline=rules)
