"""A number in [0, 1) for each id or pair and a seed: the same wherever and with whatever else it is drawn.

What is drawn below a rate r is drawn below every greater rate too, so a larger sample contains the smaller
one, and a model that comes later redraws nothing.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fire_toolkit.arrays import GOLDEN, Floats, Ints, mix_bits
from fire_toolkit.pooling.candidates import Candidates
from fire_toolkit.tables.columns import listed


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
