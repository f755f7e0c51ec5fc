"""`release check`: what is wrong with anybody's release, or what has changed from another."""

from pathlib import Path
from typing import Annotated

import click
import pandas as pd

from fire_toolkit.cli.common import FORMATS, Progress, say, wipe_progress
from fire_toolkit.commands.types import Option
from fire_toolkit.errors import FireError
from fire_toolkit.formats.releases import (
    labels_of_release,
    qrels_of_release,
    release_files,
    scores_of_release,
)
from fire_toolkit.formats.tables.table_text import LONG, table_text
from fire_toolkit.release.changes import Version, compare_releases, labels_with_disputes
from fire_toolkit.release.check import check_release, qrels_in
from fire_toolkit.release.published import MUST, Finding
from fire_toolkit.results import drawn_text
from fire_toolkit.words import n_of


def check(
    folder: Annotated[Path, Option(metavar="NEW", is_argument=True)],
    *,
    against: Annotated[Path | None, Option(metavar="OLD")] = None,
    form: Annotated[str, click.Choice(FORMATS), Option(("--format",))] = "table",
) -> None:
    """Check anybody's release: layout, metadata, hashes, qrels, privacy; or show what changed from another.

    Each finding is a line on stdout, with its level: it must be mended (a loader fails, a number is wrong or
    somebody is exposed), or should. Exit code 1 where something must. Scores are computed again from the runs
    that a release includes. With --against the table shows changed
    scores of runs, and stderr counts pairs whose relevance or label changed, or that became a dispute; csv,
    tsv and json have a row for each pair and score.

    Args:
        folder: The release.
        against: Compare with this release, from which it was changed, and check nothing.
        form: Format of the output.
    """
    if against is not None:
        changes = compare_releases(version_in(against), version_in(folder))
        wipe_progress()
        rows = changes.shown_scores
        if form in LONG:
            click.echo(table_text(changes.rows, form), nl=False)
        elif rows:
            click.echo(drawn_text(rows, ["run", "measure", "before", "after"], form))
        say(changes.in_words)
        return
    with Progress(f"checking {folder}"):
        files = release_files(folder)
        found = check_release(files)
    wipe_progress()
    if form == "table":
        click.echo("".join(f"{each.level + ':':8}{each}\n" for each in found), nl=False)
    else:
        click.echo(table_text(pd.DataFrame(found, columns=Finding._fields), form), nl=False)
    named = ", ".join(name for name, pairs in qrels_in(files).items() if pairs) or "none"
    words = f"{folder}: {n_of(len(files), 'file')}, qrels: {named}"
    n_must = sum(each.level == MUST for each in found)
    counted = (
        f"{n_must:,} that must and {len(found) - n_must:,} that should be mended"
        if found
        else "nothing found"
    )
    if n_must:
        raise FireError(f"{words}; {counted}")
    say(f"{words}; {counted}")


def version_in(folder: Path) -> Version:
    """Return what is compared of the release in a folder."""
    both = labels_of_release(folder)
    labels = None if both is None else labels_with_disputes(*both)
    return Version(qrels_of_release(folder), labels, scores_of_release(folder))
