"""Records of campaigns in tests: of rows that lie ready, or of rounds that were never handed out."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from fire_toolkit.campaign.ledger import COLUMNS
from fire_toolkit.campaign.records import Round, add_moves, read_rounds, write_round
from fire_toolkit.campaign.said import keep_said
from fire_toolkit.campaign.store import _INSERT, Store
from fire_toolkit.workspace.database import STORE, row_sha256

_FOLDER = TemporaryDirectory()
_numbers = count()


def rows_of(rows: Iterable[Mapping[str, str]] = ()) -> pd.DataFrame:
    """Return rows of answers as a table."""
    return pd.DataFrame(list(rows), columns=list(COLUMNS), dtype="str")


def record_of(rounds: Sequence[Round] = (), rows: pd.DataFrame | None = None) -> Store:
    """Return a new record that holds rounds, and rows of answers as they are."""
    root = Path(_FOLDER.name) / str(next(_numbers))
    root.mkdir()
    for entry in rounds:
        write_round(root, entry)
    store = Store(root / STORE)
    values = [] if rows is None else rows[list(COLUMNS)].to_numpy().tolist()
    with store.database.transaction() as db:
        db.executemany(_INSERT, [[*each, row_sha256(each)] for each in values])
        keep_said(db)
    store.close()
    return Store(root / STORE)


def moved_round(entry: Round, *moves: pd.DataFrame) -> Round:
    """Return a round as a record has it after its tasks have changed hands."""
    with record_of([entry]) as store:
        root = store.database.path.parent
    for each in moves:
        add_moves(root, entry.number, each)
    (found,) = read_rounds(root)
    return found


def latest_answers(rows: pd.DataFrame | Path) -> pd.DataFrame:
    """Return what counts of rows of answers, or of those in a record."""
    with Store(rows) if isinstance(rows, Path) else record_of(rows=rows) as store:
        return store.table("select * from latest order by annotation")
