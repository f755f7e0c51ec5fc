import pandas as pd
import pytest
from brought import refused
from small_world import made

from fire_toolkit.collections import matchers
from fire_toolkit.collections.matchers import match_by_similarity, suggestion_run
from fire_toolkit.collections.sharing import mark_shared, share_judgments
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.tables import (
    Judgments,
    Qrels,
    Queries,
    check_judgments,
    check_labels,
    check_qrels,
    check_queries,
    check_run,
)


def queries(**texts: str) -> Queries:
    return made(check_queries, "query_id text", *texts.items())


QUERIES = queries(q1="a dog", q2="a dog", q3="A dog", q4="rain")
SAME = queries(q1="a dog", q2="a dog", q3="a dog")


def judgments(*rows: tuple[str, str, str, str]) -> Judgments:
    return made(check_judgments, "query_id doc_id annotator_id label", *rows)


def rows(table: pd.DataFrame, columns: str) -> list[tuple[object, ...]]:
    return list(table[columns.split()].itertuples(index=False, name=None))


def test_judgments_are_shared_annotator_by_annotator() -> None:
    known = judgments(("q1", "v1", "u", "yes"), ("q2", "v1", "w", "no"))
    before = known.copy()
    shared = share_judgments(known, QUERIES)
    assert shared.n_added == 2
    assert rows(shared.judgments, "query_id annotator_id label origin") == [
        ("q1", "u", "yes", ""),
        ("q1", "w", "no", "shared from q2"),
        ("q2", "u", "yes", "shared from q1"),
        ("q2", "w", "no", ""),
    ]
    pd.testing.assert_frame_equal(before, known)


def test_what_an_annotator_judged_stays_and_conflicts_are_not_shared() -> None:
    known = judgments(
        ("q1", "v1", "u", "yes"), ("q2", "v1", "u", "no"), ("q1", "v2", "u", "yes"), ("q2", "v2", "u", "yes")
    )
    shared = share_judgments(known, SAME)
    assert (shared.n_added, shared.n_conflicts) == (1, 1)  # q3 v2 is added, q3 v1 in conflict
    assert rows(shared.judgments, "query_id doc_id label") == [
        ("q1", "v1", "yes"),
        ("q1", "v2", "yes"),
        ("q2", "v1", "no"),
        ("q2", "v2", "yes"),
        ("q3", "v2", "yes"),
    ]


def test_labels_of_shared_judgments_name_the_queries_they_come_from() -> None:
    known = judgments(("q1", "v1", "u", "yes"), ("q3", "v1", "w", "yes"), ("q1", "v2", "u", "no"))
    shared = share_judgments(known, SAME).judgments
    labels = [(q, *label) for q in ("q1", "q2", "q3") for label in (("v1", "yes", 1), ("v2", "no", 0))]
    resolved = made(check_labels, "query_id doc_id label relevance", *labels)
    assert rows(mark_shared(resolved, shared), "query_id doc_id shared_from") == [
        ("q1", "v1", ""),
        ("q1", "v2", ""),
        ("q2", "v1", "q1 q3"),
        ("q2", "v2", "q1"),
        ("q3", "v1", ""),
        ("q3", "v2", "q1"),
    ]
    assert set(mark_shared(resolved, known)["shared_from"]) == {""}


def test_queries_that_are_seen_share_only_where_the_same_is_seen() -> None:
    """As in CIRR: a modification of one image is not the same query as of another image."""
    seen = [("q1", "in red", "i1"), ("q2", "in red", "i2"), ("q3", "in red", "i1")]
    known = judgments(("q1", "v1", "u", "yes"))
    shared = share_judgments(known, made(check_queries, "query_id text reference", *seen))
    assert rows(shared.judgments, "query_id doc_id label") == [("q1", "v1", "yes"), ("q3", "v1", "yes")]


