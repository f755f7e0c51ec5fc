"""A state of a benchmark's labels, read from another workspace, or from a release (its folder, or a zip)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from fire_toolkit.errors import UsageError
from fire_toolkit.files import sha256_of
from fire_toolkit.formats import releases
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.collections.source import Source
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.formats.tables.guideline_files import guideline_of, read_guideline
from fire_toolkit.formats.tables.table_files import read_queries
from fire_toolkit.guidelines.model import Guideline, choose_grades
from fire_toolkit.tables import Judgments
from fire_toolkit.workspace.config import CONFIG, Workspace, read_workspace
from fire_toolkit.workspace.manifests import checked, writer_of

_QRELS = "augmented/qrels.txt"
Use = Callable[[Path], Path]
Read = Callable[[Path], Judgments]


def side_at(path: Path, *, use: Use, read: Read) -> dict[str, Any]:
    """Return the workspace, the release or the zipped release at `path`, as `against.Side` takes it.

    use: checks a file against its manifest, notes that it was read, and returns it; read: reads judgments.

    Raises:
        UsageError: it is none of these. FormatError: a zip or a file that cannot be read.
    """
    if path.is_file():
        with releases.unpacked(use(path)) as folder:
            return _side_of_release(folder, checked, read)
    if (path / CONFIG).is_file():
        return _side_of_workspace(read_workspace(path), use, read)
    if path.is_dir() and releases.is_release(path):
        return _side_of_release(path, use, read)
    raise UsageError(
        f"--against {path}: expected a workspace (a folder with {CONFIG}), or a release that "
        "`fire-toolkit release` made (its folder, or a zip of it)"
    )


def named_guideline(guideline: Guideline, judgments: Judgments | None) -> tuple[str, str]:
    """Return by what was judged, as the judgments say, else the guideline; and the guideline's hash."""
    has_names = judgments is not None and "guideline" in judgments
    names = set(judgments["guideline"].dropna().astype("str")) if has_names else set()  # type: ignore[index]
    return ", ".join(sorted(names - {""})) or guideline.name, guideline.sha256


def _of_judgments(guideline: Guideline, judgments: Judgments | None) -> dict[str, Any]:
    """Return what a side knows of its judgments."""
    given = {} if judgments is None else judgments["label"].value_counts().to_dict()
    grades = choose_grades({str(k): int(n) for k, n in given.items()}, guideline=guideline, default=guideline)
    return {"guideline": named_guideline(guideline, judgments), "judgments": judgments, "grades": grades}


def _side_of_release(folder: Path, use: Use, read: Read) -> dict[str, Any]:
    judgments = read(use(folder / "judgments.csv"))
    runs = read_delimited(use(folder / "runs.csv"), required=["file", "sha256"])
    entries = Source(use(folder / "queries.jsonl")).entries()
    texts = {entry.id("_id"): entry.fields.get("text") for entry in entries}
    has_texts = any(text is not None for text in texts.values())  # a release may ship ids alone
    return dict(
        name=f"release {releases.said_at(folder, 'version')}".strip(),
        tool=writer_of(folder / "qrels.txt").tool_version,
        original=read_qrels(use(folder / "qrels.original.txt")),
        corrected=read_qrels(use(folder / "qrels.txt")),
        texts=pd.Series(texts, dtype="str") if has_texts else None,
        runs=dict(zip(runs["file"], runs["sha256"], strict=True)),
        by_machine=releases.machine_labels_in(folder / "qrels.txt"),
        scores=_of_corrected(releases.scores_of_release(folder)),
        **_of_judgments(read_guideline(folder / "guideline"), judgments),
    )


def _side_of_workspace(workspace: Workspace, use: Use, read: Read) -> dict[str, Any]:
    root = workspace.root
    corrected, path = root / _QRELS, root / "judgments/judgments.csv"
    if not corrected.is_file():
        raise UsageError(f"no {_QRELS} in {root}; run resolve and augment there first")
    places = {name: root / str(workspace.settings["collection"][name]) for name in ("qrels", "queries")}
    judgments = read(use(path)) if path.is_file() else None
    texts = read_queries(use(places["queries"])) if places["queries"].is_file() else None
    path = root / "scores/scores.csv"  # which count where they are of the augmented qrels as these are now
    is_kept = path.is_file() and writer_of(path).inputs.get(_QRELS) == sha256_of(corrected)
    return dict(
        name=workspace.name,
        tool=writer_of(corrected).tool_version,
        original=read_qrels(use(places["qrels"])),
        corrected=read_qrels(use(corrected)),
        texts=None if texts is None else texts.set_index("query_id")["text"],
        runs={file.name: sha256_of(file) for file in workspace.paths("runs", "files")},
        by_machine=releases.machine_labels_in(corrected),
        scores=_of_corrected(releases.scores_in(path)) if is_kept else None,
        **_of_judgments(guideline_of(workspace), judgments),
    )


def _of_corrected(scores: pd.DataFrame | None) -> pd.DataFrame | None:
    if scores is None:
        return None
    kept = (scores["qrels"] == "augmented") & (scores["query_id"] == "all")
    return scores[["run_id", "measure", "value"]][kept].reset_index(drop=True)
