"""Predictions come in oriented, with exact scores, or not at all."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from brought import put, refused

from examples import cases
from fire_toolkit.errors import FileNote, FormatError, TableError, UsageError
from fire_toolkit.formats.arrays import matrix
from fire_toolkit.formats.runs.axis_ids import IdFile
from fire_toolkit.formats.runs.ingest import Ingested, Request, ingest
from fire_toolkit.formats.runs.native import run_bytes
from fire_toolkit.formats.runs.read import read_run
from fire_toolkit.scoring import score_runs
from fire_toolkit.scoring.expect import parse_expectation
from fire_toolkit.tables import Qrels, check_qrels

pytestmark = pytest.mark.usefixtures("here")
# Rows as queries: the diagonal is first in rows 0 and 1 (R@1 50); columns as queries: in 0, 1 and 2 (75).
SQUARE = np.array([[9, 1, 2, 3], [1, 9, 2, 3], [1, 2, 3, 8], [7, 6, 2, 1]], dtype=np.float32)
QUERIES, DOCS = ["q0", "q1", "q2", "q3"], ["d0", "d1", "d2", "d3"]


def ids_of(n: int) -> dict[str, list[str]]:
    return {"query_ids": [f"q{i}" for i in range(n)], "doc_ids": [f"d{i}" for i in range(n)]}


def diagonal(n: int = 4) -> Qrels:
    queries, docs = ids_of(n).values()
    return check_qrels(pd.DataFrame({"query_id": queries, "doc_id": docs, "relevance": 1}))


def read(values: Any, expected: str = "", **request: Any) -> Ingested:
    given = {"query_ids": QUERIES[: len(values)], "doc_ids": DOCS} | request
    logged = [parse_expectation(text) for text in expected.split()]
    return ingest(put("m.npy", values), Request(**given, expected=logged))


def orientation(result: Ingested) -> tuple[str, str]:
    return result.report["orientation"], result.report["orientation_from"]


def test_a_shape_that_differs_or_the_file_tells_the_orientation() -> None:
    rows, columns = read(SQUARE[:3]), read(SQUARE[:3].T.copy(), query_ids=QUERIES[:3])
    assert orientation(rows) == ("queries-rows", "the shape")
    assert orientation(columns)[0] == "queries-columns"
    assert rows.run.equals(columns.run)
    content = {"sims": SQUARE, "orientation": "queries-columns", "query_ids": QUERIES, "doc_ids": DOCS}
    told = ingest(put("m.npz", content), Request(qrels=diagonal()))
    assert orientation(told) == ("queries-columns", "said by the file")


@pytest.mark.parametrize(("logged", "side"), [("R@1=50.0", "queries-rows"), ("R@1=75%", "queries-columns")])
def test_a_logged_score_tells_a_square_matrix(logged: str, side: str) -> None:
    result = read(SQUARE, logged, qrels=diagonal())
    assert side == result.report["orientation"]
    assert "logged" in result.report["reproduced"]


@cases("logged", "side", "said")
def test_what_does_not_tell_the_orientation_is_refused(logged: str, side: str | None, said: str) -> None:
    refused(said, read, SQUARE, logged, qrels=diagonal(), orientation=side, by=UsageError)
    refused("give --orientation queries-rows or queries-columns, or --expect", read, SQUARE, by=UsageError)


def test_positives_below_the_top_keep_scores_exact() -> None:
    random = np.random.default_rng(0)
    path = put("m.npy", random.integers(0, 9, size=(30, 30)).astype(np.float32))
    given = {**ids_of(30), "orientation": "queries-rows", "qrels": diagonal(30)}
    whole = ingest(path, Request(**given, depth=30)).run
    cut = ingest(path, Request(**given, depth=3))
    measures = ["C@1", "C@10", "R@20", "MedR", "MnR", "RR", "AP"]
    again = read_run(put("cut", run_bytes(cut.run)))
    found, expected = (score_runs(run, diagonal(30), measures).scores for run in (again, whole))
    assert expected.equals(found)
    assert cut.report["positives_below_top"] > 0
    assert cut.report["rows"] == 90 + cut.report["positives_below_top"]


def test_lists_keep_positives_below_the_top_too() -> None:
    path = put("m.tsv", "query_id\tdoc_id\tscore\n" + "".join(f"q0\td{n}\t{-n}\n" for n in range(4)))
    qrels = check_qrels(pd.DataFrame({"query_id": ["q0"], "doc_id": ["d3"], "relevance": [1]}))
    run = ingest(path, Request(depth=1, qrels=qrels)).run
    assert list(zip(run["doc_id"], run["rank"], strict=True)) == [("d0", 1), ("d3", 4)]


@pytest.mark.parametrize(
    ("value", "said", "allowance"), [(np.nan, "1 score is NaN", "nan"), (-np.inf, "1 score is -inf", "inf")]
)
def test_what_is_no_score_is_refused_or_left_out(value: float, said: str, allowance: str) -> None:
    scores, allow = SQUARE[:3].copy(), frozenset([allowance])
    scores[1, 2] = value
    refused(f"{said} (the first at query q1, doc d2 ... --allow {allowance}", read, scores, by=TableError)
    run = read(scores, allow=allow).run
    assert ("q1", "d2") not in set(zip(run["query_id"], run["doc_id"], strict=True))
    assert len(run) == 11
    path = put("m.csv", f"query_id,doc_id,score\nq,a,1\nq,b,{value}\n")
    refused(f"{said} (the first at query q, doc b", ingest, path, Request(), by=TableError)
    assert len(ingest(path, Request(allow=allow)).run) == 1


@pytest.mark.parametrize("scores", [[0.5, np.nan], ["0.5", None], ["0.5", "NaN"]])
def test_records_whose_scores_are_nan_are_told_as_any_other_file(scores: list[Any]) -> None:
    table = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "score": scores})
    for path in (put("m.parquet", table), put("m.json", table.to_dict("records"))):
        refused("1 score is NaN (the first at query q, doc b", ingest, path, Request(), by=TableError)


def test_of_records_of_several_runs_one_is_chosen_and_ids_with_blanks_are_all_encoded() -> None:
    pairs = [(7, "a b", "0.5", "m"), ("q%", "c", 1, "m"), (7, "c", 1, "n")]
    records = [dict(zip(("qid", "doc", "score", "run"), pair, strict=True)) for pair in pairs]
    path = put("m.json", records)
    refused("2 runs in one file; choose one with `add-run --key`: m, n", ingest, path, Request())
    alone = put("m.csv", "qid,doc,score\nq,a,1\n")
    refused("no column of run ids, of which --key 'x' could be one", ingest, alone, Request(key="x"))
    with pytest.warns(FileNote, match="all ids are percent-encoded"):
        run = ingest(path, Request(key="m")).run
    found = run[["query_id", "doc_id", "score"]].astype(str).to_numpy().tolist()
    assert found == [["7", "a%20b", "0.5"], ["q%25", "c", "1.0"]]


FLOOD = np.full((2, 20), -100.0)
FLOOD[:, :5] = np.arange(10).reshape(2, 5)
INFINITE = SQUARE[:3].copy()
INFINITE[0, 0] = np.inf
PLACES = np.argsort(np.random.default_rng(0).random((3, 20)), axis=1)
OF_20 = {"doc_ids": [f"d{n}" for n in range(20)]}


@pytest.mark.parametrize(
    ("values", "given", "said"),
    [
        (INFINITE, {"allow": frozenset(["nan", "inf"])}, "1 score is +inf"),  # which is never allowed
        (SQUARE[[0, 0, 0]], {}, "2 of 3 queries repeat another's list (q1 that of q0"),
        (np.vstack([SQUARE[:2], np.ones(4)]), {}, "one score for all docs in 1 query (q2"),
        (FLOOD, OF_20, "in 2 queries half of the docs or more share the lowest score"),
        (PLACES, OF_20, "the scores of 3 queries are whole numbers without a gap, as places (argsort)"),
        (PLACES + np.float32(1), OF_20, "the scores of 3 queries are whole numbers without a gap"),
        (
            SQUARE[:2],
            {"query_ids": QUERIES[:3]},
            "2 × 4, but 3 query ids and 4 doc ids; expected 3 × 4",
        ),
        (SQUARE[:2], {"query_ids": ["q0", "q0"]}, "'q0' is given twice"),
    ],
    ids=["infinite", "repeats", "constant", "flood", "places", "ranks", "shape", "ids"],
)
def test_a_model_that_repeats_itself_and_what_fits_no_ids_is_refused(
    values: Any, given: dict[str, Any], said: str
) -> None:
    by = TableError if "score" in said or "repeat" in said else FormatError
    refused(said, read, values, **given, by=by)


def test_a_few_equal_captions_and_what_is_allowed_are_no_fault() -> None:
    assert read(SQUARE[[0, 0, 1]]).report["duplicates"] == 1
    assert len(read(FLOOD, **OF_20, allow=frozenset(["flood"])).run) == 10


@pytest.mark.parametrize(("axis", "is_said"), [(0, True), (1, False)])
def test_a_softmax_over_the_queries_is_said(axis: int, is_said: bool) -> None:
    scores = np.exp(SQUARE) / np.exp(SQUARE).sum(axis=axis, keepdims=True)
    found = read(scores.astype(np.float16), orientation="queries-rows", query_ids=QUERIES, doc_ids=DOCS)
    assert any("a softmax over the wrong axis" in note for note in found.notes) == is_said


def test_of_several_arrays_one_is_chosen_by_name_shape_or_key() -> None:
    ids = {"query_ids": QUERIES[:2], "doc_ids": DOCS}
    path = put("m.npz", {"first": SQUARE[:2], "second": SQUARE[2:], "third": SQUARE})
    refused("choose an array with ... : first (2 × 4), second (2 × 4)", ingest, path, Request(**ids))
    chosen = ingest(path, Request(**ids, key="second")).run
    assert list(chosen[chosen["query_id"] == "q0"]["doc_id"][:2]) == ["d3", "d2"]
    refused("no array 'fourth'; found first", ingest, path, Request(**ids, key="fourth"))


@cases("text", "measure", "value", "tolerance")
def test_logged_scores_are_read_as_papers_write_them(
    text: str, measure: str, value: float, tolerance: float
) -> None:
    found = parse_expectation(text)
    assert (measure, value) == (found.measure, found.value)
    assert found.tolerance == pytest.approx(tolerance)
    refused("expected a measure and its logged value", parse_expectation, "R@1", by=UsageError)


def test_a_matrix_that_is_turned_in_parts_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    n_bytes: list[int] = []
    given = {"query_ids": QUERIES[:3], "on_read": n_bytes.append}
    whole = read(SQUARE[:3].T.copy(), **given)
    monkeypatch.setattr(matrix, "TURNED_CELLS", 4 * 2)  # two of three queries
    assert read(SQUARE[:3].T.copy(), **given).run.equals(whole.run)
    assert sum(n_bytes) == 2 * SQUARE[:3].nbytes


def several_captions() -> tuple[Any, list[str], list[str], Qrels]:
    """Scores of 12 videos with 20 captions each, their ids, and the qrels from captions to videos."""
    rng = np.random.default_rng(5)
    owner = np.repeat(np.arange(12), 20)
    sims = rng.standard_normal((240, 12)).astype(np.float32)
    sims[np.arange(240), owner] += 2 * rng.integers(0, 2, 240)
    captions = [f"v{v}#{n % 20}" for n, v in enumerate(owner)]
    table = {"query_id": captions, "doc_id": [f"v{v}" for v in owner], "relevance": 1}
    return sims, captions, [f"v{n}" for n in range(12)], check_qrels(pd.DataFrame(table))


@pytest.mark.parametrize("form", ["rows", "columns", "padded"])
def test_twenty_captions_a_video_reproduce_their_logged_score(form: str) -> None:
    sims, captions, videos, qrels = several_captions()
    share = 100 * np.mean(sims.argmax(axis=1) == np.repeat(np.arange(12), 20))
    padding = np.full((12, 3, 12), -np.inf, dtype=np.float32)
    forms = {"rows": sims, "columns": sims.T.copy()}
    forms["padded"] = np.concatenate([sims.reshape(12, 20, 12), padding], axis=1)
    given = {"query_ids": captions, "doc_ids": videos, "qrels": qrels}
    for digits in (1, 2):
        result = read(forms[form], f"R@1={share:.{digits}f}", **given)
        assert "logged" in result.report["reproduced"]
    said = "does not give the logged score: R@1 ... , logged ... ; check"
    refused(said, read, forms[form], f"R@1={share + 0.2:.1f}", **given, by=UsageError)


def test_video_to_text_counts_any_of_the_captions() -> None:
    """A video's R@1 is whether one of its twenty captions stands first; MedR is the best of their ranks."""
    sims, captions, videos, qrels = several_captions()
    turned = check_qrels(qrels.rename(columns={"query_id": "doc_id", "doc_id": "query_id"}))
    is_own = np.repeat(np.arange(12), 20)[sims.argmax(axis=0)] == np.arange(12)
    logged = f"R@1={100 * is_own.mean():.1f} MedR=1.0"
    given = {"query_ids": videos, "doc_ids": captions, "qrels": turned}
    assert orientation(read(sims, logged, **given))[0] == "queries-columns"
    assert orientation(read(sims.T.copy(), logged, **given))[0] == "queries-rows"


def test_a_missing_id_is_no_place_in_a_list_of_ids() -> None:
    path = put("m.parquet", {"query_id": ["0", None], "doc_id": ["a", "b"], "score": [1.0, 2.0]})
    ids = IdFile(put("ids.txt", "q\nr\n"), "query_id")
    refused("hold 'nan', neither an id", ingest, path, Request(query_ids=ids), by=UsageError)


@pytest.mark.parametrize("index", [["query_id"], ["query_id", "doc_id"], ["doc_id"], []])
def test_parquet_whose_ids_are_the_index_of_a_frame(index: list[str]) -> None:
    frame = pd.DataFrame({"query_id": [7, 7, 8], "doc_id": ["a", "b", "a"], "score": [0.5, 0.25, 1.0]})
    path = put("m.parquet", frame.set_index(index) if index else frame)
    run = ingest(path, Request()).run
    expected = [("7", "a", 0.5), ("7", "b", 0.25), ("8", "a", 1.0)]
    assert list(zip(run["query_id"], run["doc_id"], run["score"], strict=True)) == expected
