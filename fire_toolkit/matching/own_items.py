"""A query's own item: the item it starts from (the image that a text changes), which is not an answer to it.

The queries name it in their column `reference`. Benchmarks differ in what becomes of it in a ranking:
CIRR leaves it out, FashionIQ and CIRCO keep it. Nobody is ever asked about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from fire_toolkit.arrays import Bools, Ints, are_among
from fire_toolkit.matching.ranking import top
from fire_toolkit.tables import Qrels, Queries, Run, check_qrels
from fire_toolkit.tables.columns import are_in, listed

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


def own_items_of(queries: Queries | OwnItems | None) -> OwnItems:
    """Return the own item of each query that has one, by query id.

    Args:
        queries: their column `reference` names it, empty or missing where a query has none; or the
            own items themselves, query id → doc id; None: no query has one.
    """
    if not isinstance(queries, pd.DataFrame):
        return queries or {}
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
    lists: Ints, doc: npt.NDArray[Any], rank: npt.NDArray[Any], own: Ints, has_own: Bools
) -> tuple[Bools, npt.NDArray[Any], LeftOut]:
    """Return which rows are own items, the rank of each row without them, and what was left out.

    Args:
        lists: of each row, its list, from 0.
        doc, rank: of each row.
        own: of each list, the doc to leave out, -1 where there is none.
        has_own: which lists have an own item, in the run or not.
    """
    is_own = doc == own[lists]
    at, deepest = np.full(own.size, np.iinfo(np.int64).max), np.zeros(own.size, dtype=np.int64)
    at[lists[is_own]] = rank[is_own]
    np.maximum.at(deepest, lists, rank)
    is_found = are_among(lists[is_own], own.size)
    is_unknown = has_own & ~is_found & (deepest > np.bincount(lists, minlength=own.size))
    left_out = LeftOut(int(is_found.sum()), int(is_unknown.sum()))
    return is_own, (rank - (rank > at[lists])).astype(rank.dtype, copy=False), left_out


def drop_own_items(run: Run | Any, queries: Queries | OwnItems, *, tell: Tell | None = None) -> Any:
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
    tell = tell or (lambda left_out: None)
    if not isinstance(run, pd.DataFrame):
        return replace(run, own_items=own_items, tell=tell)
    query, doc, run_id = (run[name].array for name in ("query_id", "doc_id", "run_id"))
    n_queries, n_runs = len(query.categories), len(run_id.categories)
    lists = run_id.codes.astype(np.int64) * n_queries + query.codes
    has_own, own = places_of(own_items, query.categories, doc.categories)
    has_own, own = np.tile(has_own, n_runs), np.tile(own, n_runs)
    is_own, rank, left_out = close_up(lists, doc.codes, run["rank"].to_numpy(), own, has_own)
    tell(left_out)
    if not is_own.any():
        return run
    return Run(run[~is_own].assign(rank=rank[~is_own]).reset_index(drop=True))


def is_own_pair(table: pd.DataFrame, own_items: OwnItems) -> Bools:
    """Return for each row of a table with query_id and doc_id whether the doc is the query's own item."""
    if not own_items:
        return np.zeros(len(table), dtype=bool)
    pairs = zip(listed(table["query_id"]), listed(table["doc_id"]), strict=True)
    return np.fromiter((own_items.get(query) == doc for query, doc in pairs), dtype=bool, count=len(table))


def without_own_pairs(table: _Table, own_items: OwnItems) -> _Table:
    """Return a table with query_id and doc_id without the pairs of a query and its own item."""
    is_own = is_own_pair(table, own_items)
    return table[~is_own].reset_index(drop=True) if is_own.any() else table


class _Itself(Mapping[str, str]):
    """Each query is an item of the collection, under one id: as in class retrieval (NN, FT, ST)."""

    def __getitem__(self, query: str) -> str:
        return query

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 1


_KEPT = "whole rankings keep queries' own items (own_item drop leaves them out)"
_OF_PAIRS = {"labels": "labels", "pool_sources": "pool sources", "judgments": "judgments"}


