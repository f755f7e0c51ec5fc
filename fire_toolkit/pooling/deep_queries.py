"""A random part of the queries judged to a greater depth than the others, for two-phase estimates."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools, are_among
from fire_toolkit.errors import UsageError
from fire_toolkit.pooling.draws import draw_ids
from fire_toolkit.tables import Pool, QueryDesign, check_query_design
from fire_toolkit.tables.columns import PAIR, are_in, pair_rows
from fire_toolkit.tables.designs import DEEP, ORIGINAL, SHALLOW

LEAST = 40  # queries: below it the intervals of the estimates do not hold
DEPTH = 50


def draw_queries(query_ids: Sequence[str], *, share: float, seed: int = 0) -> Bools:
    """Return for each query whether it is in the random sample that is judged deep.

    A simple random sample of ceil(share · N) queries, never below 40 (all where there are fewer), without
    replacement: the first ones in the order of a number drawn for each query from its id and the seed. The
    same sample drawn twice is the same, and a larger one contains the smaller.

    Args:
        query_ids: each once, in any order.
        share: above 0 and up to 1.
        seed: 0 or more.

    Raises:
        UsageError: share or seed out of range.

    Examples:
        >>> names = [f"q{n}" for n in range(1000)]
        >>> small, large = (draw_queries(names, share=share) for share in (0.1, 0.2))
        >>> int(small.sum()), int(large.sum()), bool((small & ~large).any())
        (100, 200, False)
    """
    if not 0 < share <= 1:
        raise UsageError(f"share of queries judged deep is {share:g}, expected a number above 0 and up to 1")
    if seed < 0:
        raise UsageError(f"seed is {seed}, expected 0 or more")
    wanted = max(LEAST, math.ceil(share * len(query_ids) - 1e-9))
    order = np.argsort(draw_ids(query_ids, seed=seed), kind="stable")
    return are_among(order[:wanted], len(query_ids))


def design_queries(
    query_ids: Sequence[str], *, share: float, depth: int, deep: int, seed: int = 0
) -> QueryDesign:
    """Return to which depth each query is judged, in the order given, and the sample's probability.

    Args:
        query_ids: each once.
        share, seed: of the sample, see `draw_queries`.
        depth: of the queries outside the sample, 0 or more (0: their originals alone).
        deep: of those in it, more than `depth`.

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
    is_sampled = draw_queries(query_ids, share=share, seed=seed)
    columns = {
        "query_id": pd.array(list(query_ids), dtype="str"),
        "depth": np.where(is_sampled, deep, depth),
        "is_sampled": is_sampled,
        "inclusion_probability": is_sampled.mean() if len(query_ids) else 1.0,
        "seed": seed,
    }
    return check_query_design(pd.DataFrame(columns))


def mark_deep(pairs: pd.DataFrame, deep: pd.DataFrame, design: QueryDesign) -> pd.DataFrame:
    """Return the pairs of a pool and of its deep queries, with stratum, inclusion_probability and seed.

    Args:
        pairs: pooled for every query, ordered.
        deep: all pairs of the queries drawn.
        design: which these are.

    Returns:
        Each pair once, by query_id and doc_id: `shallow`, with probability 1, where it is among `pairs`,
        else `deep`, with that of its query.
    """
    drawn = design[design["is_sampled"]]
    is_shallow = pair_rows(deep, pairs) >= 0
    chance = np.where(is_shallow, 1.0, drawn["inclusion_probability"].max())
    deep = deep.assign(stratum=np.where(is_shallow, SHALLOW, DEEP), inclusion_probability=chance)
    others = pairs[~are_in(pairs["query_id"], drawn["query_id"])]
    others = others.assign(stratum=SHALLOW, inclusion_probability=1.0)
    both = pd.concat([others, deep]).assign(seed=int(drawn["seed"].max()))
    return both.sort_values(PAIR, ignore_index=True)


def known_whole(pairs: pd.DataFrame, design: QueryDesign | None, seed: int) -> pd.DataFrame:
    """Return the pairs of a sample with the originals that were added to it, which no draw decided on."""
    if "stratum" not in pairs:
        return pairs
    added = pairs["stratum"].isna()
    known = {"stratum": ORIGINAL if design is None else SHALLOW, "inclusion_probability": 1.0, "seed": seed}
    return pairs.assign(
        **{name: pairs[name].mask(added, value) for name, value in known.items() if name in pairs}
    )


def refuse_other_seed(pairs: pd.DataFrame, previous: Pool | None) -> None:
    """Raise UsageError for a sample of another seed than that of the earlier pool."""
    if previous is None or not {"seed"} <= set(pairs) & set(previous) or not len(previous) * len(pairs):
        return
    earlier, now = previous["seed"].iloc[0], pairs["seed"].iloc[0]
    if earlier != now:
        raise UsageError(
            f"the earlier pool was drawn with seed {earlier}, this one with {now}; a sample of two designs "
            f"gives no estimate, expected --seed {earlier}"
        )
