"""How alike the rankings of runs are, pair by pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from fire_toolkit.comparison.overlap import (
    Floats,
    Ints,
    RankedLists,
    measure_names,
    overlap_measures,
)
from fire_toolkit.comparison.ties import VARIANTS, TiedLists, tied_lists, tied_measures
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.ranking import split_runs, top
from fire_toolkit.tables import Comparisons, Run


class Compared(NamedTuple):
    """Comparisons, and a sentence for each two runs that do not have the same queries."""

    comparisons: Comparisons
    notes: list[str]


Bools = npt.NDArray[np.bool_]

BROKEN = "broken"
COLUMNS = ("run_a", "run_b", "query_id", "measure", "value")


def compare_runs(
    runs: Run | Sequence[Run],
    *,
    depth: int | Sequence[int] = 10,
    rbo_p: float | Sequence[float] = 0.9,
    ties: str = BROKEN,
    per_query: bool = False,
) -> Compared:
    """Return overlap and rank-biased overlap of the top `depth` of every two runs.

    Args:
        runs: two or more, as one table or several.
        depth: how many docs of a ranking are compared, 1 or more. Where l is the length of the longer of
            the two lists and l < depth, the query is compared at depth l. One or several.
        rbo_p: persistence of rank-biased overlap, strictly between 0 and 1; one or several.
        ties: `broken`: `rank` orders all docs; `w`, `a`, `b`: docs of equal score are tied, see
            `comparison.ties`; the measures' names then say so, as in `RBO_ext(p=0.9,ties=a)@10`. A
            group that `depth` cuts keeps the docs that stand within it.
        per_query: whether each query's values follow those of `all`.

    Returns:
        comparisons, with columns run_a, run_b, query_id, measure, value, and notes: one sentence for
        each two runs that do not have the same queries. Two runs stand in the order given; query_id
        `all` is the mean over the queries that both have; then, if asked for, each of those queries.
        Measures, for each depth, and for each p where one is named:

        - `overlap@k`: docs in both top k / k;
        - `average_overlap@k`: its mean over depths 1 to k;
        - `RBO_truncated(p=…)@k`: (1 − p) Σ p^(d−1) · overlap@d over depths d up to k;
        - `RBO_ext`, `RBO_min`, `RBO_res`: the extrapolated value, the least that any continuation of the
          lists allows, and how much above that another continuation may lie.

    Raises:
        UsageError: fewer than two runs; depth, rbo_p or ties out of range.
        JoinError: two runs have no query in common.

    Source: Webber, Moffat and Zobel, A Similarity Measure
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
    depths = list(dict.fromkeys(depth)) if isinstance(depth, Sequence) else [depth]
    persistences = list(dict.fromkeys(rbo_p)) if isinstance(rbo_p, Sequence) else [rbo_p]
    _check_arguments(depths, persistences, ties)
    by_id = split_runs(runs)
    if len(by_id) < 2:
        raise UsageError(f"found {len(by_id)} run(s); expected two or more to compare")
    coded = _code([top(run, max(depths)) for run in by_id.values()])
    names = [name for k in depths for name in _names(k, persistences, ties)]
    lists = [coded.lists(k, ties) for k in depths]
    has = [coded.has(run) for run in range(len(by_id))]
    rows: list[pd.DataFrame] = []
    notes: list[str] = []
    for a, b in combinations(range(len(by_id)), 2):
        pair = list(by_id)[a], list(by_id)[b]
        common = _common_queries(pair, (has[a], has[b]), coded.queries)
        notes += _left_out(pair, (has[a], has[b]))
        values = np.column_stack([_values(each, a, b, common, persistences) for each in lists])
        rows.append(_rows(*pair, ["all"], values.mean(axis=0, keepdims=True), names))
        if per_query:
            rows.append(_rows(*pair, coded.queries[common], values, names))
    return Compared(Comparisons(pd.concat(rows, ignore_index=True)), notes)


def _check_arguments(depths: list[int], persistences: list[float], ties: str) -> None:
    if not depths or not persistences:
        raise UsageError("no depth or no rbo_p given; expected at least one of each")
    for depth in depths:
        if depth < 1:
            raise UsageError(f"depth is {depth}; expected 1 or more")
    for p in persistences:
        if not 0 < p < 1:
            raise UsageError(f"rbo_p is {p}; expected a number strictly between 0 and 1")
    if ties not in (BROKEN, *VARIANTS):
        raise UsageError(f"ties is {ties!r}; expected {BROKEN} or one of {', '.join(VARIANTS)}")


@dataclass(frozen=True)
class _Lists:
    """The top docs of every run at one depth: ranked when ties are broken, else with their groups."""

    ranked: list[RankedLists]
    tied: list[TiedLists]
    ties: str


