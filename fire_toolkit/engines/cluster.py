"""A Dask cluster: a function over the parts of a work, on workers that see the same files.

Of runs in files, whose ranks and tops are found, and of the vectors of two sides each takes some queries.
Dask unpickles what its peers send: who reaches the scheduler runs code on the workers and here.
"""

import asyncio
import logging
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit import __version__
from fire_toolkit.arrays import Ints, ranges_of, rows_of_lists
from fire_toolkit.errors import FireError, ServerError
from fire_toolkit.files import sha256_of
from fire_toolkit.formats.runs.ingest import rank_vectors
from fire_toolkit.formats.runs.matrices import MatrixRun
from fire_toolkit.formats.runs.named_arrays import Matrix
from fire_toolkit.formats.runs.native import NativeRunFile
from fire_toolkit.formats.runs.ranked import Ranked, joined
from fire_toolkit.matching.blocks import RunBlock
from fire_toolkit.matching.coded import CodedQrels
from fire_toolkit.matching.joining import PairRanks, StoredRun
from fire_toolkit.matching.own_items import LeftOut
from fire_toolkit.results import Shown

_CONNECT_S, _LOOK_S, _NO_WORKER_S = 10, 0.05, 20
_PARTS = 2  # for each thread of a worker: the second is at work while others end
_PART_BYTES = 1 << 30  # of files: what a worker maps counts as its memory
_DIED = "workers died of one part again and again, as they do for lack of memory; give them more of it"
_LOST = "no scheduler answers, or it was lost; nothing is written: start it, and run the command again"
_FAILED = "a worker failed; install there the fire-toolkit, Python and packages that are here"
_WHY = {"KilledWorker": _DIED, "CancelledError": _LOST, "FutureCancelledError": _LOST}

# Of a file that all must see: its absolute path, its sha256, and which file of a shared file system it is.
SharedFile = tuple[Path, str, tuple[int, ...]]


def shared_file(path: Path, sha256: str = "") -> SharedFile:
    """Return a file as it is here; sha256: where it is known."""
    return path.absolute(), sha256 or sha256_of(path), _identity_of(path)


def _identity_of(path: Path) -> tuple[int, ...]:
    """Return what machines see alike of a file that they share, and never of two files."""
    about = path.stat()
    return about.st_size, about.st_ino, about.st_mtime_ns, about.st_ctime_ns


def _refuse_another(path: Path, sha256: str, identity: tuple[int, ...]) -> None:
    """Raise ServerError where this machine does not see the file."""
    try:
        own = _identity_of(path)
        found = sha256 if own == identity else sha256_of(path)
    except (OSError, FireError):
        found = ""
    if found != sha256:
        sees = f"another file (sha256 {found[:12]}, here {sha256[:12]})" if found else "no such file"
        where = f"the worker on {socket.gethostname()}"
        raise ServerError(f"{path}: {where} sees {sees}; put the same file where all see it by this path")


