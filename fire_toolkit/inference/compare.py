"""How alike the rankings of runs are, pair by pair: overlap and rank-biased overlap, with ties or without.

A doc of a group of tied docs on ranks t to b contributes c_d to the first d docs of a list: 0 before t, then
(d − t + 1) / (b − t + 1), and all of it from b on; without ties t = b is its rank. With X_d the sum over docs
of the products of the two lists' contributions, the agreement at depth d is X_d over

- d: without ties; with `a` it is the mean over all ways to break them (ties say that the order is not known);
- `w`, where a doc contributes all of itself from t on: the mean number of docs present in either list (ties
  say that docs are equal);
- `b`: the root of the product of both lists' Σ c_d², so that a list agrees with itself wholly.

Every sum over docs is made of products of two such ramps, and every measure is a sum of agreements with
weights. s and l are the lengths of the shorter and the longer list of a query.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Floats, Ints, find_pairs, rows_of_lists, running_count, starts_of_groups
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.matching.blocks import RunBlock, block_of
from fire_toolkit.matching.ranking import LEAST_SHARED, split_runs, top
from fire_toolkit.results import Found
from fire_toolkit.tables import Comparisons, Run
from fire_toolkit.tables.columns import code_texts
from fire_toolkit.words import n_of

BROKEN = "broken"
_CELLS = 1 << 21  # queries × depths held at a time


def compare_runs(
    runs: Run | Sequence[Run],
    *,
    depth: int | Sequence[int] = 10,
    rbo_p: float | Sequence[float] = 0.9,
    ties: str = BROKEN,
    per_query: bool = False,
) -> Found:
    """Return overlap and rank-biased overlap of the top `depth` of every two runs.

    Args:
        runs: two or more, as one table or several.
        depth: how many docs of a ranking are compared, 1 or more. Where l is the length of the longer of
            the two lists and l < depth, the query is compared at depth l. One or several. A ranking that
            is known for some docs only below a gap is compared down to the gap.
        rbo_p: persistence of rank-biased overlap, strictly between 0 and 1; one or several.
        ties: `broken`: `rank` orders all docs; `w`, `a`, `b`: docs of equal score are tied; the
            measures' names then say so, as in `RBO_ext(p=0.9,ties=a)@10`. A
            group that `depth` cuts keeps the docs that stand within it.
        per_query: whether each query's values follow those of `all`.

    Returns:
        comparisons, with columns run_a, run_b, query_id, measure, value, and notes: sentences on two
        runs that do not have the same queries, or lists of different lengths. Two runs stand in the order
        given; query_id `all` is the mean over the queries that both have; then, if asked for, each of
        those queries.
        Measures, for each depth, and for each p where one is named:

        - `overlap@k`: docs in both top k / k, or, where both lists are shorter, / the length of the longer;
        - `average_overlap@k`: its mean over depths 1 to k, or to that length;
        - `RBO_truncated(p=…)@k`: (1 − p) Σ p^(d−1) · overlap@d over depths d up to k;
        - `RBO_ext`, `RBO_min`, `RBO_res`: the extrapolated value, the least that any continuation of the
          lists allows, and how much above that another continuation may lie.

    Raises:
        UsageError: fewer than two runs; depth or rbo_p out of range.
        JoinError: two runs have fewer than half of the longer one's queries in common, or one is named `all`.

    Source: Webber, Moffat and Zobel, A Similarity Measure for Indefinite Rankings (2010), eqs. 7, 11, 30 and
    32, lists of uneven length included; Corsi and Urbano, The Treatment of Ties in Rank-Biased Overlap,
    SIGIR 2024.
    """
    depths = list(dict.fromkeys(depth)) if isinstance(depth, Sequence) else [depth]
    persistences = list(dict.fromkeys(rbo_p)) if isinstance(rbo_p, Sequence) else [rbo_p]
    if not depths or not persistences:
        raise UsageError("no depth or no rbo_p given; expected at least one of each")
    if (least := min(depths)) < 1:
        raise UsageError(f"depth is {least}; expected 1 or more")
    for p in persistences:
        if not 0 < p < 1:
            raise UsageError(f"rbo_p is {p}; expected a number strictly between 0 and 1")
    by_id = split_runs(runs)
    if len(by_id) < 2:
        raise UsageError(f"found {n_of(len(by_id), 'run')}; expected two or more to compare")
    blocks = [block_of(top(run, max(depths))) for run in by_id.values()]
    queries, docs = (_union([getattr(each, ids) for each in blocks]) for ids in ("queries", "docs"))
    if per_query and "all" in queries:
        raise JoinError("a query has the id 'all', which stands for the mean; leave out values per query")
    blocks = [block.over(queries, docs) for block in blocks]
    cut = [[_Lists.of(block.select(block.rank <= k), ties) for block in blocks] for k in depths]
    names = [name for k in depths for name in _names(k, persistences, ties)]
    found: list[pd.DataFrame] = []
    notes: list[str] = []
    for (a, run_a), (b, run_b) in combinations(enumerate(by_id), 2):
        common, told = _common_queries((run_a, run_b), (blocks[a].lengths, blocks[b].lengths), queries)
        notes += told
        step = max(1, _CELLS // max(depths))
        parts = [common[first : first + step] for first in range(0, len(common), step)]
        own = [[(each[a].within(part), each[b].within(part)) for part in parts] for each in cut]
        values = [np.hstack([_overlap(*both, persistences, ties) for both in each]) for each in own]
        means = np.concatenate([each.mean(axis=1, keepdims=True) for each in values])
        found.append(_rows(run_a, run_b, ["all"], names, means))
        if per_query:
            found.append(_rows(run_a, run_b, queries[common], names, np.concatenate(values)))
    return Found({"comparisons": Comparisons(pd.concat(found, ignore_index=True))}, tuple(notes))


class _Lists(NamedTuple):
    """The lists of a run: where each query's begin; of each row the doc and the ranks t to b of its group."""

    start: Ints
    doc: Any
    first: Ints
    last: Ints
    n_docs: int

    @classmethod
    def of(cls, block: RunBlock, ties: str) -> _Lists:
        rank: Ints = rows_of_lists(1, block.lengths)
        if ties == BROKEN:
            return cls(block.start, block.doc, rank, rank, len(block.docs))
        starts = starts_of_groups(block.query, block.score)
        size = np.diff(starts, append=len(rank))
        first = np.repeat(rank[starts], size)
        last = first if ties == "w" else np.repeat(rank[starts] + size - 1, size)
        return cls(block.start, block.doc, first, last, len(block.docs))

    @property
    def lengths(self) -> Ints:
        return np.diff(self.start)

    @property
    def query(self) -> Ints:
        return np.repeat(np.arange(len(self.start) - 1), self.lengths)

    def within(self, queries: Ints) -> _Lists:
        """Return the lists of some queries, ascending, which become 0, 1, ..."""
        lengths = self.lengths[queries]
        rows = rows_of_lists(self.start[queries], lengths)
        start: Ints = np.append(0, np.cumsum(lengths))
        return self._replace(start=start, doc=self.doc[rows], first=self.first[rows], last=self.last[rows])


