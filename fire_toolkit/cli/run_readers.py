"""What reads runs, and what becomes of each query's own item in them and in other tables."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import click
import pandas as pd

from fire_toolkit.cli.common import say
from fire_toolkit.cli.given import TABLES, Given, reads
from fire_toolkit.cli.here import named_files
from fire_toolkit.collections.audit import words_of_strangers
from fire_toolkit.errors import FormatError, OptionError, UsageError
from fire_toolkit.files import STDIN, stem_of
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.collections.registry import read_collection
from fire_toolkit.formats.releases import collection_files, is_release
from fire_toolkit.formats.runs.axis_ids import IdFile, id_file_for, read_ids
from fire_toolkit.formats.runs.matrices import MatrixRun
from fire_toolkit.formats.runs.read import open_run, renamed, whole_run
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.formats.tables.table_files import has_columns, read_queries
from fire_toolkit.matching.own_items import COLUMN, RULES, OwnItemRule, own_items_of
from fire_toolkit.matching.ranking import run_ids
from fire_toolkit.tables.columns import listed
from fire_toolkit.tables.ids import refuse_mixed_ids, spelling_of
from fire_toolkit.workspace.config import BESIDE
from fire_toolkit.workspace.manifests import MANIFEST, checked, manifest_at, writer_of


@reads
def queries_own_items(given: Given) -> Any:
    """The own items of the queries, by query; a file that names none is not read further."""
    path = _queries(given)
    if path is not None and is_release(path.parent):
        return own_items_of(read_collection(collection_files(path.parent))[0].queries)
    if path is None or not has_columns(checked(path), COLUMN):
        return {}
    return own_items_of(read_queries(given.use(path)))


def _queries(given: Given) -> Path | None:
    """Return the queries given, else those with own items beside qrels given, else the workspace's."""
    path, qrels = given.path("queries", exists=True), given.path("qrels")
    is_of_qrels = path is None or (given.values.get("qrels") and not given.values.get("queries"))
    if qrels is None or not is_of_qrels:
        return path
    beside = manifest_at(qrels.with_name(MANIFEST))
    names = {"queries.tsv", "queries.jsonl"} & beside.outputs.keys()
    return next(map(qrels.with_name, names), path) if beside.parameters.get("own_item") else path


@reads
def own(given: Given) -> OwnItemRule:
    """What becomes of each query's own item: as asked for, else as the collection says, else it is kept.

    The collection is that of the queries; of a user's own table of queries it is that of the qrels.
    """
    if "own_item" not in given.values or given.values.get("direction"):
        return OwnItemRule({}, False, "")
    of_query, path = given.queries_own_items, _queries(given)
    if (option := given.values["own_item"]) is not None:
        return OwnItemRule.chosen(option, of_query)
    if path is None or not of_query:
        return OwnItemRule({}, False, "")
    writers = map(writer_of, (path, given.path("qrels")))
    recorded = next((made.parameters for made in writers if made), {})
    rule, why = recorded.get("own_item"), "the collection's protocol"
    if rule not in RULES:
        context = click.get_current_context(silent=True)
        has_option = context is None or any(each.name == "own_item" for each in context.command.params)
        of_collection = "`fire-toolkit add-collection FILE... --own-item drop` of the benchmark's files"
        words = f"{'--own-item drop' if has_option else of_collection} leaves them out"
        why = f"no protocol is known for these queries; {words}"
    return OwnItemRule(of_query, rule == "drop", why)


def read_runs(given: Given, depth: int | None = None) -> list[Any]:
    """Return the runs given (each `PATH` or `NAME=PATH`), else the workspace's, in order."""
    reach = depth + 1 if depth and given.own.is_dropped else depth  # so that `depth` docs are left
    found = _runs(given, given.values.get("runs", ()), partial(whole_run, depth=reach))
    return [given.own.applied(run, depth) for run in found]


@reads
def stored_runs(given: Given) -> list[Any]:
    """The runs; those that can are read when they are scored, a block at a time, or by a cluster."""
    found = _runs(given, given.values.get("runs", ()))
    if given.own.is_dropped:
        found = [given.own.applied(run) for run in found]
    if (spread := spread_of_environment()) is None:
        return found
    from fire_toolkit.engines.cluster import shared

    return [shared(run, spread, given.run_hashes.get(run_ids(run)[0], "")) for run in found]


