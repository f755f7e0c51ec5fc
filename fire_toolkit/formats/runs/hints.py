"""Guesses at what a file of no known format is."""

from __future__ import annotations

from collections.abc import Iterable

from fire_toolkit.files import BOM
from fire_toolkit.formats.columns import is_number

_MARKS = {"\t": "tabs", ",": "commas", ";": "semicolons"}
_SHOWN = 8
# How files begin that are something else than data, and what to do.
_OTHERS = {
    b"version https://git-lfs": "a pointer of Git LFS, not the file itself; fetch it with git lfs pull",
    **dict.fromkeys((b"<!doctype html", b"<html"), "a web page, not the file itself; download it again"),
    b"\x89hdf\r\n\x1a\n": "an HDF5 file, which is not read; save what it holds as .npy: "
    "numpy.save('sims.npy', h5py.File('sims.h5')['sims'])",
    **dict.fromkeys((b"\xff\xfe", b"\xfe\xff"), "text in UTF-16; save it as UTF-8"),
}


def not_the_file(start: bytes) -> str | None:
    """Return what a file with this beginning is instead of data, and what to do; None if unknown.

    Examples:
        >>> not_the_file(b"version https://git-lfs.github.com/spec/v1\\noid sha256:00")
        'a pointer of Git LFS, not the file itself; fetch it with git lfs pull'
    """
    begins = start.lstrip().lower()
    return next((words for own, words in _OTHERS.items() if begins.startswith(own)), None)


def not_a_run(start: bytes, known: Iterable[str]) -> str | None:
    """Return why a file with this beginning is not a run, and what was expected; None of words and blanks.

    known: what the formats are called.

    Examples:
        >>> not_a_run(b"0.25,0.5\\n", [])
        '2 numbers on the first line: a matrix is not read as text; save it with numpy.save'
    """
    line = start.removeprefix(BOM).split(b"\n", 1)[0].decode("utf-8", errors="replace").strip()
    mark = max(_MARKS, key=line.count) if any(each in line for each in _MARKS) else None
    fields = [each.strip() for each in line.split(mark)]
    are_numbers = all(map(is_number, fields))
    if mark is None and len(fields) in range(3, 8) and not are_numbers:
        return None
    if not line.replace("\t", " ").isprintable() or len(fields) == 1:
        shown = repr(start[:24].decode("utf-8", errors="replace"))
        return f"begins with {shown}, which is not a known format; expected {'; '.join(known)}"
    if are_numbers and any("." in field for field in fields):
        return (
            f"{len(fields)} numbers on the first line: a matrix is not read as text; save it with numpy.save"
        )
    if mark is None:
        return None
    shown = ", ".join(fields[:_SHOWN]) + (", ..." if len(fields) > _SHOWN else "")
    return (
        f"{_MARKS[mark]} between {len(fields)} fields on the first line ({shown}), expected CSV or TSV "
        "with a header that names query_id, doc_id and score"
    )
