"""The compiled loops. Each has a plain NumPy twin, which does the same work where numba is absent.

Nothing imports this module but its package, for work that is large enough to pay for loading numba. Machine
code is kept beside the module, or in the user's cache, from one process to the next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


_LANES = 8
_NO_RANK = np.int32(2**31 - 1)
_FLAGS = 8  # flags of one byte that are looked at as one word
_HALVINGS = 32
_FEW = 24  # judged docs of a query: up to here comparing with each is faster than a table of docs


def _compiled(loop: Callable[..., Any]) -> Any:
    try:
        return njit(cache=True, nogil=True)(loop)
    except RuntimeError:  # no folder in which machine code can be kept
        return njit(nogil=True)(loop)


@_compiled
def find_judged(
    doc: Codes,
    rank: Ints,
    rows: tuple[Ints, Ints],
    judged: Codes,
    relevance: Ints,
    judged_start: Ints,
    n_docs: int,
) -> tuple[Ints, Floats, Ints]:
    """Return query, rank and relevance of each judged doc that stands in its query's rows.

    The arguments are those of `segments.find_judged`, its twin.
    """
    start, stop = rows
    query_out = np.empty(judged.size, np.int64)
    row_out = np.empty(judged.size, np.int64)
    place_out = np.empty(judged.size, np.int64)
    table = np.full(n_docs, -1, np.int64)
    n = 0
    for query in range(start.size):
        begin, end = judged_start[query], judged_start[query + 1]
        n_before = n
        if end - begin > _FEW:
            n = _by_table(doc, start[query], stop[query], judged, begin, end, table, row_out, place_out, n)
        else:
            n = _by_comparing(doc, start[query], stop[query], judged, begin, end, row_out, place_out, n)
        query_out[n_before:n] = query
    rank_out = np.empty(n, np.float64)
    for i in range(n):
        row = row_out[i]
        rank_out[i] = rank[row] if rank.size else row - start[query_out[i]] + 1
        place_out[i] = relevance[place_out[i]]
    return query_out[:n], rank_out, place_out[:n]


@_compiled
def _by_table(
    doc: Codes,
    first: int,
    last: int,
    judged: Codes,
    begin: int,
    end: int,
    table: Ints,
    row_out: Ints,
    place_out: Ints,
    n: int,
) -> int:
    for place in range(begin, end):
        if judged[place] >= 0:
            table[judged[place]] = place
    for row in range(first, last):
        place = table[doc[row]]
        if place >= 0:
            row_out[n], place_out[n] = row, place
            n += 1
    for place in range(begin, end):
        if judged[place] >= 0:
            table[judged[place]] = -1
    return n


@_compiled
def _by_comparing(
    doc: Codes,
    first: int,
    last: int,
    judged: Codes,
    begin: int,
    end: int,
    row_out: Ints,
    place_out: Ints,
    n: int,
) -> int:
    n_before = n
    rows = doc[first:last]
    for place in range(begin, end):
        wanted = judged[place]
        at = np.int32(-1)
        for i in range(np.int32(rows.size)):  # without a branch, for vector instructions
            at = max(at, np.int32(i) if rows[i] == wanted else np.int32(-1))
        if at >= 0:
            to = n
            while to > n_before and row_out[to - 1] > first + at:
                row_out[to], place_out[to] = row_out[to - 1], place_out[to - 1]
                to -= 1
            row_out[to], place_out[to] = first + at, place
            n += 1
    return n


@_compiled
def score_queries(
    doc: Codes,
    rank: Ints,
    rows: tuple[Ints, Ints],
    judged: Codes,
    grade: Ints,
    judged_start: Ints,
    n_docs: int,
    ideal: Ints,
    discount: Floats,
    loops: Ints,
    depths: Ints,
    values: Floats,
) -> None:
    """Write into `values`, measures × queries, what the measures' own functions give, query by query.

    Args:
        doc, rank, rows, judged, judged_start, n_docs: as for `find_judged`; all judged docs are positives.
        grade: of each positive; ideal: the same grades, descending within a query.
        discount: of nDCG, by rank.
        loops, depths: of each measure its place in `LOOPS`, and its cutoff.
    """
    start, stop = rows
    most = 0
    for query in range(start.size):
        most = max(most, judged_start[query + 1] - judged_start[query])
    row, place = np.empty(most, np.int64), np.empty(most, np.int64)
    ranks = np.empty(most + _LANES, np.int32)
    precisions, gains, ideals = np.zeros(most + 1), np.zeros(most + 1), np.zeros(most + 1)  # their sums
    table = np.full(n_docs, -1, np.int64)
    for query in range(start.size):
        first, begin, end = start[query], judged_start[query], judged_start[query + 1]
        if end - begin > _FEW:
            n = _by_table(doc, first, stop[query], judged, begin, end, table, row, place, 0)
        else:
            n = _by_comparing(doc, first, stop[query], judged, begin, end, row, place, 0)
        for i in range(n):
            at = rank[row[i]] if rank.size else row[i] - first + 1
            ranks[i] = at
            precisions[i + 1] = precisions[i] + (i + 1.0) / at
            gains[i + 1] = gains[i] + grade[place[i]] / discount[at]
        for i in range(end - begin):
            ideals[i + 1] = ideals[i] + ideal[begin + i] / discount[i + 1]
        for i in range(_LANES):
            ranks[n + i] = _NO_RANK
        n_padded = (n + _LANES - 1) // _LANES * _LANES
        for m in range(loops.size):
            loop = loops[m]
            depth = (loop - 7) * (end - begin) if loop >= 8 else depths[m]
            n_in = np.int32(0)
            for i in range(n_padded):  # without a branch
                n_in += ranks[i] <= depth
            values[m, query] = _value(loop, depth, n_in, end - begin, ranks[0], precisions, gains, ideals)


@_compiled
def _value(
    loop: int,
    depth: int,
    n: int,
    n_positives: int,
    first: int,
    precisions: Floats,
    gains: Floats,
    ideals: Floats,
) -> float:
    """Return one measure of one query, which has `n` positives to `depth`; loops are places in `LOOPS`."""
    value = 0.0
    if n == 0:
        return value
    if loop == 0:
        value = 1.0
    elif loop == 1:
        value = n / depth
    elif loop == 2 or loop >= 8:
        value = n / n_positives
    elif loop == 3:
        value = 1.0 / first
    elif loop == 4:
        value = precisions[n] / n_positives
    elif loop == 5:
        value = precisions[n] / min(depth, n_positives)
    elif loop == 6:
        value = precisions[n] / n
    else:
        value = gains[n] / ideals[min(depth, n_positives)]
    return value


@_compiled
def take_positives(query: Ints, rank: Floats, relevance: Ints) -> tuple[Ints, Floats, Ints, Ints]:
    """Return query, rank, relevance and place (1, 2, ... within a query) of the entries from relevance 1.

    Entries are sorted by query, then rank.
    """
    query_out, rank_out = np.empty(query.size, np.int64), np.empty(query.size, np.float64)
    grade_out, place_out = np.empty(query.size, np.int64), np.empty(query.size, np.int64)
    n = 0
    place = 0
    last = np.int64(-1)
    for i in range(query.size):
        if relevance[i] >= 1:
            place = place + 1 if query[i] == last else 1
            last = query[i]
            query_out[n], rank_out[n], grade_out[n], place_out[n] = last, rank[i], relevance[i], place
            n += 1
    return query_out[:n], rank_out[:n], grade_out[:n], place_out[:n]


@_compiled
def top_of_rows(scores: Any, depth: int, tie_codes: Ints, columns: Ints) -> Ints:
    """Write the `depth` best columns of each row into `columns`, best first; return the rows left undone.

    Among equal scores the higher code comes first. The depth-th largest maximum of groups of columns bounds
    the depth-th largest score from below; rows where very many scores reach the bound are left undone.
    """
    n_rows, n_columns = scores.shape
    candidates = np.empty(n_columns + _FLAGS, np.int64)
    largest = np.empty(min(4 * depth, n_columns), scores.dtype)
    flags = np.zeros((n_columns + _FLAGS - 1) // _FLAGS * _FLAGS, np.uint8)
    words = flags.view(np.uint64)
    undone = np.empty(n_rows, np.int64)
    n_undone = 0
    for i in range(n_rows):
        row = scores[i]
        bound = _lower_bound(row, largest, depth)
        for column in range(n_columns):
            flags[column] = row[column] >= bound
        n = 0
        for word in range(words.size):
            if words[word]:
                for column in range(word * _FLAGS, word * _FLAGS + _FLAGS):
                    candidates[n] = column
                    n += flags[column]
        if n <= 2 * depth + 64:
            _insertion_sort(row, tie_codes, candidates, n)
            columns[i, :] = candidates[:depth]
        else:
            undone[n_undone] = i
            n_undone += 1
    return undone[:n_undone]


@_compiled
def _lower_bound(row: Any, largest: Any, depth: int) -> Any:
    """Return a value that at least `depth` scores of the row reach; `largest` is room to work in.

    It is reached by `depth` to 9/8 `depth` of the largest scores of groups of columns, where halving finds
    such a value.
    """
    n_groups = largest.size
    largest[:] = row[:n_groups]
    start = n_groups
    while start < row.size:
        width = min(n_groups, row.size - start)
        part = row[start : start + width]
        for j in range(width):
            largest[j] = max(largest[j], part[j])
        start += n_groups
    low, high, n_scores = largest[0], largest[0], 0
    for j in range(n_groups):
        if largest[j] > -np.inf:
            low = largest[j] if n_scores == 0 else min(low, largest[j])
            high = max(high, largest[j])
            n_scores += 1
    if n_scores < depth:
        return largest.dtype.type(-np.inf)
    half = largest.dtype.type(0.5)
    for _ in range(_HALVINGS):
        middle = low * half + high * half
        n_reach = np.int32(0)
        for j in range(n_groups):
            n_reach += np.int32(largest[j] >= middle)
        if n_reach >= depth:
            low = middle
            if n_reach <= depth + depth // 8:
                break
        else:
            high = middle
    return low


@_compiled
def _insertion_sort(row: Any, tie_codes: Ints, candidates: Ints, n: int) -> None:
    for i in range(1, n):
        column = candidates[i]
        score, code = row[column], tie_codes[column]
        to = i
        while to > 0:
            above = candidates[to - 1]
            if row[above] > score or (row[above] == score and tie_codes[above] > code):
                break
            candidates[to] = above
            to -= 1
        candidates[to] = column


@_compiled
def ranks_in_rows(scores: Any, rows: Ints, columns: Ints, tie_codes: Ints) -> tuple[Ints, Ints]:
    """Return for each cell its rank in its row, and how many cells of the row equal it, itself included."""
    rank, n_equal = np.empty(rows.size, np.int64), np.empty(rows.size, np.int64)
    for i in range(rows.size):
        row, score, code = scores[rows[i]], scores[rows[i], columns[i]], tie_codes[columns[i]]
        above, equal = np.int32(0), np.int32(0)
        for column in range(row.size):
            above += row[column] > score
            equal += row[column] == score
        rank[i], n_equal[i] = above + 1, equal
        if equal > 1:
            for column in range(row.size):
                rank[i] += row[column] == score and tie_codes[column] > code
    return rank, n_equal
