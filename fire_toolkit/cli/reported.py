"""What `report` reads for each thing that it makes, from files or the workspace."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fire_toolkit import __version__
from fire_toolkit.cli.common import current_workspace, needed_workspace
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.judged_files import grades_of, judgments_from
from fire_toolkit.cli.methods_facts import workspace_facts
from fire_toolkit.formats.plot_files import check_kind
from fire_toolkit.formats.sides import guideline_of, named_guideline, side_at
from fire_toolkit.guidelines.model import Grades
from fire_toolkit.reporting.sides import Side
from fire_toolkit.reporting.since import Since
from fire_toolkit.reporting.study import DRAWS, TOP, Told
from fire_toolkit.tables import Judgments, PoolSources, Queries, Run, first_round
from fire_toolkit.workspace.config import Workspace

Values = Mapping[str, Any]


def _runs(given: Given, values: Values) -> Sequence[Any]:
    """Return the runs; only their tops where lists are compared."""
    if values["what"] == "figures" and (out := given.values["out"] or "figure.svg") and values["figure"]:
        check_kind(Path(out))
    return given.runs_to(TOP) if values["what"] == "table3" else given.stored_runs


def _tops(given: Given, values: Values) -> list[Run] | None:
    """Return the tops of the runs, where their overlap is shown."""
    is_shown = values["what"] == "html" or values["figure"] in (None, "overlap", "rbo")
    return given.runs_to(TOP) if is_shown and len(given.stored_runs) > 1 else None


def _judgments(given: Given, values: Values) -> Judgments | None:
    """Return the judgments; table 2 alone cannot do without any."""
    return given.judgments if values["what"] == "table2" or given.found("judgments") else None


def _grades(given: Given, values: Values) -> Grades | None:
    """Return the grades of the labels in the judgments."""
    if values["what"] == "table2":
        return given.grades
    return grades_of(first_round(given.judgments), None) if given.found("judgments") else None


def _sources(given: Given, values: Values) -> PoolSources | None:
    return given.sources if values["what"] == "table4" else given.sources_if_any


def _queries(given: Given, values: Values) -> Queries | None:
    """Return the queries, where texts or a column are asked for; else they say how others are read."""
    is_needed = values["what"] in ("length", "similarity", "html", "figures") or values["by"]
    return given.queries if is_needed else None


def _since(given: Given, values: Values) -> Since | None:
    """Return the labels as they are, beside another state of them."""
    if not given.values["against"]:
        return None
    workspace = needed_workspace("; `report html --against` compares a workspace")
    path = Path(given.values["against"])
    old = Side(**side_at(path, use=given.use, note=given.note, read=judgments_from))
    corrected = given.own.corrected(old.corrected, given.original, old.name)
    judgments = _judgments(given, values)
    given.stored_runs  # noqa: B018  # whose hashes are known once they are opened
    new = Side(
        name="this workspace",
        tool=__version__,
        guideline=named_guideline(guideline_of(workspace), judgments),
        original=given.original,
        corrected=given.augmented,
        texts=given.queries.set_index("query_id")["text"],
        runs=given.run_hashes,
        judgments=judgments,
    )
    return Since(replace(old, corrected=corrected), new)


def _told(given: Given, values: Values) -> Told:
    """Return what the workspace knows of its study; of a study of files nothing but what they hold."""
    is_of_methods = values["what"] == "methods"
    if is_of_methods:
        workspace: Workspace | None = needed_workspace(", so nothing is known of the study")
    else:
        workspace = current_workspace()
    if workspace is None:
        return Told(basis=given.basis(DRAWS))
    judgments = None if is_of_methods else _judgments(given, values)
    facts = workspace_facts(workspace, given, judgments=judgments)
    if is_of_methods:
        return Told(facts=facts)
    root = workspace.root
    files = sorted({*root.glob("*manifest.json"), *root.glob("[!.]*/*manifest.json")})
    return Told(
        name=root.name,
        basis=given.basis(DRAWS),
        warning=given.age,
        facts=facts,
        manifests={
            path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
            for path in files
            if not path.name.startswith("report") and path.parent.name != "figures"
        },
        measures=workspace.setting("score", "measures"),
        gallery="gallery/index.html" if (root / "gallery/index.html").is_file() else "",
        folders=tuple(dict.fromkeys(map(str, (root, root.parent, Path.home())))),
    )


READ: Mapping[str, Callable[[Given, Values], Any]] = {
    "runs_of_report": _runs,
    "tops": _tops,
    "judgments_of_report": _judgments,
    "grades_of_report": _grades,
    "sources_of_report": _sources,
    "queries_of_report": _queries,
    "since": _since,
    "told": _told,
}
