"""`add-run`: predictions as a run file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote

import click

from fire_toolkit.cli.common import as_files, metered, say
from fire_toolkit.cli.given import Given, name_in_manifest
from fire_toolkit.cli.run_readers import id_files, notes_on_docs, say_order, spread_of_environment
from fire_toolkit.cli.status import say_following
from fire_toolkit.commands.types import Option
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.runs.axis_ids import id_file_for
from fire_toolkit.formats.runs.ingest import Ingested, Request, ingest
from fire_toolkit.formats.runs.reader import read_mask
from fire_toolkit.formats.runs.score_anomalies import parse_allowances
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.scoring.expect import parse_expectation
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.workspace.manifests import writer_of

_File = Annotated[str | None, Option(metavar="FILE")]


def add_run(
    files: Annotated[Sequence[str], Option(is_argument=True, metavar="FILE...")],
    *,
    run_id: Annotated[str | None, Option(("--id", "--name"), metavar="NAME")] = None,
    key: Annotated[str | None, Option(metavar="NAME")] = None,
    query_ids: _File = None,
    doc_ids: _File = None,
    qrels: _File = None,
    queries: _File = None,
    orientation: Literal["queries-rows", "queries-columns"] | None = None,
    expected: Annotated[Sequence[str], Option(("--expect",), metavar="M=VALUE")] = (),
    depth: Annotated[int, Option(least=1)] = 100,
    allow: Annotated[str, Option(metavar="LIST")] = "",
    similarity: Literal["dot", "cosine", "l2"] | None = None,
    candidates: Annotated[
        Literal["similarity", "distance"] | None, Option(("--scores",), apart=("similarity",))
    ] = None,
    mask: _File = None,
    out: Annotated[str | None, Option(metavar="DIR")] = None,
    as_json: bool,
) -> None:
    """Add a model's predictions: matrices, vectors or ranked lists, in any format of docs/formats.md.

    The format is recognised by content; `-` is standard input. Each FILE becomes NAME.parquet: the top docs
    of every query, and below them the positives of the qrels with their exact ranks; of composed queries also
    the own item and the members of the query's group. What no model can mean (NaN, floods of one score,
    constant rows) is refused unless allowed.

    Args:
        files: The predictions.
        run_id: The run's id. [default: the file's own, or its name]
        key: Which array, part or run to read, where a file holds several.
        query_ids: Ids of a matrix's queries, one a line, or the benchmark's own file.
        doc_ids: Ids of a matrix's docs, one a line, or the benchmark's own file.
        qrels: The original qrels: their positives are kept at any rank.
        queries: The queries: their own items, and the members of groups.tsv beside them, are kept at any
            rank.
        orientation: Whether rows or columns are queries; needed for a square matrix, unless --expect settles
            it.
        expected: A score that the model's log printed, such as R@1=46.1; the run must give it (may be
            repeated).
        depth: Docs kept for each query.
        allow: Anomalies to accept: any of nan, inf, flood, constant, duplicates, places.
        similarity: How vectors are compared. Two FILEs are then query vectors and doc vectors.
        candidates: FILE is what vector search gives: ids (places of docs) and these scores. Say which: the
            higher the better (similarity), or the lower (distance, as of faiss L2 and hnswlib).
        mask: Which rows of a matrix are real, 0 or 1 (.npy, .npz, .pkl).
        out: Folder for the runs. [default: the workspace's runs/]
    """
    is_pair = similarity is not None and len(files) == 2
    if run_id is not None and len(files) > 1 and not is_pair:
        raise click.UsageError("--id names one run; add several files one by one")
    named = {"query_ids": query_ids, "doc_ids": doc_ids, "qrels": qrels, "queries": queries, "out": out}
    inputs = Given(named)
    folder, original = inputs.out("runs"), inputs.path("qrels", exists=True)
    request = Request(
        run_id=run_id,
        key=key,
        orientation=orientation,
        expected=[parse_expectation(text) for text in expected],
        qrels=read_qrels(inputs.use(original)) if original else None,
        depth=depth,
        **_kept(inputs),
        allow=parse_allowances(allow),
        similarity=similarity,
        mask=read_mask(inputs.use(mask)) if mask else None,
        candidates=candidates,
    )
    reports = []
    paths = as_files(files)
    for path, other in [(paths[0], paths[1])] if is_pair else [(path, None) for path in paths]:
        own = Given(named)
        own.hashes.update(inputs.hashes)
        both, spread = [path, *([other] if other else [])], spread_of_environment()
        if spread is not None:  # vectors are ranked by the cluster that the environment names
            from fire_toolkit.engines.cluster import rank_shared_vectors

            request = replace(request, rank_vectors=partial(rank_shared_vectors, spread, both))
        result = _ingested(request, path, other, own)
        for file in both:
            own.use(file)
        reports.append(_write(folder, result, own, request, both))
        for line in result.lines(path, is_counted=not as_json):
            say(line)
    if as_json:
        Given({"as_json": True}).summarise({"runs": reports}, "")
    say_following("pool", f"{folder}/*.parquet --out pool")  # alike where there is a pool


def _kept(inputs: Given) -> dict[str, Any]:
    """Return the own items and the groups, whose docs are kept at any rank, as a request has them."""
    own, queries = Given({**inputs.values, "own_item": None}).own, inputs.path("queries", exists=True)
    if own.of_query:
        stand = "do not count" if own.is_dropped else "count"
        say(f"note: queries' own items stay in the run; they {stand} in its scores ({own.why})")
    groups = queries.with_name("groups.tsv") if queries else None
    is_there = groups is not None and groups.is_file()
    members = read_delimited(inputs.use(groups), required=PAIR) if groups and is_there else None
    return {"own_items": own.of_query, "is_dropped": own.is_dropped, "groups": members}


def _ingested(request: Request, path: Path, other: Path | None, inputs: Given) -> Ingested:
    """Return what a file holds, and say whose order its ids were taken from, whatever comes of it."""
    given = zip((path, other or path), ("query_id", "doc_id"), id_files(inputs).values(), strict=True)
    ids = [id_file_for(*axis) for axis in given]
    for file in ids:
        if file is not None and file.note is None:
            inputs.use(file.path)
    with metered("MB", path.stat().st_size / 1e6 if path.is_file() else None) as meter:
        read = replace(request, query_ids=ids[0], doc_ids=ids[1], on_read=lambda n: meter(n / 1e6))
        try:
            found = ingest(path, read, other=other)
        finally:
            say_order(ids, " and ".join(map(str, filter(None, (path, other)))))
    found.notes += notes_on_docs({str(path): found.run["doc_id"].cat.categories}, inputs)
    return found


def _write(
    folder: Path, result: Ingested, inputs: Given, request: Request, files: Sequence[Path]
) -> dict[str, Any]:
    """Write a run under its name, unless the run of another file has it and nobody named this one."""
    run_id = str(result.run["run_id"].iloc[0]) if len(result.run) else ""
    name = f"{quote(run_id, safe='@+=,()').lstrip('.') or 'run'}.parquet"
    out = folder / name
    before, names = writer_of(out), [name_in_manifest(file) for file in files]
    own = {name: inputs.hashes.get(name) for name in names}
    if before and not before.inputs.keys() & own and not {*before.inputs.values()} & {*own.values()}:
        if request.run_id is None:
            words = f"{' and '.join(map(str, files))}: {out} is the run of another file"
            raise UsageError(f"{words}; --name NAME, or --name {run_id} to replace it")
        say(f"note: {out} was the run of another file, which this one replaces")
    parameters = {
        "top": request.depth,
        "key": request.key,
        "orientation": request.orientation,
        "expect": [f"{e.name}={e.value:g}" for e in request.expected],
        "allow": sorted(request.allow),
        "similarity": request.similarity,
        **({"scores": request.candidates} if request.candidates else {}),
    }
    inputs.write(out, {name: result.run}, "add-run", parameters, result.report)
    return {"run_id": run_id, "out": out.as_posix(), **result.report}
