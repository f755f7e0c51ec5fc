"""Candidates for near-duplicate texts among very many: pairs whose min-hashes agree in a band.

The chance that a pair with Jaccard similarity s of its n-grams becomes a candidate is
1 − (1 − s^5)^16 (Broder 1997; Leskovec et al., Mining of Massive Datasets, ch. 3): 0.99 at s = 0.76,
0.89 at 0.66, 0.4 at 0.5. Candidates are checked exactly afterwards, so this misses pairs and never
invents one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from fire_toolkit.arrays import GOLDEN, Ints, mix_bits
from fire_toolkit.collections.ngrams import NgramIndex

Hashes = npt.NDArray[np.uint64]

_N_BANDS = 16
_N_ROWS = 5
_MIN_N = 3  # shorter n-grams stand in nearly every text
_WINDOW = 32
_CHUNK = 1 << 16
_SLACK = 0.2  # what a band's early look allows an estimate to be too low
_ALL_BITS = (1 << 64) - 1


def candidate_pairs(index: NgramIndex, *, min_agreement: float) -> tuple[Ints, Ints, int]:
    """Return pairs i < j whose min-hashes agree in a band, by i and j, and how many agreeing were left out.

    In a band that more than 32 texts share, each is paired with the 32 that follow it; texts should
    be in an order that means something. Texts without words pair with none.

    Args:
        index: the texts.
        min_agreement: the share of all 80 min-hashes in which a pair must agree: an estimate of its
            Jaccard similarity, with a standard error of at most 0.06.

    Memory: eight bytes a candidate, eighty a text, and some tens a word of the texts.
    """
    texts = np.flatnonzero(np.diff(index.text_starts))
    sketches = np.empty((len(texts), _N_BANDS * _N_ROWS), dtype=np.uint8)
    found: Ints = np.empty(0, dtype=np.int64)
    n_left_out = 0
    for band, keys in enumerate(_band_keys(index, texts, sketches)):
        looked_at = sketches[:, : (band + 1) * _N_ROWS]
        n_agreeing, kept = 0, []
        for pairs in _agreeing(keys):
            n_agreeing += len(pairs)
            kept.append(_plausible(pairs, looked_at, min_agreement - _SLACK))
        found = np.unique(np.concatenate([found, *kept]))
        sizes = np.unique(keys, return_counts=True)[1]
        n_left_out += int((sizes * (sizes - 1) // 2).sum()) - n_agreeing
    found = _plausible(found, sketches, min_agreement)
    left, right = np.divmod(found, max(1, len(texts)))
    return texts[left], texts[right], n_left_out


def _band_keys(index: NgramIndex, texts: Ints, sketches: npt.NDArray[np.uint8]) -> Iterator[Hashes]:
    """Yield a key for each text and band, and fill in the last byte of every min-hash."""
    starts, grams = _long_ngrams(index)
    codes = np.arange(len(index.ngrams), dtype=np.uint64)
    for band in range(_N_BANDS if len(texts) else 0):
        keys: Hashes = np.zeros(len(texts), dtype=np.uint64)
        for row in range(band * _N_ROWS, (band + 1) * _N_ROWS):
            of_word = np.minimum.reduceat(_mixed(codes, row + 1)[grams], starts)
            of_text = _lowest(of_word, index, texts)
            sketches[:, row] = of_text.astype(np.uint8)
            keys = _mixed(keys ^ of_text, 1)
        yield keys


def _lowest(of_word: Hashes, index: NgramIndex, texts: Ints) -> Hashes:
    """Return the lowest hash of each text's words; `texts` leaves out only texts without words."""
    found = np.empty(len(texts), dtype=np.uint64)
    for start in range(0, len(texts), _CHUNK):
        chosen = texts[start : start + _CHUNK]
        first, stop = index.text_starts[chosen[0]], index.text_starts[chosen[-1] + 1]
        words = of_word[index.text_words[first:stop]]
        found[start : start + _CHUNK] = np.minimum.reduceat(words, index.text_starts[chosen] - first)
    return found


def _plausible(pairs: Ints, sketches: npt.NDArray[np.uint8], min_agreement: float) -> Ints:
    """Return the pairs whose sketches agree in the share `min_agreement` of their bytes."""
    kept: list[Any] = []
    for start in range(0, len(pairs), _CHUNK):
        part = pairs[start : start + _CHUNK]
        left, right = np.divmod(part, len(sketches))
        agree = np.count_nonzero(sketches[left] == sketches[right], axis=1)
        kept.append(part[agree >= min_agreement * sketches.shape[1]])
    return np.concatenate(kept) if kept else pairs


def _long_ngrams(index: NgramIndex) -> tuple[Ints, Ints]:
    """Return where each word's n-grams of three letters or more start, and those n-grams."""
    sizes = np.array([len(ngram) for ngram in index.ngrams], dtype=np.int64)
    kept = np.flatnonzero(sizes[index.word_ngrams] >= _MIN_N)
    return np.searchsorted(kept, index.word_starts[:-1]), index.word_ngrams[kept].astype(np.int64)


def _mixed(values: Hashes, seed: int) -> Hashes:
    """Return 64-bit hashes of integers."""
    return mix_bits(values + np.uint64(seed * GOLDEN & _ALL_BITS))


def _agreeing(keys: Hashes) -> Iterator[Ints]:
    """Yield pairs i < j with one key as i × texts + j: each with the next of its key, the one after, ..."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    for step in range(1, _WINDOW + 1):
        agree = np.flatnonzero(ordered[step:] == ordered[:-step])
        if not len(agree):
            break
        yield order[agree] * len(keys) + order[agree + step]