def _union(parts: Sequence[pd.Index[str]]) -> pd.Index[str]:
    """Return the ids of all parts, each of which is sorted, once and sorted."""
    if all(each.equals(parts[0]) for each in parts[1:]):
        return parts[0]
    return pd.Index(code_texts(*(each.array for each in parts), in_order=True)[1], dtype="str")


def _overlap(a: _Lists, b: _Lists, persistences: Sequence[float], ties: str) -> Floats:
    """Return overlap, average overlap, then RBO truncated, ext, min and res for each p, × queries.

    What unseen docs of the shorter list may match are the docs that the longer one holds alone: on the mean
    those present at depth d, at most the first d − s of them. Past the longer list the tails are summed in
    closed form (Webber et al., eqs. 11 and 30).
    """
    s, l = np.minimum(a.lengths, b.lengths), np.maximum(a.lengths, b.lengths)  # noqa: E741
    d, n = np.arange(1, int(l.max(initial=0)) + 1), len(s)
    keys, of_b = (each.query * a.n_docs + each.doc for each in (a, b))
    order = np.argsort(of_b, kind="stable")
    row_a, place = find_pairs(keys, of_b[order])
    query, row_b = a.query[row_a], order[place]
    shared = _at_depths(query, (a.first[row_a], a.last[row_a]), (b.first[row_b], b.last[row_b]), n, len(d))
    sizes = [np.broadcast_to(d * 1.0, shared.shape)] * 2
    if ties in ("w", "b"):
        ramps = [(each, (each.first, each.last)) for each in (a, b)]
        sizes = [
            np.where(d > each.lengths[:, None], d, _at_depths(each.query, ramp, ramp, n, len(d)))
            for each, ramp in ramps
        ]
    norm = np.sqrt(sizes[0] * sizes[1]) if ties == "b" else (sizes[0] + sizes[1]) / 2
    is_seen, past = d <= l[:, None], np.maximum(d - s[:, None], 0)
    agreement = shared / norm * is_seen
    at_s, x_l = agreement[np.arange(n), s - 1], np.bincount(query, minlength=n).astype(np.float64)
    mean, most = _open(a, b, row_a, row_b, s, len(d)) if (l > s).any() else np.zeros((2, *shared.shape))
    extended = agreement + past * at_s[:, None] * mean / norm * is_seen
    greatest = agreement + most / norm * (is_seen & (past > 0))
    columns = [x_l / l, agreement.sum(axis=1) / l]
    f = (l + s - x_l).astype(np.int64)
    deep = np.arange(1, int((l + s).max(initial=0)) + 1)
    for p in persistences:
        weights = (1 - p) * p ** (d - 1)
        truncated, ext, most = ((each * weights).sum(axis=1) for each in (agreement, extended, greatest))
        harmonic, powers = (np.append(0.0, np.cumsum(each)) for each in (p**deep / deep, p**deep))
        tail = x_l * (-math.log1p(-p) - harmonic[l])
        least = truncated + tail * (1 - p) / p
        tail = 2 * (powers[f] - powers[l]) - (l + s - x_l) * (harmonic[f] - harmonic[l])
        tail = tail + p ** (f + 1) / (1 - p)
        ext += (x_l + (l - s) * at_s) / l * p**l
        columns += [truncated, ext, least, most + tail * (1 - p) / p - least]
    return np.stack(columns)


