"""`fire-release` and `export-fire-release`: judgments in the JSON of FIRE's release, read and written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fire_toolkit.cli.auditing import items_option, queries_option, read_tables
from fire_toolkit.cli.common import (
    Inputs,
    chosen_path,
    json_option,
    say,
    say_next,
    summarise,
    workspace_path,
    write_outputs,
)

if TYPE_CHECKING:
    import pandas as pd


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
    from fire_toolkit.formats.delimited import delimited_text
    from fire_toolkit.formats.fire_release import read_fire_release
    from fire_toolkit.formats.trec import trec_qrels_text

    folder = chosen_path(out, None, "--out")
    inputs = Inputs()
    query_table, item_table, _ = read_tables(inputs, queries, items, None)
    release = read_fire_release(inputs.use(file), query_table, items=item_table)
    for note in release.notes:
        say(f"note: {note}")
    tables: dict[str, pd.DataFrame] = {
        "judgments.csv": release.judgments,
        "labels.csv": release.labels,
        "disputes.csv": release.disputes,
        "provenance.csv": release.provenance,
        "outside.csv": release.outside,
    }
    texts = {name: delimited_text(table) for name, table in tables.items()}
    texts["qrels.txt"] = trec_qrels_text(release.qrels)
    counts = {name.removesuffix(".csv"): len(table) for name, table in tables.items()}
    parameters: dict[str, Sequence[str]] = {"notes": release.notes}
    write_outputs(folder, texts, stage="fire-release", parameters=parameters, inputs=inputs, counts=counts)
    words = ", ".join(
        f"{n:,} {'entries outside' if name == 'outside' else name}" for name, n in counts.items()
    )
    summarise(counts, words, as_json=as_json)
    say_next("augment", f"--qrels ORIGINAL --labels {folder / 'labels.csv'} --out qrels.txt")


@click.command("export-fire-release")
@click.option("--judgments", metavar="FILE", help="judgments.csv.")
@click.option("--labels", metavar="DIR", help="Folder of labels.csv and disputes.csv.")
@click.option("--provenance", metavar="FILE", help="Which model proposed a pair: query_id, doc_id, model.")
@queries_option
@click.option("--dataset", default="", metavar="NAME", help="The dataset's name in every entry.")
@click.option("--licence", required=True, metavar="NAME", help="The licence of these judgments.")
@click.option("--out", required=True, metavar="FILE", help="The JSON to write.")
def export_fire_release(
    judgments: str | None,
    labels: str | None,
    provenance: str | None,
    queries: str | None,
    dataset: str,
    licence: str,
    out: str,
) -> None:
    """Write judgments, labels and disputes in the JSON shape of FIRE's release.

    Tools that read that release read this; each entry also has the id of its caption.
    """
    from fire_toolkit.formats.delimited import read_delimited
    from fire_toolkit.formats.fire_release import fire_release_json
    from fire_toolkit.formats.table_files import read_judgments, read_labels
    from fire_toolkit.tables import check_disputes

    inputs = Inputs()
    query_table, _, _ = read_tables(inputs, queries, None, None)
    judgments_file = chosen_path(judgments, workspace_path("judgments/judgments.csv"), "--judgments")
    folder = chosen_path(labels, workspace_path("labels"), "--labels")
    label_table = read_labels(inputs.use(folder / "labels.csv"))
    disputes = read_delimited(inputs.use(folder / "disputes.csv"), required=["query_id", "doc_id", "reason"])
    content = fire_release_json(
        read_judgments(inputs.use(judgments_file))[0],
        label_table,
        check_disputes(disputes),
        query_table,
        provenance=read_delimited(inputs.use(provenance)) if provenance else None,
        dataset=dataset,
        licence=licence,
    )
    counts = {"annotations": len(label_table), "disagreements": len(disputes)}
    parameters = {"dataset": dataset, "licence": licence}
    path = Path(out)
    write_outputs(
        path,
        {path.name: content},
        stage="export-fire-release",
        parameters=parameters,
        inputs=inputs,
        counts=counts,
    )
    say(f"{len(label_table):,} annotations and {len(disputes):,} disagreements written to {path}")
    say_next(f"fire-release {path}", "--queries QUERIES --out DIR")
