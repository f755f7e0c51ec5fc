"""Guesses at what a file of no known format is."""

from __future__ import annotations

from pathlib import Path

from fire_toolkit.files import BOM
from fire_toolkit.formats.columns import headed, is_number, renamed

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


def not_a_run(start: bytes, path: Path) -> str | None:
    """Return why a file with this beginning is not a run, and what was expected; None if unknown.

    Examples:
        >>> not_a_run(b"q Q0 d 1 0.5\\n", Path("q.run"))
        '5 fields on the first line, expected 6 (query_id Q0 doc_id rank score run_id)'
    """
    mark, fields, _ = _first_lines(start)
    if not fields:
        return None
    line = line_to_type(start, path)
    is_row = len(fields) > 1 and all(map(is_number, fields)) and any("." in field for field in fields)
    if is_row and not line:
        return (
            f"{len(fields)} numbers on the first line: a matrix is not read as text; save it with numpy.save"
        )
    if mark:
        shown = ", ".join(fields[:_SHOWN]) + (", ..." if len(fields) > _SHOWN else "")
        return (
            f"{_MARKS[mark]} between {len(fields)} fields on the first line ({shown}), expected CSV or TSV "
            f"with a header that names query_id, doc_id and score{line}"
        )
    if 3 <= len(fields) <= 7:
        return f"{len(fields)} fields on the first line, expected 6 (query_id Q0 doc_id rank score run_id)"
    return None


def line_to_type(start: bytes, path: Path) -> str:
    """Return the line that gives a table of ranked lists a header that is read; empty where none is known."""
    mark, fields, below = _first_lines(start)
    return (renamed(fields, mark, path) or headed(fields, below, mark, path)) if mark and fields else ""


def _first_lines(start: bytes) -> tuple[str, list[str], list[str]]:
    """Return what separates fields, empty for blanks, and the fields of the first two lines of text."""
    lines = [
        line.decode("utf-8", errors="replace").strip() for line in start.removeprefix(BOM).split(b"\n", 2)
    ]
    if b"\0" in start or not lines[0].replace("\t", " ").isprintable():
        return "", [], []
    most = max(_MARKS, key=lines[0].count)
    mark = most if most in lines[0] else ""
    first, below = ([each.strip() for each in line.split(mark or None)] for line in (*lines[:2], "")[:2])
    return mark, first, below
