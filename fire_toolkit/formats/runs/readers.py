"""The readers of predictions; the first one that recognises a file's content reads it.

A new format is a file with a `RunReader` and a line here, or a plug-in: plug-ins are tried when no built-in
reader recognises a file.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.files import start_of
from fire_toolkit.formats.arrays import files
from fire_toolkit.formats.runs import index_lists, json_runs, native, parquet_runs, table_runs, trec
from fire_toolkit.formats.runs.hints import not_a_run, not_the_file
from fire_toolkit.formats.runs.named_arrays import Arrays, reads
from fire_toolkit.formats.runs.parquet_vectors import read_parquet_vectors
from fire_toolkit.formats.runs.reader import RunReader, begins
from fire_toolkit.formats.tables import trecvid
from fire_toolkit.plugins import Registry

READERS: Registry[RunReader] = Registry("run_formats", "run format", RunReader)
TREES: dict[str, Callable[[Path], Any]] = {}  # of the formats of arrays
for _name, _what, _evidence, _sniff, _tree in (
    ("torch", "a file of torch.save", "a zip with data.pkl", files.is_torch, files.tree_of_torch),
    ("npz", "NumPy arrays, .npz", "a zip without data.pkl", files.is_npz, files.tree_of_npz),
    ("npy", "a NumPy array, .npy", "begins with \\x93NUMPY", begins(files.NPY_MAGIC), files.tree_of_npy),
    (
        *("safetensors", "a safetensors file", "begins with the length of a JSON header"),
        *(files.is_safetensors, files.tree_of_safetensors),
    ),
    ("pickle", "a pickle of arrays", "begins as pickles do", files.is_pickle, files.tree_of_pickle),
):
    TREES[_name] = _tree
    READERS.add(_name, RunReader(_name, _what, _evidence, _sniff, read_arrays=reads(_tree)))
for _reader in (
    native.READER,
    parquet_runs.READER,
    trecvid.READER,
    json_runs.JSONL,
    json_runs.JSON,
    table_runs.READER,
    index_lists.READER,
    trec.READER,
):
    READERS.add(_reader.name, _reader)


def recognise(path: Path) -> RunReader:
    """Return the reader of a file's format, by its content; the suffix does not matter.

    Raises:
        FormatError: there is no such file, or no reader knows it.
    """
    reader = find_reader(path)
    if reader is None:
        start, _ = start_of(path)
        if guess := not_a_run(start):
            raise FormatError(f"{path}: {guess}")
        shown = repr(start[:24].decode("utf-8", errors="replace"))
        raise FormatError(
            f"{path}: begins with {shown}, which is not a known format; expected "
            + "; ".join(known.what for known in READERS.values())
        )
    return reader


def read_vectors(path: Path) -> Arrays:
    """Return the arrays of a file of vectors; those of Parquet are its columns of lists.

    Raises:
        FormatError: it is damaged, or not known.
        UsageError: its format holds no vectors.
    """
    reader = recognise(path)
    if reader.name == parquet_runs.READER.name:
        return read_parquet_vectors(path)
    if reader.read_arrays is None:
        raise UsageError(f"{path}: {reader.what} holds no vectors")
    return reader.read_arrays(path)


def find_reader(path: Path) -> RunReader | None:
    """Return the reader of a file's format, or None if no reader recognises it.

    Raises:
        FormatError: the file cannot be opened, is empty, is damaged gzip, has arrays within gzip, or is known
            to be something else.
    """
    start, is_packed = start_of(path)
    reader = next((known for known in READERS.one_by_one() if known.sniff(start, path)), None)
    if reader is None and (other := not_the_file(start)):
        raise FormatError(f"{path}: {other}")
    if reader is not None and is_packed and reader.read_arrays is not None:
        raise FormatError(f"{path}: {reader.what} within gzip; unpack it with gunzip first")
    return reader