TABLES.update(
    # The runs whole; what reads the top so many; as deep as they are compared; where any is named.
    runs=read_runs,
    runs_to=lambda given: partial(read_runs, given),
    top_runs=lambda given: read_runs(given, max(given.plain["depth"])),
    runs_if_given=lambda given: given.runs if given.values["runs"] else (),
)


def spread_of_environment() -> Callable[..., Any] | None:
    """Return what spreads work over the cluster that the environment names; None where it names none.

    The address is that of a job on the machines, and of no benchmark: it is no option, and in no fire.toml.
    """
    address = os.environ.get("FIRE_SCHEDULER", "").strip()
    if not address:
        return None
    from fire_toolkit.engines.cluster import spread

    return partial(spread, address)


@reads
def runs_or_matrix(given: Given) -> Sequence[Any]:
    """The runs; for both directions one matrix, or two runs, of which the second goes the way back."""
    if not given.plain["direction"]:
        return given.runs if given.values["groups"] else given.stored_runs  # type: ignore[no-any-return]
    if given.values["measures"]:
        raise OptionError("-m does not go with --direction both, whose measures are fixed; leave it out")
    if given.queries_own_items:
        say("note: queries' own items are kept in both directions; without --direction `score` follows the "
            "collection's protocol")  # fmt: skip
    files, ids = given.values["runs"], id_files(given)
    if len(files) not in (1, 2):
        raise click.UsageError(f"{len(files)} files; expected one matrix, or two runs (t2i, then i2t)")
    if len(files) == 1:
        (matrix,) = _runs(given, files)
        if not isinstance(matrix, MatrixRun):
            raise FormatError(f"{files[0]}: no matrix; give two runs, one for each direction")
        return [matrix]
    turned: dict[str, Any] = dict(
        zip(ids, [*ids.values()][::-1], strict=True)
    )  # its queries are the docs of the way there
    there, (back,) = _runs(given, files[:1], whole_run), _runs(given, files[1:], **turned)
    if isinstance(back, MatrixRun) and back.may_be_turned:
        shape = " × ".join(map(str, back.stored.values.shape))
        todo = "score each model alone, or give items as rows (of a square one with ids in the file)"
        raise UsageError(f"{back.path}: {shape}, which may be texts × items of another model; {todo}")
    return [*there, whole_run(back)]


@reads
def doc_order(given: Given) -> list[str] | None:
    """The docs in the order of the runs' matrices; None where their order counts for nothing."""
    is_index, folds = given.plain["ties"] == "index", given.plain["folds"]
    if not is_index and not folds:
        return None
    files = [_split_name(each)[1] for each in given.values["runs"]] or named_files("runs", "files")
    beside = (id_file_for(Path(file), "doc_id", None) for file in files)
    path = next((file.path for file in beside if file is not None), None) or given.path("doc_ids")
    if path is None and (is_index or (folds and len(files) == 2)):
        asks = "--ties index" if is_index else "--folds"
        where = "doc_ids.txt beside the run, a line each, or the file of [runs] doc_ids in fire.toml"
        raise click.UsageError(f"{asks} needs the collection's docs in their order: {where}")
    return read_ids(given.use(path), "doc_id") if path else None


def id_files(inputs: Given) -> dict[str, IdFile | None]:
    """Return the files of ids: those given, else the workspace's for runs, else its collection's tables."""
    files = dict[str, IdFile | None]()
    for name, table in (("query_ids", "queries"), ("doc_ids", "items")):
        path, column = inputs.path(name), name.removesuffix("s")
        if path is not None:
            files[name] = IdFile(inputs.use(path), column, is_asked=bool(inputs.values.get(name)))
        elif own := Given().path(table, exists=True):
            files[name] = IdFile(own, column, is_asked=False, note=inputs.use)
        else:
            files[name] = None
    return files


