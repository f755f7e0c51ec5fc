"""The hot loops: the lookup of a run's pairs in the qrels, and sums over each query's entries.

Entries are sorted by query; `query` gives the query's index of each entry. Every measure is built
from these few functions. Those that gain by it hand large work to `kernels`.
"""

from __future__ import annotations

from math import frexp, fsum
from typing import Any

import numpy as np
import numpy.typing as npt

from fire_toolkit.kernels import LIGHT_STEPS, compiled

Codes = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_DENSE_CELLS = 1 << 25  # of 4 bytes


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

    Args:
        doc: of each row, a code below n_docs.
        rank: of each row; empty where those of each query are 1, 2, 3, ...
        rows: the first row of each query, and one past its last.
        judged: doc codes of the judged docs, each once a query, below 0 where no row can hold it.
        relevance: of each judged doc.
        judged_start: (n_queries + 1,) where the judged docs of each query begin.
        n_docs: how many doc codes there are.

    Returns:
        Three arrays, in the order of the queries, then of the rows.
    """
    loops = compiled(doc.size, cold=LIGHT_STEPS)
    if loops is not None:
        found: tuple[Ints, Floats, Ints] = loops.find_judged(
            doc, rank, rows, judged, relevance, judged_start, n_docs
        )
        return found
    start, counts = rows[0], rows[1] - rows[0]
    queries: Ints = np.arange(start.size, dtype=np.int64)
    query = np.repeat(queries, counts)
    row = np.arange(query.size) + np.repeat(start - (np.cumsum(counts) - counts), counts)
    place = np.flatnonzero(judged >= 0)
    keys: Ints = np.repeat(queries, np.diff(judged_start))[place] * n_docs + judged[place]
    order = np.argsort(keys, kind="stable")
    at = find_pairs(query * n_docs + doc[row], keys[order], start.size * n_docs)
    kept = np.flatnonzero(at >= 0)
    found_row = row[kept]
    found_rank = rank[found_row] if rank.size else found_row - start[query[kept]] + 1
    return query[kept], found_rank.astype(np.float64), relevance[place[order[at[kept]]]]


def take_positives(query: Ints, rank: Floats, relevance: Ints) -> tuple[Ints, Floats, Ints, Ints]:
    """Return query, rank, relevance and place (1, 2, ... within a query) of the entries from relevance 1."""
    loops = compiled(query.size, cold=LIGHT_STEPS)
    if loops is not None:
        taken: tuple[Ints, Floats, Ints, Ints] = loops.take_positives(query, rank, relevance)
        return taken
    kept = np.flatnonzero(relevance >= 1)
    query = query[kept]
    return query, rank[kept], relevance[kept], running_count(query, np.ones(query.size, dtype=bool))


def cut_positives(
    query: Ints, rank: Floats, grade: Ints, place: Ints, k: int
) -> tuple[Ints, Floats, Ints, Ints]:
    """Return those of the four arrays' entries whose rank is k or better."""
    loops = compiled(query.size, cold=LIGHT_STEPS)
    if loops is not None:
        cut: tuple[Ints, Floats, Ints, Ints] = loops.cut_positives(query, rank, grade, place, float(k))
        return cut
    kept = np.flatnonzero(rank <= k)
    return query[kept], rank[kept], grade[kept], place[kept]


def count_to(query: Ints, rank: Floats, limit: Ints) -> Ints:
    """Return for each query how many of its entries have a rank up to its own limit."""
    loops = compiled(query.size, cold=LIGHT_STEPS)
    if loops is not None:
        counts: Ints = loops.count_to(query, rank, limit)
        return counts
    return count_by_query(query[rank <= limit[query]], limit.size)


def find_pairs(keys: Ints, sorted_keys: Ints, n_keys: int) -> Ints:
    """Return for each key its place in `sorted_keys`, or -1 where it is absent.

    Args:
        keys: what is looked up, in 0..n_keys-1.
        sorted_keys: ascending, each once.
        n_keys: how many keys are possible; a table of all of them is used while it is small.
    """
    if sorted_keys.size == 0:
        return np.full(keys.size, -1, dtype=np.int64)
    if n_keys <= min(_DENSE_CELLS, 64 * (keys.size + sorted_keys.size)):
        table = np.full(n_keys, -1, dtype=np.int32)
        table[sorted_keys] = np.arange(sorted_keys.size, dtype=np.int32)
        return table[keys].astype(np.int64)
    place = np.minimum(np.searchsorted(sorted_keys, keys), sorted_keys.size - 1)
    return np.where(sorted_keys[place] == keys, place, -1).astype(np.int64)


def count_by_query(query: Ints, n_queries: int) -> Ints:
    """Return how many entries each query has."""
    return np.bincount(query, minlength=n_queries).astype(np.int64)


def sum_by_query(query: Ints, values: npt.NDArray[Any], n_queries: int) -> Floats:
    """Return the sum of each query's values, 0 where it has none, added in the order of the entries."""
    return np.bincount(query, weights=values, minlength=n_queries).astype(np.float64)


def max_by_query(query: Ints, values: Floats, n_queries: int) -> Floats:
    """Return the largest of each query's values (from 0), and 0 where it has none."""
    largest = np.zeros(n_queries)
    np.maximum.at(largest, query, values)
    return largest


def running_count(query: Ints, is_counted: Bools) -> Ints:
    """Return for each entry how many of its query's entries up to and with it are counted."""
    count = np.cumsum(is_counted, dtype=np.int64)
    before = count - is_counted
    is_first = np.ones(query.size, dtype=bool)
    is_first[1:] = query[1:] != query[:-1]
    return np.asarray(count - np.maximum.accumulate(np.where(is_first, before, 0)), dtype=np.int64)


GOLDEN = 0x9E3779B97F4A7C15  # the step of SplitMix64


def mix_bits(state: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return each state of SplitMix64 as its random word (Steele, Lea and Flood, OOPSLA 2014)."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(state ^ (state >> np.uint64(31)))


def mean(values: Floats) -> float:
    """Return the sum rounded once, as `math.fsum` has it, divided by the number of values (1 or more).

    The values' leading bits are added exactly; the sum of the rest decides the last digit. Where it does
    not, `fsum` adds them one by one. Source: Rump, Ogita and Oishi, Accurate Floating-Point Summation,
    SIAM J. Sci. Comput. 31 (2008), algorithm 3.2.
    """
    largest = float(np.abs(values).max())
    if not 2.0**-500 < largest < 2.0**500:
        return fsum(values.tolist()) / values.size
    sigma = 2.0 ** (frexp(largest)[1] + (values.size + 2).bit_length())
    leading = (values + sigma) - sigma
    exact, remainder = float(leading.sum()), float((values - leading).sum())
    doubt = values.size**2 * 2.0**-104 * sigma  # what adding the rests can have lost, and more
    low, high = exact + (remainder - doubt), exact + (remainder + doubt)
    return (low if low == high else fsum(values.tolist())) / values.size


def share(part: npt.NDArray[Any], whole: npt.NDArray[Any] | float) -> Floats:
    """Return part / whole in float64, and 0 where the whole is 0."""
    whole = np.broadcast_to(np.asarray(whole, dtype=np.float64), np.shape(part))
    quotient = np.zeros(np.shape(part))
    np.divide(part, whole, out=quotient, where=whole != 0)
    return quotient
