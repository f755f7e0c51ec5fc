"""What reads collections, qrels, labels and evidence, each from the file given, else the workspace's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from fire_toolkit.cli.common import n_of, say
from fire_toolkit.cli.given import TABLES, File, Given, reads
from fire_toolkit.cli.here import current_workspace, made_file, setting_or_default
from fire_toolkit.collections.assembly import why_encoded
from fire_toolkit.commands.command import column_of
from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.evidence.facts import Evidence
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.releases import ORIGINAL, kind_of_qrels, read_original_qrels
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.formats.tables.table_files import (
    evidence_beside,
    read_evidence,
    read_items,
    read_judgments,
    read_labels,
    read_pool,
    read_pool_sources,
    read_pooled_runs,
    read_queries,
    read_query_labels,
    settled_by,
)
from fire_toolkit.formats.tables.tifa import read_answers, read_questions
from fire_toolkit.inference.background import Background, known_of
from fire_toolkit.matching.ranking import run_ids
from fire_toolkit.tables import check_disputes
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.tables.design import DESIGN
from fire_toolkit.workspace.manifests import writer_of

EXPERTS = "audit/labels"  # the folder in which experts answer on labels
SAMPLE, ANSWERS = f"{EXPERTS}/sample.csv", f"{EXPERTS}/answers.csv"


TABLES.update(
    # Tables of one file, which the option names, else the workspace has.
    queries=File("queries", read_queries),
    items_if_any=File("items", read_items, "named"),
    original_as_read=File("qrels", read_qrels),
    augmentable=File("qrels", read_original_qrels),  # no corrected ones
    original_if_any=File("qrels", read_qrels, "exists"),
    original_if_named=File("qrels", read_qrels, "named"),
    original_if_given=lambda given: given.original_if_named if given.values["qrels"] else None,
    labels_as_read=File("labels", read_labels),
    pool_if_any=File("pool", read_pool, "exists"),
    validity_if_any=File("validity", read_query_labels, "exists"),
    earlier_judgments=File("judgments", read_judgments, "exists"),
    judgments_if_any=lambda given: given.judgments if given.path("judgments", exists=True) else None,
    back=File("back", read_qrels, "named"),
    groups=File("groups", partial(read_delimited, required=PAIR), "named"),
    training_captions=lambda given: given.training_texts if given.needed("train") else None,
    questions=File("questions", read_questions, "named"),
    # What a model answered to TIFA's questions; they may stand in one file with these.
    answers=lambda given: read_answers(given.use(given.values["answers"] or given.values["questions"])),
    # The cluster of each query; the queries, where an option names one of their columns.
    clusters=lambda given: (
        None if given.values["clusters"] is None else column_of(given.queries, given.values["clusters"])
    ),
    queries_if_any=File("queries", read_queries, "exists"),
    named_queries=lambda given: (
        given.queries
        if given.plain["by"] or given.values.get("groups")
        else given.queries_if_any
        if given.plain["direction"]
        else None
    ),
    # The original qrels, beside augmented ones as `augment` took them; augmented ones where there are any.
    original=lambda given: given.own.qrels(
        given.original_as_read if given.known.original is None else given.known.original
    ),
    augmented_if_any=lambda given: (
        None
        if given.known.augmented is None
        else given.own.qrels(given.known.augmented, "augmented qrels", given.original)
    ),
    # The augmented qrels given, else the workspace's where they correct its own, else None.
    corrected_file=lambda given: (
        given.path("augmented", exists=True)
        if given.values.get("augmented") or not given.values.get("qrels")
        else None
    ),
    # The unusable queries of the augmented qrels; None where nobody was asked.
    unusable=lambda given: (
        given.known.unusable if "unusable" in writer_of(given.corrected_file).parameters else None
    ),
    # What the qrels named are: original, or corrected and by which release.
    kind_of_qrels=lambda given: (
        kind_of_qrels(given.needed("qrels")) if given.values.get("qrels") else ORIGINAL
    ),
    known_of_workspace=lambda given: None if given.values["labellings"] else given.known,
    # The grade of original positives beside the labels (None: the one they have), and the highest there is.
    original_grade=lambda given: given.known.original_grade,
    highest_grade=lambda given: given.known.highest_grade or 1,
    # The resolved labels of the queries that count; the same, where they are named.
    labels=lambda given: counted(given, given.own.pairs(given.labels_as_read, "labels")),
    labels_given=lambda given: given.labels if given.values["labels"] else None,
    labels_if_any=lambda given: given.labels if given.path("labels", exists=True) else None,
    # Which run pooled which pair, where honest rows or votes need it.
    sources_of_honest=lambda given: (
        given.sources_if_any
        if given.plain["honest"] or (given.known_labels is not None and DESIGN[0] in given.known_labels)
        else None
    ),
)


@reads
def encoded_ids(given: Given) -> str:
    """Why the collection's ids are percent-encoded, as `add-collection` or files of somebody's own say it."""
    path = given.path("queries", exists=True)
    if (writer := writer_of(path)) or path is None:
        return str(writer.parameters.get("encoded_ids", ""))
    files = {"query_id": path, "doc_id": given.path("items", exists=True)}
    ids = (read_delimited(file, required=[name])[name] for name, file in files.items() if file)
    return why_encoded([each for of_file in ids for each in of_file])


@reads
def known(given: Given) -> Background:
    """What is known of pairs: the evidence written with the augmented qrels, else qrels alone."""
    path, policy = given.corrected_file, str(setting_or_default(None, "augment", "policy"))
    if path is None:
        return Background(original=given.original_as_read, policy=policy)
    if (file := evidence_beside(path)) is None:
        if writer_of(path).stage == "augment":
            raise FormatError(
                f"{path}: of an earlier version, without evidence; run `fire-toolkit augment` again"
            )
        original, is_settled = given.original_as_read, settled_by(path) is not None
        return Background(original, read_qrels(given.use(path)), is_settled=is_settled, policy=policy)
    if not file.is_file():
        raise FormatError(f"{file}: no such file, and scores read it beside {path}; copy it too")
    given.use(path)
    found = known_of(_with_told(given, read_evidence(given.use(file))))
    if given.values.get("qrels"):
        found = found.beside(given.original_as_read)
    elif own_qrels := given.path("qrels", exists=True):
        given.use(own_qrels)  # of which the evidence was made
    if (grade := found.original_grade) not in (None, 1):
        words = f"original positives count at grade {grade} (as in the augmented qrels); measures without"
        say(f"note: {words} gains count docs from grade 1 (C@k:rel={grade}: those of grade {grade} alone)")
    return found


def _with_told(given: Given, found: Evidence) -> Evidence:
    """Return evidence with what came after it: experts' answers on the labels, and runs."""
    facts, workspace = found.facts, current_workspace()
    if "judge_id" in found.pairs and "runs" in given.values:
        settings = workspace.runs if workspace else {}
        names = run_ids(given.stored_runs)
        if not given.values["runs"] and (others := [name for name in settings if name not in names]):
            say(f"warning: fire.toml: no run is called {', '.join(others)}; found {', '.join(names)}")
        facts = replace(
            facts, backbones={run: str(settings.get(run, {}).get("backbone", "")) for run in names}
        )
    sample, filled = made_file(SAMPLE), made_file(ANSWERS)
    if sample and filled and not given.values.get("augmented"):
        numbers = dict.fromkeys(("band", "relevance", "n_labels"), "int64")
        drawn = read_delimited(given.use(sample), required=[*PAIR, *numbers]).astype(numbers)
        said = read_delimited(given.use(filled), required=["annotator_id", *PAIR, "relevance"])
        facts = replace(facts, experts=(drawn, said.astype({"relevance": "int64"}).drop_duplicates(PAIR)))
    return found._replace(facts=facts)


