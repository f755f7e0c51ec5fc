"""`audit`: what a collection's ids hide; and the files of a collection that `suggest` reads too."""

from __future__ import annotations

from pathlib import Path

import click
import pandas as pd

from fire_toolkit.cli.common import (
    Inputs,
    chosen_path,
    drawn,
    file_in,
    json_option,
    made_file,
    say,
    say_next,
    summarise,
    workspace_file,
    workspace_path,
    write_outputs,
)
from fire_toolkit.cli.hints import named, runs_named
from fire_toolkit.cli.run_files import read_runs
from fire_toolkit.collections import audit as audits
from fire_toolkit.collections.audit import Audit
from fire_toolkit.collections.sharing import CHOICES, share_labels
from fire_toolkit.errors import UsageError
from fire_toolkit.files import sha256_of
from fire_toolkit.formats.collections import read_collection
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.tables.delimited import delimited_text
from fire_toolkit.formats.tables.table_files import read_items, read_labels, read_queries
from fire_toolkit.tables import Items, Qrels, Queries

queries_option = click.option("--queries", metavar="FILE", help="Queries: CSV or TSV with query_id and text.")


items_option = click.option("--items", metavar="FILE", help="Items: CSV or TSV with doc_id and media_url.")


qrels_option = click.option("--qrels", metavar="FILE", help="The original qrels, in any form.")


def read_tables(
    inputs: Inputs, queries: str | None, items: str | None, qrels: str | None
) -> tuple[Queries, Items | None, Qrels | None]:
    """Return the collection's tables: the files named, else those of the workspace."""
    query_file = chosen_path(queries, workspace_file("queries"), "--queries")
    item_file, qrels_file = items or workspace_file("items"), qrels or workspace_file("qrels")
    return (
        read_queries(inputs.use(query_file)),
        read_items(inputs.use(item_file)) if item_file else None,
        read_qrels(inputs.use(qrels_file)) if qrels_file else None,
    )


@click.command()
@click.argument("runs", nargs=-1, metavar="[RUN...]")
@queries_option
@items_option
@qrels_option
@click.option("--media", metavar="DIR", help="Folder of the items' files, to find equal ones by their bytes.")
@click.option(
    "--labels",
    metavar="FILE",
    help="Labels, to say what sharing them among equal captions adds. [default: the workspace's]",
)
@click.option(
    "--share-judgments",
    "sharing",
    type=click.Choice(CHOICES),
    help="Write shared_labels.csv: labels given to every caption of the same text.",
)
@click.option(
    "--train", metavar="FILE", help="Training captions (any collection file): nearness to the queries."
)
@click.option(
    "--similarity",
    type=click.FloatRange(0.5, 1),
    default=0.9,
    show_default=True,
    help="Cosine of near duplicates.",
)
@click.option("--out", metavar="DIR", help="Folder for findings.csv and one table for each finding.")
@json_option
def audit(
    runs: tuple[str, ...],
    queries: str | None,
    items: str | None,
    qrels: str | None,
    media: str | None,
    labels: str | None,
    sharing: str | None,
    train: str | None,
    similarity: float,
    out: str | None,
    as_json: bool,
) -> None:
    """Find what a collection's ids hide: equal captions, free positives, dangling and confusable ids.

    Nothing is changed. Each finding says how many of how many and what follows from it; its table is
    DIR/<finding>.csv.
    """
    labels_file = labels or made_file("labels/labels.csv")
    if sharing and not labels_file:
        raise UsageError("--share-judgments shares labels: name them with --labels")
    folder = chosen_path(out, workspace_path("audit"), "--out")
    if media and not Path(media).is_dir():
        raise UsageError(f"--media {media}: no such folder")
    inputs = Inputs()
    query_table, item_table, qrels_table = read_tables(inputs, queries, items, qrels)
    found = audits.Audit()
    audits.audit_captions(found, query_table, min_similarity=similarity)
    if qrels_table is not None:
        audits.audit_qrels(found, query_table, qrels_table, item_table)
    ids = {"queries": query_table["query_id"].tolist()}
    if item_table is not None:
        ids["items"] = item_table["doc_id"].tolist()
    audits.audit_ids(found, ids)
    if media:
        if item_table is None:
            raise UsageError("--media needs the items: name them with --items")
        hashes, n_files = _hashes(item_table, Path(media))
        audits.audit_items(found, hashes, n_files)
    if runs:
        read = read_runs(runs, inputs, query_ids=None, doc_ids=None)
        audits.audit_runs(found, read, query_table, item_table, qrels_table)
    if train:
        audits.audit_training(found, query_table, _training_texts(train, inputs))
    if labels_file:
        _add_sharing(found, query_table, labels_file, sharing, inputs)
    texts = {f"{name}.csv": delimited_text(table) for name, table in found.tables.items()}
    summary = found.summary()
    texts["findings.csv"] = delimited_text(summary)
    parameters = {"similarity": similarity, "share_judgments": sharing}
    counts = dict(zip(summary["finding"], summary["count"].tolist(), strict=True))
    write_outputs(folder, texts, stage="audit", parameters=parameters, inputs=inputs, counts=counts)
    summarise(counts, _drawn(found), as_json=as_json)
    say_next("pool", f"{runs_named(runs)} --qrels {named('QRELS', qrels, beside=inputs.hashes)} --out pool")


def _drawn(found: Audit) -> str:
    rows = [[f"{f.count:,}", f"{f.of:,}", f.name, f.meaning] for f in found.findings]
    return drawn(rows, ["count", "of", "finding", "what it means"], "table", align="left").rstrip()


def _hashes(items: Items, media: Path) -> tuple[pd.DataFrame, int]:
    """Return the sha256 of the items' files, and how many have one; only files of one size are read."""
    paths = {doc: media / url for doc, url in zip(items["doc_id"], items["media_url"], strict=True)}
    there = {doc: path for doc, path in paths.items() if path.is_file()}
    if len(there) < len(paths):
        say(f"note: {len(paths) - len(there):,} of {len(paths):,} items have no file in {media}")
    sizes = pd.Series({doc: path.stat().st_size for doc, path in there.items()}, dtype="int64")
    alike = sizes[sizes.duplicated(keep=False)].index
    rows = [(doc, sha256_of(there[doc])) for doc in alike]
    return pd.DataFrame(rows, columns=["doc_id", "sha256"], dtype="str"), len(there)


def _training_texts(train: str, inputs: Inputs) -> list[str]:
    """Return the captions of a file's training split; of all splits where none is called train."""
    try:
        collection, recognised = read_collection([train], split="train")
    except UsageError:
        collection, recognised = read_collection([train], split="all")
    for note in collection.notes:
        say(f"note: {train}: {note}")
    for file in recognised:
        inputs.use(file.path)
    return [str(text) for text in collection.queries["text"]]


def _add_sharing(
    found: Audit, queries: Queries, labels: str | Path, sharing: str | None, inputs: Inputs
) -> None:
    table = read_labels(inputs.use(file_in(labels, "labels.csv")))
    for choice in CHOICES:
        shared = share_labels(table, queries, choice=choice)
        conflicts = f"{shared.n_conflicts:,} in conflict are not shared"
        meaning = f"labelled pairs that --share-judgments {choice} adds (also of `resolve`); {conflicts}"
        found.add(f"shared_by_{choice}", table.iloc[:0], len(table), meaning, count=shared.n_added)
        if choice == sharing:
            found.tables["shared_labels"] = shared.table
