"""One spelling for one thing: today's over all commands, and the older ones with a word."""

from collections.abc import Callable, Iterator

import click
import pytest
from click.testing import Result

from fire_toolkit.cli import main
from fire_toolkit.cli.spellings import EVERYWHERE, OLD, respelled

Fire = Callable[..., Result]


def commands(group: click.Group) -> Iterator[click.Command]:
    for command in group.commands.values():
        yield from commands(command) if isinstance(command, click.Group) else (command,)


def options(command: click.Command) -> set[str]:
    return {option for parameter in command.params for option in parameter.opts}


def test_no_command_has_an_old_spelling_beside_its_new_one() -> None:
    anywhere = {"--json", "--clusters", "--statistics", "--top", "--k", "--sets"}
    for command in commands(main):
        assert not options(command) & anywhere, command.name


@pytest.mark.parametrize("name", list(OLD))
def test_each_old_spelling_leads_to_an_option_of_its_command(name: str) -> None:
    (command,) = [command for command in commands(main) if command.name == name]
    for old, new in OLD[name].items():
        assert old not in options(command)
        assert new[0] in options(command)
        assert respelled(command, [old]) == list(new)


def test_every_command_prints_its_form_by_the_option_format() -> None:
    without = {command.name for command in commands(main) if "--format" not in options(command)}
    told = {
        "demo",
        "init",
        "snippet",
        "show",
        "new",
        "check",
        "measures",
        "logs",
        "refresh",
        "serve",
    }
    told |= {"html", "write", "gallery", "plot"}
    assert without == told
    assert EVERYWHERE == {"--json": ("--format", "json")}


def test_an_old_spelling_works_and_says_the_new_one(fire: Fire) -> None:
    old = fire("agree", "judgments.csv", "--statistics=percent_agreement", "--format", "json")
    new = fire("agree", "judgments.csv", "-m", "percent_agreement", "--format", "json")
    assert old.stdout == new.stdout
    assert "note: --statistics is now spelled --measure; the old spelling still works\n" in old.stderr
    assert "now spelled" not in new.stderr
    counts = fire("pool", "clip.run", "--qrels", "qrels.txt", "--out", "pool", "--json")
    assert counts.stdout.startswith("{")
    assert "note: --json is now spelled --format json" in counts.stderr