def spread(
    address: str,
    function: Callable[..., Any],
    cut: Callable[[int], Sequence[tuple[Any, ...]]],
    files: Sequence[SharedFile],
) -> list[Any] | None:
    """Return what the function gives for each part of a work, in order; a lost worker's are done by another.

    None where the work is to be done here: the function raises a FireError, or there is one part.

    Args:
        address: of the scheduler, tcp://HOST:PORT or tls://HOST:PORT.
        function: of a part; workers import it.
        cut: returns at most so many parts.
        files: those that the function reads.

    Raises:
        ServerError: no Dask, scheduler or worker; workers die of a part; a worker sees other files.
    """
    tasks: list[Any] = []
    try:
        client, n_looks = _client(address), 0
        n_threads, n_bytes = sum(client.nthreads().values()), sum(size for *_, (size, *_) in files)
        parts = cut(max(_PARTS * max(n_threads, 1), n_bytes // _PART_BYTES))
        if len(parts) < 2:
            return None
        submit = partial(client.submit, _on_worker, function, files, __version__, pure=False)
        tasks += (submit(*part) for part in parts)
        while "pending" in (states := {task.status for task in tasks}) and "error" not in states:
            time.sleep(_LOOK_S)
            n_looks = 0 if client.nthreads() else n_looks + 1
            if n_looks * _LOOK_S > _NO_WORKER_S:
                raise ServerError(f"{address}: no worker; start some (dask worker {address})")
        return list(client.gather(tasks))
    except ServerError:
        raise
    except FireError:
        return None
    except Exception as error:
        _client.cache_clear()
        name, reason = type(error).__name__, str(error).split("\n", 1)[0][:150]
        why = _WHY.get(name, _FAILED) if tasks and not isinstance(error, OSError) else _LOST
        raise ServerError(f"{address}: {why} ({name}: {reason})") from None


@lru_cache(maxsize=1)
def _client(address: str) -> Any:
    try:
        import dask
        from distributed import Client
    except ImportError:
        raise ServerError(f"{address}: a cluster needs Dask: pip install distributed") from None
    for name in list(logging.root.manager.loggerDict):  # what matters is raised
        if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
    dask.config.set({"distributed.comm.timeouts.connect": f"{_CONNECT_S}s"})
    asyncio.run(asyncio.wait_for(_ask(address), _CONNECT_S))
    return Client(address, set_as_default=False)


async def _ask(address: str) -> None:
    """Ask a scheduler who it is; a Client goes on asking for long after it is given up."""
    from distributed import Security, rpc

    async with rpc(address, connection_args=Security().get_connection_args("client")) as peer:
        await peer.identity()


def _on_worker(function: Callable[..., Any], files: Sequence[SharedFile], version: str, *part: Any) -> Any:
    """Return what the function gives for a part, where the worker is what it should be."""
    if version != __version__:
        raise ServerError(f"{socket.gethostname()}: fire-toolkit {__version__}, not {version}; {_FAILED}")
    for file in files:
        _refuse_another(*file)
    return function(*part)


_File = NativeRunFile | MatrixRun
Spread = Callable[..., list[Any] | None]  # `cluster.spread` of an address


@dataclass(frozen=True, eq=False)
class SharedRun(StoredRun, Shown):
    """A run that the workers of a cluster read; its numbers are those of `run`, to the last bit."""

    run_id: str
    run: _File
    spread: Spread
    file: SharedFile

    def rank_pairs(
        self, coded: CodedQrels, *, with_ties: bool = False, doc_order: Sequence[str] | None = None
    ) -> PairRanks:
        """Return where the pairs of `coded` stand; see `matching.joining`."""

        def cut(n: int) -> list[Any]:
            parts = self.run.parts(n)
            places = [coded.queries.get_indexer(pd.Index(queries, dtype="str")) for _, queries in parts]
            known = [np.sort(own[own >= 0]) for own in places]
            return [(run, own, coded.of(own), doc_order) for (run, _), own in zip(parts, known, strict=True)]

        every, whole, lengths = np.arange(len(coded.queries)), PairRanks(coded), np.diff(coded.start)
        for queries, part in self._found(_rank, cut) or [_rank(self.run, every, coded, doc_order)]:
            whole.n_retrieved[queries], whole.last_rank[queries] = part.n_retrieved, part.last_rank
            at = rows_of_lists(coded.start[queries], lengths[queries])
            whole.rank[at], whole.first[at], whole.last[at] = part.rank, part.first, part.last
            whole.n_extra_queries += part.n_extra_queries
            whole.has_known_doc |= part.has_known_doc
            whole.first_pair = whole.first_pair if any(whole.first_pair) else part.first_pair
        return whole

    def blocks(self, depth: int | None = None) -> list[RunBlock]:
        """Return its lists, at least the top `depth` docs of each; a query is in one block."""
        found = depth and self._found(_top, lambda n: [(run, depth) for run, _ in self.run.parts(n)])
        return list(chain(*found) if found else self.run.blocks(depth))

    def _found(self, function: Any, cut: Any) -> list[Any] | None:
        """Return what the function finds in each part; None where the run is to be read here."""
        found = self.spread(partial(_on_part, function), cut, [self.file])
        told = [each for _, left_out in found or () for each in left_out]
        if told and self.run.tell is not None:
            self.run.tell(sum(told, LeftOut()))
        return found and [each for each, _ in found]


def shared(run: Any, spread: Spread, sha256: str) -> Any:
    """Return a run that workers read, of a file that they can read in parts; another is returned as it is."""
    is_file = isinstance(run, NativeRunFile | MatrixRun)
    return SharedRun(run.run_id, run, spread, shared_file(run.path, sha256)) if is_file else run


def _on_part(function: Any, part: _File, *given: Any) -> tuple[Any, list[LeftOut]]:
    """Return what the function gives for a part, and what is told of it."""
    left_out: list[LeftOut] = []
    return function(replace(part, tell=left_out.append), *given), left_out


def _rank(run: _File, own: Ints, coded: CodedQrels, doc_order: Any) -> tuple[Ints, PairRanks]:
    return own, run.rank_pairs(coded, with_ties=True, doc_order=doc_order)


def _top(run: _File, depth: int) -> list[RunBlock]:
    return [block.to_depth(depth).with_used_docs() for block in run.blocks(depth)]


def rank_shared_vectors(
    spread: Spread, files: Sequence[Path], left: Matrix, right: Matrix, *kind: Any, **settings: Any
) -> Ranked:
    """Return what `ingest.rank_vectors` does, to the last bit; files: those with the vectors."""

    def cut(n: int) -> list[Any]:
        cuts = ranges_of(settings["n_rows"], n) if left.is_mapped and right.is_mapped else []
        return [(*rows, settings, left, right, *kind) for rows in cuts]

    found = spread(_rank_vectors, cut, [shared_file(file) for file in files])
    return joined(found) if found else rank_vectors(left, right, *kind, **settings)


def _rank_vectors(a: int, b: int, settings: dict[str, Any], left: Matrix, *others: Any) -> Ranked:
    """Return some of the rows ranked; cells of other rows find none."""
    rows, (queries, docs), cells = left.values[a:b], settings["axes"], settings["cells"]
    own = settings | {"n_rows": len(rows), "axes": (queries[a:b], docs)}
    own["cells"] = replace(cells, query=cells.query - a)
    found = rank_vectors(replace(left, held=rows), *others, **own)
    return replace(found, query=found.query + a)
