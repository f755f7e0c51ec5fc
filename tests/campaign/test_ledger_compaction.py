"""Small segments of a ledger become one, and nothing that was in them changes."""

from __future__ import annotations

import contextlib
import errno
import random
import shutil
from pathlib import Path

import pandas as pd
import pytest

from examples import seeds
from fire_toolkit.campaign.ledger import (
    DELETED,
    EDITED,
    RESTORED,
    Ledger,
    append_rows,
    check_ledger,
    latest_answers,
    read_ledger,
    row_id,
)
from fire_toolkit.campaign.ledger_compaction import compact_ledger
from fire_toolkit.errors import FormatError


def rows_of(chance: random.Random, n_rows: int) -> Ledger:
    """Rows of few answers, so that versions, deletions and rows seen twice meet."""
    rows = {}
    for _ in range(n_rows):
        state = chance.choice([EDITED, DELETED, RESTORED])
        annotation, moment = f"a{chance.randrange(12)}", f"2026-01-0{chance.randint(1, 5)}"
        seen_at = f"2026-02-{chance.randint(10, 28)}T{chance.randrange(10, 24)}"
        number = row_id("s", "1", annotation, moment, state, seen_at)
        rows[number] = {
            "row_id": number,
            **{"source": "s", "project": "1", "annotation": annotation, "updated_at": moment},
            **{"state": state, "seen_at": seen_at, "pair_id": "p", "task": "7", "queue": "1/ann"},
            **{"annotator_id": chance.choice(["ann", ""]), "answer": '{"x":"NA"}'},
        }
    return check_ledger(pd.DataFrame(list(rows.values())))


def ledger_in(folder: Path, seed: int, n_segments: int = 5) -> None:
    chance = random.Random(seed)
    for _ in range(n_segments):
        append_rows(folder, rows_of(chance, chance.randint(1, 8)))


@pytest.mark.parametrize("seed", seeds(20))
def test_the_same_rows_are_read_before_and_after(tmp_path: Path, seed: int) -> None:
    ledger_in(tmp_path, seed)
    before = read_ledger(tmp_path)
    n_segments = len(list(tmp_path.glob("*.parquet")))
    assert compact_ledger(tmp_path, most_small=3) == n_segments
    assert len(list(tmp_path.iterdir())) == 1
    pd.testing.assert_frame_equal(read_ledger(tmp_path), before)
    pd.testing.assert_frame_equal(latest_answers(read_ledger(tmp_path)), latest_answers(before))
    assert compact_ledger(tmp_path, most_small=3) == 0


def test_few_segments_stay(tmp_path: Path) -> None:
    assert compact_ledger(tmp_path / "none") == 0
    ledger_in(tmp_path, 1, n_segments=3)
    names = sorted(tmp_path.iterdir())
    assert compact_ledger(tmp_path, most_small=3) == 0
    assert sorted(tmp_path.iterdir()) == names


class Killed(BaseException):
    """The writer dies here."""


@pytest.mark.parametrize("at", range(6))
def test_killed_between_any_two_files_it_is_taken_up_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    ledger_in(tmp_path, 4)
    before = read_ledger(tmp_path)
    left = [at]
    unlink = Path.unlink

    def die(path: Path, *, missing_ok: bool = False) -> None:
        if path.suffix == ".parquet":
            if not left[0]:
                raise Killed
            left[0] -= 1
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", die)
    with contextlib.suppress(Killed):
        compact_ledger(tmp_path, most_small=3)
    monkeypatch.undo()
    pd.testing.assert_frame_equal(read_ledger(tmp_path), before)
    compact_ledger(tmp_path, most_small=0)
    pd.testing.assert_frame_equal(read_ledger(tmp_path), before)
    assert len(list(tmp_path.glob("*.parquet"))) == 1


@pytest.mark.parametrize("is_other_compacted", [False, True])
def test_two_sites_merge_as_if_nothing_had_been_written_anew(
    tmp_path: Path, is_other_compacted: bool
) -> None:
    one, other, plain = tmp_path / "one", tmp_path / "other", tmp_path / "plain"
    ledger_in(one, 7)
    shutil.copytree(one, other)
    append_rows(one, rows_of(random.Random(70), 5))
    append_rows(other, rows_of(random.Random(71), 5))
    for site in (one, other):
        shutil.copytree(site, plain, dirs_exist_ok=True)
    compact_ledger(one, most_small=3)
    if is_other_compacted:
        compact_ledger(other, most_small=3)
    shutil.copytree(other, one, dirs_exist_ok=True)
    pd.testing.assert_frame_equal(read_ledger(one), read_ledger(plain))
    compact_ledger(one, most_small=0)
    pd.testing.assert_frame_equal(read_ledger(one), read_ledger(plain))


def test_the_same_segments_give_the_same_one(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    ledger_in(one, 9)
    shutil.copytree(one, other)
    for site in (one, other):
        compact_ledger(site, most_small=3)
    assert [path.name for path in one.iterdir()] == [path.name for path in other.iterdir()]


def test_a_damaged_segment_is_left_to_be_named(tmp_path: Path) -> None:
    ledger_in(tmp_path, 2)
    names = sorted(path.name for path in tmp_path.iterdir())
    (tmp_path / names[0]).write_bytes(b"PAR1")
    assert compact_ledger(tmp_path, most_small=3) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    with pytest.raises(FormatError, match="damaged, cut short or foreign"):
        read_ledger(tmp_path)


def test_a_full_disk_leaves_the_ledger_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger_in(tmp_path, 3)
    names = sorted(path.name for path in tmp_path.iterdir())
    before = read_ledger(tmp_path)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("fire_toolkit.campaign.ledger_compaction.append_segment", full)
    with pytest.raises(OSError, match="No space"):
        compact_ledger(tmp_path, most_small=3)
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    pd.testing.assert_frame_equal(read_ledger(tmp_path), before)
