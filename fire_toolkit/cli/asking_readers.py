"""What reads what people and machines were asked, what they said, and what a pool goes on from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from fire_toolkit.campaign.keys import pair_ids
from fire_toolkit.cli.common import n_of, say, say_notes
from fire_toolkit.cli.given import TABLES, File, Given, reads
from fire_toolkit.cli.here import (
    current_workspace,
    made_file,
    own_guideline,
    setting_or_default,
    workspace_path,
)
from fire_toolkit.cli.pool_readers import answers_of_judge, no_grades
from fire_toolkit.cli.readers import counted
from fire_toolkit.collections.duplicates import share_judgments
from fire_toolkit.commands.types import Asked
from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.formats.collections.qrels import known_labels_in
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.formats.tables.guideline_files import judged_by, read_guideline
from fire_toolkit.formats.tables.table_files import (
    checked_table,
    has_columns,
    read_judgments,
    read_query_design,
    settled_by,
)
from fire_toolkit.guidelines.model import Grades, Guideline, choose_grades
from fire_toolkit.media.places import item_file_hashes
from fire_toolkit.resolution.judgments import latest_round
from fire_toolkit.tables import (
    Judgments,
    asked_judgments,
    check_disputes,
    check_machine_sample,
    check_undrawn,
)
from fire_toolkit.tables.columns import PAIR, pair_rows
from fire_toolkit.tables.design import DESIGN
from fire_toolkit.workspace.config import BY_GUIDELINE
from fire_toolkit.workspace.database import STORE
from fire_toolkit.workspace.manifests import writer_of
from fire_toolkit.workspace.rounds import next_round_number


def grades_of(judgments: Judgments, guideline: str | None, needed_in: object = None) -> Grades | None:
    """Return the grades of the labels found: of the guideline that they are `judged_by`, or as they spell.

    Raises:
        UsageError: a label has none, and they are needed, see `no_grades`.
    """
    counts = {str(label): int(n) for label, n in judgments["label"].value_counts().items()}
    found = choose_grades(counts, guideline=judged_by(judgments, current_workspace(), guideline))
    if found is None and needed_in is not None:
        raise no_grades(counts, needed_in)
    return found


def level_of(rules: Guideline | None) -> str:
    """Return the level of agreement of the workspace, else the one that fits the guideline."""
    chosen = str(setting_or_default(None, "agree", "level"))
    return chosen if chosen != BY_GUIDELINE else rules.level if rules else "nominal"


_DROPPED = ["query_id", "doc_id", "annotator_id", "label", "created_at", "reason"]
TABLES.update(
    # Of several answers by one annotator to a pair the latest; of these without what is excluded, as is said.
    all_judgments=File("judgments", read_judgments),
    judgments=lambda given: without_excluded(given, is_said=True),
    pilot=File("pilot", read_judgments, "named"),
    # What lies beside the judgments, the labels, and a pool that is a sample.
    dropped_as_read=File("judgments", partial(read_delimited, required=_DROPPED), beside="dropped.csv"),
    disputes_if_any=File("labels", partial(checked_table, check_disputes), beside="disputes.csv"),
    machine_sample=File("pool", partial(checked_table, check_machine_sample), "exists", "machine_sample.csv"),
    query_design=File("pool", read_query_design, "exists", "query_design.csv"),
    undrawn=File("pool", partial(checked_table, check_undrawn), "exists", "undrawn.csv"),
    # Pairs whose label is known.
    controls_given=lambda given: (
        known_labels_in(given.use(path), given.grades) if (path := given.values["controls"]) else None
    ),
    # The guideline given, else the workspace's, else the default; the one that grades the judgments, if any.
    guideline=lambda given: read_guideline(own_guideline(given.values["guideline"])),
    judged_by=lambda given: judged_by(given.judgments, current_workspace(), given.values.get("guideline")),
    # The grades of the labels of the judgments, and of those in a pilot; the level of the former.
    grades=lambda given: grades_of(given.judgments, given.values.get("guideline"), given.needed("judgments")),
    grades_of_pilot=lambda given: (
        None if given.pilot is None else grades_of(given.pilot, None, given.values["pilot"])
    ),
    level=lambda given: level_of(given.judged_by),
    # The hash of the guideline that annotators were shown, where the judgments' manifest has it.
    shown_sha256=lambda given: writer_of(given.needed("judgments")).parameters.get("guideline_sha256"),
    # The tables whose columns are added; the queries, where judgments are shared among those of one text.
    joined=lambda given: [read_delimited(given.use(file)) for file in given.values["joined"]],
    queries_to_share=lambda given: given.queries if given.plain["share_judgments"] else None,
    # What the machine judge said whose labels count too, and the grades of these.
    answers_included=lambda given: (
        answers_of_judge(given, judge) if (judge := given.plain["include_machine"]) else None
    ),
    grades_of_workspace=lambda given: (
        read_guideline(own_guideline()).grades if given.plain["include_machine"] else None
    ),
)


# Judgments


@reads
def excluded(given: Given) -> dict[str, str]:
    """Whose judgments are left out, and why; where no option says it, those that the labels do without."""
    if "exclude" not in given.values:
        path = given.path("labels") if given.values.get("judgments") is None else None
        return dict(writer_of(path).parameters.get("excluded") or {})
    names, reasons = (given.values.get(name) or () for name in ("exclude", "reasons"))
    if len(reasons) == 1:
        reasons = reasons * max(len(names), 1)
    if len(names) != len(reasons) or not all(reason.strip() for reason in reasons):
        raise UsageError("--exclude needs a --reason, one for all or one for each; the manifest keeps it")
    return dict(zip(names, reasons, strict=True))


@reads
def counted_judgments(given: Given) -> Any:
    """The judgments of the pairs and queries that count; a note where the labels share them."""
    labels = None if given.values.get("judgments") else given.path("labels")
    if writer_of(labels).parameters.get("share_judgments"):
        say("note: labels are by `resolve --share-judgments`; here each judgment counts for its own query")
    return counted(given, given.own.pairs(given.judgments, "judgments"))


def without_excluded(given: Given, *, is_said: bool) -> Judgments:
    """Return the judgments without those excluded."""
    found: Judgments = given.all_judgments
    if not given.excluded:
        return found
    counts = found["annotator_id"].value_counts()
    is_asked = "exclude" in given.values
    for name, reason in given.excluded.items():
        if name not in counts.index and is_asked:
            from fire_toolkit.elsewhere.rows import PEOPLE_KEY, SOURCES, pseudonym_of  # heavy
            from fire_toolkit.labelstudio.connection import SERVER_FOLDER, key_at

            people, path = ", ".join(sorted(counts.index)), workspace_path(f"{SERVER_FOLDER}/{PEOPLE_KEY}")
            key = key_at(path, makes=False) if path else b""
            here = {pseudonym_of(name, key=key, source=source) for source in SOURCES if key} & {*counts.index}
            own = "".join(f"; {name} of a table is {each}" for each in here)
            raise UsageError(f"--exclude {name}: no judgment is by {name}{own}; annotators: {people}")
        if is_said:
            of_labels = "" if is_asked else ", as in the labels"
            say(f"note: {n_of(int(counts.get(name, 0)), 'judgment')} of {name} left out{of_labels}: {reason}")
    kept = found[~found["annotator_id"].isin(list(given.excluded))]
    return Judgments(kept.reset_index(drop=True))


@reads
def unheard(given: Given) -> pd.DataFrame:
    """The pairs without a vote or a label, whose answers are of who is excluded or was not asked."""
    judged: pd.DataFrame = given.all_judgments[PAIR].drop_duplicates(ignore_index=True)
    heard = [asked_judgments(given.judgments)[PAIR], given.labels[PAIR], given.disputes[PAIR]]
    return judged[pair_rows(judged, pd.concat(heard)) < 0]


@reads
def judged_twins(given: Given) -> pd.DataFrame:
    """Who has judged which pairs under a query of the same text, where the labels share judgments."""
    if given.path("labels", exists=True) is None or "shared_from" not in given.labels:
        return pd.DataFrame({"annotator_id": [], "pair_id": []}, dtype="str")
    shared = share_judgments(given.judgments, given.queries).judgments
    return shared[["annotator_id"]].assign(pair_id=pair_ids(shared["query_id"], shared["doc_id"]))


@reads
def to_resolve(given: Given) -> Judgments:
    """The judgments; a note where those of the workspace may lack edits that a server did not date.

    Those of the workspace rest on its record, which is read to see that every answer is as it was kept.
    """
    from fire_toolkit.campaign.store import check_record  # heavy
    from fire_toolkit.cli.campaigns import begun_here
    from fire_toolkit.labelstudio.places import full_pull_due

    found: Judgments = given.judgments
    if given.values["judgments"] is None and (workspace := current_workspace()):
        check_record(workspace.root / STORE)
        if (campaign := begun_here()) and (due := full_pull_due(campaign.store)):
            say(f"note: {due}")
    return found


@reads
def next_number(given: Given) -> int:
    """The round of what is asked next: after all that judgments name and the workspace has begun."""
    latest, workspace = latest_round(given.judgments), current_workspace()
    return next_round_number(workspace.root, judged=latest) if workspace else latest + 1


@reads
def dropped(given: Given) -> pd.DataFrame | None:
    """The answers beside the judgments that are no votes, where controls tell how right they are."""
    found = given.dropped_as_read if given.values["controls"] else None
    return None if found is None else found[_DROPPED][~found["annotator_id"].isin(list(given.excluded))]


# What `plan` and `audit` look at


@reads
def planned_runs(given: Given) -> Any:
    """The runs as deep as a plan looks at them when own items are left out."""
    from fire_toolkit.planning.plan import DEPTH  # heavy

    return given.runs_to(DEPTH + 1 if given.queries_own_items else DEPTH)


@reads
def seconds_so_far(given: Given) -> float:
    """The median seconds of the workspace's judgments, nan where there are none, or they are given."""
    path = None if given.plain["seconds"] else made_file("judgments/judgments.csv")
    table = read_delimited(given.use(path), only=["duration_s"]) if path else None
    if table is None or "duration_s" not in table.columns:
        return math.nan
    return float(pd.to_numeric(table["duration_s"], errors="coerce").median())


