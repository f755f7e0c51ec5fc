"""The line of progress on a terminal, and what is said while it stands there."""

import io
import sys
from pathlib import Path

import click
import pytest

from fire_toolkit.cli import main
from fire_toolkit.cli.common import Progress, say
from fire_toolkit.cli.given import Given


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_note_is_said_on_a_line_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with click.Context(main), Progress("reading") as tell:
        say("note: a column is left out")
        tell("writing")
    assert terminal.getvalue() == "\rreading\r       \rnote: a column is left out\n\rwriting\r       \r"


def test_nothing_is_shown_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with click.Context(main), Progress("reading"):
        say("note: a column is left out")
    assert capsys.readouterr().err == "note: a column is left out\n"


def test_a_large_file_is_named_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    for name, n_bytes in (("small.csv", 100), ("large.csv", 5 << 20)):
        (tmp_path / name).write_bytes(b"x" * n_bytes)
    with click.Context(main):
        inputs = Given()
        inputs.use(tmp_path / "small.csv")
        assert terminal.getvalue() == ""
        inputs.use(tmp_path / "large.csv")
        words = f"working on {tmp_path / 'large.csv'} …"
        with Progress("resampling"):
            assert terminal.getvalue() == f"\r{words}\r{' ' * len(words)}\r\rresampling"
        say("done")
    assert terminal.getvalue().endswith("\rresampling\r          \rdone\n")
