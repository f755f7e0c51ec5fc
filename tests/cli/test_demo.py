"""The demo takes no folder that is not its own; what it makes is held by made_demo.py."""

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from fire_toolkit.cli import main


def test_it_takes_no_folder_that_is_not_its_own(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    result = CliRunner().invoke(main, ["demo", "--out", str(tmp_path / "mine")])
    assert result.exit_code == 1
    assert "is no demo" in result.stderr


def test_the_live_demo_takes_no_folder_of_the_other(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / ".fire-demo").write_text("")
    result = CliRunner().invoke(main, ["demo", "--live", "--out", str(tmp_path / "other")])
    assert result.exit_code == 1
    assert "is another demo" in result.stderr


def test_the_live_demo_needs_pyav(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    result = CliRunner().invoke(main, ["demo", "--live", "--out", str(tmp_path / "new")])
    assert result.exit_code == 1
    assert "pip install av" in result.stderr
    assert not (tmp_path / "new").exists()
