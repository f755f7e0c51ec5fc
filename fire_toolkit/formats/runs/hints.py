"""Guesses at what a file of no known format is."""

from __future__ import annotations

from collections.abc import Iterable

from fire_toolkit.files import BOM
from fire_toolkit.formats.columns import is_number

_LFS = b"version https://git-lfs"
_WEB = (b"<!doctype html", b"<html")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_MARKS = {"\t": "tabs", ",": "commas", ";": "semicolons"}
_HDF5 = b"\x89HDF\r\n\x1a\n"
_SHOWN = 8


def not_the_file(start: bytes) -> str | None:
    """Return what a file with this beginning is instead of data, and what to do; None if unknown.

    Examples:
        >>> not_the_file(b"version https://git-lfs.github.com/spec/v1\\noid sha256:00")
        'a pointer of Git LFS, not the file itself; fetch it with git lfs pull'
    """
    if start.startswith(_LFS):
        return "a pointer of Git LFS, not the file itself; fetch it with git lfs pull"
    if start.lstrip().lower().startswith(_WEB):
        return "a web page, not the file itself; download it again"
    if start.startswith(_HDF5):
        return (
            "an HDF5 file, which is not read; save what it holds as .npy: "
            "numpy.save('sims.npy', h5py.File('sims.h5')['sims'])"
        )
    if start.startswith(_UTF16):
        return "text in UTF-16; save it as UTF-8"
    return None


def not_a_run(start: bytes, known: Iterable[str]) -> str | None:
    """Return why a file with this beginning is not a run, and what was expected; None of words and blanks.

    known: what the formats are called.

    Examples:
        >>> not_a_run(b"0.25,0.5\\n", [])
        '2 numbers on the first line: a matrix is not read as text; save it with numpy.save'
    """
    line = start.removeprefix(BOM).split(b"\n", 1)[0].decode("utf-8", errors="replace").strip()
    most = max(_MARKS, key=line.count)
    mark = most if most in line else None
    fields = [each.strip() for each in line.split(mark)]
    if mark is None and len(fields) in range(3, 8) and not all(map(is_number, fields)):
        return None
    if not line.replace("\t", " ").isprintable() or len(fields) == 1:
        shown = repr(start[:24].decode("utf-8", errors="replace"))
        return f"begins with {shown}, which is not a known format; expected {'; '.join(known)}"
    if all(map(is_number, fields)) and any("." in field for field in fields):
        return (
            f"{len(fields)} numbers on the first line: a matrix is not read as text; save it with numpy.save"
        )
    if mark:
        shown = ", ".join(fields[:_SHOWN]) + (", ..." if len(fields) > _SHOWN else "")
        return (
            f"{_MARKS[mark]} between {len(fields)} fields on the first line ({shown}), expected CSV or TSV "
            "with a header that names query_id, doc_id and score"
        )
    return None
