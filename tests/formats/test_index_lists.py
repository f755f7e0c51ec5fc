"""Lines of doc places, as TeachText's challenge files have them: ranked by the ids beside them."""

from pathlib import Path

import numpy as np
import pytest

from examples import cases
from fire_toolkit.errors import FormatError
from fire_toolkit.formats.runs.ingest import Request, ingest
from fire_toolkit.formats.runs.read import read_run

QUERIES, DOCS = ["v1#0", "v1#1", "v2#0"], ["v1", "v2", "v3", "v4"]
IDS = Request(query_ids=QUERIES, doc_ids=DOCS)


def lists(folder: Path, text: str) -> Path:
    (folder / "p.csv").write_text(text)
    return folder / "p.csv"


def test_the_first_columns_of_a_sorted_matrix_give_the_matrix_s_lists(tmp_path: Path) -> None:
    """What numpy.savetxt writes of the first 3 columns of argsort(-sims), as TeachText does."""
    sims = np.random.default_rng(0).permutation(12).reshape(3, 4)
    np.savetxt(tmp_path / "p.csv", np.argsort(-sims, axis=1)[:, :3], delimiter=",", fmt="%d")
    np.save(tmp_path / "m.npy", sims)
    by_place = ingest(tmp_path / "p.csv", IDS)
    by_score = ingest(tmp_path / "m.npy", Request(query_ids=QUERIES, doc_ids=DOCS, depth=3))
    assert by_place.report["reader"] == "places"
    columns = ["query_id", "doc_id", "rank"]
    assert by_place.run[columns].astype(str).equals(by_score.run[columns].astype(str))


def test_other_commands_read_them_with_ids_in_files(tmp_path: Path) -> None:
    (tmp_path / "p.query_ids.txt").write_text("\n".join(QUERIES))
    np.save(tmp_path / "docs.npy", DOCS)
    run = read_run(lists(tmp_path, "0,3\n1,0\n3,1\n"), doc_ids=tmp_path / "docs.npy")
    assert list(zip(run["query_id"], run["doc_id"], strict=True))[:3] == [
        ("v1#0", "v1"),
        ("v1#0", "v4"),
        ("v1#1", "v2"),
    ]


@pytest.mark.parametrize(
    "text", ["[[0, 3, 1],\n [1],\n [3, 1]]", "[0, 3, 1]\n[1]\n[3, 1]\n", "[\n[0,3,1],[1],[3,1]\n]\n"]
)
def test_lists_of_places_in_json_may_differ_in_length(text: str, tmp_path: Path) -> None:
    run = ingest(lists(tmp_path, text), IDS).run
    expected = [
        ("v1#0", "v1"),
        ("v1#0", "v4"),
        ("v1#0", "v2"),
        ("v1#1", "v2"),
        ("v2#0", "v4"),
        ("v2#0", "v2"),
    ]
    assert list(zip(run["query_id"], run["doc_id"], strict=True)) == expected


@cases("text", "said")
def test_lists_of_places_in_json_that_do_not_fit_are_told(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError) as caught:
        ingest(lists(tmp_path, text), IDS)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0,1\n1,0\n", "2 lists, but 3 query ids; expected a list for each query"),
        ("0,1\n1,4\n0,1\n", "place 4, but 4 doc ids; expected places from 0 to 3"),
        ("0,1\n1\n0,1\n", "p.csv:2: '1', expected 2 whole numbers, as on the first line"),
        ("0,1\n\n1,x\n0,1\n", "p.csv:3: '1,x', expected 2 whole numbers"),
        ("0,1\n1,1\n0,1\n", "p.csv:2: a doc appears twice"),
        ("0,1\n1," + "9" * 30 + "\n0,1\n", "p.csv:2: '1,999"),
    ],
)
def test_what_does_not_fit_is_told(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError) as caught:
        ingest(lists(tmp_path, text), IDS)
    assert said in str(caught.value)


def test_without_ids_places_are_no_run(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"p\.csv: no query ids and doc ids; give --query-ids"):
        read_run(lists(tmp_path, "0,1\n"))
