"""What vector search gives, and lists of doc places, become the run of ranking all docs, or are refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from brought import put, refused

from examples import cases
from fire_toolkit.errors import FireError
from fire_toolkit.formats.runs.ingest import Ingested, Request, ingest
from fire_toolkit.formats.runs.read import read_run

pytestmark = pytest.mark.usefixtures("here")
DOCS = [*"abcdef"]
# Query 0: equal scores of places 1 and 4, so `e` before `b`; query 1 found three docs only.
IDS = np.array([[2, 1, 4, 0], [5, 3, 0, -1]])
SCORES = np.array([[0.9, 0.5, 0.5, 0.25], [0.75, 0.5, 0.125, -np.inf]], dtype=np.float32)
FOUND = {"q0": ["c", "e", "b", "a"], "q1": ["f", "d", "a"]}


def asked(kind: str = "similarity", **more: Any) -> Request:
    return Request(**({"query_ids": ["q0", "q1"], "doc_ids": DOCS, "candidates": kind} | more))


def read(ids: Any = IDS, scores: Any = SCORES, kind: str = "similarity", **more: Any) -> Ingested:
    return ingest(put("I.npz", {"I": ids, "D": scores}), asked(kind, **more))


def lists_of(result: Ingested) -> dict[str, list[str]]:
    return {str(query): list(rows) for query, rows in result.run.groupby("query_id", observed=True)["doc_id"]}


def test_lists_are_ranked_by_the_one_rule_and_padding_is_counted() -> None:
    result = read()
    assert lists_of(result) == FOUND
    counted = {"top": 4, "cells_of_padding": 1, "short_lists": 1, "open_ties": 0}
    assert result.report | counted == result.report
    assert result.notes == ["1 id is padding; 1 query has fewer docs than are kept"]


def test_a_distance_is_the_better_the_lower_it_is() -> None:
    result = read(scores=np.where(IDS < 0, np.inf, 1 - SCORES), kind="distance", depth=2)
    assert lists_of(result) == {"q0": ["c", "e"], "q1": ["f", "d"]}
    assert list(result.run["score"]) == [np.float32(0.9) - np.float32(1), -0.5, -0.25, -0.5]


@pytest.mark.parametrize("kind", ["i1", "u8", ">i4"])
def test_places_may_be_whole_numbers_of_any_type(kind: str) -> None:
    assert lists_of(read(ids=IDS.astype(kind))) == FOUND


def test_arrays_that_both_hold_whole_numbers_are_told_apart_by_their_names() -> None:
    hamming = np.array([[0, 2, 2, 7], [1, 3, 4, 9]], dtype=np.int32)  # as of a binary index
    for ids, scores in (("I", "D"), ("clip_ids", "clip_distances")):
        file = put("h.npz", {ids: np.where(IDS < 0, 2, IDS), scores: hamming})
        assert lists_of(ingest(file, asked("distance")))["q0"] == FOUND["q0"]
    file, said = put("h.npz", {"a": IDS, "b": hamming}), "expected what a vector search returns"
    refused(said, ingest, file, asked("distance"), by=FireError)


def test_a_list_that_ends_in_the_tie_of_the_last_doc_kept_is_told() -> None:
    result = read(ids=IDS[:, :3], scores=SCORES[:, :3], depth=2)
    assert result.report["open_ties"] == 1
    assert "1 list ends in a tie with the last doc kept" in result.notes[-1]
    ids, hamming = np.arange(40)[None], np.minimum(np.arange(40), 10)[None]  # many share the lowest score
    docs = [f"d{place:02d}" for place in range(100)]
    assert len(read(ids, hamming, "distance", query_ids=["q0"], doc_ids=docs, depth=100).run) == 40


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ids": np.where(IDS == 5, 6, IDS)}, "place 6, but 6 doc ids; expected places from 0 to 5"),
        ({"ids": np.where(IDS == 5, -2, IDS)}, "place -2, but 6 doc ids"),
        (
            {"ids": np.where(IDS == 5, 3, IDS)},
            "query_id, doc_id given twice (1 row; I q1 d)",
        ),
        ({"ids": np.where(IDS == 3, -1, IDS)}, "row 1, column 1: -1 before a doc"),
        ({"kind": "distance"}, "every list is in the other order: give --scores similarity"),
        ({"scores": SCORES[:, ::-1]}, "row 0, column 0: 0.25 is followed by 0.5"),
        ({"scores": np.where(IDS == 4, 0.75, SCORES)}, "row 0, column 1: 0.5 is followed by 0.75"),
        ({"scores": np.where(IDS == 4, np.nan, SCORES)}, "1 score is NaN (the first at query q0, doc e)"),
        ({"scores": SCORES[:, :3]}, "ids of shape (2, 4) and scores of shape (2, 3), expected one shape"),
        ({"ids": IDS + 0.5}, "holds float64, expected places of docs, whole numbers"),
        ({"ids": IDS[:0], "scores": SCORES[:0]}, "ids of shape (0, 4) and scores of shape (0, 4), expected"),
        ({"query_ids": ["q0"]}, "2 lists, but 1 query ids"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_right_is_refused_with_its_row(change: dict[str, Any], words: str) -> None:
    refused(words, read, **change, by=FireError)


def test_one_archive_and_parquet_give_the_same_run() -> None:
    expected = read().run
    archive = put("I.npz", {"labels": IDS.astype(np.int32), "distances": SCORES})
    assert ingest(archive, asked()).run.equals(expected)
    named = [[DOCS[place] for place in row if place >= 0] for row in IDS]
    lists = {"query_id": ["q0", "q1"], "ids": named, "scores": [list(SCORES[0]), list(SCORES[1, :3])]}
    alone = ingest(put("I.parquet", lists), Request(candidates="similarity"))
    assert lists_of(alone) == FOUND
    assert np.array_equal(alone.run["score"], expected["score"])


# The layouts below were taken from the libraries' own output, but for cuVS, which needs a GPU: its layout is
# the documented one, with the largest number of the ids' type where lists were too short.
PLACES = np.array([[2, 1, 4, 0], [5, 3, 0, 0]])
DISTANCES = np.array([[0.1, 0.5, 0.5, 0.75], [0.25, 0.5, 0.875, np.nan]], dtype=np.float32)
TO_INFINITY = np.nan_to_num(DISTANCES, nan=np.inf)


def padded(kind: str, padding: int) -> Any:
    ids = PLACES.astype(kind)
    ids[1, 3] = padding
    return ids


@pytest.mark.parametrize(
    "arrays",
    [
        {"labels": padded("uint64", 4)[:, :3], "distances": DISTANCES[:, :3]},
        {"keys": PLACES.astype("uint64"), "distances": DISTANCES},
        {"neighbors": padded("uint32", 2**32 - 1), "distances": TO_INFINITY},
        {"neighbors": padded("int64", 2**63 - 1), "distances": TO_INFINITY},
        {"neighbors": padded(">i8", 2**63 - 1), "distances": TO_INFINITY},
        {"ids": np.asfortranarray(padded("int64", -1)), "distances": DISTANCES},
    ],
    ids=["hnswlib", "usearch", "cuvs-cagra", "cuvs-ivf", "big-endian", "column-major"],
)
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_of_each_library_give_the_same_run(arrays: dict[str, Any], save: Any) -> None:
    save("m.npz", **arrays)
    result = ingest(Path("m.npz"), asked("distance"))
    assert lists_of(result) == FOUND | ({"q0": ["c", "e", "b"]} if "labels" in arrays else {})
    assert result.report["cells_of_padding"] == (arrays["distances"].shape[1] == 4)


def test_a_doc_that_was_found_needs_a_number() -> None:
    distances = DISTANCES.copy()
    distances[0, 1] = np.nan
    for ids, said in (
        (PLACES, "1 score is NaN (the first at query q0, doc b)"),
        (PLACES[:, [0, 3, 1, 3]], "before a doc"),
    ):
        file = put("m.npz", {"keys": ids, "distances": distances})
        refused(said, ingest, file, asked("distance"), by=FireError)


def test_a_row_for_each_doc_found_is_a_table_of_a_run() -> None:
    ids = {"query_id": ["q0"] * 4 + ["q1"] * 3, "doc_id": ["c", "b", "e", "a", "f", "d", "a"]}
    path = put("m.parquet", ids | {"score": [0.9, 0.5, 0.5, 0.25, 0.75, 0.5, 0.125]})
    said = "a row for each doc found ... is a run's table: leave --scores out"
    refused(said, ingest, path, Request(candidates="similarity"), by=FireError)
    assert lists_of(ingest(path, Request())) == FOUND


# Lines of doc places, as TeachText's challenge files have them: ranked by the ids beside them.
BY_PLACE = Request(query_ids=["v1#0", "v1#1", "v2#0"], doc_ids=["v1", "v2", "v3", "v4"])


def pairs_of(run: pd.DataFrame) -> list[tuple[str, str]]:
    return list(zip(run["query_id"], run["doc_id"], strict=True))


def test_the_first_columns_of_a_sorted_matrix_give_the_matrix_s_lists() -> None:
    """What numpy.savetxt writes of the first 3 columns of argsort(-sims), as TeachText does."""
    sims = np.random.default_rng(0).permutation(12).reshape(3, 4)
    np.savetxt("p.csv", np.argsort(-sims, axis=1)[:, :3], delimiter=",", fmt="%d")
    by_place = ingest(Path("p.csv"), BY_PLACE)
    by_score = ingest(put("m.npy", sims), replace(BY_PLACE, depth=3))
    assert by_place.report["reader"] == "places"
    columns = ["query_id", "doc_id", "rank"]
    assert by_place.run[columns].astype(str).equals(by_score.run[columns].astype(str))


def test_other_commands_read_them_with_ids_in_files() -> None:
    path = put("p.csv", "0,3\n1,0\n3,1\n")
    refused("p.csv: no query ids and doc ids; give --query-ids", read_run, path)
    put("p.query_ids.txt", "v1#0\nv1#1\nv2#0")
    run = read_run(path, doc_ids=put("docs.npy", ["v1", "v2", "v3", "v4"]))
    assert pairs_of(run)[:3] == [("v1#0", "v1"), ("v1#0", "v4"), ("v1#1", "v2")]


@pytest.mark.parametrize(
    "text", ["[[0, 3, 1],\n [1],\n [3, 1]]", "[0, 3, 1]\n[1]\n[3, 1]\n", "[\n[0,3,1],[1],[3,1]\n]\n"]
)
def test_lists_of_places_in_json_may_differ_in_length(text: str) -> None:
    expected = {"v1#0": ["v1", "v4", "v2"], "v1#1": ["v2"], "v2#0": ["v4", "v2"]}
    assert lists_of(ingest(put("p.csv", text), BY_PLACE)) == expected


@cases("text", "said")
def test_lists_of_places_that_do_not_fit_are_told(text: Any, said: str) -> None:
    refused(said, ingest, put("p.csv", text), BY_PLACE)
