"""`export-fire-release`: a workspace's judgments in the shape of FIRE's release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pandas as pd

from fire_toolkit.cli.audit import queries_option, read_tables
from fire_toolkit.cli.common import (
    Inputs,
    chosen_path,
    judgments_path,
    made_file,
    say,
    say_next,
    workspace_path,
    write_outputs,
)
from fire_toolkit.cli.fire_release import ABOUT
from fire_toolkit.cli.hints import named
from fire_toolkit.errors import FormatError
from fire_toolkit.files import read_text
from fire_toolkit.formats.tables.delimited import check_header, read_delimited
from fire_toolkit.formats.tables.fire_release_text import fire_release_json
from fire_toolkit.formats.tables.table_files import read_judgments, read_labels
from fire_toolkit.syntax import parse_json
from fire_toolkit.tables import check_disputes

_LISTS = ("datasets", "whole_number_ids")


@click.command("export-fire-release")
@click.option("--judgments", metavar="FILE", help="judgments.csv.")
@click.option("--labels", metavar="DIR", help="Folder of labels.csv and disputes.csv.")
@click.option(
    "--provenance", metavar="FILE", help="Which model proposed a pair: provenance.csv or pool_sources.csv."
)
@queries_option
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
    judgments: str | None,
    labels: str | None,
    provenance: str | None,
    queries: str | None,
    dataset: str | None,
    licence: str,
    about: tuple[str, ...],
    out: str,
) -> None:
    """Write judgments, labels and disputes in the JSON shape of FIRE's release.

    Tools that read that release read this; each entry also has the id of its caption, unless all captions
    of its text were judged alike. What `fire-release` kept beside the labels (creator, dates, hashes) is
    written again, with --about over it.
    """
    set_fields = dict(map(_field, about))
    inputs = Inputs()
    query_table, _, _ = read_tables(inputs, queries, None, None)
    judgments_file = judgments_path(judgments, "--judgments")
    folder = chosen_path(labels, workspace_path("labels"), "--labels")
    label_table = read_labels(inputs.use(folder / "labels.csv"))
    disputes = read_delimited(inputs.use(folder / "disputes.csv"), required=["query_id", "doc_id", "reason"])
    fields = {**_kept(folder / ABOUT, inputs), **set_fields}
    if dataset is None:
        dataset = next(iter(fields.get("datasets", [])), "")
    else:
        fields["datasets"] = [dataset]
    content = fire_release_json(
        read_judgments(inputs.use(judgments_file))[0],
        label_table,
        check_disputes(disputes),
        query_table,
        provenance=_provenance(provenance, folder, inputs),
        dataset=dataset,
        licence=licence,
        about=fields,
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
    again = f"--queries {named('QUERIES', queries, beside=inputs.hashes)}"
    say_next(f"fire-release {path} --out {path.with_suffix('')}-read", again)


def _field(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name or name in ("annotations", "disagreements", "license"):
        raise click.UsageError(f"--about {text!r}, expected FIELD=TEXT, such as creator=NAME")
    return name, value


def _kept(path: Path, inputs: Inputs) -> dict[str, Any]:
    """Return the fields at the top of a release that was read, where the labels are its."""
    if not path.is_file():
        return {}
    found = parse_json(read_text(inputs.use(path)), str(path))
    if not isinstance(found, dict) or not all(isinstance(found.get(k, []), list) for k in _LISTS):
        raise FormatError(
            f"{path}: not what `fire-toolkit fire-release` writes; delete it, or run that again"
        )
    say(f"{path}: fields of the release that was read are written again")
    return found


def _provenance(given: str | None, folder: Path, inputs: Inputs) -> pd.DataFrame | None:
    """Return which model proposed a pair: from the file given, beside the labels, or the workspace's pool."""
    beside = folder / "provenance.csv"
    path = Path(given) if given else beside if beside.is_file() else made_file("pool/pool_sources.csv")
    if path is None:
        say("note: which model proposed a pair is not known; give it with --provenance")
        return None
    if not given:
        say(f"which model proposed a pair: {path}")
    table = read_delimited(inputs.use(path))
    if "model" not in table and "run_id" in table:
        table = table.rename(columns={"run_id": "model"})
    check_header(list(table.columns), ["query_id", "doc_id", "model"], path)
    return table
