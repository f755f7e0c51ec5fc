"""What an engine is, and what the parts of a work are made of."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Protocol, TypeVar

import numpy as np

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.runs.matrix import Array


class Part(Protocol):
    """A part of a work, which can be pickled: arguments of one function."""

    @property
    def files(self) -> Mapping[str, str]:
        """Return the files that it reads, absolute paths, with their sha256."""
        ...


AnyPart = TypeVar("AnyPart", bound=Part)


class Engine(Protocol):
    """What maps a pure function over parts."""

    def ranges(self, n_units: int) -> int:
        """Return into how many ranges of queries each of `n_units` units (runs) of work is to be split."""
        ...

    def map(self, function: Callable[[AnyPart], bytes], parts: Sequence[AnyPart]) -> list[bytes]:
        """Return what the function gives for each part, in the order of the parts.

        Raises:
            FireError: what the function raises, or that the engine failed.
        """
        ...

    @property
    def takes_whole(self) -> bool:
        """Return whether a part is one range of all units, rather than a range of one unit."""
        ...


def ranges_of(n: int, n_ranges: int) -> list[tuple[int, int]]:
    """Return `n` places as consecutive ranges, which differ by at most one in length.

    Examples:
        >>> ranges_of(5, 2)
        [(0, 2), (2, 5)]
        >>> ranges_of(1, 3)
        [(0, 0), (0, 0), (0, 1)]
    """
    return list(pairwise(n * place // n_ranges for place in range(n_ranges + 1)))


def packed(arrays: Mapping[str, Any]) -> bytes:
    """Return arrays by name as bytes: an .npz without pickles; the same arrays give the same bytes."""
    out = io.BytesIO()
    np.savez(out, allow_pickle=False, **arrays)
    return out.getvalue()


def unpacked(content: bytes) -> dict[str, Array]:
    """Return what `packed` was given.

    Raises:
        FormatError: they are other bytes.
    """
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError, EOFError, KeyError) as error:
        raise FormatError(f"a part's result cannot be read ({error}); run it again") from None


def packed_texts(texts: Sequence[str]) -> Array:
    """Return texts as an array of bytes."""
    joined = "\0".join(texts).encode() if len(texts) else b""
    return np.frombuffer(joined, dtype=np.uint8)


def unpacked_texts(raw: Array) -> list[str]:
    """Return what `packed_texts` was given, none of them empty."""
    return raw.tobytes().decode().split("\0") if raw.size else []
