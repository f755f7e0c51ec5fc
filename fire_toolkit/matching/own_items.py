"""A query's own item: the item it starts from (the image that a text changes), which is not an answer to it.

The queries name it in their column `reference`. Benchmarks differ in what becomes of it in a ranking:
CIRR leaves it out, FashionIQ and CIRCO keep it. Nobody is ever asked about it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from fire_toolkit.arrays import Bools, Ints, are_among
from fire_toolkit.tables import Qrels, Queries, Run, check_qrels
from fire_toolkit.tables.columns import are_in

COLUMN = "reference"
RULES = ("drop", "keep")
OwnItems = Mapping[str, str]
_Table = TypeVar("_Table", bound=pd.DataFrame)


@dataclass(frozen=True)
class LeftOut:
    """What was left out of one run.

    n_queries: queries whose own item was in their list. n_unknown: queries with ranks left out among
    which their own item may stand: what stands below may be one rank higher than it is said to be.
    """

    n_queries: int = 0
    n_unknown: int = 0

    def __add__(self, other: LeftOut) -> LeftOut:
        return LeftOut(self.n_queries + other.n_queries, self.n_unknown + other.n_unknown)


Tell = Callable[[LeftOut], None]


class StoredRun(Protocol):
    """A run in a file that can leave own items out while it is read."""

    def without_own_items(self, own_items: OwnItems, tell: Tell) -> Any:
        """Return the run without them."""
        ...


AnyRun = Run | StoredRun


def own_items_of(queries: Queries | OwnItems) -> OwnItems:
    """Return the own item of each query that has one, by query id.

    Args:
        queries: their column `reference` names it, empty or missing where a query has none; or the
            own items themselves, query id → doc id.
    """
    if not isinstance(queries, pd.DataFrame):
        return queries
    if COLUMN not in queries:
        return {}
    named = queries[queries[COLUMN].notna() & (queries[COLUMN] != "")]
    return dict(zip(named["query_id"], named[COLUMN].astype("str"), strict=True))


def places_of(own_items: OwnItems, queries: pd.Index[str], docs: pd.Index[str]) -> tuple[Bools, Ints]:
    """Return which queries have an own item, and its place in `docs`, -1 where it is not there."""
    named = [own_items.get(query) for query in queries]
    has_own = np.fromiter((doc is not None for doc in named), dtype=bool, count=len(named))
    return has_own, docs.get_indexer(pd.Index([doc or "" for doc in named], dtype="str")).astype(np.int64)


def close_up(
    lists: Ints, doc: npt.NDArray[Any], rank: npt.NDArray[Any], own: Ints
) -> tuple[Bools, npt.NDArray[Any]]:
    """Return which rows are own items, and the rank of each row when they are left out of their lists.

    Args:
        lists: of each row, its list, from 0.
        doc, rank: of each row.
        own: of each list, the doc to leave out, -1 where there is none.
    """
    is_own = doc == own[lists]
    at = np.full(own.size, np.iinfo(np.int64).max)
    at[lists[is_own]] = rank[is_own]
    return is_own, (rank - (rank > at[lists])).astype(rank.dtype, copy=False)


def count_left_out(lists: Ints, rank: npt.NDArray[Any], is_own: Bools, has_own: Bools) -> LeftOut:
    """Return what was left out; arguments as for `close_up`, has_own: which lists have an own item."""
    is_found = are_among(lists[is_own], has_own.size)
    deepest = np.zeros(has_own.size, dtype=np.int64)
    np.maximum.at(deepest, lists, rank)
    has_gap = deepest > np.bincount(lists, minlength=has_own.size)
    return LeftOut(int(is_found.sum()), int(np.count_nonzero(has_gap & has_own & ~is_found)))


def drop_own_items(run: AnyRun, queries: Queries | OwnItems, *, tell: Tell | None = None) -> Any:
    """Return a run without each query's own item; the docs below it move up by one rank.

    Args:
        run: a Run table of one run or several, or a run that `open_run` gives, whose own items are left
            out when it is scored.
        queries: see `own_items_of`; queries without an own item keep their lists.
        tell: told what was left out, whenever the run is read.

    Returns:
        A run of the same kind. A query whose list held nothing else is not in it.

    Examples:
        >>> from fire_toolkit.matching.ranking import rank_run
        >>> run = rank_run(pd.DataFrame(
        ...     {"run_id": "m", "query_id": "q", "doc_id": ["a", "b", "c"], "score": [3, 2, 1]}))
        >>> drop_own_items(run, {"q": "b"})[["doc_id", "rank"]].values.tolist()
        [['a', 1], ['c', 2]]
    """
    own_items = own_items_of(queries)
    tell = tell or _ignore
    if not isinstance(run, pd.DataFrame):
        return run.without_own_items(own_items, tell)
    is_own, rank, left_out = _left_out(Run(run), own_items)
    tell(left_out)
    if not is_own.any():
        return run
    return Run(run[~is_own].assign(rank=rank[~is_own]).reset_index(drop=True))


def _ignore(left_out: LeftOut) -> None:
    pass


def _left_out(run: Run, own_items: OwnItems) -> tuple[Bools, Ints, LeftOut]:
    query, doc = run["query_id"].array, run["doc_id"].array
    n_queries, n_runs = len(query.categories), len(run["run_id"].array.categories)
    lists = run["run_id"].array.codes.astype(np.int64) * n_queries + query.codes
    has_own, own = places_of(own_items, query.categories, doc.categories)
    has_own, own = np.tile(has_own, n_runs), np.tile(own, n_runs)
    old = run["rank"].to_numpy()
    is_own, rank = close_up(lists, doc.codes, old, own)
    return is_own, rank, count_left_out(lists, old, is_own, has_own)


def is_own_pair(table: pd.DataFrame, own_items: OwnItems) -> Bools:
    """Return for each row of a table with query_id and doc_id whether the doc is the query's own item."""
    pairs = zip(table["query_id"], table["doc_id"], strict=True)
    return np.fromiter((own_items.get(query) == doc for query, doc in pairs), dtype=bool, count=len(table))


