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
from fire_toolkit.tables.columns import PAIR, pair_rows

_NO_PAIRS = pd.DataFrame(columns=PAIR, dtype="str")


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
    def pairs(self) -> pd.DataFrame:
        """Return the pairs of a query and its own item or a member of its group."""
        own = pd.DataFrame(self.own_items.items(), columns=PAIR, dtype="str")
        members = own.iloc[:0] if self.groups is None else self.groups[PAIR].astype("str")
        return pd.concat([own, members]).drop_duplicates()

    def trimmed(self, run: Run, depth: int, positives: pd.DataFrame) -> Run:
        """Return a run that has one doc below its top without those that no list needs."""
        if not self.spare:
            return run
        query, doc, rank = run["query_id"].array, run["doc_id"].array, run["rank"].to_numpy()
        own = places_of(self.own_items, query.categories, doc.categories)[1]
        needs_more = np.zeros(own.size, dtype=bool)
        needs_more[query.codes[(doc.codes == own[query.codes]) & (rank <= depth)]] = True
        spare = np.flatnonzero((rank == depth + 1) & ~needs_more[query.codes])
        is_kept = np.ones(len(run), dtype=bool)
        is_kept[spare] = are_among(run.iloc[spare], pd.concat([self.pairs, positives]))
        return run if is_kept.all() else Run(run[is_kept].reset_index(drop=True))

    def scored(self, run: Run) -> Run:
        """Return the run as the benchmark scores it."""
        scored: Run = drop_own_items(run, self.own_items) if self.is_dropped else run
        return scored

    def below_top(self, run: Run, depth: int, positives: pd.DataFrame) -> dict[str, int]:
        """Count what was kept below the top; others are own items, members of groups and the doc more."""
        below = np.flatnonzero(run["rank"].to_numpy() > depth)
        if not self.own_items and self.groups is None:
            return {"positives_below_top": below.size}
        n = int(are_among(run.iloc[below], positives).sum())
        return {"positives_below_top": n, "others_below_top": below.size - n}


def positive_pairs(qrels: Qrels | None) -> pd.DataFrame:
    """Return the pairs of the qrels with relevance 1 or more; none without qrels."""
    return _NO_PAIRS if qrels is None else qrels.loc[qrels["relevance"] >= 1, PAIR]


def indexed(
    pairs: pd.DataFrame, queries: Sequence[str], docs: Sequence[str]
) -> tuple[tuple[Ints, Ints], int]:
    """Return pairs as indices of queries and docs, and how many have one that is not there."""
    query, doc = (
        pd.Index(list(ids), dtype="str").get_indexer(pd.Index(pairs[name], dtype="str")).astype(np.int64)
        for name, ids in zip(PAIR, (queries, docs), strict=True)
    )
    inside = (query >= 0) & (doc >= 0)
    return (query[inside], doc[inside]), int((~inside).sum())


def are_among(run: Run, pairs: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Return for each row of a run whether it is one of the pairs."""
    return pair_rows(run[PAIR].astype("str"), pairs) >= 0
