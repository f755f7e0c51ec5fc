"""A run from a matrix in memory, ranked as `add-run` ranks the same matrix in a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.errors import FormatError, TableError, UsageError
from fire_toolkit.formats.arrays.matrix import Array
from fire_toolkit.formats.ids import id_texts
from fire_toolkit.formats.runs.ingest import Request, ingest_arrays
from fire_toolkit.formats.runs.named_arrays import arrays_in
from fire_toolkit.formats.runs.ranked import QUERIES_ROWS
from fire_toolkit.formats.runs.score_anomalies import parse_allowances
from fire_toolkit.tables import Qrels, Run

_WHERE = Path("run_from_matrix")


def run_from_matrix(
    sims: Any,
    query_ids: Sequence[str],
    doc_ids: Sequence[str],
    run_id: str,
    *,
    depth: int = 100,
    qrels: Qrels | None = None,
    allow: str = "",
) -> Run:
    """Return a matrix of scores as a Run: what `add-run` makes of the same matrix in a file.

    Args:
        sims: queries × docs, the higher the better: an array, a tensor, nested lists; a DataFrame whose
            rows and columns are the ids, or are numbered from 0.
        query_ids: the ids of the rows, in their order; whole numbers become their digits.
        doc_ids: the ids of the columns, in their order.
        run_id: what the run is called.
        depth: how many docs of each query are kept, 1 or more.
        qrels: their positives are kept at any rank, each with its exact rank in the whole row. None: the
            top alone.
        allow: what `add-run --allow` takes: `nan`, `inf`, `flood`, `constant`, `duplicates`, joined by
            commas.

    Returns:
        A Run by query id and rank; equal scores by doc id, descending.

    Raises:
        FormatError: no matrix of numbers, or its shape or labels do not fit the ids, or an id is given twice.
        TableError: an id is invalid, or the scores have anomalies that are not allowed (see `allow`).
        UsageError: `depth` is below 1, or `allow` names nothing known.

    Examples:
        >>> import numpy as np
        >>> sims = np.array([[0.9, 0.1, 0.4], [0.2, 0.2, 0.7]], dtype=np.float32)
        >>> run_from_matrix(sims, ["q1", "q2"], ["a", "b", "c"], "clip", depth=2)
          run_id query_id doc_id  rank  score
        0   clip       q1      a     1    0.9
        1   clip       q1      c     2    0.4
        2   clip       q2      c     1    0.7
        3   clip       q2      b     2    0.2
    """
    if depth < 1:
        raise UsageError(f"run_from_matrix: depth is {depth}, expected 1 or more")
    ids = [id_texts(query_ids, "query_ids"), id_texts(doc_ids, "doc_ids")]
    arrays = arrays_in({"sims": _array(sims)}, _WHERE)
    _refuse_other_labels(sims, ids)
    given: Any = {"query_ids": ids[0], "doc_ids": ids[1], "orientation": QUERIES_ROWS}
    request = Request(run_id=run_id, qrels=qrels, depth=depth, allow=parse_allowances(allow), **given)
    try:
        return ingest_arrays(arrays, _WHERE, request).run
    except TableError as error:
        raise TableError(str(error).replace("--allow ", "allow=")) from None


def _refuse_other_labels(sims: Any, axes: Sequence[Sequence[str]]) -> None:
    """Raise FormatError where a DataFrame names its rows or columns otherwise than the ids."""
    if not isinstance(sims, pd.DataFrame):
        return
    for what, labels, ids in zip(("row", "column"), sims.axes, axes, strict=True):
        if labels.equals(pd.RangeIndex(len(ids))):
            continue
        for place, (label, given) in enumerate(zip(labels, ids, strict=True)):
            if str(label) != given:
                raise FormatError(
                    f"run_from_matrix: {what} {place} of sims is {str(label)!r}, but its id is {given!r}: "
                    "give the ids in the order of sims, or sims.to_numpy() if its labels mean nothing"
                )


def _array(sims: Any) -> Array:
    if hasattr(sims, "detach"):  # a tensor, on any device
        sims = sims.detach().cpu()
        sims = sims.float() if str(sims.dtype) == "torch.bfloat16" else sims
    try:
        values = np.asarray(sims)
    except (TypeError, ValueError) as error:
        raise FormatError(f"run_from_matrix: sims cannot be read as a matrix ({error})") from None
    return values
