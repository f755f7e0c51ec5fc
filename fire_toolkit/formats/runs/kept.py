"""What a run keeps of its lists besides their top: positives, own items, members of groups, one doc more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd

from fire_toolkit.arrays import Ints
from fire_toolkit.matching.own_items import OwnItems, drop_own_items, places_of
from fire_toolkit.tables import Qrels, Run
from fire_toolkit.tables.columns import PAIR


@dataclass(frozen=True)
class Kept:
    """What is kept at any rank besides positives.

    own_items: of queries; is_dropped: whether the benchmark leaves them out of its rankings. groups: columns
    query_id, doc_id, the docs that a query is also ranked among. Where an own item stands in the top, one
    doc more is kept, so that the list has its depth without it.
    """

    own_items: OwnItems = field(default_factory=dict)
    is_dropped: bool = False
    groups: pd.DataFrame | None = None

    @property
    def spare(self) -> int:
        """Return how many docs below the top may be needed."""
        return 1 if self.own_items else 0

    @property
    def pairs(self) -> pd.MultiIndex:
        """Return the pairs of a query and its own item or a member of its group."""
        own = pd.DataFrame(self.own_items.items(), columns=PAIR, dtype="str")
        members = own.iloc[:0] if self.groups is None else self.groups[PAIR].astype("str")
        return pd.MultiIndex.from_frame(pd.concat([own, members]).drop_duplicates())

    def trimmed(self, run: Run, depth: int, positives: pd.MultiIndex | None) -> Run:
        """Return a run that has one doc below its top without those that no list needs."""
        if not self.spare:
            return run
        query, doc, rank = run["query_id"].array, run["doc_id"].array, run["rank"].to_numpy()
        own = places_of(self.own_items, query.categories, doc.categories)[1]
        needs_more = np.zeros(own.size, dtype=bool)
        needs_more[query.codes[(doc.codes == own[query.codes]) & (rank <= depth)]] = True
        spare = np.flatnonzero((rank == depth + 1) & ~needs_more[query.codes])
        is_kept = np.ones(len(run), dtype=bool)
        is_kept[spare] = _are_among(run, spare, [self.pairs, positives])
        return run if is_kept.all() else Run(run[is_kept].reset_index(drop=True))

    def scored(self, run: Run) -> Run:
        """Return the run as the benchmark scores it."""
        scored: Run = drop_own_items(run, self.own_items) if self.is_dropped else run
        return scored

    def below_top(self, run: Run, depth: int, positives: pd.MultiIndex | None) -> dict[str, int]:
        """Count what was kept below the top; others are own items, members of groups and the doc more."""
        below = np.flatnonzero(run["rank"].to_numpy() > depth)
        if not self.own_items and self.groups is None:
            return {"positives_below_top": below.size}
        n = int(_are_among(run, below, [positives]).sum())
        return {"positives_below_top": n, "others_below_top": below.size - n}


def positive_pairs(qrels: Qrels | None) -> pd.MultiIndex | None:
    """Return the pairs of the qrels with relevance 1 or more."""
    return None if qrels is None else pd.MultiIndex.from_frame(qrels.loc[qrels["relevance"] >= 1, PAIR])


def indexed(
    pairs: pd.MultiIndex | None, queries: Sequence[str], docs: Sequence[str]
) -> tuple[tuple[Ints, Ints], int]:
    """Return pairs as indices of queries and docs, and how many name one that is not there."""
    if pairs is None:
        return (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)), 0
    query = pd.Index(queries).get_indexer(pairs.get_level_values(0))
    doc = pd.Index(docs).get_indexer(pairs.get_level_values(1))
    inside = (query >= 0) & (doc >= 0)
    return (query[inside].astype(np.int64), doc[inside].astype(np.int64)), int((~inside).sum())


def _are_among(run: Run, rows: Ints, kinds: Sequence[pd.MultiIndex | None]) -> npt.NDArray[np.bool_]:
    found = run.iloc[rows]
    pairs = pd.MultiIndex.from_arrays([found[name].astype("str") for name in PAIR])
    is_among = np.zeros(rows.size, dtype=bool)
    for known in kinds:
        if known is not None:
            is_among |= np.asarray(pairs.isin(known), dtype=bool)
    return is_among
