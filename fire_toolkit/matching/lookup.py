"""Judged docs looked up in a run's rows."""

from __future__ import annotations

import numpy as np

from fire_toolkit.arrays import (
    Codes,
    Floats,
    Ints,
    find_pairs,
    rows_of_lists,
)

_FEW_JUDGED = 4  # of a query: so many comparisons of all docs are faster than one search


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
    start, counts = rows[0], rows[1] - rows[0]
    follow = bool((start[1:] == rows[1][:-1]).all())  # each list begins where the one before it ends
    row = slice(start[:1].sum(), rows[1][-1:].sum()) if follow else rows_of_lists(start, counts)
    if np.diff(judged_start).max(initial=0) <= _FEW_JUDGED:
        kept, place = _compare_each(doc[row], counts, judged, judged_start)
    else:
        kept, place = _look_up(doc[row], counts, judged, judged_start, n_docs)
    found_row = kept + row.start if isinstance(row, slice) else row[kept]
    query = np.searchsorted(np.cumsum(counts), kept, side="right")
    found_rank = rank[found_row] if rank.size else found_row - start[query] + 1
    return query, found_rank.astype(np.float64), relevance[place]


def _compare_each(doc: Codes, counts: Ints, judged: Codes, judged_start: Ints) -> tuple[Ints, Ints]:
    """Return which entries of lists are judged, and their places among `judged`, by comparing each of these.

    doc: of the lists, one after the other; counts: their lengths.
    """
    first, n_judged = judged_start[:-1], np.diff(judged_start)
    found, places = [], []
    for number in range(n_judged.max(initial=0)):
        has_one = n_judged > number
        place = np.where(has_one, first + number, 0)
        kept = np.flatnonzero(doc == np.repeat(np.where(has_one, judged[place], -1), counts))
        found.append(kept)
        places.append(place[np.searchsorted(np.cumsum(counts), kept, side="right")])
    kept, place = (np.concatenate([np.empty(0, dtype=np.int64), *parts]) for parts in (found, places))
    order = np.argsort(kept, kind="stable")
    return kept[order], place[order]


def _look_up(doc: Codes, counts: Ints, judged: Codes, judged_start: Ints, n_docs: int) -> tuple[Ints, Ints]:
    """Return what `_compare_each` does, by the sorted keys of all judged docs."""
    queries: Ints = np.arange(counts.size, dtype=np.int64)
    place = np.flatnonzero(judged >= 0)
    keys: Ints = np.repeat(queries, np.diff(judged_start))[place] * n_docs + judged[place]
    order = np.argsort(keys, kind="stable")
    at = find_pairs(np.repeat(queries, counts) * n_docs + doc, keys[order], counts.size * n_docs)
    kept = np.flatnonzero(at >= 0)
    return kept, place[order[at[kept]]]
