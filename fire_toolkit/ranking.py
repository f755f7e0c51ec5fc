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
            rows = table[table["run_id"] == run_id]
            found[run_id] = Run(rows.reset_index(drop=True))
    return found


def top_of_rows(scores: npt.NDArray[Any], depth: int, tie_codes: Ints) -> tuple[Ints, Ints]:
    """Return row and column indices of the `depth` best columns of each row, in rank order.

    Args:
        scores: queries × docs, finite.
        depth: how many columns a row keeps (all, when the matrix has fewer).
        tie_codes: one integer a column; among equal scores the higher code comes first.

    Exact under ties: the depth-th largest value bounds the candidates, which are then sorted.
    """
    n_docs = scores.shape[1]
    depth = min(depth, n_docs)
    if depth == 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    bound = np.partition(scores, n_docs - depth, axis=1)[:, n_docs - depth]
    rows, columns = np.nonzero(scores >= bound[:, None])
    order = np.lexsort([-tie_codes[columns], -scores[rows, columns].astype(np.float64), rows])
    rows, columns = rows[order], columns[order]
    kept = _place_in_group(rows) <= depth
    return rows[kept], columns[kept]
