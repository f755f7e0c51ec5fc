"""The labels of a benchmark at two times side by side: what changed, and what cannot be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.agreement.table import AgreementSummary, agreement_summary
from fire_toolkit.guidelines.model import Grades
from fire_toolkit.inference.differences import changes_of_scores
from fire_toolkit.inference.judged_pairs import JudgedPairs, Tell, silent
from fire_toolkit.inference.orders import compare_orders
from fire_toolkit.resolution.judgments import first_round
from fire_toolkit.tables import Judgments, Qrels
from fire_toolkit.tables.columns import PAIR

_SAME = 1e-9  # two sums of the same values in another order differ by less


@dataclass(frozen=True, eq=False)
class Side:
    """What is known of a workspace or a release.

    name: what it is called; tool: the version that made it, or empty; guideline: its names and its sha256;
    texts: of queries by query_id, None where they are not known; runs: name → sha256 of the file; scores:
    run_id, measure, value by the corrected qrels, None where there are none; grades: of the labels in the
    judgments; by_machine: what of the corrected qrels no person labelled, in words.
    """

    name: str
    tool: str
    guideline: tuple[str, str]
    original: Qrels
    corrected: Qrels
    texts: pd.Series | None
    runs: Mapping[str, str]
    scores: pd.DataFrame | None = None
    judgments: Judgments | None = None
    grades: Grades | None = None
    by_machine: Sequence[str] = ()

    @cached_property
    def queries(self) -> pd.Index[str]:
        """The queries of the original qrels, sorted."""
        found: pd.Index[str] = pd.Index(self.original["query_id"].unique()).sort_values()
        return found

    @property
    def counts(self) -> dict[str, Any]:
        """How much of each there is; None for what is not known."""
        judged = self.judgments
        return {
            "queries": len(self.queries),
            "pairs in the original qrels": len(self.original),
            "pairs in the corrected qrels": len(self.corrected),
            "of these relevant": int((self.corrected["relevance"] >= 1).sum()),
            "judgments": None if judged is None else len(judged),
            "annotators": None if judged is None else judged["annotator_id"].nunique(),
            "runs": len(self.runs),
        }


@dataclass(frozen=True, eq=False)
class Since:
    """Two states of the labels of a benchmark.

    Compared are queries that have one id, and one text where both texts are known. Nothing is compared under
    two guidelines, or where the two share no query or no doc. The new side has its runs by their ids, the
    old one by the names of their files.
    """

    old: Side
    new: Side

    @cached_property
    def _shared(self) -> tuple[pd.Index[str], list[str]]:
        """The queries that can be compared, and what is said of the others."""
        old, new = self.old, self.new
        shared = old.queries.intersection(new.queries)
        reasons = [
            f"{len(side.queries) - len(shared):,} of the {len(side.queries):,} queries of {side.name} are "
            f"not in {other.name}"
            for side, other in ((old, new), (new, old))
            if len(side.queries) > len(shared)
        ]
        if old.texts is None or new.texts is None:
            unknown = " and ".join(side.name for side in (old, new) if side.texts is None)
            said = f"{unknown}: no texts of queries; those of one id are taken to be the same"
            return shared, [*reasons, said]
        texts = [table.reindex(shared).fillna("").to_numpy(dtype=object) for table in (old.texts, new.texts)]
        differ = shared[texts[0] != texts[1]]
        some = f"{len(differ):,} ({', '.join(differ[:3])})"
        said = f"queries of the same id with another text in {old.name}: {some}"
        return shared.difference(differ), [*reasons, *([said] if len(differ) else [])]

    @cached_property
    def _why_not(self) -> str:
        """Why nothing can be compared; empty where something can."""
        old, new = self.old, self.new
        (one, one_sha256), (other, other_sha256) = old.guideline, new.guideline
        if one != other:
            return (
                f"{old.name} was judged by the guideline {one}, {new.name} by {other}: their labels answer "
                "other questions, and nothing is compared"
            )
        if one_sha256 != other_sha256:
            return f"the guideline {one} says something else in {old.name}; nothing is compared"
        have_doc = old.corrected["doc_id"].isin(new.corrected["doc_id"]).any()
        absent = "query" if not len(self._shared[0]) else "" if have_doc else "doc"
        return f"{old.name} and {new.name} have no {absent} in common; nothing is compared" if absent else ""

    @property
    def qrels(self) -> list[Qrels]:
        """The other labels, where scores by them can be compared: what the runs are to be joined with."""
        are_all = len(self._shared[0]) == len(self.old.queries) == len(self.new.queries)
        return [self.old.corrected] if are_all and not self._why_not else []

    def _label_changes(self) -> dict[str, int]:
        """Return how many pairs were labelled, turned or removed; a negative relevance is no label."""
        tables = [
            side.corrected.loc[
                side.corrected["query_id"].isin(self._shared[0]) & (side.corrected["relevance"] >= 0),
                [*PAIR, "relevance"],
            ]
            for side in (self.old, self.new)
        ]
        pairs = tables[0].merge(tables[1], on=PAIR, how="outer", suffixes=("_before", "_after"))
        before, after = (pairs[f"relevance_{when}"].to_numpy(np.float64) for when in ("before", "after"))
        is_new, is_gone = np.isnan(before), np.isnan(after)
        changes = {
            "newly labelled relevant": is_new & (after >= 1),
            "newly labelled not relevant": is_new & (after < 1),
            "turned relevant": (before < 1) & (after >= 1),
            "turned not relevant": (before >= 1) & (after < 1),
            "another grade of relevance": (before >= 1) & (after >= 1) & (before != after),
            "no longer labelled, was relevant": is_gone & (before >= 1),
            "no longer labelled, was not relevant": is_gone & (before < 1),
            "as before": before == after,
        }
        return {change: int(each.sum()) for change, each in changes.items()}

    def _paired_runs(self) -> tuple[list[str], list[str]]:
        """Return the runs whose files are the same bytes on both sides, and what is said of the others."""
        old, new = self.old, self.new
        same = [run_id for run_id, sha256 in new.runs.items() if sha256 in old.runs.values()]
        here = [run_id for run_id in new.runs if run_id not in same]
        there = {
            name.removesuffix(".gz").rsplit(".", 1)[0]: name
            for name, sha256 in old.runs.items()
            if sha256 not in new.runs.values()
        }
        other = f"is another file in {old.name}, and is not compared"
        reasons = [f"{run_id} {other}" for run_id in here if run_id in there]
        only_here = [run_id for run_id in here if run_id not in there]
        only_there = [name for stem, name in there.items() if stem not in here]
        for side, own in ((new, only_here), (old, only_there)):
            reasons += [f"runs only in {side.name}, not compared: {', '.join(own)}"] if own else []
        return same, reasons

    def facts(
        self,
        joined: JudgedPairs,
        measures: Sequence[str],
        agreement: AgreementSummary | None,
        *,
        tell: Tell = silent,
    ) -> dict[str, Any]:
        """Return what changed: sides, labels, scores, agreement and notes; orders of two runs or more.

        scores: run_id, measure, before, after, change, low, high. Empty where nothing is compared; then
        old_scores are those that stand in the old side. A run to which the old side gives another score than
        its own labels do here had other ids, or another rule for ties, and is not compared.
        """
        old, new = self.old, self.new
        same, reasons = self._paired_runs()
        notes = [*filter(None, [self._why_not]), *self._shared[1], *reasons]
        where = "they count in what is compared here, and nowhere else in the report"
        notes += [f"{side.name}: {said}; {where}" for side in (old, new) for said in side.by_machine]
        scores, orders = pd.DataFrame(), None
        if self.qrels:
            scores = changes_of_scores(joined, old.corrected, new.corrected, measures, run_ids=same)
            told = scores.iloc[:0].assign(value=0.0) if old.scores is None else old.scores
            both = scores.merge(told[["run_id", "measure", "value"]], on=["run_id", "measure"])
            wrong = both.loc[(both["before"] - both["value"]).abs() > _SAME, "run_id"].unique()
            notes += [
                f"{run_id}: {old.name} gives it other scores than its own labels give that file here, so "
                "that its ids or its rule for ties were others; it is not compared"
                for run_id in wrong
            ]
            same = [run_id for run_id in same if run_id not in wrong]
            scores = scores[~scores["run_id"].isin(wrong)]
            if len(same) > 1:
                of_same = replace(joined, places={run_id: joined.places[run_id] for run_id in same})
                labellings = {old.name: old.corrected, new.name: new.corrected}
                orders = compare_orders(of_same, labellings, measures, tell=tell)
        elif not self._why_not:
            notes.append("scores are means over other queries there, and are not compared")
        before = None
        if old.judgments is not None:
            level = None if agreement is None else agreement.table["level"].iloc[0]  # alpha's, as in both
            first = first_round(old.judgments)
            before = agreement_summary(first, grades=old.grades, level=level)
        return {
            "name": old.name,
            "sides": [old, new],
            "labels": {} if self._why_not else self._label_changes(),
            "scores": scores,
            "old_scores": pd.DataFrame() if old.scores is None or len(scores) else old.scores,
            "agreement": [
                {} if each is None else {row["statistic"]: row for row in each.table.to_dict("records")}
                for each in (before, agreement)
            ],
            "orders": orders,
            "notes": notes,
        }
