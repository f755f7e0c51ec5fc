"""Evidence as measures read it: qrels, labels, votes, and by which design pairs were judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from fire_toolkit.inference.estimates import Design
from fire_toolkit.matching.own_items import OwnItemRule
from fire_toolkit.tables import Labels, Qrels, QueryDesign
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.tables.design import DESIGN
from fire_toolkit.tables.designs import SAMPLE
from fire_toolkit.tables.evidence import TAKEN_OUT, Evidence, Facts

_OF_SHARED = "shared"


@dataclass(frozen=True, eq=False)
class Known:
    """What measures read, of evidence or of qrels alone.

    original: the original qrels as they count; augmented: None where there are none. labels, with
    design_class and design_votes where votes were asked by design; disputes: judged pairs without a label,
    with the same columns; best_ranks: query_id, doc_id and best_rank of the pairs that runs pooled. All
    three are None where only qrels are known. unusable: queries; usable_alone: whether these are left out.
    """

    original: Qrels
    augmented: Qrels | None = None
    labels: Labels | None = None
    disputes: pd.DataFrame | None = None
    best_ranks: pd.DataFrame | None = None
    design: Design | None = None
    unusable: frozenset[str] = frozenset()
    facts: Facts = field(default_factory=Facts)

    def ruled(self, own: OwnItemRule) -> Known:
        """Return the same with each query's own item as a rule has it."""
        if not own.of_query:
            return self
        original = own.original(self.original)
        augmented = None
        if self.augmented is not None:
            augmented = own.corrected(self.augmented, original, "augmented qrels")
        labels = None if self.labels is None else own.pairs(self.labels, "labels")
        return replace(self, original=original, augmented=augmented, labels=labels)

    def design_of(self, run_ids: Sequence[str]) -> Design | None:
        """Return the design, with those of the runs that may share a backbone with its machine judge."""
        if self.design is None or self.design.sample is None:
            return self.design
        judge = str(self.design.sample["judge_id"].iloc[0])
        shared = shared_backbones(judge, self.facts.backbone, self.facts.backbones, run_ids)
        return self.design._replace(shared=shared)


def known_of(evidence: Evidence) -> Known:
    """Return what measures read of evidence: the one place where its columns become tables.

    Examples:
        >>> from fire_toolkit.tables.evidence import check_evidence
        >>> pairs = check_evidence(pd.DataFrame({
        ...     "query_id": "q", "doc_id": ["a", "b"], "relevance": 1, "original_relevance": [1, None],
        ...     "label_relevance": [None, 1], "source": ["original", "new"], "is_disputed": False}))
        >>> known = known_of(Evidence(pairs))
        >>> known.original["doc_id"].tolist(), known.labels["doc_id"].tolist()
        (['a'], ['b'])
    """
    pairs = evidence.pairs
    unusable: frozenset[str] = frozenset()
    if "is_usable" in pairs:
        unusable = frozenset(pairs.loc[~pairs["is_usable"].astype(bool), "query_id"])
    pairs = pairs[(pairs["source"] != TAKEN_OUT).to_numpy()]
    votes = _votes_of(pairs)
    judged = pairs.assign(**votes)
    augmented = _qrels(pairs, "relevance")
    design = _design_of(pairs)
    is_own = design is None and "stratum" in pairs  # the strata of qrels that came with some
    if is_own or (design is not None and design.sample is None):
        augmented = Qrels(augmented.assign(stratum=_where(pairs, "relevance")["stratum"].array))
    original = _qrels(pairs, "original_relevance")
    if is_own:
        original = Qrels(original.assign(stratum=_where(pairs, "original_relevance")["stratum"].array))
    disputes = judged.loc[judged["is_disputed"].to_numpy(dtype=bool), [*PAIR, *votes]]
    best = None
    if "best_rank" in pairs:
        best = pairs.loc[pairs["best_rank"].notna().to_numpy(), [*PAIR, "best_rank"]]
        best = best.astype({"best_rank": "float64"}).reset_index(drop=True)
    return Known(
        original=original,
        augmented=augmented,
        labels=_labels_of(judged, list(votes)),
        disputes=disputes.reset_index(drop=True),
        best_ranks=best,
        design=design,
        unusable=unusable,
        facts=evidence.facts,
    )


def _where(pairs: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the pairs that have a number in a column."""
    return pairs[pairs[name].notna().to_numpy()].reset_index(drop=True)


def _qrels(pairs: pd.DataFrame, name: str) -> Qrels:
    found = _where(pairs, name)
    source = found["source"] if name == "relevance" else "original"
    return Qrels(
        found[PAIR].assign(relevance=found[name].astype("int64"), source=source).astype({"source": "str"})
    )


def _votes_of(pairs: pd.DataFrame) -> dict[str, pd.Series]:
    """Return the columns of a design, with all votes in their order; nothing where there is none."""
    if DESIGN[0] not in pairs:
        return {}
    name, votes = (pairs[each] for each in DESIGN)
    return {DESIGN[0]: name, DESIGN[1]: (votes + pairs["later_votes"]).astype("str")}


def _labels_of(pairs: pd.DataFrame, design: list[str]) -> Labels:
    """Return the labels; those that are another pair's have a mark in shared_from."""
    found = _where(pairs, "label_relevance")
    names = [name for name in ("label", "method", "n_judgments", "n_agree") if name in found]
    labels = found[[*PAIR, *names, *design]].assign(relevance=found["label_relevance"].astype("int64"))
    is_shared = found["source"] == _OF_SHARED
    return Labels(labels.assign(shared_from=np.where(is_shared, "*", "")) if is_shared.any() else labels)


def _design_of(pairs: pd.DataFrame) -> Design | None:
    """Return by which design pairs were judged; None where all that was pooled was to be."""
    if "judge_id" in pairs and (is_of_sample := (pairs["judge_id"] != "").to_numpy()).any():
        sample = pairs[is_of_sample].rename(columns={"machine_score": "score"}).reset_index(drop=True)
        names = [*PAIR, "best_rank", "judge_id", "score", *SAMPLE, "is_drawn"]
        sample = sample[names].astype({"best_rank": "int64", "is_drawn": "bool"})
        return Design(sample, None, sample)
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
    return Design(_where(pairs, "relevance")[[*PAIR, *SAMPLE]], queries)


def shared_backbones(
    judge: str, own: str, of_runs: Mapping[str, str], run_ids: Sequence[str]
) -> dict[str, str]:
    """Return the runs that may share a backbone with a judge, and why: such a judge judges its own errors.

    Several backbones are joined by commas, case does not matter, and one that is not named counts as shared.

    Examples:
        >>> shared_backbones("vlm", "CLIP,BLIP", {"a": "clip", "b": "dino"}, ["a", "b", "c"])
        {'a': 'judge vlm and run a share the backbone clip', 'c': 'the backbone of run c is not named'}
    """
    of_judge = _named(own)
    found = {}
    for run_id in run_ids:
        of_run = _named(of_runs.get(run_id, ""))
        unknown = f"judge {judge}" if not of_judge else "" if of_run else f"run {run_id}"
        if unknown:
            found[run_id] = f"the backbone of {unknown} is not named"
        elif both := ", ".join(sorted(of_judge & of_run)):
            found[run_id] = f"judge {judge} and run {run_id} share the backbone {both}"
    return found


def _named(backbones: str) -> set[str]:
    return {name.strip().casefold() for name in backbones.split(",") if name.strip()}
