"""What reads a command's table where that is no property of `Given`, by the name that its type gives."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
import pandas as pd

from fire_toolkit.cli.common import current_workspace, n_of, say, say_notes
from fire_toolkit.cli.evidence_readers import READ as OF_EVIDENCE
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.judged_files import judgments_from, level_of, next_number
from fire_toolkit.cli.own_items import queries_own_items
from fire_toolkit.cli.reported import READ as OF_REPORT
from fire_toolkit.cli.run_files import read_both_ways
from fire_toolkit.commands.command import counting, tables_of
from fire_toolkit.errors import OptionError, UsageError
from fire_toolkit.formats.collections import read_collection
from fire_toolkit.formats.collections.item_files import item_file_hashes
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.runs.axis_ids import read_ids
from fire_toolkit.formats.runs.read import run_id_of
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.formats.tables.table_files import read_judgments, read_pool, read_query_labels
from fire_toolkit.formats.tables.tifa import read_answers, read_questions
from fire_toolkit.tables import Judgments, Labels, Pool, Qrels, check_pool
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.tables.design import DESIGN
from fire_toolkit.tables.validity import ALONE
from fire_toolkit.workspace.manifests import writer_of
from fire_toolkit.workspace.settled import settled_by

Values = Mapping[str, Any]


def with_tables(function: Callable[..., Any], given: Given, values: Values) -> dict[str, Any]:
    """Return the plain values of a command's function, and its tables, as its types say."""
    found, count = dict(values), counting(inspect.unwrap(function), values)
    for name, table in tables_of(function).items():
        found[name] = read_table(table.read, given, found) if name in count else None
    return found


def read_table(name: str, given: Given, values: Values) -> Any:
    """Return the table that a type calls `name`; values: the command's plain values."""
    if name in _OF_FILES:
        option, is_made, read = _OF_FILES[name]
        path = given.found(option) if is_made else given.values[option]
        return read(given.use(path)) if path else None
    if name in _READ:
        return _READ[name](given, values)
    if hasattr(type(given), name):
        return getattr(given, name)
    from fire_toolkit.cli.asking_readers import READ  # heavy, and few commands read by it

    return READ[name](given, values)


def _settled(given: Given, values: Values) -> Qrels:
    """Return the augmented qrels, where the runs are those that they are settled for."""
    _check_settled(given, values["measures"])
    return given.augmented


def _settled_if_any(given: Given, values: Values) -> Qrels | None:
    """Return the augmented qrels, if there are any, where the runs are those that they are settled for."""
    if values.get("direction"):  # of which the way back is settled for nothing
        return None if given.values["back"] else given.augmented_if_any
    _check_settled(given, values["measures"])
    return given.augmented_if_any


def _check_settled(given: Given, measures: Sequence[str], files: Sequence[Path] = ()) -> None:
    """Say what scores by settled qrels are not, and warn of runs that they are not settled for.

    files: qrels, the first that are settled count; none: the augmented ones.
    """
    path = given.corrected_file
    known = files or ([path] if path else [])
    settled = next((found for each in known if (found := settled_by(each)) is not None), None)
    if settled is None:
        return
    for_runs = f"settled for {settled.measure} of {', '.join(settled.runs)}"
    runs = [run_id_of(run) for run in given.stored_runs]
    outside = [name for name in runs if settled.runs.get(name) != given.run_hashes[name]]
    if outside:
        say(
            f"warning: {', '.join(outside)}: the augmented qrels are {for_runs}, and what only another run "
            "finds was never asked: its scores are too low beside the others; pool it too with the same "
            "strategy"
        )
    if n_open := settled.open_queries:
        say(f"note: {n_of(n_open, 'query')} not settled yet, so {settled.measure} can still rise: pool again")
    if others := [name for name in measures if name != settled.measure]:
        say(f"note: the augmented qrels are {for_runs}; further answers could change {', '.join(others)}")


def _runs_or_matrix(given: Given, values: Values) -> Sequence[Any]:
    """Return the runs; for both directions one matrix, or the two runs."""
    if not values["direction"]:
        return given.runs if given.values["groups"] else given.stored_runs
    if given.values["measures"]:
        raise OptionError("-m does not go with --direction both, whose measures are fixed; leave it out")
    if queries_own_items(given):
        say("note: queries' own items are kept in both directions; without --direction `score` follows the "
            "collection's protocol")  # fmt: skip
    return read_both_ways(given)


