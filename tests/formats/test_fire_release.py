"""FIRE's release in and out: every answer, label, dispute and model, to the letter."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from brought import put, refused

from fire_toolkit.errors import JoinError
from fire_toolkit.formats.tables.fire_release import Release, fire_release_json, read_fire_release
from fire_toolkit.formats.tables.table_files import read_queries
from fire_toolkit.tables import check_items, check_judgments

GOLDEN = Path(__file__).parents[1] / "golden" / "fire-release"  # FIRE's shape, invented content
CONTENT = json.loads((GOLDEN / "release.json").read_text())
QUERIES = read_queries(GOLDEN / "queries.tsv")
RELEASE = read_fire_release(GOLDEN / "release.json", QUERIES)


def rows(table: pd.DataFrame, *columns: str, pair: str = "") -> list[tuple[object, ...]]:
    """The rows of columns; pair: only those of this query and doc."""
    if pair:
        table = table[table["query_id"] + " " + table["doc_id"] == pair]
    return list(table[list(columns)].itertuples(index=False, name=None))


def test_every_answer_of_every_annotator_becomes_a_judgment() -> None:
    # Three captions; two have the text of the first, so its three answers count for both.
    assert len(RELEASE.judgments) == 2 * 3 + 3 + 2 + 1
    answers = [("ann1", "irrelevant"), ("ann2", "relevant"), ("ann3", "relevant")]
    assert rows(RELEASE.judgments, "annotator_id", "label", pair="ret1 v1") == answers


def test_labels_count_the_answers_that_agree_and_disagreements_are_kept() -> None:
    assert rows(RELEASE.labels, "query_id", "doc_id", "relevance", "n_judgments", "n_agree") == [
        ("ret0", "v1", 1, 1, 1),
        ("ret0", "v2", 0, 2, 2),
        ("ret1", "v1", 1, 3, 2),
        ("ret1", "v9", 1, 1, 1),
        ("ret2", "v1", 1, 1, 1),
        ("ret2", "v2", 0, 2, 2),
    ]
    assert len(RELEASE.qrels) == 6
    assert rows(RELEASE.disputes, *RELEASE.disputes.columns) == [("ret1", "v2", "no_majority", 1, 1)]


def test_the_models_that_proposed_a_pair_are_kept() -> None:
    assert rows(RELEASE.provenance, "model", pair="ret1 v1") == [("CLIP4CLIP",)]
    assert rows(RELEASE.provenance, "model", pair="ret0 v1") == [("CE",), ("SSB",)]


def test_shared_texts_entries_outside_and_the_licence_are_said() -> None:
    outside = [("a caption of no query", "v1", "no caption has this text")]
    assert rows(RELEASE.outside, "text", "doc_id", "reason") == outside
    licence, *notes = RELEASE.notes
    assert licence.startswith("licence: the file says 'CC BY 4.0'; FIRE's repository says CC BY-NC")
    assert notes == [
        "2 captions share 1 of the texts: judgments of such a text (2 of the entries) count for each of them",
        "1 of 6 entries are outside the collection",
    ]


def test_pairs_with_other_items_are_outside_when_items_are_given() -> None:
    items = check_items(pd.DataFrame({"doc_id": ["v1", "v2"], "media_url": ""}))
    release = read_fire_release(GOLDEN / "release.json", QUERIES, items=items)
    assert rows(release.outside, "text", "reason") == [
        ("a caption of no query", "no caption has this text"),
        ("A Cat  sleeps", "no such item"),
    ]
    assert {"v1", "v2"} == set(release.judgments["doc_id"])


def changed(folder: Path, change: Callable[[Any], object]) -> Release:
    content = copy.deepcopy(CONTENT)
    change(content)
    return read_fire_release(put(folder / "release.json", content), QUERIES)


def test_a_pair_with_two_labels_is_a_dispute(tmp_path: Path) -> None:
    again = CONTENT["annotations"][0] | {"label": "irrelevant"}
    again |= {"annotator_ids": ["ann9"], "annotator_labels": ["irrelevant"]}
    release = changed(tmp_path, lambda content: content["annotations"].append(again))
    disputes = rows(release.disputes, "query_id", "doc_id")
    assert {("ret0", "v1"), ("ret2", "v1"), ("ret1", "v2")} == set(disputes)
    assert ("ret0", "v1") not in rows(release.labels, "query_id", "doc_id")


def test_an_annotators_second_answer_replaces_the_first_and_is_counted(tmp_path: Path) -> None:
    twice = {"annotator_ids": ["ann1", "ann1"], "annotator_labels": ["irrelevant", "relevant"]}
    release = changed(tmp_path, lambda content: content["annotations"][2].update(twice))
    assert rows(release.judgments, "annotator_id", "label", pair="ret1 v1") == [("ann1", "relevant")]
    assert "1 answers replaced by a later one of the same annotator" in release.notes


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c.pop("annotations"), "no field 'annotations', expected the JSON of FIRE's release"),
        (lambda c: c["annotations"][1].pop("video_id"), "annotations[1]: no field 'video_id'"),
        (lambda c: c["annotations"][0].update(label="maybe"), "annotations[0]: label 'maybe', expected one"),
        (lambda c: c["annotations"][0].update(annotator_labels=[]), "1 annotators and 0 labels"),
        (lambda c: c["disagreements"].append(3), "disagreements[1]: 3, expected an object"),
    ],
)
def test_another_shape_is_an_error_that_says_where(change: Any, said: str, tmp_path: Path) -> None:
    refused(said, changed, tmp_path, change)


def written(queries: Any = QUERIES, judgments: Any = RELEASE.judgments, **more: Any) -> str:
    return fire_release_json(judgments, RELEASE.labels, RELEASE.disputes, queries, **more)


def test_what_is_written_reads_back_as_the_same_tables(tmp_path: Path) -> None:
    more = {"provenance": RELEASE.provenance, "dataset": "sample", "about": {"creator": "us"}}
    # One caption has the text of another: only pairs of the first two captions come back one to one.
    unique = QUERIES[QUERIES["query_id"] != "ret2"].reset_index(drop=True)
    release = read_fire_release(put(tmp_path / "f.json", written(**more)), unique)
    for name in ("judgments", "labels", "disputes", "provenance"):
        before, after = getattr(RELEASE, name), getattr(release, name)
        expected = before[before["query_id"] != "ret2"].reset_index(drop=True)
        pd.testing.assert_frame_equal(expected, after)
    assert written(**more) == written(**more)
    content = json.loads(written(**more))
    assert (content["license"], content["datasets"], content["creator"]) == ("CC BY-NC", ["sample"], "us")


def test_ids_that_no_answer_has_are_written_as_none() -> None:
    bare = RELEASE.judgments.drop(columns=["response_id", "queue_id"])
    one, other = (
        written(judgments=check_judgments(judgments), licence="CC0")
        for judgments in (bare, bare.assign(response_id="", queue_id=""))
    )
    assert one == other
    assert all(entry["response_ids"] == [] for entry in json.loads(one)["annotations"])


def test_a_judged_query_without_a_text_cannot_be_written() -> None:
    others = QUERIES[QUERIES["query_id"] != "ret1"]
    refused("1 judged queries have no text (ret1)", written, others, by=JoinError)
