"""The help of the program, and that no command is imported before it is called."""

import re
import subprocess
import sys

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner
from command import Fire

from fire_toolkit.cli import _FILES, NAMES, main


def test_the_help_of_the_program_fits_one_screen(fire: Fire) -> None:
    lines = fire("--help").stdout.splitlines()
    assert len(lines) <= 40
    assert {name for name in main.commands if any(re.search(rf"\b{name}\b", line) for line in lines)} == set(
        NAMES
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_command_stands_in_the_file_of_its_name_or_of_its_kind(name: str) -> None:
    word = name.replace("-", "_")
    callback = main.commands[name].callback
    assert callback is not None
    files = {each: file for file, names in _FILES.items() for each in names.split()}
    assert callback.__module__.rpartition(".")[2] == files.get(name, "import_" if word == "import" else word)


@pytest.mark.parametrize("calls", ["--help|--version|nothing", "score --help|annotators add -h"])
def test_help_imports_no_command(calls: str) -> None:
    code = (
        f"import sys; from fire_toolkit.cli import main\nfor words in {calls.split('|')}:\n"
        " try: main(words.split())\n except SystemExit: pass\nprint(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    files = {command.callback.__module__ for command in main.commands.values() if command.callback}
    assert "fire_toolkit.cli" in loaded
    assert not loaded & {"numpy", "pandas", "pyarrow", "scipy", "label_studio_sdk"}
    assert " " in calls or not loaded & files


def test_after_the_import_of_a_command_cycles_are_collected_again() -> None:
    code = "import gc; from fire_toolkit.cli import main; main.commands['score']; print(gc.isenabled())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def completed(*words: str) -> list[str]:
    complete = ShellComplete(main, {}, "fire-toolkit", "_FIRE_TOOLKIT_COMPLETE")
    return [item.value for item in complete.get_completions(list(words[:-1]), words[-1])]


def test_a_shell_completes_commands_and_their_options() -> None:
    begun = ["add-collection", "add-run", "audit", "annotators", "agree", "augment"]
    assert completed("a") == begun
    assert completed("--v") == ["--version"]
    assert completed("media", "ser") == ["serve"]
    assert completed("pool", "--dep") == ["--depth"]
    words = {"COMP_WORDS": "fire-toolkit score --ties op", "COMP_CWORD": "3"}
    environ = {**words, "_FIRE_TOOLKIT_COMPLETE": "bash_complete"}
    told = CliRunner().invoke(main, prog_name="fire-toolkit", env=environ)
    assert told.stdout == "plain,optimistic\n"


def every(command: click.Command) -> list[click.Command]:
    members = command.commands.values() if isinstance(command, click.Group) else ()
    return [command, *(each for member in members for each in every(member))]


def test_help_after_two_hyphens_is_no_wish_for_help(fire: Fire) -> None:
    assert "Usage" not in fire("score", "--", "--help", code=1).stdout


def options(command: click.Command) -> set[str]:
    return {option for parameter in command.params for option in parameter.opts}


def test_no_command_has_an_old_spelling_and_every_one_prints_its_form_by_format() -> None:
    commands = [each for each in every(main) if not isinstance(each, click.Group)]
    anywhere = {"--json", "--clusters", "--statistics", "--top", "--k", "--sets"}
    assert [command.name for command in commands if options(command) & anywhere] == []
    without = {command.name for command in commands if "--format" not in options(command)}
    told = "demo init guideline retire refresh snippet start stop serve write gallery doctor add reassign"
    assert without == {*told.split(), "transcode"}
