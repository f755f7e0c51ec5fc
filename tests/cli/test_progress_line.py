"""The line of progress on a terminal, and what is said while it stands there."""

import io
import sys

import click
import pytest

from fire_toolkit.cli import main
from fire_toolkit.cli.common import say
from fire_toolkit.cli.server_options import Progress


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
