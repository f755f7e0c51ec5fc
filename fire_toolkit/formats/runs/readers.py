"""The readers of predictions; the first one that recognises a file's content reads it.

A new format is a function and a line here, or a plug-in: plug-ins are tried when no built-in reader
recognises a file.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.files import BOM, start_of
from fire_toolkit.formats.arrays.containers import FORMATS, tree_of
from fire_toolkit.formats.arrays.matrix import Array, Stored
from fire_toolkit.formats.columns import pair_columns
from fire_toolkit.formats.runs import json_runs, native, trec
from fire_toolkit.formats.runs.hints import not_a_run, not_the_file
from fire_toolkit.formats.runs.listed import Listed, listed_table
from fire_toolkit.formats.runs.named_arrays import MASKS, Arrays, as_mask, leaves_of, reads
from fire_toolkit.formats.runs.parquet_files import PARQUET_MAGIC, read_parquet, read_parquet_vectors
from fire_toolkit.formats.runs.reader import RunReader
from fire_toolkit.formats.tables import trecvid
from fire_toolkit.formats.tables.delimited import delimiter_of, read_delimited
from fire_toolkit.plugins import Registry


def is_table(start: bytes, path: Path) -> bool:
    """Whether the first line is a header that names a query and a doc."""
    line = start.removeprefix(BOM).split(b"\n", 1)[0].decode("utf-8", errors="replace")
    names = [name.strip(' "\r') for name in line.split(delimiter_of(line))]
    return all(pair_columns(names, role) for role in ("query_id", "doc_id"))


def read_table(path: Path, key: str | None = None) -> Listed:
    """Return a CSV or TSV file as ranked lists; see `listed_table`."""
    return listed_table(read_delimited(path), str(path), key)


_NATIVE = "Parquet with fire_toolkit.run in its metadata"
READERS: Registry[RunReader] = Registry("run_formats", "run format", RunReader)
for _reader in (
    *(
        RunReader(each.name, each.what, each.evidence, each.sniff, read_arrays=reads(each.tree))
        for each in FORMATS
    ),
    RunReader("run", "a run of fire-toolkit", _NATIVE, native.is_native_run, native.read_native_run),
    RunReader(
        "parquet",
        "a Parquet table",
        "begins with PAR1",
        lambda start, path: start.startswith(PARQUET_MAGIC),
        read_parquet,
    ),
    trecvid.READER,
    RunReader(
        "jsonl", "JSON Lines", "two lines that begin with { or [", json_runs.is_jsonl, json_runs.read_jsonl
    ),
    RunReader("json", "JSON", "begins with { or [", json_runs.is_json, json_runs.read_json),
    RunReader(
        "table", "CSV or TSV with a header", "the header names query_id and doc_id", is_table, read_table
    ),
    RunReader(
        "places",
        "lines of doc places",
        "whole numbers between commas, no header",
        json_runs.is_index_list,
        json_runs.read_index_list,
    ),
    RunReader("trec", "a TREC run", "six fields on the first line", trec.is_trec_run, trec.read_trec_lists),
):
    READERS.add(_reader.name, _reader)


def recognise(path: Path) -> RunReader:
    """Return the reader of a file's format, by its content; the suffix does not matter.

    Lines of words that are of no format are TREC text, whose reader says what is wrong with them.

    Raises:
        FormatError: the file cannot be opened, is empty, is damaged gzip, has arrays within gzip, or is of no
            known format.
    """
    start, is_packed = start_of(path)
    reader = next((known for known in READERS.one_by_one() if known.sniff(start, path)), None)
    problem = (
        None if reader else not_the_file(start) or not_a_run(start, (each.what for each in READERS.values()))
    )
    if problem:
        raise FormatError(f"{path}: {problem}")
    reader = reader or READERS["trec"]
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
    tree = tree_of(start_of(path)[0], path)
    leaves = dict(leaves_of(tree))
    named = [leaf for name, leaf in leaves.items() if name.lower() in MASKS]
    arrays = named[:1] or [leaf for leaf in leaves.values() if isinstance(leaf, Stored | np.ndarray)]
    if not isinstance(tree, list) and len(arrays) != 1:
        raise FormatError(f"{path}: {reader.what} without a mask, expected one array of 0 and 1")
    found = tree if isinstance(tree, list) else arrays[0]
    return as_mask(found.values() if isinstance(found, Stored) else found, str(path))
