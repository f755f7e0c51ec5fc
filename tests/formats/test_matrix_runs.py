"""A matrix scored as it lies has the scores and notes of the run of all its cells."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from parted import in_parts
from small_world import joined_or_why_not
from small_world import make_qrels_in_strata as make_qrels

from examples import examples
from fire_toolkit.errors import FileNote, FireError, FormatError
from fire_toolkit.formats.arrays import matrix
from fire_toolkit.formats.runs.matrices import MatrixRun
from fire_toolkit.formats.runs.read import open_run, read_run
from fire_toolkit.matching.ties import TIE_RULES
from fire_toolkit.measures import list_measures
from fire_toolkit.scoring import Scoring, score_runs
from fire_toolkit.tables import Qrels

EVERY = [*(each.example for each in list_measures()), "MnR:condensed", "MedR", "AP@3:condensed", "C@1", "R@2"]
QUERIES, DOCS = ["q3", "q1", "q0", "q2"], [f"d{n}" for n in (4, 0, 2, 1, 3)]


def stored(folder: Path, scores: Any, name: str = "m.npy") -> Path:
    np.save(folder / name, scores)
    for what, ids in (("query_ids", QUERIES), ("doc_ids", DOCS)):
        Path(folder, f"m.{what}.txt").write_text(
            "\n".join(ids[: len(scores)] if what == "query_ids" else ids)
        )
    return folder / name


def outcome(run: Any, qrels: Qrels, **asked: Any) -> Scoring | str:
    try:
        return score_runs(run, qrels, EVERY, per_query=True, **asked)
    except FireError as error:
        return str(error).partition("(")[0].partition("[")[0]


judged = st.dictionaries(
    st.sampled_from([*QUERIES, "other"]),
    st.dictionaries(st.sampled_from([*DOCS, "x"]), st.integers(-1, 2), min_size=1),
    min_size=1,
)


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
    path = stored(tmp_path, np.array(cells, dtype=dtype))
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
        if isinstance(expected, str):
            assert expected == found
            continue
        assert not isinstance(found, str)
        pd.testing.assert_frame_equal(expected.scores, found.scores, check_exact=True)
        assert expected.notes == found.notes


def test_a_flood_of_lowest_scores_is_no_part_of_a_list(tmp_path: Path) -> None:
    # 1,200 docs at -100 and 100 real scores in each row: the run has the 100 alone.
    random = np.random.default_rng(0)
    scores = np.full((3, 1300), -100, dtype=np.float32)
    scores[:, ::13] = random.random((3, 100), dtype=np.float32)
    ids = {"query_ids": ["q0", "q1", "q2"], "doc_ids": [f"d{n}" for n in range(1300)]}
    np.savez(tmp_path / "m.npz", sims=scores, **ids)
    relevances = {q: {"d0": 1, "d1": 1, "d26": 0, "d27": 0} for q in ids["query_ids"]}
    whole, opened = read_run(tmp_path / "m.npz"), open_run(tmp_path / "m.npz")
    assert isinstance(opened, MatrixRun)
    expected, found = (outcome(run, make_qrels(relevances), ties="average") for run in (whole, opened))
    assert not isinstance(expected, str)
    assert not isinstance(found, str)
    assert len(whole) == 300
    pd.testing.assert_frame_equal(expected.scores, found.scores, check_exact=True)
    assert expected.notes == found.notes


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_a_score_that_is_not_finite_is_told_as_ever(tmp_path: Path, odd: float) -> None:
    scores = np.ones((4, 5), dtype=np.float32)
    scores[2, 3] = odd
    path = stored(tmp_path, scores)
    said = r"1 scores that are NaN or infinite, the first at row 2, column 3 \(query q0, doc d1\)"
    with pytest.raises(FormatError, match=said):
        read_run(path)
    with pytest.raises(FormatError, match=said):
        score_runs(open_run(path), make_qrels({"q0": {"d0": 1}}), ["C@1"])


def test_a_matrix_by_columns_is_scored_as_one_by_rows(tmp_path: Path) -> None:
    rows, qrels = np.random.default_rng(0).random((4, 5), dtype=np.float32), make_qrels({"q0": {"d1": 1}})
    scores = [outcome(open_run(stored(tmp_path, own)), qrels) for own in (rows, np.asfortranarray(rows))]
    assert not isinstance(scores[0], str)
    assert scores[0].scores.equals(scores[1].scores)  # type: ignore[union-attr]


def test_a_file_that_says_its_columns_are_queries_is_not_read_the_other_way(tmp_path: Path) -> None:
    """A square matrix fits both ways, so only what the file says can tell."""
    path, ids = tmp_path / "m.npz", {"query_ids": ["q1", "q2"], "doc_ids": ["d1", "d2"]}
    np.savez(path, sims=np.array([[1.0, 2.0], [4.0, 3.0]]), orientation="queries-columns", **ids)
    for read in (read_run, open_run):
        with pytest.warns(FileNote, match=r"m\.npz: columns are queries, as the file says"):
            run = read(path)
        if read is read_run:
            assert run["doc_id"].tolist() == ["d2", "d1", "d2", "d1"]  # q1: 1 and 4; q2: 2 and 3
    np.savez(path, sims=np.array([[1.0, 2.0], [4.0, 3.0]]), orientation="sideways", **ids)
    with pytest.raises(FormatError, match=r"m\.npz: orientation 'sideways' in the file"):
        read_run(path)
    np.savez(path, sims=np.array([[1.0, 2.0], [4.0, 3.0]]), orientation="queries-rows", **ids)
    assert read_run(path)["doc_id"].tolist() == ["d2", "d1", "d1", "d2"]


def test_matrices_of_other_ids_and_qrels_by_turns_are_scored_as_alone(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    runs = []
    for number in range(6):  # the first two have the same ids in the same order, the others do not
        queries = list(random.permutation(QUERIES)) if number > 1 else QUERIES
        docs = list(random.permutation(DOCS)) if number > 2 else DOCS
        np.save(tmp_path / f"m{number}.npy", random.random((4, 5), dtype=np.float32))
        for what, ids in (("query_ids", queries), ("doc_ids", docs)):
            (tmp_path / f"m{number}.{what}.txt").write_text("\n".join(ids))
        runs.append(open_run(tmp_path / f"m{number}.npy"))
    qrels = make_qrels({"q0": {"d1": 1, "d3": 0}, "q1": {"d0": 1}, "q2": {"d4": 2}, "q3": {"d2": 1, "d1": 1}})
    augmented = make_qrels({"q0": {"d2": 1}, "q1": {"d0": 0, "d4": 1}, "q2": {"d1": 1}, "q3": {"d2": 1}})
    names = ["C@1", "RR", "AP", "nDCG@3"]
    for given_qrels in (qrels, augmented, qrels):
        together = score_runs(runs, given_qrels, names, augmented=augmented, per_query=True).scores
        alone = [
            score_runs(run, given_qrels, names, augmented=augmented, per_query=True).scores for run in runs
        ]
        pd.testing.assert_frame_equal(together, pd.concat(alone, ignore_index=True))
        held = [read_run(tmp_path / f"m{number}.npy") for number in range(6)]
        whole = score_runs(held, given_qrels, names, augmented=augmented, per_query=True).scores
        pd.testing.assert_frame_equal(together, whole)
