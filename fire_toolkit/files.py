"""Bytes and text of a file, with errors that name the file: `-`, gzip and UTF-8 handled once, here."""

import gzip
import hashlib
import io
import os
import re
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from fire_toolkit.errors import FormatError

STDIN = "-"
GZIP = b"\x1f\x8b"  # what a file of it begins with
DAMAGED = "damaged gzip file ({}); copy it again from its source"
_GZIP_BYTES = 256 << 20
_GZIP_RATIO = 200
_SETTLED_S = 2  # after a change, from where on the next one shows in a file's times
_HASHES: dict[str, str] = {}  # of files as they were found, by their state
BOM = b"\xef\xbb\xbf"  # the byte order mark that UTF-8 may begin with
_ADDRESS = re.compile(r"(s3|gs|hf|https?):/+")  # of which a Path keeps one stroke


def read_bytes(path: str | Path) -> bytes:
    """Return the bytes of `path` (`-`: standard input), gunzipped if they are gzip by content.

    Raises:
        FormatError: the file is not there, is a folder or a pipe, cannot be read, is damaged gzip, or is
            gzip that unpacks to more than 256 MiB and 200 times its size.
    """
    with opened(path) as stream:
        raw = stream.read()
    if not raw.startswith(GZIP):
        return raw
    most = max(_GZIP_BYTES, _GZIP_RATIO * len(raw))
    try:
        with gzip.open(io.BytesIO(raw)) as unpacked:
            content = unpacked.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise FormatError(f"{path}: {DAMAGED.format(error)}") from None
    if len(content) > most:
        raise FormatError(
            f"{path}: unpacks to more than {most:,} bytes, as gzip bombs do; if it is real, gunzip it first"
        )
    return content


@contextmanager
def opened(path: str | Path) -> Iterator[BinaryIO]:
    """Open the bytes of `path` (`-`: standard input) for reading.

    Raises:
        FormatError: the file is not there, is a folder or a pipe, or cannot be read.
    """
    try:
        if str(path) == STDIN:
            yield sys.stdin.buffer
            return
        if Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
            raise FormatError(f"{path}: a pipe or a device, expected a file; save its output as one first")
        with Path(path).open("rb") as stream:
            yield stream
    except FileNotFoundError:
        if _ADDRESS.match(str(path)):
            address = _ADDRESS.sub(r"\1://", str(path), count=1)
            raise FormatError(f"{address}: an address, expected a file; download it first") from None
        raise FormatError(f"{path}: no such file") from None
    except IsADirectoryError:
        inside = [each.name for each in paths_in(Path(path)) if not each.name.endswith(".manifest.json")]
        holds = f"; it holds {', '.join(inside[:3])}{', …' if len(inside) > 3 else ''}" if inside else ""
        raise FormatError(f"{path}: a folder, expected a file{holds}") from None
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror}") from None


def paths_in(folder: Path) -> list[Path]:
    """Return what lies in a folder, by name; nothing if there is no such folder.

    Raises:
        FormatError: it cannot be read (`Path.glob` takes such a folder for an empty one), or is no folder.
    """
    try:
        return sorted(folder.iterdir())
    except FileNotFoundError:
        if not folder.is_symlink():
            return []
        reason = f"it leads to {folder.readlink()}, which is not there"
    except OSError as error:
        reason = str(error.strerror)
    raise FormatError(f"{folder}: cannot be read: {reason}; expected a folder whose files you may read")


def read_text(path: str | Path) -> str:
    """Return the text of `path`, UTF-8 with or without a byte order mark; line ends are kept.

    Raises:
        FormatError: as `read_bytes` and `text_of`.
    """
    return text_of(read_bytes(path).removeprefix(BOM), path)


def text_of(raw: bytes, path: str | Path) -> str:
    """Return the bytes of `path` as text.

    Raises:
        FormatError: not UTF-8, or a NUL byte (a binary file), with the line; or nothing but white space.
    """
    if raw.startswith((b"PK\3\4", b"SQLite format 3\0")):
        what = "an archive or a workbook" if raw.startswith(b"PK") else "a packed database"
        raise FormatError(f"{path}: {what}, expected text; unpack it, or save its table as CSV")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise FormatError(
            f"{path}:{line}: byte {raw[error.start]:#04x} is not UTF-8; save it as UTF-8; if it is Latin-1, "
            "iconv -f latin1 -t utf-8 FILE > NEW does it"
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise FormatError(f"{path}:{line}: a NUL byte: this is a binary file, expected text")
    if not text.strip():
        raise FormatError(f"{path}: empty file, expected at least one line")
    return text


def text_sha256(text: str) -> str:
    """Return the sha256 of a text in UTF-8, in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def sha256_of(path: str | Path) -> str:
    """Return the sha256 of a file's bytes as they lie on disk, in hex.

    A file that lies as it lay is read once by a process.
    """
    with opened(path) as stream:
        state = state_of(os.fstat(stream.fileno()))
        sha256 = _HASHES.get(state) or hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]
    if state:
        _HASHES[state] = sha256
    return sha256


def state_of(found: os.stat_result) -> str:
    """Return in what state a file lies: another one after each change, which its times tell.

    Empty where it has just changed: the next change might not show in them.
    """
    if time.time() - max(found.st_mtime, found.st_ctime) < _SETTLED_S:
        return ""
    return f"{found.st_dev} {found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}"


def stem_of(path: str | Path) -> str:
    """Return what a run is called by its file: the name without its ending, of which `.gz` is no part."""
    return Path(path).name.removesuffix(".gz").rsplit(".", 1)[0]
