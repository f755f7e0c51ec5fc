"""`release`: a folder that is the publication of a workspace's labels; checks and comparison of releases."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from fire_toolkit.cli.common import (
    DRAWN,
    FireGroup,
    drawn,
    format_option,
    formatted,
    json_option,
    n_of,
    needed_workspace,
    relative_path,
    say,
)
from fire_toolkit.cli.locking import workspace_lock
from fire_toolkit.cli.progress_line import Progress
from fire_toolkit.errors import FireError, UsageError


@click.group(cls=FireGroup, invoke_without_command=True)
@click.option("--version", metavar="VERSION", help="Version of the release, such as 1.0.")
@click.option("--out", type=click.Path(path_type=Path), metavar="FOLDER", help="[default: releases/VERSION]")
@click.option("--date", metavar="YYYY-MM-DD", help="Date of the release. [default: today]")
@click.option(
    "--previous",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="The release before, for the changes since. [default: the highest version below in releases/]",
)
@click.option("--anonymous", "is_anonymous", is_flag=True, help="Name no creator: for double-blind review.")
@click.option(
    "--allow-name",
    "allowed",
    multiple=True,
    metavar="NAME",
    help="A word that documents may hold though an annotator is called so (may be repeated).",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["folder", "fire"]),
    default="folder",
    show_default=True,
    help="A folder as described here, or one JSON file in the shape of FIRE's release.",
)
@click.option(
    "--tables",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="For --format fire: what `import` made of such a file. [default: the workspace's own]",
)
@click.pass_context
def release(
    ctx: click.Context,
    version: str | None,
    out: Path | None,
    date: str | None,
    previous: Path | None,
    is_anonymous: bool,
    allowed: tuple[str, ...],
    form: str,
    tables: Path | None,
) -> None:
    """Write a folder that publishes a workspace's labels, or check one.

    It holds the corrected and original qrels (TREC, BEIR, JSON), judgments with disagreements kept, labels,
    disputes, the pool and its sources, hashes of the runs, the guideline, scores, a card, Croissant
    metadata, a datasheet, a citation, a licence, the changes since the version before, and a small Python
    package. What no file knows is asked for by name, in [release], [licences] and [study] of fire.toml.

    Ids and labels only: captions and media are included where [licences] names their licence, comments
    where [release] comments_consent says how annotators agreed. Annotators get new pseudonyms. A release
    that would hold a registered name, an e-mail, a token or an absolute path is refused.

    --format fire writes judgments, labels and disputes into the file --out, for tools that read FIRE's
    release, with the creator, dates and licence of the one that --tables was read from. Each entry also has
    the id of its caption, unless all captions of its text were judged alike.
    """
    if ctx.invoked_subcommand:
        return
    if form == "fire":
        _write_fire(out, tables, [version, date, previous, is_anonymous, allowed])
        return
    if tables is not None:
        raise click.UsageError("--tables is for --format fire")
    if version is None:
        raise click.UsageError(
            "--version is needed, such as 1.0; or `release check FOLDER`, `release diff OLD NEW`"
        )
    from fire_toolkit.cli.release_making import Wanted, make_release

    workspace = needed_workspace(": a release is made from a workspace")
    folder = out or relative_path(workspace.root / "releases" / version)
    wanted = Wanted(version, _checked_date(date), folder, previous, is_anonymous, allowed)
    with workspace_lock(), Progress() as tell:
        counts = make_release(workspace, wanted, tell)
    say(
        f"{folder}: version {version}, {n_of(counts['qrels'], 'pair')} of which {counts['positives']:,} are "
        f"relevant, {n_of(counts['judgments'], 'judgment')} by {n_of(counts['annotators'], 'annotator')}"
    )
    say(f"next: fire-toolkit release check {folder}")


def _write_fire(out: Path | None, tables: Path | None, others: Sequence[object]) -> None:
    """Write FIRE's JSON; it has no version and no date of its own."""
    from fire_toolkit.cli.fire_release import write_fire_release

    if any(others):
        raise click.UsageError("--format fire goes with --tables and --out alone")
    if out is None:
        raise click.UsageError("--out is needed: the JSON to write")
    with workspace_lock():
        write_fire_release(needed_workspace(": a release is made from a workspace"), tables, out)


def _checked_date(text: str | None) -> str:
    if text is None:
        return datetime.now(UTC).date().isoformat()
    try:
        return datetime.strptime(text, "%Y-%m-%d").date().isoformat()
    except ValueError:
        raise UsageError(f"--date {text!r}, expected a day such as 2026-11-22") from None


@release.command("check")
@click.argument("folder", type=click.Path(path_type=Path))
@json_option
def check(folder: Path, as_json: bool) -> None:
    """Check anybody's release: layout, metadata, hashes, qrels, privacy.

    Each finding is a line on stdout; exit code 1 where there is any.
    """
    from fire_toolkit.formats.releases import release_files
    from fire_toolkit.release.check import check_release

    with Progress(f"checking {folder}"):
        files = release_files(folder)
        found = check_release(files)
    if as_json:
        click.echo(json.dumps([each._asdict() for each in found], ensure_ascii=False))
    else:
        for each in found:
            click.echo(each)
    if found:
        raise FireError(f"{folder}: {n_of(len(found), 'finding')} in {n_of(len(files), 'file')}")
    say(f"{folder}: {n_of(len(files), 'file')}, nothing found")


@release.command("diff")
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@format_option
def diff(old: Path, new: Path, output_format: str) -> None:
    """Show what changed from one release to another: pairs, and scores of runs.

    The table shows changed scores, and stderr counts the pairs; csv, tsv and json have a row for each pair
    and score.
    """
    from fire_toolkit.cli.release_files import changes_between

    changes = changes_between(old, new)
    n = changes.counts
    if output_format in DRAWN:
        scores = changes.scores
        rows = [
            [*map(str, row[:2]), *(f"{value:.4f}" for value in row[2:])] for row in scores.to_numpy().tolist()
        ]
        if rows:
            click.echo(drawn(rows, ["run", "measure", "before", "after"], output_format))
    else:
        click.echo(formatted(changes.rows, output_format), nl=False)
    say(
        f"{n_of(n['added'], 'pair')} added, {n['removed']:,} removed, {n['raised']:,} with a higher "
        f"relevance, {n['lowered']:,} with a lower one; {n_of(n['scores'], 'score')} changed"
    )
