"""What people hold in memory becomes the tables that the same content in a file becomes."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pandas.testing as pdt
import pytest

import fire_toolkit as fire
from fire_toolkit.errors import FireError

SCORES = {"q1": {"a": 0.2, "b": 0.9, "c": 0.2}, "7": {"b": -1.0}}
GRADES = {"q1": {"a": 2, "b": 0}, "7": {"b": 1}}
PAIRS = [(query, doc, score) for query, docs in SCORES.items() for doc, score in docs.items()]


class Held:
    """What ranx's Run and Qrels have in common, as the loaders' environment holds them."""

    def __init__(self, content: Any, name: str | None = None) -> None:
        self.content, self.name = content, name

    def to_dict(self) -> Any:
        return self.content


Held.__module__ = "ranx.data_structures"


def frame(*names: str) -> pd.DataFrame:
    return pd.DataFrame(PAIRS, columns=list(names))


def test_all_forms_give_the_run_of_the_file(tmp_path: Path) -> None:
    lines = [f"{query} Q0 {doc} 0 {score} clip\n" for query, doc, score in PAIRS]
    (tmp_path / "a.run").write_text("".join(lines))
    expected = fire.run(tmp_path / "a.run")
    assert expected[["query_id", "doc_id", "rank"]].to_numpy().tolist() == [
        ["7", "b", 1],
        ["q1", "b", 1],
        ["q1", "c", 2],
        ["q1", "a", 3],
    ]
    numpys = {
        query: {doc: np.float32(score) for doc, score in docs.items()} for query, docs in SCORES.items()
    }
    forms = {
        "dict": fire.run(SCORES, "clip"),
        "numpy's numbers": fire.run(numpys, "clip").assign(score=expected["score"]),
        "frame": fire.run(frame("query_id", "doc_id", "score"), "clip"),
        "PyTerrier": fire.run(frame("qid", "docno", "score"), "clip"),
        "ir_measures": fire.run(frame("query_id", "doc_id", "score").assign(iteration=0), "clip"),
        "named": fire.run(frame("q_id", "docid", "score").assign(run="clip")),
        "ranx": fire.run(Held(SCORES, "clip")),
        "itself": fire.run(expected),
        "back": fire.run(fire.to_dict(expected), "clip"),
    }
    for name, run in forms.items():
        pdt.assert_frame_equal(expected, run, obj=name)


def test_a_matrix_is_ranked_as_in_a_file_and_cut_at_100_unless_told() -> None:
    sims, docs = np.arange(150.0)[None], [f"d{place}" for place in range(150)]
    assert len(fire.run(sims, "m", query_ids=["q"], doc_ids=docs)) == 100
    assert len(fire.run(sims, "m", query_ids=["q"], doc_ids=docs, depth=150)) == 150


def test_an_order_without_scores_is_a_run() -> None:
    assert fire.run({"q": ["b", "a"]}, "m")["doc_id"].tolist() == ["b", "a"]
    assert fire.run(frame("qid", "docno", "rank").assign(rank=[1, 2, 3, 1]), "m")["doc_id"].tolist() == [
        "b",
        "a",
        "b",
        "c",
    ]


def test_numbers_are_ids_by_their_digits() -> None:
    held = pd.DataFrame({"qid": [7, 7], "docno": [1, 2], "score": [0.5, 0.25]})
    assert fire.run(held, "m")[["query_id", "doc_id"]].to_numpy().tolist() == [["7", "1"], ["7", "2"]]
    assert fire.to_dict(fire.qrels({7: {1: np.int64(1)}})) == {"7": {"1": 1}}


def test_all_forms_give_the_qrels_of_the_file(tmp_path: Path) -> None:
    pairs = [(query, doc, grade) for query, docs in GRADES.items() for doc, grade in docs.items()]
    (tmp_path / "qrels.txt").write_text("".join(f"{query} 0 {doc} {grade}\n" for query, doc, grade in pairs))
    expected = fire.qrels(tmp_path / "qrels.txt")
    for form in (
        GRADES,
        pd.DataFrame(pairs, columns=["qid", "docno", "label"]),
        pd.DataFrame(pairs, columns=["query_id", "doc_id", "relevance"]),
        Held(GRADES),
        expected,
    ):
        pdt.assert_frame_equal(expected, fire.qrels(form))
    assert fire.to_dict(fire.qrels({"q": ["a", "b"]})) == {"q": {"a": 1, "b": 1}}


def test_of_several_judgments_by_one_person_the_latest_counts() -> None:
    held = pd.DataFrame(
        {
            "qid": ["q", "q", "q"],
            "docno": ["a", "a", "b"],
            "who": [1, 1, 2],
            "answer": ["no", "yes", "yes"],
            "created_at": ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", ""],
        }
    )
    found = fire.judgments(held, {"annotator_id": "who"})
    assert found[["doc_id", "annotator_id", "label"]].to_numpy().tolist() == [
        ["a", "1", "yes"],
        ["b", "2", "yes"],
    ]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fire.run(SCORES), 'nothing says what the run is called; give name="..."'),
        (lambda: fire.run(None, "m"), "run: NoneType; expected a path, {query: {doc: score}}, a frame with"),
        (lambda: fire.run(np.eye(2), "m"), "or a matrix with name=, query_ids= and doc_ids="),
        (lambda: fire.run(pd.DataFrame({"a": [1]}), "m"), "a frame with columns a; expected a path"),
        (lambda: fire.run(frame("qid", "x", "score"), "m"), "run: no doc_id; found qid, x, score"),
        (lambda: fire.run(frame("qid", "docno", "x"), "m"), "columns qid, docno, x; expected score or rank"),
        (lambda: fire.run(SCORES, "m", depth=0), "depth is 0, expected a whole number from 1"),
        (lambda: fire.run({"q": {"a": "high"}}, "m"), "score 'high', expected a number"),
        (lambda: fire.run({"q": {1.5: 1.0}}, "m"), "1.5, expected an id: text or a whole number"),
        (lambda: fire.run({"q": {" padded": 1.0}}, "m"), " padded"),
        (lambda: fire.qrels([1]), "qrels: list, expected a path, a dict or a frame with query_id"),
        (lambda: fire.qrels({"q": {"a": 0.5}}), "score 0.5, expected a whole number"),
        (lambda: fire.qrels(pd.DataFrame({"qid": ["q"]})), "columns qid; expected doc_id (doc_id, doc-id,"),
        (
            lambda: fire.judgments(frame("qid", "docno", "x")),
            "expected annotator_id (annotator_id, annotator",
        ),
        (lambda: fire.judgments(frame("qid", "docno", "x"), {"label": "y"}), "no column 'y'; found qid"),
        (lambda: fire.to_dict(frame("a", "b", "c")), "to_dict: a frame with columns a, b, c, expected a Run"),
        (
            lambda: fire.to_dict(pd.concat([fire.run(SCORES, "m"), fire.run(SCORES, "n")])),
            "2 runs in one table; give one run's rows",
        ),
    ],
)
def test_what_is_no_such_table_is_refused_with_what_was_found(call: Any, words: str) -> None:
    with pytest.raises(FireError) as error:
        call()
    assert words in str(error.value)


def test_a_command_refuses_a_plain_value_that_its_parameter_does_not_take() -> None:
    runs, originals = [fire.run(SCORES, "m")], fire.qrels(GRADES)
    for call, words in (
        (lambda: fire.pool(runs, originals, depth=None), "pool: depth is None, expected a whole number"),
        (lambda: fire.pool(runs, originals, depth=2.5), "pool: depth is 2.5, expected a whole number"),
        (lambda: fire.pool(runs, originals, depth=True), "pool: depth is True, expected a whole number"),
        (lambda: fire.score(runs, originals, per_query="yes"), "per_query is 'yes', expected True or False"),
        (lambda: fire.score(runs, originals, ties="random"), "ties is 'random', expected 'doc-desc' or"),
        (lambda: fire.score(runs, originals, measures=[5]), "measures: found 5, expected a name such as"),
        (lambda: fire.score(runs, originals, measures=[]), "measures: found [], expected a list of names"),
    ):
        with pytest.raises(FireError) as error:
            call()
        assert words in str(error.value)
    named = fire.score(runs, originals, measures=["ndcg_cut_10", "map"]).table["measure"]
    assert list(dict.fromkeys(named)) == ["nDCG@10", "AP"]
