"""Scores estimated from judgments that were drawn by a known design, beside the scores as labelled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools, Floats, Ints
from fire_toolkit.errors import JoinError
from fire_toolkit.inference.designs import AS_LABELLED, HORVITZ, MOST_UNJUDGED, ByPairs, ByQueries
from fire_toolkit.inference.drawn_pairs import KNOWN, SampledPairs, ScoredPairs
from fire_toolkit.inference.judged_pairs import JudgedPairs
from fire_toolkit.inference.limits import Estimate
from fire_toolkit.matching.coded import CodedQrels
from fire_toolkit.measures import Measure
from fire_toolkit.tables import QueryDesign
from fire_toolkit.tables.columns import PAIR

ESTIMATE_COLUMNS = {
    "estimate": "float64",
    "estimate_low": "float64",
    "estimate_high": "float64",
    "estimate_method": "str",
    "estimate_n": "int64",
    "missing": "float64",
    "missing_low": "float64",
    "missing_high": "float64",
}
DIFFERENCE_ESTIMATE = {name: ESTIMATE_COLUMNS[name] for name in list(ESTIMATE_COLUMNS)[:4]}


class Design(NamedTuple):
    """How the judged pairs were chosen.

    pairs: query_id, doc_id, stratum (`shallow`: judged for every query; `deep`: judged because the query
    was drawn; `from:to:rate`, `original`: of pairs drawn in strata; empty: judged for another reason, which
    no estimate uses) and inclusion_probability. queries: which of them were judged deep; None where pairs
    were drawn. sample: of a machine judge, see `check_machine_sample`; then no other is read. shared: runs
    that may share its backbone, with the reason.
    """

    pairs: pd.DataFrame
    queries: QueryDesign | None
    sample: pd.DataFrame | None = None
    shared: Mapping[str, str] = MappingProxyType({})


class Estimated(NamedTuple):
    """What `estimate_scores` returns.

    cells: of each run and measure `ESTIMATE_COLUMNS`; basis: what estimates are of, in words; notes:
    sentences.
    """

    cells: Mapping[tuple[str, str], dict[str, Any]]
    basis: str
    notes: tuple[str, ...]


def estimate_scores(
    joined: JudgedPairs,
    before: CodedQrels,
    after: CodedQrels,
    design: Design,
    measures: Sequence[Measure],
    *,
    clusters: Ints | None = None,
) -> Estimated:
    """Return for each run and measure what it is estimated to be by labels of all pairs that could be drawn.

    Args:
        joined: the runs, joined with both qrels, and with `pairs_of_sample`.
        before, after: labellings by the original qrels and by those with all labels.
        design: how the judged pairs were chosen. Labels of pairs that a machine judge's sample did not draw,
            such as those that came in the judge's order, are not read; original positives are known.
        measures: any; those for which no estimate is sound are refused with the reason.
        clusters: of each query, for intervals by a judge's sample, which are for queries like these.

    Returns:
        Where queries were judged deep: the two-phase difference for AP, nDCG, R@k and the like; a measure
        that reads the shallow pool alone stays as labelled. Where pairs were drawn in strata of ranks or of a
        judge's scores: P@k, and R@k as a ratio of totals in a note. `estimate_method` names the way, or
        begins with `refused: `. missing: the share of positives that was never judged, of measures that
        divide by |G|; nan by a judge's sample.

    Raises:
        JoinError: the design is for other queries, or a pair of the sample is not in the join.
        TableError: an inclusion probability that is not above 0 and up to 1.
    """
    by = _by_design(joined, before, after, design, clusters)
    cells, notes = {}, list(by.notes)
    for measure in measures:
        missing = by.missing(measure) if measure.definition.over_positives else None
        share = dict(zip(("missing", "missing_low", "missing_high"), missing or (np.nan,) * 3, strict=False))
        for run_id, found in zip(joined.places, by.scores(measure), strict=True):
            cells[run_id, measure.name] = _cell(by, found) | share
        notes += by.totals(measure)
    return Estimated(cells, by.basis, tuple(notes))


def estimate_differences(
    joined: JudgedPairs,
    before: CodedQrels,
    after: CodedQrels,
    design: Design,
    measures: Sequence[Measure],
) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Return what the difference of every two runs is estimated to be by the design.

    Args, errors: as of `estimate_scores`, and so what is refused; no machine judge's sample. Runs share the
    errors of the sample, so that the interval of a difference is narrower than those of its runs say.

    Returns:
        measure, run_a, run_b → estimate, estimate_low, estimate_high and estimate_method, a − b in the order
        of the runs.
    """
    by = _by_design(joined, before, after, design)
    cells = {}
    for measure in measures:
        for pair, found in zip(combinations(joined.places, 2), by.differences(measure), strict=True):
            cell = _cell(by, found)
            cells[measure.name, *pair] = {name: cell[name] for name in DIFFERENCE_ESTIMATE}
    return cells


def _cell(by: ByQueries | ByPairs, found: Estimate) -> dict[str, Any]:
    """Return the columns of one estimate; a reason takes the place of the method."""
    method = by.method
    if found.refused:
        method = found.refused if found.refused == AS_LABELLED else f"refused: {found.refused}"
    return dict(zip(ESTIMATE_COLUMNS, (*found[:3], method, by.n), strict=False))


