"""What was asked of whom, with the hash of each of its tables, kept with each change."""

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from fire_toolkit.workspace.database import Database

_TABLES = ("campaign", "rounds", "asked", "controls", "given", "retired")
# A record that was last written before there were seals has none.
_MADE = "create table if not exists sealed (name text primary key, sha256 blob not null)"
_IS_THERE = "select 1 from sqlite_master where name = 'sealed'"


@contextmanager
def asking(database: Database) -> Iterator[sqlite3.Connection]:
    """Write inside what is asked of whom: all of it is on disk afterwards and sealed, or nothing.

    Raises:
        FormatError: as `check_asked`.
    """
    check_asked(database)
    with database.transaction() as db:
        yield db
        db.execute(_MADE)
        db.executemany("insert or replace into sealed values (?, ?)", _hashes(db))


def changed_tables(db: sqlite3.Connection) -> list[str]:
    """Return the tables of which a row is not the one that was kept, is missing or was added since."""
    kept = set(db.execute("select * from sealed")) if db.execute(_IS_THERE).fetchone() else set()
    return sorted(name for name, sha256 in _hashes(db) if (name, sha256) not in kept) if kept else []


def check_asked(database: Database) -> None:
    """Read all that was asked of whom.

    Raises:
        FormatError: it is not what was kept.
    """
    with database.aside() as db:
        if names := changed_tables(db):
            raise database.damaged(f"the rows of `{', '.join(names)}` are not those that were kept")


def _hashes(db: sqlite3.Connection) -> Iterator[tuple[str, bytes]]:
    for table in _TABLES:
        names, order = [name for _, name, *_ in db.execute(f"pragma table_info({table})")], "not indexed"
        if table == "given":  # a view of rows that name people and pairs by numbers
            names, order = names[1:], "order by number"
        text = f"printf('{chr(31).join(['%s'] * len(names))}', {', '.join(names)})"  # one is read faster
        content, found = hashlib.sha256(), db.execute(f"select {text} from {table} {order}")
        while rows := found.fetchmany(2_000):
            content.update("\n".join(text for (text,) in rows).encode())
        yield table, content.digest()