@reads
def augmented(given: Given) -> Any:
    """The augmented qrels; a usage error where there are none."""
    if given.augmented_if_any is None:
        if not given.values.get("qrels"):
            given.needed("augmented")
        raise click.UsageError("--augmented is needed outside a workspace (see `fire-toolkit init`)")
    return given.augmented_if_any


@reads
def settled(given: Given) -> Any:
    """The augmented qrels; a warning where the runs are not those that they are settled for."""
    _check_settled(given)
    return given.augmented


@reads
def settled_if_any(given: Given) -> Any:
    """The augmented qrels, as `settled`, if there are any; the way back is settled for nothing."""
    if given.plain.get("direction"):
        return None if given.values["back"] else given.augmented_if_any
    if given.corrected_file is not None:
        _check_settled(given)
    return given.augmented_if_any


def _check_settled(given: Given, files: Sequence[Path] = ()) -> None:
    """Say what scores by settled qrels are not, and warn of runs that they are not settled for.

    files: qrels, the first that are settled count; none: the augmented ones.
    """
    known_files: Sequence[Path] = files or list(filter(None, [given.corrected_file]))
    found = next(filter(None, map(settled_by, known_files)), None)
    if found is None:
        return
    for_runs = f"settled for {found.measure} of {', '.join(found.runs)}"
    names = run_ids(given.stored_runs)
    if outside := [name for name in names if found.runs.get(name) != given.run_hashes[name]]:
        why = "what only another run finds was never asked, so its scores are too low; pool it too"
        say(f"warning: {', '.join(outside)}: the augmented qrels are {for_runs}, and {why}")
    if n_open := found.open_queries:
        say(f"note: {n_of(n_open, 'query')} not settled yet, so {found.measure} can still rise: pool again")
    if others := [name for name in given.plain["measures"] if name != found.measure]:
        say(f"note: the augmented qrels are {for_runs}; further answers could change {', '.join(others)}")


