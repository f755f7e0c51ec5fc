"""A number in [0, 1) for each id or pair and a seed: the same wherever and with whatever else it is drawn.

What is drawn below a rate r is drawn below every greater rate too, so a larger sample contains the smaller
one, and a model that comes later redraws nothing. Queries are drawn so that are judged to a greater depth
than the others, for two-phase estimates.
"""

import hashlib
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from fire_toolkit.arrays import GOLDEN, Floats, Ints, are_among
from fire_toolkit.errors import UsageError
from fire_toolkit.pooling.candidates import Candidates
from fire_toolkit.tables import QueryDesign, check_query_design
from fire_toolkit.tables.columns import listed

LEAST = 40  # queries judged deep: below it the intervals of the estimates do not hold
DEPTH = 50  # to which they are judged


def draw_ids(ids: Sequence[str], *, seed: int) -> Floats:
    """Return a number in [0, 1) for each id, each once, from the id and the seed (0 or more) alone.

    Examples:
        >>> draw_ids(["q1", "q2"], seed=0).round(4), draw_ids(["q2"], seed=0).round(4)
        (array([0.0334, 0.4843]), array([0.4843]))
    """
    return _as_shares(_mixed(ids, seed))


def draw_candidates(candidates: Candidates, pairs: Ints) -> Floats:
    """Return a number in [0, 1) for each of some pairs, from its two ids and the candidates' seed alone."""
    query, doc = _mixed(listed(candidates.query_ids), candidates.seed), _words(listed(candidates.doc_ids))
    return _as_shares(mix_bits(query[candidates.query[pairs]] ^ doc[candidates.doc[pairs]]))


def _words(ids: Sequence[str]) -> npt.NDArray[np.uint64]:
    """Return 64 bits of the sha256 of each id."""
    digests = b"".join([hashlib.sha256(name.encode()).digest()[:8] for name in ids])
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def _mixed(ids: Sequence[str], seed: int) -> npt.NDArray[np.uint64]:
    return mix_bits(_words(ids) + np.uint64((seed + 1) * GOLDEN % 2**64))


def _as_shares(words: npt.NDArray[np.uint64]) -> Floats:
    return np.asarray((words >> np.uint64(11)) * 2.0**-53, dtype=np.float64)


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


def mix_bits(state: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return each state of SplitMix64 as its random word (Steele, Lea and Flood, OOPSLA 2014)."""
    word = state ^ (state >> np.uint64(30))
    word *= np.uint64(0xBF58476D1CE4E5B9)  # in place, as millions of lists are told apart by it
    word ^= word >> np.uint64(27)
    word *= np.uint64(0x94D049BB133111EB)
    word ^= word >> np.uint64(31)
    return np.asarray(word)
