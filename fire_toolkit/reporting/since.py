"""What labels have become since another state of them, for a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pandas as pd

from fire_toolkit.agreement.summary import AgreementSummary, agreement_summary
from fire_toolkit.inference import compare_orders
from fire_toolkit.inference.changes import score_changes
from fire_toolkit.inference.judged_pairs import JudgedPairs, Tell, silent
from fire_toolkit.reporting import facts
from fire_toolkit.reporting.facts import limits, points
from fire_toolkit.reporting.page import Figure, Table
from fire_toolkit.reporting.plots import plot_orders
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

    def facts(
        self,
        joined: JudgedPairs,
        measures: Sequence[str],
        agreement: AgreementSummary | None,
        *,
        tell: Tell = silent,
    ) -> dict[str, Any]:
        """Return name, tables and notes of what changed; orders and figure where two runs can be compared."""
        old, new, changes = self.old, self.new, self._changes
        same, reasons = pair_runs(old, new)
        notes = [*changes.notes, *reasons]
        tables = [_both_sides(old, new)]
        if len(changes.table):
            rows = [[row["change"], f"{row['n_pairs']:,}"] for row in changes.table.to_dict("records")]
            tables.append(Table("Labels by the corrected qrels", ["change", "pairs"], rows))
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
        if len(scores):
            tables.append(_before_and_after(old, new, scores))
        elif old.scores is not None and len(old.scores):
            tables.append(_not_compared(old, old.scores))
        before = None
        if old.judgments is not None:
            before = agreement_summary(first_round(old.judgments), grades=old.grades, all_rounds=True)
        if before or agreement:
            tables.append(_agreement_of_both(old, new, (before, agreement)))
        found: dict[str, Any] = {"name": old.name, "tables": tables, "notes": notes, "orders": None}
        if changes.are_all and len(same) > 1:
            of_same = replace(joined, places={run_id: joined.places[run_id] for run_id in same})
            labellings = {old.name: old.corrected, new.name: new.corrected}
            orders = compare_orders(of_same, labellings, measures, tell=tell)
            text = f"Place of each model by {old.name} and by {new.name}."
            found |= {"orders": facts.orders(orders), "figure": Figure(plot_orders(orders.scores), text)}
        return found


def _both_sides(old: Side, new: Side) -> Table:
    rows = {
        "version of fire-toolkit": [side.tool for side in (old, new)],
        "guideline": [side.guideline[0] for side in (old, new)],
        "queries": [f"{len(side.queries):,}" for side in (old, new)],
        "pairs in the original qrels": [f"{len(side.original):,}" for side in (old, new)],
        "pairs in the corrected qrels": [f"{len(side.corrected):,}" for side in (old, new)],
        "of these relevant": [f"{(side.corrected['relevance'] >= 1).sum():,}" for side in (old, new)],
        "judgments": ["" if side.judgments is None else f"{len(side.judgments):,}" for side in (old, new)],
        "annotators": [_n_annotators(side) for side in (old, new)],
        "runs": [f"{len(side.runs):,}" for side in (old, new)],
    }
    return Table("What each holds", ["", old.name, new.name], [[name, *both] for name, both in rows.items()])


def _n_annotators(side: Side) -> str:
    return "" if side.judgments is None else f"{side.judgments['annotator_id'].nunique():,}"


def _before_and_after(old: Side, new: Side, scores: pd.DataFrame) -> Table:
    rows = []
    for row in scores.to_dict("records"):
        scale = points(row["measure"])
        before, after, change, low, high = (
            scale * row[name] for name in ("before", "after", "change", "low", "high")
        )
        cells = [f"{before:.1f}", f"{after:.1f}", _signed(change), _signed_range(low, high)]
        rows.append([row["run_id"], row["measure"], *cells])
    title = (
        "Scores of the same files on the same queries, by the corrected labels of each; shares times 100. "
        "The interval is of the difference, from each query's scores by both labels"
    )
    return Table(title, ["run", "measure", old.name, new.name, "difference", "95%"], rows)


def _not_compared(old: Side, scores: pd.DataFrame) -> Table:
    cells = scores[["run_id", "measure", "value"]].to_numpy().tolist()
    rows = [[run_id, name, f"{points(name) * value:.1f}"] for run_id, name, value in cells]
    title = f"Scores as they stand in {old.name}: not compared, and without an interval, which needs each "
    return Table(f"{title}query's value of a run that is here too", ["run", "measure", old.name], rows)


def _signed_range(low: float, high: float) -> str:
    return f"{_signed(low)} to {_signed(high)}" if low == low else "not known"


def _signed(value: float) -> str:
    return "0.0" if round(value, 1) == 0 else f"{value:+.1f}"


def _agreement_of_both(
    old: Side, new: Side, agreements: tuple[AgreementSummary | None, AgreementSummary | None]
) -> Table:
    """Return each side's agreement; of a side without judgments nothing."""
    cells = [
        {row["statistic"]: [f"{row['value']:.3f}", limits(row["low"], row["high"], 3)] for row in each}
        for each in ([] if one is None else one.table.to_dict("records") for one in agreements)
    ]
    rows = [
        [name.replace("_", " "), *(cell for each in cells for cell in each.get(name, ["", ""]))]
        for name in dict.fromkeys([*cells[0], *cells[1]])
    ]
    columns = ["statistic", old.name, "95%", new.name, "95%"]
    return Table("Agreement of first answers in each, with 95% intervals", columns, rows)
