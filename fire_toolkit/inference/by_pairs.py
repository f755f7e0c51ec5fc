"""What pairs drawn in strata can tell of a measure, in words."""

from __future__ import annotations

from collections.abc import Mapping

from fire_toolkit.inference.horvitz import Sampled
from fire_toolkit.measures import Measure
from fire_toolkit.measures.defaults import ESTIMATED_BY_PAIRS, ESTIMATES

BOUNDS_ONLY = "the first positive decides it, of which a sample gives bounds only"


def why_not_by_pairs(measure: Measure, deepest: int) -> str:
    """Return why a measure is not estimated from pairs drawn in strata; empty where it is."""
    definition = measure.definition
    if definition.key in ESTIMATED_BY_PAIRS and not measure.condensed:
        reads = measure.depth or 0
        return "" if reads <= deepest else f"it reads to rank {reads}, and the strata end at {deepest}"
    if definition.key in ESTIMATES:
        return "it is an estimate itself, from qrels that have strata (`score --qrels`)"
    if definition.by_first_positive or definition.is_binary:
        return BOUNDS_ONLY
    if definition.over_positives:
        return "ratios of single queries are biased where few of its pairs are drawn (R@k by .07 to .22)"
    return "no estimator of it was found sound"


def describe_totals(measure: Measure, found: Mapping[str, Sampled]) -> str:
    """Return R@k of each run as a ratio of totals, in words."""
    parts = [
        f"{run_id} " + (each.refused or f"{each.estimate:.3f} [{each.low:.3f}, {each.high:.3f}]")
        for run_id, each in found.items()
    ]
    listed = ", ".join(parts)
    return f"{measure.name} as a ratio of totals over all queries (micro, no mean over queries): {listed}"
