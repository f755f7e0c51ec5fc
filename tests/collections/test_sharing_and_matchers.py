import pandas as pd
import pytest

from fire_toolkit.collections.matchers import match_by_similarity, suggestion_run
from fire_toolkit.collections.sharing import mark_shared, share_judgments
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.tables import (
    Judgments,
    Labels,
    Qrels,
    Queries,
    check_judgments,
    check_labels,
    check_qrels,
    check_queries,
    check_run,
)

QUERIES = check_queries(
    pd.DataFrame({"query_id": ["q1", "q2", "q3", "q4"], "text": ["a dog", "a dog", "A dog", "rain"]})
)


def judgments(*rows: tuple[str, str, str, str]) -> Judgments:
    return check_judgments(
        pd.DataFrame(list(rows), columns=["query_id", "doc_id", "annotator_id", "label"], dtype="str")
    )


def labels(*rows: tuple[str, str, str]) -> Labels:
    table = pd.DataFrame(list(rows), columns=["query_id", "doc_id", "label"], dtype="str")
    return check_labels(table.assign(relevance=[int(label == "yes") for label in table["label"]]))


def pairs(table: pd.DataFrame) -> list[tuple[str, ...]]:
    return list(table[["query_id", "doc_id", "label"]].itertuples(index=False, name=None))


def test_judgments_are_shared_annotator_by_annotator() -> None:
    known = judgments(("q1", "v1", "u", "yes"), ("q2", "v1", "w", "no"))
    before = known.copy()
    shared = share_judgments(known, QUERIES)
    assert shared.n_added == 2
    found = shared.judgments[["query_id", "annotator_id", "label", "origin"]]
    assert list(found.itertuples(index=False, name=None)) == [
        ("q1", "u", "yes", ""),
        ("q1", "w", "no", "shared from q2"),
        ("q2", "u", "yes", "shared from q1"),
        ("q2", "w", "no", ""),
    ]
    pd.testing.assert_frame_equal(before, known)


def test_what_an_annotator_judged_stays_and_conflicts_are_not_shared() -> None:
    same = check_queries(pd.DataFrame({"query_id": ["q1", "q2", "q3"], "text": "a dog"}))
    known = judgments(
        ("q1", "v1", "u", "yes"), ("q2", "v1", "u", "no"), ("q1", "v2", "u", "yes"), ("q2", "v2", "u", "yes")
    )
    shared = share_judgments(known, same)
    assert (shared.n_added, shared.n_conflicts) == (1, 1)  # q3 v2 is added, q3 v1 in conflict
    assert pairs(shared.judgments) == [
        ("q1", "v1", "yes"),
        ("q1", "v2", "yes"),
        ("q2", "v1", "no"),
        ("q2", "v2", "yes"),
        ("q3", "v2", "yes"),
    ]


def test_texts_of_another_case_share_nothing() -> None:
    assert share_judgments(judgments(("q3", "v1", "u", "yes")), QUERIES).n_added == 0


