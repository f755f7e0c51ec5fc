"""A record of the schema before this one is brought up to this one, and nothing of it is lost."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest
from brought import refused
from records import answer_row, day

from fire_toolkit.campaign.ledger import DELETED
from fire_toolkit.campaign.numbers import add_given
from fire_toolkit.campaign.salvage import salvage
from fire_toolkit.campaign.sealed import asking
from fire_toolkit.campaign.store import Store
from fire_toolkit.errors import FireError
from fire_toolkit.workspace.database import STORE, content_sha256

# What schema 8 had: ids where numbers are now, a number for nobody and for no pair as for any other, and no
# ids of the pair of an answer that cannot be read.
EARLIER = """
drop view answers; drop view given; drop table if exists counted; drop table if exists counted_so_far;
alter table people rename to own_people; alter table pairs rename to own_pairs;
create table given (
  round integer not null, batch integer not null, position integer not null, annotator_id text not null,
  to_annotator_id text not null, pair_id text not null, kind text not null
);
insert into given
select round, batch, position, giver.annotator_id, taker.annotator_id, pair_id, kind
from moves join own_people giver on giver.number = taken_from join own_people taker on taker.number = people
join own_pairs on own_pairs.number = pairs order by moves.number;
create table people (number integer primary key, crc integer not null, annotator_id text);
create table pairs (
  number integer primary key, crc integer not null, pair_id text, query_id text, doc_id text
);
insert into people select number + 1, 7, annotator_id from own_people
where number in (select people from versions);
insert into pairs select number + 1, 7, pair_id, query_id, doc_id from own_pairs
where number in (select pairs from versions);
update versions set people = people + 1, pairs = pairs + 1;
update pairs set query_id = '', doc_id = '' where number in (select pairs from versions
  where meanings in (select number from meanings where fault is not null));
drop table moves; drop table own_people; drop table own_pairs;
create view answers as
select versions.number, annotation, updated_at, task, source, project, state, seen_at, queue, annotator_id,
  pair_id, ifnull(versions.answer, meanings.answer) as answer, label, no_vote, flags, comment, origin,
  controls, page, page_position, page_s, round_said, is_elsewhere, fault, id,
  ifnull(versions.created_at, updated_at) as created_at,
  ifnull(versions.changed_at, updated_at) as changed_at, duration_s, query_id, doc_id, sha256
from versions
left join origins on origins.number = versions.origins
left join people on people.number = versions.people
left join pairs on pairs.number = versions.pairs
left join meanings on meanings.number = versions.meanings;
pragma user_version = 8
"""
COUNTED = (
    "select counted.number, pair_id, annotator_id, is_deleted, round, kind, kind_there, is_skipped, stands "
    "from counted join named_people using (people) join named_pairs using (pairs) order by 1"
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A record with answers of every kind, and with tasks that changed hands."""
    path = tmp_path / STORE
    with Store(path) as store, asking(store.database) as db:
        keys = [f"q|d{n}" for n in range(6)]
        drawn = [(1, 0, n, "", "ann" if n % 2 else "bob", key, "task") for n, key in enumerate(keys)]
        add_given(db, [*drawn, (1, 1, 1, "ann", "eve", "q|d1", "task"), (1, 1, 2, "bob", "", "q|d2", "task")])
    with Store(path) as store:
        store.add_answers(
            answer_row(f"a{n}", pair_id=f"q|d{n}", queue="1/ann" if n % 2 else "") for n in range(4)
        )
        store.add_answers(
            [answer_row("a1", day(2), label="irrelevant"), answer_row("a3", annotator_id="", queue="1/zoe")]
        )
        store.add_answers(
            [answer_row("a7", pair_id=""), answer_row("a8", pair_id="q|d4", answer='{"id": 8, "result": 7}')]
        )
        store.add_deleted([answer_row("a2", pair_id="q|d2")], day(9))
    return path


def kept(path: Path) -> list[pd.DataFrame]:
    """Return all that a record says, after it was checked."""
    with Store(path) as store:
        return [store.rows(), store.table("select * from given order by number"), store.table(COUNTED)]


def make_earlier(path: Path) -> list[pd.DataFrame]:
    """Write a record as schema 8 had it, and return all that it said."""
    said = kept(path)
    with closing(sqlite3.connect(path)) as db:
        db.executescript(EARLIER)
    return said


def test_all_that_an_earlier_record_says_stays_and_later_answers_follow(path: Path) -> None:
    said = make_earlier(path)
    before = content_sha256(path)
    for own, other in zip(kept(path), said, strict=True):
        pd.testing.assert_frame_equal(own, other)
    assert content_sha256(path) == before
    assert {DELETED, "answered", "edited"} == {*said[0]["state"]}
    with Store(path) as store:
        store.add_answers(
            [
                answer_row("a9", pair_id="q|d5"),
                answer_row("a8", day(3), pair_id="q|d4", annotator_id="bob", queue="1/bob"),
            ]
        )
    now = kept(path)
    assert now[2].tail(2)["kind"].tolist() == ["task", "task"]
    assert len(now[0]) == len(said[0]) + 2


def test_one_that_cannot_be_written_is_read_from_a_copy(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said, content = make_earlier(path), path.read_bytes()
    monkeypatch.setattr("fire_toolkit.workspace.database._is_ours", lambda path: False)
    for own, other in zip(kept(path), said, strict=True):
        pd.testing.assert_frame_equal(own, other)
    with Store(path) as store:
        refused(
            "cannot be written; it is of an earlier schema",
            store.add_answers,
            [answer_row("a9")],
            by=FireError,
        )
    assert path.read_bytes() == content


def test_one_that_is_damaged_is_salvaged(path: Path) -> None:
    rows, given, _ = make_earlier(path)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("update versions set task = 'other' where number = 1")
    assert salvage(path) == {"versions": 1}
    assert kept(path)[0]["annotation"].tolist() == rows["annotation"].tolist()[1:]
    pd.testing.assert_frame_equal(kept(path)[1], given)
