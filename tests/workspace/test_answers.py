"""An answer of `status` is kept exactly as long as nothing that it was found from has changed."""

import os
from pathlib import Path

import pytest

from fire_toolkit.errors import FormatError
from fire_toolkit.workspace import answers, hashes
from fire_toolkit.workspace.answers import RECORD, kept_answer


class Asked:
    """Counts how often it was found, and says so."""

    def __init__(self) -> None:
        self.n_found = 0

    def __call__(self) -> str:
        self.n_found += 1
        return f"found {self.n_found}"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(hashes, "_CLEARLY_OLDER_NS", -1_000_000_000)
    (tmp_path / "runs/deep").mkdir(parents=True)
    for name in ("fire.toml", "runs/a.run", "runs/deep/b.run"):
        (tmp_path / name).write_text("one")
    return tmp_path


def test_it_is_kept_while_nothing_changes(root: Path) -> None:
    asked = Asked()
    assert [kept_answer(root, "a", "q", asked) for _ in range(3)] == ["found 1"] * 3
    assert kept_answer(root, "a", "another question", asked) == "found 2"
    assert kept_answer(root, "b", "another question", asked) == "found 3"
    assert kept_answer(root, "a", "another question", asked) == "found 2"


@pytest.mark.parametrize("name", ["fire.toml", "runs/a.run", "runs/deep/b.run"])
def test_any_file_that_changes_comes_or_goes_asks_again(root: Path, name: str) -> None:
    asked, path = Asked(), root / name
    kept_answer(root, "a", "q", asked)
    facts = path.stat()
    path.write_text("two")  # as long as before
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert kept_answer(root, "a", "q", asked) == "found 2"
    path.rename(path.with_name("renamed"))
    assert kept_answer(root, "a", "q", asked) == "found 3"
    path.with_name("renamed").unlink()
    assert kept_answer(root, "a", "q", asked) == "found 4"
    path.write_text("one")
    assert kept_answer(root, "a", "q", asked) == "found 5"
    assert kept_answer(root, "a", "q", asked) == "found 5"


def test_a_file_elsewhere_counts_too_and_one_that_is_absent_keeps_nothing(root: Path) -> None:
    asked, elsewhere = Asked(), root.with_name(f"{root.name}-qrels.txt")
    assert [kept_answer(root, "a", "q", asked, beside=[elsewhere]) for _ in range(2)] == [
        "found 1",
        "found 2",
    ]
    elsewhere.write_text("one")
    assert [kept_answer(root, "a", "q", asked, beside=[elsewhere]) for _ in range(2)] == [
        "found 3",
        "found 3",
    ]
    elsewhere.write_text("two and more")
    assert kept_answer(root, "a", "q", asked, beside=[elsewhere]) == "found 4"


def test_what_changed_a_moment_ago_or_meanwhile_is_not_kept(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Asked()

    def changes_one() -> str:
        (root / "runs/a.run").write_text("longer")
        return asked()

    assert kept_answer(root, "a", "q", changes_one) == "found 1"
    assert not (root / RECORD).exists()
    monkeypatch.setattr(hashes, "_CLEARLY_OLDER_NS", 60_000_000_000)
    assert [kept_answer(root, "a", "q", asked) for _ in range(2)] == ["found 2", "found 3"]


@pytest.mark.parametrize("damaged", [b"", b"[]", b"0\n{}", b"\xff\n"])
def test_a_damaged_record_counts_as_none(root: Path, damaged: bytes) -> None:
    asked = Asked()
    kept_answer(root, "a", "q", asked)
    content = (root / RECORD).read_bytes()
    (root / RECORD).write_bytes(damaged)
    assert kept_answer(root, "a", "q", asked) == "found 2"
    (root / RECORD).write_bytes(content.replace(b"found 1", b"found 9"))
    assert kept_answer(root, "a", "q", asked) == "found 3"


def test_another_version_and_too_many_files_ask_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked()
    kept_answer(root, "a", "q", asked)
    monkeypatch.setattr(answers, "__version__", "0")
    assert kept_answer(root, "a", "q", asked) == "found 2"
    monkeypatch.setattr(answers, "_MOST_FILES", 2)
    assert [kept_answer(root, "a", "q", asked) for _ in range(2)] == ["found 3", "found 4"]


def test_an_error_is_raised_and_not_kept(root: Path) -> None:
    def fails() -> str:
        raise FormatError("no such run")

    with pytest.raises(FormatError, match="no such run"):
        kept_answer(root, "a", "q", fails)
    assert kept_answer(root, "a", "q", Asked()) == "found 1"
