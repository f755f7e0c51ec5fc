"""Cosine similarity of texts against texts, block by block, so that memory does not grow with pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.collections.ngrams import DIGITS, NgramIndex, expand, index_texts, text_norms, vectors

_VALUES = 1 << 22  # numbers in a block of cosines
_CACHED = 1 << 16  # numbers summed at a time
_N_LEFT = 128  # texts compared with all others at a time


def similarity_blocks(
    index: NgramIndex, left: Ints, right: Ints, norms: Floats
) -> Iterator[tuple[Ints, Ints, Floats]]:
    """Yield (places in `left`, places in `right`, cosines), every pair of them once.

    Args:
        index: the texts.
        left, right: rows of the index.
        norms: of all texts, as `text_norms` gives them.

    Yields:
        Blocks in the order of `left`, then of `right`; cosines are left × right, in [0, 1], and 0 where
        a text has no words; rounded to 12 digits, so that they do not depend on the blocks.
    """
    for start in range(0, len(left), _N_LEFT):
        chosen = left[start : start + _N_LEFT]
        by_word = _word_scores(index, chosen)
        n_right = max(1, _VALUES // len(chosen))
        for begin in range(0, len(right), n_right):
            others = right[begin : begin + n_right]
            cosines = _summed_rows(by_word, *_words_of(index, others)) / norms[others][:, None]
            places = np.arange(start, start + len(chosen)), np.arange(begin, begin + len(others))
            yield *places, np.minimum(np.round(cosines.T, DIGITS), 1.0)


def _word_scores(index: NgramIndex, rows: Ints) -> Floats:
    """Return words × rows: the product of each word's n-grams with each row's unit vector."""
    row, code, weight = vectors(index, rows)
    present = np.zeros(len(index.ngrams), dtype=bool)
    present[code] = True
    place = np.cumsum(present) - 1
    weights = np.zeros((int(present.sum()), len(rows)))
    weights[place[code], row] = weight
    entries = np.flatnonzero(present[index.word_ngrams])
    codes = index.word_ngrams[entries]
    own = index.idf[codes][:, None]
    starts = np.searchsorted(entries, index.word_starts)
    return _summed_rows(weights, place[codes], starts, own)


def _summed_rows(values: Floats, places: Ints, starts: Ints, own: Floats | None = None) -> Floats:
    """Return, for each row of a ragged array of places in `values`, the sum there (times `own`).

    All rows' first places are added, then all second ones, longest rows first, in pieces that stay in the
    processor's cache.
    """
    lengths = np.diff(starts)
    longest_first = np.argsort(-lengths, kind="stable")
    found = np.zeros((len(lengths), values.shape[1]))
    step = max(1, _CACHED // values.shape[1])
    total, added = np.empty((2, min(step, len(lengths)), values.shape[1]))
    for begin in range(0, int(np.count_nonzero(lengths)), step):
        rows = longest_first[begin : begin + step]
        left = np.searchsorted(-lengths[rows], -np.arange(lengths[rows[0]]))  # rows that have an n-th place
        total[: len(rows)] = 0
        for place, n in enumerate(left.tolist()):
            at = starts[rows[:n]] + place
            values.take(places[at], axis=0, out=added[:n], mode="clip")
            if own is not None:
                added[:n] *= own[at]
            total[:n] += added[:n]
        found[rows] = total[: len(rows)]
    return found


def _words_of(index: NgramIndex, rows: Ints) -> tuple[Ints, Ints]:
    """Return the words of rows, one row after the other, and where each begins and the last ends."""
    owner, token = expand(index.text_starts, rows)
    starts = np.searchsorted(owner, np.arange(len(rows) + 1))
    return index.text_words[token].astype(np.int64), starts


def compared_once(index: NgramIndex) -> Iterator[tuple[Ints, Ints, Floats]]:
    """Yield (rows, other rows, cosines): all pairs of rows i < j, by i; other cells are minus infinity."""
    norms = text_norms(index)
    for start in range(0, len(index), _N_LEFT):
        rows = np.arange(start, min(start + _N_LEFT, len(index)))
        for left, right, cosines in similarity_blocks(index, rows, np.arange(start, len(index)), norms):
            is_later = right[None, :] > left[:, None]
            yield rows[left], right + start, np.where(is_later, cosines, -np.inf)


def similar_pairs(index: NgramIndex, *, min_similarity: float) -> tuple[Ints, Ints, Floats]:
    """Return all pairs of rows i < j whose cosine is at least `min_similarity`, by i and j."""
    found: list[tuple[Ints, Ints, Floats]] = []
    for rows, others, cosines in compared_once(index):
        i, j = np.nonzero(cosines >= min_similarity)
        found.append((rows[i], others[j], cosines[i, j]))
    if not found:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0)
    left, right, cosines = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort([right, left])
    return left[order], right[order], cosines[order]


def nearest_mean(texts: Sequence[str], others: Sequence[str], *, n_nearest: int) -> Floats:
    """Return for each text the mean cosine with its `n_nearest` nearest among `others`.

    Weights come from both sets of texts together. With fewer others than `n_nearest` all of them
    count; without any the mean is nan.
    """
    if not len(others):
        return np.full(len(texts), np.nan)
    index = index_texts([*texts, *others])
    rows, compared = np.arange(len(texts)), np.arange(len(texts), len(index))
    norms = text_norms(index)
    means = np.empty(len(texts))
    step = max(1, _CACHED // _N_LEFT)
    parts = (compared[begin : begin + step] for begin in range(0, len(compared), step))
    words = [(*_words_of(index, part), norms[part]) for part in parts]
    for start in range(0, len(texts), _N_LEFT):
        chosen = rows[start : start + _N_LEFT]
        by_word = _word_scores(index, chosen)
        best: Floats = np.full((len(chosen), min(n_nearest, len(compared))), -1.0)
        for places, starts, own_norms in words:
            best = _keep_largest(_summed_rows(by_word, places, starts), own_norms, best)
        rounded = np.minimum(np.round(best, DIGITS), 1.0)
        means[chosen] = np.ascontiguousarray(rounded.T).mean(axis=0)  # added one after the other
    return means


def _keep_largest(sums: Floats, norms: Floats, best: Floats) -> Floats:
    """Return `best`, columns × kept and ascending, with what is larger in the columns of sums / norms."""
    rows = np.flatnonzero((sums > norms[:, None] * best[:, 0]).any(axis=1))
    together = np.concatenate([best, (sums[rows] / norms[rows, None]).T], axis=1)
    return np.sort(np.partition(together, len(rows), axis=1)[:, len(rows) :], axis=1)
