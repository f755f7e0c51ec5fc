"""What a report is made of: the tables of a study, and the facts and figures that are measured from them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from fire_toolkit.agreement.annotators import annotator_profiles
from fire_toolkit.guidelines.model import Grades
from fire_toolkit.inference import compare_orders, score_differences
from fire_toolkit.inference.background import Background
from fire_toolkit.inference.compare import Compared, compare_runs
from fire_toolkit.inference.correction import (
    correct_for_errors,
    first_of,
    is_by_design,
    join_with_votes,
    with_corrected_differences,
)
from fire_toolkit.inference.judged_pairs import JudgedPairs, Tell, silent
from fire_toolkit.matching.stored_runs import AnyRun
from fire_toolkit.measures import parse_measure
from fire_toolkit.measures.defaults import FIRST, SCORE, judged_at
from fire_toolkit.reporting import facts as told
from fire_toolkit.reporting import plots
from fire_toolkit.reporting.captions import by_length
from fire_toolkit.reporting.flips import flipped_pairs, flips_by_length, flips_by_run, sets_of_runs
from fire_toolkit.reporting.honest import HonestRows, honest_rows
from fire_toolkit.reporting.methods import MethodFacts, methods_paragraphs
from fire_toolkit.reporting.page import Figure
from fire_toolkit.reporting.people import agreement_of_two, annotators_beside_others
from fire_toolkit.reporting.since import Since
from fire_toolkit.reporting.usable import usable_scores
from fire_toolkit.resolution.judgments import number_annotators
from fire_toolkit.results import Found
from fire_toolkit.tables import Judgments, Labels, PoolSources, Qrels, Queries, Run, first_round

DRAWS = "10,000 resamples of queries, seed 0"  # of the order of runs
TOP = 10  # docs of a run that are compared, and of which the judged share is shown
_LONGEST_FILE = 20_000  # characters of a manifest that are shown


@dataclass(frozen=True)
class Told:
    """What a report says that no table holds.

    name: of the study; basis: what its tables hold, in words; warning: of files that changed since; facts:
    how the labels were made; manifests: their texts by their names; measures: those of the study; folders:
    of this machine, which no text is to name; gallery: where it stands, seen from the report, or empty.
    """

    name: str = ""
    basis: str = ""
    warning: str = ""
    facts: MethodFacts = field(default_factory=MethodFacts)
    manifests: Mapping[str, str] = field(default_factory=dict)
    measures: Sequence[str] = SCORE
    folders: Sequence[str] = ()
    gallery: str = ""


@dataclass(frozen=True, eq=False)
class Study:
    """The tables of a study, and its report: each part is measured when it is asked for.

    tops: the first `TOP` docs of each run. grades: of the labels in the judgments. measures: those that are
    shown; the study's where none are named. since: two states of the labels, where they are compared.
    """

    runs: Sequence[AnyRun]
    original: Qrels
    augmented: Qrels
    labels: Labels
    background: Background
    queries: Queries
    tops: Sequence[Run] = ()
    sources: PoolSources | None = None
    judgments: Judgments | None = None
    grades: Grades | None = None
    told: Told = field(default_factory=Told)
    measures: Sequence[str] = ()
    since: Since | None = None
    tell: Tell = silent

    @property
    def _scored(self) -> Sequence[str]:
        return tuple(self.measures or self.told.measures)

    @property
    def _compared(self) -> list[str]:
        return [name for name in self._scored if parse_measure(name).definition.is_score]

    @cached_property
    def _joined(self) -> JudgedPairs:
        """The runs, each ranked once, with every pair that the qrels, labels and disputes hold."""
        self.tell("ranks of judged docs")
        others = [] if self.since is None else self.since.qrels
        tables = (self.runs, self.original, self.labels, self.background)
        return join_with_votes(*tables, self._scored, self.augmented, *others)

    @cached_property
    def _honest(self) -> HonestRows:
        """The honest rows of all measures."""
        tables = (self._joined, self.original, self.labels, self._scored, self.background)
        return honest_rows(*tables, policies=[self.background.policy], sources=self.sources, tell=self.tell)

    @cached_property
    def _differences(self) -> tuple[pd.DataFrame, Sequence[object]]:
        """Every difference of two runs, those of corrected scores among them, and what is said of them."""
        qrels: dict[str, Any] = {"augmented": self.augmented, "sources": self.sources}
        table, notes = score_differences(self._joined, self.original, self._compared, **qrels, tell=self.tell)
        if is_by_design(self.labels, self.background):
            tables = (self._joined, self.original, self.labels, self._compared, self.background)
            by: dict[str, Any] = {"sources": self.sources, "policies": [self.background.policy]}
            table = with_corrected_differences(table, correct_for_errors(*tables, **by))
        return table, notes

    @cached_property
    def _orders(self) -> Found:
        """The order of the runs under both labellings."""
        labellings = {"original": self.original, "augmented": self.augmented}
        return compare_orders(self._joined, labellings, self._compared, tell=self.tell)

    @property
    def _best_first(self) -> list[str]:
        """The runs by the first measure, the best first, with those as corrected as can be."""
        scores = first_of(self._honest.scores)
        own = scores[scores["measure"] == self._compared[0]]
        is_larger_better = parse_measure(self._compared[0]).definition.larger_is_better
        return own.sort_values("augmented", ascending=not is_larger_better, kind="stable")["run_id"].tolist()

    @cached_property
    def _flipped(self) -> pd.DataFrame:
        return flipped_pairs(self.original, self.labels, self.background.disputes)

    @cached_property
    def _comparisons(self) -> Compared:
        self.tell("overlap")
        return compare_runs(self.tops, depth=TOP, rbo_p=(0.9,))

    @cached_property
    def _pseudonyms(self) -> dict[str, str]:
        """Annotator → annotator 1, 2, …, the busiest first."""
        numbers = {} if self.judgments is None else number_annotators(self.judgments)
        return {name: f"annotator {number}" for name, number in numbers.items()}

    def facts(self) -> dict[str, Any]:
        """Return what the report's template says; no text names an annotator or a folder of this machine."""
        honest, several = self._honest, len(self.runs) > 1
        scores, orders = first_of(honest.scores), self._orders if several else None
        agreement, unusable = self.told.facts.agreement, self.background.unusable
        usable = None
        if unusable is not None:
            of_usable = (unusable, self.runs, self.original, self.augmented, self._scored)
            usable = usable_scores(*of_usable)
        outcome = told.outcome(honest.scores, self.original, self.augmented)
        found: dict[str, Any] = {
            "outcome": outcome,
            "headline": told.headline(outcome, scores, orders),
            "scores": told.score_table(
                scores[scores["measure"].isin(self._compared)], is_known="missing" in honest.scores
            ),
            "uncertain": told.uncertainty_table(scores),
            "score_notes": honest.corrected,
            "bound_notes": honest.notes,
            "trusted": honest.trusted,
            "usable": told.usable_table(usable) if usable is not None else None,
            "unusable": unusable.words if unusable else "",
            "differences": told.differences(*self._differences) if several else None,
            "orders": told.orders(orders) if orders else None,
            "annotators": self._annotators(),
            "agreement": told.agreement(agreement) if agreement else None,
            "overlap_notes": self._comparisons.notes if several else [],
            "since": None,
            "methods": methods_paragraphs(self.told.facts),
            "manifests": {name: _shortened(text) for name, text in self.told.manifests.items()},
            "figures": {name: each for name in FIGURES if (each := self._figure_if_any(name)) is not None},
            "gallery": self.told.gallery,
        }
        if self.since is not None:
            self.tell(f"against {self.since.old.name}")
            found["since"] = self.since.facts(self._joined, self._compared, agreement, tell=self.tell)
        return {name: self._hidden(each) for name, each in found.items()}

    def _annotators(self) -> dict[str, Any] | None:
        """Return each annotator beside the others, by pseudonyms, the busiest first; None without any."""
        if self.judgments is None or self.grades is None:
            return None
        table = annotators_beside_others(self.judgments, grades=self.grades)
        two = agreement_of_two(self.judgments, grades=self.grades)
        number = list(self._pseudonyms).index
        table = table.sort_values("annotator_id", key=lambda names: names.map(number), ignore_index=True)
        return told.annotators(
            table.assign(annotator_id=table["annotator_id"].map(self._pseudonyms)),
            two.assign(**{side: two[side].map(self._pseudonyms) for side in "ab"}),
        )

    def _figure_if_any(self, name: str) -> Figure | None:
        """Return a figure of the page; None where the study holds too little or the page has a table."""
        if name == "annotators" or (
            len(self.runs) < 2 and name in ("differences", "order", "overlap", "rbo")
        ):
            return None
        return self.figure(name)

    def figure(self, name: str) -> Figure | None:
        """Return one of `FIGURES`; None where the study holds too little for it."""
        return FIGURES[name](self)

    def _scores(self) -> Figure | None:
        scores = first_of(self._honest.scores)
        shown = scores[[name in self._compared and told.points(name) == 100 for name in scores["measure"]]]
        text = (
            "Each model by the original qrels and by the augmented ones, with the 95% interval of the latter."
        )
        return Figure(plots.plot_scores(shown), text) if len(shown) else None

    def _grid(self) -> Figure:
        text = (
            "Row minus column, in points: above the diagonal by the augmented qrels, below it by the "
            "original ones. Bold on blue: holds at 5% after Holm's correction; on yellow: only by itself; "
            "grey: not told apart."
        )
        return Figure(plots.plot_differences(self._differences[0], order=self._best_first), text)

    def _places(self) -> Figure:
        text = "Place of each model by the original and by the augmented qrels; equal scores share a number."
        return Figure(plots.plot_orders(self._orders.scores), text)

    def _flips(self) -> Figure | None:
        if self.sources is None:
            return None
        text = "Of the pairs that each model brought: where people and the benchmark differ."
        return Figure(plots.plot_flips(flips_by_run(self._flipped, self.sources, self.told.gallery)), text)

    def _flips_by_length(self) -> Figure | None:
        judged = pd.concat(
            [
                self.labels[["query_id"]],
                *([] if self.background.disputes is None else [self.background.disputes[["query_id"]]]),
            ],
            ignore_index=True,
        )
        table = flips_by_length(self._flipped, judged, self.queries, self.told.gallery)
        text = "The same by the length of the caption."
        return Figure(plots.plot_flips(table), text) if len(table) else None

    def _found(self) -> Figure | None:
        if self.sources is None:
            return None
        table = sets_of_runs(self._flipped, self.sources)
        n_sets = int(table["set"].max()) if len(table) else 0
        shown = f"; the {plots.SETS} that found most of {n_sets:,} sets" if n_sets > plots.SETS else ""
        text = f"New positives by the models that brought them: each belongs to one set of models{shown}."
        return Figure(plots.plot_found(table), text) if n_sets else None

    def _overlap(self) -> Figure:
        name = str(self._comparisons.table["measure"].iloc[0])
        return Figure(
            plots.plot_overlap(self._comparisons.table), f"{name}: 1 where two models return the same docs."
        )

    def _rbo(self) -> Figure | None:
        found = self._comparisons.table
        names = [name for name in dict.fromkeys(found["measure"]) if name.startswith("RBO_ext")]
        text = "{}: 1 where two models return the same list; the top weighs most."
        return Figure(plots.plot_overlap(found, measure=names[0]), text.format(names[0])) if names else None

    def _length(self) -> Figure:
        measures = self._compared if self.measures else (FIRST,)
        tables = (self._joined, self.original, self.augmented, self.queries, measures)
        text = "Gain in {} by the number of characters in the caption, with 95% intervals."
        table = by_length(*tables)
        measure = table.loc[table["run_id"] != "", "measure"].iloc[0]
        return Figure(plots.plot_lengths(table), text.format(measure))

    def _judged(self) -> Figure:
        measures = [judged_at(k) for k in range(1, TOP + 1)]
        labelling = self._joined.label(self.augmented)
        rows = [
            {"run_id": run_id, "measure": measure.name, "value": measure.aggregate(values)}
            for run_id in self._joined.places
            for measure, values in zip(
                measures, self._joined.values(run_id, labelling, measures).T, strict=True
            )
        ]
        return Figure(
            plots.plot_judged(pd.DataFrame(rows)), "Share of each model's top docs that is judged, by rank."
        )

    def _profiles(self) -> Figure | None:
        if self.judgments is None:
            return None
        profiles = annotator_profiles(first_round(self.judgments), grades=self.grades)
        shown = profiles.assign(annotator_id=profiles["annotator_id"].map(self._pseudonyms))
        text = "Each annotator's share of positive votes and agreement with others, on shared pairs."
        is_shown = len(profiles.dropna(subset=["positive_rate", "peer_agreement"])) > 0
        return Figure(plots.plot_annotators(shown), text) if is_shown else None

    def _hidden(self, each: Any) -> Any:
        """Return texts, also within lists, tuples and mappings, without folders and names of annotators."""
        if isinstance(each, str):
            return self._without_names(each)
        if isinstance(each, Mapping):
            return {name: self._hidden(value) for name, value in each.items()}
        return type(each)(map(self._hidden, each)) if type(each) in (list, tuple) else each

    def _without_names(self, text: str) -> str:
        for place in self.told.folders:
            text = text.replace(f"{place}/", "") if len(place) > 1 else text
        telling = [name for name in self._pseudonyms if len(name) > 2 and not name.isdigit()]
        if not telling:
            return text
        names = "|".join(re.escape(name) for name in sorted(telling, key=len, reverse=True))
        whole = re.compile(rf"(?<![\w@.-])({names})(?![\w@-])")
        return whole.sub(lambda found: self._pseudonyms[found[1]], text)


FIGURES: dict[str, Callable[[Study], Figure | None]] = {
    "scores": Study._scores,
    "differences": Study._grid,
    "order": Study._places,
    "flips": Study._flips,
    "flips-length": Study._flips_by_length,
    "found": Study._found,
    "length": Study._length,
    "overlap": Study._overlap,
    "rbo": Study._rbo,
    "judged": Study._judged,
    "annotators": Study._profiles,
}


def _shortened(text: str) -> str:
    """Return a manifest, or its beginning and how much is left out."""
    left = len(text) - _LONGEST_FILE
    return text if left <= 0 else f"{text[:_LONGEST_FILE]}\n… {left:,} characters more in the file"
