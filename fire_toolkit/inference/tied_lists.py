"""Overlap and rank-biased overlap of lists with ties, depth by depth, over all queries at once.

A doc of a group of tied docs on ranks t to b contributes c_d to the first d docs: of the variant w all
of it from d = t on; of a and b (d − t + 1) / (b − t + 1) from t to b, then all of it. With X_d the sum
over docs of the products of the two lists' contributions, the agreement at depth d is

- w: X_d over the mean number of docs present in either list (ties say that docs are equal);
- a: X_d / d, the mean over all ways to break the ties (ties say that the order is not known);
- b: X_d over the root of the product of both lists' Σ c_d², so that a list agrees with itself wholly.

Source: Corsi and Urbano, The Treatment of Ties in Rank-Biased Overlap, SIGIR 2024. Without ties all
three are the measures of Webber, Moffat and Zobel (2010).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from fire_toolkit.arrays import Floats, Ints, places_among, running_count, starts_of_groups
from fire_toolkit.matching.blocks import RunBlock

VARIANTS = ("w", "a", "b")


@dataclass(frozen=True)
class TiedLists:
    """The docs of each query's list, by query and doc, with the ranks t to b of their group.

    key: query × number of docs + doc, ascending; top, bottom: ranks from 1; length: of each list.
    """

    key: Ints
    query: Ints
    top: Ints
    bottom: Ints
    length: Ints

    def select(self, kept: Ints) -> TiedLists:
        """Return the docs at the places `kept`."""
        return TiedLists(self.key[kept], self.query[kept], self.top[kept], self.bottom[kept], self.length)

    def within(self, queries: Ints) -> TiedLists:
        """Return the lists of `queries` (codes, ascending), which become 0, 1, ..."""
        place = places_among(queries, len(self.length))
        kept = self.select(np.flatnonzero(place[self.query] >= 0))
        return replace(kept, query=place[kept.query], length=self.length[queries])


def tied_lists(block: RunBlock) -> TiedLists:
    """Return lists in which docs of equal score are tied."""
    query = block.query
    starts = starts_of_groups(query, block.score)
    size = np.diff(starts, append=len(query))
    rank = block.rank[starts].astype(np.int64)
    key: Ints = query * len(block.docs) + block.doc
    order = np.argsort(key, kind="stable")
    lists = TiedLists(key, query, np.repeat(rank, size), np.repeat(rank + size - 1, size), block.lengths)
    return lists.select(order)


def tied_measures(a: TiedLists, b: TiedLists, *, p: float, variant: str) -> Floats:
    """Return overlap, average overlap and RBO truncated, ext, min and res for each query.

    Args:
        a, b: lists of the same queries and docs; a query without docs in both has no meaning.
        p: persistence, strictly between 0 and 1.
        variant: `w`, `a` or `b`.

    Returns:
        6 × queries, in that order. Past the end of the shorter list its unseen
        docs count as untied.
    """
    s, l = np.minimum(a.length, b.length), np.maximum(a.length, b.length)  # noqa: E741
    n_queries, deepest = len(s), int(l.max(initial=0))
    _, in_a, in_b = np.intersect1d(a.key, b.key, assume_unique=True, return_indices=True)
    shared, alone = (a.select(in_a), b.select(in_b)), _alone((a, b), (in_a, in_b))
    query = shared[0].query
    x_l = np.bincount(query, minlength=n_queries).astype(np.float64)
    at_s, average, truncated, ext, greatest = np.zeros((5, n_queries))
    for d in range(1, deepest + 1):
        norm = _norm((a, b), d, variant)
        products = _contribution(shared[0], d, variant) * _contribution(shared[1], d, variant)
        agreement = np.bincount(query, products, minlength=n_queries) / norm
        at_s = np.where(d == s, agreement, at_s)
        mean_open, most_open = _open_contributions(alone, d, s, variant)
        is_past = d > s
        weight = np.where(d <= l, (1 - p) * p ** (d - 1), 0.0)
        average += np.where(d <= l, agreement / l, 0.0)
        truncated += weight * agreement
        ext += weight * (agreement + np.where(is_past, (d - s) * at_s * mean_open, 0.0) / norm)
        greatest += weight * (agreement + np.where(is_past, most_open, 0.0) / norm)
    least_tail, greatest_tail = _tails(x_l, s, l, p)
    ext += (x_l + (l - s) * at_s) / l * p**l
    least = truncated + least_tail
    return np.stack([x_l / l, average, truncated, ext, least, greatest + greatest_tail - least])


def _alone(lists: tuple[TiedLists, TiedLists], shared: tuple[Ints, Ints]) -> TiedLists:
    """Return the docs that the longer list of a query holds alone, by query and rank."""
    parts = []
    for own, other, in_both in ((*lists, shared[0]), (*lists[::-1], shared[1])):
        is_alone = (own.length > other.length)[own.query]
        is_alone[in_both] = False
        parts.append(own.select(np.flatnonzero(is_alone)))
    names = ("key", "query", "top", "bottom")
    key, query, highest, lowest = (np.concatenate([getattr(part, each) for part in parts]) for each in names)
    return TiedLists(key, query, highest, lowest, parts[0].length).select(np.lexsort((highest, query)))


def _contribution(lists: TiedLists, d: int, variant: str) -> Floats:
    if variant == "w":
        return (lists.top <= d).astype(np.float64)
    share: Floats = (d - lists.top + 1) / (lists.bottom - lists.top + 1)
    return np.clip(share, 0.0, 1.0)


def _norm(both: tuple[TiedLists, TiedLists], d: int, variant: str) -> Floats:
    """Return what agreement at depth d is over, of each query."""
    if variant == "a":
        return np.full(len(both[0].length), float(d))
    sizes = []
    for lists in both:
        squares = _contribution(lists, d, variant) ** 2
        size = np.bincount(lists.query, squares, minlength=len(lists.length))
        sizes.append(np.where(d > lists.length, float(d), size))
    mean = (sizes[0] + sizes[1]) / 2 if variant == "w" else np.sqrt(sizes[0] * sizes[1])
    return np.asarray(mean, dtype=np.float64)


def _open_contributions(alone: TiedLists, d: int, s: Ints, variant: str) -> tuple[Floats, Floats]:
    """Return for each query, over the docs of the longer list alone, what unseen docs may match.

    The mean contribution of those present at depth d, and the sum of the first d − s of them.
    """
    n_queries = len(s)
    values = _contribution(alone, d, variant)
    total = np.bincount(alone.query, values, minlength=n_queries)
    count = np.bincount(alone.query[values > 0], minlength=n_queries)
    mean = np.divide(total, count, out=np.zeros(n_queries), where=count > 0)
    is_open = running_count(alone.query) <= (d - s)[alone.query]
    most = np.bincount(alone.query[is_open], values[is_open], minlength=n_queries)
    return mean, most.astype(np.float64)


def _tails(x_l: Floats, s: Ints, l: Ints, p: float) -> tuple[Floats, Floats]:  # noqa: E741
    """Return the least and the most that depths past the longer list add (Webber et al., eqs. 11, 30)."""
    deepest = int((l + s).max(initial=0))
    d = np.arange(1, deepest + 1)
    harmonic = np.concatenate([[0.0], np.cumsum(p**d / d)])
    powers = np.concatenate([[0.0], np.cumsum(p**d)])
    f = (l + s - x_l).astype(np.int64)
    least = x_l * (-math.log1p(-p) - harmonic[l])
    most = 2 * (powers[f] - powers[l]) - (l + s - x_l) * (harmonic[f] - harmonic[l]) + p ** (f + 1) / (1 - p)
    return least * (1 - p) / p, most * (1 - p) / p
