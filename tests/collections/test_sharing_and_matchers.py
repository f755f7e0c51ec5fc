"""Shared judgments and matchers, by text beside plain definitions and scikit-learn's numbers."""

import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from brought import refused
from hypothesis import given, settings
from hypothesis import strategies as st
from small_world import made

from examples import examples
from fire_toolkit import tables
from fire_toolkit.collections import duplicates, similarity
from fire_toolkit.collections.duplicates import (
    mark_shared,
    match_by_similarity,
    near_duplicates,
    share_judgments,
)
from fire_toolkit.collections.similarity import nearest_mean, similar_pairs, word_ngrams
from fire_toolkit.commands.audit import audit
from fire_toolkit.errors import JoinError, UsageError


def queries(**texts: str) -> tables.Queries:
    return made(tables.check_queries, "query_id text", *texts.items())


QUERIES = queries(q1="a dog", q2="a dog", q3="A dog", q4="rain")
SAME = queries(q1="a dog", q2="a dog", q3="a dog")


def judgments(*rows: tuple[str, str, str, str]) -> tables.Judgments:
    return made(tables.check_judgments, "query_id doc_id annotator_id label", *rows)


def rows(table: pd.DataFrame, columns: str) -> list[str]:
    """The cells of each row with blanks between, `-` for an empty one."""
    return [" ".join(cell or "-" for cell in row) for row in table[columns.split()].itertuples(index=False)]


def test_judgments_are_shared_annotator_by_annotator() -> None:
    known = judgments(("q1", "v1", "u", "yes"), ("q2", "v1", "w", "no"))
    before = known.copy()
    shared = share_judgments(known, QUERIES)
    assert shared.n_added == 2
    expected = ["q1 u yes -", "q1 w no shared from q2", "q2 u yes shared from q1", "q2 w no -"]
    assert rows(shared.judgments, "query_id annotator_id label origin") == expected
    pd.testing.assert_frame_equal(before, known)


def test_what_an_annotator_judged_stays_and_conflicts_are_not_shared() -> None:
    given = ("q1 v1 u yes", "q2 v1 u no", "q1 v2 u yes", "q2 v2 u yes")
    known = judgments(*(tuple(row.split()) for row in given))
    shared = share_judgments(known, SAME)
    assert (shared.n_added, shared.n_conflicts) == (1, 1)  # q3 v2 is added, q3 v1 in conflict
    expected = ["q1 v1 yes", "q1 v2 yes", "q2 v1 no", "q2 v2 yes", "q3 v2 yes"]
    assert rows(shared.judgments, "query_id doc_id label") == expected


def test_labels_of_shared_judgments_name_the_queries_they_come_from() -> None:
    known = judgments(("q1", "v1", "u", "yes"), ("q3", "v1", "w", "yes"), ("q1", "v2", "u", "no"))
    shared = share_judgments(known, SAME).judgments
    labels = [(q, *label) for q in ("q1", "q2", "q3") for label in (("v1", "yes", 1), ("v2", "no", 0))]
    resolved = made(tables.check_labels, "query_id doc_id label relevance", *labels)
    expected = ["q1 v1 -", "q1 v2 -", "q2 v1 q1 q3", "q2 v2 q1", "q3 v1 -", "q3 v2 q1"]
    assert rows(mark_shared(resolved, shared), "query_id doc_id shared_from") == expected
    assert set(mark_shared(resolved, known)["shared_from"]) == {""}


def test_queries_that_are_seen_share_only_where_the_same_is_seen() -> None:
    """As in CIRR: a modification of one image is not the same query as of another image."""
    seen = [("q1", "in red", "i1"), ("q2", "in red", "i2"), ("q3", "in red", "i1")]
    known = judgments(("q1", "v1", "u", "yes"))
    shared = share_judgments(known, made(tables.check_queries, "query_id text reference", *seen))
    assert rows(shared.judgments, "query_id doc_id label") == ["q1 v1 yes", "q3 v1 yes"]


def test_sharing_twice_adds_nothing_and_order_does_not_matter() -> None:
    known = judgments(("q1", "v1", "u", "yes"), ("q2", "v2", "u", "no"), ("q4", "v1", "u", "no"))
    once = share_judgments(known, QUERIES)
    again = share_judgments(once.judgments, QUERIES)
    assert (once.n_added, again.n_added) == (2, 0)
    shuffled = share_judgments(tables.Judgments(known.iloc[::-1]), tables.Queries(QUERIES.iloc[::-1]))
    pd.testing.assert_frame_equal(once.judgments, shuffled.judgments)


def test_nothing_is_added_without_equal_texts_or_judgments() -> None:
    """Texts of another case are others; where queries are videos all are empty, and not equal for it."""
    for query, among in (("q3", QUERIES), ("q4", QUERIES), ("q1", queries(q1="", q2=" "))):
        assert share_judgments(judgments((query, "v1", "u", "yes")), among).n_added == 0
    assert share_judgments(judgments(), QUERIES).n_added == 0


def test_judgments_of_foreign_queries_are_an_error() -> None:
    known = judgments(("q9", "v1", "u", "yes"))
    refused("1 judged queries are not among the queries (q9)", share_judgments, known, QUERIES, by=JoinError)


def qrels(**docs: str) -> tables.Qrels:
    pairs = [(query, doc, 1) for query, own in docs.items() for doc in own.split()]
    return made(tables.check_qrels, "query_id doc_id relevance", *pairs)


