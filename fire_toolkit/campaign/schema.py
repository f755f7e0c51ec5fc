"""The tables and views of a campaign's record, which stand in SQL beside this file."""

import re
import sqlite3
from contextlib import closing

from fire_toolkit.campaign.ledger import COLUMNS, Version
from fire_toolkit.words import text_in

VERSION = 9
SCHEMA, VIEWS = text_in("campaign", "record.sql"), text_in("campaign", "views.sql")

_resting = ["counted"]  # which answers count, and the views that say it
for _view, _text in re.findall(r"create temp view (\w+) as([^;]+);", VIEWS):
    _resting += [_view] if re.search(rf"\b(?:{'|'.join(_resting)})\b", _text) else []
RESTS_ON_COUNTED = re.compile(rf"\b(?:{'|'.join(_resting)})\b")

KEPT = Version._fields  # the columns of the view `answers`, between a row's number and its hash
WHOLE = ", ".join(f"answers.{name}" for name in ("number", *KEPT, "sha256"))
SAID_NAMES = KEPT[len(COLUMNS) :]  # what an answer says (`said.py`)
SHARED = ("origins", "people", "pairs", "meanings")  # what many versions share, a table each
BY_ID = {"people": "annotator_id", "pairs": "pair_id"}  # of these, what is told apart by one column
SAME_TIME = ("created_at", "changed_at")  # null where they are the time of the version
with closing(sqlite3.connect(":memory:")) as _db:
    _db.executescript(SCHEMA)
    _found = {table: _db.execute(f"select * from {table}").description for table in (*SHARED, "versions")}
_columns = {table: tuple(name for name, *_ in found) for table, found in _found.items()}
NAMES = {table: _columns[table][1 if table in BY_ID else 2 :] for table in SHARED}
OWN = _columns["versions"][1 : _columns["versions"].index(SHARED[0])]  # what a version has of its own
