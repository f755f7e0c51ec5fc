"""Write docs/commands/ from the commands themselves, a page for each: python docs/build_commands.py."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click

from fire_toolkit.cli import main
from fire_toolkit.cli.told import FILE, telling

FOLDER = Path(__file__).with_name("commands")
HEAD = "# Commands\n\nWhat `--help` (`-h`) prints. These pages are made by `docs/build_commands.py`.\n\n"
OWN_HELP = re.compile(r"\n +-h, --help +Show this message and exit\.(?=\n|$)")  # every command has it


def context_of(words: tuple[str, ...]) -> click.Context:
    """Return the context of a command, in a terminal of 100 columns."""
    settings = main.context_settings
    context = click.Context(main, info_name="fire-toolkit", terminal_width=100, **settings)
    for word in words:
        assert isinstance(context.command, click.Group)
        context = click.Context(context.command.commands[word], info_name=word, parent=context)
    return context


def help_of(*words: str) -> str:
    """Return a command's help as a terminal of 100 columns shows it."""
    context = context_of(words)
    return f"\n```\n{OWN_HELP.sub('', context.get_help().rstrip())}\n```\n"


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
    """Return the page that lists the commands, in the order of `fire-toolkit --help`."""
    return HEAD + "".join(
        f"- [{name}]({name}.md): {command.get_short_help_str(200)}\n"
        for name, command in main.commands.items()
    )


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
