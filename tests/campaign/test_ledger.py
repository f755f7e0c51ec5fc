"""The ledger keeps every version of every answer, once, whatever happens to it."""

from __future__ import annotations

import errno
import json
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from fire_toolkit.campaign.ledger import (
    ANSWERED,
    DELETED,
    EDITED,
    RESTORED,
    Ledger,
    annotation_key,
    append_rows,
    check_ledger,
    empty_ledger,
    latest_answers,
    read_ledger,
    row_id,
)
from fire_toolkit.errors import FireError, FormatError, TableError
from fire_toolkit.workspace.segments import segment_name


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
        "row_id": row_id(source, "1", annotation, updated_at, state, seen_at),
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
        "answer": json.dumps({"label": label}),
    }


def ledger_of(*rows: dict[str, str]) -> Ledger:
    return check_ledger(pd.DataFrame(list(rows))) if rows else empty_ledger()


def day(number: int) -> str:
    return f"2026-01-{number:02d}T00:00:00.000000Z"


def states(ledger: Ledger) -> dict[str, str]:
    return dict(zip(ledger["annotation"], ledger["state"], strict=True))


def test_of_an_answer_that_came_as_a_deletion_alone_nothing_counts() -> None:
    """As where a copy of another site's ledger lacks the segment with the answer itself."""
    ledger = ledger_of(row("a1", state=DELETED), row("a2"), row("a3", state=RESTORED))
    assert states(latest_answers(ledger)) == {"a1": DELETED, "a2": ANSWERED, "a3": ANSWERED}


def test_what_is_appended_is_read_again_to_the_letter(tmp_path: Path) -> None:
    rows = ledger_of(row("a1", label="ünï ‘x’\n,"), row("a2", annotator_id=""))
    assert append_rows(tmp_path / "ledger", rows) == 2
    pd.testing.assert_frame_equal(rows, read_ledger(tmp_path / "ledger"))


def test_no_folder_and_an_empty_one_are_an_empty_ledger(tmp_path: Path) -> None:
    assert len(read_ledger(tmp_path / "none")) == 0
    assert len(read_ledger(tmp_path)) == 0
    assert len(latest_answers(read_ledger(tmp_path))) == 0


def test_appending_again_writes_nothing(tmp_path: Path) -> None:
    rows = ledger_of(row("a1"), row("a2"))
    append_rows(tmp_path, rows)
    assert append_rows(tmp_path, rows, known=read_ledger(tmp_path)["row_id"]) == 0
    assert len(list(tmp_path.iterdir())) == 1


def test_appending_again_without_knowing_it_gives_the_same_segment(tmp_path: Path) -> None:
    rows = ledger_of(row("a1"), row("a2"))
    append_rows(tmp_path, rows)
    append_rows(tmp_path, rows)
    assert len(list(tmp_path.iterdir())) == 1


def test_only_what_is_new_is_appended(tmp_path: Path) -> None:
    append_rows(tmp_path, ledger_of(row("a1")))
    known = read_ledger(tmp_path)["row_id"]
    assert append_rows(tmp_path, ledger_of(row("a1"), row("a2")), known=known) == 1
    assert sorted(read_ledger(tmp_path)["annotation"]) == ["a1", "a2"]


def test_two_sites_merge_by_copying_files(tmp_path: Path) -> None:
    append_rows(tmp_path / "one", ledger_of(row("a1", seen_at=day(3)), row("a2")))
    append_rows(tmp_path / "two", ledger_of(row("a1", seen_at=day(2)), row("a3")))
    shutil.copytree(tmp_path / "two", tmp_path / "one", dirs_exist_ok=True)
    merged = read_ledger(tmp_path / "one")
    assert list(merged["annotation"]) == ["a1", "a2", "a3"]
    assert merged.loc[merged["annotation"] == "a1", "seen_at"].tolist() == [day(2)]


def test_an_edit_is_a_row_of_its_own_and_the_latest_counts() -> None:
    ledger = ledger_of(
        row("a1", day(1), label="relevant"), row("a1", day(2), EDITED, label="irrelevant"), row("a2")
    )
    latest = latest_answers(ledger)
    assert states(latest) == {"a1": EDITED, "a2": ANSWERED}
    assert latest["answer"].tolist() == ['{"label": "irrelevant"}', '{"label": "relevant"}']
    assert len(ledger) == 3


def test_a_deletion_is_recorded_and_the_answer_stays_readable() -> None:
    ledger = ledger_of(row("a1", day(1)), row("a1", day(1), DELETED, seen_at=day(5)))
    assert states(latest_answers(ledger)) == {"a1": DELETED}
    assert latest_answers(ledger)["answer"].tolist() == ['{"label": "relevant"}']


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


