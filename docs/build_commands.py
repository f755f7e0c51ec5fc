"""Write docs/commands/ from the commands themselves, a page for each: python docs/build_commands.py."""

from __future__ import annotations

import json
import re
from collections import Counter
from copy import copy
from functools import cache
from pathlib import Path

import click

from fire_toolkit.cli import GROUPS, main
from fire_toolkit.cli.told import FILE, telling

FOLDER = Path(__file__).with_name("commands")
HEAD = """# Commands

`fire-toolkit COMMAND --help` (`-h`) prints what a command does and its options. These pages, made by
`docs/build_commands.py`, hold the same; options that mean the same in several commands are explained here.

In a workspace (a folder with a `fire.toml`) every command takes what is not given from there. Tables go to
stdout, notes and progress to stderr. The exit code is 0 when the work is done, 1 when something is wrong with
the data, 2 when the command was called wrongly, and 3 when a server failed.

"""
SHARED = "## Options of several commands"
ANCHOR = "options-of-several-commands"
OWN_HELP = re.compile(r"\n +-h, --help +Show this message and exit\.(?=\n|$)")  # every command has it
BELOW = re.compile(r"\n\nCommands:\n.*", re.DOTALL)  # a group's commands follow on its page
EMPTY = re.compile(r"\n\nOptions:\s*$")


def context_of(words: tuple[str, ...]) -> click.Context:
    """Return the context of a command, in a terminal of 100 columns."""
    settings = main.context_settings
    context = click.Context(main, info_name="fire-toolkit", terminal_width=100, **settings)
    for word in words:
        assert isinstance(context.command, click.Group)
        context = click.Context(context.command.commands[word], info_name=word, parent=context)
    return context


def record_of(option: click.Parameter, context: click.Context) -> tuple[str, str] | None:
    """Return how an option is spelled and what its help says; None for an argument."""
    return option.get_help_record(context) if isinstance(option, click.Option) else None


@cache
def shared() -> frozenset[tuple[str, str]]:
    """Return the options that two commands or more have, spelled and explained alike."""
    found = Counter[tuple[str, str]]()
    for name in main.commands:
        for words in [(name,), *members(main.commands[name], (name,))]:
            context = context_of(words)
            found.update(filter(None, (record_of(each, context) for each in context.command.params)))
    return frozenset(record for record, n_commands in found.items() if n_commands > 1)


def help_of(*words: str) -> str:
    """Return a command's help in a terminal of 100 columns, shared options by their names alone."""
    context = context_of(words)
    command = copy(context.command)
    records = {option: record_of(option, context) for option in command.params}
    command.params = [option for option, record in records.items() if record not in shared()]
    text = command.get_help(click.Context(command, context.parent, words[-1], terminal_width=100))
    text = EMPTY.sub("", BELOW.sub("", OWN_HELP.sub("", text.rstrip())))
    page = f"\n```\n{text}\n```\n"
    names = [f"`{max(option.opts, key=len)}`" for option in records if option not in command.params]
    return page + (f"\nAs [in other commands](README.md#{ANCHOR}): {', '.join(names)}.\n" if names else "")


def told() -> str:
    """Return what `--help` and completion tell of each command, as `cli/helps.json` keeps it."""
    contexts = {name: context_of((name,)) for name in main.commands}
    found = {name: telling(context.command, context) for name, context in contexts.items()}
    return json.dumps(found, ensure_ascii=False, indent=1) + "\n"


def members(command: click.Command, before: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the words of every command below a group."""
    found: list[tuple[str, ...]] = []
    for name, member in command.commands.items() if isinstance(command, click.Group) else ():
        found += [(*before, name), *members(member, (*before, name))]
    return found


def page_of(name: str) -> str:
    """Return the page of a command, with those of its group below it."""
    below = members(main.commands[name], (name,))
    return f"# {name}\n{help_of(name)}" + "".join(
        f"\n## {' '.join(words)}\n{help_of(*words)}" for words in below
    )


def index() -> str:
    """Return the page that lists the commands by what they are for, and the options that they share."""
    groups = "".join(
        f"- **{group.name.capitalize()}**, to {group.sentence}: "
        f"{', '.join(f'[{name}]({name}.md)' for name in group.commands)}.\n"
        for group in GROUPS
    )
    formatter = click.HelpFormatter(width=100)
    formatter.write_dl(sorted(shared(), key=lambda record: (record[0].lstrip("-"), record[1])))
    return f"{HEAD}{groups}\n{SHARED}\n\n```\n{formatter.getvalue()}```\n"


def pages() -> dict[str, str]:
    """Return the text of every page by the name of its file."""
    return {"README.md": index()} | {f"{name}.md": page_of(name) for name in main.commands}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    (FOLDER.parent.parent / "fire_toolkit/cli" / FILE).write_text(told(), encoding="utf-8")
    made = pages()
    for name, text in made.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    for old in FOLDER.glob("*.md"):
        if old.name not in made:
            old.unlink()
