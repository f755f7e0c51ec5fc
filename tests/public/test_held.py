"""What people hold in memory becomes the tables that the same content in a file becomes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pandas.testing as pdt
import pyarrow as pa
import pytest
from brought import put, refused
from command import run as run_command

import fire_toolkit as fire
from fire_toolkit.errors import FileNote, FireError

pytestmark = pytest.mark.usefixtures("here")
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


def test_all_forms_give_the_run_of_the_file() -> None:
    path = put("a.run", "".join(f"{query} Q0 {doc} 0 {score} clip\n" for query, doc, score in PAIRS))
    expected = fire.run(path)
    ranked = [["7", "b", 1], ["q1", "b", 1], ["q1", "c", 2], ["q1", "a", 3]]
    assert expected[["query_id", "doc_id", "rank"]].to_numpy().tolist() == ranked
    numpys = {q: {doc: np.float32(score) for doc, score in docs.items()} for q, docs in SCORES.items()}
    forms = {
        "dict": fire.run(SCORES, "clip"),
        "numpy's numbers": fire.run(numpys, "clip").assign(score=expected["score"]),
        "frame": fire.run(frame("query_id", "doc_id", "score"), "clip"),
        "PyTerrier": fire.run(frame("qid", "docno", "score").assign(docid=range(len(PAIRS))), "clip"),
        "ir_measures": fire.run(frame("query_id", "doc_id", "score").assign(iteration=0), "clip"),
        "named": fire.run(frame("q_id", "docid", "score").assign(run="clip")),
        "ranx": fire.run(Held(SCORES, "clip")),
        "itself": fire.run(expected),
        "back": fire.run(fire.to_dict(expected), "clip"),
    }
    for name, run in forms.items():
        pdt.assert_frame_equal(expected, run, obj=name)


def test_an_order_without_scores_is_a_run_and_numbers_are_ids_by_their_digits() -> None:
    assert fire.run({"q": ["b", "a"]}, "m")["doc_id"].tolist() == ["b", "a"]
    by_rank = frame("qid", "docno", "rank").assign(rank=[1, 2, 3, 1])
    assert fire.run(by_rank, "m")["doc_id"].tolist() == ["b", "a", "b", "c"]
    held = pd.DataFrame({"qid": [7, 7], "docno": [1, 2], "score": [0.5, 0.25]})
    assert fire.run(held, "m")[["query_id", "doc_id"]].to_numpy().tolist() == [["7", "1"], ["7", "2"]]
    assert fire.run(held.astype({"qid": "category", "docno": "category"}), "m").equals(fire.run(held, "m"))
    assert fire.to_dict(fire.qrels({7: {1: np.int64(1)}})) == {"7": {"1": 1}}


def test_all_forms_give_the_qrels_of_the_file() -> None:
    pairs = [(query, doc, grade) for query, docs in GRADES.items() for doc, grade in docs.items()]
    expected = fire.qrels(put("qrels.txt", "".join(f"{q} 0 {doc} {grade}\n" for q, doc, grade in pairs)))
    frames = (
        pd.DataFrame(pairs, columns=names)
        for names in (["qid", "docno", "label"], ["query_id", "doc_id", "relevance"])
    )
    floats = {
        query: {doc: np.float32(grade) for doc, grade in docs.items()} for query, docs in GRADES.items()
    }
    for form in (GRADES, *frames, Held(GRADES), floats, expected):
        pdt.assert_frame_equal(expected, fire.qrels(form))
    assert fire.to_dict(fire.qrels({"q": ["a", "b"]})) == {"q": {"a": 1, "b": 1}}


def test_of_several_judgments_by_one_person_the_latest_counts() -> None:
    days = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")
    rows = [("a", 1, "no", days[0]), ("a", 1, "yes", days[1]), ("b", 2, "yes", "")]
    held = pd.DataFrame(rows, columns=["docno", "who", "answer", "created_at"]).assign(qid="q")
    with pytest.warns(FileNote, match="judgments: 1 earlier answers of an annotator .*, 1 of them with"):
        found = fire.judgments(held, {"annotator_id": "who"})[["doc_id", "annotator_id", "label"]]
    assert found.to_numpy().tolist() == [["a", "1", "yes"], ["b", "2", "yes"]]


@pytest.mark.parametrize("index", [[2, 1, 0], [0, 0, 1], ["x", "y", "z"]], ids=str)
def test_columns_of_a_frame_stay_together_whatever_its_index_and_their_names(index: list[Any]) -> None:
    rows = [("a", "yes", "2026-01-02", "new"), ("a", "no", "2026-01-01", "original"), ("b", "no", "", "new")]
    held = pd.DataFrame(rows, index, ["docno", "answer", "created_at", "source"]).assign(qid="q", who=1)
    with pytest.warns(FileNote, match="1 earlier answers"):
        found = fire.judgments(
            held.assign(**{"more": "x"}).rename(columns={"more": 0}), {"annotator_id": "who"}
        )
    expected = [["a", "yes", "2026-01-02", "x"], ["b", "no", "", "x"]]
    assert found[["doc_id", "label", "created_at", "0"]].to_numpy().tolist() == expected
    original = fire.qrels(held.iloc[1:].assign(rel=1))
    assert original[["doc_id", "source"]].to_numpy().tolist() == [["a", "original"], ["b", "new"]]


def made() -> tuple[np.ndarray, dict[str, list[str]]]:
    """A matrix full of ties, and its ids."""
    rng = np.random.default_rng(3)
    sims = rng.integers(0, 25, size=(30, 50)).astype(np.float32) / 8
    queries, docs = ([f"{side}{n}" for n in rng.permutation(size)] for side, size in (("q", 30), ("v", 50)))
    return sims, {"query_ids": queries, "doc_ids": docs}


def test_a_matrix_becomes_the_run_that_add_run_writes() -> None:
    sims, ids = made()
    files = [put(f"{name}.txt", "\n".join(each) + "\n") for name, each in ids.items()]
    qrels = put("qrels.txt", "".join(f"{query} 0 {ids['doc_ids'][0]} 1\n" for query in ids["query_ids"]))
    words = ("--query-ids", files[0], "--doc-ids", files[1], "--qrels", qrels, "--depth", "9")
    run_command("add-run", put("clip.npy", sims), *words, "--out", "runs")
    held = fire.run(sims, "clip", **ids, depth=9, qrels=fire.qrels(qrels))
    pdt.assert_frame_equal(held, fire.run("runs/clip.parquet"))


def test_a_matrix_is_cut_at_100_unless_told_and_may_be_lists_with_numbers_as_ids() -> None:
    ids = {"query_ids": ["q"], "doc_ids": [f"d{place}" for place in range(150)]}
    assert len(fire.run(np.arange(150.0)[None], "m", **ids)) == 100
    assert len(fire.run(np.arange(150.0)[None], "m", **ids, depth=150)) == 150
    some: Any = [7, 8]
    run = fire.run([[np.nan, 1, 2], [1, 2, 3]], "m", query_ids=some, doc_ids=["a", "b", "c"], allow="nan")
    assert run["doc_id"].tolist() == ["c", "b", "c", "b", "a"]
    assert run["query_id"].tolist() == ["7", "7", "8", "8", "8"]


def test_a_frame_in_another_order_than_the_ids_is_refused() -> None:
    sims, ids = made()
    queries, docs = ids.values()
    plain = fire.run(sims, "clip", **ids)
    held = pd.DataFrame(sims, index=queries, columns=docs)
    for same in (held, pd.DataFrame(sims)):
        pdt.assert_frame_equal(plain, fire.run(same, "clip", **ids))
    said = "{} 0 of sims is '{}', but its id is '{}'"
    for turned, words in (
        (held.iloc[::-1], ("row", queries[-1], queries[0])),
        (held.iloc[:, ::-1], ("column", docs[-1], docs[0])),
    ):
        refused(said.format(*words), fire.run, turned, "clip", **ids, by=FireError)


def matrix(sims: Any, queries: str = "12", docs: str = "abc", **more: Any) -> Callable[[], object]:
    return lambda: fire.run(sims, "clip", query_ids=[*queries], doc_ids=[*docs], **more)


def kinds(score: Any) -> pd.DataFrame:
    """Return a run whose scores are a category."""
    return pd.DataFrame({"qid": "q", "docno": "a", "score": pd.Categorical([score], [score])})


def half(column: str) -> pd.DataFrame:
    """Return a judgment with half a character in one of its columns."""
    row = {"qid": "q", "docno": "a", "worker": "A", "label": "1", "comment": "", "rel": 1, column: "\ud800"}
    return pd.DataFrame([[*row.values()]], columns=[*row], dtype=object)


def test_a_column_called_by_a_number_is_named_by_its_digits() -> None:
    held = pd.DataFrame({"qid": ["q"], "docno": ["a"], "worker": ["A"], 0: ["yes"]})
    assert fire.judgments(held, {"label": "0"})["label"].tolist() == ["yes"]


TURNED = "shape 3 × 2 with 2 query ids and 3 doc ids fits queries-columns only"
TWICE = frame("qid", "docno", "score").iloc[:, [0, 1, 2, 2]]
NAN = "1 score is NaN (the first at query 1, doc a); if this is intended, give allow=nan"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fire.run(SCORES), 'nothing says what the run is called; give name="..."'),
        (lambda: fire.run(None, "m"), "run: NoneType; expected a path, {query: {doc: score}}, a frame with"),
        (lambda: fire.run(np.eye(2), "m"), "or a matrix with name=, query_ids= and doc_ids="),
        (lambda: fire.run(pa.table({"qid": ["q"]}), "m"), "run: pyarrow.lib.Table (give its .to_pandas()); "),
        (lambda: fire.qrels({"q": {"a": "1"}}), "query 'q': relevance '1', expected a whole number"),
        (lambda: fire.run(pd.DataFrame({"a": [1]}), "m"), "a frame with columns a; expected a path"),
        (lambda: fire.run(frame("qid", "x", "score"), "m"), "run: no doc_id; found qid, x, score"),
        (
            lambda: fire.run(frame("qid", "docno", "x"), "m"),
            "columns qid, docno, x; expected score (minus a distance) or rank",
        ),
        (lambda: fire.run(SCORES, 5), "run: name is an int, expected a text or path"),  # type: ignore[arg-type]
        (lambda: fire.run(TWICE, "m"), "run: several columns are called score, expected one"),
        (lambda: fire.qrels(TWICE), "qrels: several columns are called score, expected one"),
        (lambda: fire.run(SCORES, "m", depth=0), "depth is 0, expected a whole number from 1"),
        (lambda: fire.run({"q": {"a": "high"}}, "m"), "score 'high', expected a number"),
        (lambda: fire.run({"q": {1.5: 1.0}}, "m"), "1.5, expected an id: text or a whole number"),
        (lambda: fire.run({"q": {" padded": 1.0}}, "m"), " padded"),
        (lambda: fire.run(kinds(10**400), "m"), "run: score is not finite (1 of 1; row 1: inf)"),
        (lambda: fire.run(kinds(True), "m"), "run: score: row 1: 'True' is not a number"),
        (
            lambda: fire.run({pd.NA: ["a"]}, "m"),
            "query <NA>: a NAType, expected an id: text",
        ),
        (lambda: fire.qrels(half("docno")), r"qrels: doc_id: id 1: id '\ud800' contains half a character"),
        (lambda: fire.judgments(half("label")), "judgments: label is not text in UTF-8 (1 of 1"),
        (lambda: fire.judgments(half("comment")), "judgments: comment is not text in UTF-8 (1 of 1"),
        (matrix(np.zeros((3, 2))), TURNED),
        (matrix(np.zeros(3)), "no array of numbers with two or three axes: sims (float64 of shape (3,))"),
        (matrix([["x", "y", "z"]] * 2), "no array of numbers with two or three axes: sims (<U1"),
        (matrix([[np.nan, 1, 2], [1, 2, 3]]), NAN),
        (matrix({}), "sims"),
        (matrix(np.eye(2), "77", "ab"), "'7' is given twice"),
        (matrix(np.eye(2), "78", "ab", depth=0), "depth is 0"),
        (matrix(np.ma.masked_less(np.eye(3), 1)[:2]), "scores are masked; give sims.filled(np.nan) with"),
        (lambda: fire.run({"q": {"a", "b"}}, "m"), "run: no ranked lists; expected {query: {doc: score}}"),  # type: ignore[arg-type]
        (lambda: fire.run("a.npy", "m", query_ids=["1"]), "run: lists of ids, qrels and allow are for"),
        (lambda: fire.run("a.npy", "m", allow="nan"), "lists of ids, qrels and allow are for a matrix"),
        (
            lambda: fire.run(SCORES, "m", depth=1, qrels=fire.qrels(GRADES)),
            "qrels and allow are for a matrix",
        ),
        (lambda: fire.open_run("a.npy", doc_ids=["1"]), "doc_ids is a list, expected a text or path"),  # type: ignore[arg-type]
        (lambda: fire.qrels({"q": "video7"}), "query 'q': 'video7', expected [doc, ...] or {doc: grade}"),
        (lambda: fire.qrels({"q": pd.Series({"a": 1})}), "expected [doc, ...] or {doc: grade}"),
        (lambda: fire.qrels({"q": np.array(1)}), "query 'q': '1', expected [doc, ...] or {doc: grade}"),
        (lambda: fire.run({"q": np.array(1)}, "m"), "run: no ranked lists; expected {query: {doc: score}}"),
        (
            lambda: fire.judgments("a.csv", {"label": "fits"}),
            "columns are those of a frame; give pd.read_csv",
        ),
        (lambda: fire.qrels([1]), "qrels: list, expected a path, a dict or a frame with query_id"),
        (lambda: fire.qrels({"q": {"a": 0.5}}), "relevance 0.5, expected a whole number"),
        (lambda: fire.qrels(pd.DataFrame({"qid": ["q"]})), "columns qid; expected doc_id (doc_id, doc-id,"),
        (lambda: fire.judgments(frame("qid", "docno", "x")), "expected annotator_id (annotator_id, anno"),
        (lambda: fire.judgments(frame("qid", "docno", "x"), {"label": "y"}), "no column 'y'; found qid"),
        (
            lambda: fire.judgments(frame("qid", "docno", "x"), {"anotator_id": "x"}),
            "'anotator_id' is no column of ours; did you mean 'annotator_id'?",
        ),
        (lambda: fire.to_dict(frame("a", "b", "c")), "to_dict: a frame with columns a, b, c, expected a Run"),
        (lambda: fire.to_dict(pd.concat(fire.run(SCORES, name) for name in "mn")), "2 runs in one table;"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_such_table_is_refused_with_what_was_found(call: Any, words: str) -> None:
    refused(words, call, by=FireError)


def test_ranks_that_do_not_follow_from_the_scores_are_refused() -> None:
    """RR is .25 by the scores of both frames, and was .5 by the ranks that each brought."""
    upper, lower = (
        {"q": {f"{name}{n}": start - n for n in range(2)}} for name, start in (("a", 9.0), ("b", 5.0))
    )
    both = pd.concat([fire.run(each, "m") for each in (upper, lower)])
    qrels = fire.qrels({"q": ["b1"]})
    said = (
        "score: runs: 3 ranks do not follow from the scores (first: b0 at rank 1 of query q in m); fire.run"
    )
    refused(said, fire.score, both, qrels, by=FireError)
    refused("first: a0 at rank 2", fire.score, fire.run(upper, "m").assign(rank=[2, 1]), qrels, by=FireError)
    found = fire.score(fire.run(both, "m"), qrels, measures=["RR"]).table
    assert found["value"].tolist() == [0.25]


def test_a_command_refuses_a_plain_value_that_its_parameter_does_not_take() -> None:
    runs, originals = [fire.run(SCORES, "m")], fire.qrels(GRADES)
    for command, given, said in (
        (fire.pool, {"depth": None}, "pool: depth is None, expected a whole number"),
        (fire.pool, {"depth": 2.5}, "pool: depth is 2.5, expected a whole number"),
        (fire.pool, {"depth": True}, "pool: depth is True, expected a whole number"),
        (fire.score, {"per_query": "yes"}, "per_query is 'yes', expected True or False"),
        (fire.score, {"ties": "random"}, "ties is 'random', expected one of 'doc-desc', "),
        (fire.score, {"measures": [5]}, "measures: found 5, expected a name such as"),
        (fire.score, {"measures": []}, "measures: found [], expected a list of names"),
    ):
        refused(said, command, runs, originals, **given, by=FireError)
    named = fire.score(runs, originals, measures=["ndcg_cut_10", "map"]).table["measure"]
    assert list(dict.fromkeys(named)) == ["nDCG@10", "AP"]


def test_a_plain_frame_without_the_columns_that_a_function_needs_is_named_with_where_they_stand() -> None:
    scores, none = fire.score([fire.run(SCORES, "m")], fire.qrels(GRADES)).table, pd.DataFrame()
    for call, words in (
        (
            lambda: fire.plot_scores(none),
            "scores is a table without columns, expected the columns that",
        ),
        (
            lambda: fire.plot_scores(scores),
            "a Scores table, expected ... help(fire_toolkit.plot_scores) names",
        ),
        (lambda: fire.plot_differences(fire.qrels(GRADES)), "differences is a Qrels table, expected"),
        (lambda: fire.tifa([], none), "answers: no column query_id"),
        (lambda: fire.save_plot(5, "plot.json"), "save_plot: plot is an int, expected a dict"),  # type: ignore[arg-type]
        (
            lambda: fire.score(fire.run(SCORES, "m"), fire.qrels(GRADES), measures="C@1"),
            "list of texts: ['C@1']",
        ),
        (lambda: fire.parse_measure("nope"), "no measure 'nope'; expected one of"),
        (lambda: fire.parse_measure(None), "parse_measure: name is None, expected a text"),  # type: ignore[arg-type]
    ):
        refused(words, call, by=FireError)


def test_times_and_rounds_of_a_frame_are_taken_as_pandas_has_them() -> None:
    held = pd.DataFrame({"qid": "q", "docno": ["a", "a", "b"], "who": ["u", "v", "u"], "answer": list("110")})
    when = pd.to_datetime(["2026-01-02", None, "2026-01-03T12:00"], format="ISO8601").tz_localize("Etc/GMT-1")
    found = fire.judgments(
        held.assign(at=when, round=[1.0, 1.0, 2.0]), {"annotator_id": "who", "created_at": "at"}
    )
    assert found["created_at"].tolist() == ["2026-01-01T23:00:00.000000Z", "", "2026-01-03T11:00:00.000000Z"]
    assert fire.resolve(found, grades={"1": 1.0, "0": 0.0}).labels["rounds"].tolist() == ["1", "2"]
    with pytest.warns(FileNote, match="round is not whole in every row, so labels lack rounds"):
        fire.judgments(held.assign(round=[1.0, np.nan, 2.0]), {"annotator_id": "who"})
