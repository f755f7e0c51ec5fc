"""What is known of labels beyond their rows: how pairs were chosen, what stayed open, which queries count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from fire_toolkit.evidence.qrels import lift_originals
from fire_toolkit.inference.audit import AuditedLabels
from fire_toolkit.inference.designs import Design
from fire_toolkit.inference.judged_pairs import JudgedPairs
from fire_toolkit.tables import Labels, Qrels
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.tables.design import DESIGN
from fire_toolkit.tables.validity import QueryLabels
from fire_toolkit.words import n_of

FLAG, KEEP, DROP = POLICIES = ("flag", "keep", "drop")
_EFFECTS = {
    FLAG: "flagged (`score` gives both figures)",
    KEEP: "kept as all others",
    DROP: "dropped from the qrels",
}

OF_OTHERS = (
    "the augmented qrels were made of other original qrels than these, so nothing is corrected for errors of "
    "votes or estimated from a sample"
)

Table = TypeVar("Table", bound=pd.DataFrame)


class Unusable(NamedTuple):
    """The unusable queries of qrels, what becomes of them, and how many queries there are.

    n_labelled: of how many of the queries it is known whether they are usable.
    """

    policy: str
    queries: QueryLabels
    n_queries: int
    n_labelled: int

    @property
    def words(self) -> str:
        """How many they are, and what becomes of them."""
        found = f"{len(self.queries):,} of {n_of(self.n_queries, 'query')} are unusable"
        n_open = self.n_queries - self.n_labelled
        unknown = f" ({n_open:,} not known, taken as usable)" if n_open else ""
        return f"{found}{unknown}, {_EFFECTS[self.policy]}"

    @property
    def parameters(self) -> dict[str, Any]:
        """What the manifest of `augment` says of them."""
        return {"unusable": self.policy, "n_queries": self.n_queries, "n_labelled": self.n_labelled}

    def usable(self, table: Table) -> Table:
        """Return the rows of a table on other queries."""
        kept = table[~table["query_id"].isin(set(self.queries["query_id"]))]
        return kept.reset_index(drop=True)

    def counted(self, table: Table) -> Table:
        """Return the rows of a table that count in every score: all, unless unusable queries are dropped."""
        return self.usable(table) if self.policy == DROP else table


@dataclass(frozen=True, eq=False)
class Background:
    """What is known of pairs, and of their labels beyond their rows.

    original: the original qrels as they count beside labels; augmented: None where there are none. labels,
    with design_class and design_votes where votes were asked by design; disputes: judged pairs without a
    label, with the same columns; best_ranks: query_id, doc_id and best_rank of the pairs that runs pooled.
    design: by which the judged pairs were chosen; audit: what experts say of the labels; is_settled: whether
    what was asked hung on the answers before; policy: on rejected originals; unusable: queries that nobody
    can answer; original_grade: at which original positives count, None for the one they have; highest_grade:
    of the guideline; counts: of `augment`; notes: on labels that nobody gave.
    """

    original: Qrels | None = None
    augmented: Qrels | None = None
    labels: Labels | None = None
    disputes: pd.DataFrame | None = None
    best_ranks: pd.DataFrame | None = None
    design: Design | None = None
    audit: AuditedLabels | None = None
    is_settled: bool = False
    policy: str = "union"
    unusable: Unusable | None = None
    original_grade: int | None = None
    highest_grade: int | None = None
    counts: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()

    def beside(self, original: Qrels) -> Background:
        """Return the same beside original qrels of a user's own, with no labels where these are others.

        What votes and samples tell is of the qrels that labels were joined to.
        """
        own = lift_originals(original, grade=self.original_grade)
        own = own if self.unusable is None else self.unusable.counted(own)
        columns = [*PAIR, "relevance"]
        known = self.original
        is_same = known is not None and len(own) == len(known)
        if is_same and known is not None and (own[columns].to_numpy() == known[columns].to_numpy()).all():
            return replace(self, original=own)
        has_votes = self.labels is not None and DESIGN[0] in self.labels
        told = [OF_OTHERS] if has_votes or self.design is not None or self.audit is not None else []
        return replace(
            self,
            original=own,
            labels=None,
            disputes=None,
            design=None,
            audit=None,
            notes=[*self.notes, *told],
        )

    def usable_join(self, joined: JudgedPairs) -> JudgedPairs | None:
        """Return the join of the usable queries alone; None where none is flagged, or none would be left."""
        if self.unusable is None or self.unusable.policy != FLAG:
            return None
        is_usable = ~joined.queries.isin(self.unusable.queries["query_id"])
        if is_usable.all() or not is_usable.any():
            return None
        return joined.within(np.flatnonzero(is_usable))

    def usable(self, *tables: Table | None) -> list[Any]:
        """Return the rows of tables on usable queries; None stays."""
        unusable = self.unusable
        return [table if table is None or unusable is None else unusable.usable(table) for table in tables]
