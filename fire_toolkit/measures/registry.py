"""The measures by name: a new one is a new file here and its line in `FILES`, or comes from a plug-in."""

from __future__ import annotations

from importlib import import_module

import numpy as np

from fire_toolkit.measures.definition import Definition
from fire_toolkit.plugins import Registry

FILES = (
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
)

# Every definition under its name with its variant (`AP/min`), in the order of `FILES`.
MEASURES: Registry[Definition] = Registry(
    "measures",
    "measure",
    Definition,
    name_of=lambda definition: definition.key,
    returns={"per_query": np.ndarray, "expected": np.ndarray},
)
for _file in FILES:
    for _definition in import_module(f"fire_toolkit.measures.{_file}").MEASURES:
        MEASURES.add(_definition.key, _definition)
