"""What a command is given: the tables its options name, else its workspace's, and the options themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from fire_toolkit.cli.common import (
    chosen_path,
    current_workspace,
    made_file,
    say,
    setting_or_default,
)
from fire_toolkit.cli.inputs import Inputs
from fire_toolkit.cli.judged_files import judgments_from, known_grades, leave_out, read_controls, rules_of
from fire_toolkit.cli.own_items import choose_own_items
from fire_toolkit.cli.run_files import open_runs, read_runs
from fire_toolkit.commands.command import column_of, resampled, rests_on
from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.releases import machine_labels_in
from fire_toolkit.formats.runs.matrix_runs import MatrixRun
from fire_toolkit.formats.runs.native import NativeRunFile
from fire_toolkit.formats.runs.read import run_id_of
from fire_toolkit.formats.tables.delimited import read_delimited
from fire_toolkit.formats.tables.evidence_files import evidence_beside, read_evidence
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.formats.tables.table_files import (
    read_items,
    read_labels,
    read_pool_sources,
    read_pooled_runs,
    read_queries,
)
from fire_toolkit.guidelines.model import Grades, Guideline
from fire_toolkit.inference.background import Background, Unusable
from fire_toolkit.inference.evidence import known_of
from fire_toolkit.matching.own_items import OwnItemRule
from fire_toolkit.tables import (
    Disputes,
    Items,
    Judgments,
    Labels,
    PoolSources,
    Qrels,
    Queries,
    Run,
    check_disputes,
)
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.tables.evidence import Evidence
from fire_toolkit.workspace.manifests import writer_of
from fire_toolkit.workspace.settled import settled_by

EXPERTS = "audit/labels"  # the folder in which experts answer on labels
SAMPLE, ANSWERS = f"{EXPERTS}/sample.csv", f"{EXPERTS}/answers.csv"


class Given(Inputs):
    """What a command was given, else has in its workspace; each table is read when first asked for."""

    @property
    def form(self) -> str:
        """What `--format` says."""
        return str(self.values["output_format"])

    @property
    def as_json(self) -> bool:
        """Whether counts are to be printed as JSON."""
        return bool(self.values["as_json"])

    @cached_property
    def own(self) -> OwnItemRule:
        """What becomes of each query's own item in the runs, qrels, labels and pool sources."""
        is_ruled = "own_item" in self.values and not self.values.get("direction")
        return choose_own_items(self) if is_ruled else OwnItemRule({}, False, "")

    @cached_property
    def queries(self) -> Queries:
        """The queries."""
        return read_queries(self.use(self.needed("queries")))

    @cached_property
    def items_if_any(self) -> Items | None:
        """The items; None where none are given, and the workspace names none."""
        path = self.path("items")
        return read_items(self.use(path)) if path else None

    @cached_property
    def guideline(self) -> Guideline:
        """The guideline given, else the workspace's, else the default."""
        return read_guideline(setting_or_default(self.values["guideline"], "tasks", "guideline"))

    @cached_property
    def judgments(self) -> Judgments:
        """The judgments without those excluded; of several answers by one annotator to a pair the latest."""
        return leave_out(judgments_from(self.use(self.needed("judgments"))), self.excluded)

    @cached_property
    def excluded(self) -> dict[str, str]:
        """Whose judgments are left out, and why."""
        names, reasons = (self.values.get(name) or () for name in ("exclude", "reasons"))
        if len(reasons) == 1:
            reasons = reasons * max(len(names), 1)
        if len(names) != len(reasons) or not all(reason.strip() for reason in reasons):
            raise UsageError("--exclude needs a --reason, one for all or one for each; the manifest keeps it")
        return dict(zip(names, reasons, strict=True))

    @cached_property
    def judged_by(self) -> Guideline | None:
        """The guideline that grades the judgments; None where nobody names one."""
        return rules_of(self.judgments, self.values["guideline"])

    @cached_property
    def grades(self) -> Grades:
        """The grades of the labels in the judgments; a usage error where they are not known."""
        return known_grades(self.judgments, self.values["guideline"], self.needed("judgments"))

    def controls(self, grades: Grades | None) -> pd.DataFrame | None:
        """Return the pairs whose label is known; None where none are given."""
        path = self.values["controls"]
        return read_controls(self.use(path), grades) if path else None

    @cached_property
    def runs(self) -> list[Run]:
        """The runs, in the order given."""
        return self.runs_to(None)

    @cached_property
    def stored_runs(self) -> list[Run | NativeRunFile | MatrixRun]:
        """The same for what takes one after the other, a block at a time (`score_runs`)."""
        return open_runs(self, own=self.own)

    def _read_runs(self) -> Sequence[Run | NativeRunFile | MatrixRun]:
        """Return the runs in whichever form they were asked for; nothing where they were not."""
        read = self.__dict__
        found: Sequence[Run | NativeRunFile | MatrixRun] = read.get("runs", read.get("stored_runs", []))
        return found

    def runs_to(self, depth: int | None) -> list[Run]:
        """Return the top `depth` of the runs."""
        return read_runs(self, depth=depth, own=self.own)

    @property
    def corrected_file(self) -> Path | None:
        """The augmented qrels given, else the workspace's where they correct its own, else None."""
        is_its_own = not self.values.get("qrels") or self.values.get("augmented")
        return self.found("augmented") if is_its_own else None

    @cached_property
    def known(self) -> Background:
        """What is known of pairs: the evidence written with the augmented qrels, else qrels alone."""
        path, policy = self.corrected_file, str(setting_or_default(None, "augment", "policy"))
        if path is None:
            return Background(original=self.original_as_read, policy=policy)
        if (file := evidence_beside(path)) is None:
            if (writer := writer_of(path)) and writer.stage == "augment":
                raise FormatError(
                    f"{path}: `augment` of an earlier version wrote it, without the evidence that scores "
                    "read; run `fire-toolkit augment` again"
                )
            original, is_settled = self.original_as_read, settled_by(path) is not None
            augmented = read_qrels(self.use(path))
            return Background(original, augmented, is_settled=is_settled, policy=policy)
        if not file.is_file():
            raise FormatError(f"{file}: no such file, and scores read it beside {path}; copy it too")
        self.use(path)
        known = known_of(self._with_told(read_evidence(self.use(file))))
        if self.values.get("qrels"):
            known = known.beside(self.original_as_read)
        elif own := self.found("qrels"):
            self.use(own)  # of which the evidence was made
        if (grade := known.original_grade) not in (None, 1):
            say(
                f"note: original positives count at grade {grade} (as in the augmented qrels); measures "
                f"without gains count docs from grade 1 (C@k:rel={grade}: those of grade {grade} alone)"
            )
        return known

    def _with_told(self, found: Evidence) -> Evidence:
        """Return evidence with what came after it: experts' answers on the labels, and runs."""
        facts, workspace = found.facts, current_workspace()
        if "judge_id" in found.pairs and "runs" in self.values:
            settings = workspace.runs if workspace else {}
            runs = map(run_id_of, self.stored_runs)
            facts = replace(
                facts, backbones={run: str(settings.get(run, {}).get("backbone", "")) for run in runs}
            )
        sample, answers = made_file(SAMPLE), made_file(ANSWERS)
        if sample and answers and not self.values.get("augmented"):
            numbers = {"band": "int64", "relevance": "int64"}
            drawn = read_delimited(self.use(sample), required=[*PAIR, *numbers]).astype(numbers)
            said = read_delimited(self.use(answers), required=["annotator_id", *PAIR, "relevance"])
            judged = said.astype({"relevance": "int64"}).drop_duplicates(PAIR)
            facts = replace(facts, experts=(drawn, judged))
        return found._replace(facts=facts)

    @cached_property
    def original(self) -> Qrels:
        """The original qrels, beside augmented ones as `augment` took them."""
        found = self.known.original
        return self.own.original(self.original_as_read if found is None else found)

    @property
    def original_grade(self) -> int | None:
        """The grade of original positives beside the labels; None: the one they have."""
        return self.known.original_grade

    @cached_property
    def unusable(self) -> Unusable | None:
        """The unusable queries of the augmented qrels; None where nobody was asked."""
        path = self.corrected_file
        writer = writer_of(path) if path else None
        return self.known.unusable if writer and "unusable" in writer.parameters else None

    @cached_property
    def original_as_read(self) -> Qrels:
        """The original qrels as their file has them."""
        return read_qrels(self.use(self.needed("qrels")))

    @cached_property
    def original_if_any(self) -> Qrels | None:
        """The original qrels as they stand; None where none are given, and the workspace has none."""
        path = self.found("qrels")
        return read_qrels(self.use(path)) if path else None

    @cached_property
    def augmented_if_any(self) -> Qrels | None:
        """The augmented qrels given, else the workspace's where they correct its own, else None."""
        found = self.known.augmented
        return None if found is None else self.own.corrected(found, self.original, "augmented qrels")

    @property
    def augmented(self) -> Qrels:
        """The augmented qrels; a usage error where there are none."""
        if self.augmented_if_any is None:
            if not self.values.get("qrels"):
                self.needed("augmented")
            chosen_path(None, None, "--augmented")
        return self.augmented_if_any  # type: ignore[return-value]

    @cached_property
    def known_labels(self) -> Labels | None:
        """The labels of the evidence; None where only qrels are known."""
        found = self.known.labels
        return None if found is None else self.own.pairs(found, "labels")

    @cached_property
    def labels(self) -> Labels:
        """The resolved labels."""
        labels: Labels = self.own.pairs(read_labels(self.use(self.needed("labels"))), "labels")
        return labels if self.unusable is None else self.unusable.counted(labels)

    @cached_property
    def disputes(self) -> Disputes:
        """The disputes, from disputes.csv beside the labels."""
        file = self.use(self.needed("labels").with_name("disputes.csv"))
        disputes = check_disputes(read_delimited(file), where=str(file))
        return disputes if self.unusable is None else self.unusable.counted(disputes)

    @cached_property
    def sources_if_any(self) -> PoolSources | None:
        """Which run pooled which pair; None where it is not given, and the qrels not the workspace's."""
        path = self._sources_file
        return self._read_sources(path) if path else None

    @property
    def _sources_file(self) -> Path | None:
        if self.values.get("pool") and not self.values.get("pool_sources"):
            beside = self.needed("pool").with_name("pool_sources.csv")
            return beside if beside.is_file() else None
        is_its_own = self.values.get("qrels") is None or self.values.get("pool_sources")
        return self.found("pool_sources") if is_its_own else None

    @cached_property
    def sources(self) -> PoolSources:
        """Which run pooled which pair; a usage error where that is not known."""
        found = self.sources_if_any
        return self._read_sources(self.needed("pool_sources")) if found is None else found

    def _read_sources(self, path: Path) -> PoolSources:
        sources: PoolSources = self.own.pairs(read_pool_sources(self.use(path)), "pool sources")
        return sources

    @cached_property
    def pooled_runs(self) -> set[str] | None:
        """The runs that fed the pool, read alone where the rest was not; None where it is not known."""
        path = self._sources_file
        if path and not self.own.of_query and not {"sources", "sources_if_any"} & set(self.__dict__):
            return read_pooled_runs(self.use(path))
        return None if self.sources_if_any is None else set(self.sources_if_any["run_id"].unique())

    @cached_property
    def clusters(self) -> pd.Series | None:
        """The cluster of each query, as functions on intervals take them; None where none are named."""
        name = self.values["clusters"]
        return None if name is None else column_of(self.queries, name)

    def basis(self, *more: str, of: Mapping[str, Any] | None = None) -> str:
        """Return what these tables hold, else those read so far, and what was resampled, in words."""
        read = self.__dict__
        tables = of or {
            "runs": self._read_runs() or None,
            "qrels": read.get("original"),
            "augmented": read.get("augmented_if_any"),
            "labels": read.get("labels", read.get("known_labels")),
            "pool_sources": read.get("sources", read.get("sources_if_any")),
            "clusters": read.get("clusters"),
        }
        ages = [self.age] if self.values.get("output_format") in ("latex", "markdown") and self.age else []
        has_draws = "resamples" in tables
        has_qrels = bool({"qrels", "labels"} & set(self.values))
        unusable = [self.unusable.words] if has_qrels and self.unusable is not None else []
        return rests_on(
            tables,
            draws=resampled({**self.values, "clusters": self.clusters}) if has_draws else "",
            more=more,
            of_files=list(dict.fromkeys(words for path in self.used for words in machine_labels_in(path))),
            rules=[*unusable, *self.own.in_words(), *ages],
            n_added=self.own.n_added,
        )