def test_labels_of_shared_judgments_name_the_queries_they_come_from() -> None:
    same = check_queries(pd.DataFrame({"query_id": ["q1", "q2", "q3"], "text": "a dog"}))
    known = judgments(("q1", "v1", "u", "yes"), ("q3", "v1", "w", "yes"), ("q1", "v2", "u", "no"))
    shared = share_judgments(known, same).judgments
    resolved = labels(
        *[(q, v, "yes" if v == "v1" else "no") for q in ("q1", "q2", "q3") for v in ("v1", "v2")]
    )
    marked = mark_shared(resolved, shared)
    found = marked[["query_id", "doc_id", "shared_from"]].itertuples(index=False, name=None)
    assert list(found) == [
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
    rows = {"query_id": ["q1", "q2", "q3"], "text": "in red", "reference": ["i1", "i2", "i1"]}
    known = judgments(("q1", "v1", "u", "yes"))
    shared = share_judgments(known, check_queries(pd.DataFrame(rows)))
    assert pairs(shared.judgments) == [("q1", "v1", "yes"), ("q3", "v1", "yes")]


def test_queries_without_text_share_nothing() -> None:
    """As where queries are videos: their texts are all empty, and not equal for it."""
    videos = check_queries(pd.DataFrame({"query_id": ["q1", "q2"], "text": ["", " "]}))
    assert share_judgments(judgments(("q1", "v1", "u", "yes")), videos).n_added == 0


def test_sharing_twice_adds_nothing_and_order_does_not_matter() -> None:
    known = judgments(("q1", "v1", "u", "yes"), ("q2", "v2", "u", "no"), ("q4", "v1", "u", "no"))
    once = share_judgments(known, QUERIES)
    again = share_judgments(once.judgments, QUERIES)
    assert (once.n_added, again.n_added) == (2, 0)
    shuffled = share_judgments(Judgments(known.iloc[::-1]), Queries(QUERIES.iloc[::-1]))
    pd.testing.assert_frame_equal(once.judgments, shuffled.judgments)


def test_without_equal_texts_or_judgments_nothing_is_added() -> None:
    assert share_judgments(judgments(("q4", "v1", "u", "yes")), QUERIES).n_added == 0
    assert share_judgments(judgments(), QUERIES).n_added == 0


def test_judgments_of_foreign_queries_are_an_error() -> None:
    with pytest.raises(JoinError, match=r"1 judged queries are not among the queries \(q9\)"):
        share_judgments(judgments(("q9", "v1", "u", "yes")), QUERIES)


CAPTIONS = check_queries(
    pd.DataFrame(
        {
            "query_id": ["q1", "q2", "q3", "q4"],
            "text": [
                "a man plays the guitar",
                "a man plays a guitar",
                "a man plays the guitars",
                "heavy rain",
            ],
        }
    )
)
ORIGINAL: Qrels = check_qrels(
    pd.DataFrame({"query_id": ["q1", "q2", "q3", "q4"], "doc_id": ["v1", "v2", "v2", "v4"], "relevance": 1})
)


def test_pairs_are_suggested_with_the_caption_they_come_through() -> None:
    found = match_by_similarity(CAPTIONS, ORIGINAL, min_similarity=0.8)
    assert list(found[["query_id", "doc_id", "via_query_id"]].itertuples(index=False, name=None)) == [
        ("q1", "v2", "q2"),
        ("q2", "v1", "q1"),
        ("q3", "v1", "q1"),
    ]
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
    with pytest.raises(UsageError, match="expected above 0 and at most 1"):
        match_by_similarity(CAPTIONS, ORIGINAL, min_similarity=similarity)


def test_too_many_suggestions_are_refused_and_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    from fire_toolkit.collections import matchers

    monkeypatch.setattr(matchers, "MAX_PAIRS", 5)
    with pytest.raises(UsageError, match="more than 5 pairs of captions are alike"):
        match_by_similarity(CAPTIONS, ORIGINAL, min_similarity=0.001)


def test_captions_match_only_beside_the_same_image_and_silence_matches_nothing() -> None:
    rows = {"query_id": ["q1", "q2", "q3", "q4", "q5"], "text": ["in red"] * 3 + [""] * 2}
    seen = rows | {"reference": ["i1", "i2", "i1", "i1", "i1"]}
    qrels = check_qrels(pd.DataFrame({"query_id": rows["query_id"], "doc_id": list("abcde"), "relevance": 1}))
    queries = check_queries(pd.DataFrame(seen))
    found = match_by_similarity(queries, qrels, min_similarity=0.5)
    assert list(zip(found["query_id"], found["doc_id"], strict=True)) == [("q1", "c"), ("q3", "a")]


def test_a_query_s_own_item_is_never_suggested() -> None:
    rows = {"query_id": ["q1", "q2"], "text": ["in red"] * 2, "reference": ["i", "i"]}
    qrels = check_qrels(
        pd.DataFrame({"query_id": ["q1", "q2", "q2"], "doc_id": ["a", "b", "i"], "relevance": 1})
    )
    found = match_by_similarity(check_queries(pd.DataFrame(rows)), qrels, min_similarity=1)
    assert list(zip(found["query_id"], found["doc_id"], strict=True)) == [("q1", "b"), ("q2", "a")]
