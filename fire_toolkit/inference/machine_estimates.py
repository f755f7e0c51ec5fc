"""Scores estimated from a machine judge's sample: drawn in strata by its score, and corrected by people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools, Ints
from fire_toolkit.errors import JoinError
from fire_toolkit.inference.by_pairs import describe_totals, why_not_by_pairs
from fire_toolkit.inference.estimates import (
    MOST_UNJUDGED,
    Design,
    Estimated,
    estimate_cell,
    estimate_scores,
    missing_cell,
    ranks_of,
)
from fire_toolkit.inference.horvitz import Sampled, no_estimate
from fire_toolkit.inference.judged_pairs import JudgedPairs
from fire_toolkit.inference.prediction_powered import (
    KNOWN,
    Interval,
    ScoredPairs,
    powered_micro_recall,
    powered_precision,
)
from fire_toolkit.matching.coded import CodedQrels
from fire_toolkit.measures import Measure
from fire_toolkit.measures.defaults import ESTIMATED_BY_TOTALS
from fire_toolkit.tables.columns import PAIR


def estimate_by_design(
    joined: JudgedPairs,
    before: CodedQrels,
    after: CodedQrels,
    design: Design,
    measures: Sequence[Measure],
    confidence: float,
    clusters: Ints | None,
) -> Estimated:
    """Return the estimates of `estimate_with_judge` where a judge's sample was drawn, else the others."""
    parts = (joined, before, after, design, measures)
    if design.sample is None:
        return estimate_scores(*parts, confidence=confidence)
    return estimate_with_judge(*parts, Interval(confidence, beyond=True, clusters=clusters))


def estimate_with_judge(
    joined: JudgedPairs,
    before: CodedQrels,
    after: CodedQrels,
    design: Design,
    measures: Sequence[Measure],
    interval: Interval,
) -> Estimated:
    """Return for each run and measure what it is estimated to be by labels of all pairs that could be drawn.

    Args:
        joined: the runs, joined with both qrels and all pairs of the sample.
        before, after: labellings by the original qrels and by those with all labels.
        design: with a machine judge's sample. Labels of pairs that it did not draw, such as those that came
            in the judge's order, are not read; original positives are known.
        measures: any; those for which no estimate is sound are refused with the reason.
        interval: for these queries, or beyond.

    Returns:
        P@k by `powered_precision`, and R@k as a ratio of totals in a note. Another note names the runs that
        may share a backbone with the judge.

    Raises:
        JoinError: a pair of the sample is not in the join.
    """
    assert design.sample is not None
    sample, judge = design.sample, str(design.sample["judge_id"].iloc[0])
    place = joined.find_rows(sample)
    if (place < 0).any():
        raise JoinError(f"machine sample: {int((place < 0).sum()):,} pairs have queries that the qrels lack")
    n_labels, refused = _labelled(after, place, sample)
    deepest = int(sample["best_rank"].max())
    cells: dict[tuple[str, str], dict[str, Any]] = {}
    notes: list[str] = []
    if design.shared:
        notes.append(
            f"judge {judge} may share errors with {', '.join(design.shared)} "
            f"({next(iter(design.shared.values()))}); people's labels correct the estimate"
        )
    for measure in measures:
        pairs, kept = _scored(joined, before, after, place, sample, measure.level)
        tops = {run_id: (ranks_of(joined, run_id) <= (measure.depth or 0))[kept] for run_id in joined.places}
        why_not = {
            run_id: refused or _why_not_of_run(joined, run_id, top, measure) for run_id, top in tops.items()
        }
        of_measure = why_not_by_pairs(measure, deepest)
        size: dict[str, Any] = {"k": measure.depth or 1, "interval": interval}
        for run_id, top in tops.items():
            why = of_measure or why_not[run_id]
            found = no_estimate(why) if why else powered_precision(pairs, top, **size)
            cell = estimate_cell(f"prediction-powered, judge {judge}", n_labels, *_limits(found))
            cells[run_id, measure.name] = cell | missing_cell(None)
        notes += _totals(measure, pairs, tops, why_not, deepest, interval)
    n_strata = sample["stratum"].nunique()
    basis = (
        f"of the depth-{deepest} union; {n_labels:,} labels of pairs drawn at random in {n_strata} strata by "
        f"the score of judge {judge}; intervals are for queries like these"
    )
    return Estimated(cells, None, basis, tuple(notes))


def pairs_of_sample(design: Design | None) -> list[pd.DataFrame]:
    """Return the pairs of a design's sample, as runs and qrels are joined with them; none without one."""
    return [] if design is None or design.sample is None else [design.sample[PAIR].assign(relevance=0)]


def _scored(
    joined: JudgedPairs,
    before: CodedQrels,
    after: CodedQrels,
    place: Ints,
    sample: pd.DataFrame,
    level: int,
) -> tuple[ScoredPairs, Ints]:
    """Return the pairs that could be drawn and the original positives, and their places in the join."""
    could = np.zeros(len(joined.pairs), dtype=bool)
    could[place] = True
    known = np.flatnonzero((before.relevance >= 1) & ~could)
    kept = np.concatenate([place, known])
    is_read = sample["is_drawn"].to_numpy(dtype=bool) & (after.relevance[place] >= 0)
    positive = (after.relevance[kept] >= level).astype(np.float64)
    label = np.where(np.append(is_read, np.ones(len(known), dtype=bool)), positive, np.nan)
    stratum = np.append(pd.factorize(sample["stratum"])[0], np.full(len(known), KNOWN))
    score = np.append(sample["score"].fillna(0).to_numpy(dtype=np.float64), np.zeros(len(known)))
    return ScoredPairs(score, label, stratum, joined.query[kept], len(joined.queries)), kept


def _labelled(after: CodedQrels, place: Ints, sample: pd.DataFrame) -> tuple[int, str]:
    """Return how many of the pairs drawn have a label, and why there is no estimate where too few have."""
    is_drawn = sample["is_drawn"].to_numpy(dtype=bool)
    n_drawn, n_labels = int(is_drawn.sum()), int((after.relevance[place[is_drawn]] >= 0).sum())
    if n_labels >= (1 - MOST_UNJUDGED) * n_drawn:
        return n_labels, ""
    return n_labels, f"{n_drawn - n_labels:,} of the {n_drawn:,} pairs drawn have no label; judge these first"


def _why_not_of_run(joined: JudgedPairs, run_id: str, top: Bools, measure: Measure) -> str:
    """Return why a run is not estimated: what it ranks high could not be drawn; empty where it could."""
    n_ranked = int(np.minimum(joined.places[run_id].n_retrieved, measure.depth or 0).sum())
    share = 1 - int(top.sum()) / n_ranked if n_ranked else 0.0
    if share <= MOST_UNJUDGED:
        return ""
    return f"{share:.0%} of its top {measure.depth} could not be drawn; pool it with the others"


def _totals(
    measure: Measure,
    pairs: ScoredPairs,
    tops: Mapping[str, Bools],
    why_not: Mapping[str, str],
    deepest: int,
    interval: Interval,
) -> Iterator[str]:
    """Yield R@k as a ratio of totals, in words."""
    is_total = measure.definition.key in ESTIMATED_BY_TOTALS and not measure.condensed
    if not is_total or (measure.depth or 0) > deepest:
        return
    found = {
        run_id: no_estimate(why)
        if (why := why_not[run_id])
        else powered_micro_recall(pairs, top, interval=interval)
        for run_id, top in tops.items()
    }
    yield describe_totals(measure, found)


def _limits(found: Sampled) -> tuple[float, float, float, str]:
    return found.estimate, found.low, found.high, found.refused
