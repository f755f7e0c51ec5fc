"""`fire-release`: the judgments of FIRE's release as tables."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click
import pandas as pd

from fire_toolkit.cli.audit import items_option, queries_option, read_tables
from fire_toolkit.cli.common import (
    Inputs,
    chosen_path,
    current_workspace,
    json_option,
    say_next,
    say_notes,
    summarise,
    write_outputs,
)
from fire_toolkit.cli.hints import named
from fire_toolkit.formats.runs.trec import trec_qrels_text
from fire_toolkit.formats.tables.delimited import delimited_text
from fire_toolkit.formats.tables.fire_release import read_fire_release

ABOUT = "about.json"


@click.command("fire-release")
@click.argument("file", metavar="FILE")
@queries_option
@items_option
@click.option("--out", metavar="DIR", help="Folder for judgments, labels, disputes, provenance and qrels.")
@json_option
def fire_release(file: str, queries: str | None, items: str | None, out: str | None, as_json: bool) -> None:
    """Read the judgments of FIRE's release (its JSON) into tables of a collection.

    Its text keys become the ids of all captions with that text; disagreements are kept as disputes;
    what is outside of the collection is listed in outside.csv.
    """
    folder = chosen_path(out, None, "--out")
    inputs = Inputs()
    query_table, item_table, _ = read_tables(inputs, queries, items, None)
    release = read_fire_release(inputs.use(file), query_table, items=item_table)
    say_notes(release.notes)
    tables: dict[str, pd.DataFrame] = {
        "judgments.csv": release.judgments,
        "labels.csv": release.labels,
        "disputes.csv": release.disputes,
        "provenance.csv": release.provenance,
        "outside.csv": release.outside,
    }
    texts = {name: delimited_text(table) for name, table in tables.items()}
    texts["qrels.txt"] = trec_qrels_text(release.qrels)
    texts[ABOUT] = json.dumps(release.about, ensure_ascii=False, indent=1) + "\n"
    counts = {name.removesuffix(".csv"): len(table) for name, table in tables.items()}
    parameters: dict[str, Sequence[str]] = {"notes": release.notes}
    write_outputs(folder, texts, stage="fire-release", parameters=parameters, inputs=inputs, counts=counts)
    words = ", ".join(
        f"{n:,} {'entries outside' if name == 'outside' else name}" for name, n in counts.items()
    )
    summarise(counts, words, as_json=as_json)
    original = "" if current_workspace() else f" --qrels {named('QRELS', beside=inputs.hashes)}"
    say_next(f"augment --labels {folder / 'labels.csv'}{original} --out {folder / 'augmented.txt'}")
