"""The compiled loops. Each has a plain NumPy twin, which does the same work where numba is absent.

Nothing imports this module but its package, for work that is large enough to pay for loading numba. Machine
code is kept beside the module, or in the user's cache, from one process to the next.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fire_toolkit.arrays import Codes, Floats, Ints
from fire_toolkit.kernels.compiling import compile_loop

_FLAGS = 8  # flags of one byte that are looked at as one word
_HALVINGS = 32


_compiled = compile_loop()


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
    """Return query, rank and relevance of each judged doc in its query's rows.

    The arguments are those of `lookup.find_judged`, its twin.
    """
    start, stop = rows
    judged_for = np.full(n_docs, -1, np.int32)  # the last query that a doc was judged for
    place_of = np.empty(n_docs, np.int32)  # where it stands among the judged docs of that query
    query_out = np.empty(judged.size, np.int64)
    rank_out = np.empty(judged.size, np.float64)
    relevance_out = np.empty(judged.size, np.int64)
    found = np.empty((stop - start).max() + 1 if start.size else 1, np.int64)
    n = 0
    for query in range(start.size):
        for place in range(judged_start[query], judged_start[query + 1]):
            if judged[place] >= 0:
                judged_for[judged[place]] = query
                place_of[judged[place]] = place
        n_found = np.uint64(0)
        for row in range(start[query], stop[query]):
            found[n_found] = row  # stays where the doc is judged; else the next row takes its place
            n_found += np.uint64(judged_for[np.uint32(doc[row])] == query)
        for row in found[:n_found]:
            query_out[n], relevance_out[n] = query, relevance[place_of[doc[row]]]
            rank_out[n] = rank[row] if rank.size else row - start[query] + 1
            n += 1
    return query_out[:n], rank_out[:n], relevance_out[:n]


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
def cut_positives(
    query: Ints, rank: Floats, grade: Ints, place: Ints, k: float
) -> tuple[Ints, Floats, Ints, Ints]:
    """Return those of the four arrays' entries whose rank is k or better."""
    query_out, rank_out = np.empty_like(query), np.empty_like(rank)
    grade_out, place_out = np.empty_like(grade), np.empty_like(place)
    n = 0
    for i in range(query.size):
        query_out[n], rank_out[n], grade_out[n], place_out[n] = query[i], rank[i], grade[i], place[i]
        n += rank[i] <= k
    return query_out[:n], rank_out[:n], grade_out[:n], place_out[:n]


@_compiled
def count_to(query: Ints, rank: Floats, limit: Ints) -> Ints:
    """Return for each query how many of its entries have a rank up to its own limit."""
    counts = np.zeros(limit.size, np.int64)
    for i in range(query.size):
        counts[query[i]] += rank[i] <= limit[query[i]]
    return counts


@_compiled
def has_repeat(values: Codes, starts: Ints, n_values: int) -> bool:
    """Return whether a value from 0, below n_values, stands twice in a stretch of rows."""
    last = np.full(n_values, -1, np.int64)
    for stretch in range(starts.size):
        end = starts[stretch + 1] if stretch + 1 < starts.size else values.size
        for row in range(starts[stretch], end):
            if last[values[row]] == stretch:
                return True
            last[values[row]] = stretch
    return False


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
    n_columns = scores.shape[1]
    for i in range(rows.size):
        score, code = scores[rows[i], columns[i]], tie_codes[columns[i]]
        row = scores[rows[i]]
        above, equal = np.int32(0), np.int32(0)
        for column in range(n_columns):
            above += np.int32(row[column] > score)
            equal += np.int32(row[column] == score)
        rank[i], n_equal[i] = above + 1, equal
        if equal > 1:
            for column in range(n_columns):
                rank[i] += row[column] == score and tie_codes[column] > code
    return rank, n_equal
