"""The record keeps every version of every answer, once, whatever happens to it."""

import json
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from records import latest_answers, rows_of

from examples import examples
from fire_toolkit.campaign.ledger import (
    ANSWERED,
    COLUMNS,
    DELETED,
    EDITED,
    RESTORED,
    annotation_key,
)
from fire_toolkit.campaign.merging import merge_record
from fire_toolkit.campaign.salvage import salvage
from fire_toolkit.campaign.store import Store, read_ledger
from fire_toolkit.campaign.views import record_to_judgments
from fire_toolkit.errors import FireError, FormatError, TableError
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.workspace.database import content_sha256


def answer(label: str, updated_at: str) -> str:
    result = [{"from_name": "relevance", "value": {"choices": [label]}}]
    return json.dumps({"updated_at": updated_at, "result": result})


def row(
    annotation: str = "a1",
    updated_at: str = "2026-01-01T00:00:00.000000Z",
    state: str = ANSWERED,
    *,
    seen_at: str = "2026-02-01T00:00:00.000000Z",
    source: str = "http://server",
    annotator_id: str = "ann",
    label: str = "relevant",
) -> dict[str, str]:
    return {
        "source": source,
        "project": "1",
        "annotation": annotation,
        "updated_at": updated_at,
        "state": state,
        "seen_at": seen_at,
        "pair_id": "q|d",
        "task": "5",
        "queue": "1/ann",
        "annotator_id": annotator_id,
        "answer": answer(label, updated_at),
    }


def ledger_of(*rows: dict[str, str]) -> pd.DataFrame:
    return rows_of(rows)


def day(number: int) -> str:
    return f"2026-01-{number:02d}T00:00:00.000000Z"


def states(ledger: pd.DataFrame) -> dict[str, str]:
    return dict(zip(ledger["annotation"], ledger["state"], strict=True))