def say_order(ids: Iterable[IdFile | None], where: str = "") -> None:
    """Say of which collection's order runs without ids were taken to be; where: which add-run reads."""
    taken = [file for file in ids if file is not None and file.note is not None and file.users]
    if taken:
        command = "" if where else " to `add-run`"
        where = where or " and ".join(dict.fromkeys(str(user) for file in taken for user in file.users))
        sides = " and ".join("queries" if file.column == "query_id" else "docs" for file in taken)
        files = " and ".join(str(file.path) for file in taken)
        options = " and ".join(file.option for file in taken)
        taken_as = f"no ids for {sides} in {where}; they are taken to be in the order of {files}"
        say(f"note: {taken_as}; if the model used another order, give {options}{command}")


def _runs(
    given: Given, files: Sequence[str], cut: Callable[[Any], Any] = lambda run: run, **turned: Any
) -> list[Any]:
    """Return runs, cut; those whose files carry one and the same run id are told apart by their file names.

    turned: the files of ids, where they are those of the other side.
    """
    files = [file for file in files if not file.endswith(BESIDE)] or files  # of runs/*
    named = [*map(_split_name, files)] or [(None, str(file)) for file in named_files("runs", "files")]
    if not named:
        raise click.UsageError("Missing argument 'RUN...': no run given, and no workspace names any.")
    ids, file = turned or id_files(given), given.path("qrels", exists=True)
    qrels = cache(partial(read_qrels, file)) if file else None  # for matrices alone
    found = [cut(open_run(given.use(path), run_id=name, qrels=qrels, **ids)) for name, path in named]
    say_order(ids.values())
    docs = {  # of a run that was stored they were looked at then
        path: run["doc_id"].cat.categories if isinstance(run, pd.DataFrame) else getattr(run, "doc_ids", ())
        for run, (_, path) in zip(found, named, strict=True)
    }
    for note in notes_on_docs(docs, given):
        say(f"note: {note}")
    own_ids = [run_ids(run)[0] for run in found]
    for place, (name, path) in enumerate(named):
        if name is None and own_ids.count(own_ids[place]) > 1:
            stem = stem_of(path)
            say(f"note: several files carry the run id {own_ids[place]!r}; {path} is called {stem!r} here")
            found[place] = renamed(found[place], stem)
    for run, (_, path) in zip(found, named, strict=True):
        given.run_files[run_ids(run)[0]] = Path(path)
    return found


def notes_on_docs(of_runs: Mapping[str, Any], given: Given) -> list[str]:
    """Return which docs of these runs (by file) are no items of the workspace, so that they are not relevant.

    Raises:
        JoinError: a doc is spelled otherwise in one of them, the qrels or the items.
    """
    lists = {path: pd.Series(own, dtype="str") for path, own in of_runs.items()}
    marked = {path: listed(own[own.str.contains("%", regex=False)]) for path, own in lists.items()}
    docs = {path: own for path, own in marked.items() if own}
    items = Given().path("items", exists=True) if any(map(len, lists.values())) else None
    known = pd.Series(dtype="str")
    if items is not None:
        known = read_delimited(checked(items), required=["doc_id"], only=["doc_id"])["doc_id"]
    if docs:
        if (qrels := given.path("qrels", exists=True)) is not None:
            docs[str(qrels)] = listed(read_qrels(qrels)["doc_id"])
        docs[str(items)] = [*map(spelling_of(listed(known)), listed(known))]
        refuse_mixed_ids(docs)
    told = {path: words_of_strangers(own, known, items) for path, own in lists.items() if len(known)}
    named = "" if len(lists) == 1 else "{}: "
    return [named.format(path) + words for path, words in told.items() if words]


def _split_name(file: str) -> tuple[str | None, str]:
    """Return name and path of what was given: `PATH`, `NAME=PATH`, or what a workspace's run is called."""
    if file == STDIN or Path(file).exists():
        return None, file
    name, equals, path = file.partition("=")
    if equals and name and "/" not in name:
        return name, path
    own_files = [*map(str, named_files("runs", "files"))]
    called = [path for path in own_files if stem_of(path) == file]
    if own_files and not called and "/" not in file:
        names = ", ".join(sorted(map(stem_of, own_files)))
        raise FormatError(f"{file}: no such file, and the workspace's runs are {names}")
    return None, called[0] if len(called) == 1 else file
