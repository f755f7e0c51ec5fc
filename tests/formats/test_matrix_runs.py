"""A matrix is ranked by the rule whichever way it lies, in any blocks, and scored as the run of its cells."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from brought import put, refused
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from parted import in_parts
from small_world import drawn, joined_or_why_not
from small_world import make_qrels_in_strata as make_qrels

from examples import examples
from fire_toolkit.errors import FileNote, FireError, TableError
from fire_toolkit.formats.arrays import matrix
from fire_toolkit.formats.arrays.matrix import blocks_of, by_rows
from fire_toolkit.formats.runs.matrices import MatrixRun
from fire_toolkit.formats.runs.ranked import POSITIVE, Ranked, cells_of, kept_of, rank_rows
from fire_toolkit.formats.runs.read import open_run, read_run
from fire_toolkit.matching.ties import TIE_RULES
from fire_toolkit.measures import list_measures
from fire_toolkit.scoring import Scoring, score_runs
from fire_toolkit.tables import Qrels
from fire_toolkit.tables.columns import PAIR

pytestmark = pytest.mark.usefixtures("here")
EVERY = [*(each.example for each in list_measures()), "MnR:condensed", "MedR", "AP@3:condensed", "C@1", "R@2"]
QUERIES, DOCS = ["q3", "q1", "q0", "q2"], [f"d{n}" for n in (4, 0, 2, 1, 3)]


def stored(path: Path | str, scores: Any, queries: list[str] = QUERIES, docs: list[str] = DOCS) -> Path:
    """A matrix with its ids in files beside it."""
    path = put(path, scores)
    put(path.with_suffix(".query_ids.txt"), "\n".join(queries[: len(scores)]))
    put(path.with_suffix(".doc_ids.txt"), "\n".join(docs))
    return path


def outcome(run: Any, qrels: Qrels, **asked: Any) -> Scoring | str:
    try:
        return score_runs(run, qrels, EVERY, per_query=True, **asked)
    except FireError as error:
        return str(error).partition("(")[0].partition("[")[0]


def assert_same(expected: Scoring | str, found: Scoring | str) -> None:
    if isinstance(expected, str) or isinstance(found, str):
        assert expected == found
        return
    pd.testing.assert_frame_equal(expected.scores, found.scores, check_exact=True)
    assert expected.notes == found.notes


judged = drawn([*QUERIES, "other"], [*DOCS, "x"], st.integers(-1, 2))


@pytest.mark.slow
@given(
    st.lists(st.lists(st.integers(0, 3), min_size=5, max_size=5), min_size=1, max_size=4),
    judged,
    st.sampled_from([None, *TIE_RULES]),
    st.sampled_from([np.float32, np.float64, np.float16, np.int8]),
    st.integers(1, 30),
)
@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_scores_and_notes_are_those_of_the_run(
    tmp_path: Path, cells: Any, relevances: Any, rule: str | None, dtype: Any, chunk: int
) -> None:
    path = stored(tmp_path / "m.npy", np.array(cells, dtype=dtype))
    original = make_qrels(relevances)
    augmented = make_qrels({q: {**docs, "d0": 1} for q, docs in relevances.items()})
    asked = {"augmented": augmented, "ties": rule, "doc_order": DOCS}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matrix, "CHUNK_CELLS", chunk)
        opened = open_run(path)
        assert isinstance(opened, MatrixRun)
        every = (read_run(path), opened, in_parts(opened))
        expected, *others = (outcome(run, original, **asked) for run in every)
        joined, *seen = (joined_or_why_not(run, original, augmented) for run in every)
    assert seen == [joined, joined]
    for found in others:
        assert_same(expected, found)


def test_a_flood_of_lowest_scores_is_no_part_of_a_list() -> None:
    # 1,200 docs at -100 and 100 real scores in each row: the run has the 100 alone.
    random = np.random.default_rng(0)
    scores = np.full((3, 1300), -100, dtype=np.float32)
    scores[:, ::13] = random.random((3, 100), dtype=np.float32)
    ids = {"query_ids": ["q0", "q1", "q2"], "doc_ids": [f"d{n}" for n in range(1300)]}
    path = put("m.npz", {"sims": scores, **ids})
    qrels = make_qrels({q: {"d0": 1, "d1": 1, "d26": 0, "d27": 0} for q in ids["query_ids"]})
    whole, opened = read_run(path), open_run(path)
    assert isinstance(opened, MatrixRun)
    assert len(whole) == 300
    expected = outcome(whole, qrels, ties="average")
    assert isinstance(expected, Scoring)
    assert_same(expected, outcome(opened, qrels, ties="average"))


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_a_score_that_is_not_finite_is_told_as_ever(odd: float) -> None:
    scores = np.ones((4, 5), dtype=np.float32)
    scores[2, 3] = odd
    path = stored("m.npy", scores)
    said = "m.npy: 1 score is ... (query q0, doc d1)"
    said = (
        said
        if odd == np.inf
        else said.replace("(query", "(the first at query") + " ... give `add-run` --allow"
    )
    refused(said, read_run, path, by=TableError)
    refused(said, score_runs, open_run(path), make_qrels({"q0": {"d0": 1}}), ["C@1"], by=TableError)


def test_a_matrix_by_columns_is_scored_as_one_by_rows() -> None:
    rows, qrels = np.random.default_rng(0).random((4, 5), dtype=np.float32), make_qrels({"q0": {"d1": 1}})
    by_rows, by_columns = (stored(f"{order}.npy", np.asarray(rows, order=order)) for order in "CF")
    expected, found = (outcome(open_run(path, run_id="m"), qrels) for path in (by_rows, by_columns))
    assert isinstance(expected, Scoring)
    assert_same(expected, found)


def test_a_file_that_says_its_columns_are_queries_is_not_read_the_other_way() -> None:
    """A square matrix fits both ways, so only what the file says can tell."""
    sims = {"sims": np.array([[1.0, 2.0], [4.0, 3.0]]), "query_ids": ["q1", "q2"], "doc_ids": ["d1", "d2"]}
    path = put("m.npz", {**sims, "orientation": "queries-columns"})
    for read in (read_run, open_run):
        with pytest.warns(FileNote, match=r"m\.npz: columns are queries, as the file says"):
            read(path)
    assert read_run(path)["doc_id"].tolist() == ["d2", "d1", "d2", "d1"]  # q1: 1 and 4; q2: 2 and 3
    put(path, {**sims, "orientation": "sideways"})
    said = "m.npz: orientation 'sideways', but shape 2 × 2 with 2 query ids and 2 doc ids fits"
    refused(said, read_run, path)
    put(path, {**sims, "orientation": "queries-rows"})
    assert read_run(path)["doc_id"].tolist() == ["d2", "d1", "d1", "d2"]


def test_matrices_of_other_ids_and_qrels_by_turns_are_scored_as_alone() -> None:
    random = np.random.default_rng(0)
    paths = []
    for number in range(6):  # the first two have the same ids in the same order, the others do not
        queries = list(random.permutation(QUERIES)) if number > 1 else QUERIES
        docs = list(random.permutation(DOCS)) if number > 2 else DOCS
        paths.append(stored(f"m{number}.npy", random.random((4, 5), dtype=np.float32), queries, docs))
    qrels = make_qrels({"q0": {"d1": 1, "d3": 0}, "q1": {"d0": 1}, "q2": {"d4": 2}, "q3": {"d2": 1, "d1": 1}})
    augmented = make_qrels({"q0": {"d2": 1}, "q1": {"d0": 0, "d4": 1}, "q2": {"d1": 1}, "q3": {"d2": 1}})

    def scores(runs: Any, by: Qrels) -> pd.DataFrame:
        names = ["C@1", "RR", "AP", "nDCG@3"]
        return score_runs(runs, by, names, augmented=augmented, per_query=True).scores

    for by in (qrels, augmented, qrels):
        opened = [open_run(path) for path in paths]
        together = scores(opened, by)
        alone = pd.concat([scores(run, by) for run in opened], ignore_index=True)
        pd.testing.assert_frame_equal(together, alone)
        pd.testing.assert_frame_equal(together, scores([read_run(path) for path in paths], by))


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_matrix_is_cut_by_ids_in_their_own_order_whichever_way_it_lies(order: Any) -> None:
    sims = np.asarray(np.arange(6.0).reshape(3, 2), order=order)
    both = open_run(put("m.npz", {"sims": sims, "query_ids": ["t1", "t2", "t3"], "doc_ids": ["a", "b"]}))
    no_pairs = [pd.DataFrame(columns=["query_id", "doc_id"], dtype="str")]
    ((forth, back),) = both.both_ways([(["t3", "t1"], ["b"])], no_pairs, depth=9)
    assert dict(zip(forth["query_id"], forth["score"], strict=True)) == {"t1": 1.0, "t3": 5.0}
    assert back["doc_id"].tolist() == ["t3", "t1"]
    said = "m.npz: 1 texts and 0 items of the qrels are not in it"
    refused(said, lambda: list(both.both_ways([(["t9"], ["a"])], no_pairs, depth=9)))


MIXED = ["d2", "d10", "a", "Z", "d1"]


def brute_force(scores: Any, docs: list[str], depth: int, positives: set[tuple[int, int]]) -> list[Any]:
    """The rule, one query after the other: score descending, doc id descending; what has no score is out."""
    found = []
    for query, row in enumerate(scores.tolist()):
        order = [d for d in range(len(docs)) if np.isfinite(row[d])]
        order.sort(key=lambda d: (row[d], docs[d]), reverse=True)
        for rank, doc in enumerate(order, start=1):
            if rank <= depth or (query, doc) in positives:
                found.append((query, doc, rank, row[doc]))
    return found


def rows_of(ranked: Ranked) -> list[Any]:
    columns = (ranked.query, ranked.doc, ranked.rank, ranked.score)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def rank(scores: Any, **options: Any) -> Ranked:
    """The top `depth` of each row, and the positives (rows and columns) below it."""
    rows = by_rows(np.asarray(scores))
    given = {
        "n_queries": len(rows),
        "docs": [f"d{n:02}" for n in range(rows.shape[-1])],
        "depth": 2,
    } | options
    axes = [f"q{n}" for n in range(given["n_queries"])], given["docs"]
    pairs = zip(*options.get("positives", ((), ())), strict=True)
    named = [(axes[0][query], axes[1][doc]) for query, doc in pairs]
    cells = cells_of(axes, {POSITIVE: pd.DataFrame(named, columns=PAIR, dtype="str")})[0]
    size = {"n_rows": len(rows), "axes": axes, "depth": given["depth"], "mask": options.get("mask")}
    found = rank_rows(blocks_of(rows, "m"), where="m", cells=cells, **size)
    return kept_of(found, axes, cells, given["depth"])[0]


@given(
    seed=st.integers(0, 2**32 - 1),
    depth=st.integers(1, 6),
    order=st.sampled_from("CF"),
    block_cells=st.sampled_from([4, 12, 1 << 20]),
    n_missing=st.integers(0, 3),
    dtype=st.sampled_from([np.float32, np.float64, np.int8]),
)
def test_any_matrix_is_ranked_as_by_brute_force(
    seed: int, depth: int, order: Any, block_cells: int, n_missing: int, dtype: Any
) -> None:
    random = np.random.default_rng(seed)
    scores = random.integers(-2, 3, size=(4, 5)).astype(dtype)
    if scores.dtype.kind == "f":
        scores[random.integers(4, size=n_missing), random.integers(5, size=n_missing)] = -np.inf
        scores[random.integers(4, size=n_missing), random.integers(5, size=n_missing)] = np.nan
    positives = {divmod(int(cell), 5) for cell in random.integers(20, size=3)}
    values = np.array(scores, order=order)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matrix, "CHUNK_CELLS", block_cells)
        patch.setattr(matrix, "TURNED_CELLS", 2 * block_cells)
        pairs = tuple(np.array(list(positives)).T)
        ranked = rank(values, docs=MIXED, depth=depth, positives=pairs)
    assert brute_force(scores.astype(np.float64), MIXED, depth, positives) == rows_of(ranked)
    assert np.array_equal(values, scores, equal_nan=True)
    assert ranked.anomalies.n_nan == int(np.isnan(scores.astype(np.float64)).sum())


@pytest.mark.parametrize("order", ["C", "F"])
def test_ties_floods_and_constant_rows_are_counted_and_a_flood_is_not_ranked(order: Any) -> None:
    pairs = (np.array([0, 1, 2]), np.array([1, 3, 0]))
    tied = np.array([[3, 3, 1, 0], [4, 3, 3, 0], [1, 2, 3, 0]], order=order)
    odd = rank(tied, positives=pairs).anomalies
    assert (odd.tied_in_top, odd.tied_at_cut, odd.tied_positives) == (1, 1, 1)
    # a reranker fills what it did not score with -100
    scores = np.full((3, 21), -100.0, dtype=np.float32, order=order)
    scores[0, :9] = np.arange(9)
    scores[1] = np.arange(21)
    scores[2] = 5
    ranked = rank(scores, depth=15)
    assert (ranked.anomalies.flood, ranked.anomalies.constant) == (1, 1)
    assert np.bincount(ranked.query).tolist() == [9, 15, 15]


def test_equal_rows_are_counted_as_duplicates_and_a_zero_without_its_sign_is_the_same_score() -> None:
    """Scores that underflow are 0.0 or -0.0."""
    assert rank([[1, 2, 3], [1, 2, 3], [3, 2, 1], [1, 2, 3]]).anomalies.duplicates == 2
    shown = rank([[0.0], [-0.0], [0.0]], depth=1)
    assert shown.anomalies.duplicates == 2
    assert not np.signbit(shown.score).any()


def test_rows_of_padding_are_left_out_by_content_or_by_mask() -> None:
    expected = [(0, 1, 1, 2.0), (0, 0, 2, 1.0), (1, 0, 1, 2.0), (1, 1, 2, 1.0)]
    assert expected == rows_of(rank([[1, 2], [-np.inf, np.nan], [2, 1]], n_queries=2))
    filled = [[1, 2], [9, 9], [2, 1]]
    assert expected == rows_of(rank(filled, n_queries=2, mask=np.array([True, False, True])))
    refused("3 rows or more with scores, expected 2", rank, filled, n_queries=2)
    mask = np.array([True, False, False])
    refused("the mask keeps 1 of 3 rows, expected 2 queries", rank, filled, n_queries=2, mask=mask)
