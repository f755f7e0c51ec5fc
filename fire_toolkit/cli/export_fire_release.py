"""`export-fire-release`: a workspace's judgments in the shape of FIRE's release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pandas as pd

from fire_toolkit.cli.common import made_file, say, say_next
from fire_toolkit.cli.fire_release import ABOUT
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.options import reads
from fire_toolkit.errors import FormatError
from fire_toolkit.files import read_text
from fire_toolkit.formats.tables.delimited import check_header, read_delimited
from fire_toolkit.formats.tables.fire_release_text import fire_release_json
from fire_toolkit.formats.tables.table_files import read_judgments
from fire_toolkit.syntax import parse_json

_LISTS = ("datasets", "whole_number_ids")


@click.command("export-fire-release")
@reads("judgments", "queries", labels="labels.csv, or its folder; disputes.csv is read from beside it.")
@click.option(
    "--provenance", metavar="FILE", help="Which model proposed a pair: provenance.csv or pool_sources.csv."
)
@click.option("--dataset", metavar="NAME", help="The dataset's name in every entry.")
@click.option("--licence", required=True, metavar="NAME", help="The licence of these judgments.")
@click.option(
    "--about",
    multiple=True,
    metavar="FIELD=TEXT",
    help="A field at the top, such as creator=NAME (may be repeated).",
)
@click.option("--out", required=True, metavar="FILE", help="The JSON to write.")
def export_fire_release(
    given: Given, provenance: str | None, dataset: str | None, licence: str, about: tuple[str, ...]
) -> None:
    """Write judgments, labels and disputes in the JSON shape of FIRE's release.

    Tools that read that release read this; each entry also has the id of its caption, unless all captions
    of its text were judged alike. What `fire-release` kept beside the labels (creator, dates, hashes) is
    written again, with --about over it.
    """
    set_fields = dict(map(_field, about))
    given.needed("judgments")
    queries, labels, disputes = given.queries, given.labels, given.disputes
    folder = given.needed("labels").parent
    fields = {**_kept(folder / ABOUT, given), **set_fields}
    if dataset is None:
        dataset = next(iter(fields.get("datasets", [])), "")
    else:
        fields["datasets"] = [dataset]
    content = fire_release_json(
        read_judgments(given.use(given.needed("judgments")))[0],
        labels,
        disputes,
        queries,
        provenance=_provenance(provenance, folder, given),
        dataset=dataset,
        licence=licence,
        about=fields,
    )
    counts = {"annotations": len(labels), "disagreements": len(disputes)}
    parameters, stage = {"dataset": dataset, "licence": licence}, "export-fire-release"
    path = given.out(None)
    given.write(path, {path.name: content}, stage, parameters, counts)
    say(f"{len(labels):,} annotations and {len(disputes):,} disagreements written to {path}")
    again = f"fire-release {path} --out {path.with_suffix('')}-read"
    say_next(again, f"--queries {given.hint('QUERIES')}")


def _field(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name or name in ("annotations", "disagreements", "license"):
        raise click.UsageError(f"--about {text!r}, expected FIELD=TEXT, such as creator=NAME")
    return name, value


def _kept(path: Path, given: Given) -> dict[str, Any]:
    """Return the fields at the top of a release that was read, where the labels are its."""
    if not path.is_file():
        return {}
    found = parse_json(read_text(given.use(path)), str(path))
    if not isinstance(found, dict) or not all(isinstance(found.get(k, []), list) for k in _LISTS):
        raise FormatError(
            f"{path}: not what `fire-toolkit fire-release` writes; delete it, or run that again"
        )
    say(f"{path}: fields of the release that was read are written again")
    return found


def _provenance(named_file: str | None, folder: Path, given: Given) -> pd.DataFrame | None:
    """Return which model proposed a pair: from the file given, beside the labels, or the workspace's pool."""
    beside = folder / "provenance.csv"
    own = beside if beside.is_file() else made_file("pool/pool_sources.csv")
    path = Path(named_file) if named_file else own
    if path is None:
        say("note: which model proposed a pair is not known; give it with --provenance")
        return None
    if not named_file:
        say(f"which model proposed a pair: {path}")
    table = read_delimited(given.use(path))
    if "model" not in table and "run_id" in table:
        table = table.rename(columns={"run_id": "model"})
    check_header(list(table.columns), ["query_id", "doc_id", "model"], path)
    return table
