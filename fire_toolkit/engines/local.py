"""Processes on this machine, started by a server that forks them (POSIX), else afresh."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass

from fire_toolkit.engines.engine import AnyPart
from fire_toolkit.errors import FireError

_TRIES = 3
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_PARTS_PER_WORKER = 2


@dataclass(frozen=True)
class Local:
    """`n_workers` processes; those that are killed are started again, and do what was not yet done."""

    n_workers: int
    takes_whole: bool = False

    def ranges(self, n_units: int) -> int:
        """Return how many ranges of each unit keep all workers busy."""
        return ranges_for(self.n_workers, n_units)

    def map(self, function: Callable[[AnyPart], bytes], parts: Sequence[AnyPart]) -> list[bytes]:
        """Return what the function gives for each part.

        Raises:
            FireError: processes were killed in each of three tries.
        """
        done: dict[int, bytes] = {}
        for _ in range(_TRIES):
            self._try(function, parts, done)
            if len(done) == len(parts):
                return [done[place] for place in range(len(parts))]
        raise FireError(
            f"worker processes were killed in each of {_TRIES} tries, as happens when "
            "a machine runs out of memory; give --workers a smaller number"
        )

    def _try(
        self, function: Callable[[AnyPart], bytes], parts: Sequence[AnyPart], done: dict[int, bytes]
    ) -> None:
        """Add to `done` what is missing of it, as far as the processes come."""
        with one_thread_each(), self._pool() as pool:
            futures: dict[int, Future[bytes]] = {}
            try:
                for place in range(len(parts)):
                    if place not in done:
                        futures[place] = pool.submit(function, parts[place])
                for place, future in futures.items():
                    done[place] = future.result()
            except BrokenProcessPool:
                whole = (place for place, future in futures.items() if future.done())
                done |= {place: futures[place].result() for place in whole if not futures[place].exception()}
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _pool(self) -> ProcessPoolExecutor:
        known = multiprocessing.get_all_start_methods()
        context = multiprocessing.get_context("forkserver" if "forkserver" in known else "spawn")
        return ProcessPoolExecutor(self.n_workers, mp_context=context, initializer=_end_with_parent)


def ranges_for(n_workers: int, n_units: int) -> int:
    """Return how many ranges of each of `n_units` units keep all workers busy."""
    if n_units >= _PARTS_PER_WORKER * n_workers:
        return 1
    return -(-_PARTS_PER_WORKER * n_workers // max(n_units, 1))


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Have processes that are started meanwhile multiply matrices in one thread each."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update({name: os.environ.get(name, "1") for name in _THREADS})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)


def _end_with_parent() -> None:
    """End this process when the one that asked for it is no more, however that ended."""

    def wait() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
