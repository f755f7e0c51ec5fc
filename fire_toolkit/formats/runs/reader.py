"""The readers of predictions; the first one that recognises a file's content reads it.

A new format is a function and a row here, or a plug-in: plug-ins are tried when no built-in reader
recognises a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.files import BOM
from fire_toolkit.formats.arrays.containers import FORMATS, tree_of
from fire_toolkit.formats.arrays.matrix import Array
from fire_toolkit.formats.arrays.pickles import OF_FRAME
from fire_toolkit.formats.columns import is_number, pair_columns
from fire_toolkit.formats.recognised import TEXT, begins, start_of
from fire_toolkit.formats.runs import json_runs, native, trec
from fire_toolkit.formats.runs.json_runs import listed_of
from fire_toolkit.formats.runs.listed import Listed, listed_table
from fire_toolkit.formats.runs.named_arrays import Arrays, arrays_in, as_mask, found_as, leaves_of
from fire_toolkit.formats.runs.parquet_files import (
    PARQUET_MAGIC,
    open_parquet,
    read_parquet,
    read_parquet_vectors,
)
from fire_toolkit.formats.tables import trecvid
from fire_toolkit.formats.tables.delimited import names_in, read_delimited
from fire_toolkit.plugins import Registry
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.words import table_in

_MARKS = {"\t": "tabs", ",": "commas", ";": "semicolons"}
_SHOWN = 8


@dataclass(frozen=True)
class RunReader:
    """A format of predictions.

    Attributes:
        name: one word, for manifests.
        what: a description of the format.
        evidence: a description of how it is recognised.
        sniff: whether a file has this format, from its first bytes (unpacked if gzip) and its path.
        read_lists: for ranked lists: from a path and the key of a part.
        read_arrays: for arrays of scores or vectors.
    """

    name: str
    what: str
    evidence: str
    sniff: Callable[[bytes, Path], bool]
    read_lists: Callable[[Path, str | None], Listed] | None = None
    read_arrays: Callable[[Path], Arrays] | None = None

    def read(self, path: Path, key: str | None = None) -> Listed | Arrays:
        """Return what is in a file: ranked lists, also those in a file of objects, or arrays.

        Raises:
            FormatError: it cannot be read as what it is, or a plug-in's lists lack a column.
        """
        arrays = self.read_arrays(path) if self.read_arrays else None
        found: Any = self.read_lists(path, key) if self.read_lists else arrays
        if isinstance(found, Arrays):
            return found if found.lists is None else listed_of(found.lists, str(path), key)
        scored = found.scored if isinstance(found, Listed) else None
        names = list(scored) if isinstance(scored, pd.DataFrame) else [type(found).__name__]
        if scored is not None and {*PAIR, "score"} <= {*names} and is_numeric_dtype(scored["score"]):
            return cast(Listed, found)
        raise FormatError(
            f"{path}: the reader of {self.what} returned {', '.join(map(str, names))}; expected Listed with "
            "columns query_id, doc_id and score (a number)"
        )


READERS: Registry[RunReader] = Registry("run_formats", "run format", RunReader)
# Of each format its name, what it is, how it is known, a file's test, and what reads it.
_ROWS: tuple[tuple[Any, ...], ...] = (
    *((*about, None, lambda path, tree=tree: arrays_in(tree(path), path)) for *about, tree in FORMATS),
    (
        *("run", "a run of fire-toolkit", "Parquet with fire_toolkit.run in its metadata"),
        begins(PARQUET_MAGIC, lambda _, path: native.KEY in (open_parquet(path).metadata.metadata or {})),
        lambda path, _: Listed((run := native.open_native_run(path)).top(None), run.run_id, has_ranks=True),
    ),
    ("parquet", "a Parquet table", "begins with PAR1", begins(PARQUET_MAGIC), read_parquet),
    (
        *("trecvid", "TRECVID ad-hoc video search results", "XML of videoAdhocSearchResults"),
        begins(TEXT + rb"\s*(?=<)(?i:.*?<(?:!DOCTYPE\s+)?videoAdhocSearch(?:Results|RunResult)[\s>])"),
        trecvid.read_trecvid,
    ),
    (
        *("jsonl", "JSON Lines", "two lines that begin with { or ["),  # the first of them whole
        begins(TEXT + rb"\s*(?:\{[^\n]*\}[^\S\n]*\n\s*\{|\[[^\n]*\][^\S\n]*\n\s*\[)"),
        partial(json_runs.read_json, are_lines=True),
    ),
    ("json", "JSON", "begins with { or [", begins(TEXT + rb"\s*[{\[]"), json_runs.read_json),
    (
        *("table", "CSV or TSV with a header", "the header names query_id and doc_id"),
        begins(
            TEXT + rb"[\r\n]*+[^\n]*[\t,;]",
            lambda start, _: all(
                pair_columns(names_in(start.decode(errors="replace")), each) for each in PAIR
            ),
        ),
        lambda path, key: listed_table(read_delimited(path), str(path), key),
    ),
    (
        *("places", "lines of doc places", "whole numbers between commas, no header"),
        begins(TEXT + rb"[^\S\n]*\d+[^\S\n]*(?:,[^\S\n]*\d+[^\S\n]*)+(?:\n|\Z)"),
        json_runs.read_index_list,
    ),
    (
        *("trec", "a TREC run", "six fields on the first line"),
        lambda start, _: b"\0" not in start and bool(trec.first_row(start, trec.RUN).names),
        trec.read_trec_run,
    ),
)
for _row in _ROWS:
    READERS.add(_row[0], RunReader(*_row))


def not_the_file(start: bytes) -> str | None:
    """Return what a file with this beginning is instead of data, and what to do; None if unknown.

    Examples:
        >>> not_the_file(b"version https://git-lfs.github.com/spec/v1\\noid sha256:00")
        'a pointer of Git LFS, not the file itself; fetch it with git lfs pull'
    """
    begins, others = start.lstrip().lower(), table_in("formats.runs", "others.toml").items()
    return next((words for own, words in others if re.match(own.encode(), begins, re.DOTALL)), None)


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
    if are_numbers and any("." in field for field in fields) and not all(map(str.isdigit, fields[:2])):
        return (
            f"{len(fields)} numbers on the first line: a matrix is not read as text; save it with numpy.save"
        )
    if mark is None:
        return None
    shown = ", ".join(fields[:_SHOWN]) + (", ..." if len(fields) > _SHOWN else "")
    return (
        f"{_MARKS[mark]} between {len(fields)} fields on the first line ({shown}), expected CSV or TSV "
        f"with a header that names query_id, doc_id and score{f'; {OF_FRAME}' * (len(fields) > _SHOWN)}"
    )


def recognise(path: Path) -> RunReader:
    """Return the reader of a file's format, by its content; the suffix does not matter.

    Lines of words that are of no format are TREC text, whose reader says what is wrong with them.

    Raises:
        FormatError: the file cannot be opened, is empty, is damaged gzip, has arrays within gzip, or is of no
            known format.
    """
    start, is_packed = start_of(path)
    reader = next((known for known in READERS.values() if known.sniff(start, path)), None)
    if reader is None:
        known = (each.what for each in READERS.values())
        if problem := not_the_file(start) or not_a_run(start, known):
            raise FormatError(f"{path}: {problem}")
        reader = READERS["trec"]
    if is_packed and reader.read_arrays is not None:
        raise FormatError(f"{path}: {reader.what} within gzip; unpack it with gunzip first")
    return reader


def read_vectors(path: Path) -> Arrays:
    """Return the arrays of a file of vectors; those of Parquet are its columns of lists.

    Raises:
        FormatError: it is damaged, or not known.
        UsageError: its format holds no vectors.
    """
    reader = recognise(path)
    read = read_parquet_vectors if reader.name == "parquet" else reader.read_arrays
    if read is None:
        raise UsageError(f"{path}: {reader.what} holds no vectors")
    return read(path)


def read_mask(path: Path) -> Array:
    """Return the array of 0 and 1 in a file as flags, one per row (two axes are read row by row).

    It is the one that is named as a mask, else the only one.

    Raises:
        FormatError: the file holds no such array, or several.
    """
    reader = recognise(path)
    found = tree_of(start_of(path)[0], path)
    if not isinstance(found, list):
        leaves = dict(leaves_of(found))
        arrays = [leaf for leaf in leaves.values() if isinstance(leaf, np.ndarray)]
        if (named := found_as("mask", leaves)) is None and len(arrays) != 1:
            raise FormatError(f"{path}: {reader.what} without a mask, expected one array of 0 and 1")
        found = arrays[0] if named is None else named
    return as_mask(found, str(path))
