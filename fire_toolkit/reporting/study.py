"""What a report is made of: the tables of a study, and the facts and figures that are measured from them."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.guidelines.model import Grades
from fire_toolkit.inference.background import Background
from fire_toolkit.inference.compare import compare_runs
from fire_toolkit.inference.correction import first_of, join_with_votes, with_corrected_differences
from fire_toolkit.inference.differences import score_differences
from fire_toolkit.inference.honest import HonestRows, scores_with_uncertainty
from fire_toolkit.inference.judged_pairs import JudgedPairs, Tell, silent
from fire_toolkit.inference.orders import compare_orders
from fire_toolkit.inference.trust import LEAST_MISSING, describe_undrawn
from fire_toolkit.matching.joining import AnyRun
from fire_toolkit.measures import parse_measure
from fire_toolkit.measures.defaults import SCORE
from fire_toolkit.reporting.against import Since
from fire_toolkit.reporting.methods import MethodFacts
from fire_toolkit.reporting.voted import annotators_beside_others, flipped_pairs
from fire_toolkit.resolution.judgments import number_annotators
from fire_toolkit.results import Found
from fire_toolkit.tables import Judgments, Labels, PoolSources, Qrels, Queries, Run

TOP = 10  # docs of a run that are compared, and of which the judged share is shown


@dataclass(frozen=True)
class Told:
    """What a report says that no table holds.

    name: of the study; said: what the files of its tables say, see `rests_on`; warning: of files that changed
    since; facts: how the labels were made; manifests: their texts by their names; measures: those of the
    study; folders: of this machine, which no text is to name; gallery: where it stands, seen from the report,
    or empty.
    """

    name: str = ""
    said: Mapping[str, Any] = field(default_factory=dict)
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
    def scored(self) -> Sequence[str]:
        """The measures that are shown."""
        return tuple(self.measures or self.told.measures)

    @property
    def compared(self) -> list[str]:
        """Those of them that are scores; all where none is."""
        return [name for name in self.scored if parse_measure(name).definition.is_score] or [*self.scored]

    @property
    def has_captions(self) -> bool:
        """Whether any query has a text, which images have none of."""
        return bool((self.queries["text"] != "").any())

    @cached_property
    def joined(self) -> JudgedPairs:
        """The runs, each ranked once, with every pair that the qrels, labels and disputes hold."""
        self.tell("ranks of judged docs")
        others = [] if self.since is None else self.since.qrels
        tables = (self.runs, self.original, self.labels, self.background)
        return join_with_votes(*tables, self.augmented, *others)

    @cached_property
    def honest(self) -> HonestRows:
        """The honest rows of all measures."""
        tables = (self.joined, self.original, self.labels, self.scored, self.background)
        options: dict[str, Any] = {"policies": [self.background.policy], "sources": self.sources}
        return scores_with_uncertainty(*tables, **options, tell=self.tell)

    @cached_property
    def scores(self) -> pd.DataFrame:
        """The honest rows, corrected ones first."""
        return first_of(self.honest.scores)

    @cached_property
    def differences(self) -> tuple[pd.DataFrame, Sequence[object]]:
        """Every difference of two runs, also of corrected scores, and what is said of these alone."""
        qrels: dict[str, Any] = {"augmented": self.augmented, "sources": self.sources}
        found = score_differences(self.joined, self.original, self.compared, **qrels, tell=self.tell)
        table = with_corrected_differences(found.table, self.honest.correction)
        beside_scores = (" fed the pool and ", " the runs to different depths ")
        notes = [str(note) for note in found.notes if str(note) not in self.honest.notes]
        return table, [note for note in notes if not any(words in note for words in beside_scores)]

    @cached_property
    def orders(self) -> Found:
        """The order of the runs under both labellings."""
        labellings = {"original": self.original, "augmented": self.augmented}
        return compare_orders(self.joined, labellings, self.compared, tell=self.tell)

    @property
    def best_first(self) -> list[str]:
        """The runs by the first measure, the best first."""
        first = self.compared[0]
        own = self.scores[self.scores["measure"] == first]
        is_larger_better = parse_measure(first).definition.larger_is_better
        return own.sort_values("augmented", ascending=not is_larger_better, kind="stable")["run_id"].tolist()

    @cached_property
    def flipped(self) -> pd.DataFrame:
        """The pairs whose label is not what the benchmark says."""
        return flipped_pairs(self.original, self.labels, self.background.disputes)

    @cached_property
    def comparisons(self) -> Found:
        """How alike the tops of every two runs are."""
        self.tell("overlap")
        return compare_runs(self.tops, depth=TOP, rbo_p=(0.9,))

    @cached_property
    def pseudonyms(self) -> dict[str, str]:
        """Annotator → annotator 1, 2, …, the busiest first."""
        numbers = {} if self.judgments is None else number_annotators(self.judgments)
        return {name: f"annotator {number}" for name, number in numbers.items()}

    @cached_property
    def outcome(self) -> dict[str, Any]:
        """How many pairs there are, and what became of the original positives."""
        names = ("n_queries", "confirmed", "rejected", "disputed", "never_judged", "new", "policy")
        found = {name: self.honest.scores[name].iloc[0] for name in names}
        found["is_graded"] = self.labels["relevance"].max() > 1
        found["is_part"] = self.background.design is not None  # some pairs were left out by design
        errors = self.background.counts.get("label_errors", {})  # as votes expect; experts know better
        audit = self.background.audit
        found["wrong_share"] = audit.wrong_share if audit else errors.get("wrong_share", np.nan)
        for name, qrels in (("original", self.original), ("augmented", self.augmented)):
            n_positives = int((qrels["relevance"] >= 1).sum())
            by_query = n_positives / max(qrels["query_id"].nunique(), 1)
            found |= {name: len(qrels), f"{name}_by_query": by_query}
        return found

    @cached_property
    def undrawn(self) -> list[str]:
        """The measures of the top that count docs which a sample of pairs left out as not relevant."""
        design, rows = self.background.design, self.honest.scores
        if design is None or not design.is_of_pairs:
            return []
        told = describe_undrawn(rows[rows["measure"].isin(self.compared)])
        return [*dict.fromkeys(measure for measure, _ in told)]

    @property
    def off(self) -> list[str]:
        """The measures that are not to be trusted, as positives were never judged, known how many or not."""
        is_off = self.scores["missing"] > LEAST_MISSING if "missing" in self.scores else True
        over = (name for name in self.compared if parse_measure(name).definition.over_positives)
        never_judged = [name for name in over if (is_off & (self.scores["measure"] == name)).any()]
        return [*never_judged, *self.undrawn]

    @cached_property
    def annotators(self) -> dict[str, Any]:
        """Each annotator beside the others by pseudonyms, the busiest first; empty where none are known."""
        if self.judgments is None or self.grades is None:
            return {}
        names = self.judgments["annotator_id"].map(self.pseudonyms)
        named = Judgments(self.judgments.assign(annotator_id=names))
        table, two = annotators_beside_others(named, grades=self.grades)
        rows = table.set_index("annotator_id").to_dict("index")
        both = (two.set_index(by).to_dict("index") for by in (["a", "b"], ["b", "a"]))
        in_order = {name: rows[name] for name in self.pseudonyms.values() if name in rows}
        return {"rows": in_order, "two": dict(ChainMap(*both))}

    @cached_property
    def changed(self) -> dict[str, Any]:
        """What changed since another state of the labels, see `Since.facts`; empty where none is compared."""
        if self.since is None:
            return {}
        self.tell(f"against {self.since.old.name}")
        agreement = self.told.facts.agreement
        return self.since.facts(self.joined, self.compared, agreement, tell=self.tell)

    def hidden(self, text: object) -> str:
        """Return a text without folders of this machine and names of annotators."""
        shown = str(text)
        for place in self.told.folders:
            shown = shown.replace(f"{place}/", "") if len(place) > 1 else shown
        telling = [name for name in self.pseudonyms if len(name) > 2 and not name.isdigit()]
        names = "|".join(re.escape(name) for name in sorted(telling, key=len, reverse=True))
        whole = re.compile(rf"(?<![\w@.-])({names})(?![\w@-])")
        return whole.sub(lambda found: self.pseudonyms[found[1]], shown) if names else shown
