"""Which answers count, brought up to date in the record where it is asked, as `counted.sql` says."""

import sqlite3

from fire_toolkit.errors import FireError
from fire_toolkit.words import text_in
from fire_toolkit.workspace.database import Database

# Which of the versions of an answer says what counts: the first in this order.
BEST = "updated_at desc, annotator_id = '', queue = '', source glob 'file:*', source, project, number"
_COUNT = text_in("campaign", "counted.sql")
_IS_THERE = (
    "select 1 from sqlite_master where name = 'counted_so_far' union all "
    "select 1 from sqlite_temp_master where name = 'counted_so_far'"
)
_IS_COUNTED = (
    "select 1 from counted_so_far where answer = (select ifnull(max(number), 0) from versions) "
    "and task = (select ifnull(max(number), 0) from moves)"
)
_MISCOUNTED = (
    "select (select count(*) from main.counted) <> (select count(*) from temp.counted) "
    "or exists (select * from temp.counted except select * from main.counted)"
)


def count_answers(database: Database) -> None:
    """Bring the table `counted` up to all that was answered and given.

    It is kept in the file; where this cannot be written, in this process.
    """
    if database.select(_IS_THERE) and database.select(_IS_COUNTED):
        return
    try:
        if not database.is_made:
            raise FireError("no file yet, and counting makes none")
        with database.transaction() as db:
            _count(db, "main")
    except FireError:
        with database.aside() as db:
            _count(db, "temp")


def _count(db: sqlite3.Connection, place: str) -> None:
    for statement in _COUNT.format(place=place, best=BEST).split(";"):
        db.execute(statement)


def check_counted(database: Database) -> None:
    """Count all answers anew.

    Raises:
        FormatError: the record keeps others as those that count.
    """
    count_answers(database)
    with database.aside() as db:
        if db.execute("select 1 from sqlite_temp_master where name = 'counted'").fetchone():
            return  # this process has just counted them
        _count(db, "temp")
        (is_wrong,) = db.execute(_MISCOUNTED).fetchone()
        for table in ("counted", "counted_so_far"):
            db.execute(f"drop table temp.{table}")
    if is_wrong:
        raise database.damaged("other answers are kept as those that count than do")
