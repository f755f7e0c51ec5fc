"""Captions compared by character TF-IDF: the n-grams within their words, cosines in blocks.

A caption's n-grams are those of its words, so they are kept once for each distinct word: sums over words
replace sums over n-grams, a million captions take tens of bytes a word, and memory does not grow with pairs.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from fire_toolkit.arrays import Floats, Ints, rows_of_lists

_MAX_N = 5
_MAX_WEIGHED = 100_000
_DIGITS = 12  # of cosines, so that they do not depend on the blocks
_N_LEFT = 128  # texts compared with all others at a time
_N_RIGHT = 1 << 12
_CACHED = 1 << 9  # rows summed at a time, which stay in the processor's cache
_AT_ONCE = 1 << 11  # texts whose n-grams are counted at a time


def word_ngrams(word: str) -> list[str]:
    """Return the n-grams, n = 1 to 5, of a word between two blanks, as scikit-learn's `char_wb` has them.

    A word no longer than n gives itself once and no longer n-grams.

    Examples:
        >>> word_ngrams("ox")
        [' ', 'o', 'x', ' ', ' o', 'ox', 'x ', ' ox', 'ox ', ' ox ']
    """
    padded = f" {word} "
    longest = min(_MAX_N, len(padded))
    return [padded[at : at + n] for n in range(1, longest + 1) for at in range(len(padded) - n + 1)]


class _Lists(NamedTuple):
    """Lists of numbers, one after the other; list n is `values[starts[n]:starts[n + 1]]`."""

    starts: Ints
    values: Ints

    def of(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return, for each value of the lists `rows`, its list's place in `rows`, and the value."""
        sizes = self.starts[rows + 1] - self.starts[rows]
        return np.repeat(np.arange(len(rows)), sizes), self.values[rows_of_lists(self.starts[rows], sizes)]

    def sums(self, values: Floats, begin: int = 0, end: int | None = None) -> Floats:
        """Return for each list from `begin` to `end` the sum of the rows of `values` that it names."""
        starts = self.starts[begin:end]
        found = np.zeros((len(starts) - 1, values.shape[1]))
        rows = np.flatnonzero(np.diff(starts))  # of lists that name any
        pieces = np.searchsorted(starts[rows], np.arange(starts[0], starts[-1], _CACHED))
        for own in np.split(rows, pieces[1:]):
            if len(own):
                first, last = starts[own[0]], starts[own[-1] + 1]
                found[own] = np.add.reduceat(values[self.values[first:last]], starts[own] - first)
        return found


def _coded(lists: Iterable[Sequence[str]]) -> tuple[_Lists, list[str]]:
    """Return lists of strings as codes, and the distinct strings, in order: codes are their places in it."""
    codes: dict[str, int] = {}
    flat, starts = array("q"), array("q", [0])
    for strings in lists:
        flat.extend(codes.setdefault(each, len(codes)) for each in strings)
        starts.append(len(flat))
    places = np.argsort(np.argsort(np.array(list(codes), dtype=object)))
    return _Lists(np.array(starts), places[np.array(flat)]), sorted(codes)


class _Index:
    """Texts as lists of words, these as lists of n-grams, the weight of each n-gram, and each text's norm.

    Texts are lower-cased and split at white space.
    idf = ln((1 + texts) / (1 + texts with the n-gram)) + 1; a text's vector is count × idf, and its
    norm the Euclidean one: scikit-learn's TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 5)).
    Of more than 100,000 texts every second, third, ... is counted, so that no more are. Words and n-grams
    are sorted, so that neither depends on the order of the texts.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts, words = _coded(text.lower().split() for text in texts)
        self._words, ngrams = _coded(map(word_ngrams, words))
        n_texts, n_with = len(self._texts.starts) - 1, np.zeros(len(ngrams), dtype=np.int64)
        weighed = np.arange(0, n_texts, -(-n_texts // _MAX_WEIGHED) or 1)
        for _, ngram, _ in self._counts(weighed, len(ngrams)):
            np.add.at(n_with, ngram, 1)
        self.idf = np.log((1 + len(weighed)) / (1 + n_with)) + 1
        squares = np.zeros(n_texts)
        for row, ngram, count in self._counts(np.arange(n_texts), len(ngrams)):
            np.add.at(squares, row, (count * self.idf[ngram]) ** 2)
        self.norms = np.where(squares > 0, np.sqrt(squares), 1)

    def _counts(self, rows: Ints, n_ngrams: int) -> Iterator[tuple[Ints, Ints, Ints]]:
        """Yield the n-grams of the texts `rows`, some texts at a time: place in `rows`, n-gram, count."""
        for begin in range(0, len(rows), _AT_ONCE):
            text, word = self._texts.of(rows[begin : begin + _AT_ONCE])
            token, ngram = self._words.of(word)
            keys, counts = np.unique((begin + text[token]) * n_ngrams + ngram, return_counts=True)
            yield keys // n_ngrams, keys % n_ngrams, counts

    def cosines(self, left: Ints, first: int) -> Iterator[tuple[int, Floats]]:
        """Yield, block by block of the texts from `first` on, where it begins, and its cosines with `left`.

        Cosines are texts × left, 0 where a text has no words; see `_rounded`.
        """
        vectors = np.zeros((len(self.idf), len(left)))
        for row, ngram, count in self._counts(left, len(self.idf)):
            vectors[ngram, row] = count * self.idf[ngram] ** 2 / self.norms[left][row]
        by_word = self._words.sums(vectors)
        for begin in range(first, len(self.norms), _N_RIGHT):
            sums = self._texts.sums(by_word, begin, begin + _N_RIGHT + 1)
            yield begin, sums / self.norms[begin : begin + len(sums), None]


def _rounded(cosines: Floats) -> Floats:
    """Return cosines in [0, 1], without the digits that depend on how texts stand together."""
    return np.minimum(np.round(cosines, _DIGITS), 1.0)


def similar_pairs(texts: Iterable[str], *, min_similarity: float) -> Iterator[tuple[Ints, Ints, Floats]]:
    """Yield (i, j, cosines) of all pairs of texts i < j of at least `min_similarity`, by blocks of i."""
    index = _Index(texts)
    for start in range(0, len(index.norms), _N_LEFT):
        rows = np.arange(start, min(start + _N_LEFT, len(index.norms)))
        for begin, cosines in index.cosines(rows, start):
            cosines = _rounded(cosines)
            right, left = np.nonzero(cosines >= min_similarity)
            is_later = right + begin > rows[left]
            right, left = right[is_later], left[is_later]
            yield rows[left], right + begin, cosines[right, left]


def nearest_mean(texts: Sequence[str], others: Sequence[str], *, n_nearest: int) -> Floats:
    """Return for each text the mean cosine with its `n_nearest` nearest among `others`.

    Weights come from both sets of texts together. With fewer others than `n_nearest` all of them
    count; without any the mean is nan.
    """
    means = np.full(len(texts), np.nan)
    if not len(others):
        return means
    index = _Index([*texts, *others])
    for start in range(0, len(texts), _N_LEFT):
        rows = np.arange(start, min(start + _N_LEFT, len(texts)))
        best: Floats = np.empty((0, len(rows)))
        for _, cosines in index.cosines(rows, len(texts)):
            together = np.concatenate([best, cosines])
            kept = min(n_nearest, len(together))
            best = np.partition(together, len(together) - kept, axis=0)[len(together) - kept :]
        means[rows] = np.sort(_rounded(best), axis=0).mean(axis=0)
    return means
