"""`--help` of a command tells of it without what it computes by."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from fire_toolkit.cli import main

HEAVY = {"numpy", "pandas", "pyarrow", "scipy"}


@pytest.mark.parametrize(
    "words", [("score", "--help"), ("annotators", "add", "-h"), ("--help",), ("--version",)]
)
def test_help_imports_nothing_heavy(words: tuple[str, ...]) -> None:
    code = "import sys; from fire_toolkit.cli import main; main(sys.argv[1:], standalone_mode=False); "
    code += f"sys.exit(' '.join({HEAVY!r} & set(sys.modules)) or 0)"
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    assert (done.stderr.strip(), done.returncode) == ("", 0)


def test_words_of_completion_are_told() -> None:
    told = CliRunner().invoke(
        main,
        prog_name="fire-toolkit",
        env={
            "COMP_WORDS": "fire-toolkit score --ties op",
            "COMP_CWORD": "3",
            "_FIRE_TOOLKIT_COMPLETE": "bash_complete",
        },
    )
    assert told.stdout == "plain,optimistic\n"


def test_the_value_of_an_option_is_no_wish_for_help() -> None:
    told = CliRunner().invoke(main, ["score", "-m", "--help"], prog_name="fire-toolkit")
    assert told.stderr.startswith("error: no measure '--help'")
    told = CliRunner().invoke(main, ["score", "--", "--help"], prog_name="fire-toolkit")
    assert "Usage" not in told.stdout


def test_an_option_that_has_gone_says_where() -> None:
    told = CliRunner().invoke(main, ["push", "--url", "http://127.0.0.1:9"], prog_name="fire-toolkit")
    assert "--url is no option here: set FIRE_LABEL_STUDIO_URL" in told.stderr
    assert told.exit_code == 2