def without_own_pairs(table: _Table, own_items: OwnItems) -> _Table:
    """Return a table with query_id and doc_id without the pairs of a query and its own item."""
    is_own = is_own_pair(table, own_items)
    return table[~is_own].reset_index(drop=True) if is_own.any() else table


def qrels_without_own_pairs(qrels: Qrels, own_items: OwnItems) -> Qrels:
    """Return qrels without own pairs; a query that has no other keeps its own, as not judged (-1).

    So every query still counts, and no own item is a positive that nothing can find.
    """
    is_own = is_own_pair(qrels, own_items)
    if not is_own.any():
        return qrels
    has_other = are_in(qrels["query_id"], qrels.loc[~is_own, "query_id"])
    relevance = np.where(is_own, -1, qrels["relevance"])
    return Qrels(qrels.assign(relevance=relevance)[~is_own | ~has_other].reset_index(drop=True))


def qrels_with_own_pairs(qrels: Qrels, own_items: OwnItems, *, original: Qrels | None = None) -> Qrels:
    """Return qrels in which each query's own item is judged: not relevant, unless the benchmark says more.

    So where rankings keep it, it is not a doc that somebody still has to judge, and no label makes it an
    answer. `original`: the original qrels, by default these.
    """
    original = qrels if original is None else original
    stated = original[is_own_pair(original, own_items)]
    absent = original.loc[~are_in(original["query_id"], stated["query_id"]), "query_id"].unique()
    added = [(query, own_items[query], 0, "original") for query in absent if query in own_items]
    columns = ["query_id", "doc_id", "relevance", "source"]
    parts = [without_own_pairs(qrels, own_items), stated, pd.DataFrame(added, columns=columns)]
    return check_qrels(pd.concat([part for part in parts if len(part)], ignore_index=True))
