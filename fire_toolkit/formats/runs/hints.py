"""Guesses at what a file of no known format is, and at which column of somebody's table is what."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from fire_toolkit.files import without_mark
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


_WORD, _DIGITS = re.compile(r"[^\W\d_]+"), re.compile(r"[0-9]+")
_OF_NO_USE = {"id", "url", "name", "file", "path"}  # words that many roles have
_LONGEST = 40


def guessed_columns(
    columns: Sequence[str], usual: Mapping[str, Sequence[str]], given: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return role → column: those given, then usual names, names that have a usual word, what is left.

    Args:
        columns: of the table.
        usual: role → its usual names, for each role that needs a column.
        given: role → column, of those that are known.

    Examples:
        >>> guessed_columns(["who", "the_clip", "verdict"], {"doc": ["video", "clip"], "label": ["verdict"]})
        {'doc': 'the_clip', 'label': 'verdict'}
        >>> guessed_columns(["q", "d"], {"query": ["query"], "doc": ["doc"]})
        {'query': 'q', 'doc': 'd'}
    """
    found = dict(given or {})
    for fits in (_is_usual, _has_usual_word, lambda *_: True):
        for role, names in usual.items():
            free = [each for each in columns if each not in found.values()]
            guess = next((each for each in free if fits(each, names)), None)
            if role not in found and guess is not None:
                found[role] = guess
    return {**{role: found[role] for role in usual if role in found}, **found}


def _is_usual(column: str, names: Sequence[str]) -> bool:
    return column.strip().lower() in names


def _has_usual_word(column: str, names: Sequence[str]) -> bool:
    words = {word for name in names for word in _WORD.findall(name.lower())} - _OF_NO_USE
    return bool(words & {*_WORD.findall(column.lower())})


def are_names(fields: Sequence[str], below: str = "") -> bool:
    """Whether fields of a first line can be the names of columns, and are no row of a table without them.

    below: the second line; a field that differs from its beginning in digits alone is a value.

    Examples:
        >>> are_names(["video1", "a dog runs"], "video2,a man cooks"), are_names(["video", "words"])
        (False, True)
    """
    first, start = (_DIGITS.sub("0", each) for each in (fields[0] if fields else "", below))
    is_a_row = "0" in first and start.startswith(first)
    return (
        not is_a_row
        and len({*fields}) == len(fields) > 1
        and all(
            name and not name[0].isdigit() and len(name) <= _LONGEST and name.count(" ") < 4
            for name in fields
        )
    )


def line_of(roles: Mapping[str, str]) -> str:
    """Return the option that names columns.

    Examples:
        >>> line_of({"doc_id": "clip", "text": "words *"})
        "--columns 'doc_id=clip,text=words *'"
    """
    return "--columns '" + ",".join(f"{role}={name}" for role, name in roles.items()) + "'"
