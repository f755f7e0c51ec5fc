"""What a command returns: printed, written with a manifest, and the command that comes next."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from fire_toolkit.cli.common import DRAWN, current_workspace, named, runs_named, say, say_next, workspace_path
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.progress_line import wipe_progress
from fire_toolkit.formats.runs.trec import trec_qrels_text
from fire_toolkit.formats.tables.delimited import delimited_bytes
from fire_toolkit.formats.tables.table_text import long_text, table_text
from fire_toolkit.results import Found, Next

_OF_ANSWERS = ("agree", "resolve", "augment")  # after which people may have to be asked first


def show_tables(
    result: Found,
    given: Given,
    stage: str,
    parameters: Mapping[str, Any],
    *,
    of: Mapping[str, Any],
    is_usual: bool,
) -> None:
    """Print a result's table, what it rests on and notes; write it, and say what comes next.

    csv, tsv and json are whole, the others as the result draws them. What it rests on and notes stand below
    LaTeX and Markdown, else on stderr. It is written to --out, else where the workspace keeps it. of: the
    tables that it is of; is_usual: all of them are the workspace's, and its measures.
    """
    asked, out = given.values["output_format"], given.values["out"]
    form = "csv" if result.is_long and asked in DRAWN else asked
    basis = given.basis(*result.more, of=of)
    draw = (result.draw or table_text) if form in DRAWN else long_text
    wipe_progress()
    click.echo(draw(result.table, form), nl=False)
    for line in [*([f"rests on: {basis}"] if basis else []), *(f"note: {note}" for note in result.notes)]:
        if form == "latex":
            click.echo(f"% {line}")
        elif form == "markdown":
            click.echo(f"\n{line[0].upper()}{line[1:]}.")
        else:
            say(line)
    for line in result.said:
        say(line)
    place = workspace_path(result.place) if is_usual and result.place else None
    if path := Path(out) if out else place:
        table = result.table if result.written is None else result.written
        known = {**_parameters(result, given, parameters), **given.own.parameters}
        given.write(path, {path.name: delimited_bytes(table, nan="nan")}, stage, known, result.counts)
    if out and result.words:
        say(result.words.replace("{out}", str(out)))
    if out or not result.words:
        _say_next(result.next, given, Path(out or "table"), stage)


def _parameters(result: Found, given: Given, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a manifest says of how the command was called."""
    known = {key: value for key, value in parameters.items() if value not in (None, False, [], {})}
    known |= {"excluded": given.excluded or None} if "exclude" in given.values else {}
    known |= result.parameters
    return {key: value for key, value in known.items() if value is not None}


def keep_files(
    result: Found, given: Given, out: Path, stage: str, parameters: Mapping[str, Any], *, is_file: bool
) -> None:
    """Write a stage's files, those of further folders with a manifest of their own; say what was counted.

    is_file: `out` is the name of the first file, and the others lie beside it; else the folder of all.
    """
    for line in (*(f"note: {note}" for note in result.notes), *result.said):
        say(line)
    known = _parameters(result, given, parameters)
    folders: dict[Path, dict[str, Any]] = {}
    named = result.named_files(out.name) if is_file else result.files
    for usual, (name, content) in zip(result.files, named.items(), strict=True):
        path = (out.parent if is_file else out) / name
        is_qrels = usual.endswith(".txt") and hasattr(content, "columns")
        folders.setdefault(path.parent, {})[path.name] = trec_qrels_text(content) if is_qrels else content
    first = next(iter(folders))
    for folder, files in folders.items():
        counts = {**result.counts, **result.trace} if folder == first else {}
        given.write(out if is_file and folder == first else folder, files, stage, known, counts)
    given.summarise(result.counts, result.words.replace("{out}", str(out)))
    _say_next(result.next, given, out, stage)


def _say_next(following: Next | str, given: Given, out: Path, stage: str) -> None:
    """Name the command that comes next, with what it must be told here."""
    if isinstance(following, str):
        if following:
            say(f"next: {following}")
        return
    is_usual = not any(given.values.get(each) for each in ("out", "judgments", "labels", "qrels"))
    if stage in _OF_ANSWERS and is_usual and current_workspace():
        from fire_toolkit.cli.following import say_following  # heavy

        say_following(following.command.partition(" ")[0])
        return
    words = [following.command]
    words += [] if current_workspace() else [following.outside]
    words += [following.elsewhere] if given.values["out"] else []
    line = " ".join(" ".join(words).replace("{given}", "{out}" if given.values["out"] else "").split())
    line = line.replace("{out}", str(out)).replace("{stem}", str(out).removesuffix(out.suffix))
    judgments, runs = given.values.get("judgments"), given.values.get("runs", ())
    for each in ("QUERIES", "QRELS"):
        if f"{{{each}}}" in line:
            file = named(each, given.values.get(each.lower()), beside=given.hashes)
            line = line.replace(f"{{{each}}}", file)
    if "RUNS}" in line:
        files = runs_named(runs)
        line = line.replace("{RUNS}", "" if current_workspace() else files)
        line = line.replace(" {SAME_RUNS}", f" {files}" if runs else "")
    say_next(line.replace(" {JUDGMENTS}", f" {judgments}" if judgments else "").rstrip())
