"""Vectors in a Parquet column of lists, read in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays.matrix import Array, as_floats
from fire_toolkit.formats.ids import id_texts
from fire_toolkit.formats.runs.named_arrays import Arrays
from fire_toolkit.formats.runs.names import DOC, QUERY, find_name
from fire_toolkit.formats.runs.parquet_runs import guarded, open_parquet

_IDS = (*QUERY, *DOC, "id", "ids")


@dataclass(frozen=True)
class ParquetMatrix:
    """The lists of a column as rows; each has the length of the first."""

    where: str
    path: Path
    column: str
    shape: tuple[int, ...]
    is_flipped: bool = False

    def blocks(self, n_rows: int) -> Iterator[Array]:
        """Yield blocks of rows.

        Raises:
            FormatError: a list or a number is missing, a list has another length, or the file is damaged.
        """
        file = open_parquet(self.path)
        batches = file.iter_batches(batch_size=n_rows, columns=[self.column])
        start = 0
        while (batch := guarded(self.path, lambda: next(batches, None))) is not None:
            yield self._rows(batch.column(0), start)
            start += len(batch)

    def _rows(self, lists: Any, start: int) -> Array:
        from pyarrow import compute

        guarded(self.path, lambda: lists.validate(full=True))
        lengths = np.asarray(compute.list_value_length(lists).fill_null(-1))
        strange = lengths != self.shape[1]
        if lists.null_count or strange.any():
            place = int(np.argmax(strange))
            found = "no list" if lengths[place] < 0 else f"a list of {lengths[place]} numbers"
            raise FormatError(f"{self.where}: row {start + place}: {found}, expected {self.shape[1]} numbers")
        values = lists.flatten()
        if values.null_count:
            place = int(np.argmax(np.asarray(values.is_null()))) // self.shape[1]
            raise FormatError(f"{self.where}: row {start + place}: a number is missing in the list")
        return as_floats(values.to_numpy(zero_copy_only=False).reshape(-1, self.shape[1]), self.where)


def read_parquet_vectors(path: Path) -> Arrays:
    """Return the columns of lists of numbers as matrices, and a column of ids for whichever side they are.

    Raises:
        FormatError: damaged, no such column, or the first list is missing or empty.
    """
    import pyarrow as pa

    file = open_parquet(path)
    schema = guarded(path, lambda: file.schema_arrow)
    matrices = {}
    for column in schema:
        kind = column.type
        if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
            if not (pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type)):
                continue
            width = _width(path, file, column)
            where = f"{path}: column {column.name}"
            matrices[column.name] = ParquetMatrix(where, path, column.name, (file.metadata.num_rows, width))
    if not matrices:
        shown = ", ".join(f"{column.name} ({column.type})" for column in list(schema)[:8])
        raise FormatError(f"{path}: columns {shown}; expected vectors, a list of numbers a row")
    name = find_name([str(name) for name in schema.names], _IDS)
    ids = None
    if name is not None:
        values = guarded(path, lambda: file.read(columns=[name]).column(0).to_pylist())
        ids = id_texts(values, f"{path}: column {name}")
    return Arrays(dict(matrices), ids, ids)


def _width(path: Path, file: Any, column: Any) -> int:
    import pyarrow as pa

    if pa.types.is_fixed_size_list(column.type):
        return int(column.type.list_size)
    batches = file.iter_batches(batch_size=1, columns=[column.name])
    first = guarded(path, lambda: next(batches, None))
    values = None if first is None else guarded(path, first.column(0).to_pylist)[0]
    if not values:
        raise FormatError(f"{path}: column {column.name}: row 0: no numbers, expected a vector a row")
    return len(values)
