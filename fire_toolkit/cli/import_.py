"""`import`: exports of Label Studio as judgments."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from fire_toolkit.campaign.votes import judgments_from_export
from fire_toolkit.cli.campaigns import begun_here, campaign_of
from fire_toolkit.cli.common import json_option, named_files, numbers_of, say_next, say_notes
from fire_toolkit.cli.fetching import derive_judgments, read_files
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.inputs import Inputs
from fire_toolkit.cli.judged_files import latest_round, reasons_of
from fire_toolkit.cli.locking import writes_workspace
from fire_toolkit.cli.options import reads
from fire_toolkit.errors import UsageError
from fire_toolkit.files import read_bytes
from fire_toolkit.formats.tables.delimited import delimited_bytes
from fire_toolkit.tables.columns import code_pairs


@click.command(name="import")
@click.argument("exports", nargs=-1, metavar="EXPORT...")
@reads(guideline="The guideline judged by. [default: caption-relevance-v1]")
@click.option("--out", metavar="FILE", help="The judgments (CSV); dropped.csv is written beside it.")
@json_option
@writes_workspace
def import_(given: Given, exports: tuple[str, ...]) -> None:
    """Turn Label Studio's JSON exports into judgments, one for each annotator and pair.

    In a campaign (begun by `tasks --annotators` or `push`) answers go into its ledger, and judgments are
    made from that: reading a file twice is harmless, and sheets (CSV) filled in by hand are read
    too. The file's name (tasks.A01.json), or the queue the answers come from, says whose they are.

    Other answers (skips, drafts, those that a later one replaced) go to dropped.csv with their
    reason. Export as JSON: JSON_MIN and CSV leave out skips and who answered what.
    """
    file = given.out("judgments/judgments.csv")
    paths = list(map(Path, exports)) or named_files("import", "exports")
    if not paths:
        raise click.UsageError("Missing argument 'EXPORT.json...': no export given.")
    is_usual = given.values["out"] is None
    campaign = begun_here() if is_usual else None
    if campaign:
        if given.values["guideline"]:
            campaign_of(campaign.root, given.guideline)  # refuses another page than the campaign's
        files = Inputs()
        paths = [files.use(_came_back(path, campaign.root)) for path in dict.fromkeys(paths)]
        with _without_collection():
            added = read_files(campaign.root, paths)
            derive_judgments(campaign.root, added, stage="import", exports=files, as_json=given.as_json)
        say_next("agree")
        return
    rules = given.guideline
    exported = ((str(path), read_bytes(given.use(path))) for path in paths)
    with _without_collection():
        result = judgments_from_export(exported, guideline=rules)
    dropped = reasons_of(result.dropped)
    n_judgments, n_pairs = len(result.judgments), len(code_pairs(result.judgments)[1])
    n_annotators = int(result.judgments["annotator_id"].nunique())
    counts: dict[str, Any] = {"judgments": n_judgments, "pairs": n_pairs, "annotators": n_annotators}
    counts |= {"dropped": dropped} | latest_round(result.judgments)
    contents = {file.name: delimited_bytes(result.judgments), "dropped.csv": delimited_bytes(result.dropped)}
    given.write(file, contents, "import", rules.record, counts)
    words = f"{n_judgments:,} judgments of {n_pairs:,} pairs by {n_annotators} annotators"
    words += f"; dropped: {numbers_of(dropped)} (dropped.csv)" if dropped else ""
    given.summarise(counts, words)
    say_notes(result.notes)
    say_next("agree" if is_usual else f"agree {file}")


def _came_back(path: Path, root: Path) -> Path:
    """Return the path of an export, which must not be a file that was handed out."""
    if path.resolve().is_relative_to((root / "tasks").resolve()):
        raise UsageError(f"{path}: this file was handed out; save the returned file in exports/")
    return path


@contextmanager
def _without_collection() -> Iterator[None]:
    """Look for no circles among objects meanwhile: answers are millions of them, and none is in a circle."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
