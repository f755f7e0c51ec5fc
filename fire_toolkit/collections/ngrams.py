"""Captions as character n-grams within words, weighted by TF-IDF, held word by word.

A caption's n-grams are those of its words, so they are kept once for each distinct word: sums over
words replace sums over n-grams, and a million captions take tens of bytes a word.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import numpy.typing as npt

from fire_toolkit.arrays import Floats, Ints, rows_of_lists, starts_of_lists

MAX_N = 5
MAX_WEIGHED = 100_000
DIGITS = 12
_BLOCK = 1 << 20  # n-grams expanded at a time


def word_ngrams(word: str) -> list[str]:
    """Return the n-grams, n = 1 to 5, of a word between two blanks, as scikit-learn's `char_wb` has them.

    A word no longer than n gives itself once and no longer n-grams.

    Examples:
        >>> word_ngrams("ox")
        [' ', 'o', 'x', ' ', ' o', 'ox', 'x ', ' ox', 'ox ', ' ox ']
    """
    padded = f" {word} "
    found: list[str] = []
    for n in range(1, MAX_N + 1):
        found += [padded[start : start + n] for start in range(max(1, len(padded) - n + 1))]
        if len(padded) <= n:
            break
    return found


@dataclass(frozen=True)
class NgramIndex:
    """Texts as rows of words, words as rows of n-grams, and the weight `idf` of each n-gram.

    text_starts (texts + 1) and text_words; word_starts (words + 1) and word_ngrams, one entry for each
    time that a word has the n-gram. Words and ngrams are sorted, so that neither depends on the order
    of the texts.
    """

    text_starts: Ints
    text_words: npt.NDArray[np.int32]
    word_starts: Ints
    word_ngrams: npt.NDArray[np.int32]
    ngrams: list[str]
    idf: Floats

    @property
    def code_bits(self) -> int:
        """Return how many bits the code of an n-gram takes."""
        return max(1, len(self.ngrams)).bit_length()

    def __len__(self) -> int:
        return len(self.text_starts) - 1


def index_texts(texts: Iterable[str]) -> NgramIndex:
    """Return the index of `texts`, lower-cased and split at white space.

    idf = ln((1 + texts) / (1 + texts with the n-gram)) + 1; a text's vector is count × idf, and its
    norm the Euclidean one: scikit-learn's TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 5)).
    Of more than 100,000 texts every second, third, ... is counted, so that no more are.
    """
    text_starts, text_words, words = _rows_of_words(texts)
    n_texts = len(text_starts) - 1
    grams = [word_ngrams(word) for word in words]
    ngrams = sorted(set(chain.from_iterable(grams)))
    place = {ngram: code for code, ngram in enumerate(ngrams)}
    word_starts = np.cumsum([0, *map(len, grams)], dtype=np.int64)
    flat = np.fromiter((place[g] for g in chain.from_iterable(grams)), dtype=np.int32, count=word_starts[-1])
    index = NgramIndex(text_starts, text_words, word_starts, flat, ngrams, np.ones(len(ngrams)))
    step = -(-n_texts // MAX_WEIGHED) or 1
    n_with = np.zeros(len(ngrams), dtype=np.int64)
    for start, stop in row_blocks(index):
        counted = np.arange(-(-start // step) * step, stop, step)
        n_with += np.bincount(features(index, counted)[1], minlength=len(ngrams))
    n_weighed = len(range(0, n_texts, step))
    return replace(index, idf=np.log((1 + n_weighed) / (1 + n_with)) + 1)


def _rows_of_words(texts: Iterable[str]) -> tuple[Ints, npt.NDArray[np.int32], list[str]]:
    """Return where each text's words start, the words' codes, and the distinct words, sorted."""
    codes: defaultdict[str, int] = defaultdict()
    codes.default_factory = codes.__len__
    flat, starts = array("i"), array("q", [0])
    for text in texts:
        flat.extend(map(codes.__getitem__, text.lower().split()))
        starts.append(len(flat))
    words = sorted(codes)
    position = np.empty(len(words), dtype=np.int32)
    position[[codes[word] for word in words]] = np.arange(len(words), dtype=np.int32)
    coded = np.frombuffer(flat, dtype=np.int32) if len(flat) else np.empty(0, dtype=np.int32)
    return np.frombuffer(starts, dtype=np.int64), position[coded], words


def row_blocks(index: NgramIndex) -> Iterator[tuple[int, int]]:
    """Yield stretches of texts that have about a million n-grams, repeated ones counted."""
    sizes = np.diff(index.word_starts)
    done = starts_of_lists(sizes[index.text_words])
    filled = done[index.text_starts]
    start = 0
    while start < len(index):
        stop = int(np.searchsorted(filled, filled[start] + _BLOCK, side="right")) - 1
        stop = min(max(stop, start + 1), len(index))
        yield start, stop
        start = stop


def features(index: NgramIndex, rows: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the n-grams of `rows` of the index: place in `rows`, n-gram, count; sorted by both.

    A row may stand several times.
    """
    token_row, token = expand(index.text_starts, rows)
    words = index.text_words[token].astype(np.int64)
    entry_token, entry = expand(index.word_starts, words)
    keys = token_row[entry_token] << index.code_bits | index.word_ngrams[entry]
    if len(rows) << index.code_bits < 1 << 31:
        keys = keys.astype(np.int32)  # sorts twice as fast
    found, counts = np.unique(keys, return_counts=True)
    distinct = found.astype(np.int64)
    return distinct >> index.code_bits, distinct & ((1 << index.code_bits) - 1), counts


def expand(starts: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Return, for each element of the given rows of a ragged array, its place in `rows` and its index."""
    sizes = starts[rows + 1] - starts[rows]
    owner = np.repeat(np.arange(len(rows)), sizes)
    return owner, rows_of_lists(starts[rows], sizes)


def vectors(index: NgramIndex, rows: Ints) -> tuple[Ints, Ints, Floats]:
    """Return the unit vectors of `rows`: place in `rows`, n-gram, weight; sorted by both."""
    row, code, count = features(index, rows)
    weight = count * index.idf[code]
    norms = np.sqrt(np.bincount(row, weights=weight**2, minlength=len(rows)))
    return row, code, weight / norms[row]


def text_norms(index: NgramIndex) -> Floats:
    """Return the Euclidean norm of each text's vector; 1 where a text has no words."""
    norms = np.ones(len(index))
    for start, stop in row_blocks(index):
        row, code, count = features(index, np.arange(start, stop))
        squares = np.bincount(row, weights=(count * index.idf[code]) ** 2, minlength=stop - start)
        norms[start:stop] = np.where(squares > 0, np.sqrt(squares), 1)
    return norms
