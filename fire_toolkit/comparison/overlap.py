"""Overlap of two ranked lists and the family of rank-biased overlap, over all queries at once.

X_d is the number of docs that both lists have in their first d, s and l the lengths of the shorter and
the longer list. A doc at ranks a and b is in X_d from d = max(a, b) on; so every sum over depths of
w_d X_d is a sum over shared docs of a suffix sum of w, and C below is the only table needed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fire_toolkit.kernels import as_input
from fire_toolkit.measures.segments import find_judged

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class RankedLists:
    """The first docs of each query's list: doc and rank of each row, by query.

    start, length: the first row and the length of each list; n_docs: how many doc codes there are.
    """

    doc: npt.NDArray[np.int32]
    rank: Ints
    start: Ints
    length: Ints
    n_docs: int

    @classmethod
    def from_rows(cls, query: Ints, doc: Ints, rank: Ints, *, n_queries: int, n_docs: int) -> RankedLists:
        """Return lists from row-wise codes (rank from 1), in any order."""
        if (query[1:] < query[:-1]).any():
            order = np.argsort(query, kind="stable")
            query, doc, rank = query[order], doc[order], rank[order]
        length = np.bincount(query, minlength=n_queries).astype(np.int64)
        start = np.cumsum(length) - length
        return cls(as_input(doc, np.int32), as_input(rank, np.int64), start, length, n_docs)

    def shared(self, other: RankedLists) -> tuple[Ints, Ints]:
        """Return, for each doc that both lists of a query hold, the query and the worse of its two ranks."""
        rows = (self.start, self.start + self.length)
        starts = np.append(other.start, len(other.doc))
        query, rank, other_rank = find_judged(
            self.doc, self.rank, rows, other.doc, other.rank, starts, self.n_docs
        )
        return query, np.maximum(rank.astype(np.int64), other_rank)


def measure_names(depth: int, p: float) -> tuple[str, ...]:
    """Return the names of the columns of `overlap_measures`, in order."""
    rbo = tuple(f"RBO_{form}(p={p:g})@{depth}" for form in ("truncated", "ext", "min", "res"))
    return (f"overlap@{depth}", f"average_overlap@{depth}", *rbo)


def overlap_measures(query: Ints, worse: Ints, lengths: tuple[Ints, Ints], *, p: float) -> Floats:
    """Return overlap, average overlap and RBO truncated, ext, min and res for each query.

    Args:
        query, worse: as `RankedLists.shared` gives them.
        lengths: of the two lists of each query, each 1 or more.
        p: persistence, strictly between 0 and 1.

    Returns:
        queries × 6, in the order of `measure_names`.

    Webber, Moffat and Zobel, A Similarity Measure for Indefinite Rankings (2010): min by eq. 11 with
    l for k, res by eq. 30, ext by eq. 32; truncated is the sum of eq. 7 up to depth l.
    """
    s, l = np.minimum(*lengths), np.maximum(*lengths)  # noqa: E741
    n_queries, deepest = len(s), int(2 * l.max(initial=0))
    weights, harmonic = _cumulated(deepest, p)
    whole = (1 - p) / p * -math.log1p(-p)
    x_l = np.bincount(query, minlength=n_queries)
    x_s = np.bincount(query[worse <= s[query]], minlength=n_queries)
    before = np.bincount(query, weights[worse - 1], minlength=n_queries)
    average = (x_l * harmonic[l] - np.bincount(query, harmonic[worse - 1], minlength=n_queries)) / l
    truncated = x_l * weights[l] - before
    extension: Any = p**s - p**l - s * (weights[l] - weights[s])
    ext = truncated + x_s / s * extension + ((x_l - x_s) / l + x_s / s) * p**l
    f = l + s - x_l
    tail = s * (weights[f] - weights[s]) + l * (weights[f] - weights[l]) + x_l * (whole - weights[f])
    res = p**s + p**l - p**f - tail
    return np.column_stack([x_l / l, average, truncated, ext, x_l * whole - before, res])


def _cumulated(deepest: int, p: float) -> tuple[Floats, Floats]:
    """Return C, C[d] = (1 − p) Σ_{j≤d} p^(j−1) / j, and the harmonic numbers, both from d = 0."""
    d = np.arange(1, deepest + 1)
    terms = (1 - p) * p ** (d - 1) / d
    return np.concatenate([[0.0], np.cumsum(terms)]), np.concatenate([[0.0], np.cumsum(1 / d)])
