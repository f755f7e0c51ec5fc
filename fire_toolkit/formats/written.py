"""What a file holds by its name: a table as CSV, TSV, Parquet or TREC qrels, a plot's spec as the plot."""

from pathlib import Path
from typing import Any

import pandas as pd

from fire_toolkit.errors import UsageError
from fire_toolkit.formats.runs.trec import trec_qrels_text
from fire_toolkit.formats.tables.delimited import delimited_bytes
from fire_toolkit.tables import Qrels, Run


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
        from fire_toolkit.formats.tables.table_text import parquet_bytes  # heavy

        return parquet_bytes(content)
    if name.endswith(".parquet"):
        from fire_toolkit.formats.runs.native import run_bytes  # heavy

        return run_bytes(Run(content))
    if name.endswith((".csv", ".tsv")):
        return delimited_bytes(content, delimiter="\t" if name.endswith(".tsv") else ",")
    if "relevance" not in content:
        raise UsageError(f"{name}: expected a name that ends in .csv or .tsv for this table")
    return trec_qrels_text(Qrels(content))