@dataclass(frozen=True)
class _Coded:
    """Runs as codes of their common ids: query, doc, rank and score of each row."""

    queries: pd.Index
    n_docs: int
    rows: Sequence[tuple[Ints, Ints, Ints, Floats]]

    def has(self, run: int) -> Bools:
        """Return which queries a run has."""
        return np.bincount(self.rows[run][0], minlength=len(self.queries)) > 0

    def lists(self, depth: int, ties: str) -> _Lists:
        """Return the top `depth` of each run."""
        n_queries, n_docs = len(self.queries), self.n_docs
        cut = []
        for query, doc, rank, score in self.rows:
            kept = rank <= depth
            whole = kept.all()
            cut.append(
                (query, doc, rank, score) if whole else (query[kept], doc[kept], rank[kept], score[kept])
            )
        if ties == BROKEN:
            return _Lists(
                [RankedLists.from_rows(*rows[:3], n_queries=n_queries, n_docs=n_docs) for rows in cut],
                [],
                ties,
            )
        return _Lists([], [tied_lists(*rows, n_queries=n_queries, n_docs=n_docs) for rows in cut], ties)


def _code(runs: list[Run]) -> _Coded:
    """Return the queries of all runs, ascending, and each run's rows in codes of these."""
    queries, query = _common_codes([run["query_id"].array for run in runs])
    docs, doc = _common_codes([run["doc_id"].array for run in runs])
    rows = [
        (query[place], doc[place], run["rank"].to_numpy(dtype=np.int64), run["score"].to_numpy())
        for place, run in enumerate(runs)
    ]
    return _Coded(queries, len(docs), rows)


def _names(depth: int, persistences: list[float], ties: str) -> list[str]:
    names = list(measure_names(depth, persistences[0])[:2])
    for p in persistences:
        names += measure_names(depth, p)[2:]
    if ties == BROKEN:
        return names
    return [
        name.replace(")@", f",ties={ties})@") if "(" in name else name.replace("@", f"(ties={ties})@")
        for name in names
    ]


def _common_codes(ids: list[Any]) -> tuple[pd.Index, list[Ints]]:
    """Return the union of the categories, ascending, and each categorical's codes in it."""
    union = ids[0].categories
    if all(values.categories.equals(union) for values in ids):
        return union, [values.codes.astype(np.int64) for values in ids]
    names = {name for values in ids for name in values.categories.to_numpy(dtype=object)}
    union = pd.Index(sorted(names), dtype="str")
    codes = [union.get_indexer(values.categories).astype(np.int64)[values.codes] for values in ids]
    return union, codes


def _common_queries(pair: tuple[str, str], has: tuple[Bools, Bools], queries: pd.Index) -> Ints:
    common = np.flatnonzero(has[0] & has[1])
    if len(common):
        return common
    first = [next(iter(queries[side]), "none") for side in has]
    raise JoinError(
        f"runs {pair[0]!r} and {pair[1]!r} have no query in common (first queries: {first[0]!r} and "
        f"{first[1]!r}); expected runs over the same queries"
    )


def _left_out(pair: tuple[str, str], has: tuple[Bools, Bools]) -> list[str]:
    a, b = has
    only_a, only_b, both = (int(each.sum()) for each in (a & ~b, b & ~a, a & b))
    if not only_a + only_b:
        return []
    return [
        f"{pair[0]} and {pair[1]} are compared on the {both} queries that both have; "
        f"left out: {only_a} that only {pair[0]} has, {only_b} that only {pair[1]} has"
    ]


def _values(lists: _Lists, a: int, b: int, common: Ints, persistences: list[float]) -> Floats:
    """Return queries × (overlap, average overlap, then four RBO for each persistence)."""
    if lists.tied:
        own = [lists.tied[run].within(common) for run in (a, b)]
        columns = [tied_measures(own[0], own[1], p=p, variant=lists.ties) for p in persistences]
    else:
        one, other = lists.ranked[a], lists.ranked[b]
        query, worse = one.shared(other)
        place = np.zeros(len(one.length), dtype=np.int64)
        place[common] = np.arange(len(common))
        lengths = (one.length[common], other.length[common])
        columns = [overlap_measures(place[query], worse, lengths, p=p) for p in persistences]
    return np.column_stack([columns[0], *(values[:, 2:] for values in columns[1:])])


def _rows(
    run_a: str, run_b: str, query_ids: npt.ArrayLike, values: Floats, names: Sequence[str]
) -> pd.DataFrame:
    columns: dict[str, Any] = {
        "run_a": run_a,
        "run_b": run_b,
        "query_id": np.repeat(np.asarray(query_ids, dtype=object), len(names)),
        "measure": np.tile(np.asarray(names, dtype=object), len(values)),
        "value": values.ravel(),
    }
    return pd.DataFrame(columns).astype(dict.fromkeys(COLUMNS[:4], "str"))