def _doc_order(given: Given, values: Values) -> list[str] | None:
    """Return the docs in the order of --doc-ids, else of the workspace's matrices; None where none counts."""
    path = given.path("doc_ids")
    if values["ties"] == "index" and path is None:
        raise click.UsageError(
            "--ties index needs the collection's docs in their order: give --doc-ids FILE, a line each, "
            "as the matrices have them"
        )
    is_needed = values["ties"] == "index" or (values["folds"] and path is not None)
    return read_ids(given.use(path), "doc_id") if path and is_needed else None


def _sources_of_honest(given: Given, values: Values) -> pd.DataFrame | None:
    """Return which run pooled which pair: where it is given, or honest rows or votes need it."""
    if given.values["pool_sources"] or values["honest"]:
        return given.sources_if_any
    labels = given.known_labels
    return None if labels is None or DESIGN[0] not in labels else given.sources_if_any


def _known_labels(given: Given, values: Values) -> Labels | None:
    """Return the labels of the evidence; a usage error where what is made needs them and there are none."""
    what = "score --honest" if values.get("honest") else f"report {values.get('what')}"
    if given.known_labels is None and what in ("score --honest", "report html", "report figures"):
        raise UsageError(
            f"{what} needs the evidence that `augment` writes beside augmented qrels: run `fire-toolkit "
            "augment`, or name its qrels with --augmented; it is of the original qrels that they were made of"
        )
    return given.known_labels


def _counted_judgments(given: Given, values: Values) -> Judgments:
    """Return the judgments of the pairs and queries that count."""
    judgments: Judgments = given.own.pairs(given.judgments, "judgments")
    return judgments if given.unusable is None else given.unusable.counted(judgments)


def _labellings(given: Given, values: Values) -> dict[str, Qrels]:
    """Return the qrels named, else the workspace's original and augmented, by their names."""
    files = _files_of(given.values["labellings"])
    _check_settled(given, values["measures"], list(files.values()))
    if not files:
        return {"original": given.original, "augmented": given.augmented}
    read = {name: read_qrels(given.use(path)) for name, path in files.items()}
    first, *others = read
    original = given.own.original(read[first])
    return {first: original} | {name: given.own.corrected(read[name], original, name) for name in others}


def _to_resolve(given: Given, values: Values) -> Judgments:
    """Return the judgments; a note where those of the workspace may lack edits that a server did not date."""
    judgments = given.judgments
    from fire_toolkit.cli.campaigns import begun_here, full_pull_due  # heavy

    if given.values["judgments"] is None and (campaign := begun_here()) and (due := full_pull_due(campaign)):
        say(f"note: {due}")
    return judgments


def _dropped(given: Given, values: Values) -> pd.DataFrame | None:
    """Return the answers beside the judgments that are no votes, where controls tell how right they are."""
    path = given.needed("judgments").with_name("dropped.csv")
    if not given.values["controls"] or not path.is_file():
        return None
    names = ["query_id", "doc_id", "annotator_id", "label", "created_at", "reason"]
    dropped = read_delimited(given.use(path), required=names)[names]
    return dropped[~dropped["annotator_id"].isin(list(given.excluded))]


def _design(given: Given, values: Values) -> pd.DataFrame | None:
    """Return how many votes each pair was to get, as the file given or the campaign has it."""
    from fire_toolkit.cli.designs import design_of  # heavy

    return design_of(given, given.values["design"])


def _shown_sha256(given: Given, values: Values) -> str | None:
    """Return the hash of the guideline that annotators were shown, where the judgments' manifest has it."""
    writer = writer_of(given.needed("judgments"))
    return (writer.parameters if writer else {}).get("guideline_sha256")


def _media_hashes(given: Given, values: Values) -> pd.DataFrame | None:
    """Return the hashes of the items' files; None where no folder is given, or no items are."""
    folder, items = given.values["media"], given.items_if_any
    if folder is None:
        return None
    if items is None:
        raise UsageError("--media needs the items: name them with --items")
    hashes = item_file_hashes(items, Path(folder))
    if len(hashes) < len(items):
        say(f"note: {len(items) - len(hashes):,} of {len(items):,} items have no file in {folder}")
    return hashes


