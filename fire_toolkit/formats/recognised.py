"""What a file is taken for: by what it begins with, or by its name."""

import re
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path, PurePosixPath

from fire_toolkit.errors import FormatError
from fire_toolkit.files import DAMAGED, GZIP, STDIN, opened
from fire_toolkit.words import table_in

_START_BYTES = 1 << 16
TEXT = rb"(?:\xef\xbb\xbf)?"  # what text may begin with: a byte order mark


def begins(
    pattern: bytes, also: Callable[[bytes, Path], bool] = lambda start, path: True
) -> Callable[[bytes, Path], bool]:
    """Return the test of a file by a pattern of its first bytes, and by what else is seen of such a file."""
    known = re.compile(pattern, re.DOTALL)
    return lambda start, path: known.match(start) is not None and also(start, path)


def start_of(path: str | Path) -> tuple[bytes, bool]:
    """Return the first 64 KiB of a file, unpacked where they are gzip, and whether they were packed.

    Of standard input nothing is read, so that whoever reads it finds all of it.

    Raises:
        FormatError: as `opened`; the file is empty, or damaged gzip.
    """
    if str(path) == STDIN:
        return b"", False
    with opened(path) as stream:
        start = stream.read(_START_BYTES)
    if not start:
        raise FormatError(f"{path}: empty file, expected at least one line")
    if not start.startswith(GZIP):
        return start, False
    try:
        return zlib.decompressobj(wbits=31).decompress(start, _START_BYTES), True
    except zlib.error as error:
        raise FormatError(f"{path}: {DAMAGED.format(error)}") from None


@cache
def _types() -> dict[str, str]:
    kinds = table_in("formats", "media_types.toml")
    return {f".{suffix}": kind for kind, suffixes in kinds.items() for suffix in suffixes.split()}


def content_type(name: str) -> str:
    """Return the media type of a file by its name."""
    return _types().get(PurePosixPath(name).suffix.lower(), "application/octet-stream")
