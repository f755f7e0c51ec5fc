"""The one ordering rule: score descending, then doc id descending (trec_eval's rule).

Every run, pool and measure orders by it. Ids are compared by code point, which is the byte order of
their UTF-8 form. The rank that a file gives is never used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fire_toolkit.arrays import Ints, are_among, are_firsts, rows_of_lists, starts_of_groups
from fire_toolkit.errors import TableError
from fire_toolkit.tables import Run, check_run
from fire_toolkit.tables.checks import check_table

_SCORED = replace(  # a run without ranks
    check_run.spec,
    columns=tuple(each for each in check_run.spec.columns if each.name != "rank"),
    order=("run_id", "query_id"),
)
_CHUNK_CELLS = 1 << 20
_SORTED_FROM = 2  # cells a row from which on rows are sorted, which takes the same for any number of them
LEAST_SHARED = 0.5  # a run with fewer of the queries than this share is a run for something else


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
    checked = check_table(_SCORED, scored, where=where)
    starts = starts_of_groups(checked["run_id"].array.codes, checked["query_id"].array.codes)
    lengths = np.diff(starts, append=len(checked))
    score, doc = checked["score"].to_numpy(), checked["doc_id"].array.codes
    is_first, rises = are_firsts(score), score[1:] > score[:-1]
    rises[starts[1:] - 1] = False
    if rises.any():  # such lists are sorted whole, others within their ties
        of_row = np.repeat(np.arange(len(starts)), lengths)
        is_first &= ~are_among(of_row[1:][rises], len(starts))[of_row]
    is_first[starts] = True
    is_out = np.append(False, ~is_first[1:] & (rises | ((score[1:] == score[:-1]) & (doc[1:] > doc[:-1]))))
    if is_out.any():
        rows = np.flatnonzero(~is_first | np.append(~is_first[1:], False))  # of parts of more than one
        part = np.cumsum(is_first[rows]) - 1
        is_moved = are_among(part[is_out[rows]], part[-1] + 1)[part]
        rows, part = rows[is_moved], part[is_moved]
        order = rows[np.lexsort([-doc[rows].astype(np.int64), -score[rows], part])]
        score, doc = score.copy(), doc.copy()
        score[rows], doc[rows] = score[order], doc[order]
    docs = pd.Categorical.from_codes(doc, checked["doc_id"].cat.categories, validate=False)
    made = {"doc_id": docs, "rank": rows_of_lists(1, lengths), "score": score}
    return Run(pd.DataFrame({**checked[["run_id", "query_id"]], **made}, copy=False))


def top(run: Run, depth: int) -> Run:
    """Return the rows of `run` whose rank is at most `depth` (1 or more), above their list's first gap."""
    rank, (start, stop) = run["rank"].to_numpy(), ends_of_lists(run)
    kept = rank <= depth
    if (rank[stop - 1] != stop - start).any():
        kept &= rank <= np.repeat(ranked_lengths(rank, start, stop), stop - start)
    return run if kept.all() else Run(run[kept].reset_index(drop=True))


def ends_of_lists(run: pd.DataFrame) -> tuple[Ints, Ints]:
    """Return the first row of each list, and one past its last."""
    starts = starts_of_groups(run["run_id"].array.codes, run["query_id"].array.codes)
    return starts, np.append(starts[1:], len(run))[: len(starts)]


def ranked_lengths(rank: npt.NDArray[Any], start: Ints, stop: Ints) -> Ints:
    """Return how many docs of each list were ranked: those at the ranks 1, 2, 3, ... before the first gap.

    This is the one place where it is decided how deep a list is. A run may hold positives at their exact
    ranks below its top; what stands between them is not known.

    Args:
        rank: of each row, ascending within a list.
        start, stop: the first row of each list, and one past its last.

    Examples:
        >>> ranked_lengths(np.array([1, 2, 3, 7, 1, 2]), np.array([0, 4]), np.array([4, 6]))
        array([3, 2])
    """
    low: Any = np.zeros(len(start), dtype=np.int64)
    high: Any = stop - start
    while (is_open := low < high).any():  # by halves, as ranks ascend
        middle = (low + high) // 2
        is_in_place = is_open & (rank.take(start + middle, mode="clip") == middle + 1)
        low, high = np.where(is_in_place, middle + 1, low), np.where(is_in_place, high, middle)
    return np.asarray(low)


def run_depth(n_ranked: Ints, last_rank: Ints) -> int:
    """Return the depth of a run: its longest list or, where positives stand below its top, the top.

    The top is the shortest of the lists with positives below it: one right below it makes a list longer.

    Args:
        n_ranked: of each list, see `ranked_lengths`; 0 where the run lacks the query.
        last_rank: of each list.
    """
    tops = n_ranked[(n_ranked < last_rank) & (n_ranked > 0)]
    return int(tops.min()) if tops.size else int(n_ranked.max(initial=0))


def split_runs(runs: Any) -> dict[str, Any]:
    """Return each run by its id, in the order given; a Run table may hold several.

    runs: one or more Run tables, or runs that are not in memory, which stay as they are.

    Raises:
        TableError: two runs have one id.
    """
    found: dict[str, Any] = {}
    for each in runs if isinstance(runs, Sequence) else [runs]:
        is_table = isinstance(each, pd.DataFrame)
        for run_id in each["run_id"].cat.categories if is_table else [each.run_id]:
            if run_id in found:
                raise TableError(f"run {run_id!r} is given twice; give each run an id of its own")
            is_whole = not is_table or len(each["run_id"].cat.categories) == 1
            found[run_id] = each if is_whole else each[each["run_id"] == run_id].reset_index(drop=True)
    return found


