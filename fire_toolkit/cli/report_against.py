"""`report html --against OLD`: what a workspace's labels have become since another state of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from fire_toolkit import __version__
from fire_toolkit.agreement.summary import AgreementSummary, agreement_summary
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.judged_files import judgments_from
from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.files import read_text, sha256_of
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.releases import (
    is_release,
    release_version,
    scores_in,
    scores_of_release,
    unpacked,
)
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.formats.tables.table_files import read_queries
from fire_toolkit.guidelines.grades import choose_grades
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.inference import compare_orders
from fire_toolkit.inference.changes import score_changes
from fire_toolkit.inference.judged_pairs import JudgedPairs, Tell
from fire_toolkit.reporting import sections
from fire_toolkit.reporting.page import Section
from fire_toolkit.reporting.sides import LabelChanges, Side, compare_labels, contradicted, pair_runs
from fire_toolkit.tables import Judgments, first_round
from fire_toolkit.workspace.config import CONFIG, Workspace, read_workspace
from fire_toolkit.workspace.manifests import verify, writer_of

_QRELS = "augmented/qrels.txt"
_Use = Callable[[Path], Path]


class Against:
    """A workspace beside another state of its labels."""

    def __init__(self, old: Path, workspace: Workspace, given: Given, judgments: Judgments | None) -> None:
        self.given = given
        found, self._old_guideline = _read_side(old, given)
        corrected = given.own.corrected(found.corrected, given.original, found.name)
        self.old = replace(found, corrected=corrected)
        self.new = _this_side(workspace, given, judgments)
        self.changes: LabelChanges = compare_labels(self.old, self.new)

    @property
    def qrels(self) -> list[pd.DataFrame]:
        """The other labels, where scores by them can be compared: what the runs are to be joined with."""
        return [self.old.corrected] if self.changes.are_all else []

    def sections(
        self, joined: JudgedPairs, measures: Sequence[str], agreement: AgreementSummary | None, tell: Tell
    ) -> Iterator[Section]:
        """Yield what changed, and the order of the runs under both labels where there are two runs."""
        tell(f"against {self.old.name}")
        same, reasons = pair_runs(self.old, self.new)
        notes = [*self.changes.notes, *reasons]
        scores = pd.DataFrame()
        if self.changes.are_all:
            sides = (self.old.corrected, self.given.augmented)
            scores = score_changes(joined, *sides, measures, run_ids=same, clusters=self.given.clusters)
            wrong = contradicted(self.old, scores.rename(columns={"before": "value"}))
            notes += [
                f"{run_id}: {self.old.name} gives it other scores than its own labels give that file here, "
                "so that its ids or its rule for ties were others; it is not compared"
                for run_id in wrong
            ]
            same = [run_id for run_id in same if run_id not in wrong]
            scores = scores[~scores["run_id"].isin(wrong)]
        elif self.changes.n_queries:
            notes.append("scores are means over other queries there, and are not compared")
        before = self._agreement()
        yield sections.of_changes(
            self.old, self.new, self.changes.table, scores, (before, agreement), notes=notes
        )
        if self.changes.are_all and len(same) > 1:
            of_same = replace(joined, places={run_id: joined.places[run_id] for run_id in same})
            labellings = {self.old.name: self.old.corrected, self.new.name: self.given.augmented}
            orders = compare_orders(of_same, labellings, measures, **self.given.draws, tell=tell)
            yield sections.of_orders(orders, anchor="since-order", names=(self.old.name, self.new.name))

    def _agreement(self) -> AgreementSummary | None:
        judgments = self.old.judgments
        if judgments is None:
            return None
        labels = {str(label): int(n) for label, n in judgments["label"].value_counts().items()}
        grades = choose_grades(labels, guideline=self._old_guideline, default=self._old_guideline)
        return agreement_summary(first_round(judgments), grades=grades, all_rounds=True)


def _read_side(path: Path, given: Given) -> tuple[Side, Guideline]:
    """Return the workspace, the release or the zipped release at `path`, with its guideline."""
    if path.is_file():
        given.note(path)
        with unpacked(path) as folder:
            return _side_of_release(folder, _checked)
    if (path / CONFIG).is_file():
        return _side_of_workspace(read_workspace(path), given)
    if path.is_dir() and is_release(path):
        return _side_of_release(path, given.use)
    raise UsageError(
        f"--against {path}: expected a workspace (a folder with {CONFIG}), or a release that "
        "`fire-toolkit release` made (its folder, or a zip of it)"
    )


def _checked(path: Path) -> Path:
    verify(path)
    return path


def _side_of_release(folder: Path, use: _Use) -> tuple[Side, Guideline]:
    guideline = read_guideline(folder / "guideline")
    judgments = judgments_from(use(folder / "judgments.csv"))
    runs = read_delimited(use(folder / "runs.csv"), required=["file", "sha256"])
    made = writer_of(folder / "qrels.txt")
    side = Side(
        name=f"release {release_version(folder)}".strip(),
        tool=made.tool_version if made else "",
        guideline=_named(guideline, judgments),
        original=read_qrels(use(folder / "qrels.original.txt")),
        corrected=read_qrels(use(folder / "qrels.txt")),
        texts=_released_texts(use(folder / "queries.jsonl")),
        runs=dict(zip(runs["file"], runs["sha256"], strict=True)),
        scores=_of_corrected(scores_of_release(folder)),
        judgments=judgments,
    )
    return side, guideline


def _side_of_workspace(workspace: Workspace, given: Given) -> tuple[Side, Guideline]:
    root, guideline = workspace.root, _guideline_of(workspace)
    corrected, path = root / _QRELS, root / "judgments/judgments.csv"
    if not corrected.is_file():
        raise UsageError(f"no {_QRELS} in {root}; run resolve and augment there first")
    places = {name: root / str(workspace.setting("collection", name)) for name in ("qrels", "queries")}
    judgments = judgments_from(given.use(path)) if path.is_file() else None
    texts = read_queries(given.use(places["queries"])) if places["queries"].is_file() else None
    made = writer_of(corrected)
    side = Side(
        name=root.resolve().name,
        tool=made.tool_version if made else "",
        guideline=_named(guideline, judgments),
        original=read_qrels(given.use(places["qrels"])),
        corrected=read_qrels(given.use(corrected)),
        texts=None if texts is None else texts.set_index("query_id")["text"],
        runs={file.name: sha256_of(file) for file in workspace.paths("runs", "files")},
        scores=_kept_scores(root, given.hash_of(corrected)),
        judgments=judgments,
    )
    return side, guideline


def _this_side(workspace: Workspace, given: Given, judgments: Judgments | None) -> Side:
    """Return the workspace that the report is of, from what was read for it."""
    given.stored_runs  # noqa: B018  # whose hashes are known once they are opened
    return Side(
        name="this workspace",
        tool=__version__,
        guideline=_named(_guideline_of(workspace), judgments),
        original=given.original,
        corrected=given.augmented,
        texts=given.queries.set_index("query_id")["text"],
        runs=given.run_hashes,
        judgments=judgments,
    )


def _guideline_of(workspace: Workspace) -> Guideline:
    """Return a workspace's guideline; a folder is looked for from the workspace's own."""
    name = workspace.setting("tasks", "guideline")
    own = workspace.root / name
    return read_guideline(own if own.is_dir() else name)


def _named(guideline: Guideline, judgments: Judgments | None) -> tuple[str, str]:
    """Return by what was judged, as the judgments say, else the guideline; and the guideline's hash."""
    has_names = judgments is not None and "guideline" in judgments
    names = set(judgments["guideline"].dropna().astype("str")) if has_names else set()  # type: ignore[index]
    return ", ".join(sorted(names - {""})) or guideline.name, guideline.sha256


def _kept_scores(root: Path, qrels_sha256: str) -> pd.DataFrame | None:
    """Return a workspace's scores, where they are of the augmented qrels as these are now."""
    path = root / "scores/scores.csv"
    made = writer_of(path) if path.is_file() else None
    if made is None or made.inputs.get(_QRELS) != qrels_sha256:
        return None
    return _of_corrected(scores_in(path))


def _of_corrected(scores: pd.DataFrame | None) -> pd.DataFrame | None:
    if scores is None:
        return None
    kept = (scores["qrels"] == "augmented") & (scores["query_id"] == "all")
    return scores.loc[kept, ["run_id", "measure", "value"]].reset_index(drop=True)


def _released_texts(path: Path) -> pd.Series | None:
    """Return the texts of a release's queries; None where it ships ids alone."""
    try:
        lines = [line for line in read_text(path).splitlines() if line.strip()]
        rows: list[Mapping[str, Any]] = [json.loads(line) for line in lines]
        texts = {str(row["_id"]): row.get("text") for row in rows}
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(f"{path}: {error!r}; expected a line of JSON with _id for each query") from None
    if all(text is None for text in texts.values()):
        return None
    return pd.Series(texts, dtype="str")
