"""Edit distance (Levenshtein) up to a small bound, for many pairs of texts at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

_N_BUCKETS = 32
_BLOCK = 512
_LETTERS = 1 << 22


def edit_distances(texts: Sequence[str], left: Ints, right: Ints, *, max_distance: int) -> Ints:
    """Return the edit distance of each pair of rows of `texts`, `max_distance` + 1 where it is larger.

    Args:
        texts: any; compared by code point.
        left, right: rows of `texts`.
        max_distance: 0 or more; time and memory grow with it.

    Examples:
        >>> edit_distances(["kitten", "sitting", "x"], np.array([0, 0]), np.array([1, 2]), max_distance=4)
        array([3, 5])
    """
    found = np.empty(len(left), dtype=np.int64)
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    order = np.argsort(lengths[left], kind="stable") if len(left) else np.empty(0, dtype=np.int64)
    start = 0
    while start < len(order):
        stop = start + max(1, _LETTERS // (1 + int(lengths[left[order[start]]])))
        stop = start + max(1, _LETTERS // (1 + int(lengths[left[order[min(stop, len(order)) - 1]]])))
        part = order[start:stop]
        found[part] = _banded(texts, left[part], right[part], max_distance)
        start = stop
    return found


def _banded(texts: Sequence[str], left: Ints, right: Ints, bound: int) -> Ints:
    """Fill the band of the distance matrix around its diagonal, all pairs at once."""
    a, n_a = _padded(texts, left, 0)
    b, n_b = _padded(texts, right, bound)
    width = 2 * bound + 1
    large = bound + 1
    row = np.full((width + 1, len(left)), large, dtype=np.int64)  # the last row stays out of the band
    for offset in range(bound, width):
        row[offset] = offset - bound  # distance of the empty prefix to j letters
    result = np.where(n_a == 0, np.minimum(n_b, large), large)
    for i in range(1, a.shape[1] + 1):
        above = row.copy()
        for offset in range(width):
            j = i + offset - bound
            if j < 0:
                row[offset] = large
                continue
            best = above[offset + 1] + 1  # a letter less on the right
            if j > 0:
                column = b[:, j - 1] if j <= b.shape[1] else -2
                best = np.minimum(best, above[offset] + (a[:, i - 1] != column))
                if offset > 0:
                    best = np.minimum(best, row[offset - 1] + 1)
            else:
                best = np.full(len(left), i)
            row[offset] = np.minimum(best, large)
        ends = np.flatnonzero(n_a == i)
        place = n_b[ends] - i + bound
        inside = (place >= 0) & (place < width)
        result[ends[inside]] = row[place[inside], ends[inside]]
    return result


def _padded(texts: Sequence[str], rows: Ints, extra: int) -> tuple[Ints, Ints]:
    """Return texts as code points, −1 behind their ends (−1 meets no letter), and their lengths."""
    chosen = [texts[row] for row in rows]
    lengths = np.array([len(text) for text in chosen], dtype=np.int64)
    width = int(lengths.max(initial=0)) + extra
    letters = np.frombuffer("".join(chosen).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    found = np.full((len(chosen), width), -1 - (extra > 0), dtype=np.int64)
    found[np.arange(width)[None, :] < lengths[:, None]] = letters
    return found, lengths


def pairs_within(texts: Sequence[str], *, max_distance: int) -> tuple[Ints, Ints, Ints]:
    """Return all pairs of rows i < j at an edit distance of at most `max_distance`, and the distance.

    Pairs whose lengths or letter counts already tell them apart are never compared. By i, then j.
    """
    found = [
        (left[near], right[near], distance[near])
        for left, right in _candidates(texts, max_distance)
        for distance in [edit_distances(texts, left, right, max_distance=max_distance)]
        for near in [distance <= max_distance]
    ]
    if not found:
        return (np.empty(0, dtype=np.int64),) * 3
    left, right, distance = (np.concatenate(parts) for parts in zip(*found, strict=True))
    left, right = np.minimum(left, right), np.maximum(left, right)
    order = np.lexsort([right, left])
    return left[order], right[order], distance[order]


def _candidates(texts: Sequence[str], bound: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield pairs that lengths and letter counts allow, by blocks of texts of like length."""
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    order = np.argsort(lengths, kind="stable")
    letters = np.array([_letter_counts(texts[row]) for row in order], dtype=np.int32).reshape(-1, _N_BUCKETS)
    sizes = lengths[order]
    for start in range(0, len(order), _BLOCK):
        stop = min(start + _BLOCK, len(order))
        last = int(np.searchsorted(sizes, sizes[stop - 1] + bound, side="right"))
        for begin in range(start, last, _BLOCK):
            end = min(begin + _BLOCK, last)
            gap = letters[start:stop, None, :] - letters[None, begin:end, :]
            more = np.maximum(gap, 0).sum(axis=2)
            allowed = (more <= bound) & (more - gap.sum(axis=2) <= bound)
            i, j = np.nonzero(allowed)
            i, j = i + start, j + begin
            yield order[i[i < j]], order[j[i < j]]


def _letter_counts(text: str) -> Ints:
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    return np.bincount(codes % _N_BUCKETS, minlength=_N_BUCKETS)
