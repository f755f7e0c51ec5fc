"""A separate program, started by `hdf5`, that reads one HDF5 file and answers on standard output.

A damaged file can make the C library loop forever or take all memory; a separate process can be ended. It
gets the path and a memory limit, lists the datasets, then answers requests: each answer is a line of JSON,
followed by as many bytes as the line says.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

import numpy as np


def main() -> None:
    """Answer requests until there are none."""
    h5py: Any = import_module("h5py")
    path, limit = sys.argv[1], int(sys.argv[2])
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        with h5py.File(path, "r") as file:
            _say({"datasets": _listed(file)})
            for line in sys.stdin:
                _answer(file, json.loads(line))
    except (
        Exception
    ) as error:  # h5py raises OSError, RuntimeError, KeyError, ValueError, TypeError, MemoryError
        _say({"error": f"{type(error).__name__}: {error}"[:300]})


def _say(answer: dict[str, Any], content: bytes = b"") -> None:
    sys.stdout.buffer.write(json.dumps({**answer, "n_bytes": len(content)}).encode() + b"\n")
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def _listed(file: Any) -> list[dict[str, Any]]:
    found: list[tuple[str | bytes, Any]] = []
    file.visititems(lambda name, item: found.append((name, item)))
    return [_described(name, item) for name, item in found if hasattr(item, "dtype")]


def _described(name: str | bytes, item: Any) -> dict[str, Any]:
    if isinstance(name, bytes):
        raise ValueError(f"a dataset's name is not UTF-8: {ascii(name)[:60]}") from None
    return {
        "name": name,
        "shape": item.shape or (),
        "dtype": item.dtype.str,
        "size": int(item.size or 0),
        "is_outside": bool(item.is_virtual or item.external),
    }


def _answer(file: Any, request: dict[str, Any]) -> None:
    dataset = file[request["name"]]
    if "rows" in request:
        start, stop = request["rows"]
        values = np.asarray(dataset[start:stop])
        _say({}, values.tobytes())
        return
    values = np.asarray(dataset[()])
    if values.dtype.kind in "biuf":
        _say({"dtype": values.dtype.str, "shape": values.shape}, values.tobytes())
        return
    texts = [_text(value) for value in values.reshape(-1).tolist()]
    _say({"dtype": "text", "shape": values.shape}, json.dumps(texts).encode())


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if isinstance(value, str):
        return value
    raise TypeError(f"holds a {type(value).__name__}, expected text or numbers")


if __name__ == "__main__":
    main()
