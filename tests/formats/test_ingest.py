"""Predictions come in oriented, with exact scores, or not at all."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fire_toolkit.errors import FormatError, TableError, UsageError
from fire_toolkit.formats.arrays import matrix
from fire_toolkit.formats.runs import embeddings
from fire_toolkit.formats.runs.ingest import Ingested, Request, ingest
from fire_toolkit.formats.runs.native import run_bytes
from fire_toolkit.formats.runs.read import read_run
from fire_toolkit.scoring import score_runs
from fire_toolkit.scoring.expect import parse_expectation
from fire_toolkit.tables import Qrels, check_qrels

# Rows as queries: the diagonal is first in rows 0 and 1 (R@1 50); columns as queries: in 0, 1 and 2 (75).
SQUARE = np.array([[9, 1, 2, 3], [1, 9, 2, 3], [1, 2, 3, 8], [7, 6, 2, 1]], dtype=np.float32)
QUERIES, DOCS = ["q0", "q1", "q2", "q3"], ["d0", "d1", "d2", "d3"]


def diagonal(n: int = 4) -> Qrels:
    ids = {"query_id": [f"q{i}" for i in range(n)], "doc_id": [f"d{i}" for i in range(n)]}
    return check_qrels(pd.DataFrame({**ids, "relevance": 1}))


def read(path: Path, values: Any, **request: Any) -> Ingested:
    np.save(path / "m.npy", values)
    given = {"query_ids": QUERIES[: len(values)], "doc_ids": DOCS} | request
    return ingest(path / "m.npy", Request(**given))


def test_a_shape_that_differs_tells_the_orientation(tmp_path: Path) -> None:
    rows = read(tmp_path, SQUARE[:3])
    np.save(tmp_path / "t.npy", SQUARE[:3].T.copy())
    columns = ingest(tmp_path / "t.npy", Request(run_id="m", query_ids=QUERIES[:3], doc_ids=DOCS))
    assert (rows.report["orientation"], rows.report["orientation_from"]) == ("queries-rows", "the shape")
    assert columns.report["orientation"] == "queries-columns"
    assert rows.run.equals(columns.run)


def test_column_major_order_is_the_same_matrix(tmp_path: Path) -> None:
    given = {"orientation": "queries-rows"}
    assert read(tmp_path, SQUARE, **given).run.equals(read(tmp_path, np.asfortranarray(SQUARE), **given).run)


@pytest.mark.parametrize(
    ("logged", "orientation"), [("R@1=50.0", "queries-rows"), ("R@1=75%", "queries-columns")]
)
def test_a_logged_score_tells_a_square_matrix(tmp_path: Path, logged: str, orientation: str) -> None:
    result = read(tmp_path, SQUARE, expected=[parse_expectation(logged)], qrels=diagonal())
    assert orientation == result.report["orientation"]
    assert "logged" in result.report["reproduced"]


@pytest.mark.parametrize(
    ("logged", "said"),
    [
        ("R@1=60", "neither reading gives R@1=60: queries-rows gives R@1 50; queries-columns gives R@1 75"),
        ("R@10=100", "both readings give R@10=100"),
    ],
)
def test_a_logged_score_that_tells_nothing_is_refused(tmp_path: Path, logged: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read(tmp_path, SQUARE, expected=[parse_expectation(logged)], qrels=diagonal())


def test_a_square_matrix_without_a_hint_shows_both_readings(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="rows gives R@1 50; queries-columns gives R@1 75; give --orient"):
        read(tmp_path, SQUARE, qrels=diagonal())
    with pytest.raises(UsageError, match="give --orientation queries-rows or queries-columns, or --expect"):
        read(tmp_path, SQUARE)


def test_a_logged_score_is_held_to_where_the_orientation_is_known(tmp_path: Path) -> None:
    given = {"qrels": diagonal(), "orientation": "queries-rows"}
    with pytest.raises(UsageError, match=r"does not give the logged score: R@1 50, logged 50\.5"):
        read(tmp_path, SQUARE, expected=[parse_expectation("R@1=50.5")], **given)


def test_a_file_can_say_its_orientation(tmp_path: Path) -> None:
    ids = {"query_ids": QUERIES, "doc_ids": DOCS}
    np.savez(tmp_path / "m.npz", sims=SQUARE, orientation="queries-columns", **ids)
    result = ingest(tmp_path / "m.npz", Request(qrels=diagonal()))
    assert (
        result.report["orientation"],
        result.report["orientation_from"],
    ) == ("queries-columns", "said by the file")


def test_positives_below_the_top_keep_scores_exact(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    scores = random.integers(0, 9, size=(30, 30)).astype(np.float32)
    ids = {"query_ids": [f"q{i}" for i in range(30)], "doc_ids": [f"d{i}" for i in range(30)]}
    given = {**ids, "orientation": "queries-rows", "qrels": diagonal(30)}
    np.save(tmp_path / "m.npy", scores)
    whole = ingest(tmp_path / "m.npy", Request(**given, depth=30)).run
    cut = ingest(tmp_path / "m.npy", Request(**given, depth=3))
    (tmp_path / "cut").write_bytes(run_bytes(cut.run))
    measures = ["C@1", "C@10", "R@20", "MedR", "MnR", "RR", "AP"]
    expected = score_runs(whole, diagonal(30), measures).scores
    assert expected.equals(score_runs(read_run(tmp_path / "cut"), diagonal(30), measures).scores)
    assert cut.report["positives_below_top"] > 0
    assert cut.report["rows"] == 90 + cut.report["positives_below_top"]


def test_lists_keep_positives_below_the_top_too(tmp_path: Path) -> None:
    (tmp_path / "m.tsv").write_text(
        "query_id\tdoc_id\tscore\n" + "".join(f"q0\td{n}\t{-n}\n" for n in range(4))
    )
    qrels = check_qrels(pd.DataFrame({"query_id": ["q0"], "doc_id": ["d3"], "relevance": [1]}))
    run = ingest(tmp_path / "m.tsv", Request(depth=1, qrels=qrels)).run
    assert list(zip(run["doc_id"], run["rank"], strict=True)) == [("d0", 1), ("d3", 4)]


@pytest.mark.parametrize(
    ("value", "said", "allowance"),
    [(np.nan, "1 score is NaN", "nan"), (-np.inf, "1 score is -inf", "inf")],
)
def test_what_is_no_score_is_refused_or_left_out(
    tmp_path: Path, value: float, said: str, allowance: str
) -> None:
    scores = SQUARE[:3].copy()
    scores[1, 2] = value
    with pytest.raises(TableError, match=f"{said} .the first at query q1, doc d2.; .*--allow {allowance}"):
        read(tmp_path, scores)
    run = read(tmp_path, scores, allow=frozenset([allowance])).run
    assert ("q1", "d2") not in set(zip(run["query_id"], run["doc_id"], strict=True))
    assert len(run) == 11
    (tmp_path / "m.csv").write_text(f"query_id,doc_id,score\nq,a,1\nq,b,{value}\n")
    with pytest.raises(TableError, match=f"{said} .the first at query q, doc b"):
        ingest(tmp_path / "m.csv", Request())
    assert len(ingest(tmp_path / "m.csv", Request(allow=frozenset([allowance]))).run) == 1


def test_plus_infinity_is_never_allowed(tmp_path: Path) -> None:
    scores = SQUARE[:3].copy()
    scores[0, 0] = np.inf
    with pytest.raises(TableError, match=r"1 score is \+inf"):
        read(tmp_path, scores, allow=frozenset(["nan", "inf"]))


def test_a_model_that_repeats_itself_is_refused_and_a_few_equal_captions_are_not(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"2 of 3 queries repeat another's list \(q1 that of q0"):
        read(tmp_path, SQUARE[[0, 0, 0]])
    assert read(tmp_path, SQUARE[[0, 0, 1]]).report["duplicates"] == 1


def test_constant_rows_and_floods_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"one score for all docs in 1 query \(q2"):
        read(tmp_path, np.vstack([SQUARE[:2], np.ones(4, dtype=np.float32)]))
    docs = [f"d{n}" for n in range(20)]
    flood = np.full((2, 20), -100.0)
    flood[:, :5] = np.arange(10).reshape(2, 5)
    with pytest.raises(TableError, match="in 2 queries half of the docs or more share the lowest score"):
        read(tmp_path, flood, doc_ids=docs)
    assert len(read(tmp_path, flood, doc_ids=docs, allow=frozenset(["flood"])).run) == 10


def test_shapes_that_fit_no_ids_are_told_what_was_expected(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="shape 2 × 4, but 3 query ids and 4 doc ids; expected 3 × 4"):
        read(tmp_path, SQUARE[:2], query_ids=QUERIES[:3])
    with pytest.raises(FormatError, match="'q0' is given twice"):
        read(tmp_path, SQUARE[:2], query_ids=["q0", "q0"])


def test_of_several_arrays_one_is_chosen_by_name_shape_or_key(tmp_path: Path) -> None:
    ids = {"query_ids": QUERIES[:2], "doc_ids": DOCS}
    np.savez(tmp_path / "m.npz", first=SQUARE[:2], second=SQUARE[2:], third=SQUARE)
    with pytest.raises(FormatError, match=r"choose one with --key: first \(2 × 4\), second \(2 × 4\)"):
        ingest(tmp_path / "m.npz", Request(**ids))
    chosen = ingest(tmp_path / "m.npz", Request(**ids, key="second")).run
    assert list(chosen[chosen["query_id"] == "q0"]["doc_id"][:2]) == ["d3", "d2"]
    with pytest.raises(FormatError, match="no array 'fourth'; found first"):
        ingest(tmp_path / "m.npz", Request(**ids, key="fourth"))


def test_vectors_in_two_files_give_the_same_order_in_any_block(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    texts, videos = (random.standard_normal((n, 8)).astype(np.float32) for n in (6, 9))
    np.save(tmp_path / "t.npy", texts)
    np.save(tmp_path / "v.npy", videos)
    request = Request(
        query_ids=[f"q{n}" for n in range(6)], doc_ids=[f"d{n}" for n in range(9)], similarity="cosine"
    )
    run = ingest(tmp_path / "t.npy", request, other=tmp_path / "v.npy").run
    unit = [v / np.linalg.norm(v, axis=1, keepdims=True) for v in (texts.astype(float), videos.astype(float))]
    expected = np.round(unit[0] @ unit[1].T, 9)
    for row, query in enumerate(request.query_ids or ()):
        rows = run[run["query_id"] == query]
        assert np.sort(expected[row])[::-1].tolist() == list(rows["score"])
    with pytest.raises(FormatError, match=r"vectors of shape \(9, 8\) and \(6, 8\), but 6 query ids"):
        ingest(tmp_path / "v.npy", request, other=tmp_path / "t.npy")


@pytest.mark.parametrize(
    ("text", "measure", "value", "tolerance"),
    [
        ("R@1=46.1", "C@1", 46.1, 0.05),
        ("R@5 = .731", "C@5", 0.731, 0.0005),
        ("recall10:80", "C@10", 80, 0.5),
        ("MdR=2.0", "MedR", 2, 0.05),
        ("MeanR=15.31", "MnR", 15.31, 0.005),
        ("nDCG@10=0.4", "nDCG@10", 0.4, 0.05),
    ],
)
def test_logged_scores_are_read_as_papers_write_them(
    text: str, measure: str, value: float, tolerance: float
) -> None:
    found = parse_expectation(text)
    assert (measure, value) == (found.measure, found.value)
    assert found.tolerance == pytest.approx(tolerance)


def test_a_logged_score_without_a_value_is_refused() -> None:
    with pytest.raises(UsageError, match="expected a measure and its logged value"):
        parse_expectation("R@1")


def test_a_matrix_that_is_turned_in_parts_is_counted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_bytes: list[int] = []
    given = {"query_ids": QUERIES[:3], "on_read": n_bytes.append}
    whole = read(tmp_path, SQUARE[:3].T.copy(), **given)
    monkeypatch.setattr(matrix, "TURNED_CELLS", 4 * 2)  # two of three queries
    parts = read(tmp_path, SQUARE[:3].T.copy(), **given)
    assert parts.run.equals(whole.run)
    assert sum(n_bytes) == 2 * SQUARE[:3].nbytes


@pytest.mark.parametrize("n_docs", [3, 5])
def test_products_are_the_same_in_parts(n_docs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With more docs than queries, it is the docs that are read in blocks."""
    random = np.random.default_rng(3)
    vectors = {"query_embeds": random.normal(size=(4, 6)), "video_embeds": random.normal(size=(n_docs, 6))}
    np.savez(tmp_path / "m.npz", **vectors)
    given = Request(query_ids=QUERIES, doc_ids=[f"d{n}" for n in range(n_docs)], similarity="dot", depth=2)
    whole = ingest(tmp_path / "m.npz", given).run
    monkeypatch.setattr(embeddings, "TURNED_CELLS", n_docs * 3 // 2 + 1)  # three of four queries
    assert ingest(tmp_path / "m.npz", given).run.equals(whole)


def test_a_vector_of_another_length_is_seen_wherever_it_stands(tmp_path: Path) -> None:
    """Without --similarity all vectors must be of length 1, the last of many as the first."""
    vectors = np.tile(np.eye(4, dtype=np.float32), (200, 1))
    vectors[-1] *= 2
    np.savez(tmp_path / "v.npz", text_embeds=np.eye(4), video_embeds=vectors)
    ids = Request(query_ids=[*"abcd"], doc_ids=[str(n) for n in range(800)])
    with pytest.raises(UsageError, match="vectors of lengths 1 to 2: give --similarity cosine"):
        ingest(tmp_path / "v.npz", ids)


def several_captions() -> tuple[Any, list[str], list[str], Qrels]:
    """Scores of 12 videos with 20 captions each, their ids, and the qrels from captions to videos."""
    rng = np.random.default_rng(5)
    owner = np.repeat(np.arange(12), 20)
    sims = rng.standard_normal((240, 12)).astype(np.float32)
    sims[np.arange(240), owner] += 2 * rng.integers(0, 2, 240)
    videos = [f"v{n}" for n in range(12)]
    captions = [f"v{v}#{n % 20}" for n, v in enumerate(owner)]
    table = {"query_id": captions, "doc_id": [videos[v] for v in owner], "relevance": 1}
    return sims, captions, videos, check_qrels(pd.DataFrame(table))


@pytest.mark.parametrize("form", ["rows", "columns", "padded"])
def test_twenty_captions_a_video_reproduce_their_logged_score(tmp_path: Path, form: str) -> None:
    sims, captions, videos, qrels = several_captions()
    share = 100 * np.mean(sims.argmax(axis=1) == np.repeat(np.arange(12), 20))
    values = {"rows": sims, "columns": sims.T.copy(), "padded": sims.reshape(12, 20, 12)}[form]
    if form == "padded":
        values = np.concatenate([values, np.full((12, 3, 12), -np.inf, dtype=np.float32)], axis=1)
    for digits in (1, 2):
        logged = [parse_expectation(f"R@1={share:.{digits}f}")]
        given = {"query_ids": captions, "doc_ids": videos, "qrels": qrels, "expected": logged}
        assert "logged" in read(tmp_path, values, **given).report["reproduced"]
    off = [parse_expectation(f"R@1={share + 0.2:.1f}")]
    with pytest.raises(UsageError, match=r"does not give the logged score: R@1 [\d.]+, logged [\d.]+; check"):
        read(tmp_path, values, **given | {"expected": off})


def test_video_to_text_counts_any_of_the_captions(tmp_path: Path) -> None:
    """A video's R@1 is whether one of its twenty captions stands first; MedR is the best of their ranks."""
    sims, captions, videos, qrels = several_captions()
    turned = check_qrels(qrels.rename(columns={"query_id": "doc_id", "doc_id": "query_id"}))
    is_own = np.repeat(np.arange(12), 20)[sims.argmax(axis=0)] == np.arange(12)
    logged = [parse_expectation(f"R@1={100 * is_own.mean():.1f}"), parse_expectation("MedR=1.0")]
    given = {"query_ids": videos, "doc_ids": captions, "qrels": turned, "expected": logged}
    assert read(tmp_path, sims, **given).report["orientation"] == "queries-columns"
    assert read(tmp_path, sims.T.copy(), **given).report["orientation"] == "queries-rows"


def test_a_wrong_orientation_is_told_what_the_other_reading_gives(tmp_path: Path) -> None:
    given = {"expected": [parse_expectation("R@1=75.0")], "qrels": diagonal()}
    with pytest.raises(UsageError) as caught:
        read(tmp_path, SQUARE, orientation="queries-rows", **given)
    assert "R@1 50, logged 75; check the ids' order" in str(caught.value)
    assert str(caught.value).endswith("; read as queries-columns it gives R@1 75, logged 75")


@pytest.mark.parametrize("index", [["query_id"], ["query_id", "doc_id"], ["doc_id"], []])
def test_parquet_whose_ids_are_the_index_of_a_frame(index: list[str], tmp_path: Path) -> None:
    frame = pd.DataFrame({"query_id": [7, 7, 8], "doc_id": ["a", "b", "a"], "score": [0.5, 0.25, 1.0]})
    (frame.set_index(index) if index else frame).to_parquet(tmp_path / "m.parquet")
    run = ingest(tmp_path / "m.parquet", Request()).run
    assert list(zip(run["query_id"], run["doc_id"], run["score"], strict=True)) == [
        ("7", "a", 0.5),
        ("7", "b", 0.25),
        ("8", "a", 1.0),
    ]


@pytest.mark.parametrize("scores", [[0.5, np.nan], ["0.5", None], ["0.5", "NaN"]])
def test_parquet_whose_scores_are_nan_is_told_as_any_other_file(scores: list[Any], tmp_path: Path) -> None:
    frame = pd.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": scores})
    frame.to_parquet(tmp_path / "m.parquet")
    with pytest.raises(TableError, match=r"1 score is NaN .the first at query q, doc b"):
        ingest(tmp_path / "m.parquet", Request())