@dataclass
class OwnItemRule:
    """The own item of each query, whether runs keep it, and why.

    counts: what was left out, by run; n_pairs: own pairs left out of tables, by the table's name; n_added:
    own pairs that the qrels were given as not relevant.
    """

    of_query: OwnItems
    is_dropped: bool
    why: str
    counts: dict[str, LeftOut] = field(default_factory=dict)
    n_pairs: dict[str, int] = field(default_factory=dict)
    n_added: int = 0

    def applied(self, run: Any, depth: int | None = None) -> Any:
        """Return a run without own items where they are dropped, cut to `depth`."""
        if not self.is_dropped:
            return run
        names = run["run_id"].iloc[:1] if isinstance(run, pd.DataFrame) else [run.run_id]
        tell = partial(self.counts.__setitem__, "".join(names))
        run = drop_own_items(run, self.of_query, tell=tell)
        return top(run, depth) if depth else run

    def qrels(self, qrels: Qrels, name: str = "original qrels", original: Qrels | None = None) -> Qrels:
        """Return qrels as the rule has them: own items out of them, or judged not relevant.

        A query whose own pair is its only one keeps it, as not judged (-1): so every query still counts, and
        no own item is a positive that nothing can find. Where rankings keep own items, they are not relevant
        unless the original qrels say more: so nobody has to judge them, and no label makes them an answer.

        original: of other qrels than the original ones, those, which are as the rule has them.
        """
        if not self.of_query:
            return qrels
        is_own = is_own_pair(qrels, self.of_query)
        if self.is_dropped or original is not None:
            self.n_pairs[name] = int(is_own.sum())
        if self.is_dropped:
            has_other = are_in(qrels["query_id"], qrels.loc[~is_own, "query_id"])
            relevance = np.where(is_own, -1, qrels["relevance"])
            kept = qrels.assign(relevance=relevance)[~is_own | ~has_other]
            return Qrels(kept.reset_index(drop=True)) if is_own.any() else qrels
        known = qrels if original is None else original
        stated = known[is_own_pair(known, self.of_query)]
        absent = known.loc[~are_in(known["query_id"], stated["query_id"]), "query_id"].unique()
        added = [(query, self.of_query[query], 0, "original") for query in absent if query in self.of_query]
        columns = ["query_id", "doc_id", "relevance", "source"]
        parts = [qrels[~is_own], stated, pd.DataFrame(added, columns=columns)]
        found = check_qrels(pd.concat([part for part in parts if len(part)], ignore_index=True))
        self.n_added = len(found) - len(qrels) if original is None else self.n_added
        return found

    def pairs(self, table: Any, name: str) -> Any:
        """Return labels or pool sources without own items, of which nobody is asked."""
        if not self.of_query:
            return table
        kept = without_own_pairs(table, self.of_query)
        self.n_pairs[name] = len(table) - len(kept)
        return kept

    @classmethod
    def chosen(cls, option: str | None, queries: Queries | OwnItems | None) -> OwnItemRule:
        """Return the rule that was asked for; where queries name no own items, each is the one of its id."""
        of_query = own_items_of(queries)
        if option is None:
            return cls({}, False, _KEPT if of_query else "")
        if option == "drop":
            return cls(of_query or _Itself(), True, "--own-item drop")
        return cls(of_query, False, f"--own-item {option}")

    def ruled(self, name: str, given: Mapping[str, Any]) -> Any:
        """Return the table of this name among those given, as the rule has it."""
        table = given[name]
        if table is None:
            return None
        if name == "labellings":
            first, *others = table
            original = self.qrels(table[first])
            return {first: original} | {key: self.qrels(table[key], key, original) for key in others}
        if name == "runs":
            return [self.applied(run) for run in (table if isinstance(table, list | tuple) else [table])]
        if name == "qrels":
            return self.qrels(table)
        if name == "augmented":
            return self.qrels(table, "augmented qrels", given["qrels"])
        return self.pairs(table, _OF_PAIRS[name]) if name in _OF_PAIRS else table

    @property
    def parameters(self) -> dict[str, Any]:
        """The rule and what was left out, for a manifest; nothing where no query has an own item."""
        if not self.of_query:
            return {}
        if not self.is_dropped:
            return {"own_item": "keep"}
        left_out = {run_id: found.n_queries for run_id, found in self.counts.items()}
        return {"own_item": "drop", "own_items_left_out": left_out}

    def in_words(self) -> list[str]:
        """Return which rule holds and what was left out so far; nothing where no query has an own item."""
        if not self.of_query:
            return [self.why] if self.why == _KEPT else []
        pairs = ", ".join(f"{name} {n:,}" for name, n in self.n_pairs.items() if n)
        if not self.is_dropped:
            words = [f"queries' own items kept in the rankings, as not relevant ({self.why})"]
            return words + ([f"judgments of own items left out: {pairs}"] if pairs else [])
        counts = self.counts.items()
        counted = ", ".join(f"{run_id} {found.n_queries:,}" for run_id, found in counts)
        words = [f"queries' own items left out of the rankings ({self.why}){counted and ': '}{counted}"]
        if pairs:
            words.append(f"pairs of a query and its own item left out: {pairs}")
        unknown = ", ".join(f"{run_id} {found.n_unknown:,}" for run_id, found in counts if found.n_unknown)
        if unknown:
            words.append(
                f"queries whose own item has no known rank: {unknown}; a positive below the top may be one "
                "rank higher (run add-run again)"
            )
        return words
