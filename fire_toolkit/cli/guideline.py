"""`guideline`: its text for annotators, its labels or its labeling page; a new one, and whether it agrees."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

import click

from fire_toolkit.cli.common import FireGroup, n_of, say
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.tables.guideline_files import (
    guideline_problems,
    list_guidelines,
    new_guideline_files,
    read_guideline,
)
from fire_toolkit.guidelines.grades import DEFAULT_NAME
from fire_toolkit.guidelines.several import several_config, shows_several
from fire_toolkit.machines.prompts import prompt_problems
from fire_toolkit.workspace.manifests import write_files


class _ShowsByDefault(FireGroup):
    """A group in which a name that is no command is a guideline to show."""

    default = "show"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the default command before the name of a guideline."""
        is_named = bool(args) and args[0] in {*self.commands, *ctx.help_option_names}
        return super().parse_args(ctx, args if is_named else [self.default, *args])


@click.group(cls=_ShowsByDefault)
def guideline() -> None:
    """Print a guideline, write a new one to edit, or check one.

    `guideline NAME` is short for `guideline show NAME`.
    """


@guideline.command()
@click.argument("name", required=False)
@click.option(
    "--part",
    type=click.Choice(["text", "config", "pages", "labels"]),
    default="text",
    help="What to print: the text for annotators, the labeling config, that of pages of several captions "
    "(for which `push` makes tasks), or the labels.",
)
def show(name: str | None, part: str) -> None:
    """Print a guideline: the text for annotators or the labeling config to paste into Label Studio."""
    if name is None:
        click.echo("\n".join(list_guidelines()))
        return
    rules = read_guideline(name)
    if part == "labels":
        lines = [f"{label.name}\t{label.relevance}\t{label.description}" for label in rules.labels]
        click.echo("\n".join(["label\trelevance\tdescription", *lines]))
        return
    if part == "pages" and not shows_several(rules.label_config):
        raise UsageError(f"{rules.name} shows captions alone: there is no item to show several captions of")
    config = several_config(rules.label_config) if part == "pages" else rules.label_config
    click.echo(rules.text if part == "text" else config, nl=False)


@guideline.command()
@click.argument("folder", metavar="NAME", type=click.Path(path_type=Path))
@click.option(
    "--like", default=DEFAULT_NAME, show_default=True, metavar="GUIDELINE", help="The one to begin with."
)
def new(folder: Path, like: str) -> None:
    """Write a guideline to edit: a folder NAME with the question, labels, grades and page of another one.

    NAME ends in its version, -v1. guideline.md is what annotators read, labels.toml holds the question, the
    labels with their grades and keys, and label_config.xml is Label Studio's page; our own page is made of
    labels.toml. The three must agree: `guideline check NAME` says where they do not.
    """
    if folder.exists():
        raise UsageError(f"{folder}: already exists; edit it, or choose another name")
    files = new_guideline_files(folder.name, like=like)
    write_files({folder / name: text.encode() for name, text in files.items()})
    say(f"{folder}: a copy of {like}; edit {', '.join(files)}")
    say(f"next: fire-toolkit guideline check {quote(str(folder))}")


@guideline.command()
@click.argument("name")
@click.pass_context
def check(ctx: click.Context, name: str) -> None:
    """Check that a guideline's three files agree: one line for each mistake, exit 1 if there is one.

    A machine.toml beside them has to be written for the guideline as it is.
    """
    problems = [*guideline_problems(name), *prompt_problems(name)]
    for problem in problems:
        click.echo(f"error: {name}: {problem}", err=True)
    if problems:
        ctx.exit(1)
    rules = read_guideline(name)
    graded = ", ".join(
        f"{each.name} {'no vote' if each.relevance is None else each.relevance}" for each in rules.labels
    )
    flags = n_of(len(rules.flags), "flag")
    say(f"{rules.name}: its three files agree; {graded}; {flags}; {rules.level} level")
    say(f"next: fire-toolkit tasks --guideline {quote(name)}")
