"""`fire-release`: the judgments of FIRE's release as tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click
import pandas as pd

from fire_toolkit.cli.common import current_workspace, json_option, say_next, say_notes
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.options import reads
from fire_toolkit.formats.tables.fire_release import read_fire_release

ABOUT = "about.json"


@click.command("fire-release")
@reads("queries", "items")
@click.argument("file", metavar="FILE")
@click.option("--out", metavar="DIR", help="Folder for judgments, labels, disputes, provenance and qrels.")
@json_option
def fire_release(given: Given, file: str) -> None:
    """Read the judgments of FIRE's release (its JSON) into tables of a collection.

    Its text keys become the ids of all captions with that text; disagreements are kept as disputes;
    what lies outside the collection is listed in outside.csv.
    """
    folder = given.out(None)
    queries, items = given.queries, given.items_if_any
    release = read_fire_release(given.use(file), queries, items=items)
    say_notes(release.notes)
    tables: dict[str, pd.DataFrame] = {
        "judgments.csv": release.judgments,
        "labels.csv": release.labels,
        "disputes.csv": release.disputes,
        "provenance.csv": release.provenance,
        "outside.csv": release.outside,
    }
    about = json.dumps(release.about, ensure_ascii=False, indent=1) + "\n"
    contents: dict[str, Any] = {**tables, "qrels.txt": release.qrels, ABOUT: about}
    counts = {name.removesuffix(".csv"): len(table) for name, table in tables.items()}
    parameters: dict[str, Sequence[str]] = {"notes": release.notes}
    given.write(folder, contents, "fire-release", parameters, counts)
    words = ", ".join(
        f"{n:,} {'entries outside' if name == 'outside' else name}" for name, n in counts.items()
    )
    given.summarise(counts, words)
    original = "" if current_workspace() else f" --qrels {given.hint('QRELS')}"
    say_next(f"augment --labels {folder / 'labels.csv'}{original} --out {folder / 'augmented.txt'}")
