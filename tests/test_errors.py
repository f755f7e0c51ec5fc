"""A message can be printed wherever it goes: one line, no control characters, never endless."""

import pytest

from fire_toolkit.errors import FireError, FormatError


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a: two\n lines\tand  blanks", "a: two lines and blanks"),
        ("sims\x1b[31m.npy\x00", r"sims\x1b[31m.npy\x00"),
        ("half a character \ud800, a mark \ufeff", r"half a character \ud800, a mark \ufeff"),
        ("frage-ü, 日本, 🙂", "frage-ü, 日本, 🙂"),
    ],
)
def test_what_a_file_says_of_itself_cannot_spoil_the_terminal(text: str, shown: str) -> None:
    assert shown == str(FormatError(text))


def test_a_very_long_message_keeps_its_beginning_and_its_end() -> None:
    told = str(FireError("labels.csv: no column, found " + "x" * 100_000 + "; expected a header"))
    assert len(told) < 2100
    assert told.startswith("labels.csv: no column, found xxx")
    assert told.endswith("xxx; expected a header")
