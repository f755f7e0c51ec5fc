"""Overlap of two ranked lists and the family of rank-biased overlap, over all queries at once.

X_d is the number of docs that both lists have in their first d, s and l the lengths of the shorter and
the longer list. A doc at ranks a and b is in X_d from d = max(a, b) on; so every sum over depths of
w_d X_d is a sum over shared docs of a suffix sum of w, and C below is the only table needed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fire_toolkit.arrays import Floats, Ints, places_among, rows_of_lists
from fire_toolkit.matching.blocks import RunBlock
from fire_toolkit.matching.lookup import find_judged

FORMS = ("truncated", "ext", "min", "res")  # of rank-biased overlap


def shared_docs(one: RunBlock, other: RunBlock) -> tuple[Ints, Ints]:
    """Return, for each doc that both lists of a query hold, the query and the worse of its two ranks.

    The blocks have the same queries and docs, and ranks 1, 2, 3, ...
    """
    in_order: Ints = np.empty(0, dtype=np.int64)
    rows, other_rank = (one.start[:-1], one.start[1:]), 1 + rows_of_lists(0, other.lengths)
    query, rank, other_rank = find_judged(
        one.doc, in_order, rows, other.doc, other_rank, other.start, len(one.docs)
    )
    return query, np.maximum(rank.astype(np.int64), other_rank)


def compare_lists(a: RunBlock, b: RunBlock, queries: Ints, persistences: Sequence[float]) -> Floats:
    """Return overlap, average overlap, then RBO truncated, ext, min and res for each persistence.

    Args:
        a, b: the lists of two runs, with the same queries and docs, and ranks 1, 2, 3, ...
        queries: those that both have, ascending.
        persistences: each strictly between 0 and 1.

    Returns:
        (2 + 4 for each persistence) × queries, see `overlap_measures`.
    """
    query, worse = shared_docs(a, b)
    place = places_among(queries, len(a.queries))
    lengths = (a.lengths[queries], b.lengths[queries])
    columns = [overlap_measures(place[query], worse, lengths, p=p) for p in persistences]
    return np.concatenate([columns[0], *(values[2:] for values in columns[1:])])


def overlap_measures(query: Ints, worse: Ints, lengths: tuple[Ints, Ints], *, p: float) -> Floats:
    """Return overlap, average overlap and RBO truncated, ext, min and res for each query.

    Args:
        query, worse: as `shared_docs` gives them.
        lengths: of the two lists of each query, each 1 or more.
        p: persistence, strictly between 0 and 1.

    Returns:
        6 × queries, in that order.

    Webber, Moffat and Zobel, A Similarity Measure for Indefinite Rankings (2010): min by eq. 11 with
    l for k, res by eq. 30, ext by eq. 32; truncated is the sum of eq. 7 up to depth l.
    """
    s, l = np.minimum(*lengths), np.maximum(*lengths)  # noqa: E741
    n_queries = len(s)
    d = np.arange(1, int(2 * l.max(initial=0)) + 1)
    # C[d] = (1 − p) Σ_{j≤d} p^(j−1) / j, the powers of p and the harmonic numbers from d = 0; C of infinity
    weights, harmonic = (np.append(0.0, np.cumsum(each)) for each in ((1 - p) * p ** (d - 1) / d, 1 / d))
    powers, whole = p ** np.append(0.0, d), (1 - p) / p * -math.log1p(-p)
    x_l = np.bincount(query, minlength=n_queries)
    x_s = np.bincount(query[worse <= s[query]], minlength=n_queries)
    before = np.bincount(query, weights[worse - 1], minlength=n_queries)
    average = (x_l * harmonic[l] - np.bincount(query, harmonic[worse - 1], minlength=n_queries)) / l
    truncated = x_l * weights[l] - before
    extension: Any = powers[s] - powers[l] - s * (weights[l] - weights[s])
    ext = truncated + x_s / s * extension + ((x_l - x_s) / l + x_s / s) * powers[l]
    f = l + s - x_l
    tail = s * (weights[f] - weights[s]) + l * (weights[f] - weights[l]) + x_l * (whole - weights[f])
    res = powers[s] + powers[l] - powers[f] - tail
    return np.stack([x_l / l, average, truncated, ext, x_l * whole - before, res])
