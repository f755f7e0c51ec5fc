"""A Dask cluster: a function over the parts of a work, on workers that see the same files.

Dask unpickles what its peers send: who reaches the scheduler runs code on the workers and here.
"""

import asyncio
import logging
import socket
import time
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from fire_toolkit import __version__
from fire_toolkit.errors import FireError, ServerError
from fire_toolkit.files import sha256_of

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
        found = sha256 if own == identity else _sha256(path, own)
    except (OSError, FireError):
        found = ""
    if found != sha256:
        sees = f"another file (sha256 {found[:12]}, here {sha256[:12]})" if found else "no such file"
        where = f"the worker on {socket.gethostname()}"
        raise ServerError(f"{path}: {where} sees {sees}; put the same file where all see it by this path")


@lru_cache(maxsize=256)
def _sha256(path: Path, identity: tuple[int, ...]) -> str:
    return sha256_of(path)


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
