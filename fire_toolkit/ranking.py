"""The one ordering rule: score descending, then doc id descending (trec_eval's rule).

Every run, pool and measure orders by it. Ids are compared by code point, which is the byte order of
their UTF-8 form. The rank that a file gives is never used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fire_toolkit.errors import TableError
from fire_toolkit.tables import RUN, Run, check_run

Ints = npt.NDArray[np.int64]


def rank_run(scored: pd.DataFrame, *, where: str = "run") -> Run:
    """Return `scored` as a Run: ranks 1..n by score descending, ties by doc id descending.

    Args:
        scored: columns run_id, query_id, doc_id (text or category) and score (finite); a column
            rank is ignored.
        where: what the table is called in an error.

    Raises:
        TableError: a score is NaN or infinite, a doc stands twice under a query, an id is not text.

    Examples:
        >>> rank_run(pd.DataFrame({"run_id": "m", "query_id": "q", "doc_id": ["a", "b"], "score": [1, 1]}))
          run_id query_id doc_id  rank  score
        0      m        q      b     1    1.0
        1      m        q      a     2    1.0
    """
    checked = check_run(scored.assign(rank=1), where=where)
    codes = [checked[name].cat.codes.to_numpy() for name in ("doc_id", "query_id", "run_id")]
    score = checked["score"].to_numpy()
    order = np.lexsort([-codes[0].astype(np.int64), -score, codes[1], codes[2]])
    ordered = checked.iloc[order].reset_index(drop=True)
    ordered["rank"] = _place_in_group(codes[2][order], codes[1][order])
    return Run(ordered[list(RUN.names)])


def _place_in_group(*codes: npt.NDArray[Any]) -> Ints:
    """Return 1, 2, ... within each stretch of rows that agree in all of `codes`."""
    rows = np.arange(len(codes[0]))
    is_first = np.zeros(len(rows), dtype=bool)
    is_first[:1] = True
    for code in codes:
        is_first[1:] |= code[1:] != code[:-1]
    return np.asarray(rows - np.maximum.accumulate(np.where(is_first, rows, 0)) + 1, dtype=np.int64)


def top(run: Run, depth: int) -> Run:
    """Return the rows of `run` whose rank is at most `depth` (1 or more)."""
    return Run(run[run["rank"] <= depth].reset_index(drop=True))


def split_runs(runs: Run | Sequence[Run]) -> dict[str, Run]:
    """Return each run by its id, in the order given; a Run table may hold several.

    Raises:
        TableError: two tables hold a run of the same id.
    """
    tables = [runs] if isinstance(runs, pd.DataFrame) else list(runs)
    found: dict[str, Run] = {}
    for table in tables:
        for run_id in table["run_id"].cat.categories:
            if run_id in found:
                raise TableError(f"run {run_id!r} is given twice; give each run an id of its own")
            if len(table["run_id"].cat.categories) == 1:
                found[run_id] = table
            else:
                found[run_id] = Run(table[table["run_id"] == run_id].reset_index(drop=True))
    return found


def top_of_rows(scores: npt.NDArray[Any], depth: int, tie_codes: Ints) -> tuple[Ints, Ints]:
    """Return row and column indices of the `depth` best columns of each row, in rank order.

    Args:
        scores: queries × docs, finite or minus infinity.
        depth: how many columns a row keeps (all, when the matrix has fewer).
        tie_codes: one different integer from 0 a column, or one a cell; among equal scores the higher
            code comes first.

    Exact under ties. The depth-th largest of the maxima of groups of columns bounds the depth-th largest
    score from below; what reaches the bound is sorted.
    """
    if scores.dtype.kind != "f":
        scores = scores.astype(np.float64)
    n_docs = scores.shape[1]
    depth = min(depth, n_docs)
    if depth == 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    if depth == n_docs:
        rows, columns = (index.ravel() for index in np.indices(scores.shape))
    else:
        is_candidate = scores >= _lower_bounds(scores, depth)[:, None]
        rows, columns = np.divmod(np.flatnonzero(is_candidate.ravel()), n_docs)
    codes = tie_codes[columns] if tie_codes.ndim == 1 else tie_codes[rows, columns]
    values = scores[rows, columns] + scores.dtype.type(0)  # -0.0 equals 0.0 and becomes it
    order = best_of_rows(rows, values, codes, n_rows=len(scores), depth=depth)
    return rows[order], columns[order]


def _lower_bounds(scores: npt.NDArray[Any], depth: int) -> npt.NDArray[Any]:
    """Return for each row a value that at least `depth` of its scores reach."""
    n_docs = scores.shape[1]
    n_groups = next((depth * each for each in (8, 4, 2) if n_docs >= 3 * depth * each), n_docs)
    width = n_docs // n_groups
    if width > 1:
        whole = scores[:, : width * n_groups].reshape(len(scores), width, n_groups)
        scores = np.maximum(whole.max(axis=1), _padded(scores[:, width * n_groups :], n_groups))
    bounds: npt.NDArray[Any] = np.partition(scores, -depth, axis=1)[:, -depth]
    return bounds


def _padded(rest: npt.NDArray[Any], width: int) -> npt.NDArray[Any]:
    return np.pad(rest, ((0, 0), (0, width - rest.shape[1])), constant_values=-np.inf)


def best_of_rows(
    rows: Ints, values: npt.NDArray[Any], codes: Ints, *, n_rows: int, depth: int
) -> npt.NDArray[np.intp]:
    """Return the places of the `depth` best entries of each row, rows in order, best first.

    Args:
        rows: ascending, the row of each entry.
        values: the score of each entry, without NaN and -0.0.
        codes: from 0; among equal scores of a row the higher comes first.
        n_rows: how many rows there are; some may have no entry.
        depth: how many entries a row keeps, fewer where it has fewer.

    Rows of about equally many float32 entries are sorted together, score and code packed into one
    integer; others one entry at a time.
    """
    counts = np.bincount(rows, minlength=n_rows)
    widest = int(counts.max(initial=0))
    is_ragged = n_rows * widest > 4 * len(rows) + 64 * n_rows
    if values.dtype != np.float32 or is_ragged or int(codes.max(initial=0)) >= 2**32:
        order = np.lexsort([-codes, -values.astype(np.float64), rows])
        return np.asarray(order[_place_in_group(rows[order]) <= depth], dtype=np.intp)
    starts = np.cumsum(counts) - counts
    place = np.arange(len(rows)) - np.repeat(starts, counts)
    bits = values.view(np.uint32)
    ordered = np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31)).astype(np.uint64)
    keys = np.zeros((n_rows, widest), dtype=np.uint64)  # below every key of a number
    keys[rows, place] = (ordered << np.uint64(32)) | codes.astype(np.uint64)
    best = np.argsort(keys, axis=1)[:, : -min(depth, widest) - 1 : -1]
    kept = best < counts[:, None]
    return np.asarray((starts[:, None] + best)[kept], dtype=np.intp)
