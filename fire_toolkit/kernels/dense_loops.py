"""The compiled loops over matrices of scores: extremes of rows, and the best docs of many queries at once.

Each has a plain NumPy twin and gives what its twin gives, to the bit. Nothing imports this module but its
twins' modules, and only once `kernels.compiled` says that compiled loops are loaded.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fire_toolkit.arrays import Bools, Ints
from fire_toolkit.arrays import Codes as Counts
from fire_toolkit.kernels.compiling import compile_loop

_LANES = 64
TILE = 1024  # queries whose state stays in the processor's cache
_FLAGS = 8  # flags of one byte that are looked at as one word
_HALVINGS = 24


_compiled = compile_loop(error_model="numpy")


@_compiled
def extremes_of_rows(scores: Any, largest: Any, low: Any, high: Any, at_low: Ints, is_finite: Bools) -> None:
    """Write each row's lowest and highest score, how many cells hold the lowest, and whether all are finite.

    largest: the largest finite number of the scores' dtype. Rows that are not finite have no extremes.
    """
    lows, highs = np.empty(_LANES, scores.dtype), np.empty(_LANES, scores.dtype)
    for i in range(scores.shape[0]):
        row = scores[i]
        lows[:] = row[0]
        highs[:] = row[0]
        n_finite = np.int32(0)
        whole = row.size // _LANES * _LANES
        for start in range(0, whole, _LANES):
            part = row[start : start + _LANES]
            for j in range(_LANES):
                lows[j] = min(lows[j], part[j])
                highs[j] = max(highs[j], part[j])
                n_finite += np.int32(abs(part[j]) <= largest)
        for column in range(whole, row.size):
            lows[0] = min(lows[0], row[column])
            highs[0] = max(highs[0], row[column])
            n_finite += np.int32(abs(row[column]) <= largest)
        is_finite[i] = n_finite == row.size
        lowest, highest = lows[0], highs[0]
        for j in range(1, _LANES):
            lowest, highest = min(lowest, lows[j]), max(highest, highs[j])
        n_low = np.int32(0)
        for column in range(row.size):
            n_low += np.int32(row[column] == lowest)
        low[i], high[i], at_low[i] = lowest, highest, n_low


@_compiled
def all_finite(values: Any, largest: Any) -> bool:
    """Whether no value of an array of one axis is NaN or infinite; `largest` as above."""
    n_finite = 0
    for start in range(0, values.size, TILE):
        n_of_part = np.int32(0)
        for value in values[start : start + TILE]:
            n_of_part += np.int32(abs(value) <= largest)
        n_finite += int(n_of_part)
    return bool(n_finite == values.size)


@_compiled
def take_docs(
    block: Any, first_doc: int, codes: Ints, depth: int, extremes: Any, positives: Any, counts: Any, best: Any
) -> None:
    """Take in a block of docs × queries: extremes and best docs of the queries, places of positives.

    Args:
        block: finite or minus infinity, which is no score.
        first_doc: the block's first.
        codes: of all docs; among equal scores the higher comes first.
        depth: how many docs of a query are wanted.
        extremes: lowest score of each query, how many docs have it, highest score.
        positives: query, own score and own code of each positive, by query; and where those of each
            stretch of TILE queries begin.
        counts: for each positive how many docs stand above it, and how many have its score.
        best: for each query the bound that a score must reach, the code that a score at the bound must
            pass, how many docs are kept, their scores and the docs (queries × room, of more than depth).
    """
    bounds, bound_codes, n_kept, kept_scores, kept_docs = best
    starts, n_queries = positives[3], block.shape[1]
    flags = np.zeros(TILE, np.uint8)
    words = flags.view(np.uint64)
    room = np.empty(np.diff(starts).max(), block.dtype)
    places = np.empty(room.size, np.int32)
    for tile in range(starts.size - 1):
        begin, end = tile * TILE, min(tile * TILE + TILE, n_queries)
        flags[:] = 0
        bound = bounds[begin:end]
        places[: starts[tile + 1] - starts[tile]] = positives[0][starts[tile] : starts[tile + 1]] - begin
        for i in range(block.shape[0]):
            row, doc = block[i, begin:end], first_doc + i
            _take_extremes(row, extremes[0][begin:end], extremes[1][begin:end], extremes[2][begin:end])
            _take_positives(row, codes[doc], positives, counts, starts[tile], starts[tile + 1], places, room)
            for j in range(row.size):
                flags[j] = row[j] >= bound[j]
            for word in range(words.size):
                if words[word]:
                    for j in range(word * _FLAGS, word * _FLAGS + _FLAGS):
                        if flags[j] and (row[j] > bound[j] or codes[doc] > bound_codes[begin + j]):
                            n = n_kept[begin + j]
                            kept_scores[begin + j, n], kept_docs[begin + j, n] = row[j], doc
                            n_kept[begin + j] = n + 1
                            if n + 1 == kept_scores.shape[1]:
                                _drop(begin + j, codes, depth, best)


@_compiled
def _take_extremes(row: Any, low: Any, n_low: Counts, high: Any) -> None:
    for j in range(row.size):
        is_lower = (row[j] < low[j]) & (row[j] > -np.inf)
        n_low[j] = np.int32(1) if is_lower else n_low[j] + np.int32(row[j] == low[j])
        low[j] = row[j] if is_lower else low[j]
    for j in range(row.size):
        high[j] = max(high[j], row[j])


@_compiled
def _take_positives(
    row: Any, code: int, positives: Any, counts: Any, first: int, last: int, places: Counts, room: Any
) -> None:
    own, above = positives[1][first:last], counts[0][first:last]
    for p in range(own.size):
        room[p] = row[places[p]]
    n_equal = np.int32(0)
    for p in range(own.size):
        above[p] += np.int32(room[p] > own[p])
        n_equal += np.int32(room[p] == own[p])
    if n_equal:
        for p in range(own.size):
            if room[p] == own[p]:
                counts[1][first + p] += 1
                above[p] += code > positives[2][first + p]


@_compiled
def _drop(query: int, codes: Ints, depth: int, best: Any) -> None:
    """Drop kept docs of a query that are not among its best `depth`, and raise its bound."""
    bounds, bound_codes, n_kept, kept_scores, kept_docs = best
    n = n_kept[query]
    scores, docs = kept_scores[query, :n], kept_docs[query, :n]
    most = depth + (n - depth) // 2
    bound = _reached_by(scores, depth, most)
    n_reach = np.int32(0)
    for place in range(n):
        n_reach += np.int32(scores[place] >= bound)
    if n_reach <= most:
        to = 0
        for place in range(n):
            scores[to], docs[to] = scores[place], docs[place]
            to += scores[place] >= bound
        n_kept[query], bounds[query], bound_codes[query] = n_reach, bound, -1
    else:  # many equal scores
        _sort(scores, docs, codes, n)
        n_kept[query], bounds[query], bound_codes[query] = depth, scores[depth - 1], codes[docs[depth - 1]]


@_compiled
def _reached_by(scores: Any, fewest: int, most: int) -> Any:
    """Return a value that at least `fewest` of the scores reach, and no more than `most` if it is found."""
    half = scores.dtype.type(0.5)
    low, high = scores[0], scores[0]
    for place in range(scores.size):
        low, high = min(low, scores[place]), max(high, scores[place])
    for _ in range(_HALVINGS):
        middle = low * half + high * half
        n_reach = np.int32(0)
        for place in range(scores.size):
            n_reach += np.int32(scores[place] >= middle)
        if n_reach >= fewest:
            low = middle
            if n_reach <= most:
                break
        else:
            high = middle
    return low


@_compiled
def _sort(scores: Any, docs: Any, codes: Ints, n: int) -> None:
    """Sort the first `n` by score, then code, both descending."""
    for i in range(1, n):
        score, doc = scores[i], docs[i]
        to = i
        while to > 0 and (
            scores[to - 1] < score or (scores[to - 1] == score and codes[docs[to - 1]] < codes[doc])
        ):
            scores[to], docs[to] = scores[to - 1], docs[to - 1]
            to -= 1
        scores[to], docs[to] = score, doc


@_compiled
def sort_best(codes: Ints, depth: int, best: Any) -> None:
    """Bring each query's kept docs in order, best first, no more than `depth` of them."""
    _, _, n_kept, kept_scores, kept_docs = best
    for query in range(n_kept.size):
        if n_kept[query] > depth:
            _drop(query, codes, depth, best)
        _sort(kept_scores[query], kept_docs[query], codes, n_kept[query])
        n_kept[query] = min(n_kept[query], depth)
