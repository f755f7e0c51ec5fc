"""What vector search gives becomes the run that ranking all docs gives, or is refused with its row."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from fire_toolkit.errors import FireError
from fire_toolkit.formats.runs.ingest import Ingested, Request, ingest
from fire_toolkit.tables import check_qrels

DOCS = ["a", "b", "c", "d", "e", "f"]
# Query 0: equal scores of places 1 and 4, so `e` before `b`; query 1 found three docs only.
IDS = np.array([[2, 1, 4, 0], [5, 3, 0, -1]])
SCORES = np.array([[0.9, 0.5, 0.5, 0.25], [0.75, 0.5, 0.125, -np.inf]], dtype=np.float32)


def read(
    folder: Path, ids: Any = IDS, scores: Any = SCORES, kind: str = "similarity", **more: Any
) -> Ingested:
    np.savez(folder / "I.npz", I=np.asarray(ids), D=np.asarray(scores))
    request = Request(**({"query_ids": ["q0", "q1"], "doc_ids": DOCS, "candidates": kind} | more))
    return ingest(folder / "I.npz", request)


def lists_of(result: Ingested) -> dict[str, list[str]]:
    return {str(query): list(rows) for query, rows in result.run.groupby("query_id", observed=True)["doc_id"]}


def test_lists_are_ranked_by_the_one_rule_and_padding_is_counted(tmp_path: Path) -> None:
    result = read(tmp_path)
    assert lists_of(result) == {"q0": ["c", "e", "b", "a"], "q1": ["f", "d", "a"]}
    assert {
        name: result.report[name] for name in ("top", "cells_of_padding", "short_lists", "open_ties")
    } == {"top": 4, "cells_of_padding": 1, "short_lists": 1, "open_ties": 0}
    assert result.notes == ["1 id is padding; 1 query has fewer docs than are kept"]


def test_a_distance_is_the_better_the_lower_it_is(tmp_path: Path) -> None:
    result = read(tmp_path, scores=np.where(IDS < 0, np.inf, 1 - SCORES), kind="distance", depth=2)
    assert lists_of(result) == {"q0": ["c", "e"], "q1": ["f", "d"]}
    assert list(result.run["score"]) == [np.float32(0.9) - np.float32(1), -0.5, -0.25, -0.5]


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", "i1", ">i4"])
def test_places_may_be_whole_numbers_of_any_type(tmp_path: Path, kind: str) -> None:
    assert lists_of(read(tmp_path, ids=IDS.astype(kind))) == lists_of(read(tmp_path))


def test_arrays_that_both_hold_whole_numbers_are_told_apart_by_their_names(tmp_path: Path) -> None:
    hamming = np.array([[0, 2, 2, 7], [1, 3, 4, 9]], dtype=np.int32)  # as of a binary index
    for names in (("I", "D"), ("clip_ids", "clip_distances"), ("a", "b")):
        file = tmp_path / f"{names[0]}.npz"
        np.savez(file, **dict(zip(names, (np.where(IDS < 0, 2, IDS), hamming), strict=True)))
        request = Request(query_ids=["q0", "q1"], doc_ids=DOCS, candidates="distance")
        if names == ("a", "b"):
            with pytest.raises(FireError, match="expected what a vector search returns"):
                ingest(file, request)
        else:
            assert lists_of(ingest(file, request))["q0"] == ["c", "e", "b", "a"]


def test_positives_below_the_depth_are_kept_with_their_ranks(tmp_path: Path) -> None:
    qrels = check_qrels(pd.DataFrame({"query_id": ["q0", "q1"], "doc_id": ["a", "b"], "relevance": 1}))
    result = read(tmp_path, depth=1, qrels=qrels)
    assert [tuple(row) for row in result.run[["query_id", "doc_id", "rank"]].to_numpy()] == [
        ("q0", "c", 1),
        ("q0", "a", 4),
        ("q1", "f", 1),
    ]


def test_a_list_that_ends_in_the_tie_of_the_last_doc_kept_is_told(tmp_path: Path) -> None:
    result = read(tmp_path, ids=IDS[:, :3], scores=SCORES[:, :3], depth=2)
    assert result.report["open_ties"] == 1
    assert "1 list ends in a tie with the last doc kept" in result.notes[-1]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ids": np.where(IDS == 5, 6, IDS)}, "row 1, column 0: place 6, but 6 doc ids; expected places"),
        ({"ids": np.where(IDS == 5, -2, IDS)}, "row 1, column 0: place -2"),
        ({"ids": np.where(IDS == 5, 3, IDS)}, "row 1: place 3 twice (d), expected each doc once"),
        ({"ids": np.where(IDS == 3, -1, IDS)}, "row 1: -1 before a doc"),
        ({"kind": "distance"}, "every list is in the other order: give --scores similarity"),
        ({"scores": SCORES[:, ::-1]}, "expected a finite similarity"),
        ({"scores": np.where(IDS == 4, 0.75, SCORES)}, "row 0: 0.5 is followed by 0.75"),
        ({"scores": np.where(IDS == 4, np.nan, SCORES)}, "row 0, column 2: nan, expected a finite"),
        ({"scores": SCORES[:, :3]}, "ids of shape (2, 4) and scores of shape (2, 3), expected one shape"),
        ({"ids": IDS + 0.5}, "holds fractions, expected places of docs"),
        ({"ids": (IDS + 2**24).astype("f4")}, "as float32, in which numbers from 16777216 on are rounded"),
        ({"ids": IDS[:0], "scores": SCORES[:0]}, "ids of shape (0, 4) and scores of shape (0, 4), expected"),
        ({"query_ids": ["q0"]}, "2 rows, but 1 query ids"),
    ],
)  # fmt: skip
def test_what_cannot_be_right_is_refused_with_its_row(
    change: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(FireError) as error:
        read(tmp_path, **change)
    assert words in str(error.value)


def test_one_archive_and_parquet_give_the_same_run(tmp_path: Path) -> None:
    expected = read(tmp_path).run
    np.savez(tmp_path / "I.npz", labels=IDS.astype(np.int32), distances=SCORES)
    request = Request(query_ids=["q0", "q1"], doc_ids=DOCS, candidates="similarity")
    assert ingest(tmp_path / "I.npz", request).run.equals(expected)
    named = [[DOCS[place] for place in row if place >= 0] for row in IDS]
    lists = {"query_id": ["q0", "q1"], "ids": named, "scores": [list(SCORES[0]), list(SCORES[1, :3])]}
    parquet.write_table(pa.table(lists), tmp_path / "I.parquet")
    alone = ingest(tmp_path / "I.parquet", Request(candidates="similarity"))
    assert lists_of(alone) == {"q0": ["c", "e", "b", "a"], "q1": ["f", "d", "a"]}
    assert np.array_equal(alone.run["score"], expected["score"])


# The layouts below were taken from the libraries' own output, but for cuVS, which needs a GPU: its layout is
# the documented one, with the largest number of the ids' type where lists were too short.
PLACES = np.array([[2, 1, 4, 0], [5, 3, 0, 0]])
DISTANCES = np.array([[0.1, 0.5, 0.5, 0.75], [0.25, 0.5, 0.875, np.nan]], dtype=np.float32)
FOUND = {"q0": ["c", "e", "b", "a"], "q1": ["f", "d", "a"]}
IN_AXES = Request(query_ids=["q0", "q1"], doc_ids=DOCS, candidates="distance")


def padded(kind: str, padding: int) -> Any:
    ids = PLACES.astype(kind)
    ids[1, 3] = padding
    return ids


@pytest.mark.parametrize(
    "arrays",
    [
        {"labels": padded("uint64", 4)[:, :3], "distances": DISTANCES[:, :3]},
        {"keys": PLACES.astype("uint64"), "distances": DISTANCES},
        {"neighbors": padded("uint32", 2**32 - 1), "distances": np.nan_to_num(DISTANCES, nan=np.inf)},
        {"neighbors": padded("int64", 2**63 - 1), "distances": np.nan_to_num(DISTANCES, nan=np.inf)},
        {"neighbors": padded(">i8", 2**63 - 1), "distances": np.nan_to_num(DISTANCES, nan=np.inf)},
        {"ids": np.asfortranarray(padded("int64", -1)), "distances": DISTANCES},
    ],
    ids=["hnswlib", "usearch", "cuvs-cagra", "cuvs-ivf", "big-endian", "column-major"],
)
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_of_each_library_give_the_same_run(tmp_path: Path, arrays: dict[str, Any], save: Any) -> None:
    save(tmp_path / "m.npz", **arrays)
    expected = FOUND if arrays.keys() != {"labels", "distances"} else FOUND | {"q0": ["c", "e", "b"]}
    result = ingest(tmp_path / "m.npz", IN_AXES)
    assert lists_of(result) == expected
    assert result.report["cells_of_padding"] == (arrays["distances"].shape[1] == 4)


def test_a_doc_that_was_found_needs_a_number(tmp_path: Path) -> None:
    distances = DISTANCES.copy()
    distances[0, 1] = np.nan
    for ids, words in (
        (PLACES, "nan, expected a finite distance"),
        (PLACES[:, [0, 3, 1, 3]], "before a doc"),
    ):
        np.savez(tmp_path / "m.npz", keys=ids, distances=distances)
        with pytest.raises(FireError, match=words):
            ingest(tmp_path / "m.npz", IN_AXES)


def test_a_row_for_each_doc_found_is_a_table_of_a_run(tmp_path: Path) -> None:
    path = tmp_path / "m.parquet"
    ids = {"query_id": ["q0"] * 4 + ["q1"] * 3, "doc_id": ["c", "b", "e", "a", "f", "d", "a"]}
    parquet.write_table(pa.table(ids | {"score": [0.9, 0.5, 0.5, 0.25, 0.75, 0.5, 0.125]}), path)
    with pytest.raises(FireError, match=r"a row for each doc found .* is a run's table: leave --scores out"):
        ingest(path, Request(candidates="similarity"))
    assert lists_of(ingest(path, Request())) == {"q0": ["c", "e", "b", "a"], "q1": ["f", "d", "a"]}


def test_many_docs_may_share_the_lowest_score_of_a_list_that_is_cut(tmp_path: Path) -> None:
    ids, hamming = np.arange(40)[None], np.minimum(np.arange(40), 10)[None]
    docs = [f"d{place:02d}" for place in range(100)]
    result = read(tmp_path, ids, hamming, "distance", query_ids=["q0"], doc_ids=docs, depth=100)
    assert len(result.run) == 40
