"""`audit`: what a collection's ids hide."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pandas as pd

from fire_toolkit.cli.common import Range, drawn, json_option, say, say_next, say_notes
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.hints import runs_named
from fire_toolkit.cli.options import reads
from fire_toolkit.collections import audit as audits
from fire_toolkit.collections.audit import Audit
from fire_toolkit.collections.matchers import suggestion_run
from fire_toolkit.errors import UsageError
from fire_toolkit.files import sha256_of
from fire_toolkit.formats.collections import read_collection
from fire_toolkit.formats.runs.native import run_bytes
from fire_toolkit.tables import Items


@click.command()
@click.argument("runs", nargs=-1, metavar="[RUN...]")
@reads("queries", "items", qrels="The original qrels, in any form.")
@click.option("--media", metavar="DIR", help="Folder of the items' files, to find equal ones by their bytes.")
@click.option(
    "--train", metavar="FILE", help="Training captions (any collection file), to find queries near to them."
)
@click.option(
    "--similarity",
    type=Range(0.5, 1),
    default=0.9,
    show_default=True,
    help="Cosine from which captions are near duplicates, and suggest each other's items.",
)
@click.option(
    "--percentile", type=float, metavar="P", help="Suggest from this percentile of all cosines up instead."
)
@click.option("--edits", type=click.IntRange(0, 8), metavar="N", help="Suggest up to N edits apart instead.")
@click.option(
    "--out",
    metavar="DIR",
    help="Folder for findings.csv, suggestions.parquet, and one table for each finding.",
)
@json_option
def audit(
    given: Given,
    media: str | None,
    train: str | None,
    similarity: float,
    percentile: float | None,
    edits: int | None,
) -> None:
    """Find what a collection's ids hide: equal captions, free positives, dangling and confusable ids.

    Nothing is changed. Each finding says how many of how many and what follows from it; its table is
    DIR/<finding>.csv. Suggestions are pairs of a query with the items of captions like its own, which
    DIR/suggestions.parquet holds as a run to pool; caption similarity is a poor judge, so people must check
    them.
    """
    folder = given.out("audit")
    if percentile is not None and edits is not None:
        raise UsageError("choose one of --percentile and --edits")
    if media and not Path(media).is_dir():
        raise UsageError(f"--media {media}: no such folder")
    queries, items, original = given.queries, given.items_if_any, given.original_if_any
    found = audits.Audit()
    audits.audit_captions(found, queries, min_similarity=similarity)
    if original is not None:
        audits.audit_qrels(found, queries, original, items)
        audits.audit_suggestions(
            found, queries, original, min_similarity=similarity, percentile=percentile, max_edits=edits
        )
    ids = {"queries": queries["query_id"].tolist()}
    if items is not None:
        ids["items"] = items["doc_id"].tolist()
    audits.audit_ids(found, ids)
    if media:
        if items is None:
            raise UsageError("--media needs the items: name them with --items")
        audits.audit_items(found, *_hashes(items, Path(media)))
    if given.values["runs"]:
        audits.audit_runs(found, given.runs, queries, items, original)
    if train:
        audits.audit_training(found, queries, _training_texts(train, given))
    summary = found.summary()
    tables: dict[str, Any] = {f"{name}.csv": table for name, table in found.tables.items()}
    tables["findings.csv"] = summary
    if "suggestions" in found.tables:
        tables["suggestions.parquet"] = run_bytes(suggestion_run(found.tables["suggestions"]))
    counts = dict(zip(summary["finding"], summary["count"].tolist(), strict=True))
    parameters = {"similarity": similarity, "percentile": percentile, "edits": edits}
    given.write(folder, tables, "audit", parameters, counts)
    given.summarise(counts, _drawn(found))
    qrels = given.hint("QRELS")
    say_next("pool", f"{runs_named(given.values['runs'])} --qrels {qrels} --out pool")


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


def _training_texts(train: str, given: Given) -> list[str]:
    """Return the captions of a file's training split; of all splits where none is called train."""
    try:
        collection, recognised = read_collection([train], split="train")
    except UsageError:
        collection, recognised = read_collection([train], split="all")
    say_notes(f"{train}: {note}" for note in collection.notes)
    for file in recognised:
        given.use(file.path)
    return [str(text) for text in collection.queries["text"]]