def _at_depths(
    query: Ints, one: tuple[Any, Any], other: tuple[Any, Any], n_queries: int, deepest: int
) -> Floats:
    """Return for each query the sum over docs of c_d · c'_d at depths 1 to `deepest`.

    one, other: the ranks t and b between which each doc's contribution rises, in either list.
    """
    first, last = np.maximum(one[0], other[0]), np.maximum(one[1], other[1])
    size = np.maximum(np.minimum(last, deepest) - first + 1, 0)
    row, depth = np.repeat(np.arange(len(query)), size), rows_of_lists(first, size)

    def product(at: Ints) -> Floats:
        both = [np.clip((at - t[row] + 1) / (b[row] - t[row] + 1), 0, 1) for t, b in (one, other)]
        return np.asarray(both[0] * both[1])

    gained = np.where(depth > first[row], product(depth) - product(depth - 1), product(depth))
    cells = np.bincount(query[row] * deepest + depth - 1, gained, n_queries * deepest)
    return np.cumsum(cells.reshape(n_queries, deepest), axis=1)


def _open(a: _Lists, b: _Lists, row_a: Ints, row_b: Ints, s: Ints, deepest: int) -> Floats:
    """Return the mean contribution of docs that the longer list holds alone, and the first d − s summed."""
    parts = []
    for own, other, held in ((a, b, row_a), (b, a, row_b)):
        is_alone = (own.lengths > other.lengths)[own.query]
        is_alone[held] = False
        rows = np.flatnonzero(is_alone)
        parts.append(np.stack([own.query[rows], own.first[rows], own.last[rows]]))
    query, first, last = np.hstack(parts)
    order = np.lexsort((first, query))
    query, ramp = query[order], (first[order], last[order])
    whole, opened = np.ones(len(query), dtype=np.int64), s[query] + running_count(query)
    total, count, most = (
        _at_depths(query, own, other, len(s), deepest)
        for own, other in ((ramp, (whole, whole)), ((ramp[0],) * 2, (whole, whole)), (ramp, (opened, opened)))
    )
    return np.stack([np.divide(total, count, out=np.zeros_like(total), where=count > 0), most])


def _names(depth: int, persistences: list[float], ties: str) -> list[str]:
    """Return the names of the measures at a depth."""
    told = "" if ties == BROKEN else f"ties={ties}"
    overlap = [f"{name}{told and f'({told})'}@{depth}" for name in ("overlap", "average_overlap")]
    within = [f"p={p:g}{told and f',{told}'}" for p in persistences]
    return overlap + [
        f"RBO_{form}({own})@{depth}" for own in within for form in ("truncated", "ext", "min", "res")
    ]


def _common_queries(
    pair: tuple[str, str], lengths: tuple[Ints, Ints], queries: pd.Index
) -> tuple[Ints, list[str]]:
    """Return the queries that both runs have, and notes on what their lists do not share."""
    has_a, has_b = (each > 0 for each in lengths)
    common = np.flatnonzero(has_a & has_b)
    most = max(int(has_a.sum()), int(has_b.sum()))
    if not len(common) or len(common) < LEAST_SHARED * most:
        first = [next(iter(queries[side]), "none") for side in (has_a, has_b)]
        raise JoinError(
            f"runs {pair[0]!r} and {pair[1]!r} have {len(common):,} of {most:,} queries in common (first "
            f"queries: {first[0]!r} and {first[1]!r}), expected half or more; are they for different splits?"
        )
    notes = []
    only_a, only_b = int((has_a & ~has_b).sum()), int((has_b & ~has_a).sum())
    if only_a + only_b:
        notes.append(
            f"{pair[0]} and {pair[1]} are compared on the {len(common)} queries that both have; "
            f"left out: {only_a} that only {pair[0]} has, {only_b} that only {pair[1]} has"
        )
    one, other = (each[common] for each in lengths)
    if n := int(np.count_nonzero(one != other)):
        notes.append(
            f"{pair[0]} and {pair[1]}: {n} of {len(one)} queries have lists of different lengths (shortest "
            f"{one.min()} and {other.min()}); overlap and truncated RBO count what a list lacks as not shared"
        )
    return common, notes


def _rows(run_a: str, run_b: str, query_ids: Iterable[str], names: list[str], values: Floats) -> pd.DataFrame:
    """Return values of measures × queries as rows, query by query."""
    ids, measures, runs = (pd.Index(list(each), dtype="str") for each in (query_ids, names, [run_a, run_b]))
    columns: dict[str, Any] = {
        "run_a": runs.take(np.zeros(values.size, dtype=np.int64)),
        "run_b": runs.take(np.ones(values.size, dtype=np.int64)),
        "query_id": ids.repeat(len(names)),
        "measure": measures.take(np.tile(np.arange(len(names)), len(ids))),
        "value": values.T.ravel(),
    }
    return pd.DataFrame(columns)
