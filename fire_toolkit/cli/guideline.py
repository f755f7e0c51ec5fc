"""`guideline`: its text for annotators or the labeling config."""

from __future__ import annotations

import click

from fire_toolkit.formats.tables.guideline_files import list_guidelines, read_guideline


@click.command()
@click.argument("name", required=False)
@click.option(
    "--part",
    type=click.Choice(["text", "config", "labels"]),
    default="text",
    help="What to print: the text for annotators, the labeling config, or the labels.",
)
def guideline(name: str | None, part: str) -> None:
    """Print a guideline: the text for annotators or the labeling config to paste into Label Studio."""
    if name is None:
        click.echo("\n".join(list_guidelines()))
        return
    rules = read_guideline(name)
    if part == "labels":
        lines = [f"{label.name}\t{label.relevance}\t{label.description}" for label in rules.labels]
        click.echo("\n".join(["label\trelevance\tdescription", *lines]))
        return
    click.echo(rules.text if part == "text" else rules.label_config, nl=False)
