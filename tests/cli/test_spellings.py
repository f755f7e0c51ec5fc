"""One spelling for one thing: over all commands."""

from collections.abc import Iterator

import click

from fire_toolkit.cli import main


def commands(group: click.Group) -> Iterator[click.Command]:
    for command in group.commands.values():
        yield from commands(command) if isinstance(command, click.Group) else (command,)


def options(command: click.Command) -> set[str]:
    return {option for parameter in command.params for option in parameter.opts}


def test_no_command_has_an_old_spelling_beside_its_new_one() -> None:
    anywhere = {"--json", "--clusters", "--statistics", "--top", "--k", "--sets"}
    for command in commands(main):
        assert not options(command) & anywhere, command.name


def test_every_command_prints_its_form_by_the_option_format() -> None:
    without = {command.name for command in commands(main) if "--format" not in options(command)}
    told = "demo init guideline retire refresh snippet start stop serve write gallery doctor add reassign"
    assert without == {*told.split(), "transcode"}
