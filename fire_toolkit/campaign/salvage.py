"""What can be read of a damaged record of a campaign."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pandas as pd

from fire_toolkit.campaign.said import KEPT
from fire_toolkit.workspace.database import row_sha256


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
        ((most,),) = db.execute("select max(number) from answers").fetchall()
    except sqlite3.DatabaseError:
        most = path.stat().st_size // 200  # a row is longer
    for number in range(1, (most or 0) + 1):
        try:
            *values, sha256 = db.execute(query, [number]).fetchone() or ["", b""]
            is_sound = row_sha256(map(str, values)) == sha256
        except (sqlite3.DatabaseError, OverflowError, UnicodeDecodeError, TypeError):
            is_sound = False
        kept += [values] if is_sound else []
        n_lost += not is_sound
    db.close()
    return pd.DataFrame(kept, columns=KEPT, dtype="object"), n_lost
