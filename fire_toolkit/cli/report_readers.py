"""What `report` reads for each thing that it makes, and what a workspace says of how its labels were made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fire_toolkit import __version__
from fire_toolkit.campaign.beginning import policy_of
from fire_toolkit.campaign.store import Store
from fire_toolkit.cli.asking_readers import grades_of, level_of
from fire_toolkit.cli.given import TABLES, Given, reads
from fire_toolkit.cli.here import current_workspace, needed_workspace
from fire_toolkit.formats.plot_files import check_kind
from fire_toolkit.formats.releases import machine_labels_in
from fire_toolkit.formats.sides import named_guideline, side_at
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.formats.tables.guideline_files import guideline_of, judged_by
from fire_toolkit.formats.tables.table_files import read_judgments
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.reporting.against import Side, Since
from fire_toolkit.reporting.methods import MethodFacts, facts_of_judgments
from fire_toolkit.reporting.study import TOP, Told
from fire_toolkit.resolution.judgments import first_round
from fire_toolkit.tables import Judgments
from fire_toolkit.workspace.config import Workspace
from fire_toolkit.workspace.database import STORE
from fire_toolkit.workspace.manifests import manifest_of, manifest_path

_WITH_QUERIES = ("length", "similarity", "html", "figures")
TABLES.update(
    # The tops of the runs, where their overlap is shown.
    tops=lambda given: (
        given.runs_to(TOP)
        if (given.plain["what"] == "html" or given.plain["figure"] in (None, "overlap", "rbo"))
        and len(given.stored_runs) > 1
        else None
    ),
    # The judgments, and the grades of their labels; table 2 alone cannot do without any.
    judgments_of_report=lambda given: (
        given.judgments
        if given.plain["what"] == "table2"
        else given.all_judgments
        if given.path("judgments", exists=True)
        else None
    ),
    grades_of_report=lambda given: (
        given.grades
        if given.plain["what"] == "table2"
        else grades_of(first_round(given.all_judgments), None)
        if given.path("judgments", exists=True)
        else None
    ),
    # The labels of the evidence; of table 2 those that were made of the workspace's judgments.
    labels_of_report=lambda given: (
        given.known_labels
        if given.plain["what"] != "table2"
        else None
        if given.values["judgments"] is not None or given.path("labels", exists=True) is None
        else given.labels_as_read
    ),
    # Which run pooled which pair; table 4 alone cannot do without.
    sources_of_report=lambda given: (
        given.sources if given.plain["what"] == "table4" else given.sources_if_any
    ),
    # The queries, where texts or a column are asked for; else they say how others are read.
    queries_of_report=lambda given: (
        given.queries if given.plain["what"] in _WITH_QUERIES or given.plain["by"] else None
    ),
)


@reads
def runs_of_report(given: Given) -> Any:
    """Return the runs; only their tops where lists are compared."""
    if given.plain["what"] == "figures":
        check_kind(Path((given.plain["figure"] and given.values["out"]) or "figure.svg"))
    return given.runs_to(TOP) if given.plain["what"] == "table3" else given.stored_runs


@reads
def since(given: Given) -> Since | None:
    """Return the labels as they are, beside another state of them."""
    if not given.values["against"]:
        return None
    workspace = needed_workspace("; `report html --against` compares a workspace")
    path = Path(given.values["against"])
    old = Side(**side_at(path, use=given.use, read=read_judgments))
    corrected = given.own.qrels(old.corrected, old.name, given.original)
    judgments = given.judgments_of_report
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
        by_machine=machine_labels_in(given.corrected_file),
    )
    return Since(replace(old, corrected=corrected), new)


@reads
def told(given: Given) -> Told:
    """Return what the workspace knows of its study; of a study of files nothing but what they hold."""
    is_of_methods = given.plain["what"] == "methods"
    why = ", so nothing is known of the study"
    workspace = needed_workspace(why) if is_of_methods else current_workspace()
    if workspace is None:
        known: dict[str, Any] = {}
        if (judgments := given.judgments_of_report) is not None:
            rules = judged_by(judgments, current_workspace())
            known = facts_of_judgments(judgments, grades=given.grades_of_report, level=level_of(rules))
            known |= _facts_of_guideline(rules) if rules else {}
        return Told(said=given.said, facts=MethodFacts(**known))
    judgments = None if is_of_methods else given.judgments_of_report
    facts = workspace_facts(workspace, given, judgments=judgments)
    if is_of_methods:
        return Told(facts=facts)
    root = workspace.root
    files = sorted({*root.glob("*manifest.json"), *root.glob("[!.]*/*manifest.json")})
    return Told(
        name=workspace.name,
        said=given.said,
        warning=given.age,
        facts=facts,
        manifests={
            path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
            for path in files
            if not path.name.startswith("report") and path.parent.name != "figures"
        },
        measures=workspace.settings["score"]["measures"],
        gallery="gallery/index.html" if (root / "gallery/index.html").is_file() else "",
        folders=tuple(dict.fromkeys(map(str, (root, root.parent, Path.home())))),
    )


def workspace_facts(
    workspace: Workspace,
    given: Given,
    *,
    judgments: Judgments | None = None,
    named: Mapping[str, str] | None = None,
) -> MethodFacts:
    """Return what is known of the study in a workspace; stages that were not run leave blanks.

    judgments: the workspace's, where they were read already; named: see `facts_of_judgments`.
    """
    root = workspace.root
    path = root / "judgments/judgments.csv"
    if judgments is None and path.is_file():
        judgments = read_judgments(given.use(path))
    guideline = None if judgments is None else judged_by(judgments, current_workspace())
    guideline = guideline or guideline_of(workspace)
    with Store.at(root / STORE) as store:
        queues = store.select("select kind, count(*) from queues group by kind")
    facts: dict[str, Any] = {
        "study": workspace.settings["study"],
        "pool": _stage(given, root / "pool"),
        **_facts_of_guideline(guideline),
        "asked": Counter(dict(queues)) or None,
        "policy": policy_of(root) or "",
        "labels_by": _stage(given, root / "labels"),
        "augmented": _stage(given, root / "augmented/qrels.txt"),
    }
    unusable = given.unusable
    if unusable is not None:
        facts["unusable"] = {"n": len(unusable.queries), **unusable.parameters}
    if judgments is not None:
        excluded = (facts["labels_by"] or {}).get("excluded", {})
        is_out, dropped = judgments["annotator_id"].isin(list(excluded)), path.with_name("dropped.csv")
        first = first_round(Judgments(judgments[~is_out]))
        reasons = read_delimited(given.use(dropped), required=["reason"]) if dropped.is_file() else None
        facts |= facts_of_judgments(
            judgments,
            excluded=excluded,
            named=named,
            dropped=None if reasons is None else reasons["reason"],
            grades=grades_of(first, None),
            level=level_of(judged_by(first, current_workspace())),
        )
    return MethodFacts(**facts)


def _facts_of_guideline(guideline: Guideline) -> dict[str, Any]:
    """Return what a guideline says, as fields of `MethodFacts`."""
    return {
        "guideline": guideline.name,
        "question": guideline.question,
        "answers": [label.name for label in guideline.labels],
        "seen": [f"the {'item' if key == guideline.item_kind else key}" for key in guideline.data_keys],
    }


def _stage(given: Given, out: Path) -> Mapping[str, Any] | None:
    """Return parameters and counts of a stage's manifest; None where it was not run."""
    if not (manifest := manifest_of(out)):
        return None
    given.used.append(manifest_path(out))
    return {**manifest.parameters, **manifest.counts}