@reads
def labellings(given: Given) -> dict[str, Any]:
    """The qrels named, else the workspace's original and augmented, by their names."""
    files: dict[str, Path] = {}
    for each in given.values["labellings"]:
        name, equals, path_text = each.partition("=")
        is_named = bool(equals and path_text) and "/" not in name
        path = Given({"qrels": Path(path_text if is_named else each)}).needed("qrels")
        label = name if is_named else path.name
        if label in files:
            raise UsageError(f"two qrels are called {label!r}; name them, as in a={path} b=...")
        files[label] = path
    _check_settled(given, list(files.values()))
    if not files:
        return {"original": given.original, "augmented": given.augmented}
    read = {name: read_qrels(given.use(path)) for name, path in files.items()}
    first, *others = read
    of_first = given.own.qrels(read[first])
    return {first: of_first} | {name: given.own.qrels(read[name], name, of_first) for name in others}


# Labels, and who pooled what


@reads
def known_labels(given: Given) -> Any:
    """The labels of the evidence; a usage error where what is made needs them and there are none."""
    found = given.known.labels
    if found is not None:
        return given.own.pairs(found, "labels")
    what = "score --honest" if given.plain.get("honest") else f"report {given.plain.get('what')}"
    if what in ("score --honest", "report html", "report figures"):
        todo = "run `fire-toolkit augment` with them, or name its qrels with --augmented"
        which = "beside augmented qrels, of these original ones"
        raise UsageError(f"{what} needs the evidence that `augment` writes {which}: {todo}")
    return None


@reads
def disputes(given: Given) -> Any:
    """The disputes, from disputes.csv beside the labels, of the queries that count."""
    file = given.use(given.needed("labels").with_name("disputes.csv"))
    return counted(given, check_disputes(read_delimited(file), where=str(file)))


def counted(given: Given, table: Any) -> Any:
    """Return what a table says of the queries that count."""
    return table if given.unusable is None else given.unusable.counted(table)


def _sources_file(given: Given) -> Path | None:
    """Return the pool's sources given, else of the pool given, else of the workspace, else of the qrels.

    Of augmented qrels that are given they lie beside these, or in a folder `pool` beside these.
    """
    if given.values.get("pool") and not given.values.get("pool_sources"):
        folders = [given.needed("pool").parent]
    elif given.values.get("qrels") is None or given.values.get("pool_sources"):
        return given.path("pool_sources", exists=True)
    else:
        at = given.values.get("augmented")
        folders = [Path(at).parent, Path(at).parent / "pool"] if at else []
    places = (folder / "pool_sources.csv" for folder in folders)
    return next((path for path in places if path.is_file()), None)


@reads
def sources_if_any(given: Given) -> Any:
    """Which run pooled which pair; None where it is not given, and the qrels not the workspace's."""
    path = _sources_file(given)
    return given.own.pairs(read_pool_sources(given.use(path)), "pool sources") if path else None


@reads
def sources(given: Given) -> Any:
    """Which run pooled which pair; a usage error where that is not known."""
    if (found := given.sources_if_any) is not None:
        return found
    return given.own.pairs(read_pool_sources(given.use(given.needed("pool_sources"))), "pool sources")


@reads
def fed(given: Given) -> set[str] | None:
    """The runs that fed the pool, read alone where the rest was not; None where it is not known."""
    if given.values.get("labellings") or (path := _sources_file(given)) is None:
        return None
    if not given.own.of_query and not {"sources", "sources_if_any"} & set(given.__dict__):
        return read_pooled_runs(given.use(path))
    return set(given.sources_if_any["run_id"].unique())
