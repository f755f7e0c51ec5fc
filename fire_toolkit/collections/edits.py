"""Edit distance (Levenshtein) up to a small bound, for many pairs of texts at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fire_toolkit.arrays import Ints


def edit_distances(texts: Sequence[str], left: Ints, right: Ints, *, max_distance: int) -> Ints:
    """Return the edit distance of each pair of rows of `texts`, `max_distance` + 1 where it is larger.

    Args:
        texts: any; compared by code point.
        left, right: rows of `texts`.
        max_distance: 0 or more; time grows with it.

    Examples:
        >>> texts, left, right = ["kitten", "sitting", "x"], np.array([0, 0]), np.array([1, 2])
        >>> edit_distances(texts, left, right, max_distance=4).tolist()
        [3, 5]
    """
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cpdist

    first, second = [texts[row] for row in left], [texts[row] for row in right]
    return cpdist(first, second, scorer=Levenshtein.distance, score_cutoff=max_distance, dtype=np.int64)