def test_the_author_is_known_after_the_account_was_deleted() -> None:
    ledger = ledger_of(row("a1", day(1), annotator_id="bob"), row("a1", day(2), annotator_id=""))
    assert latest_answers(ledger)["annotator_id"].tolist() == ["bob"]
    copies = ledger_of(row("a1", annotator_id="", source="a"), row("a1", annotator_id="bob", source="b"))
    assert latest_answers(copies)["annotator_id"].tolist() == ["bob"]


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


@pytest.mark.slow
@given(st.lists(versions, min_size=1, max_size=8, unique_by=lambda r: r["row_id"]), st.randoms())
@settings(max_examples=examples(80))
def test_the_order_of_rows_does_not_matter(rows: list[dict[str, str]], shuffler: random.Random) -> None:
    expected = latest_answers(ledger_of(*rows))
    shuffler.shuffle(rows)
    pd.testing.assert_frame_equal(expected, latest_answers(ledger_of(*rows)))
    assert set(expected["annotation"]) == {r["annotation"] for r in rows}


@pytest.mark.parametrize("damage", ["flip", "cut", "empty"])
def test_a_damaged_segment_is_named_and_the_others_stay_readable(tmp_path: Path, damage: str) -> None:
    append_rows(tmp_path, ledger_of(row("a1")))
    sound = {path.name for path in tmp_path.iterdir()}
    append_rows(tmp_path, ledger_of(row("a2")))
    (path,) = (path for path in tmp_path.iterdir() if path.name not in sound)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes({"flip": bytes(content), "cut": bytes(content[:-7]), "empty": b""}[damage])
    with pytest.raises(FormatError, match=f"{path.name}: damaged, cut short or foreign"):
        read_ledger(tmp_path)
    path.rename(tmp_path.parent / path.name)
    assert list(read_ledger(tmp_path)["annotation"]) == ["a1"]


def test_every_flipped_bit_is_noticed(tmp_path: Path) -> None:
    append_rows(tmp_path, ledger_of(*(row(f"a{n}") for n in range(50))))
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    for place in random.Random(0).sample(range(len(content) * 8), 60):
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << place % 8
        path.write_bytes(flipped)
        with pytest.raises(FormatError, match=path.name):
            read_ledger(tmp_path)
    path.write_bytes(content)
    assert len(read_ledger(tmp_path)) == 50


def test_foreign_files_are_named_even_if_their_name_fits(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1]})
    frame.to_parquet(tmp_path / "part.parquet")
    (tmp_path / segment_name(b"text")).write_bytes(b"text")
    (tmp_path / "x").mkdir()
    frame.to_parquet(tmp_path / "x" / "f")
    content = (tmp_path / "x" / "f").read_bytes()
    (tmp_path / segment_name(content)).write_bytes(content)
    with pytest.raises(FormatError) as caught:
        read_ledger(tmp_path)
    assert "part.parquet: damaged, cut short or foreign" in str(caught.value)
    assert f"{segment_name(b'text')}: not a Parquet file" in str(caught.value)
    assert f"{segment_name(content)}: not a segment of schema 1 (found none)" in str(caught.value)


def test_an_unknown_state_is_refused() -> None:
    with pytest.raises(TableError, match="state lost, expected answered"):
        ledger_of(row(state="lost"))


def test_a_full_disk_leaves_the_ledger_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append_rows(tmp_path, ledger_of(row("a1")))

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("fire_toolkit.workspace.manifests.os.fsync", full)
    with pytest.raises(FireError, match=r"No space left on device; .* bytes are needed"):
        append_rows(tmp_path, ledger_of(row("a2")))
    monkeypatch.undo()
    assert list(read_ledger(tmp_path)["annotation"]) == ["a1"]
    assert len(list(tmp_path.iterdir())) == 1


_WRITER = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[2:]
from test_ledger import ledger_of, row
from fire_toolkit.campaign.ledger import append_rows
print("ready", flush=True)
for number in range(100_000):
    append_rows(Path(sys.argv[1]), ledger_of(row(f"a{number}-x"), row(f"a{number}-y")))
    print(number, flush=True)
"""


@pytest.mark.slow
def test_killed_writers_lose_nothing_that_was_written_and_leave_no_half_segment(tmp_path: Path) -> None:
    folder = tmp_path / "ledger"
    chance = random.Random(1)
    for _ in range(6):
        here = Path(__file__).parent
        arguments = [sys.executable, "-c", _WRITER, str(folder), str(here), str(here.parent)]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
            time.sleep(chance.uniform(0.0, 0.15))
            writer.send_signal(signal.SIGKILL)
            done = [line.strip() for line in writer.stdout if line.endswith("\n")]
        found = set(read_ledger(folder)["annotation"])
        assert {f"a{number}-{which}" for number in done for which in "xy"} <= found
        assert {key[:-1] + "x" for key in found} == {key for key in found if key.endswith("x")}
        assert {key[:-1] + "y" for key in found} == {key for key in found if key.endswith("y")}