def chances_of(joined: JudgedPairs, design: Design | None) -> Floats | None:
    """Return with which probability each pair of a join was to be judged, 0 where the design did not ask it.

    None where no people's sample was drawn.
    """
    if design is None or design.sample is not None:
        return None
    drawn = _Drawn.of(joined, design)
    return np.where(drawn.is_of_design, drawn.probability, 0.0)


def pairs_of_sample(design: Design | None) -> list[pd.DataFrame]:
    """Return the pairs of a design's sample, as runs and qrels are joined with them; none without one."""
    return [] if design is None or design.sample is None else [design.sample[PAIR].assign(relevance=0)]


class _Drawn(NamedTuple):
    """Of each pair of a join: whether the design judged it for every query, at all, and with which chance."""

    is_shallow: Bools
    is_of_design: Bools
    probability: Floats

    @classmethod
    def of(cls, joined: JudgedPairs, design: Design) -> _Drawn:
        stratum = design.pairs["stratum"].fillna("").astype(str).to_numpy()
        place = joined.find_rows(design.pairs)
        held = (stratum != "") & (place >= 0)
        is_shallow, is_of = np.zeros((2, len(joined.pairs)), dtype=bool)
        is_shallow[place[held & (stratum == "shallow")]] = True
        is_of[place[held]] = True
        chance = pd.to_numeric(design.pairs["inclusion_probability"], errors="coerce").fillna(1.0)
        probability = np.ones(len(joined.pairs))
        probability[place[held]] = chance.to_numpy(dtype=np.float64)[held]
        return cls(is_shallow, is_of, probability)


def _by_design(
    joined: JudgedPairs,
    before: CodedQrels,
    after: CodedQrels,
    design: Design,
    clusters: Ints | None = None,
) -> ByQueries | ByPairs:
    if design.sample is not None:
        return _by_judge(joined, before, after, design, design.sample, clusters)
    drawn = _Drawn.of(joined, design)
    labels = after.reverted(before, ~drawn.is_of_design)
    if design.queries is not None:
        shallow = after.reverted(before, ~drawn.is_shallow)
        return ByQueries.of(joined, (shallow, labels), design.queries)
    whole_to, deepest = _depths(design.pairs["stratum"])

    def at(level: int) -> SampledPairs:
        known = (before.relevance >= level, labels.relevance >= level, drawn.probability, joined.query)
        return SampledPairs(*known, len(joined.queries), whole_to)

    n = int(((drawn.probability < 1) & (after.relevance >= 0)).sum())
    basis = f"of the depth-{deepest} union; {n:,} judged pairs drawn by chance"
    return ByPairs(joined, at, np.arange(len(joined.pairs)), HORVITZ, n, deepest, basis)


def _depths(strata: pd.Series) -> tuple[int, int]:
    """Return down to which rank strata `from:to:rate` were judged whole, and where they end; 0 without."""
    parts = [name.split(":") for name in strata.fillna("").astype(str).unique() if name.count(":") == 2]
    ranked = [(int(first), int(last), float(rate)) for first, last, rate in parts if first.isdigit()]
    deepest = max((last for _, last, _ in ranked), default=0)
    return min((first - 1 for first, _, rate in ranked if rate < 1), default=deepest), deepest


def _by_judge(
    joined: JudgedPairs,
    before: CodedQrels,
    after: CodedQrels,
    design: Design,
    sample: pd.DataFrame,
    clusters: Ints | None,
) -> ByPairs:
    place, judge = joined.find_rows(sample), str(sample["judge_id"].iloc[0])
    if (place < 0).any():
        raise JoinError(f"machine sample: {int((place < 0).sum()):,} pairs have queries that the qrels lack")
    is_drawn = sample["is_drawn"].to_numpy(dtype=bool)
    is_read = is_drawn & (after.relevance[place] >= 0)
    n_drawn, n = int(is_drawn.sum()), int(is_read.sum())
    refused = ""
    if n < (1 - MOST_UNJUDGED) * n_drawn:
        refused = f"{n_drawn - n:,} of the {n_drawn:,} pairs drawn have no label; judge these first"
    could = np.zeros(len(joined.pairs), dtype=bool)
    could[place] = True
    known = np.flatnonzero((before.relevance >= 1) & ~could)
    kept = np.concatenate([place, known])
    has_label = np.append(is_read, np.ones(len(known), dtype=bool))
    stratum = np.append(pd.factorize(sample["stratum"])[0], np.full(len(known), KNOWN))
    score = np.append(sample["score"].fillna(0).to_numpy(dtype=np.float64), np.zeros(len(known)))

    def at(level: int) -> ScoredPairs:
        label = np.where(has_label, (after.relevance[kept] >= level).astype(np.float64), np.nan)
        return ScoredPairs(score, label, stratum, joined.query[kept], len(joined.queries))

    deepest = int(sample["best_rank"].max())
    basis = (
        f"of the depth-{deepest} union; {n:,} labels of pairs drawn at random in "
        f"{sample['stratum'].nunique()} strata by the score of judge {judge}; intervals are for queries like "
        "these"
    )
    notes = []
    if design.shared:
        notes.append(
            f"judge {judge} may share errors with {', '.join(design.shared)} "
            f"({next(iter(design.shared.values()))}); people's labels correct the estimate"
        )
    method = f"prediction-powered, judge {judge}"
    drawn = np.arange(len(joined.queries)) if clusters is None else clusters
    return ByPairs(joined, at, kept, method, n, deepest, basis, drawn, tuple(notes), refused, True)
