"""Which files define measures: a new measure is a new file here and its line in `FILES`."""

from __future__ import annotations

from importlib import import_module

from fire_toolkit.measures.definition import Definition

FILES = [
    "correct",
    "recall",
    "precision",
    "average_precision",
    "average_precision_fire",
    "ndcg",
    "reciprocal_rank",
    "median_rank",
    "mean_rank",
    "judged",
    "average_precision_min",
    "r_precision",
    "bpref",
    "inferred_ap",
    "extended_inferred_ap",
    "f_measure",
    "rank_biased_precision",
    "rank_biased_residual",
    "unjudged",
    "nearest_neighbour",
    "tiers",
    "e_measure",
    "cumulated_gain",
    "discounted_gain",
    "interpolated_precision",
    "average_precision_at_r",
    "geometric_map",
    "eleven_points",
    "retrieved_set",
    "ndcg_at_levels",
    "inferred_ndcg",
    "inferred_counts",
]


def definitions() -> dict[str, Definition]:
    """Return every definition under its name with its variant (`AP/min`), in the order of `FILES`.

    Each file holds a tuple MEASURES.
    """
    found: dict[str, Definition] = {}
    for file in FILES:
        for definition in import_module(f"fire_toolkit.measures.{file}").MEASURES:
            if definition.key in found:
                raise RuntimeError(f"measure {definition.key} is defined twice, the second time in {file}")
            found[definition.key] = definition
    return found
