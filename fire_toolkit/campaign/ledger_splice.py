"""Judgments of a part of a ledger put in the place of those that a file has of the same pairs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.formats.tables.delimited import delimited_bytes, parse_delimited
from fire_toolkit.tables.columns import PAIR


def spliced(
    file: bytes, rows: pd.DataFrame, *, order: Sequence[str], pairs: Collection[tuple[str, str]]
) -> bytes | None:
    """Return a CSV file with other rows of some pairs, as if it were written anew from all rows.

    Args:
        file: as `delimited_bytes` wrote it, its rows in `order`.
        rows: all that it is to have of these pairs, in `order`; of no other pair.
        order: columns, which with the same values in two rows are all that these have.
        pairs: query and doc ids.

    Returns:
        The bytes; None where the columns differ, or a row of the file is no line.
    """
    import pyarrow as pa
    from pyarrow import compute

    own = delimited_bytes(rows)
    head = file[: file.find(b"\n") + 1]
    if not own.startswith(head):
        return None
    keys = [columns_of(text, order) for text in (file, own)]
    lines = [_lines_of(text) for text in (file, own)]
    if [*map(len, keys)] != [*map(len, lines)]:
        return None
    if not pairs:
        return file
    stays = ~_are_of(keys[0], pairs)
    kept, added = keys[0][stays], keys[1]
    both = pa.table({name: pa.array(pd.concat([kept[name], added[name]]), pa.string()) for name in order})
    by_order = compute.sort_indices(both, sort_keys=[(name, "ascending") for name in order])
    all_lines = pa.concat_arrays([lines[0].filter(pa.array(stays)), lines[1]])
    return head + b"".join(all_lines.take(by_order).to_pylist())


def columns_of(text: bytes, names: Sequence[str]) -> pd.DataFrame:
    """Return columns of a CSV file that this toolkit wrote, as text."""
    return parse_delimited(text, "the file", only=names)


def _lines_of(text: bytes) -> Any:
    """Return the lines after the first, with their ends, as an Arrow array on the same bytes."""
    import pyarrow as pa

    ends = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n")) + 1
    offsets = pa.py_buffer(ends.astype(np.int64))
    return pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(ends) - 1, [None, offsets, pa.py_buffer(text)]
    )


def _are_of(keys: pd.DataFrame, pairs: Collection[tuple[str, str]]) -> Any:
    """Return which rows are of one of the pairs."""
    is_like = keys[PAIR[0]].isin([query for query, _ in pairs]) & keys[PAIR[1]].isin(
        [doc for _, doc in pairs]
    )
    places = np.flatnonzero(is_like)
    found = zip(*(keys[name].iloc[places] for name in PAIR), strict=True)
    wanted = set(pairs)
    are = np.zeros(len(keys), dtype=np.bool_)
    are[places] = [pair in wanted for pair in found]
    return are
