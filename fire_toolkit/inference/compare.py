"""How alike the rankings of runs are, pair by pair."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.inference.overlap import FORMS, compare_lists
from fire_toolkit.inference.tied_lists import VARIANTS, TiedLists, tied_lists, tied_measures
from fire_toolkit.matching.blocks import block_of
from fire_toolkit.matching.ranking import LEAST_SHARED, split_runs, top
from fire_toolkit.results import Result
from fire_toolkit.tables import Comparisons, Run
from fire_toolkit.tables.columns import sorted_union


class _Compared(NamedTuple):
    comparisons: Comparisons
    notes: tuple[str, ...]


class Compared(_Compared, Result):
    """Comparisons, and sentences on runs that do not have the same queries or equally long lists."""

    __slots__ = ()


BROKEN = "broken"


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
            the two lists and l < depth, the query is compared at depth l. One or several. A ranking that
            is known for some docs only below a gap is compared down to the gap.
        rbo_p: persistence of rank-biased overlap, strictly between 0 and 1; one or several.
        ties: `broken`: `rank` orders all docs; `w`, `a`, `b`: docs of equal score are tied, see
            `tied_lists`; the measures' names then say so, as in `RBO_ext(p=0.9,ties=a)@10`. A
            group that `depth` cuts keeps the docs that stand within it.
        per_query: whether each query's values follow those of `all`.

    Returns:
        comparisons, with columns run_a, run_b, query_id, measure, value, and notes: sentences on two
        runs that do not have the same queries, or lists of different lengths. Two runs stand in the order
        given; query_id `all` is the mean over the queries that both have; then, if asked for, each of
        those queries.
        Measures, for each depth, and for each p where one is named:

        - `overlap@k`: docs in both top k / k;
        - `average_overlap@k`: its mean over depths 1 to k;
        - `RBO_truncated(p=…)@k`: (1 − p) Σ p^(d−1) · overlap@d over depths d up to k;
        - `RBO_ext`, `RBO_min`, `RBO_res`: the extrapolated value, the least that any continuation of the
          lists allows, and how much above that another continuation may lie.

    Raises:
        UsageError: fewer than two runs; depth, rbo_p or ties out of range.
        JoinError: two runs have fewer than half of the longer one's queries in common.

    Source: Webber, Moffat and Zobel, A Similarity Measure
    for Indefinite Rankings (2010), eqs. 7, 11, 30 and 32, lists of uneven length included.

    Examples:
        >>> from fire_toolkit.matching.ranking import rank_run
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
    blocks = [block_of(top(run, max(depths))) for run in by_id.values()]
    queries, docs = (sorted_union([getattr(each, ids) for each in blocks]) for ids in ("queries", "docs"))
    blocks = [block.over(queries, docs) for block in blocks]
    cut = [[block.select(block.rank <= k) for block in blocks] for k in depths]
    tied = [[tied_lists(block) for block in each] for each in cut if ties != BROKEN]
    names = [name for k in depths for name in _names(k, persistences, ties)]
    found: list[pd.DataFrame] = []
    notes: list[str] = []
    for (a, run_a), (b, run_b) in combinations(enumerate(by_id), 2):
        common, told = _common_queries((run_a, run_b), (blocks[a].lengths, blocks[b].lengths), queries)
        notes += told
        if tied:
            values = [_compare_tied(each[a], each[b], common, persistences, ties) for each in tied]
        else:
            values = [compare_lists(each[a], each[b], common, persistences) for each in cut]
        of_queries = np.concatenate(values)
        means = np.concatenate([each.mean(axis=1, keepdims=True) for each in values])
        found.append(_rows(run_a, run_b, ["all"], names, means))
        if per_query:
            found.append(_rows(run_a, run_b, queries[common], names, of_queries))
    return Compared(Comparisons(pd.concat(found, ignore_index=True)), tuple(notes))


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


def _names(depth: int, persistences: list[float], ties: str) -> list[str]:
    """Return the names of the measures at a depth, in the order of `compare_lists`."""
    told = "" if ties == BROKEN else f"ties={ties}"
    overlap = [f"{name}{told and f'({told})'}@{depth}" for name in ("overlap", "average_overlap")]
    within = [f"p={p:g}{told and f',{told}'}" for p in persistences]
    return overlap + [f"RBO_{form}({own})@{depth}" for own in within for form in FORMS]


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


def _compare_tied(
    a: TiedLists, b: TiedLists, common: Ints, persistences: list[float], variant: str
) -> Floats:
    """Return (overlap, average overlap, then four RBO for each persistence) × queries."""
    own = a.within(common), b.within(common)
    columns = [tied_measures(*own, p=p, variant=variant) for p in persistences]
    return np.concatenate([columns[0], *(values[2:] for values in columns[1:])])


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