def labels(ledger: pd.DataFrame) -> list[str]:
    return [json.loads(text)["result"][0]["value"]["choices"][0] for text in ledger["answer"]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "campaign.sqlite"


def add(path: Path, *rows: dict[str, str], shows_now: bool = False) -> tuple[dict[str, int], list[str]]:
    """Add answers and return how many rows of each state that gave, and what is said of it."""
    with Store(path, shows_now=shows_now) as store:
        store.add_answers(rows)
        return {state: n for state, n in store.counts.items() if n}, store.notes


def test_of_an_answer_that_came_as_a_deletion_alone_nothing_counts() -> None:
    """As where a copy of another site's ledger lacks the segment with the answer itself."""
    ledger = ledger_of(row("a1", state=DELETED), row("a2"), row("a3", state=RESTORED))
    assert states(latest_answers(ledger)) == {"a1": DELETED, "a2": ANSWERED, "a3": ANSWERED}


def test_what_is_added_is_read_again_to_the_letter(path: Path) -> None:
    rows = [row("a1", label="ünï ‘x’\n,\0"), row("a2", annotator_id="")]
    assert add(path, *rows) == ({ANSWERED: 2}, [])
    assert read_ledger(path)[list(COLUMNS)].to_dict("records") == rows


def test_where_there_is_no_file_nothing_is_read_and_none_is_made(path: Path) -> None:
    assert len(read_ledger(path)) == 0
    assert len(latest_answers(path)) == 0
    assert add(path) == ({}, [])
    assert not path.exists()


def test_adding_again_writes_nothing(path: Path) -> None:
    add(path, row("a1"), row("a2"))
    before = path.read_bytes()
    assert add(path, row("a1"), row("a2")) == ({}, [])
    assert path.read_bytes() == before
    assert add(path, row("a1"), row("a3")) == ({ANSWERED: 1}, [])
    assert list(read_ledger(path)["annotation"]) == ["a1", "a2", "a3"]


def test_the_one_file_holds_all_when_it_is_closed(path: Path) -> None:
    add(path, row("a1"))
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_two_sites_merge_and_what_both_have_is_there_once(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    add(one, row("a1", seen_at=day(3)), row("a2"), row("a4", label="relevant"))
    add(two, row("a1", seen_at=day(2)), row("a3"), row("a4", label="irrelevant"))
    with Store(two) as store:
        store.add_deleted([row("a3")], day(9))
    for _ in range(2):
        with Store(one) as store:
            merge_record(store, two)
    merged = read_ledger(one)
    assert states(latest_answers(merged)) == {"a1": ANSWERED, "a2": ANSWERED, "a3": DELETED, "a4": EDITED}
    assert sorted(labels(merged[merged["annotation"] == "a4"])) == ["irrelevant", "relevant"]
    assert len(merged) == 6


@pytest.mark.parametrize("shows_now", [False, True])
def test_another_content_at_the_same_time_is_kept_as_a_version_that_counts(
    path: Path, shows_now: bool
) -> None:
    add(path, row(label="relevant"))
    wrong, right = row(label="relevant"), row(label="irrelevant")
    assert add(path, right, shows_now=shows_now) == (
        {EDITED: 1},
        [
            "1 answer came again with the same time and another content; both versions are kept, and the one "
            "that came last counts"
        ],
    )
    for again in (wrong, right):  # each is known now, and changes nothing
        assert add(path, again, shows_now=shows_now) == ({}, [])
    assert labels(read_ledger(path)) == ["relevant", "irrelevant"]
    assert labels(latest_answers(path)) == ["irrelevant"]


@pytest.mark.parametrize(("shows_now", "counts"), [(True, "earlier"), (False, "later")])
def test_versions_are_ordered_by_arrival_where_their_source_shows_them_now(
    path: Path, shows_now: bool, counts: str
) -> None:
    add(path, row(updated_at=day(5), label="later"))
    added, (note,) = add(path, row(updated_at=day(3), label="earlier"), shows_now=shows_now)
    assert added == {EDITED: 1}
    assert note.startswith("1 answer changed at a time before the version in the ledger: ")
    assert labels(latest_answers(path)) == [counts]
    assert add(path, row(updated_at=day(3), label="earlier"), shows_now=shows_now) == ({}, [])


def test_a_deleted_answer_comes_back_where_its_server_shows_it_and_by_no_old_file(path: Path) -> None:
    add(path, row())
    with Store(path) as store:
        store.add_deleted([row()], day(20))
        store.add_deleted([row()], day(20))
    assert add(path, row(source="export.json")) == ({}, [])
    assert states(latest_answers(path)) == {"a1": DELETED}
    assert add(path, row(seen_at=day(21)), shows_now=True) == ({RESTORED: 1}, [])
    assert states(latest_answers(path)) == {"a1": ANSWERED}
    assert len(read_ledger(path)) == 3


def test_the_hash_of_its_answers_is_the_files_and_only_answers_change_it(path: Path) -> None:
    add(path, row())
    before = content_sha256(path)
    with sqlite3.connect(path) as db:
        db.execute("create table other (text)")
    db.close()
    assert content_sha256(path) == before
    add(path, row("a2"))
    assert content_sha256(path) != before


def test_an_edit_is_a_row_of_its_own_and_the_latest_counts() -> None:
    ledger = ledger_of(
        row("a1", day(1), label="relevant"), row("a1", day(2), EDITED, label="irrelevant"), row("a2")
    )
    latest = latest_answers(ledger)
    assert states(latest) == {"a1": EDITED, "a2": ANSWERED}
    assert labels(latest) == ["irrelevant", "relevant"]
    assert len(ledger) == 3


def test_a_deletion_is_recorded_and_the_answer_stays_readable() -> None:
    ledger = ledger_of(row("a1", day(1)), row("a1", day(1), DELETED, seen_at=day(5)))
    assert states(latest_answers(ledger)) == {"a1": DELETED}
    assert labels(latest_answers(ledger)) == ["relevant"]


def test_an_answer_that_is_seen_again_is_restored_and_can_be_deleted_again() -> None:
    events = [row("a1", day(1), DELETED, seen_at=day(5)), row("a1", day(1), RESTORED, seen_at=day(6))]
    assert states(latest_answers(ledger_of(row("a1", day(1)), *events))) == {"a1": ANSWERED}
    events.append(row("a1", day(1), DELETED, seen_at=day(7)))
    assert states(latest_answers(ledger_of(row("a1", day(1)), *events))) == {"a1": DELETED}


def test_an_old_export_does_not_bring_a_deleted_answer_back() -> None:
    late_copy = row("a1", day(1), seen_at=day(9), source="export.json")
    ledger = ledger_of(row("a1", day(1)), row("a1", day(1), DELETED, seen_at=day(5)), late_copy)
    assert states(latest_answers(ledger)) == {"a1": DELETED}


def test_a_later_version_stands_though_an_earlier_one_was_called_deleted() -> None:
    ledger = ledger_of(row("a1", day(1), DELETED, seen_at=day(5)), row("a1", day(1)), row("a1", day(3)))
    assert states(latest_answers(ledger)) == {"a1": EDITED}


def test_the_author_is_known_after_the_account_was_deleted(path: Path) -> None:
    ledger = ledger_of(row("a1", day(1), annotator_id="bob"), row("a1", day(2), annotator_id=""))
    assert latest_answers(ledger)["annotator_id"].tolist() == ["bob"]
    copies = row("a1", annotator_id="", source="a"), row("a1", annotator_id="bob", source="b")
    assert latest_answers(ledger_of(*copies))["annotator_id"].tolist() == ["bob"]
    here, there = (path.with_name(name) for name in ("here", "there"))
    for place, copy in zip((here, there), copies, strict=True):
        add(place, copy)
    with Store(here) as store:
        merge_record(store, there)
    assert latest_answers(here)["annotator_id"].tolist() == ["bob"]


def test_numbers_that_are_used_again_are_different_answers() -> None:
    assert annotation_key("s", "1", 5, "u1") != annotation_key("s", "1", 5, "u2")
    assert annotation_key("s", "1", 5, "") != annotation_key("t", "1", 5, "")


versions = st.builds(
    row,
    st.sampled_from(["a1", "a2"]),
    st.sampled_from([day(1), day(2)]),
    st.sampled_from([ANSWERED, DELETED, RESTORED]),
    seen_at=st.sampled_from([day(4), day(5)]),
    source=st.sampled_from(["s", "t"]),
)


def identity(row: dict[str, str]) -> tuple[str, ...]:
    event = (row["state"], row["seen_at"]) if row["state"] != ANSWERED else ()
    return (row["source"], row["annotation"], row["updated_at"], *event)


def what_counts(ledger: pd.DataFrame) -> pd.DataFrame:
    return latest_answers(ledger)[["annotation", "updated_at", "state", "source", "annotator_id", "answer"]]


@pytest.mark.slow
@given(st.lists(versions, min_size=1, max_size=8, unique_by=identity), st.randoms())
@settings(max_examples=examples(80))
def test_the_order_of_rows_does_not_matter(rows: list[dict[str, str]], shuffler: random.Random) -> None:
    expected = what_counts(ledger_of(*rows))
    shuffler.shuffle(rows)
    pd.testing.assert_frame_equal(expected, what_counts(ledger_of(*rows)))
    assert set(expected["annotation"]) == {r["annotation"] for r in rows}


def damaged(content: bytes, how: str) -> bytes:
    return {
        "cut": content[: len(content) // 2],
        "empty": b"",
        "foreign": b"PAR1" + content,
        "a page of zeros": content[:4096] + bytes(4096) + content[8192:],
        "another label": content.replace(b"irrelevant", b"irrelevan!"),
    }[how]


@pytest.mark.parametrize("how", ["cut", "empty", "foreign", "a page of zeros", "another label"])
def test_a_damaged_file_is_named_with_what_to_do(path: Path, how: str) -> None:
    add(path, *(row(f"a{n}", label="irrelevant") for n in range(200)))
    path.write_bytes(damaged(path.read_bytes(), how))
    with pytest.raises(FormatError, match=r"sqlite: damaged: .*; restore it from a copy; `.*salvage"):
        read_ledger(path)


def test_what_can_be_read_of_a_damaged_file_is_salvaged(path: Path) -> None:
    add(path, *(row(f"a{n:03d}", label="irrelevant") for n in range(200)))
    content = path.read_bytes()
    place = content.rindex(b"irrelevant")
    path.write_bytes(content[:place] + b"I" + content[place + 1 :])
    rows, n_lost = salvage(path)
    assert (len(rows), n_lost) == (199, 1)
    other = path.with_name("other.sqlite")
    add(other, *rows[list(COLUMNS)].to_dict("records"))
    assert len(read_ledger(other)) == 199


def test_every_flipped_bit_is_noticed_or_changes_nothing(path: Path) -> None:
    add(path, *(row(f"a{n}") for n in range(50)))
    content, rows = path.read_bytes(), read_ledger(path)
    for place in random.Random(0).sample(range(len(content) * 8), examples(120)):
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << place % 8
        path.write_bytes(flipped)
        with suppress(FormatError):
            pd.testing.assert_frame_equal(read_ledger(path), rows)
    path.write_bytes(content)


def test_what_was_done_on_the_page_is_kept_in_its_order_and_damage_named(path: Path) -> None:
    records = [{"n": number, "comment": "a\nb ‮ \ud800" * number} for number in range(3)]
    with Store(path) as store:
        for record in records:
            store.add_page_record(record)
        assert len(store.rows()) == 0
    with Store(path) as store:
        assert store.page_records() == records
    path.write_bytes(path.read_bytes().replace(b'"n":1', b'"n":7'))
    with Store(path) as store, pytest.raises(FormatError, match="record 2 of the page is not the one"):
        store.page_records()


def test_a_record_of_another_schema_or_of_something_else_is_refused(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("create table films (title)")
    db.close()
    with pytest.raises(FormatError, match="written in schema 0, expected 4"):
        read_ledger(path)


def numbered(*labels: str) -> list[dict[str, str]]:
    """Return answers as a server gives them, each with its number."""
    rows = [row(f"a{number}", label=label) for number, label in enumerate(labels, start=1)]
    return [
        {**each, "answer": json.dumps({"id": number, **json.loads(each["answer"])})}
        for number, each in enumerate(rows, start=1)
    ]


@pytest.mark.parametrize("change", ["label = 'irrelevant'", "round_said = 2"])
def test_what_an_answer_says_cannot_change_beside_it(path: Path, change: str) -> None:
    add(path, row("a1", label="relevant"), row("a2"))
    with sqlite3.connect(path) as db:
        db.execute(f"update said set {change} where number = 1")
    db.close()
    with Store(path) as store, pytest.raises(FormatError, match="answer 1 is not the one that was kept"):
        store.check()


def test_an_answer_that_nobody_can_read_is_kept_and_named_where_it_would_count(path: Path) -> None:
    good, bad = numbered("relevant", "relevant")
    add(path, good, {**bad, "answer": '{"id":7,"result":[{"from_name":"relevance","value":3}]}'})
    with Store(path) as store:
        assert open_answers(store) == [("relevant", 0), ("", 1)]
        with pytest.raises(FormatError, match="answer 2: value of relevance is a number, expected an object"):
            record_to_judgments(store, guideline=read_guideline("caption-relevance-v1"))


def open_answers(store: Store) -> list[tuple[str, int]]:
    """Return label and whether it is a skip of each answer that counts."""
    store.count()
    query = (
        "select label, no_vote in ('skipped', 'unread') from counted join said using (number) order by number"
    )
    return store.database.select(query)


def give(store: Store, number: int, annotator_id: str, pair_id: str, kind: str) -> None:
    with store.database.transaction() as db:
        values = [number, 0, 1, "", annotator_id, pair_id, kind]
        db.execute("insert into given values (?, ?, ?, ?, ?, ?, ?)", values)


@pytest.mark.parametrize("seed", range(30))
def test_what_counts_is_kept_as_counting_anew_finds_it(path: Path, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(20):
        with Store(path, shows_now=chance.random() < 0.5) as store:
            who, pair = chance.choice("AB"), f"q|d{chance.randrange(3)}"
            kind = chance.choice(["task", "overlap", "control", "training"])
            queue = chance.choice(["", "1/A", "2/B"])
            own = row(f"a{chance.randrange(5)}", day(chance.randint(1, 9)), seen_at=day(20))
            if chance.random() < 0.3:
                give(store, chance.randint(1, 3), who, pair, kind)
            elif chance.random() < 0.2:
                store.add_deleted(store.missing("http://server", "1", seen=["a0", "a1"]), store.now())
            else:
                author = chance.choice(["", "A", "B"])
                store.add_answers([own | {"annotator_id": author, "pair_id": pair, "queue": queue}])
            if chance.random() < 0.6:
                store.count()
    with Store(path) as store:
        store.check()
        kept = store.table("select * from counted order by number")
        store.database.run("drop table counted; drop table counted_up_to")
        store.count()
        pd.testing.assert_frame_equal(store.table("select * from counted order by number"), kept)
    assert len(kept)


def test_to_count_again_reads_what_is_new_alone(path: Path) -> None:
    add(path, *(row(f"a{number}") for number in range(20)))
    with Store(path) as store:
        store.count()
    add(path, row("b1"))
    with Store(path) as store:
        looked_at: list[str] = []
        store.database._db.set_trace_callback(looked_at.append)
        store.count()
        n_before = len(looked_at)
        store.count()
        assert not any("insert" in statement for statement in looked_at[n_before:])
        assert store.database.select("select count(*) from counted") == [(21,)]


def test_where_the_disk_is_full_what_counts_is_counted_in_memory(path: Path) -> None:
    add(path, *(row(f"a{number}") for number in range(200)))
    with Store(path) as store:
        store.database._db.execute(f"pragma max_page_count = {path.stat().st_size // 4096 + 1}")
        store.count()
        assert store.database.select("select count(*) from counted") == [(200,)]
    with Store(path) as store:
        assert not store.database.select("select 1 from sqlite_master where name = 'counted'")
        store.check()


@pytest.mark.parametrize("change", ["update counted set stands = 0", "delete from counted where number = 2"])
def test_what_counts_cannot_change_beside_the_answers(path: Path, change: str) -> None:
    add(path, row("a1"), row("a2"))
    with Store(path) as store:
        store.count()
    with sqlite3.connect(path) as db:
        db.execute(change)
    db.close()
    with Store(path) as store, pytest.raises(FormatError, match="other answers are kept as those that count"):
        store.check()


def test_an_unknown_state_is_refused(path: Path) -> None:
    with Store(path) as store, pytest.raises(TableError, match="state lost, expected answered"):
        store.add_rows([row("a1"), row("a2", state="lost")])
    assert len(read_ledger(path)) == 0


def test_a_full_disk_leaves_the_record_as_it_was(path: Path) -> None:
    add(path, row("a1"))
    with Store(path) as store:
        store.database._db.execute(f"pragma max_page_count = {path.stat().st_size // 4096 + 1}")
        with pytest.raises(FireError, match="No space left on device; free some space"):
            store.add_answers(row(f"b{n}") for n in range(200))
    assert list(read_ledger(path)["annotation"]) == ["a1"]


def test_two_writers_wait_for_each_other(path: Path) -> None:
    add(path, row("a0"))

    def write(name: str) -> None:
        for number in range(20):
            add(path, row(f"{name}{number}"))

    writers = [threading.Thread(target=write, args=[name]) for name in "xyz"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(read_ledger(path)) == 61


_WRITER = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[2:]
from test_store import row
from fire_toolkit.campaign.store import Store
print("ready", flush=True)
with Store(Path(sys.argv[1])) as store:
    for number in range(100_000):
        store.add_answers([row(f"a{number}-x"), row(f"a{number}-y")])
        print(number, flush=True)
"""


@pytest.mark.slow
def test_killed_writers_lose_nothing_that_was_written_and_leave_no_half_of_it(path: Path) -> None:
    chance = random.Random(1)
    for _ in range(6):
        here = Path(__file__).parent
        arguments = [sys.executable, "-c", _WRITER, str(path), str(here), str(here.parent)]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
            time.sleep(chance.uniform(0.0, 0.15))
            writer.send_signal(signal.SIGKILL)
            done = [line.strip() for line in writer.stdout if line.endswith("\n")]
        found = set(read_ledger(path)["annotation"])
        assert {f"a{number}-{which}" for number in done for which in "xy"} <= found
        assert {key[:-1] + "x" for key in found} == {key for key in found if key.endswith("x")}
        assert {key[:-1] + "y" for key in found} == {key for key in found if key.endswith("y")}
