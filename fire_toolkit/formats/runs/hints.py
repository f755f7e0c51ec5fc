"""Guesses at what a file of no known format is."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from fire_toolkit.files import without_mark
from fire_toolkit.formats.column_guesses import are_names, guessed_columns
from fire_toolkit.formats.runs.listed import DOC, QUERY, RANK, SCORE, find_name

_LFS = b"version https://git-lfs"
_WEB = (b"<!doctype html", b"<html")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_MARKS = {"\t": "tabs", ",": "commas", ";": "semicolons"}
_HDF5 = b"\x89HDF\r\n\x1a\n"
_SHOWN = 8
_ITEMS = ("video", "image", "clip", "sound", "audio", "item")


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


def renamed(fields: Sequence[str], mark: str, path: Path) -> str:
    """Return the line that gives a table of ranked lists the names that are read, by the best guesses.

    Examples:
        >>> renamed(["question", "clip", "sim"], ",", Path("run.csv"))
        "; if the best guess is right, type sed -i '1s/.*/query_id,doc_id,score/' run.csv"
        >>> renamed(["0.5", "q1", "d1"], ",", Path("run.csv"))
        ''
    """
    usual = {"query_id": (*QUERY, "question", "caption", "text"), "doc_id": (*DOC, *_ITEMS), "score": SCORE}
    if not are_names(fields) or len(fields) < len(usual):
        return ""
    rank = {"rank": name} if (name := find_name(fields, RANK)) else {}
    roles = {name: role for role, name in guessed_columns(fields, usual, rank).items()}
    line = mark.join(roles.get(name, name) for name in fields).replace("\t", "\\t").replace("/", "\\/")
    return f"; if the best guess is right, type {shlex.join(['sed', '-i', f'1s/.*/{line}/', str(path)])}"


def not_a_run(start: bytes, path: Path) -> str | None:
    """Return why a file with this beginning is not a run, and what was expected; None if unknown.

    Examples:
        >>> not_a_run(b"q Q0 d 1 0.5\\n", Path("q.run"))
        '5 fields on the first line, expected 6 (query_id Q0 doc_id rank score run_id)'
    """
    line = without_mark(start).split(b"\n", 1)[0].decode("utf-8", errors="replace").strip()
    if b"\0" in start or not line.replace("\t", " ").isprintable():
        return None
    mark = max(_MARKS, key=line.count)
    fields = [field.strip() for field in (line.split(mark) if mark in line else line.split())]
    if len(fields) > 1 and all(_is_number(field) for field in fields) and any("." in f for f in fields):
        return (
            f"{len(fields)} numbers on the first line: a matrix is not read as text; save it with numpy.save"
        )
    if mark in line:
        shown = ", ".join(fields[:_SHOWN]) + (", ..." if len(fields) > _SHOWN else "")
        return (
            f"{_MARKS[mark]} between {len(fields)} fields on the first line ({shown}), expected CSV or TSV "
            f"with a header that names query_id, doc_id and score{renamed(fields, mark, path)}"
        )
    if 3 <= len(fields) <= 7:
        return f"{len(fields)} fields on the first line, expected 6 (query_id Q0 doc_id rank score run_id)"
    return None


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
