"""Write docs/commands/README.md from the commands themselves: python docs/build_commands.py.

The page says what each command is for, which options it has, and which page explains it; what each option
means is told by `--help` alone, which is kept in `cli/helps.json`.
"""

from __future__ import annotations

import json
from pathlib import Path

import click

from fire_toolkit.cli import FILE, GROUPS, main

WIDTH = 100  # of the lines that show how a command is called
PAGE = Path(__file__).with_name("commands") / "README.md"
HEAD = """# Commands

*Which command does it, and how is it called?* `fire-toolkit COMMAND --help` (`-h`) explains each
option, as the site's page of each command does. `docs/build_commands.py` makes this page.

In a workspace (a folder with a `fire.toml`) every command takes what is not given from there. Tables go to
stdout, notes and progress to stderr. The exit code is 0 when the work is done, 1 when something is wrong with
the data, 2 when the command was called wrongly, and 3 when a server failed. Where a command has a table or a
folder to write, `--out` says where, and `--format` in which form.
"""
SAID_ABOVE = ("--format", "--out")
# The page that explains a command, with what the reader finds there.
EXPLAINED = {
    "tutorial": ("demo", "init", "status", "refresh"),
    "collections": ("add-collection", "audit"),
    "formats": ("add-run", "snippet"),
    "plan": ("plan",),
    "pools": ("pool",),
    "guidelines": ("guideline",),
    "campaign": ("tasks", "push", "pull", "page", "progress", "annotators", "labelstudio", "doctor", "import",
                 "next-round"),
    "media": ("media",),
    "machines": ("machine",),
    "agreement": ("agree", "resolve", "augment", "influence"),
    "comparison": ("score", "compare", "difference", "own", "reuse", "coverage", "orders"),
    "measures": ("measures", "tifa"),
    "report": ("report", "gallery"),
    "release": ("release",),
}  # fmt: skip


def context_of(words: tuple[str, ...], width: int = WIDTH) -> click.Context:
    """Return the context of a command, in a terminal of so many columns."""
    settings = main.context_settings
    context = click.Context(main, info_name="fire-toolkit", terminal_width=width, **settings)
    for word in words:
        assert isinstance(context.command, click.Group)
        context = click.Context(context.command.commands[word], info_name=word, parent=context)
    return context


def told() -> str:
    """Return what `--help` says of each command, in 80 columns, as `cli/helps.json` keeps it."""
    every = [words for name in main.commands for words in [(name,), *members(main.commands[name], (name,))]]
    found = {" ".join(words): context_of(words, 80).get_help() for words in every}
    return json.dumps(found, ensure_ascii=False, indent=1) + "\n"


def members(command: click.Command, before: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the words of every command below a group."""
    found: list[tuple[str, ...]] = []
    for name, member in command.commands.items() if isinstance(command, click.Group) else ():
        found += [(*before, name), *members(member, (*before, name))]
    return found


def synopsis(words: tuple[str, ...]) -> str:
    """Return how a command is called: its arguments and its options, without what they mean."""
    context = context_of(words)
    arguments, options = [], []
    for each in context.command.params:
        if isinstance(each, click.Argument):
            arguments.append(each.make_metavar(context))
        elif isinstance(each, click.Option) and (name := max(each.opts, key=len)) not in SAID_ABOVE:
            value = "" if each.is_flag else f" {each.make_metavar(context)}"
            options.append(f"[{name}{value.replace(' RANGE', '')}]")
    lines = [" ".join(["fire-toolkit", *words])]
    for part in [*arguments, *options]:
        if len(lines[-1]) + len(part) < WIDTH:
            lines[-1] += f" {part}"
        else:
            lines.append(f"  {part}")
    return "\n".join(lines)


def section(name: str) -> str:
    """Return what the page says of a command, and of those of its group."""
    command = main.commands[name]
    (page,) = (page for page, names in EXPLAINED.items() if name in names)
    sentence = (command.help or "").split("\n\n")[0].replace("\n", " ")
    below = [
        words for words in members(command, (name,)) if not isinstance(context_of(words).command, click.Group)
    ]
    own = [] if below and not command.params else [(name,)]
    calls = "\n".join(synopsis(words) for words in [*own, *below])
    return f"\n### {name}\n\n{sentence} ([{page.split('/')[-1]}](../{page}.md))\n\n```text\n{calls}\n```\n"


def page() -> str:
    """Return the page that lists the commands, in the order of `fire-toolkit --help`."""
    return HEAD + "".join(
        f"\n## {name.capitalize()}: {sentence}\n" + "".join(map(section, names.split()))
        for name, (sentence, names) in GROUPS.items()
    )


if __name__ == "__main__":
    (PAGE.parent.parent.parent / "fire_toolkit/cli" / FILE).write_text(told(), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
