"""The numbers under which the record keeps what many of its rows share: people, pairs, origins, meanings."""

import json
import sqlite3
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fire_toolkit.campaign.keys import split_pair_id
from fire_toolkit.campaign.queues import MOVES
from fire_toolkit.campaign.schema import BY_ID, NAMES
from fire_toolkit.errors import FireError

Value = tuple[Any, ...]  # a row of a table of what rows share
GIVEN = ("round", *MOVES)
MANY = 20_000  # rows, beyond which all numbers are read at once
_MARK = "\x1f"
_INSERT_MOVE = (
    "insert into moves (round, batch, position, taken_from, people, pairs, kind) values (?, ?, ?, ?, ?, ?, ?)"
)


def spelled(value: Value) -> str:
    """Return the text that a value which rows share is hashed as, and found by."""
    return _MARK.join(map(str, value))


class Numbers:
    """The numbers of what rows share; what is not there yet is added, inside the transaction of `db`.

    is_whole: all that is there is read at once, as for very many rows.
    """

    def __init__(self, db: sqlite3.Connection, *, is_whole: bool = False) -> None:
        self._db, self._is_whole = db, is_whole
        self._known: dict[str, dict[Any, int]] = {}

    def of(self, table: str, values: Sequence[Value]) -> list[int]:
        """Return the number of each value of a table; people and pairs are the same where their id is."""
        keys: list[Any] = [value[0] for value in values] if table in BY_ID else list(values)
        if not self._is_whole:
            by, wanted = (BY_ID[table], keys) if table in BY_ID else ("crc", list(map(_crc, keys)))
            places = f"json_each(?) as wanted cross join {table} on {by} = wanted.value"
            known = self._read(table, places, wanted)
        elif table in self._known:
            known = self._known[table]
        else:
            known = self._known[table] = self._read(table, table)
        if new := {key: value for key, value in zip(keys, values, strict=True) if key not in known}:
            ((last,),) = self._db.execute(f"select max(number) from {table}").fetchall()
            numbers = range((last or 0) + 1, (last or 0) + 1 + len(new))
            known |= zip(new, numbers, strict=True)
            rows = zip(numbers, *zip(*self._rows(table, new), strict=True), strict=True)
            marks = ", ".join("?" * (1 + len(NAMES[table]) + (table not in BY_ID)))
            self._db.executemany(f"insert into {table} values ({marks})", rows)
        return [known[key] for key in keys]

    def _read(self, table: str, places: str, wanted: Sequence[Any] | None = None) -> dict[Any, int]:
        query = f"select {BY_ID.get(table) or ', '.join(NAMES[table])}, number from {places}"
        found = self._db.execute(query, [] if wanted is None else [json.dumps(wanted)])
        return dict(found) if table in BY_ID else {tuple(key): number for *key, number in found}

    def _rows(self, table: str, new: Mapping[Any, Value]) -> Iterable[Value]:
        if table == "pairs":
            return (value if any(value[1:]) else (key, *_ids(key)) for key, value in new.items())
        if table == "origins":  # whose queues they are: nobody of these may have been given anything
            self.of("people", [(queue.partition("/")[2],) for *_, queue in new])
        return new.values() if table in BY_ID else ((_crc(value), *value) for value in new)


def add_given(db: sqlite3.Connection, rows: Sequence[Value], pairs: Sequence[Value] = ()) -> None:
    """Write who was given what, as rows of `GIVEN`.

    pairs: pair_id, query_id and doc_id of pairs of which all three are known.
    """
    numbers = Numbers(db, is_whole=len(rows) + len(pairs) > MANY)
    numbers.of("pairs", pairs)
    columns = list(zip(*rows, strict=True)) or [()] * len(GIVEN)
    for place, table in ((3, "people"), (4, "people"), (5, "pairs")):
        columns[place] = tuple(numbers.of(table, [(each,) for each in columns[place]]))
    db.executemany(_INSERT_MOVE, zip(*columns, strict=True))


def _crc(value: Value) -> int:
    return zlib.crc32(spelled(value).encode("utf-8", "surrogatepass"))


def _ids(pair_id: str) -> tuple[str, str]:
    """Return query_id and doc_id of a pair, empty where they cannot be read."""
    try:
        return split_pair_id(pair_id)
    except FireError:
        return "", ""
