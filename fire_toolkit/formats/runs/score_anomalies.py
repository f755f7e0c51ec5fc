"""What of a model's scores is refused, as no model means it, and what a run keeps besides its top."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd

from fire_toolkit.arrays import Bools, Ints
from fire_toolkit.errors import TableError, UsageError
from fire_toolkit.matching.own_items import OwnItems, drop_own_items, places_of
from fire_toolkit.tables import Qrels, Run
from fire_toolkit.tables.columns import PAIR, pair_rows
from fire_toolkit.words import n_of

FLOOD_DOCS = 10
CONSTANT_DOCS = 3
# Of each anomaly: which allowance it needs, none where there is no such, and how it is described.
_KINDS = {
    "n_plus_inf": ("", "{scores} +inf (query {query}, doc {doc}), which cannot be ordered; fix the scores"),
    "n_nan": ("nan", "{scores} NaN (the first at query {query}, doc {doc})"),
    "n_minus_inf": ("inf", "{scores} -inf (the first at query {query}, doc {doc})"),
    "flood": ("flood", "in {queries} half of the docs or more share the lowest score ({query})"),
    "constant": ("constant", "one score for all docs in {queries} ({query})"),
    "duplicates": (
        "duplicates",
        "{n:,} of {of:,} queries repeat another's list ({query} that of {earlier})",
    ),
}
ALLOWANCES = tuple(name for name, _ in _KINDS.values() if name)


@dataclass
class ScoreAnomalies:
    """Anomalies in a model's scores, and counts of their ties.

    n_nan, n_minus_inf, n_plus_inf: cells. flood: queries of which half the docs or more (and ten or
    more) share the lowest score. constant: queries with one score for all of three docs or more.
    duplicates: queries whose list equals an earlier query's, scores and all. padding: rows without any
    score, left out. tied_in_top: queries with equal scores in the part that is kept. tied_at_cut: queries
    where the cut goes through a tie. tied_positives: positives that share their score with another doc.
    first: an example of each kind: query index and doc index, or query index and an earlier query's.
    """

    n_nan: int = 0
    n_minus_inf: int = 0
    n_plus_inf: int = 0
    flood: int = 0
    constant: int = 0
    duplicates: int = 0
    padding: int = 0
    tied_in_top: int = 0
    tied_at_cut: int = 0
    tied_positives: int = 0
    first: dict[str, tuple[int, int]] = field(default_factory=dict)

    def count(self, name: str, found: Bools, example: Callable[[int], tuple[int, int]]) -> None:
        """Add what was found to a count; example: returns query and doc, by index, of a place in `found`."""
        if n_found := int(np.count_nonzero(found)):
            setattr(self, name, getattr(self, name) + n_found)
            self.first.setdefault(name, example(int(np.argmax(found))))

    @property
    def n_missing(self) -> int:
        """Return how many cells hold no score."""
        return self.n_nan + self.n_minus_inf + self.n_plus_inf

    def counts(self) -> dict[str, int]:
        """Return the counts by name, for manifests."""
        return {name: value for name, value in vars(self).items() if name != "first"}


def parse_allowances(text: str) -> frozenset[str]:
    """Return the names in a list such as `nan,flood`.

    Raises:
        UsageError: a name is not known.
    """
    names = frozenset(name.strip() for name in text.split(",") if name.strip())
    unknown = sorted(names - set(ALLOWANCES))
    if unknown:
        raise UsageError(f"--allow {', '.join(unknown)}: expected some of {', '.join(ALLOWANCES)}")
    return names


def refuse_anomalies(
    anomalies: ScoreAnomalies,
    queries: Sequence[str],
    docs: Sequence[str],
    *,
    allow: Collection[str],
    where: str,
) -> list[str]:
    """Return descriptions of what was found and allowed.

    Duplicates need an allowance if they are more than half of the queries: captions with the same text have
    equal rows in correct matrices, five of a thousand in MSR-VTT's test.

    Raises:
        TableError: an anomaly is not allowed, or a score is plus infinity, which never is.
    """
    found = dict[str, str]()
    for kind, (allowance, words) in _KINDS.items():
        n = getattr(anomalies, kind)
        if not n or (kind == "duplicates" and 2 * n <= len(queries)):
            continue
        query, other = anomalies.first[kind]
        found[allowance] = words.format(
            n=n,
            of=len(queries),
            scores=f"{n_of(n, 'score')} {'is' if n == 1 else 'are'}",
            queries=n_of(n, "query"),
            query=queries[query],
            doc=docs[other] if other < len(docs) else "",
            earlier=queries[other] if other < len(queries) else "",
        )
    if "" in found:
        raise TableError(f"{where}: {found['']}")
    refused = [kind for kind in found if kind not in allow]
    if refused:
        raise TableError(
            f"{where}: {'; '.join(found[kind] for kind in refused)}; if this is intended, give "
            f"--allow {','.join(found)}; NaN, -inf and floods are then left out, equal scores are ties"
        )
    return list(found.values())


@dataclass(frozen=True)
class Kept:
    """What is kept at any rank: the positives of the qrels, and more.

    own_items: of queries; is_dropped: whether the benchmark leaves them out of its rankings. groups: columns
    query_id, doc_id, the docs that a query is also ranked among. Where an own item stands in the top, one
    doc more is kept, so that the list has its depth without it.
    """

    own_items: OwnItems = field(default_factory=dict)
    is_dropped: bool = False
    groups: pd.DataFrame | None = None
    qrels: Qrels | None = None

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

    @property
    def positives(self) -> pd.DataFrame:
        """Return the pairs of the qrels with relevance 1 or more; none without qrels."""
        none = pd.DataFrame(columns=PAIR, dtype="str")
        return none if self.qrels is None else self.qrels.loc[self.qrels["relevance"] >= 1, PAIR]

    def trimmed(self, run: Run, depth: int) -> tuple[Run, dict[str, int]]:
        """Return a run that has one doc below its top without those that no list needs, and what is below.

        Counted are positives and others: own items, members of groups and the doc more.
        """
        rank, positives = run["rank"].to_numpy(), self.positives
        if self.spare:
            query, doc = run["query_id"].array, run["doc_id"].array
            own = places_of(self.own_items, query.categories, doc.categories)[1]
            needs_more = np.zeros(own.size, dtype=bool)
            needs_more[query.codes[(doc.codes == own[query.codes]) & (rank <= depth)]] = True
            spare = np.flatnonzero((rank == depth + 1) & ~needs_more[query.codes])
            is_kept = np.ones(len(run), dtype=bool)
            is_kept[spare] = are_among(run.iloc[spare], pd.concat([self.pairs, positives]))
            run = run if is_kept.all() else Run(run[is_kept].reset_index(drop=True))
        below = np.flatnonzero(run["rank"].to_numpy() > depth)
        if not self.own_items and self.groups is None:
            return run, {"positives_below_top": below.size}
        n = int(are_among(run.iloc[below], positives).sum())
        return run, {"positives_below_top": n, "others_below_top": below.size - n}

    def scored(self, run: Run) -> Run:
        """Return the run as the benchmark scores it."""
        scored: Run = drop_own_items(run, self.own_items) if self.is_dropped else run
        return scored


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
