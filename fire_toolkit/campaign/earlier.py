"""A record of the schema before this one, which named people and pairs by their ids, brought up to it."""

import re
import sqlite3

from fire_toolkit.campaign.numbers import Numbers
from fire_toolkit.campaign.schema import SCHEMA
from fire_toolkit.campaign.sealed import changed_tables
from fire_toolkit.errors import FormatError

_AWAY = """
drop view answers; drop table if exists counted; drop table if exists counted_so_far;
alter table given rename to given_8;
alter table people rename to people_8; alter table pairs rename to pairs_8
"""
# Numbers stay, so that versions keep theirs, but for nobody, no pair, and a pair of which there was a second
# row: that of an answer which could not be read, without ids.
_OVER = """
insert into people select number, annotator_id from people_8 where annotator_id <> '';
insert or ignore into pairs select number, pair_id, query_id, doc_id from pairs_8 where query_id <> '';
insert or ignore into pairs (pair_id, query_id, doc_id) select pair_id, query_id, doc_id from asked
"""
_RENUMBER = """
update versions set {table} = (select new.number from {table}_8 old join {table} new using ({name})
  where old.number = versions.{table})
where {table} in (select number from {table}_8 old where not exists
  (select 1 from {table} new where new.number = old.number and new.{name} = old.{name}))
"""
_MOVE = """
insert into moves select given_8.rowid, round, batch, position, giver.number, taker.number, pairs.number, kind
from given_8 join people giver using (annotator_id) join people taker on taker.annotator_id = to_annotator_id
join pairs using (pair_id)
"""
_ALL_MOVED = "select (select count(*) from moves) = (select count(*) from given_8)"
_KEYS = "select pair_id from pairs_8 union select pair_id from given_8 except select pair_id from pairs"
_NAMES = "select annotator_id from given_8 union select to_annotator_id from given_8"
_QUEUES = "select substr(queue, instr(queue, '/') + 1) from origins where queue <> ''"


def bring_up(db: sqlite3.Connection) -> None:
    """Write a record of schema 8 as one of this schema, inside a transaction.

    Raises:
        FormatError: not all that it asked of whom comes over.
    """
    changed = changed_tables(db)

    def run(script: str) -> None:
        for statement in re.sub("--.*", "", script).split(";"):
            db.execute(statement)

    run(_AWAY)
    run(re.sub(r"(create(?: unique)? \w+)", r"\1 if not exists", SCHEMA))
    run(_OVER)
    numbers = Numbers(db)
    for table, query in (("pairs", _KEYS), ("people", _NAMES), ("people", _QUEUES)):
        numbers.of(table, db.execute(query).fetchall())
    for table, name in (("pairs", "pair_id"), ("people", "annotator_id")):
        run(_RENUMBER.format(table=table, name=name))
    run(_MOVE)
    if changed_tables(db) != changed or not db.execute(_ALL_MOVED).fetchone()[0]:
        raise FormatError("what it asked of whom cannot be brought up to this schema; it is as it was")
    run("drop table given_8; drop table people_8; drop table pairs_8")
