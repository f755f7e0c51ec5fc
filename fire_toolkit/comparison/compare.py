"""How alike the rankings of runs are, pair by pair."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from fire_toolkit.comparison.overlap import (
    Floats,
    Ints,
    Packing,
    RankedLists,
    measure_names,
    overlap_measures,
)
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.ranking import split_runs, top
from fire_toolkit.tables import Comparisons, Run


class Compared(NamedTuple):
    """Comparisons, and a sentence for each two runs that do not have the same queries."""

    comparisons: Comparisons
    notes: list[str]


COLUMNS = ("run_a", "run_b", "query_id", "measure", "value")


def compare_runs(
    runs: Run | Sequence[Run], *, depth: int = 10, rbo_p: float = 0.9, per_query: bool = False
) -> Compared:
    """Return overlap and rank-biased overlap of the top `depth` of every two runs.

    Args:
        runs: two or more, as one table or several.
        depth: how many docs of a ranking are compared, 1 or more. Where l is the length of the longer of
            the two lists and l < depth, the query is compared at depth l.
        rbo_p: persistence of rank-biased overlap, strictly between 0 and 1.
        per_query: whether each query's values follow those of `all`.

    Returns:
        comparisons, with columns run_a, run_b, query_id, measure, value, and notes: one sentence for
        each two runs that do not have the same queries. Two runs stand in the order given; query_id
        `all` is the mean over the queries that both have; then, if asked for, each of those queries.
        Measures:

        - `overlap@k`: docs in both top k / k;
        - `average_overlap@k`: its mean over depths 1 to k;
        - `RBO_truncated(p=…)@k`: (1 − p) Σ p^(d−1) · overlap@d over depths d up to k;
        - `RBO_ext`, `RBO_min`, `RBO_res`: the extrapolated value, the least that any continuation of the
          lists allows, and how much above that another continuation may lie.

    Raises:
        UsageError: fewer than two runs; depth or rbo_p out of range.
        JoinError: two runs have no query in common.

    Rankings have no ties: `rank` orders them. Source: Webber, Moffat and Zobel, A Similarity Measure
    for Indefinite Rankings (2010), eqs. 7, 11, 30 and 32, lists of uneven length included.

    Examples:
        >>> from fire_toolkit.ranking import rank_run
        >>> scored = [(r, "q", d, -i) for r, docs in {"m1": "abc", "m2": "bad"}.items()
        ...           for i, d in enumerate(docs)]
        >>> run = rank_run(pd.DataFrame(scored, columns=["run_id", "query_id", "doc_id", "score"]))
        >>> compare_runs(run, depth=2).comparisons[["query_id", "measure", "value"]].head(2)
          query_id            measure  value
        0      all          overlap@2    1.0
        1      all  average_overlap@2    0.5
    """
    if depth < 1:
        raise UsageError(f"depth is {depth}; expected 1 or more")
    if not 0 < rbo_p < 1:
        raise UsageError(f"rbo_p is {rbo_p}; expected a number strictly between 0 and 1")
    ranked = {run_id: top(run, depth) for run_id, run in split_runs(runs).items()}
    if len(ranked) < 2:
        raise UsageError(f"found {len(ranked)} run(s); expected two or more to compare")
    queries, packing, lists = _pack(list(ranked.values()), depth)
    names = measure_names(depth, rbo_p)
    rows: list[pd.DataFrame] = []
    notes: list[str] = []
    for (run_a, a), (run_b, b) in combinations(zip(ranked, lists, strict=True), 2):
        common = _common_queries(run_a, run_b, (a, b), queries)
        notes += _left_out(run_a, run_b, a, b)
        values = _values(packing, a, b, common, rbo_p)
        rows.append(_rows(run_a, run_b, ["all"], values.mean(axis=0, keepdims=True), names))
        if per_query:
            rows.append(_rows(run_a, run_b, queries[common], values, names))
    return Compared(Comparisons(pd.concat(rows, ignore_index=True)), notes)


def _pack(runs: list[Run], depth: int) -> tuple[pd.Index, Packing, list[RankedLists]]:
    """Return the queries of all runs, ascending, and each run's lists in codes of these."""
    queries, query = _common_codes([run["query_id"].array for run in runs])
    docs, doc = _common_codes([run["doc_id"].array for run in runs])
    packing = Packing(len(docs), depth.bit_length())
    lists = [
        packing.pack(query[place], doc[place], run["rank"].to_numpy(), n_queries=len(queries))
        for place, run in enumerate(runs)
    ]
    return queries, packing, lists


def _common_codes(ids: list[Any]) -> tuple[pd.Index, list[Ints]]:
    """Return the union of the categories, ascending, and each categorical's codes in it."""
    union = ids[0].categories
    if not all(values.categories.equals(union) for values in ids):
        names = {name for values in ids for name in values.categories.to_numpy(dtype=object)}
        union = pd.Index(sorted(names), dtype="str")
    codes = [union.get_indexer(values.categories).astype(np.int64)[values.codes] for values in ids]
    return union, codes


def _common_queries(
    run_a: str, run_b: str, lists: tuple[RankedLists, RankedLists], queries: pd.Index
) -> Ints:
    common = np.flatnonzero((lists[0].length > 0) & (lists[1].length > 0))
    if len(common):
        return common
    first = [next(iter(queries[side.length > 0]), "none") for side in lists]
    raise JoinError(
        f"runs {run_a!r} and {run_b!r} have no query in common (first queries: {first[0]!r} and "
        f"{first[1]!r}); expected runs over the same queries"
    )


def _left_out(run_a: str, run_b: str, a: RankedLists, b: RankedLists) -> list[str]:
    has_a, has_b = a.length > 0, b.length > 0
    only_a, only_b, both = (
        int((has_a & ~has_b).sum()),
        int((has_b & ~has_a).sum()),
        int((has_a & has_b).sum()),
    )
    if not only_a + only_b:
        return []
    return [
        f"{run_a} and {run_b} are compared on the {both} queries that both have; "
        f"left out: {only_a} that only {run_a} has, {only_b} that only {run_b} has"
    ]


def _values(packing: Packing, a: RankedLists, b: RankedLists, common: Ints, p: float) -> Floats:
    query, worse = packing.shared(a, b)
    place = np.zeros(len(a.length), dtype=np.int64)
    place[common] = np.arange(len(common))
    return overlap_measures(place[query], worse, (a.length[common], b.length[common]), p=p)


def _rows(
    run_a: str, run_b: str, query_ids: npt.ArrayLike, values: Floats, names: tuple[str, ...]
) -> pd.DataFrame:
    columns: dict[str, Any] = {
        "run_a": run_a,
        "run_b": run_b,
        "query_id": np.repeat(np.asarray(query_ids, dtype=object), len(names)),
        "measure": np.tile(np.asarray(names, dtype=object), len(values)),
        "value": values.ravel(),
    }
    return pd.DataFrame(columns).astype(dict.fromkeys(COLUMNS[:4], "str"))
