"""Records of campaigns in tests: of rows that lie ready, or of rounds that were never handed out."""

import json
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from fire_toolkit.campaign.kept import columns_of, keep_columns
from fire_toolkit.campaign.ledger import ANSWERED, COLUMNS, Version
from fire_toolkit.campaign.records import Round, Rounds, add_moves, write_rounds
from fire_toolkit.campaign.said import with_said
from fire_toolkit.campaign.store import Store
from fire_toolkit.workspace.database import STORE

_FOLDER = TemporaryDirectory(dir=os.environ.get("PYTEST_DEBUG_TEMPROOT"))
_numbers = count()


def day(number: int) -> str:
    """Return a moment of a day."""
    return f"2026-01-{number:02d}T00:00:00.000000Z"


def answer_row(
    annotation: str = "a1",
    updated_at: str = day(1),
    state: str = ANSWERED,
    *,
    label: str = "relevant",
    **columns: str,
) -> dict[str, str]:
    """Return the row of an answer as a server gives it; several labels by `;`, none: skipped."""
    result = [{"from_name": "relevance", "value": {"choices": label.split(";")}}] if label else []
    number = int(re.sub(r"\D", "", annotation))
    answer = {"id": number, "updated_at": updated_at, "was_cancelled": not label, "result": result}
    usual = {"source": "http://server", "project": "1", "seen_at": "2026-02-01T00:00:00.000000Z"}
    usual |= {"pair_id": "q|d", "task": "5", "queue": "1/ann", "annotator_id": "ann"}
    key = {"annotation": annotation, "updated_at": updated_at, "state": state}
    return usual | key | {"answer": json.dumps(answer)} | columns


def rows_of(rows: Iterable[Mapping[str, str]] = ()) -> pd.DataFrame:
    """Return rows of answers as a table."""
    return pd.DataFrame(list(rows), columns=list(COLUMNS), dtype="str")


def _new_folder() -> Path:
    root = Path(_FOLDER.name) / str(next(_numbers))
    root.mkdir()
    return root


def copy_of(record: Path) -> Path:
    """Return a new workspace with a copy of a closed record."""
    root = _new_folder()
    shutil.copy(record, root / STORE)
    return root


def read_ledger(path: Path) -> pd.DataFrame:
    """Return all answers in a record; none where there is no such file."""
    with Store(path) as store:
        store.check()
        return store.table(f"select number, {', '.join(COLUMNS)} from answers order by number")


def record_of(rounds: Sequence[Round] = (), rows: pd.DataFrame | None = None) -> Store:
    """Return a new record that holds rounds, and rows of answers as they are."""
    root = _new_folder()
    write_rounds(root, *rounds)
    store = Store(root / STORE)
    values = [] if rows is None else [Version(*row) for row in rows[list(COLUMNS)].to_numpy()]
    with store.transaction() as db:
        if values:
            keep_columns(db, columns_of(with_said(values)))
    store.close()
    return Store(root / STORE)


def moved_round(entry: Round, moves: pd.DataFrame) -> Round:
    """Return a round as a record has it after its tasks have changed hands."""
    with record_of([entry]) as store:
        root = store.path.parent
    add_moves(root, [(entry, moves)])
    (found,) = Rounds(root)
    return found


# The version of each answer that counts, and its author, as the record has counted them.
_LATEST = """
select number, source, project, annotation, updated_at, case when is_deleted then 'deleted'
    when exists (select 1 from answers other where other.annotation = own.annotation
      and other.updated_at < own.updated_at) then 'edited' else 'answered' end as state,
  seen_at, own.pair_id, task, queue, named_people.annotator_id, answer
from counted join named_people using (people) join answers own using (number) order by annotation
"""


def latest_answers(rows: pd.DataFrame | Path) -> pd.DataFrame:
    """Return what counts of rows of answers, or of those in a record."""
    with Store(rows) if isinstance(rows, Path) else record_of(rows=rows) as store:
        return store.table(_LATEST)
