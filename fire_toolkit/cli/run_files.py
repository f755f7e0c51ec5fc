"""The runs that a command reads, and the ids of those that have none of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import click

from fire_toolkit.cli.common import named_files, relative_path, say
from fire_toolkit.cli.inputs import Inputs
from fire_toolkit.errors import FormatError
from fire_toolkit.files import STDIN
from fire_toolkit.formats.runs.axis_ids import IdFile
from fire_toolkit.formats.runs.bidirectional import MatrixBothWays
from fire_toolkit.formats.runs.matrix_runs import MatrixRun
from fire_toolkit.formats.runs.native import NativeRunFile
from fire_toolkit.formats.runs.read import open_run, read_run, renamed, run_id_of
from fire_toolkit.matching.own_items import OwnItemRule
from fire_toolkit.tables import Run

_AnyRun = TypeVar("_AnyRun", "Run", "Run | NativeRunFile | MatrixRun")


def read_runs(inputs: Inputs, *, depth: int | None = None, own: OwnItemRule | None = None) -> list[Run]:
    """Return the runs given (each `PATH` or `NAME=PATH`), else the workspace's, in order.

    Runs whose files carry one and the same run id are told apart by their file names. `own`: what becomes
    of each query's own item; None keeps it.
    """
    to_read = own.depth_to_read(depth) if own else depth
    runs = _all_runs(inputs, partial(read_run, depth=to_read))
    return [own.applied(run, depth) for run in runs] if own else runs


def open_runs(inputs: Inputs, *, own: OwnItemRule | None = None) -> list[Run | NativeRunFile | MatrixRun]:
    """Return the runs as `read_runs` does; those that can are read when they are scored."""
    runs = _all_runs(inputs, open_run)
    return [own.applied(run) for run in runs] if own else runs


def _all_runs(inputs: Inputs, read: Callable[..., _AnyRun]) -> list[_AnyRun]:
    ids = id_files(inputs)
    runs = _runs(inputs.values.get("runs", ()), inputs, read, ids)
    orders_docs = inputs.values.get("ties") == "index"  # which needs --doc-ids, whether a run does or not
    refuse_unused(ids[:1] if orders_docs else ids)
    return runs


def read_both_ways(inputs: Inputs) -> list[Run | MatrixBothWays]:
    """Return one matrix, or a run and the way back, whose query ids are the doc ids of the way there."""
    files, ids = inputs.values["runs"], id_files(inputs)
    if len(files) not in (1, 2):
        raise click.UsageError(f"{len(files)} files; expected one matrix, or two runs (t2i, then i2t)")
    if len(files) == 1:
        found: list[Run | MatrixBothWays] = [
            MatrixBothWays(inputs.use(files[0]), query_ids=ids[0], doc_ids=ids[1])
        ]
    else:
        found = [*_runs(files[:1], inputs, read_run, ids), *_runs(files[1:], inputs, read_run, ids[::-1])]
        if inputs.values["folds"] and ids[1] is None:
            raise click.UsageError(
                "--folds needs the order of the items: give --doc-ids FILE, a line each, or one matrix"
            )
    refuse_unused(ids[:1] if len(files) == 2 and inputs.values["folds"] else ids)
    return found


def id_files(inputs: Inputs) -> tuple[IdFile | None, IdFile | None]:
    """Return the files given with --query-ids and --doc-ids, else those that the workspace names."""
    return _id_file("query_ids", inputs), _id_file("doc_ids", inputs)


def _id_file(name: str, inputs: Inputs) -> IdFile | None:
    path, is_asked = inputs.path(name), bool(inputs.values.get(name))
    if path is None:
        return None
    return IdFile(inputs.use(relative_path(path)), name.removesuffix("s"), is_asked=is_asked)


def refuse_unused(ids: Sequence[IdFile | None]) -> None:
    """Raise a usage error for an option that no run had a use for."""
    for file in ids:
        if file is not None and file.is_asked and not file.is_used:
            raise click.UsageError(
                f"{file.option}: no run given needs it, they have ids of their own; leave it out"
            )


def _runs(
    files: Sequence[str], inputs: Inputs, read: Callable[..., _AnyRun], ids: tuple[IdFile | None, ...]
) -> list[_AnyRun]:
    own = [str(path) for path in named_files("runs", "files")]
    named = [_split_name(file, own) for file in files] or [(None, path) for path in own]
    if not named:
        raise click.UsageError("Missing argument 'RUN...': no run given, and no workspace names any.")
    axes = dict(zip(("query_ids", "doc_ids"), ids, strict=True))
    runs = _with_own_names([read(inputs.use(path), run_id=name, **axes) for name, path in named], named)
    hashes = [inputs.hash_of(path) for _, path in named]
    inputs.run_hashes |= dict(zip(map(run_id_of, runs), hashes, strict=True))
    return runs


def _split_name(file: str, own: Sequence[str]) -> tuple[str | None, str]:
    """Return name and path of what was given: `PATH`, `NAME=PATH`, or what a workspace's run is called."""
    if file == STDIN or Path(file).exists():
        return None, file
    name, equals, path = file.partition("=")
    if equals and name and "/" not in name:
        return name, path
    called = [path for path in own if stem_of(path) == file]
    if own and not called and "/" not in file:
        names = ", ".join(sorted(map(stem_of, own)))
        raise FormatError(f"{file}: no such file, and the workspace's runs are {names}")
    return None, called[0] if len(called) == 1 else file


def stem_of(path: str) -> str:
    """Return what a run is called by its file: the name without its ending."""
    return Path(path).name.removesuffix(".gz").rsplit(".", 1)[0]


def _with_own_names(runs: list[_AnyRun], named: Sequence[tuple[str | None, str]]) -> list[_AnyRun]:
    ids = [run_id_of(run) for run in runs]
    own = []
    for run, run_id, (name, path) in zip(runs, ids, named, strict=True):
        if ids.count(run_id) == 1 or name is not None:
            own.append(run)
            continue
        stem = stem_of(path)
        say(f"note: several files carry the run id {run_id!r}; {path} is called {stem!r} here")
        own.append(renamed(run, stem))
    return own
