"""Columns as text and rows as lines, by Arrow's functions on whole columns instead of cell by cell."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute

from fire_toolkit.tables.columns import arrow_text, bytes_of

Texts = Any  # a pyarrow.LargeStringArray without missing values
Marked = Callable[[Texts], Texts]

_ROWS_AT_ONCE = 1 << 16


def field_texts(values: pd.Series, *, nan: str = "", marked: Marked = lambda texts: texts) -> Texts:
    """Return a column's fields as text: floats with the fewest digits that read back equal, none if missing.

    Args:
        values: any column. Text and whole numbers are converted at once, of categories, other numbers and
            booleans each distinct one, anything else cell by cell.
        nan: the text for NaN.
        marked: what is done to texts that may hold marks of the format (quotes, say); where values repeat
            it gets each of them once.
    """
    dtype: Any = values.dtype
    if isinstance(dtype, pd.StringDtype) and dtype.storage == "pyarrow":
        return marked(arrow_text(values.array).fill_null("" if dtype.na_value is pd.NA else nan))
    if pd.api.types.is_integer_dtype(dtype):
        return arrow_text(pa.array(values.array)).fill_null("")
    codes: Any
    if dtype in (np.float64, np.float32):  # equal bits are written once, so that 0.0 and -0.0 stay apart
        codes, bits = pd.factorize(values.to_numpy(dtype=np.float64).view(np.int64))
        distinct = bits.view(np.float64).tolist()
    elif isinstance(dtype, pd.CategoricalDtype):
        codes, found = pd.factorize(values, use_na_sentinel=False)
        distinct = list(found)
    elif pd.api.types.is_bool_dtype(dtype):
        codes, distinct = values.astype("Int8").fillna(2).to_numpy(), [False, True, None]
    else:
        codes, distinct = np.arange(len(values)), list(values)
    texts = ["" if value is None or value is pd.NA else str(value) for value in distinct]
    for place, value in enumerate(distinct):
        if isinstance(value, float):
            texts[place] = nan if math.isnan(value) else repr(float(value))
    return marked(pa.array(texts, pa.large_string())).take(pa.array(codes))


def changed(texts: Texts, change: Callable[[str], str]) -> Texts:
    """Return the texts with `change` applied to each; equal texts are changed once."""
    coded = texts.dictionary_encode()
    return pa.array(map(change, coded.dictionary.to_pylist()), pa.large_string()).take(coded.indices)


def joined_lines(parts: Sequence[Texts | str]) -> list[bytes]:
    """Return blocks of rows: the parts of each row, one after the other, and a line end.

    Args:
        parts: columns of equal length, at least one, and texts that every row has.
    """
    n_rows = max(len(part) for part in parts if not isinstance(part, str))
    *parts, nothing = (
        pa.scalar(part, pa.large_string()) if isinstance(part, str) else part for part in (*parts, "\n", "")
    )
    blocks = []
    for start in range(0, n_rows, _ROWS_AT_ONCE):
        block = [part if isinstance(part, pa.Scalar) else part.slice(start, _ROWS_AT_ONCE) for part in parts]
        blocks.append(bytes_of(compute.binary_join_element_wise(*block, nothing)))
    return blocks
