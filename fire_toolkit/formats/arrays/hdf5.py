"""HDF5 files, if h5py is installed; links to other files are not followed.

A separate process (`hdf5_child`) reads the file, with a timeout and a memory limit: one wrong byte can make
the C library run forever.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from threading import Timer
from typing import Any

import numpy as np

from fire_toolkit.arrays import Ints
from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays.arrays import ArrayCollector, Arrays
from fire_toolkit.formats.runs.matrix import Array, as_floats, check_dtype, pick_from_blocks
from fire_toolkit.formats.runs.reader import RunReader, begins

HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"
_CHILD = Path(__file__).with_name("hdf5_child.py")
_MOST_IDS = 10_000_000
_MOST_MEMORY = 8 << 30
_MOST_ANSWER = 2 << 30  # bytes of a list of ids
_SECONDS = 30.0  # for an answer, and one more for every
_BYTES_A_SECOND = 4 << 20


class _Child:
    """The process that reads a file, one request after another; it is ended when it takes too long."""

    def __init__(self, path: Path) -> None:
        self.path = path
        command = [sys.executable, "-P", str(_CHILD), str(path.absolute()), str(_MOST_MEMORY)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process: Any = subprocess.Popen(command, **pipes)  # type: ignore[call-overload]

    def ask(self, request: dict[str, Any]) -> None:
        """Send a request; `hear` returns its answer."""
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise self._damaged("the reader ended") from None

    def hear(self, most_bytes: int = 0) -> tuple[dict[str, Any], bytes]:
        """Return the next answer and its content.

        Raises:
            FormatError: the file is damaged, takes too long or too much memory.
        """
        seconds = _SECONDS + most_bytes / _BYTES_A_SECOND
        clock = Timer(seconds, self.process.kill)
        clock.start()
        try:
            line = self.process.stdout.readline(_MOST_ANSWER)
            answer: dict[str, Any] = json.loads(line) if line.endswith(b"\n") else {}
            n_bytes = answer.get("n_bytes", -1)
            content: bytes = self.process.stdout.read(n_bytes) if 0 <= n_bytes <= most_bytes else b""
        finally:
            is_late = not clock.is_alive()
            clock.cancel()
        if "error" in answer:
            raise self._damaged(answer["error"])
        if not answer or len(content) != n_bytes:
            raise self._damaged(f"not read within {seconds:.0f} s" if is_late else "the reader ended")
        return answer, content

    def _damaged(self, reason: str) -> FormatError:
        shown = " ".join(reason.split())[:200]
        return FormatError(f"{self.path}: damaged HDF5 ({shown}); copy it again from its source")

    def end(self) -> None:
        self.process.kill()
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


@contextmanager
def _open(path: Path) -> Iterator[tuple[_Child, list[dict[str, Any]]]]:
    """Yield a process that reads the file, and a description of each dataset."""
    if find_spec("h5py") is None:
        raise FormatError(f"{path}: an HDF5 file, which needs h5py: pip install h5py")
    child = _Child(path)
    try:
        yield child, child.hear()[0]["datasets"]
    finally:
        child.end()


@dataclass(frozen=True)
class Hdf5Matrix:
    """A dataset; the file is opened again for each reading."""

    where: str
    path: Path
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    is_flipped: bool = False

    def blocks(self, n_rows: int) -> Iterator[Array]:
        """Yield blocks of rows; with three axes, whole slices of the first."""
        step = n_rows if len(self.shape) == 2 else max(1, n_rows // self.shape[1])
        with _open(self.path) as (child, _):
            for start in range(0, self.shape[0], step):
                shape = (min(step, self.shape[0] - start), *self.shape[1:])
                child.ask({"name": self.name, "rows": [start, start + shape[0]]})
                _, content = child.hear(math.prod(shape) * self.dtype.itemsize)
                block = np.frombuffer(content, dtype=self.dtype).reshape(-1, self.shape[-1])
                yield as_floats(block, self.where)

    def pick(self, rows: Ints, columns: Ints) -> Array:
        """Return single cells."""
        return pick_from_blocks(self, rows, columns)


def read_hdf5(path: Path) -> Arrays:
    """Return the datasets of an HDF5 file by name.

    Raises:
        FormatError: h5py is not installed, the file is damaged or takes too long, a dataset lies outside
            the file or has a name that is not UTF-8, or there is no matrix.
    """
    collector = ArrayCollector(str(path))
    with _open(path) as (child, datasets):
        for about in datasets:
            _put(collector, child, about)
    return collector.arrays()


def _put(collector: ArrayCollector, child: _Child, about: dict[str, Any]) -> None:
    name, shape, dtype = about["name"], tuple(about["shape"]), np.dtype(about["dtype"])
    where = f"{child.path}: {name}"
    if about["is_outside"]:
        raise FormatError(f"{where}: stored in another file, which is not read; copy it into this one")
    if collector.wants_matrix(name, len(shape), dtype):
        check_dtype(where, dtype)
        collector.matrices[name] = Hdf5Matrix(where, child.path, name, shape, dtype)
    elif collector.wants_values(name) and about["size"] <= _MOST_IDS:
        child.ask({"name": name})
        answer, content = child.hear(_MOST_ANSWER)
        is_text = answer["dtype"] == "text"
        found = json.loads(content) if is_text else np.frombuffer(content, dtype=answer["dtype"])
        collector.put_tree(name, np.array(found, dtype=object if is_text else None).reshape(answer["shape"]))


READER = RunReader("hdf5", "HDF5", "begins with \\x89HDF", begins(HDF5_MAGIC), read_arrays=read_hdf5)
