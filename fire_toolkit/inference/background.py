"""What is known of labels beyond their rows, read from the evidence: designs, votes, audits, queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools, Floats, are_among
from fire_toolkit.errors import FireError
from fire_toolkit.evidence.facts import TAKEN_OUT, Evidence, Facts
from fire_toolkit.evidence.qrels import augmented_of, originals_beside, rows_where, words_of_shared
from fire_toolkit.inference.audit import AuditedLabels, labels_by_band, with_answers
from fire_toolkit.tables import Labels, Pool, Qrels, QueryDesign, QueryLabels
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.tables.design import DESIGN
from fire_toolkit.tables.further import SAMPLE
from fire_toolkit.words import n_of

if TYPE_CHECKING:
    from fire_toolkit.inference.judged_pairs import JudgedPairs

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
OF_MACHINE = (
    "nothing is corrected for errors of votes: labels of the machine judge {} count too, and no vote tells "
    "how often these err (`score --honest` is of people's labels alone)"
)

Table = TypeVar("Table", bound=pd.DataFrame)


class Design(NamedTuple):
    """How the judged pairs were chosen.

    pairs: those that were drawn or could be: query_id, doc_id, stratum (`shallow`: judged for every query;
    `deep`: judged because the query was drawn; `from:to:rate`, `original`: of pairs drawn in strata; empty:
    judged for another reason, which no estimate uses), inclusion_probability, and of strata is_drawn.
    queries: which of them were judged deep; None where pairs were drawn. sample: of a machine judge, see
    `check_machine_sample`; then no other is read. shared: runs that may share its backbone, with the reason.
    policy: on rejected originals.
    """

    pairs: pd.DataFrame
    queries: QueryDesign | None
    sample: pd.DataFrame | None = None
    shared: Mapping[str, str] = MappingProxyType({})
    policy: str = "union"

    @property
    def is_of_pairs(self) -> bool:
        """Whether pairs were drawn, and not by a machine judge's scores."""
        return self.queries is None and self.sample is None


def pairs_of_sample(design: Design | None) -> list[pd.DataFrame]:
    """Return the pairs that a design could draw, as runs and qrels are joined with them; none without one."""
    if design is None or design.queries is not None:
        return []
    return [(design.pairs if design.sample is None else design.sample)[PAIR].assign(relevance=0)]


