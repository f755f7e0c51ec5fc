"""What `report html` and `report plot` show of a workspace."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from fire_toolkit.agreement.profiles import annotator_profiles
from fire_toolkit.cli.background import background_of
from fire_toolkit.cli.common import needed_workspace, setting_or_default
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.judged_files import grades_of, judgments_from, number_annotators
from fire_toolkit.cli.methods_facts import workspace_facts
from fire_toolkit.cli.progress_line import Progress
from fire_toolkit.cli.report_against import Against
from fire_toolkit.errors import UsageError
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
from fire_toolkit.inference.judged_pairs import JudgedPairs
from fire_toolkit.measures import parse_measure
from fire_toolkit.measures.defaults import FIRST, judged_at
from fire_toolkit.reporting import sections
from fire_toolkit.reporting.captions import by_length
from fire_toolkit.reporting.honest import HonestRows, honest_rows
from fire_toolkit.reporting.methods import MethodFacts, drawn_paragraph, methods_paragraphs
from fire_toolkit.reporting.page import Section
from fire_toolkit.reporting.usable import usable_scores
from fire_toolkit.tables import Judgments, first_round
from fire_toolkit.workspace.config import Workspace

_NEEDED = ("augmented/qrels.txt", "labels/labels.csv")
_DEPTH = 10
_LONGEST_FILE = 20_000  # characters of a manifest that are shown


def workspace_to_report(command: str) -> Workspace:
    """Return the workspace here; a usage error where there is none, or its labels are not in its qrels."""
    workspace = needed_workspace(f"; `{command}` reports on a workspace")
    missing = [place for place in _NEEDED if not (workspace.root / place).is_file()]
    if missing:
        raise UsageError(f"no {missing[0]} in {workspace.root}; run resolve and augment first")
    return workspace


class ReportedWorkspace:
    """What a workspace's report is made of: each section measured when it is asked for.

    draws: resamples and seed; old: what it is compared with; measures: those of the workspace where none
    are named.
    """

    tell: Progress

    def __init__(
        self,
        workspace: Workspace,
        draws: Mapping[str, int],
        *,
        old: Path | None = None,
        measures: Sequence[str] = (),
    ) -> None:
        self.workspace, self.root, self.old = workspace, workspace.root, old
        self.given = Given({**draws, "clusters": None, "own_item": None, "qrels": None, "pool_sources": None})
        self.is_chosen = bool(measures)
        self.measures = tuple(measures or setting_or_default((), "score", "measures"))
        self.compared = [name for name in self.measures if parse_measure(name).definition.is_score]

    @cached_property
    def judgments(self) -> Judgments | None:
        """The judgments; None where the labels came without any."""
        path = self.root / "judgments/judgments.csv"
        return judgments_from(self.given.use(path)) if path.is_file() else None

    @cached_property
    def joined(self) -> JudgedPairs:
        """The runs, each ranked once, with every pair that the qrels, labels and disputes hold."""
        self.tell("ranks of judged docs")
        others = [] if self.against is None else self.against.qrels
        tables = (self.given.stored_runs, self.given.original, self.given.labels, self.background)
        return join_with_votes(*tables, self.measures, self.given.augmented, *others)

    @cached_property
    def background(self) -> Background:
        """What is known of the labels beside them."""
        return background_of(self.given)

    @cached_property
    def against(self) -> Against | None:
        """What the workspace is compared with; None where nothing was named."""
        if self.old is None:
            return None
        self.tell(f"reading {self.old.name}")
        return Against(self.old, self.workspace, self.given, self.judgments)

    @cached_property
    def facts(self) -> MethodFacts:
        """What is known of how the labels were made."""
        self.tell("agreement")
        return workspace_facts(self.workspace, self.given, judgments=self.judgments)

    @cached_property
    def pseudonyms(self) -> dict[str, str]:
        """Annotator → annotator 1, 2, …, the busiest first."""
        if self.judgments is None:
            return {}
        return {name: f"annotator {number}" for name, number in number_annotators(self.judgments).items()}

    def without_names(self, section: Section) -> Section:
        """Return a section whose texts name no annotator and no folder of this machine.

        Tables and plots hold pseudonyms from the start.
        """
        paragraphs, warnings = (
            tuple(map(self._without_names, each)) for each in (section.paragraphs, section.warnings)
        )
        folded = tuple((heading, self._without_names(text)) for heading, text in section.folded)
        return replace(section, paragraphs=paragraphs, warnings=warnings, folded=folded)

    def _without_names(self, text: str) -> str:
        for place in dict.fromkeys(map(str, (self.root, self.root.parent, Path.home()))):
            text = text.replace(f"{place}/", "") if len(place) > 1 else text
        telling = [name for name in self.pseudonyms if len(name) > 2 and not name.isdigit()]
        if not telling:
            return text
        names = "|".join(re.escape(name) for name in sorted(telling, key=len, reverse=True))
        whole = re.compile(rf"(?<![\w@.-])({names})(?![\w@-])")
        return whole.sub(lambda found: self.pseudonyms[found[1]], text)

    def sections(self) -> Iterator[Section]:
        """Yield the sections in their order."""
        given = self.given
        yield sections.what_was_judged(self.honest.scores, given.original, given.augmented)
        if self.facts.agreement is not None:
            yield self.agreement()
        yield self.scores()
        if self.against is not None:
            yield from self.against.sections(self.joined, self.compared, self.facts.agreement, self.tell)
        if len(given.stored_runs) > 1:
            yield self.differences()
            yield self.order()
            yield self.overlap()
        yield self.length()
        yield self.judged_share(self.honest.trusted)
        texts = [drawn_paragraph(title, text, "text") for title, text in methods_paragraphs(self.facts)]
        yield Section("methods", "Methods", texts)
        yield self._manifests()

    @cached_property
    def honest(self) -> HonestRows:
        """The honest rows of all measures."""
        tables = (self.joined, self.given.original, self.given.labels)
        return honest_rows(
            *tables,
            self.measures,
            self.background,
            policies=[self.background.policy],
            sources=self.given.sources_if_any,
            tell=self.tell,
        )

    def agreement(self) -> Section:
        """Return agreement, and each annotator beside the others."""
        if self.judgments is None or self.facts.agreement is None:
            raise UsageError(f"no judgments/judgments.csv in {self.root}, so nothing is known of annotators")
        first = first_round(self.judgments)
        profiles = annotator_profiles(first, grades=grades_of(first, None))
        shown = profiles.assign(annotator_id=profiles["annotator_id"].map(self.pseudonyms))
        return sections.of_agreement(self.facts.agreement, shown)

    def scores(self) -> Section:
        """Return scores with what is uncertain."""
        found, given = self.honest, self.given
        section = sections.of_scores(first_of(found.scores), [*found.notes, *found.corrected])
        if given.unusable is None:
            return section
        qrels = (given.original, given.augmented)
        usable = usable_scores(given.unusable, given.stored_runs, *qrels, self.measures)
        return sections.with_unusable(section, given.unusable.words, usable)

    def differences(self) -> Section:
        """Return which differences between runs hold."""
        given = self.given
        qrels: dict[str, Any] = {"augmented": given.augmented, "sources": given.sources_if_any}
        table, notes = score_differences(self.joined, given.original, self.compared, **qrels, tell=self.tell)
        if is_by_design(given.labels, self.background):
            correction = correct_for_errors(
                self.joined,
                given.original,
                given.labels,
                self.compared,
                self.background,
                sources=given.sources_if_any,
                policies=[self.background.policy],
            )
            table = with_corrected_differences(table, correction)
        return sections.of_differences(table, notes)

    def order(self) -> Section:
        """Return the order of the runs under both labellings."""
        given, labellings = self.given, {"original": self.given.original, "augmented": self.given.augmented}
        return sections.of_orders(
            compare_orders(self.joined, labellings, self.compared, **given.draws, tell=self.tell)
        )

    def overlap(self) -> Section:
        """Return how alike the runs are."""
        self.tell("overlap")
        return sections.of_overlap(*compare_runs(self.given.runs_to(_DEPTH), depth=_DEPTH, rbo_p=(0.9,)))

    def length(self) -> Section:
        """Return the gains by the length of the caption."""
        given = self.given
        measures = self.compared if self.is_chosen else (FIRST,)
        tables = (self.joined, given.original, given.augmented, given.queries, measures)
        return sections.of_lengths(by_length(*tables))

    def judged_share(self, trusted: Sequence[str] = ()) -> Section:
        """Return what is judged, and what the measures may not be trusted for."""
        return sections.of_judged(self._judged_by_depth(), trusted)

    def _judged_by_depth(self) -> pd.DataFrame:
        measures = [judged_at(k) for k in range(1, _DEPTH + 1)]
        labelling = self.joined.label(self.given.augmented)
        rows = [
            {"run_id": run_id, "measure": measure.name, "value": measure.aggregate(values)}
            for run_id in self.joined.places
            for measure, values in zip(
                measures, self.joined.values(run_id, labelling, measures).T, strict=True
            )
        ]
        return pd.DataFrame(rows)

    def _manifests(self) -> Section:
        found = sorted({*self.root.glob("*manifest.json"), *self.root.glob("[!.]*/*manifest.json")})
        folded = [
            (path.relative_to(self.root).as_posix(), _shortened(path.read_text(encoding="utf-8")))
            for path in found
            if not path.name.startswith("report")
        ]
        text = "Each stage wrote down its parameters, the version of the tool and the sha256 of what it read."
        return Section("manifests", "How it was made", [text], folded=folded)


def _shortened(text: str) -> str:
    """Return a manifest, or its beginning and how much is left out."""
    left = len(text) - _LONGEST_FILE
    return text if left <= 0 else f"{text[:_LONGEST_FILE]}\n… {left:,} characters more in the file"