def run_ids(runs: Any) -> list[str]:
    """Return the ids of runs, one or several, tables or stored ones; of one without rows it is empty."""
    found: list[str] = []
    for run in [runs] if isinstance(runs, pd.DataFrame) or hasattr(runs, "run_id") else runs:
        is_table = isinstance(run, pd.DataFrame)
        found += [str(each) for each in run["run_id"].unique()] or [""] if is_table else [str(run.run_id)]
    return found


def top_of_rows(scores: npt.NDArray[Any], depth: int, tie_codes: Ints) -> Ints:
    """Return the `depth` best columns of each row, in rank order.

    Args:
        scores: queries × docs, floats, finite or minus infinity.
        depth: how many columns a row keeps (all, when the matrix has fewer).
        tie_codes: the integers from 0, one a column; among equal scores the higher code comes first.

    Exact under ties. The depth-th largest of the maxima of groups of columns bounds the depth-th largest
    score from below; what reaches the bound is sorted. Rows of about equally many float32 entries are sorted
    together, score and code packed into one integer; others one entry at a time.
    """
    n_rows, n_docs = scores.shape
    depth = min(depth, n_docs)
    if depth == n_docs:
        rows, columns = (index.ravel() for index in np.indices(scores.shape))
    else:
        n_groups = next((depth * each for each in (8, 4, 2) if n_docs >= 3 * depth * each), n_docs)
        width, best = n_docs // n_groups, scores
        if width > 1:
            whole = scores[:, : width * n_groups].reshape(len(scores), width, n_groups)
            rest = scores[:, width * n_groups :]
            pads = (0, 0), (0, n_groups - rest.shape[1])
            best = np.maximum(whole.max(axis=1), np.pad(rest, pads, constant_values=-np.inf))
        is_candidate = scores >= np.partition(best, -depth, axis=1)[:, -depth, None]
        rows, columns = np.divmod(np.flatnonzero(is_candidate.ravel()), n_docs)
    codes = tie_codes[columns]
    values = scores[rows, columns] + scores.dtype.type(0)  # -0.0 equals 0.0 and becomes it
    counts = np.bincount(rows, minlength=n_rows)
    widest, place = int(counts.max(initial=0)), rows_of_lists(0, counts)
    is_ragged = n_rows * widest > 4 * len(rows) + 64 * n_rows
    if values.dtype != np.float32 or is_ragged or int(codes.max(initial=0)) >= 2**32:
        order = np.lexsort([-codes, -values.astype(np.float64), rows])[place < depth]
        return np.asarray(columns[order].reshape(n_rows, depth))
    bits = values.view(np.uint32)
    ordered = np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31)).astype(np.uint64)
    keys = np.zeros((n_rows, widest), dtype=np.uint64)  # below every key of a number
    keys[rows, place] = (ordered << np.uint64(32)) | codes.astype(np.uint64)
    keys.sort(axis=1)
    column_of = np.empty(len(tie_codes), dtype=np.int64)
    column_of[codes] = columns
    return np.asarray(column_of[keys[:, : -depth - 1 : -1] & np.uint64(2**32 - 1)])


def ranks_in_rows(scores: npt.NDArray[Any], rows: Ints, columns: Ints, tie_codes: Ints) -> Ints:
    """Return of each cell its rank in its row, that of the first cell equal to it, and how many are equal.

    Args:
        scores: queries × docs, finite or minus infinity.
        rows, columns: of the cells.
        tie_codes: one different integer a column; among equal scores the higher code comes first.
    """
    if rows.size < _SORTED_FROM * len(scores):
        return _ranks_by_comparing(scores, rows, columns, tie_codes)
    found = np.ones((3, rows.size), dtype=np.int64)
    n_columns, by_row = scores.shape[1], np.argsort(rows, kind="stable")
    step = max(1, _CHUNK_CELLS // max(1, n_columns))
    # By each cell's place in its sorted row; tied ones are compared.
    for start in range(0, len(scores), step):
        part = by_row[slice(*np.searchsorted(rows, (start, start + step), sorter=by_row))]
        values, begin = scores[rows[part], columns[part]], (rows[part] - start) * n_columns
        ordered = np.sort(scores[start : start + step], axis=1).ravel()
        place = _places_in_sorted(ordered, begin, n_columns, values)
        found[:2, part] = rank = begin + n_columns - place
        tied = part[(rank > 1) & (ordered.take(place + 1, mode="clip") == values)]
        found[:, tied] = _ranks_by_comparing(scores, rows[tied], columns[tied], tie_codes)
    return found


def _places_in_sorted(ordered: npt.NDArray[Any], begin: Ints, length: int, values: npt.NDArray[Any]) -> Ints:
    """Return of each value its first place among the `length` from `begin`, which ascend; it is one of them.

    A search by halves, for all values at once.
    """
    place = begin.copy()
    while length > 1:
        half = length // 2
        place += half * (ordered.take(place + (half - 1)) < values)
        length -= half
    return place


def _ranks_by_comparing(scores: npt.NDArray[Any], rows: Ints, columns: Ints, tie_codes: Ints) -> Ints:
    """Return what `ranks_in_rows` does, by a look at the whole row of each cell."""
    found = np.empty((3, rows.size), dtype=np.int64)
    step = max(1, _CHUNK_CELLS // max(1, scores.shape[1]))
    for start in range(0, rows.size, step):
        part = slice(start, start + step)
        lines, column = scores[rows[part]], columns[part]
        score = lines[np.arange(len(column)), column][:, None]
        equal, (rank, first, n_equal) = lines == score, found[:, part]
        rank[:] = first[:] = 1 + (lines > score).sum(axis=1)
        n_equal[:] = equal.sum(axis=1)
        tied = np.flatnonzero(n_equal > 1)
        rank[tied] += (equal[tied] & (tie_codes > tie_codes[column[tied]][:, None])).sum(axis=1)
    return found
