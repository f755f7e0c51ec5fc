"""What labels have become since another state of them, for a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pandas as pd

from fire_toolkit.agreement.summary import AgreementSummary, agreement_summary
from fire_toolkit.inference import compare_orders
from fire_toolkit.inference.changes import score_changes
from fire_toolkit.inference.judged_pairs import JudgedPairs, Tell, silent
from fire_toolkit.reporting import sections
from fire_toolkit.reporting.page import Section
from fire_toolkit.reporting.sides import LabelChanges, Side, compare_labels, contradicted, pair_runs
from fire_toolkit.tables import Qrels, first_round


@dataclass(frozen=True, eq=False)
class Since:
    """Two states of the labels of a benchmark."""

    old: Side
    new: Side

    @cached_property
    def _changes(self) -> LabelChanges:
        return compare_labels(self.old, self.new)

    @property
    def qrels(self) -> list[Qrels]:
        """The other labels, where scores by them can be compared: what the runs are to be joined with."""
        return [self.old.corrected] if self._changes.are_all else []

    def sections(
        self,
        joined: JudgedPairs,
        measures: Sequence[str],
        agreement: AgreementSummary | None,
        *,
        tell: Tell = silent,
    ) -> Iterator[Section]:
        """Yield what changed, and the order of the runs under both labels where there are two runs."""
        old, new, changes = self.old, self.new, self._changes
        same, reasons = pair_runs(old, new)
        notes = [*changes.notes, *reasons]
        scores = pd.DataFrame()
        if changes.are_all:
            scores = score_changes(joined, old.corrected, new.corrected, measures, run_ids=same)
            wrong = contradicted(old, scores.rename(columns={"before": "value"}))
            notes += [
                f"{run_id}: {old.name} gives it other scores than its own labels give that file here, so "
                "that its ids or its rule for ties were others; it is not compared"
                for run_id in wrong
            ]
            same = [run_id for run_id in same if run_id not in wrong]
            scores = scores[~scores["run_id"].isin(wrong)]
        elif changes.n_queries:
            notes.append("scores are means over other queries there, and are not compared")
        agreements = (_agreement_of(old), agreement)
        yield sections.of_changes(old, new, changes.table, scores, agreements, notes=notes)
        if changes.are_all and len(same) > 1:
            of_same = replace(joined, places={run_id: joined.places[run_id] for run_id in same})
            labellings = {old.name: old.corrected, new.name: new.corrected}
            orders = compare_orders(of_same, labellings, measures, tell=tell)
            yield sections.of_orders(orders, anchor="since-order", names=(old.name, new.name))


def _agreement_of(side: Side) -> AgreementSummary | None:
    if side.judgments is None:
        return None
    return agreement_summary(first_round(side.judgments), grades=side.grades, all_rounds=True)
