"""Pairs of captions or items that are alike, judged once: one of them is asked, the others take its label."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools
from fire_toolkit.errors import UsageError
from fire_toolkit.pooling.pool import PoolingResult
from fire_toolkit.results import Result
from fire_toolkit.tables import check_pool
from fire_toolkit.tables.checks import check_table
from fire_toolkit.tables.columns import PAIR, pair_rows
from fire_toolkit.tables.designs import JUDGED_ONCE, SAMPLE


class Alike(NamedTuple):
    """Groups of ids that ask the same: what follows from pairs of ids by chains.

    of: id → the first id of its group; n: groups; largest: ids in the largest; n_chained: groups with two ids
    that no pair names, and only others between them join.
    """

    of: dict[str, str]
    n: int
    largest: int
    n_chained: int


class _JudgedOnce(NamedTuple):
    result: PoolingResult
    pairs: pd.DataFrame


class JudgedOnce(_JudgedOnce, Result):
    """A pool without the pairs that take another's label, and the groups of pairs that ask the same.

    pairs: query_id, doc_id, group (from 1), is_asked (false: it takes the label of its group).
    """

    __slots__ = ()


def group_alike(links: pd.DataFrame) -> Alike:
    """Return the groups that pairs of ids make, chains included.

    Args:
        links: columns id, other_id, and is_equal (the same text or file; else they are near each other,
            and two neighbours of one id need not be).

    Examples:
        >>> links = pd.DataFrame({"id": ["a", "b"], "other_id": ["b", "c"], "is_equal": False})
        >>> group_alike(links)
        Alike(of={'a': 'a', 'b': 'a', 'c': 'a'}, n=1, largest=3, n_chained=1)
    """
    of, equal = _roots(links), _roots(links[links["is_equal"].to_numpy(dtype=bool)])
    near = {
        frozenset(equal.get(each, each) for each in pair)
        for pair in links[["id", "other_id"]].itertuples(index=False, name=None)
    }
    names = pd.Series({each: of[each] for each in {equal.get(each, each) for each in of}}, dtype="object")
    n_names = names.value_counts()
    n_near = pd.Series([of[min(pair)] for pair in near if len(pair) == 2], dtype="object").value_counts()
    n_whole = n_names * (n_names - 1) // 2
    is_chained = n_near.reindex(n_names.index, fill_value=0) < n_whole
    sizes = pd.Series(of, dtype="object").value_counts()
    return Alike(of, len(sizes), int(sizes.max()) if len(sizes) else 0, int(is_chained.sum()))


def _roots(links: pd.DataFrame) -> dict[str, str]:
    """Return id → the smallest id that links lead to."""
    of: dict[str, str] = {}

    def root(name: str) -> str:
        of.setdefault(name, name)
        while of[name] != name:
            of[name] = of[of[name]]
            name = of[name]
        return name

    for left, right in links[["id", "other_id"]].itertuples(index=False, name=None):
        first, last = sorted([root(left), root(right)])
        of[last] = first
    return {name: root(name) for name in sorted(of)}


def judge_once(
    result: PoolingResult,
    *,
    queries: Alike | None = None,
    docs: Alike | None = None,
    judged: pd.DataFrame | None = None,
) -> JudgedOnce:
    """Return a pool in which pairs that ask the same are asked once.

    Pairs ask the same where their queries are of one group and their docs are. Of each group the pairs that
    were asked or judged before and the original positives stay. Where there is none, the pair of the best
    rank stays (then the one that more runs pooled, then the first by id). The others leave the pool, and
    take the label of those that stay once they have one (`share_among_alike`).

    Args:
        result: of `pool_runs`; its sources stay as they are.
        queries, docs: of `group_alike`; None: no two ask the same.
        judged: pairs judged before (query_id, doc_id), in the pool or not: their label serves too.

    Raises:
        UsageError: the pool is a sample, whose pairs stand for themselves alone.

    Examples:
        >>> from fire_toolkit.matching.ranking import rank_run
        >>> from fire_toolkit.pooling.pool import pool_runs
        >>> scored = {"run_id": "m", "query_id": ["q1", "q2"], "doc_id": "d", "score": 1.0}
        >>> alike = group_alike(pd.DataFrame({"id": ["q1"], "other_id": ["q2"], "is_equal": [True]}))
        >>> once = judge_once(pool_runs(rank_run(pd.DataFrame(scored)), depth=1), queries=alike)
        >>> once.result.pool["query_id"].tolist(), once.pairs.values.tolist()
        (['q1'], [['q1', 'd', 1, True], ['q2', 'd', 1, False]])
    """
    if set(SAMPLE) & set(result.pool.columns):
        raise UsageError(
            "each pair of a sample stands for itself, and none can take another's label; judge once without "
            "strata and deep queries"
        )
    pool = result.pool
    outside = pool.iloc[:0] if judged is None else judged.loc[pair_rows(judged, pool) < 0, PAIR]
    is_original = pool["is_original"].fillna(False).to_numpy(dtype=bool)
    pairs = pd.concat([pool[[*PAIR, "best_rank", "n_runs"]], outside[PAIR]], ignore_index=True)
    stays = np.append(_are_known(result) | is_original, np.ones(len(outside), dtype=bool))
    names = [_group_of(pairs[name], alike) for name, alike in zip(PAIR, (queries, docs), strict=True)]
    group = pairs.groupby(names, sort=True).ngroup()
    order = pairs.assign(group=group, stays=~stays, fewer=-pairs["n_runs"].astype("Float64"))
    order = order.sort_values(["group", "stays", "best_rank", "fewer", *PAIR])
    is_first = ~order["group"].duplicated()
    is_asked = (is_first | ~order["stays"]).sort_index().to_numpy(dtype=bool)
    is_left = ~is_asked[: len(pool)]
    in_it = group.isin(group[~is_asked]).to_numpy()
    shared = pairs.loc[in_it, PAIR].assign(group=group[in_it], is_asked=is_asked[in_it])
    shared["group"] = pd.factorize(shared["group"], sort=True)[0] + 1
    kept = result._replace(pool=check_pool(pool[~is_left]), counts=_counts(result, is_left))
    return JudgedOnce(kept, check_table(JUDGED_ONCE, shared))


def _group_of(ids: pd.Series, alike: Alike | None) -> pd.Series:
    """Return the first id of each id's group: the id itself where it is in none."""
    return ids.astype("str") if alike is None else ids.map(alike.of).fillna(ids).astype("str")


def _are_known(result: PoolingResult) -> Bools:
    """Return whether each pair of the pool was asked or judged before."""
    pool, counts = result.pool, result.counts
    if "to_ask" not in counts:
        return np.zeros(len(pool), dtype=bool)
    is_new = (pool["round"] == counts["round"]).to_numpy(dtype=bool) & (counts["to_ask"] > 0)
    is_judged = pool["is_judged"].to_numpy(dtype=bool) if "is_judged" in pool else False
    return np.asarray(~is_new | is_judged)


def _counts(result: PoolingResult, is_left: Bools) -> dict[str, int]:
    kept, n_left = result.pool[~is_left], int(is_left.sum())
    counts = result.counts | {"pairs": len(kept), "queries": int(kept["query_id"].nunique())}
    counts["judged_once"] = n_left
    if "to_ask" in counts:
        counts["to_ask"] -= n_left
    return counts