GUITAR = ("a man plays the guitar", "a man plays a guitar", "a man plays the guitars")
CAPTIONS = queries(q1=GUITAR[0], q2=GUITAR[1], q3=GUITAR[2], q4="heavy rain")
ORIGINAL = qrels(q1="v1", q2="v2", q3="v2", q4="v4")


def test_pairs_are_suggested_with_the_caption_they_come_through() -> None:
    found = match_by_similarity(CAPTIONS, ORIGINAL, min_similarity=0.8)
    expected = ["q1 v2 q2", "q2 v1 q1", "q3 v1 q1"]
    assert rows(found, "query_id doc_id via_query_id") == expected
    assert {"tfidf"} == set(found["matcher"])
    assert found["score"].between(0.8, 1).all()


def test_suggestions_are_a_run_and_no_judgments() -> None:
    run = audit(CAPTIONS, qrels=ORIGINAL, similarity=0.8).files["suggestions.parquet"]
    pd.testing.assert_frame_equal(tables.check_run(run), run)
    assert {"tfidf"} == set(run["run_id"])
    assert "label" not in run
    assert "suggestions.parquet" not in audit(CAPTIONS, qrels=ORIGINAL, similarity=1).files


@pytest.mark.parametrize("similarity", [0, 1.5])
def test_a_threshold_out_of_range_is_an_error(similarity: float) -> None:
    said, asked = "expected above 0 and at most 1", {"min_similarity": similarity}
    refused(said, match_by_similarity, CAPTIONS, ORIGINAL, **asked, by=UsageError)


def test_too_many_suggestions_are_refused_and_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicates, "MAX_PAIRS", 5)
    said, asked = "more than 5 pairs of captions are alike", {"min_similarity": 0.001}
    refused(said, match_by_similarity, CAPTIONS, ORIGINAL, **asked, by=UsageError)


def matched(known: tables.Qrels, *seen: tuple[str, str, str]) -> list[str]:
    queries = made(tables.check_queries, "query_id text reference", *seen)
    return rows(match_by_similarity(queries, known, min_similarity=0.5), "query_id doc_id")


def test_captions_match_only_beside_the_same_image_and_silence_matches_nothing() -> None:
    red = ("q1", "in red", "i1"), ("q2", "in red", "i2"), ("q3", "in red", "i1")
    known = qrels(q1="a", q2="b", q3="c", q4="d", q5="e")
    assert matched(known, *red, ("q4", "", "i1"), ("q5", "", "i1")) == ["q1 c", "q3 a"]


def test_a_query_s_own_item_is_never_suggested() -> None:
    seen = ("q1", "in red", "i"), ("q2", "in red", "i")
    assert matched(qrels(q1="a", q2="b i"), *seen) == ["q1 b", "q2 a"]


SENTENCES = [
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
    for left, right, values in similar_pairs(texts, min_similarity=-1):
        found[left, right] = values
    return found


def test_cosines_are_those_of_scikit_learn() -> None:
    found = cosines(SENTENCES)[np.triu_indices(len(SENTENCES), 1)]
    np.testing.assert_allclose(found, SKLEARN, atol=6e-10)


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
    ((left, right, values),) = similar_pairs(SENTENCES, min_similarity=0.7)
    assert list(zip(left.tolist(), right.tolist(), strict=True)) == [(0, 1), (2, 3)]
    np.testing.assert_allclose([0.796584606, 0.742656504], values, atol=1e-9)


def test_the_mean_of_the_nearest_training_captions() -> None:
    together = np.array(plain_cosines([*SENTENCES[:2], *SENTENCES[2:5]]))[:2, 2:]
    expected = np.sort(together, axis=1)[:, ::-1][:, :2].mean(axis=1)
    np.testing.assert_allclose(expected, nearest_mean(SENTENCES[:2], SENTENCES[2:5], n_nearest=2), atol=1e-12)
    fewer = nearest_mean(SENTENCES[:2], SENTENCES[2:5], n_nearest=10)
    np.testing.assert_allclose(together.mean(axis=1), fewer, atol=1e-12)
    assert np.isnan(nearest_mean(SENTENCES[:2], [], n_nearest=5)).all()
    assert len(nearest_mean([], SENTENCES, n_nearest=5)) == 0


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


@settings(max_examples=examples(60))
@given(st.sets(st.text(alphabet="abé", min_size=1, max_size=12), min_size=2, max_size=6))
def test_edit_distances_are_those_of_the_definition(texts: set[str]) -> None:
    """Of near duplicates, whatever their cosine; missing above 8."""
    ids = [f"q{n}" for n in range(len(texts))]
    queries = tables.check_queries(pd.DataFrame({"query_id": ids, "text": sorted(texts)}))
    found = near_duplicates(queries, min_similarity=-1)
    assert len(found) == len(texts) * (len(texts) - 1) // 2
    for text, other, edits in zip(found["text"], found["other_text"], found["edit_distance"], strict=True):
        expected = levenshtein(text, other)
        assert pd.isna(edits) if expected > 8 else expected == edits


def test_texts_without_words_have_no_likes() -> None:
    for texts in ([], ["", " "], ["", "a dog", "  "]):
        assert sum(len(left) for left, _, _ in similar_pairs(texts, min_similarity=0.1)) == 0
