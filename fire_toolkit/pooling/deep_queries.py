"""A random part of the queries judged to a greater depth than the others, for two-phase estimates."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from fire_toolkit.arrays import are_among
from fire_toolkit.errors import UsageError
from fire_toolkit.pooling.draws import draw_ids
from fire_toolkit.tables import QueryDesign, check_query_design

LEAST = 40  # queries: below it the intervals of the estimates do not hold
DEPTH = 50


def design_queries(
    query_ids: Sequence[str], *, share: float, depth: int, deep: int, seed: int = 0
) -> QueryDesign:
    """Return to which depth each query is judged, in the order given, and the sample's probability.

    A simple random sample of ceil(share · N) queries, never below 40 (all where there are fewer), without
    replacement, is judged deep: the first ones in the order of a number drawn for each query from its id and
    the seed. The same sample drawn twice is the same, and a larger one contains the smaller.

    Args:
        query_ids: each once.
        share: of the queries that are judged deep, above 0 and up to 1.
        depth: of the queries outside the sample, 0 or more (0: their originals alone).
        deep: of those in it, more than `depth`.
        seed: 0 or more.

    Raises:
        UsageError: an argument out of range.

    Examples:
        >>> design_queries(["q", "r"], share=0.5, depth=10, deep=50)
          query_id  depth  is_sampled  inclusion_probability  seed
        0        q     50        True                    1.0     0
        1        r     50        True                    1.0     0
    """
    if deep <= depth:
        raise UsageError(f"depth of the deep queries is {deep}, expected more than the others' {depth}")
    if not 0 < share <= 1:
        raise UsageError(f"share of queries judged deep is {share:g}, expected a number above 0 and up to 1")
    if seed < 0:
        raise UsageError(f"seed is {seed}, expected 0 or more")
    wanted = max(LEAST, math.ceil(share * len(query_ids) - 1e-9))
    order = np.argsort(draw_ids(query_ids, seed=seed), kind="stable")
    is_sampled = are_among(order[:wanted], len(query_ids))
    columns = {
        "query_id": pd.array(list(query_ids), dtype="str"),
        "depth": np.where(is_sampled, deep, depth),
        "is_sampled": is_sampled,
        "inclusion_probability": is_sampled.mean() if len(query_ids) else 1.0,
        "seed": seed,
    }
    return check_query_design(pd.DataFrame(columns))
