"""The journal: what was acknowledged is there after any cut, what is damaged is named."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from fire_toolkit.errors import FireError, FormatError
from fire_toolkit.workspace.journal import Journal, read_journal

RECORDS = [{"n": number, "comment": "a\nb ‮ \ud800" * number} for number in range(3)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    journal = Journal(tmp_path / "page" / "answers.journal")
    for record in RECORDS:
        journal.append(record)
    journal.close()
    return tmp_path / "page" / "answers.journal"


def test_what_was_written_is_read(path: Path) -> None:
    assert read_journal(path) == RECORDS
    assert read_journal(path.with_name("other")) == []
    assert path.read_bytes().count(b"\n") == 3


def test_a_tail_torn_anywhere_is_dropped_and_the_next_record_is_whole(path: Path) -> None:
    whole = path.read_bytes()
    last = whole.rfind(b"\n", 0, -1) + 1
    for cut in range(last, len(whole)):
        path.write_bytes(whole[:cut])
        assert read_journal(path) == RECORDS[:2]
        journal = Journal(path)
        journal.append(RECORDS[2])
        journal.close()
        assert path.read_bytes() == whole


@pytest.mark.parametrize("place", [0, 30, -3])
def test_a_whole_record_that_was_changed_is_named(path: Path, place: int) -> None:
    lines = path.read_bytes().split(b"\n")
    content = bytearray(lines[1])
    content[place] ^= 1
    path.write_bytes(b"\n".join([lines[0], bytes(content), *lines[2:]]))
    for read in (read_journal, Journal):
        with pytest.raises(FormatError, match=r"answers.journal:2: damaged: length or checksum"):
            read(path)


def test_on_a_full_disk_the_record_is_refused_and_the_journal_is_as_it_was(path: Path) -> None:
    before = path.read_bytes()
    journal = Journal(path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 20, hard))
    try:
        with pytest.raises(FireError, match="cannot be written"):
            journal.append(RECORDS[2])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == before
    journal.append(RECORDS[2])
    journal.close()
    assert read_journal(path) == [*RECORDS, RECORDS[2]]
