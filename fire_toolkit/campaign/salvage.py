"""What can be read of a damaged record of a campaign: `python -m fire_toolkit.campaign.salvage FILE`."""

import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from fire_toolkit.campaign.kept import hashes_of
from fire_toolkit.campaign.ledger import Version
from fire_toolkit.campaign.numbers import GIVEN, add_given
from fire_toolkit.campaign.schema import KEPT, SHARED
from fire_toolkit.campaign.sealed import asking, changed_tables
from fire_toolkit.campaign.store import Store
from fire_toolkit.errors import FireError, UsageError
from fire_toolkit.workspace.database import row_sha256

_ANSWERS, _GIVEN = "versions", "given"
_APART = (_ANSWERS, "moves", "batches", *SHARED, "sqlite_sequence")
_HASHED = {"page": slice(1, 2), "machine": slice(2, 7, 4)}  # columns of which the last one is the hash


def salvage(path: Path) -> dict[str, int]:
    """Put all that can be read of a damaged record in its place, and keep the damaged one as `NAME.damaged`.

    Returns:
        How many rows of each table cannot be read, or may have changed, at most; tables without any are
        left out.

    Raises:
        UsageError: `NAME.damaged` or `NAME.new` is there already, no such file is, or somebody has it open.
    """
    damaged, new = (path.with_name(f"{path.name}.{word}") for word in ("damaged", "new"))
    if not path.is_file():
        raise UsageError(f"{path}: no such file" + f"; {new} is what was salvaged: rename it" * new.exists())
    for each in (damaged, new):
        if each.exists():
            raise UsageError(f"{each}: already exists; move it away")
    lost = Counter[str]()
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=rw", uri=True, timeout=0)) as db:
        try:  # what others add while it is read and renamed would be lost
            db.execute("pragma locking_mode = exclusive")
            db.execute("begin exclusive")
        except sqlite3.DatabaseError as error:
            if "locked" in str(error):
                words = "another command, or the page, has it open; stop it first"
                raise UsageError(f"{path}: {words}") from None
        with Store(new) as store, asking(store) as to:
            most = path.stat().st_size // 50  # a row is longer
            for (table,) in to.execute("select name from sqlite_master where type = 'table'").fetchall():
                for row in _rows(db, table, most, lost) if table not in _APART else ():
                    to.execute(f"insert or ignore into {table} values ({', '.join('?' * len(row))})", row)
            add_given(to, list(_rows(db, _GIVEN, most, lost)))
            with suppress(sqlite3.DatabaseError, UnicodeDecodeError):
                for table in changed_tables(db):
                    lost[table] = lost[table] or to.execute(f"select count(*) from {table}").fetchone()[0]
        with Store(new) as store:
            store.add_rows(Version(*row[:-1]) for row in _rows(db, _ANSWERS, most, lost))
    for end in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            path.with_name(path.name + end).rename(f"{damaged}{end}")
    new.rename(path)
    return {table: n for table, n in lost.items() if n}


def _rows(db: sqlite3.Connection, table: str, most: int, lost: Counter[str]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table as they were kept; most: rows, where the table does not say how many."""
    query, last = f"select * from {table} where rowid = ?", "max(rowid)"
    if table == _GIVEN:
        query, last = f"select {', '.join(GIVEN)} from given where number = ?", "max(number)"
    elif table == "retired":  # has no rowid
        query, last = f"select * from {table} limit 1 offset ? - 1", "count(*)"
    elif table == _ANSWERS:
        query = f"select {', '.join(KEPT)}, sha256 from answers where number = ?"
    with suppress(sqlite3.DatabaseError):
        most = db.execute(f"select {last} from {table}").fetchone()[0] or 0
    for number in range(1, most + 1):
        row = None
        with suppress(sqlite3.DatabaseError, OverflowError, UnicodeDecodeError):
            row = db.execute(query, [number]).fetchone()
        if row and _is_kept(table, row):
            yield row
        else:
            lost[table] += table != "places"  # some of its rows were replaced by later ones


def _is_kept(table: str, row: tuple[Any, ...]) -> bool:
    """Whether a row has the hash that is kept beside it, if any is."""
    if table == _ANSWERS:
        return hashes_of([row[:-1]]) == [row[-1]]
    if table == _GIVEN:
        return None not in row
    texts = row[_HASHED[table]] if table in _HASHED else (None,)
    return None in texts or row_sha256(map(str, texts)) == row[-1]


if __name__ == "__main__":
    try:
        print(f"rows that cannot be read, or may have changed: {salvage(Path(*sys.argv[1:2])) or 'none'}")
    except FireError as error:
        sys.exit(f"Error: {error}")