@reads
def media_hashes(given: Given) -> pd.DataFrame | None:
    """The hashes of the items' files; None where no folder is given, or no items are."""
    folder, items = given.values["media"], given.items_if_any
    if folder is None:
        return None
    if items is None:
        raise UsageError("--media needs the items: name them with --items")
    return item_file_hashes(items, Path(folder))


@reads
def training_texts(given: Given) -> list[str] | None:
    """The captions of a column text, else of a file's training split; of all where none is called train."""
    train = given.values["train"]
    if train is None:
        return None
    if Path(train).is_file() and has_columns(train, "text") and not has_columns(train, "split"):
        return list(map(str, read_delimited(given.use(train), required=["text"])["text"]))
    from fire_toolkit.formats.collections.registry import read_collection  # heavy

    try:
        collection, recognised = read_collection([train], split="train")
    except UsageError:
        collection, recognised = read_collection([train], split="all")
    say_notes(f"{train}: {note}" for note in collection.notes)
    for each in recognised:
        given.use(each.path)
    return [str(text) for text in collection.queries["text"]]


# What `augment` joins


@reads
def asked_beside(given: Given) -> Asked:
    """What lies beside the labels and the pool."""
    sample, pool, backbone = given.machine_sample, given.path("pool", exists=True), ""
    if sample is not None:
        with suppress(FormatError):  # the sample is here, and the judge's table is not
            named = answers_of_judge(given, str(sample["judge_id"].iloc[0]))["backbone"].unique().tolist()
            backbone = str(named[0]) if len(named) == 1 else ""
    of_labels: Mapping[str, Any] = writer_of(given.needed("labels")).parameters.get("grades") or {}
    return Asked(
        disputes=given.disputes_if_any,
        sources=given.sources_if_any if DESIGN[0] in given.labels_as_read else None,
        query_design=given.query_design,
        undrawn=given.undrawn,
        machine_sample=sample,
        settled=settled_by(pool) if pool else None,
        highest_grade=int(max(of_labels.values())) if of_labels else None,
        backbone=backbone,
    )
