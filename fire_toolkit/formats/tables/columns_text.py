"""Columns as text and rows as lines, by Arrow's functions on whole columns instead of cell by cell."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute

Texts = Any  # a pyarrow.LargeStringArray without missing values
Marked = Callable[[Texts], Texts]

_ROWS_AT_ONCE = 1 << 16


def field_texts(values: pd.Series, *, nan: str = "", marked: Marked = lambda texts: texts) -> Texts:
    """Return a column's fields as text, each as `field_text` returns it.

    Args:
        values: any column. Text, categories, numbers and booleans are converted at once, others cell by cell.
        nan: the text for NaN.
        marked: what is done to texts that may hold marks of the format (quotes, say); where values repeat
            it gets each of them once.
    """
    dtype: Any = values.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        distinct = [*field_texts(pd.Series(values.cat.categories), nan=nan).to_pylist(), nan]
        codes = values.cat.codes.to_numpy().astype(np.int64)
        return marked(_texts(distinct)).take(pa.array(codes % len(distinct)))
    if isinstance(dtype, pd.StringDtype) and dtype.storage == "pyarrow":
        texts = _whole(pa.array(values.array)).cast(pa.large_string())
        return marked(texts.fill_null("" if dtype.na_value is pd.NA else nan))
    if pd.api.types.is_bool_dtype(dtype):
        return _filled(compute.if_else(pa.array(values.array), _one("True"), _one("False")))
    if pd.api.types.is_integer_dtype(dtype):
        return _filled(pa.array(values.array).cast(pa.large_string()))
    if dtype in (np.float64, np.float32):
        return _float_texts(values.to_numpy(dtype=np.float64), nan)
    return marked(_texts([field_text(value, nan) for value in values]))


def field_text(value: Any, nan: str = "") -> str:
    """Return one field: floats with the fewest digits that read back equal; a missing value is empty."""
    if value is None or value is pd.NA:
        return ""
    if isinstance(value, float):
        return nan if math.isnan(value) else repr(float(value))
    return str(value)


def _float_texts(numbers: Any, nan: str) -> Texts:
    """Return floats as text; equal bits are written once, so that 0.0 and -0.0 stay apart."""
    codes, bits = pd.factorize(numbers.view(np.int64))
    distinct = bits.view(np.float64).tolist()
    return _texts([field_text(number, nan) for number in distinct]).take(pa.array(codes))


def _texts(texts: Sequence[str]) -> Texts:
    return pa.array(texts, pa.large_string())


def _one(text: str) -> Any:
    return pa.scalar(text, pa.large_string())


def _whole(found: Any) -> Any:
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def _filled(texts: Any) -> Texts:
    return _whole(texts).fill_null("")


def changed(texts: Texts, change: Callable[[str], str]) -> Texts:
    """Return the texts with `change` applied to each; equal texts are changed once."""
    coded = texts.dictionary_encode()
    return _texts([change(text) for text in coded.dictionary.to_pylist()]).take(coded.indices)


def data_of(texts: Texts) -> bytes:
    """Return the bytes of all texts, one after the other."""
    if not len(texts):
        return b""
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[[texts.offset, texts.offset + len(texts)]]
    return data[int(ends[0]) : int(ends[1])].to_pybytes() if data else b""


def joined_lines(parts: Sequence[Texts | str]) -> list[bytes]:
    """Return blocks of rows: the parts of each row, one after the other, and a line end.

    Args:
        parts: columns of equal length, at least one, and texts that every row has.
    """
    n_rows = max(len(part) for part in parts if not isinstance(part, str))
    blocks = []
    for start in range(0, n_rows, _ROWS_AT_ONCE):
        block = [_one(part) if isinstance(part, str) else part.slice(start, _ROWS_AT_ONCE) for part in parts]
        blocks.append(data_of(compute.binary_join_element_wise(*block, _one("\n"), _one(""))))
    return blocks
