"""Older spellings of options: each still works, and says on stderr how it is spelled now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

EVERYWHERE = {"--json": ("--format", "json")}
OLD: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "add-run": {"--top": ("--depth",)},
    "agree": {
        "--statistics": ("--measure",),
        "--leave-one-out": ("--show", "leave-one-out"),
        "--matrix": ("--show", "matrix"),
        "--profiles": ("--show", "profiles"),
    },
    "score": {"--clusters": ("--cluster",)},
    "difference": {"--clusters": ("--cluster",)},
    "orders": {"--clusters": ("--cluster",)},
    "contributions": {"--sets": ("--show", "sets")},
    "table2": {"--dataset": ("--by",)},
    "similarity": {"--k": ("--depth",)},
}


def respelled(command: click.Command, words: Sequence[str]) -> list[str]:
    """Return the words after a command with today's spelling of each option, and name the old ones."""
    known = {option for parameter in command.params for option in parameter.opts}
    old = {**EVERYWHERE, **OLD.get(str(command.name), {})}
    now: list[str] = []
    for word in words:
        name, equals, value = word.partition("=")
        new = old.get(name)
        if new is None or name in known or new[0] not in known:
            now.append(word)
            continue
        click.echo(f"note: {name} is now spelled {' '.join(new)}; the old spelling still works", err=True)
        now += [*new[:-1], f"{new[-1]}={value}"] if equals else new
    return now
