"""FIRE's release: `import` reads its JSON into a folder of tables, `release --format fire` writes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from fire_toolkit.cli.common import file_in, made_file, needed_workspace, say, say_next, say_notes
from fire_toolkit.cli.given import Given
from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.files import read_text
from fire_toolkit.formats.tables.delimited import check_header, read_delimited
from fire_toolkit.formats.tables.fire_release import fire_release_json, read_fire_release
from fire_toolkit.formats.tables.table_files import read_judgments
from fire_toolkit.syntax import parse_json
from fire_toolkit.workspace.config import Workspace

ABOUT, PROVENANCE = "about.json", "provenance.csv"
_LISTS = ("datasets", "whole_number_ids")


def import_fire_release(given: Given, path: Path) -> None:
    """Write the tables of a release into `--out`, joined to the workspace's captions."""
    needed_workspace(": the texts of a release are looked up among the captions of a workspace")
    folder = given.out(None)
    release = read_fire_release(given.use(path), given.queries, items=given.items_if_any)
    say_notes(release.notes)
    tables: dict[str, pd.DataFrame] = {
        "judgments.csv": release.judgments,
        "labels.csv": release.labels,
        "disputes.csv": release.disputes,
        PROVENANCE: release.provenance,
        "outside.csv": release.outside,
    }
    about = json.dumps(release.about, ensure_ascii=False, indent=1) + "\n"
    contents: dict[str, Any] = {**tables, "qrels.txt": release.qrels, ABOUT: about}
    counts = {name.removesuffix(".csv"): len(table) for name, table in tables.items()}
    given.write(folder, contents, "import", {"notes": release.notes}, counts)
    words = ", ".join(
        f"{n:,} {'entries outside' if name == 'outside' else name}" for name, n in counts.items()
    )
    given.summarise(counts, words)
    say_next(f"augment --labels {folder / 'labels.csv'} --out {folder / 'augmented.txt'}")


def write_fire_release(workspace: Workspace, tables: Path | None, out: Path) -> None:
    """Write judgments, labels and disputes as FIRE's release has them: of `tables`, else the workspace's.

    Raises:
        UsageError: nothing says under which licence they may be passed on.
    """
    named = {} if tables is None else {"judgments": file_in(tables, "judgments.csv"), "labels": tables}
    given = Given(named)
    folder = given.needed("labels").parent
    about, own, path = {}, workspace.settings["release"], folder / ABOUT
    if path.is_file():  # the labels are of a release that was read
        about = parse_json(read_text(given.use(path)), str(path))
        if not isinstance(about, dict) or not all(isinstance(about.get(k, []), list) for k in _LISTS):
            raise FormatError(
                f"{path}: not what `fire-toolkit import` writes; delete it, or import that again"
            )
        say(f"{path}: fields of the release that was read are written again")
    licence = about.get("license", own["licence"])
    dataset = next(iter(about.get("datasets", [own["name"]])), "")
    if not licence:
        raise UsageError("no licence is known for these judgments; write into fire.toml, [release] licence")
    content = fire_release_json(
        read_judgments(given.use(given.needed("judgments")))[0],
        given.labels,
        given.disputes,
        given.queries,
        provenance=_provenance(folder, given),
        dataset=dataset,
        licence=licence,
        about=about,
    )
    n_labels, n_disputes = len(given.labels), len(given.disputes)
    counts = {"annotations": n_labels, "disagreements": n_disputes}
    given.write(out, {out.name: content}, "release", {"format": "fire", "licence": licence}, counts)
    say(f"{n_labels:,} annotations and {n_disputes:,} disagreements written to {out}")
    say_next(f"import {out} --out {out.with_suffix('')}-read")


def _provenance(folder: Path, given: Given) -> pd.DataFrame | None:
    """Return which model proposed a pair: from beside the labels, else from the workspace's pool."""
    beside = folder / PROVENANCE
    path = beside if beside.is_file() else made_file("pool/pool_sources.csv")
    if path is None:
        say("note: which model proposed a pair is not known: the workspace has no pool")
        return None
    say(f"which model proposed a pair: {path}")
    table = read_delimited(given.use(path)).rename(columns={"run_id": "model"})
    check_header(list(table.columns), ["query_id", "doc_id", "model"], path)
    return table
