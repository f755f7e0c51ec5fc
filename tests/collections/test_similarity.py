"""Character TF-IDF against a plain definition and scikit-learn's numbers; edit distance against its own."""

import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from fire_toolkit.collections import similarity
from fire_toolkit.collections.duplicates import near_duplicates
from fire_toolkit.collections.similarity import index_texts, nearest_mean, similar_pairs, word_ngrams
from fire_toolkit.tables import check_queries

CAPTIONS = [
    "a man is playing a guitar",
    "a man plays the guitar",
    "A dog runs",
    "the dog runs fast",
    "ox",
    "",
]
# scikit-learn 1.9.1, TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 5)), X @ X.T, rounded to 9: above
# the diagonal, row by row; the empty text is like none.
SKLEARN = [0.796584606, 0.459462578, 0.375414132, 0.201569072, 0, 0.413984629, 0.484000692, 0.1961015, 0]
SKLEARN += [0.742656504, 0.227724847, 0, 0.203915645, 0, 0]
N_OF_KINDS = [f"caption {n % 7} of {n % 5} things and {n}" for n in range(300)]

words = st.sampled_from(["a", "dog", "dogs", "runs", "cat", "caterpillar", "é", "ß", "the", "zebra"])
captions = st.lists(words, max_size=6).map(" ".join)


def plain_cosines(texts: list[str]) -> list[list[float]]:
    """The definition, word by word, with dictionaries."""
    counts = [Counter(g for word in text.lower().split() for g in word_ngrams(word)) for text in texts]
    n_with = Counter(ngram for count in counts for ngram in count)
    weights = [
        {g: n * (math.log((1 + len(texts)) / (1 + n_with[g])) + 1) for g, n in count.items()}
        for count in counts
    ]
    norms = [math.sqrt(sum(w * w for w in weight.values())) or 1 for weight in weights]
    return [
        [sum(w * b.get(g, 0) for g, w in a.items()) / (m * n) for b, n in zip(weights, norms, strict=True)]
        for a, m in zip(weights, norms, strict=True)
    ]


def cosines(texts: list[str]) -> np.ndarray:
    found = np.zeros((len(texts), len(texts)))
    for left, right, values in similar_pairs(index_texts(texts), min_similarity=-1):
        found[left, right] = values
    return found


def test_cosines_are_those_of_scikit_learn() -> None:
    found = cosines(CAPTIONS)[np.triu_indices(len(CAPTIONS), 1)]
    np.testing.assert_allclose(found, SKLEARN, atol=6e-10)
    assert len(index_texts(CAPTIONS).idf) == 145


@settings(max_examples=examples(60))
@given(st.lists(captions, max_size=8))
def test_cosines_are_those_of_the_definition(texts: list[str]) -> None:
    expected = np.triu(np.array(plain_cosines(texts)).reshape(len(texts), len(texts)), 1)
    np.testing.assert_allclose(cosines(texts), np.minimum(expected, 1), atol=1e-12)


def test_many_blocks_give_the_numbers_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = cosines(N_OF_KINDS[:60])
    for name, value in (("_N_LEFT", 7), ("_N_RIGHT", 5), ("_CACHED", 4), ("_AT_ONCE", 3)):
        monkeypatch.setattr(similarity, name, value)
    # Two sums added in another order may round apart.
    np.testing.assert_allclose(whole, cosines(N_OF_KINDS[:60]), rtol=0, atol=2e-12)


def test_only_pairs_from_the_threshold_on_are_returned() -> None:
    ((left, right, values),) = similar_pairs(index_texts(CAPTIONS), min_similarity=0.7)
    assert list(zip(left.tolist(), right.tolist(), strict=True)) == [(0, 1), (2, 3)]
    np.testing.assert_allclose([0.796584606, 0.742656504], values, atol=1e-9)


def test_the_mean_of_the_nearest_training_captions() -> None:
    together = np.array(plain_cosines([*CAPTIONS[:2], *CAPTIONS[2:5]]))[:2, 2:]
    expected = np.sort(together, axis=1)[:, ::-1][:, :2].mean(axis=1)
    np.testing.assert_allclose(expected, nearest_mean(CAPTIONS[:2], CAPTIONS[2:5], n_nearest=2), atol=1e-12)
    fewer = nearest_mean(CAPTIONS[:2], CAPTIONS[2:5], n_nearest=10)
    np.testing.assert_allclose(together.mean(axis=1), fewer, atol=1e-12)
    assert np.isnan(nearest_mean(CAPTIONS[:2], [], n_nearest=5)).all()
    assert len(nearest_mean([], CAPTIONS, n_nearest=5)) == 0


@pytest.mark.parametrize("n_nearest", [1, 5, 400])
def test_the_nearest_captions_do_not_depend_on_the_pieces(
    monkeypatch: pytest.MonkeyPatch, n_nearest: int
) -> None:
    found = []
    for n_right in (similarity._N_RIGHT, 30):
        monkeypatch.setattr(similarity, "_N_RIGHT", n_right)
        found.append(nearest_mean(N_OF_KINDS[:150], [*N_OF_KINDS[100:], "", "unlike"], n_nearest=n_nearest))
    np.testing.assert_array_equal(*found)


def levenshtein(a: str, b: str) -> int:
    above = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        row = [i]
        for j, y in enumerate(b, start=1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (x != y)))
        above = row
    return above[-1]


letters = st.text(alphabet="abé", min_size=1, max_size=12)


@settings(max_examples=examples(60))
@given(st.sets(letters, min_size=2, max_size=6))
def test_edit_distances_are_those_of_the_definition(texts: set[str]) -> None:
    """Of near duplicates, whatever their cosine; missing above 8."""
    ids = [f"q{n}" for n in range(len(texts))]
    queries = check_queries(pd.DataFrame({"query_id": ids, "text": sorted(texts)}))
    found = near_duplicates(queries, min_similarity=-1)
    assert len(found) == len(texts) * (len(texts) - 1) // 2
    for text, other, edits in zip(found["text"], found["other_text"], found["edit_distance"], strict=True):
        expected = levenshtein(text, other)
        assert pd.isna(edits) if expected > 8 else expected == edits


def test_texts_without_words_have_no_likes() -> None:
    for texts in ([], ["", " "], ["", "a dog", "  "]):
        index = index_texts(texts)
        assert sum(len(left) for left, _, _ in similar_pairs(index, min_similarity=0.1)) == 0
