"""Captions compared by character TF-IDF: the n-grams within their words, cosines in blocks.

A caption's n-grams are those of its words, so they are kept once for each distinct word: sums over words
replace sums over n-grams, a million captions take tens of bytes a word, and memory does not grow with pairs.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from fire_toolkit.arrays import Floats, Ints, rows_of_lists

_MAX_N = 5
_MAX_WEIGHED = 100_000
_DIGITS = 12  # of cosines, so that they do not depend on the blocks
_N_LEFT = 128  # texts compared with all others at a time
_N_RIGHT = 1 << 12
_CACHED = 512  # lists summed at a time
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


@dataclass(frozen=True)
class _Lists:
    """Lists of numbers, one after the other; list n is `values[starts[n]:starts[n + 1]]`."""

    starts: Ints
    values: Ints

    def of(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return, for each value of the lists `rows`, its list's place in `rows`, and the value."""
        sizes = self.starts[rows + 1] - self.starts[rows]
        return np.repeat(np.arange(len(rows)), sizes), self.values[rows_of_lists(self.starts[rows], sizes)]

    def sums(self, values: Floats, own: Floats | None = None) -> Floats:
        """Return for each list the sum of the rows of `values` that it names (times `own`, one an entry).

        All lists' first entries are added, then all second ones, longest lists first, in pieces that stay in
        the processor's cache.
        """
        lengths = np.diff(self.starts)
        longest_first = np.argsort(-lengths, kind="stable")[: np.count_nonzero(lengths)]
        found = np.zeros((len(lengths), values.shape[1]))
        for begin in range(0, len(longest_first), _CACHED):
            rows = longest_first[begin : begin + _CACHED]
            n_left = np.searchsorted(-lengths[rows], -np.arange(lengths[rows[0]]))  # lists with an n-th entry
            total = np.zeros((len(rows), values.shape[1]))
            for place, n in enumerate(n_left.tolist()):
                at = self.starts[rows[:n]] + place
                added = values[self.values[at]]
                total[:n] += added if own is None else added * own[at, None]
            found[rows] = total
        return found


@dataclass(frozen=True)
class TextIndex:
    """Texts as lists of words, words as lists of n-grams, the weight of each n-gram, and each text's norm."""

    texts: _Lists
    words: _Lists
    idf: Floats
    norms: Floats

    def __len__(self) -> int:
        return len(self.texts.starts) - 1


def index_texts(texts: Iterable[str]) -> TextIndex:
    """Return the index of `texts`, lower-cased and split at white space.

    idf = ln((1 + texts) / (1 + texts with the n-gram)) + 1; a text's vector is count × idf, and its
    norm the Euclidean one: scikit-learn's TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 5)).
    Of more than 100,000 texts every second, third, ... is counted, so that no more are. Words and n-grams
    are sorted, so that neither depends on the order of the texts.
    """
    codes: defaultdict[str, int] = defaultdict()
    codes.default_factory = codes.__len__
    flat, starts = array("q"), array("q", [0])
    for text in texts:
        flat.extend(map(codes.__getitem__, text.lower().split()))
        starts.append(len(flat))
    places = np.argsort(np.argsort(np.array(list(codes), dtype=object))) if codes else np.empty(0, np.int64)
    of_texts = _Lists(np.array(starts), places[np.array(flat, dtype=np.int64)])
    grams = [word_ngrams(word) for word in sorted(codes)]
    ngrams = {ngram: code for code, ngram in enumerate(sorted(set(chain.from_iterable(grams))))}
    of_words = _Lists(
        np.cumsum([0, *map(len, grams)]),
        np.array([ngrams[each] for each in chain.from_iterable(grams)], dtype=np.int64),
    )
    n_texts = len(starts) - 1
    weighed = np.arange(0, n_texts, -(-n_texts // _MAX_WEIGHED) or 1)
    n_with = np.zeros(len(ngrams), dtype=np.int64)
    for begin in range(0, len(weighed), _AT_ONCE):
        _, ngram, _ = _counts(of_texts, of_words, weighed[begin : begin + _AT_ONCE])
        n_with += np.bincount(ngram, minlength=len(ngrams))
    idf = np.log((1 + len(weighed)) / (1 + n_with)) + 1
    norms = np.ones(n_texts)
    for begin in range(0, n_texts, _AT_ONCE):
        rows = np.arange(begin, min(begin + _AT_ONCE, n_texts))
        row, ngram, count = _counts(of_texts, of_words, rows)
        squares = np.bincount(row, weights=(count * idf[ngram]) ** 2, minlength=len(rows))
        norms[rows] = np.where(squares > 0, np.sqrt(squares), 1)
    return TextIndex(of_texts, of_words, idf, norms)


def _counts(texts: _Lists, words: _Lists, rows: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the n-grams of the texts `rows`: place in `rows`, n-gram, count; sorted by both."""
    text, word = texts.of(rows)
    token, ngram = words.of(word)
    n_ngrams = int(words.values.max(initial=0)) + 1
    keys, counts = np.unique(text[token] * n_ngrams + ngram, return_counts=True)
    return keys // n_ngrams, keys % n_ngrams, counts


def _cosines(index: TextIndex, left: Ints, first: int) -> Iterator[tuple[int, Floats]]:
    """Yield, block by block of the texts from `first` on, where it begins, and its cosines with `left`.

    Cosines are texts × left, 0 where a text has no words; see `_rounded`.
    """
    row, ngram, count = _counts(index.texts, index.words, left)
    vectors = np.zeros((len(index.idf), len(left)))
    vectors[ngram, row] = count * index.idf[ngram] / index.norms[left][row]
    by_word = index.words.sums(vectors, index.idf[index.words.values])
    for begin in range(first, len(index), _N_RIGHT):
        starts = index.texts.starts[begin : begin + _N_RIGHT + 1]
        sums = _Lists(starts - starts[0], index.texts.values[starts[0] : starts[-1]]).sums(by_word)
        yield begin, sums / index.norms[begin : begin + len(sums), None]


def _rounded(cosines: Floats) -> Floats:
    """Return cosines in [0, 1], without the digits that depend on how texts stand together."""
    return np.minimum(np.round(cosines, _DIGITS), 1.0)


def similar_pairs(index: TextIndex, *, min_similarity: float) -> Iterator[tuple[Ints, Ints, Floats]]:
    """Yield (i, j, cosines) of all pairs of rows i < j of at least `min_similarity`, by blocks of i."""
    for start in range(0, len(index), _N_LEFT):
        rows = np.arange(start, min(start + _N_LEFT, len(index)))
        for begin, cosines in _cosines(index, rows, start):
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
    index = index_texts([*texts, *others])
    for start in range(0, len(texts), _N_LEFT):
        rows = np.arange(start, min(start + _N_LEFT, len(texts)))
        best: Floats = np.empty((0, len(rows)))
        for _, cosines in _cosines(index, rows, len(texts)):
            together = np.concatenate([best, cosines])
            kept = min(n_nearest, len(together))
            best = np.partition(together, len(together) - kept, axis=0)[len(together) - kept :]
        means[rows] = np.sort(_rounded(best), axis=0).mean(axis=0)
    return means
