"""`report html`: all that a workspace knows, as one file that a reviewer opens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import click
import pandas as pd

from fire_toolkit.agreement import AgreementSummary, annotator_profiles
from fire_toolkit.cli import report_sections as sections
from fire_toolkit.cli.common import current_workspace, n_of, relative_path, say, setting_or_default
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.honest import honest_rows
from fire_toolkit.cli.judged_files import grades_of, judgments_from, number_annotators
from fire_toolkit.cli.methods_facts import workspace_facts
from fire_toolkit.cli.noise import join_with_votes
from fire_toolkit.cli.report_against import Against
from fire_toolkit.cli.server_options import Progress
from fire_toolkit.errors import UsageError
from fire_toolkit.inference import compare_orders, score_differences
from fire_toolkit.inference.compare import compare_runs
from fire_toolkit.inference.judged_pairs import JudgedPairs
from fire_toolkit.measures import parse_measure
from fire_toolkit.measures.defaults import FIRST, judged_at
from fire_toolkit.paper_tables import by_length
from fire_toolkit.paper_tables.methods import MethodFacts, drawn_paragraph, methods_paragraphs
from fire_toolkit.report import Section, render_page
from fire_toolkit.tables import Judgments, first_round
from fire_toolkit.workspace.config import Workspace

_NEEDED = ("augmented/qrels.txt", "labels/labels.csv")
_DEPTH = 10
_DRAWS_OF_LENGTHS = 2000
_LONGEST_FILE = 20_000  # characters of a manifest that are shown


@click.command("html")
@click.option("--out", metavar="FILE", help="Where it is written. [default: report.html in the workspace]")
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    metavar="OLD",
    help="Also what changed since another workspace, or a release (a folder or a zip).",
)
@click.option("--resamples", default=10_000, show_default=True, help="Number of resamples.")
@click.option("--seed", default=0, show_default=True, help="The same seed gives the same numbers.")
def html(out: str | None, against: Path | None, resamples: int, seed: int) -> None:
    """Write the workspace's report: one HTML file with plots, tables, methods and manifests.

    It asks for nothing from anywhere and opens from the disk. Annotators stand in it by pseudonyms, the
    busiest first, and no folder of this machine is named.

    --against compares labels, scores and the order of runs only where both sides have the same queries, the
    same guideline and runs of the same bytes, and says what else there is.
    """
    workspace = current_workspace()
    if workspace is None:
        raise UsageError("no fire.toml in this folder or above it; `report html` reports on a workspace")
    missing = [place for place in _NEEDED if not (workspace.root / place).is_file()]
    if missing:
        raise UsageError(f"no {missing[0]} in {workspace.root}; run resolve and augment first")
    path = Path(out) if out else workspace.root / "report.html"
    given = Given({"resamples": resamples, "seed": seed, "clusters": None, "own_item": None, "qrels": None})
    found = _Workspace(workspace, given, against)
    with Progress() as tell:
        found.tell = tell
        parts = [found.without_names(section) for section in found.sections()]
    text = render_page(f"Corrected labels: {workspace.root.name}", given.basis(), parts)
    parameters = given.draw_parameters | ({"against": str(against)} if against else {})
    given.write(path, {path.name: text}, "report html", parameters)
    size = f"{len(text.encode()) / 1000:,.0f} kB, {n_of(len(parts), 'section')}"
    say(f"{relative_path(path)}: {size}; open it in a browser")


class _Workspace:
    """What a workspace's report is made of: each section measured when it is asked for."""

    tell: Progress

    def __init__(self, workspace: Workspace, given: Given, old: Path | None) -> None:
        self.workspace, self.root, self.given, self.old = workspace, workspace.root, given, old
        self.measures = tuple(setting_or_default((), "score", "measures"))
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
        return join_with_votes(self.given, self.measures, self.given.augmented, *others)

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
            tuple(map(self._told, each)) for each in (section.paragraphs, section.warnings)
        )
        folded = tuple((heading, self._told(text)) for heading, text in section.folded)
        return replace(section, paragraphs=paragraphs, warnings=warnings, folded=folded)

    def _told(self, text: str) -> str:
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
        found = honest_rows(given, self.measures, self.joined, tell=self.tell)
        yield sections.what_was_judged(found.scores, given.original, given.augmented)
        if self.judgments is not None and self.facts.agreement is not None:
            yield self._agreement(self.judgments, self.facts.agreement)
        yield sections.of_scores(found.scores, [*found.notes, *found.corrected])
        if self.against is not None:
            yield from self.against.sections(self.joined, self.compared, self.facts.agreement, self.tell)
        if len(given.stored_runs) > 1:
            yield from self._comparisons()
        captions = (self.joined, given.original, given.augmented, given.queries, (FIRST,))
        seed = given.draws["seed"]
        yield sections.of_lengths(by_length(*captions, n_resamples=_DRAWS_OF_LENGTHS, seed=seed))
        yield sections.of_judged(self._judged_by_depth(), found.trusted)
        texts = [drawn_paragraph(title, text, "text") for title, text in methods_paragraphs(self.facts)]
        yield Section("methods", "Methods", texts)
        yield self._manifests()

    def _agreement(self, judgments: Judgments, summary: AgreementSummary) -> Section:
        first = first_round(judgments)
        profiles = annotator_profiles(first, grades=grades_of(first, None))
        shown = profiles.assign(annotator_id=profiles["annotator_id"].map(self.pseudonyms))
        return sections.of_agreement(summary, shown)

    def _comparisons(self) -> Iterator[Section]:
        given, labellings = self.given, {"original": self.given.original, "augmented": self.given.augmented}
        yield sections.of_differences(
            *score_differences(
                self.joined,
                given.original,
                self.compared,
                augmented=given.augmented,
                sources=given.sources_if_any,
                **given.draws,
                tell=self.tell,
            )
        )
        yield sections.of_orders(
            compare_orders(self.joined, labellings, self.compared, **given.draws, tell=self.tell)
        )
        self.tell("overlap")
        yield sections.of_overlap(*compare_runs(given.runs_to(_DEPTH), depth=_DEPTH, rbo_p=(0.9,)))

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
