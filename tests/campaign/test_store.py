"""The record keeps every version of every answer, once, whatever happens to it."""

import contextlib
import json
import random
import sqlite3
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pytest
from brought import refused
from hypothesis import given, settings
from hypothesis import strategies as st
from records import answer_row as row
from records import day, latest_answers, read_ledger, record_of, rows_of

from examples import cases, examples
from fire_toolkit.campaign.counting import count_answers
from fire_toolkit.campaign.ledger import ANSWERED, COLUMNS, DELETED, EDITED, RESTORED, Version
from fire_toolkit.campaign.merging import merge_record
from fire_toolkit.campaign.said import _unread
from fire_toolkit.campaign.salvage import salvage
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.views import record_to_judgments, seen_pairs
from fire_toolkit.campaign.votes import ImportResult
from fire_toolkit.errors import FireError, FormatError, TableError, UsageError
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.workspace.database import content_sha256

GUIDELINE = read_guideline("caption-relevance-v1")


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


def test_what_is_added_once_is_read_again_to_the_letter_from_one_file(path: Path) -> None:
    rows = [row("a1", label="ünï ‘x’\n,\0"), row("a2", annotator_id="")]
    assert add(path, *rows) == ({ANSWERED: 2}, [])
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    before = path.read_bytes()
    assert add(path, *rows) == ({}, [])
    assert path.read_bytes() == before
    assert add(path, rows[0], row("a3")) == ({ANSWERED: 1}, [])
    assert read_ledger(path)[list(COLUMNS)].to_dict("records") == [*rows, row("a3")]


def test_where_there_is_no_file_nothing_is_read_and_none_is_made(path: Path) -> None:
    assert len(read_ledger(path)) == 0
    assert len(latest_answers(path)) == 0
    assert add(path) == ({}, [])
    assert not path.exists()


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
def test_another_content_at_the_same_time_is_a_version_that_counts(path: Path, shows_now: bool) -> None:
    wrong, right = row(label="relevant"), row(label="irrelevant")
    add(path, wrong)
    said = (
        "1 answer came again with the same time and another content; both versions are kept, and the one "
        "that came last counts"
    )
    assert add(path, right, shows_now=shows_now) == ({EDITED: 1}, [said])
    for again in (wrong, right):  # each is known now, and changes nothing
        assert add(path, again, shows_now=shows_now) == ({}, [])
    assert labels(read_ledger(path)) == ["relevant", "irrelevant"]
    assert labels(latest_answers(path)) == ["irrelevant"]


def test_what_an_answer_says_is_read_whatever_characters_are_in_it(path: Path) -> None:
    add(path, row("a1", label="x\x1fy"), row("a2", pair_id="q|d2"))
    with Store(path) as store:
        assert store.table("select label from said")["label"].tolist() == ["x\x1fy", "relevant"]


@pytest.mark.parametrize("crc32", [zlib.crc32, lambda text: 7], ids=["crc", "one number for all"])
def test_what_versions_share_stands_once(
    path: Path, monkeypatch: pytest.MonkeyPatch, crc32: Callable[[bytes], int]
) -> None:
    monkeypatch.setattr("fire_toolkit.campaign.numbers.zlib.crc32", crc32)
    rows = [row(f"a{n}", pair_id=f"q|d{n % 3}", label=("relevant", "irrelevant")[n % 2]) for n in range(12)]
    for start in range(0, 12, 4):
        add(path, *rows[start : start + 4])
    assert read_ledger(path)[list(COLUMNS)].to_dict("records") == rows
    with Store(path) as store:
        counts = [
            store.select(f"select count(*) from {table}")[0][0]
            for table in ("origins", "people", "pairs", "meanings")
        ]
    assert counts == [1, 2, 4, 2]  # with nobody, and no pair


def test_many_answers_at_once_into_a_new_record_are_found_by_their_key_and_told_apart(path: Path) -> None:
    many = [row(f"a{number}") for number in range(20_001)]
    assert add(path, *many, many[3], row("a7", updated_at=day(2))) == ({ANSWERED: 20_001, EDITED: 1}, [])
    with Store(path) as store:
        plan = store.table("explain query plan select number from answers where annotation = 'a7'")["detail"]
        assert "versions_by_annotation" in plan.item()
        assert [each.state for each in store.versions(["a7"])["a7"]] == [ANSWERED, EDITED]


def test_the_hash_of_its_answers_is_the_files_and_only_answers_change_it(path: Path) -> None:
    add(path, row())
    before = content_sha256(path)
    changed(path, "create table other (text)")
    assert content_sha256(path) == before
    add(path, row("a2"))
    assert content_sha256(path) != before


def test_the_author_is_known_after_the_account_was_deleted(path: Path) -> None:
    later = row(annotator_id="bob"), row(updated_at=day(2), annotator_id="")
    copies = row(annotator_id="", source="a"), row(annotator_id="bob", source="b")
    for rows in (later, copies):
        assert latest_answers(rows_of(rows))["annotator_id"].tolist() == ["bob"]
    here, there = (path.with_name(name) for name in ("here", "there"))
    for place, copy in zip((here, there), copies, strict=True):
        add(place, copy)
    with Store(here) as store:
        merge_record(store, there)
    assert latest_answers(here)["annotator_id"].tolist() == ["bob"]


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
    expected = what_counts(rows_of(rows))
    shuffler.shuffle(rows)
    pd.testing.assert_frame_equal(expected, what_counts(rows_of(rows)))
    assert set(expected["annotation"]) == {r["annotation"] for r in rows}


