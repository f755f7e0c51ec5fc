"""How a table is written: as CSV, TSV, TREC qrels or Parquet, by its name; a plot's spec as the plot."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute

from fire_toolkit.errors import UsageError
from fire_toolkit.tables import Qrels, Run
from fire_toolkit.tables.columns import Texts, arrow_text, bytes_of

_ROWS_WRITTEN_AT_ONCE, _ROWS_JOINED_AT_ONCE = 1 << 20, 1 << 16
_FEW = 100  # different whole numbers, each of which is spelled once


def as_text(name: str, content: pd.DataFrame | dict[str, Any] | str | bytes) -> str | bytes:
    """Return a file's text, made of a table, or of a plot's spec, as the file's name says.

    Raises:
        UsageError: no format for this table has such a name.
    """
    if isinstance(content, str | bytes):
        return content
    if isinstance(content, dict):
        from fire_toolkit.formats.plot_files import plot_bytes, width_of  # heavy

        return plot_bytes(content, Path(name).suffix, width=width_of(name))
    if name.endswith("evidence.parquet"):
        return parquet_bytes(content)
    if name.endswith(".parquet"):
        from fire_toolkit.formats.runs.native import run_bytes  # heavy

        return run_bytes(Run(content))
    if name.endswith((".csv", ".tsv")):
        return delimited_bytes(content, delimiter="\t" if name.endswith(".tsv") else ",")
    if "relevance" not in content:
        raise UsageError(f"{name}: expected a name that ends in .csv or .tsv for this table")
    return trec_qrels_text(Qrels(content))


def parquet_bytes(table: pd.DataFrame) -> bytes:
    """Return a table as Parquet, the same bytes for the same table: types survive, 007 too, and checksums."""
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    arrow = pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(None)
    pq.write_table(arrow, buffer, compression="zstd", write_page_checksum=True)
    return buffer.getvalue()


def delimited_text(table: pd.DataFrame, *, delimiter: str = ",", nan: str = "") -> str:
    """Return `table` as `delimited_bytes` does, as text."""
    return delimited_bytes(table, delimiter=delimiter, nan=nan).decode()


def delimited_bytes(table: pd.DataFrame, *, delimiter: str = ",", nan: str = "") -> bytes:
    r"""Return `table` as CSV (or TSV) in UTF-8 with a header line and `\n` line ends.

    Floats are written with the fewest digits that read back equal; a missing value is an empty
    field, NaN in a float column is `nan`. A field with a delimiter, a quote or a line end is quoted; where
    texts of a TSV hold tabs and line ends, all fields are, since a row could be taken for several.
    """
    quotes_all = delimiter == "\t" and any(
        b"\t" in (data := bytes_of(field_texts(values, nan=nan))) and (b"\n" in data or b"\r" in data)
        for _, values in table.items()
    )
    lines, marks = list[bytes](), (delimiter, '"', "\r", "\n")
    for start in range(0, max(1, len(table)), _ROWS_WRITTEN_AT_ONCE):
        columns = list[Texts]()
        for name, values in table.iloc[start : start + _ROWS_WRITTEN_AT_ONCE].items():
            texts = field_texts(values, nan=nan)
            if not start:  # the header is the first row
                texts = pa.concat_arrays([pa.array([str(name)], pa.large_string()), texts])
            data = bytes_of(texts)
            if quotes_all or any(mark.encode() in data for mark in marks):
                coded = texts.dictionary_encode()
                distinct = coded.dictionary.to_pylist()
                for place, text in enumerate(distinct):
                    if quotes_all or any(mark in text for mark in marks):
                        distinct[place] = '"' + text.replace('"', '""') + '"'
                texts = pa.array(distinct, pa.large_string()).take(coded.indices)
            columns.append(texts)
        lines += joined_lines(columns, between=delimiter)
    return b"".join(lines)


def trec_qrels_text(qrels: Qrels) -> str:
    """Return Qrels as TREC text in the order of the table: four columns, or five with strata.

    A pair without a stratum has `-` there.
    """
    if qrels.empty:
        return ""
    query, doc, relevance = (field_texts(qrels[name]) for name in ("query_id", "doc_id", "relevance"))
    strata = [field_texts(qrels["stratum"].replace("", "-").fillna("-")), " "] if "stratum" in qrels else []
    return b"".join(joined_lines([query, " 0 ", doc, " ", *strata, relevance])).decode()


def field_texts(values: pd.Series, *, nan: str = "") -> Texts:
    """Return a column's fields as text: floats with the fewest digits that read back equal, none if missing.

    Args:
        values: any column. Text and whole numbers are converted at once, of few numbers, categories, other
            numbers and booleans each distinct one, anything else cell by cell.
        nan: the text for NaN.
    """
    dtype: Any = values.dtype
    if isinstance(dtype, pd.StringDtype) and dtype.storage == "pyarrow":
        return arrow_text(values.array).fill_null("" if dtype.na_value is pd.NA else nan)
    if pd.api.types.is_integer_dtype(dtype):
        numbers = pa.array(values.array)
        low, high = compute.min_max(numbers).as_py().values()
        if low is None or high - low >= _FEW:
            return arrow_text(numbers).fill_null("")
        each = pa.array(range(low, high + 1), numbers.type)
        return arrow_text(each).take(compute.subtract(numbers, each[0])).fill_null("")
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
    return pa.array(texts, pa.large_string()).take(pa.array(codes))


def joined_lines(parts: Sequence[Texts | str], *, between: str = "") -> list[bytes]:
    """Return blocks of rows: the parts of each row, one after the other, and a line end.

    Args:
        parts: columns of equal length, at least one, and texts that every row has.
        between: the text between two parts.
    """
    n_rows = max(len(part) for part in parts if not isinstance(part, str))
    *parts, mark, end, nothing = (
        pa.scalar(part, pa.large_string()) if isinstance(part, str) else part
        for part in (*parts, between, "\n", "")
    )
    blocks = []
    for start in range(0, n_rows, _ROWS_JOINED_AT_ONCE):
        block = [
            part if isinstance(part, pa.Scalar) else part.slice(start, _ROWS_JOINED_AT_ONCE) for part in parts
        ]
        rows = compute.binary_join_element_wise(*block, mark)
        blocks.append(bytes_of(compute.binary_join_element_wise(rows, nothing, end)))
    return blocks
