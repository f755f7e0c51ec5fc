"""What a report is made of: the tables of a study, and each section when it is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pandas as pd

from fire_toolkit.agreement.profiles import annotator_profiles
from fire_toolkit.errors import UsageError
from fire_toolkit.guidelines.model import Grades
from fire_toolkit.inference import compare_orders, score_differences
from fire_toolkit.inference.background import Background
from fire_toolkit.inference.compare import compare_runs
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
from fire_toolkit.reporting import sections
from fire_toolkit.reporting.captions import by_length
from fire_toolkit.reporting.honest import HonestRows, honest_rows
from fire_toolkit.reporting.methods import MethodFacts, methods_paragraphs
from fire_toolkit.reporting.page import Figure, Section
from fire_toolkit.reporting.since import Since
from fire_toolkit.reporting.usable import usable_scores
from fire_toolkit.resolution.judgments import number_annotators
from fire_toolkit.tables import Judgments, Labels, PoolSources, Qrels, Queries, Run, first_round

DRAWS = "10,000 resamples of queries, seed 0"  # of the order of runs
TOP = 10  # docs of a run that are compared, and of which the judged share is shown
_LONGEST_FILE = 20_000  # characters of a manifest that are shown


@dataclass(frozen=True)
class Told:
    """What a report says that no table holds.

    name: of the study; basis: what its tables hold, in words; warning: of files that changed since; facts:
    how the labels were made; manifests: their texts by their names; measures: those of the study; folders:
    of this machine, which no text is to name.
    """

    name: str = ""
    basis: str = ""
    warning: str = ""
    facts: MethodFacts = field(default_factory=MethodFacts)
    manifests: Mapping[str, str] = field(default_factory=dict)
    measures: Sequence[str] = SCORE
    folders: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class Study:
    """The tables of a study, and its report: each section is measured when it is asked for.

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
    def _pseudonyms(self) -> dict[str, str]:
        """Annotator → annotator 1, 2, …, the busiest first."""
        numbers = {} if self.judgments is None else number_annotators(self.judgments)
        return {name: f"annotator {number}" for name, number in numbers.items()}

    def sections(self) -> Iterator[Section]:
        """Yield the sections in their order; no text names an annotator or a folder of this machine."""
        yield from map(self._without_names, self._sections())

    def _sections(self) -> Iterator[Section]:
        agreement = self.told.facts.agreement
        yield sections.what_was_judged(self._honest.scores, self.original, self.augmented)
        if agreement is not None:
            yield self.agreement()
        yield self.scores()
        if self.since is not None:
            self.tell(f"against {self.since.old.name}")
            yield from self.since.sections(self._joined, self._compared, agreement, tell=self.tell)
        if len(self.runs) > 1:
            yield self.differences()
            yield self.order()
            yield self.overlap()
        yield self.length()
        yield self.judged_share(self._honest.trusted)
        texts = [f"{title}. {text}" for title, text in methods_paragraphs(self.told.facts)]
        yield Section("methods", "Methods", texts)
        folded = [(name, _shortened(text)) for name, text in self.told.manifests.items()]
        text = "Each stage wrote down its parameters, the version of the tool and the sha256 of what it read."
        yield Section("manifests", "How it was made", [text], folded=folded)

    def agreement(self) -> Section:
        """Return agreement, and each annotator beside the others."""
        found = self.told.facts.agreement
        if self.judgments is None or found is None:
            raise UsageError("there are no judgments, so nothing is known of annotators")
        profiles = annotator_profiles(first_round(self.judgments), grades=self.grades)
        shown = profiles.assign(annotator_id=profiles["annotator_id"].map(self._pseudonyms))
        return sections.of_agreement(found, shown)

    def scores(self) -> Section:
        """Return scores with what is uncertain."""
        found, unusable = self._honest, self.background.unusable
        section = sections.of_scores(first_of(found.scores), [*found.notes, *found.corrected])
        if unusable is None:
            return section
        usable = usable_scores(unusable, self.runs, self.original, self.augmented, self._scored)
        return sections.with_unusable(section, unusable.words, usable)

    def differences(self) -> Section:
        """Return which differences between runs hold."""
        qrels: dict[str, Any] = {"augmented": self.augmented, "sources": self.sources}
        table, notes = score_differences(self._joined, self.original, self._compared, **qrels, tell=self.tell)
        if is_by_design(self.labels, self.background):
            tables = (self._joined, self.original, self.labels, self._compared, self.background)
            by: dict[str, Any] = {"sources": self.sources, "policies": [self.background.policy]}
            table = with_corrected_differences(table, correct_for_errors(*tables, **by))
        return sections.of_differences(table, notes)

    def order(self) -> Section:
        """Return the order of the runs under both labellings."""
        labellings = {"original": self.original, "augmented": self.augmented}
        return sections.of_orders(compare_orders(self._joined, labellings, self._compared, tell=self.tell))

    def overlap(self) -> Section:
        """Return how alike the runs are."""
        self.tell("overlap")
        return sections.of_overlap(*compare_runs(self.tops, depth=TOP, rbo_p=(0.9,)))

    def length(self) -> Section:
        """Return the gains by the length of the caption, of the first measure unless others are named."""
        measures = self._compared if self.measures else (FIRST,)
        tables = (self._joined, self.original, self.augmented, self.queries, measures)
        return sections.of_lengths(by_length(*tables))

    def judged_share(self, trusted: Sequence[str] = ()) -> Section:
        """Return what is judged, and what the measures may not be trusted for."""
        measures = [judged_at(k) for k in range(1, TOP + 1)]
        labelling = self._joined.label(self.augmented)
        shares = {run: self._joined.values(run, labelling, measures).T for run in self._joined.places}
        rows = [
            {"run_id": run_id, "measure": measure.name, "value": measure.aggregate(values)}
            for run_id, own in shares.items()
            for measure, values in zip(measures, own, strict=True)
        ]
        return sections.of_judged(pd.DataFrame(rows), trusted)

    def figure(self, name: str) -> Figure | None:
        """Return one of `FIGURES`; None where the study holds too little for it."""
        of_section, place = FIGURES[name]
        found = of_section(self).figures
        return found[place] if found else None

    def _without_names(self, section: Section) -> Section:
        """Return a section with pseudonyms; its tables and plots hold them from the start."""
        paragraphs, warnings = (
            tuple(map(self._hidden, each)) for each in (section.paragraphs, section.warnings)
        )
        folded = tuple((heading, self._hidden(text)) for heading, text in section.folded)
        return replace(section, paragraphs=paragraphs, warnings=warnings, folded=folded)

    def _hidden(self, text: str) -> str:
        for place in self.told.folders:
            text = text.replace(f"{place}/", "") if len(place) > 1 else text
        telling = [name for name in self._pseudonyms if len(name) > 2 and not name.isdigit()]
        if not telling:
            return text
        names = "|".join(re.escape(name) for name in sorted(telling, key=len, reverse=True))
        whole = re.compile(rf"(?<![\w@.-])({names})(?![\w@-])")
        return whole.sub(lambda found: self._pseudonyms[found[1]], text)


# The section that each figure is of, and its place there.
FIGURES: dict[str, tuple[Callable[[Study], Section], int]] = {
    "scores": (Study.scores, 0),
    "differences": (Study.differences, 0),
    "order": (Study.order, 0),
    "length": (Study.length, 0),
    "overlap": (Study.overlap, 0),
    "rbo": (Study.overlap, 1),
    "judged": (Study.judged_share, 0),
    "annotators": (Study.agreement, 0),
}


def _shortened(text: str) -> str:
    """Return a manifest, or its beginning and how much is left out."""
    left = len(text) - _LONGEST_FILE
    return text if left <= 0 else f"{text[:_LONGEST_FILE]}\n… {left:,} characters more in the file"
