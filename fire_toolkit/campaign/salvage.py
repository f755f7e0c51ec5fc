"""What can be read of a damaged record of a campaign."""

import sqlite3
from pathlib import Path

import pandas as pd

from fire_toolkit.campaign.kept import hashes_of
from fire_toolkit.campaign.schema import KEPT


def salvage(path: Path) -> tuple[pd.DataFrame, int]:
    """Return what can be read of a damaged record, and how many rows cannot.

    Examples:
        >>> from fire_toolkit.campaign.salvage import salvage
        >>> from fire_toolkit.campaign.store import Store
        >>> rows, n_lost = salvage(Path("campaign.sqlite"))  # doctest: +SKIP
        >>> Store(Path("other.sqlite")).add_kept(rows.itertuples(index=False, name=None))  # doctest: +SKIP
    """
    kept, n_lost = [], 0
    db = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    query = f"select {', '.join(KEPT)}, sha256 from answers where number = ?"
    try:
        ((most,),) = db.execute("select max(number) from versions").fetchall()
    except sqlite3.DatabaseError:
        most = path.stat().st_size // 50  # a row is longer
    for number in range(1, (most or 0) + 1):
        try:
            rows = [row for row in db.execute(query, [number]) if hashes_of([row[:-1]]) == [row[-1]]]
        except (sqlite3.DatabaseError, OverflowError, UnicodeDecodeError):
            rows = []
        kept += [row[:-1] for row in rows]
        n_lost += not rows
    db.close()
    return pd.DataFrame(kept, columns=KEPT, dtype="object"), n_lost
