"""The demo takes no folder that is not its own; what it makes is held by made_demo.py."""

import sys
from pathlib import Path

import pytest
from command import run


def test_the_live_demo_takes_no_folder_of_the_other(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / ".fire-demo").write_text("")
    result = run("demo", "--live", "--out", tmp_path / "other", code=1)
    assert "is another demo" in result.stderr


def test_the_live_demo_needs_pyav(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    result = run("demo", "--live", "--out", tmp_path / "new", code=1)
    assert "pip install av" in result.stderr
    assert not (tmp_path / "new").exists()
