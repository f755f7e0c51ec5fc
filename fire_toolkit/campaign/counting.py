"""Which answers count, kept in the record as the table `counted` and brought up to date where it is asked.

Answers and tasks are only ever added, so that what is not counted yet is of those after the last ones that
were: the answers that are new, and those whose pair was given to somebody since.
"""

import sqlite3

from fire_toolkit.campaign.schema import BEST, COUNTED_NOW
from fire_toolkit.errors import FireError
from fire_toolkit.workspace.database import Database

_TABLES = """
create table if not exists {0}.counted (
  number integer primary key, pair_id, annotator_id, is_deleted, round, kind, owner, kind_there, is_skipped,
  stands
);
create table if not exists {0}.counted_so_far (answer integer, task integer);
"""
_BY_PAIR = "create index if not exists counted_by_pair on counted (pair_id) where kind <> 'elsewhere'"
_BY_QUEUE = "create index if not exists given_by_queue on given (round, to_annotator_id)"
_IS_THERE = (
    "select 1 from sqlite_master where name = 'counted_so_far' union all "
    "select 1 from sqlite_temp_master where name = 'counted_so_far'"
)
_UP_TO = "select coalesce(max(answer), 0), coalesce(max(task), 0) from counted_so_far"
_LAST = "select coalesce((select max(number) from versions), 0), coalesce((select max(rowid) from given), 0)"
# Of answers with a row that came after some row: the one row that there is, or that which counts of several.
_NEW = (
    "insert into stale with several as materialized "
    "(select annotation from versions {among} group by annotation having count(*) > 1) "
    "select number, 0 from versions where number > :answer and annotation not in several union all "
    "select (select number from answers other where other.annotation = own.annotation "
    f"order by {BEST} limit 1), 1 from several own"
)
_AMONG = "where annotation in (select annotation from versions where number > :answer)"
_REPLACED = (
    "delete from counted where number in (select other.number from stale join versions own using (number) "
    "join versions other using (annotation) where is_of_several)"
)
_GIVEN = (
    "insert or ignore into stale select number, (select count(*) > 1 from versions own join versions other "
    "using (annotation) where own.number = counted.number) from counted where kind <> 'elsewhere' "
    "and pair_id in (select pair_id from given where given.rowid > :task)"
)
_COUNT = (
    f"insert or replace into counted {COUNTED_NOW}",  # from a view of it that took a sixth longer
    _BY_PAIR,
    "delete from counted_so_far",
    f"insert into counted_so_far {_LAST}",
    "delete from stale",
)
_MISCOUNTED = (
    f"with anew as materialized ({COUNTED_NOW}) "
    "select (select count(*) from counted) <> (select count(*) from anew) "
    "or exists (select * from anew except select * from counted)"
)


def count_answers(database: Database) -> None:
    """Bring the table `counted` up to all that was answered and given.

    It is kept in the file; where this cannot be written, in this process.
    """
    if database.select(_IS_THERE) and database.select(_UP_TO) == database.select(_LAST):
        return
    try:
        if not database.is_made:
            raise FireError("no file yet, and counting makes none")
        with database.transaction() as db:
            db.execute(_BY_QUEUE)
            _count(db, "main")
    except FireError:
        with database.aside() as db:
            _count(db, "temp")


def _count(db: sqlite3.Connection, place: str) -> None:
    for statement in _TABLES.format(place).split(";"):
        db.execute(statement)
    (answer, task), (last, last_task) = db.execute(_UP_TO).fetchone(), db.execute(_LAST).fetchone()
    if answer > last or task > last_task:  # somebody took rows out: nothing that was counted is sure
        db.execute("delete from counted")
        answer = task = 0
    up_to = {"answer": answer, "task": task}
    new = _NEW.format(among=_AMONG * bool(answer))
    for statement in (new, _REPLACED, *[_GIVEN] * bool(answer and task < last_task)):
        db.execute(statement, up_to)
    for statement in _COUNT:
        db.execute(statement)


def check_counted(database: Database) -> None:
    """Count all answers anew.

    Raises:
        FormatError: the record keeps others as those that count.
    """
    count_answers(database)
    with database.aside() as db:
        db.execute(_NEW.format(among=""), {"answer": 0})
        (is_wrong,) = db.execute(_MISCOUNTED).fetchone()
        db.execute("delete from stale")
    if is_wrong:
        raise database.damaged("other answers are kept as those that count than do")
