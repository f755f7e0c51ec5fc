"""`guideline`: its text for annotators, its labels or its labeling page, checked; and a new one."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated, Literal

import click

from fire_toolkit.cli.common import n_of, say
from fire_toolkit.commands.types import Option
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.tables.guideline_files import (
    guideline_problems,
    list_guidelines,
    new_guideline_files,
    read_guideline,
)
from fire_toolkit.guidelines.label_config import several_config, shows_several
from fire_toolkit.machines.prompts import prompt_problems
from fire_toolkit.workspace.manifests import write_files


def guideline(
    name: Annotated[str | None, Option(is_argument=True)] = None,
    *,
    part: Literal["text", "config", "pages", "labels"] = "text",
    like: Annotated[str | None, Option(metavar="GUIDELINE")] = None,
) -> int:
    """Print and check a guideline, or write a new one to edit; without a name, list those that there are.

    A guideline is a folder: guideline.md is what annotators read, labels.toml holds the question and the
    labels with grades and keys, label_config.xml is Label Studio's page, and machine.toml the prompt for
    machine judges. They must agree: each mistake is a line, and the exit code is then 1.

    Args:
        name: A guideline's name, or its folder.
        part: What to print: the text for annotators, the labeling config, that of pages of several captions
            (for which `push` makes tasks), or the labels.
        like: Write a new guideline to the folder NAME, which ends in its version, -v1: a copy of this one.
    """
    if name is None:
        click.echo("\n".join(list_guidelines()))
        return 0
    if like is not None:
        if (folder := Path(name)).exists():
            raise UsageError(f"{folder}: already exists; edit it, or choose another name")
        files = new_guideline_files(folder.name, like=like)
        write_files({folder / each: text.encode() for each, text in files.items()})
        say(f"{folder}: a copy of {like}; edit {', '.join(files)}")
        say(f"next: fire-toolkit guideline {quote(str(folder))}")
        return 0
    problems = [*guideline_problems(name), *prompt_problems(name)]
    for problem in problems:
        click.echo(f"error: {name}: {problem}", err=True)
    if problems:
        return 1
    rules = read_guideline(name)
    if part == "pages" and not shows_several(rules.label_config):
        raise UsageError(f"{rules.name} shows captions alone: there is no item to show several captions of")
    rows = [f"{label.name}\t{label.relevance}\t{label.description}\n" for label in rules.labels]
    parts = {"text": rules.text, "config": rules.label_config}
    parts["labels"] = "".join(["label\trelevance\tdescription\n", *rows])
    click.echo(parts[part] if part in parts else several_config(rules.label_config), nl=False)
    graded = ", ".join(
        f"{each.name} {'no vote' if each.relevance is None else each.relevance}" for each in rules.labels
    )
    flags = n_of(len(rules.flags), "flag")
    say(f"{rules.name}: its three files agree; {graded}; {flags}; {rules.level} level")
    say(f"next: fire-toolkit tasks --guideline {quote(name)}")
    return 0
