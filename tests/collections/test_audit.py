from collections.abc import Iterable

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from small_world import made, make_run

from examples import examples
from fire_toolkit.collections import audit
from fire_toolkit.collections.duplicates import duplicate_captions, near_duplicates, shared_positives
from fire_toolkit.tables import Items, Qrels, Queries, check_items, check_qrels, check_queries


def queries(**texts: str) -> Queries:
    return made(check_queries, "query_id text", *texts.items())


def qrels(*pairs: tuple[str, str, int]) -> Qrels:
    return made(check_qrels, "query_id doc_id relevance", *pairs)


def items(*ids: str) -> Items:
    return made(check_items, "doc_id media_url", *zip(ids, ids, strict=True))


def rows(table: pd.DataFrame) -> list[tuple[object, ...]]:
    return list(table.itertuples(index=False, name=None))


CAPTIONS = queries(q1="A dog runs", q2="a cat sleeps", q3="a dog  runs", q4="A dog runs", q5="rain")


def test_equal_captions_name_the_first_and_whether_only_case_differs() -> None:
    expected = [("q3", "q1", "case", "a dog  runs"), ("q4", "q1", "text", "A dog runs")]
    assert rows(duplicate_captions(CAPTIONS)) == expected
    assert len(duplicate_captions(queries(a="x", b="y"))) == 0
    assert len(duplicate_captions(queries())) == 0


def test_queries_without_text_are_no_captions() -> None:
    """Queries that are videos have no text; that makes none of them another's double."""
    videos = queries(v1="", v2="", v3=" ", c1="a dog", c2="a dog")
    assert rows(duplicate_captions(videos)[["query_id", "same_as"]]) == [("c2", "c1")]
    assert len(near_duplicates(videos)) == 0
    assert rows(shared_positives(videos, qrels(("v1", "x", 1), ("v2", "y", 1)))) == []
    expected = {"duplicate_captions": (1, 2), "near_duplicate_captions": (0, 2)}
    assert expected == counts(audit.of_captions(videos, min_similarity=0.9))


def test_the_same_words_of_another_image_are_another_query() -> None:
    """CIRR and FashionIQ change a reference image; only the same change of the same image is the same."""
    changes = ("a", "in red", "1"), ("b", "In red", "2"), ("c", "in red", "2")
    composed = made(check_queries, "query_id text reference", *changes)
    assert rows(duplicate_captions(composed)[["query_id", "same_as", "same"]]) == [("c", "b", "case")]
    known = qrels(("a", "x", 1), ("b", "y", 1))
    assert rows(shared_positives(composed, known)) == [("c", "y", 1, "b")]


def test_positives_of_an_equal_caption_are_missing_from_the_others() -> None:
    known = qrels(("q1", "v1", 1), ("q3", "v3", 2), ("q4", "v4", 1), ("q4", "v1", 0), ("q2", "v2", 1))
    expected = [("q1", "v3", 2, "q3"), ("q1", "v4", 1, "q4"), ("q3", "v1", 1, "q1"), ("q3", "v4", 1, "q4")]
    expected += [("q4", "v3", 2, "q3")]  # and not v1, which its own qrels call 0
    assert rows(shared_positives(CAPTIONS, known)) == expected


def test_near_duplicates_leave_equal_captions_out_and_do_not_depend_on_the_order_of_rows() -> None:
    guitar = "a man plays the guitar"
    texts = {"c": f"{guitar}s", "a": guitar, "b": "a man plays a guitar"}
    near = near_duplicates(queries(a=guitar, c=texts["c"], d=guitar.title(), e="rain"), min_similarity=0.9)
    assert rows(near[["query_id", "other_id", "edit_distance"]]) == [("a", "c", 1)]
    orders = queries(**texts), Queries(queries(**texts).iloc[::-1])
    pd.testing.assert_frame_equal(*(near_duplicates(table, min_similarity=0.5) for table in orders))


def test_ids_that_differ_in_case_or_padding_are_confusable() -> None:
    ids = ["v7", "V7", "v007", "v70", "v700", "w0", "w00", "w", "x1.05", "x1.5"]
    found = audit.of_ids(queries(), items(*ids)).table[["id", "like"]]
    assert rows(found) == [("v007", "V7"), ("v7", "V7"), ("w00", "w0"), ("x1.5", "x1.05")]


def counts(findings: Iterable[audit.Finding]) -> dict[str, tuple[int, int]]:
    return {found.name: (found.count, found.of) for found in findings}


