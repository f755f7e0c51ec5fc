"""The runs that a command reads, and the ids of those that have none of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import click

from fire_toolkit.cli.common import Inputs, named_file, named_files, relative_path, say
from fire_toolkit.cli.own_items import OwnItemRule
from fire_toolkit.formats.runs.axis_ids import IdFile
from fire_toolkit.formats.runs.matrix_runs import MatrixRun
from fire_toolkit.formats.runs.native import NativeRunFile
from fire_toolkit.formats.runs.read import open_run, read_run, renamed, run_id_of
from fire_toolkit.tables import Run

_AnyRun = TypeVar("_AnyRun", "Run", "Run | NativeRunFile | MatrixRun")


def read_runs(
    files: Sequence[str],
    inputs: Inputs,
    *,
    query_ids: str | None,
    doc_ids: str | None,
    depth: int | None = None,
    own: OwnItemRule | None = None,
    orders_docs: bool = False,
) -> list[Run]:
    """Return the runs in `files` (each `PATH` or `NAME=PATH`), in the order given.

    Runs whose files carry one and the same run id are told apart by their file names. `own`: what becomes
    of each query's own item; None keeps it. `orders_docs`: the command itself reads the file of doc ids.
    """
    to_read = own.depth_to_read(depth) if own else depth
    ids = id_files(query_ids, doc_ids, inputs)
    runs = _runs(files, inputs, partial(read_run, depth=to_read), ids)
    refuse_unused(ids[:1] if orders_docs else ids)
    return [own.applied(run, depth) for run in runs] if own else runs


def open_runs(
    files: Sequence[str],
    inputs: Inputs,
    *,
    query_ids: str | None,
    doc_ids: str | None,
    own: OwnItemRule | None = None,
    orders_docs: bool = False,
) -> list[Run | NativeRunFile | MatrixRun]:
    """Return the runs as `read_runs` does; those that can are read when they are scored."""
    ids = id_files(query_ids, doc_ids, inputs)
    runs = _runs(files, inputs, open_run, ids)
    refuse_unused(ids[:1] if orders_docs else ids)
    return [own.applied(run) for run in runs] if own else runs


def read_two_ways(
    files: Sequence[str], inputs: Inputs, ids: tuple[IdFile | None, IdFile | None]
) -> tuple[Run, Run]:
    """Return a run and the way back: the ids of its queries are those of the docs of the way back."""
    forth, back = _runs(files[:1], inputs, read_run, ids), _runs(files[1:], inputs, read_run, ids[::-1])
    return forth[0], back[0]


def id_files(
    query_ids: str | None, doc_ids: str | None, inputs: Inputs
) -> tuple[IdFile | None, IdFile | None]:
    """Return the files given with --query-ids and --doc-ids, else those that the workspace names."""
    return _id_file(query_ids, "query_ids", inputs), _id_file(doc_ids, "doc_ids", inputs)


def _id_file(given: str | None, key: str, inputs: Inputs) -> IdFile | None:
    path = relative_path(Path(given)) if given else named_file(key, "runs")
    return IdFile(inputs.use(path), key.removesuffix("s"), is_asked=bool(given)) if path else None


def refuse_unused(ids: Sequence[IdFile | None]) -> None:
    """Raise a usage error for an option that no run had a use for."""
    for file in ids:
        if file is not None and file.is_asked and not file.is_used:
            raise click.UsageError(
                f"{file.option}: no run given needs it, they have ids of their own; leave it out"
            )


def _runs(
    files: Sequence[str],
    inputs: Inputs,
    read: Callable[..., _AnyRun],
    ids: tuple[IdFile | None, ...],
) -> list[_AnyRun]:
    named = [_split_name(file) for file in files] or [
        (None, str(path)) for path in named_files("runs", "files")
    ]
    if not named:
        raise click.UsageError("Missing argument 'RUN...': no run given, and no workspace names any.")
    axes = dict(zip(("query_ids", "doc_ids"), ids, strict=True))
    return _with_own_names([read(inputs.use(path), run_id=name, **axes) for name, path in named], named)


def _split_name(file: str) -> tuple[str | None, str]:
    name, equals, path = file.partition("=")
    return (name, path) if equals and name and "/" not in name and not Path(file).exists() else (None, file)


def _with_own_names(runs: list[_AnyRun], named: Sequence[tuple[str | None, str]]) -> list[_AnyRun]:
    ids = [run_id_of(run) for run in runs]
    own = []
    for run, run_id, (name, path) in zip(runs, ids, named, strict=True):
        if ids.count(run_id) == 1 or name is not None:
            own.append(run)
            continue
        stem = Path(path).name.removesuffix(".gz").rsplit(".", 1)[0]
        say(f"note: several files carry the run id {run_id!r}; {path} is called {stem!r} here")
        own.append(renamed(run, stem))
    return own