def _training_texts(given: Given, values: Values) -> list[str] | None:
    """Return the captions of a file's training split; of all splits where none is called train."""
    train = given.values["train"]
    if train is None:
        return None
    try:
        collection, recognised = read_collection([train], split="train")
    except UsageError:
        collection, recognised = read_collection([train], split="all")
    say_notes(f"{train}: {note}" for note in collection.notes)
    for file in recognised:
        given.use(file.path)
    return [str(text) for text in collection.queries["text"]]


def queries_alone(given: Given) -> Pool:
    """Return each query of the original qrels, else of the queries, without an item.

    Raises:
        UsageError: this is no workspace for captions alone: their answers would stand among those of pairs.
    """
    workspace, rules = current_workspace(), given.guideline
    own = read_guideline(workspace.setting("tasks", "guideline")).name if workspace else rules.name
    if given.values["pool"] or (workspace and own != rules.name):
        raise UsageError(
            f"{rules.name} asks about captions alone, so it has a campaign of its own: `fire-toolkit init "
            f"validity --guideline {rules.name}`, then `cd validity` and `fire-toolkit tasks`"
        )
    found = given.queries["query_id"]
    if (original := given.original_if_any) is not None:
        found = found[found.isin(original["query_id"])]
    return check_pool(pd.DataFrame({"query_id": found, "doc_id": ALONE}))


def _files_of(named: Sequence[str]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for each in named:
        name, equals, path_text = each.partition("=")
        is_named = bool(equals) and "/" not in name
        path = Path(path_text if is_named else each)
        label = name if is_named else path.name
        if label in found:
            raise UsageError(f"two qrels are called {label!r}; name them, as in a={path} b=...")
        found[label] = path
    return found


# A table of one file: its option, whether a workspace has it too, and what reads it; None without a file.
_OF_FILES: dict[str, tuple[str, bool, Callable[[Path], Any]]] = {
    "back": ("back", False, read_qrels),
    "groups": ("groups", False, partial(read_delimited, required=PAIR)),
    "original_if_given": ("qrels", False, read_qrels),
    "pilot": ("pilot", False, judgments_from),
    "training_captions": (
        "train",
        False,
        lambda path: read_delimited(path, required=["text"])["text"].tolist(),
    ),
    "earlier_judgments": ("judgments", True, lambda path: read_judgments(path)[0]),
    "votes_if_any": ("judgments", True, judgments_from),
    "pool_if_any": ("pool", True, read_pool),
    "validity_if_any": ("validity", True, read_query_labels),
}
_READ: dict[str, Callable[[Given, Values], Any]] = {
    **OF_REPORT,
    **OF_EVIDENCE,
    "": lambda given, values: None,  # it says how others are read
    "top_runs": lambda given, values: given.runs_to(max(values["depth"])),
    "settled": _settled,
    "settled_if_any": _settled_if_any,
    "runs_or_matrix": _runs_or_matrix,
    "doc_order": _doc_order,
    "sources_of_honest": _sources_of_honest,
    "named_queries": lambda given, values: given.queries if values["by"] or given.values["groups"] else None,
    "known_labels": _known_labels,
    "background": lambda given, values: given.known,
    "labellings": _labellings,
    "counted_judgments": _counted_judgments,
    "level": lambda given, values: level_of(None, given.judgments, given.values["guideline"]),
    "fed": lambda given, values: None if given.values.get("labellings") else given.pooled_runs,
    "highest_grade": lambda given, values: given.known.highest_grade or 1,
    "answers": lambda given, values: read_answers(
        given.use(given.values["answers"] or given.values["questions"])
    ),
    "questions": lambda given, values: read_questions(given.use(given.values["questions"])),
    "runs_if_given": lambda given, values: given.runs if given.values["runs"] else [],
    "media_hashes": _media_hashes,
    "training_texts": _training_texts,
    "to_resolve": _to_resolve,
    "joined": lambda given, values: [read_delimited(given.use(file)) for file in given.values["joined"]],
    "queries_to_share": lambda given, values: given.queries if values["share_judgments"] else None,
    "controls_given": lambda given, values: given.controls(given.grades),
    "dropped": _dropped,
    "design": _design,
    "next_number": lambda given, values: next_number(given.judgments),
    "shown_sha256": _shown_sha256,
    "labels_given": lambda given, values: given.labels if given.values["labels"] else None,
}