def test_sharing_twice_adds_nothing_and_order_does_not_matter() -> None:
    known = judgments(("q1", "v1", "u", "yes"), ("q2", "v2", "u", "no"), ("q4", "v1", "u", "no"))
    once = share_judgments(known, QUERIES)
    again = share_judgments(once.judgments, QUERIES)
    assert (once.n_added, again.n_added) == (2, 0)
    shuffled = share_judgments(Judgments(known.iloc[::-1]), Queries(QUERIES.iloc[::-1]))
    pd.testing.assert_frame_equal(once.judgments, shuffled.judgments)


def test_nothing_is_added_without_equal_texts_or_judgments() -> None:
    """Texts of another case are others; where queries are videos all are empty, and not equal for it."""
    for query, among in (("q3", QUERIES), ("q4", QUERIES), ("q1", queries(q1="", q2=" "))):
        assert share_judgments(judgments((query, "v1", "u", "yes")), among).n_added == 0
    assert share_judgments(judgments(), QUERIES).n_added == 0


def test_judgments_of_foreign_queries_are_an_error() -> None:
    known = judgments(("q9", "v1", "u", "yes"))
    refused("1 judged queries are not among the queries (q9)", share_judgments, known, QUERIES, by=JoinError)


def qrels(**docs: str) -> Qrels:
    pairs = [(query, doc, 1) for query, own in docs.items() for doc in own.split()]
    return made(check_qrels, "query_id doc_id relevance", *pairs)


GUITAR = ("a man plays the guitar", "a man plays a guitar", "a man plays the guitars")
CAPTIONS = queries(q1=GUITAR[0], q2=GUITAR[1], q3=GUITAR[2], q4="heavy rain")
ORIGINAL = qrels(q1="v1", q2="v2", q3="v2", q4="v4")


def test_pairs_are_suggested_with_the_caption_they_come_through() -> None:
    found = match_by_similarity(CAPTIONS, ORIGINAL, min_similarity=0.8)
    expected = [("q1", "v2", "q2"), ("q2", "v1", "q1"), ("q3", "v1", "q1")]
    assert rows(found, "query_id doc_id via_query_id") == expected
    assert {"tfidf"} == set(found["matcher"])
    assert found["score"].between(0.8, 1).all()


def test_suggestions_are_a_run_and_no_judgments() -> None:
    found = match_by_similarity(CAPTIONS, ORIGINAL, min_similarity=0.8)
    run = suggestion_run(found)
    pd.testing.assert_frame_equal(check_run(run), run)
    assert {"tfidf"} == set(run["run_id"])
    assert "label" not in run
    none = match_by_similarity(CAPTIONS, ORIGINAL, min_similarity=1)
    assert len(suggestion_run(none)) == 0


@pytest.mark.parametrize("similarity", [0, 1.5])
def test_a_threshold_out_of_range_is_an_error(similarity: float) -> None:
    said, asked = "expected above 0 and at most 1", {"min_similarity": similarity}
    refused(said, match_by_similarity, CAPTIONS, ORIGINAL, **asked, by=UsageError)


def test_too_many_suggestions_are_refused_and_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matchers, "MAX_PAIRS", 5)
    said, asked = "more than 5 pairs of captions are alike", {"min_similarity": 0.001}
    refused(said, match_by_similarity, CAPTIONS, ORIGINAL, **asked, by=UsageError)


def matched(known: Qrels, *seen: tuple[str, str, str]) -> list[tuple[object, ...]]:
    found = match_by_similarity(
        made(check_queries, "query_id text reference", *seen), known, min_similarity=0.5
    )
    return rows(found, "query_id doc_id")


def test_captions_match_only_beside_the_same_image_and_silence_matches_nothing() -> None:
    red = ("q1", "in red", "i1"), ("q2", "in red", "i2"), ("q3", "in red", "i1")
    known = qrels(q1="a", q2="b", q3="c", q4="d", q5="e")
    assert matched(known, *red, ("q4", "", "i1"), ("q5", "", "i1")) == [("q1", "c"), ("q3", "a")]


def test_a_query_s_own_item_is_never_suggested() -> None:
    seen = ("q1", "in red", "i"), ("q2", "in red", "i")
    assert matched(qrels(q1="a", q2="b i"), *seen) == [("q1", "b"), ("q2", "a")]