Damage = Callable[[bytes], bytes]
DAMAGES: dict[str, Damage] = {
    "cut": lambda content: content[: len(content) // 2],
    "empty": lambda content: b"",
    "foreign": lambda content: b"PAR1" + content,
    "a page of zeros": lambda content: content[:4096] + bytes(4096) + content[8192:],
    "another label": lambda content: content.replace(b"irrelevant", b"irrelevan!"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_named_with_what_to_do(path: Path, damage: Damage) -> None:
    add(path, *(row(f"a{n}", label="irrelevant") for n in range(200)))
    path.write_bytes(damage(path.read_bytes()))
    refused("sqlite: damaged: ... ; restore it from a copy; ... salvage", read_ledger, path)


@pytest.mark.parametrize("column", ["seen_at", "seen_on_server"])
def test_another_time_of_reading_is_damage(path: Path, column: str) -> None:
    add(path, row("a1"))
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute(f"update batches set {column} = ?", [day(9)])
    refused("sqlite: damaged: answers 1 to 1 are not those that were kept; ... salvage", read_ledger, path)


def test_what_can_be_read_of_a_damaged_file_is_salvaged(path: Path) -> None:
    add(path, *(row(f"a{n:03d}", label="irrelevant") for n in range(200)))
    head, _, tail = path.read_bytes().rpartition(b'["irrelevant"]')
    path.write_bytes(head + b'["Irrelevant"]' + tail)
    assert salvage(path) == {"versions": 1}
    assert len(read_ledger(path)) == 199
    damaged = path.with_name("campaign.sqlite.damaged")
    refused("sqlite.damaged: damaged: answer 193 is not", read_ledger, damaged)
    refused("sqlite.damaged: already exists; move it away", salvage, path, by=UsageError)
    missing = [sys.executable, "-m", "fire_toolkit.campaign.salvage", path.with_name("none")]
    told = subprocess.run(missing, capture_output=True, text=True, check=False)
    assert (told.returncode, told.stderr) == (1, f"Error: {missing[-1]}: no such file\n")


def test_the_remedy_can_be_typed_where_a_folder_has_a_blank(path: Path) -> None:
    named = path.with_name("my record.sqlite")
    named.write_bytes(b"no record at all, " * 50)
    told = refused("sqlite: damaged: not an SQLite file", read_ledger, named)
    assert f"salvage '{named}'`, which" in told


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


def changed(path: Path, statement: str) -> None:
    """Change a record as nobody should."""
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute(statement)


def test_a_record_of_another_schema_or_of_something_else_is_refused(path: Path) -> None:
    changed(path, "create table films (title)")
    refused("written in schema 0, expected 9", read_ledger, path)


def test_what_was_done_on_the_page_is_kept_in_its_order_and_damage_named(path: Path) -> None:
    records = [{"n": number, "comment": "a\nb ‮ \ud800" * number} for number in range(3)]
    with Store(path) as store:
        for record in records:
            store.add_page_records(record)
        assert not store.has_answers()
    with Store(path) as store:
        assert store.page_records() == records
    path.write_bytes(path.read_bytes().replace(b'"n":1', b'"n":7'))
    with Store(path) as store, pytest.raises(FormatError, match="record 2 of the page is not the one"):
        store.page_records()


def test_an_answer_that_nobody_can_read_is_kept_and_named_where_it_would_count(path: Path) -> None:
    bad = '{"id":7,"result":[{"from_name":"relevance","value":3}]}'
    add(path, row("a1"), row("a2") | {"answer": bad})
    with Store(path) as store:
        query = "select label, no_vote = 'unread' from counted join said using (number) order by number"
        assert store.select(query) == [("relevant", 0), ("", 1)]
        with pytest.raises(
            FormatError, match=r"answer 2 of ann to q\|d: value of relevance is a number, expected an object"
        ):
            record_to_judgments(store, guideline=GUIDELINE)
        store.add_deleted(store.missing("http://server", "1", seen=["a1"]), day(9))
        assert record_to_judgments(store, guideline=GUIDELINE).dropped["reason"].tolist() == ["deleted"]


def test_what_an_earlier_version_could_not_read_counts_when_it_comes_again(path: Path) -> None:
    old = row("a1")
    with Store(path) as store:
        store.add_rows(
            [Version(*map(old.__getitem__, COLUMNS), *_unread(old["answer"], "JSON is malformed"))]
        )
        with pytest.raises(FormatError, match="JSON is malformed; `pull --full` or `import` reads"):
            record_to_judgments(store, guideline=GUIDELINE)
        for _ in range(2):
            store.add_answers([old])
            assert record_to_judgments(store, guideline=GUIDELINE).judgments["label"].tolist() == ["relevant"]
            assert store.select("select count(*) from answers") == [(2,)]


def judged(*rows: dict[str, str]) -> ImportResult:
    with record_of(rows=rows_of(rows)) as store:
        return record_to_judgments(store, guideline=GUIDELINE)


def test_a_later_answer_that_is_not_a_vote_lends_its_round_to_no_judgment() -> None:
    found = judged(row("a1"), row("a2", day(2), queue="2/ann", label="relevant;irrelevant"))
    assert found.judgments[["label", "round"]].to_numpy().tolist() == [["relevant", 1]]
    assert found.dropped["reason"].tolist() == ["several_labels"]


def test_an_answer_to_a_task_that_names_no_pair_is_of_none_that_people_have_seen() -> None:
    rows = row("a1"), row("a2", pair_id="")
    with record_of(rows=rows_of(rows)) as store:
        assert seen_pairs(store).to_numpy().tolist() == [["ann", "q|d", 0]]
    dropped = judged(*rows).dropped[["reason", "detail"]].to_numpy().tolist()
    assert dropped == [["no_pair", "annotation 2 at task 5 of project 1"]]


def test_to_count_again_reads_what_is_new_alone(path: Path) -> None:
    add(path, *(row(f"a{number}") for number in range(20)))
    with Store(path) as store:
        count_answers(store)
    add(path, row("b1"))
    with Store(path) as store:
        looked_at: list[str] = []
        store._db.set_trace_callback(looked_at.append)
        count_answers(store)
        n_before = len(looked_at)
        count_answers(store)
        assert not any("insert" in statement for statement in looked_at[n_before:])
        assert store.select("select count(*) from counted") == [(21,)]


def test_where_the_disk_is_full_what_counts_is_counted_in_memory(path: Path) -> None:
    add(path, *(row(f"a{number}") for number in range(200)))
    with Store(path) as store:
        store._db.execute(f"pragma max_page_count = {path.stat().st_size // 4096 + 1}")
        assert store.select("select count(*) from counted") == [(200,)]
    with Store(path) as store:
        assert not store.select("select 1 from sqlite_master where name = 'counted_so_far'")
        store.check()


@cases("change", "words")
def test_what_is_said_and_counts_cannot_change_alone(path: Path, change: str, words: str) -> None:
    add(path, row("a1"), row("a2"))
    with Store(path) as store:
        count_answers(store)
    changed(path, change)
    with Store(path) as store, pytest.raises(FormatError, match=words):
        store.check()


@pytest.mark.parametrize("table", ["pairs", "meanings"])
def test_no_judgment_is_made_where_what_answers_share_is_gone(path: Path, table: str) -> None:
    add(path, row("a1"), row("a2"))
    with Store(path) as store:
        count_answers(store)
    changed(path, f"delete from {table} where number = 1")
    with Store(path) as store, pytest.raises(FormatError, match=f"damaged: {table} of answers are gone"):
        record_to_judgments(store, guideline=GUIDELINE)


def test_an_unknown_state_is_refused(path: Path) -> None:
    with Store(path) as store, pytest.raises(TableError, match="state lost, expected answered"):
        store.add_rows([row("a1"), row("a2", state="lost")])
    assert len(read_ledger(path)) == 0


def test_a_full_disk_leaves_the_record_as_it_was(path: Path) -> None:
    add(path, row("a1"))
    with Store(path) as store:
        store._db.execute(f"pragma max_page_count = {path.stat().st_size // 4096 + 1}")
        with pytest.raises(FireError, match="No space left on device; free some space"):
            store.add_answers(row(f"b{n}") for n in range(200))
    assert list(read_ledger(path)["annotation"]) == ["a1"]


def test_two_writers_wait_for_each_other(path: Path) -> None:
    add(path, row("a0"))

    def write(name: str) -> None:
        for number in range(20):
            add(path, row(f"{name}{number}"))

    with ThreadPoolExecutor(3) as writers:
        list(writers.map(write, "xyz"))
    assert len(read_ledger(path)) == 61


_WRITER = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[2:]
from records import answer_row
from fire_toolkit.campaign.store import Store
print("ready", flush=True)
with Store(Path(sys.argv[1])) as store:
    for number in range(100_000):
        store.add_answers([answer_row(f"a{number}-x"), answer_row(f"a{number}-y")])
        print(number, flush=True)
"""


@pytest.mark.slow
def test_killed_writers_lose_nothing_that_was_written_and_leave_no_half_of_it(path: Path) -> None:
    chance = random.Random(1)
    for _ in range(6):
        arguments = [sys.executable, "-c", _WRITER, str(path), str(Path(__file__).parents[1])]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
            time.sleep(chance.uniform(0.0, 0.15))
            writer.kill()
            done = [line.strip() for line in writer.stdout if line.endswith("\n")]
        found = set(read_ledger(path)["annotation"])
        assert {f"a{number}-{which}" for number in done for which in "xy"} <= found
        assert {key[:-1] + other for key in found for other in "xy"} == found


def test_a_python_with_an_old_sqlite_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))
    with pytest.raises(FireError, match=r"expected 3\.35 or newer"):
        Store(tmp_path / "campaign.sqlite")
