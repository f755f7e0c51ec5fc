"""Write docs/commands.md from the commands themselves: python docs/build_commands.py."""

from __future__ import annotations

from pathlib import Path

import click
from click.testing import CliRunner

from fire_toolkit.cli import main

PAGE = Path(__file__).with_name("commands.md")
HEAD = "# Command reference\n\nWhat `--help` prints; this page is made from it by `docs/build_commands.py`.\n"


def help_of(*words: str) -> str:
    """Return a command's help as a terminal of 100 columns shows it."""
    runner = CliRunner(env={"COLUMNS": "100"})
    text = runner.invoke(main, [*words, "--help"], prog_name="fire-toolkit", terminal_width=100).stdout
    return f"\n## fire-toolkit {' '.join(words)}".rstrip() + f"\n\n```\n{text.rstrip()}\n```\n"


def names(group: click.Group, before: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return the words of every command, groups before their members."""
    found: list[tuple[str, ...]] = []
    for name, command in group.commands.items():
        found.append((*before, name))
        if isinstance(command, click.Group):
            found += names(command, (*before, name))
    return found


def page() -> str:
    """Return the whole page."""
    return HEAD + help_of() + "".join(help_of(*words) for words in names(main))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
