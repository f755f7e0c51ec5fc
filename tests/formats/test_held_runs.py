"""A matrix in memory becomes the run that `add-run` makes of it in a file."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import run

import fire_toolkit as fire
from fire_toolkit.errors import FireError
from fire_toolkit.tables import check_qrels

N_QUERIES, N_DOCS, DEPTH = 30, 50, 7


def made() -> tuple[np.ndarray, list[str], list[str]]:
    rng = np.random.default_rng(3)
    sims = rng.integers(0, 25, size=(N_QUERIES, N_DOCS)).astype(np.float32) / 8  # full of ties
    return sims, [f"q{n}" for n in rng.permutation(N_QUERIES)], [f"v{n}" for n in rng.permutation(N_DOCS)]


def test_ranks_are_those_of_the_rule_and_positives_keep_theirs() -> None:
    sims, queries, docs = made()
    positives = {query: docs[n % N_DOCS] for n, query in enumerate(queries)}
    qrels = check_qrels(
        pd.DataFrame({"query_id": positives.keys(), "doc_id": positives.values(), "relevance": 1})
    )
    run = fire.run(sims, "clip", query_ids=queries, doc_ids=docs, depth=DEPTH, qrels=qrels)
    found = {(row.query_id, row.doc_id): (row.rank, row.score) for row in run.itertuples()}
    expected = {}
    for query, row in zip(queries, sims, strict=True):
        order = sorted(zip(row.tolist(), docs, strict=True), reverse=True)  # score, then doc id, descending
        for rank, (score, doc) in enumerate(order, 1):
            if rank <= DEPTH or positives[query] == doc:
                expected[query, doc] = (rank, score)
    assert found == expected


def test_the_run_is_the_one_that_add_run_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sims, queries, docs = made()
    monkeypatch.chdir(tmp_path)
    np.save("clip.npy", sims)
    Path("q.txt").write_text("\n".join(queries) + "\n")
    Path("d.txt").write_text("\n".join(docs) + "\n")
    Path("qrels.txt").write_text("".join(f"{query} 0 {docs[0]} 1\n" for query in queries))
    words = ["add-run", "clip.npy", "--query-ids", "q.txt", "--doc-ids", "d.txt", "--qrels", "qrels.txt"]
    run(*words, "--depth", "9", "--out", "runs")
    held = fire.run(sims, "clip", query_ids=queries, doc_ids=docs, depth=9, qrels=fire.qrels("qrels.txt"))
    pd.testing.assert_frame_equal(held, fire.run("runs/clip.parquet"))


@pytest.mark.parametrize(
    ("sims", "words"),
    [
        (np.zeros((3, 2)), "sims is 3 × 2, but there are 2 query ids and 3 doc ids; expected queries × docs: "
         "give sims.T"),
        (np.zeros(3), "sims is 3, but there are 2 query ids"),
        ([["x", "y", "z"]] * 2, "expected real numbers"),
        ([[np.nan, 1, 2], [1, 2, 3]], "1 score is NaN (the first at query 1, doc a); if this is intended, "
         "give allow=nan"),
        ({}, "sims"),
    ],
    ids=["turned", "flat", "text", "NaN", "dict"],
)  # fmt: skip
def test_what_is_no_matrix_of_the_ids_is_refused(sims: object, words: str) -> None:
    with pytest.raises(FireError) as refused:
        fire.run(sims, "clip", query_ids=["1", "2"], doc_ids=["a", "b", "c"])
    assert words in str(refused.value)


def test_lists_and_whole_numbers_are_taken_and_what_is_allowed_is_left_out() -> None:
    run = fire.run([[np.nan, 1, 2], [1, 2, 3]], "m", query_ids=[7, 8], doc_ids=["a", "b", "c"], allow="nan")  # type: ignore[list-item]
    assert run["doc_id"].tolist() == ["c", "b", "c", "b", "a"]
    assert run["query_id"].tolist() == ["7", "7", "8", "8", "8"]
    with pytest.raises(FireError, match="'7' is given twice"):
        fire.run(np.eye(2), "m", query_ids=["7", "7"], doc_ids=["a", "b"])
    with pytest.raises(FireError, match="depth is 0"):
        fire.run(np.eye(2), "m", query_ids=["7", "8"], doc_ids=["a", "b"], depth=0)


def test_a_frame_in_another_order_than_the_ids_is_refused() -> None:
    sims, queries, docs = made()
    plain = fire.run(sims, "clip", query_ids=queries, doc_ids=docs)
    frame = pd.DataFrame(sims, index=queries, columns=docs)
    for same in (frame, pd.DataFrame(sims)):
        pd.testing.assert_frame_equal(plain, fire.run(same, "clip", query_ids=queries, doc_ids=docs))
    with pytest.raises(FireError, match=f"row 0 of sims is '{queries[-1]}', but its id is '{queries[0]}'"):
        fire.run(frame.iloc[::-1], "clip", query_ids=queries, doc_ids=docs)
    with pytest.raises(FireError, match=f"column 0 of sims is '{docs[-1]}', but its id is '{docs[0]}'"):
        fire.run(frame.iloc[:, ::-1], "clip", query_ids=queries, doc_ids=docs)