def test_the_qrels_are_held_against_queries_and_items() -> None:
    known = qrels(("q1", "v1", 1), ("q2", "v9", 1), ("q9", "v1", 1), ("q5", "v2", 0))
    found = [*audit.of_qrels(CAPTIONS, known, items("v1", "v2", "v3"), min_similarity=0.9)]
    tables = {each.name: each.table for each in found}
    assert counts(found) == {
        "missing_positives": (2, 3),
        "queries_without_positive": (3, 5),
        "dangling_query_ids": (1, 4),
        "dangling_doc_ids": (1, 4),
        "items_without_query": (1, 3),
        "suggestions": (2, 5),
    }
    assert rows(tables["dangling_query_ids"]) == [("q9", "v1", 1)]
    assert rows(tables["dangling_doc_ids"]) == [("q2", "v9", 1)]
    assert rows(tables["queries_without_positive"]) == [("q3",), ("q4",), ("q5",)]


def test_captions_ids_and_files_are_findings_with_their_tables() -> None:
    alike = audit.of_ids(queries(q1="a", Q1="b"), items("v01", "v1"))
    hashes = pd.DataFrame({"doc_id": list("cabde"), "sha256": ["x", "x", "y", "", ""]})
    assert counts([*audit.of_captions(CAPTIONS, min_similarity=0.9), alike, audit.of_files(hashes)]) == {
        "duplicate_captions": (2, 5),
        "near_duplicate_captions": (0, 5),
        "confusable_ids": (2, 4),
        "duplicate_items": (1, 5),
    }
    assert rows(alike.table) == [("queries", "q1", "Q1"), ("items", "v1", "v01")]
    assert rows(audit.of_files(hashes).table) == [("c", "a")]


def test_a_run_is_held_against_the_grid() -> None:
    run = make_run({"q1": {"v1": 3, "v02": 2, "zz": 1}, "q2": {"v1": 1}, "q9": {"v1": 1}})
    known = qrels(("q1", "v2", 1), ("q2", "v1", 1))
    found = audit.of_runs(run, CAPTIONS, items("v1", "v2"), known)
    assert counts([found]) == {"runs_coverage": (1, 1)}
    assert found.table.iloc[0].to_dict() == {
        "run_id": "m",
        "n_queries": 2,
        "queries_missing": 3,
        "queries_outside": 1,
        "items_outside": 2,
        "items_outside_by_case_or_zeros": 1,  # v02 for v2
        "rows_outside": 3,
        "min_depth": 1,
        "max_depth": 3,
        "positives_found": 1,
        "positives": 2,
    }


def test_training_captions_are_compared() -> None:
    found = audit.of_training(queries(a="A dog runs", b="zzz"), ["a dog runs", "a cat"])
    assert counts([found]) == {"training_similarity": (1, 2)}
    (is_in, mean), (other_is_in, others_mean) = rows(found.table[["in_training", "mean_of_5"]])
    assert (is_in, other_is_in) == (True, False)
    assert mean > 0.5 > 0.2 > others_mean


@settings(max_examples=examples(40))
@given(
    st.dictionaries(st.sampled_from("abcdefg"), st.sampled_from(["x y", "X y", "z", "x  y", ""]), max_size=7),
    st.lists(st.tuples(st.sampled_from("abcdefg"), st.sampled_from("uvw"), st.integers(-1, 2)), max_size=8),
)
def test_free_positives_change_no_input_and_do_not_depend_on_order(
    texts: dict[str, str], pairs: list[tuple[str, str, int]]
) -> None:
    captions = queries(**texts)
    known = qrels(*{(q, d): (q, d, r) for q, d, r in pairs if q in texts}.values())
    copies = captions.copy(), known.copy()
    found = shared_positives(captions, known)
    shuffled = Queries(captions.sample(frac=1, random_state=1)), Qrels(known.sample(frac=1, random_state=2))
    pd.testing.assert_frame_equal(found, shared_positives(*shuffled), check_dtype=False)
    pd.testing.assert_frame_equal(copies[0], captions)
    pd.testing.assert_frame_equal(copies[1], known)
    own = set(zip(known["query_id"], known["doc_id"], strict=True))
    text = {query: " ".join(t.casefold().split()) for query, t in texts.items()}
    pairs = known.loc[known["relevance"] >= 1, ["query_id", "doc_id"]]
    positive = set(pairs.itertuples(index=False, name=None))
    expected = {(q, d) for q in texts for p, d in positive if text[p] == text[q] != "" and (q, d) not in own}
    assert expected == set(zip(found["query_id"], found["doc_id"], strict=True))


def test_the_audit_of_nothing_finds_nothing() -> None:
    found = [*audit.of_captions(queries(), min_similarity=0.9), audit.of_ids(queries(), items())]
    found += audit.of_qrels(queries(), qrels(), items(), min_similarity=0.9)
    assert {each.count for each in found} == {0}