def drawn_pairs_of(joined: JudgedPairs, design: Design) -> tuple[Bools, Floats]:
    """Return of each pair of a join whether it was to be judged, and with which chance: 1 of all others."""
    place, n_pairs = joined.find_rows(design.pairs), len(joined.pairs)
    held = (design.pairs["stratum"].fillna("") != "").to_numpy() & (place >= 0)
    chance = pd.to_numeric(design.pairs["inclusion_probability"], errors="coerce").fillna(1.0)
    probability = np.ones(n_pairs)
    probability[place[held]] = chance.to_numpy(dtype=np.float64)[held]
    return are_among(place[held], n_pairs), probability


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
    label, with the same columns. design: by which the judged pairs were chosen; audit: what experts say of
    the labels; is_settled: whether what was asked hung on the answers before; policy: on rejected originals;
    unusable: queries that nobody can answer; original_grade: at which original positives count, None for the
    one they have; highest_grade: of the guideline; counts: of `augment`; notes: on labels that nobody gave.
    """

    original: Qrels | None = None
    augmented: Qrels | None = None
    labels: Labels | None = None
    disputes: pd.DataFrame | None = None
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
        own, _ = originals_beside(original, grade=self.original_grade)
        own = own if self.unusable is None else self.unusable.counted(own)
        columns = [*PAIR, "relevance"]
        known = self.original
        is_same = known is not None and len(own) == len(known)
        if is_same and known is not None and (own[columns].to_numpy() == known[columns].to_numpy()).all():
            return replace(self, original=own)
        has_votes = self.labels is not None and DESIGN[0] in self.labels
        told = [OF_OTHERS] if has_votes or self.design is not None or self.audit is not None else []
        nothing: Any = dict.fromkeys(("labels", "disputes", "design", "audit"))
        return replace(self, original=own, notes=[*self.notes, *told], **nothing)

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


def known_of(evidence: Evidence) -> Background:
    """Return what measures read of evidence: the one place where its columns become tables.

    Examples:
        >>> from fire_toolkit.evidence.facts import check_evidence
        >>> pairs = check_evidence(pd.DataFrame({
        ...     "query_id": "q", "doc_id": ["a", "b"], "relevance": 1, "original_relevance": [1, None],
        ...     "label_relevance": [None, 1], "source": ["original", "new"], "is_disputed": False}))
        >>> known = known_of(Evidence(pairs))
        >>> known.original["doc_id"].tolist(), known.labels["doc_id"].tolist()
        (['a'], ['b'])
    """
    pairs, facts = evidence
    unusable = None  # where nobody was asked
    if facts.unusable:
        is_no_query = np.zeros(len(pairs), dtype=bool)
        if "is_usable" in pairs:
            is_no_query = (~pairs["is_usable"].astype(bool) & pairs["original_relevance"].notna()).to_numpy()
        queries = QueryLabels(pd.DataFrame({"query_id": pairs.loc[is_no_query, "query_id"].unique()}))
        unusable = Unusable(facts.unusable, queries, facts.n_queries, facts.n_labelled)
    if (is_out := (pairs["source"] == TAKEN_OUT).to_numpy()).any():
        pairs = pairs[~is_out]
    design = _design_of(pairs, facts)
    strata = ["stratum"] if design is None and "stratum" in pairs else []  # of qrels that came with some
    original = rows_where(pairs[[*PAIR, "original_relevance", *strata]], pairs["original_relevance"].notna())
    original = original.rename(columns={"original_relevance": "relevance"})
    original = Qrels(original.astype({"relevance": "int64"}).assign(source="original"))
    votes: dict[str, pd.Series] = {}  # by design, with all votes in their order
    if DESIGN[0] in pairs:
        every = (pairs[DESIGN[1]] + pairs["later_votes"]).astype("str")
        votes = dict(zip(DESIGN, (pairs[DESIGN[0]], every), strict=True))
    judged, is_disputed = pairs.assign(**votes), pairs["is_disputed"].to_numpy(dtype=bool)
    names = [*PAIR, *(name for name in ("method", "n_judgments") if name in pairs), *votes]
    found = rows_where(judged[[*names, "label_relevance", "source"]], judged["label_relevance"].notna())
    labels = Labels(found[names].assign(relevance=found["label_relevance"].astype("int64")))
    if (is_shared := found["source"] == "shared").any():  # another pair's label
        labels = Labels(labels.assign(shared_from=np.where(is_shared, "*", "")))
    audit, notes = _audit_of(labels, original, pairs, facts)
    if (judge := facts.counts.get("include_machine")) and (votes or audit):
        notes.append(OF_MACHINE.format(judge))
    return Background(
        original=original,
        augmented=augmented_of(pairs),
        labels=labels,
        disputes=judged.loc[is_disputed, [*PAIR, *votes]].reset_index(drop=True),
        design=design,
        audit=audit,
        is_settled=facts.settled is not None,
        policy=facts.policy,
        unusable=unusable,
        original_grade=facts.original_grade,
        highest_grade=facts.highest_grade,
        counts=facts.counts,
        notes=[*(words_of_shared(facts.counts) if facts.counts.get("shared") else ()), *notes],
    )


def _audit_of(
    labels: Labels, original: Qrels, pairs: pd.DataFrame, facts: Facts
) -> tuple[AuditedLabels | None, list[str]]:
    """Return what experts say of the labels; a note where they do not suffice."""
    if facts.experts is None:
        return None, []
    sample, answers = facts.experts
    ranks = sample[PAIR].assign(best_rank=np.nan)
    if "best_rank" in pairs:
        ranks = rows_where(pairs[[*PAIR, "best_rank"]], pairs["best_rank"].notna())
        ranks = ranks.astype({"best_rank": "float64"})
    try:
        return with_answers(labels_by_band(labels, original, Pool(ranks)), sample, answers), []
    except FireError as error:
        return None, [f"not corrected by the experts' audit: {error}"]


def _design_of(pairs: pd.DataFrame, facts: Facts) -> Design | None:
    """Return by which design pairs were judged; None where all that was pooled was to be.

    Of a machine judge's sample with the runs that may share a backbone with the judge.
    """
    if "judge_id" in pairs and (is_of_sample := (pairs["judge_id"] != "").to_numpy()).any():
        sample = pairs[is_of_sample].rename(columns={"machine_score": "score"}).reset_index(drop=True)
        names = [*PAIR, "best_rank", "judge_id", "score", *SAMPLE, "is_drawn"]
        sample = sample[names].astype({"best_rank": "int64", "is_drawn": "bool"})
        judge = str(sample["judge_id"].iloc[0])
        return Design(sample, None, sample, shared_backbones(judge, facts.backbone, facts.backbones))
    if SAMPLE[1] not in pairs or not pairs[SAMPLE[1]].notna().any():
        return None
    queries = None
    if "query_depth" in pairs:
        each = pairs.drop_duplicates("query_id")
        chance = each["query_probability"]
        columns = {
            "depth": each["query_depth"].astype("int64"),
            "is_sampled": chance.notna(),
            "inclusion_probability": chance.max(),
        }
        queries = QueryDesign(each[["query_id"]].assign(**columns).reset_index(drop=True))
    names = [*PAIR, *SAMPLE, *(name for name in ("is_drawn",) if name in pairs)]
    return Design(pairs[names], queries, policy=facts.policy)


def shared_backbones(judge: str, own: str, of_runs: Mapping[str, str]) -> dict[str, str]:
    """Return the runs that may share a backbone with a judge, and why: such a judge judges its own errors.

    Several backbones are joined by commas, case does not matter, and one that is not named counts as shared.

    Examples:
        >>> shared_backbones("vlm", "CLIP,BLIP", {"a": "clip", "b": "dino", "c": ""})
        {'a': 'judge vlm and run a share the backbone clip', 'c': 'the backbone of run c is not named'}
    """
    named = {
        name: {each.strip().casefold() for each in backbones.split(",") if each.strip()}
        for name, backbones in {"": own, **of_runs}.items()
    }
    of_judge, found = named.pop(""), {}
    for run_id, of_run in named.items():
        unknown = f"judge {judge}" if not of_judge else "" if of_run else f"run {run_id}"
        if unknown:
            found[run_id] = f"the backbone of {unknown} is not named"
        elif both := ", ".join(sorted(of_judge & of_run)):
            found[run_id] = f"judge {judge} and run {run_id} share the backbone {both}"
    return found
