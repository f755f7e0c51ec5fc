"""Edit distance (Levenshtein) up to a small bound, for many pairs of texts at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fire_toolkit.arrays import Ints

_BLOCK, _WIDTH = 128, 8192


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


def pairs_within(texts: Sequence[str], *, max_distance: int) -> tuple[Ints, Ints, Ints]:
    """Return all pairs of rows i < j at an edit distance of at most `max_distance`, and the distance.

    Pairs whose lengths already tell them apart are never compared. By i, then j.
    """
    empty = np.empty(0, dtype=np.int64)
    found = [(empty, empty, empty), *_near(texts, max_distance)]
    left, right, distance = (np.concatenate(parts) for parts in zip(*found, strict=True))
    left, right = np.minimum(left, right), np.maximum(left, right)
    order = np.lexsort([right, left])
    return left[order], right[order], distance[order]


def _near(texts: Sequence[str], bound: int) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Yield near pairs and their distances, by blocks of texts of like length."""
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cdist

    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    order = np.argsort(lengths, kind="stable")
    ordered, sizes = [texts[row] for row in order], lengths[order]
    for start in range(0, len(order), _BLOCK):
        stop = min(start + _BLOCK, len(order))
        last = int(np.searchsorted(sizes, sizes[stop - 1] + bound, side="right"))
        for begin in range(start, last, _WIDTH):
            end = min(begin + _WIDTH, last)
            distances = cdist(
                ordered[start:stop],
                ordered[begin:end],
                scorer=Levenshtein.distance,
                score_cutoff=bound,
                dtype=np.int32,
            )
            i, j = np.nonzero(distances <= bound)
            later = i + start < j + begin
            i, j = i[later], j[later]
            yield order[i + start], order[j + begin], distances[i, j].astype(np.int64)
