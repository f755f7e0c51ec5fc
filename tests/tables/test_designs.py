"""What is no probability, or two samples in one table, is refused in one line."""

from pathlib import Path

import pandas as pd
import pytest

from fire_toolkit.errors import TableError
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.tables.delimited import delimited_text
from fire_toolkit.formats.tables.table_files import read_query_design
from fire_toolkit.tables import check_pool, check_qrels, check_query_design

DESIGN = pd.DataFrame(
    {
        "query_id": ["r", "q", "s"],
        "depth": [10, 50, 10],
        "is_sampled": [False, True, False],
        "inclusion_probability": 1 / 3,
        "seed": 4,
    }
)
PAIRS = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "stratum": "11:50:0.1"})


def test_a_design_is_read_as_it_was_written_in_the_order_of_the_qrels(tmp_path: Path) -> None:
    file = tmp_path / "query_design.csv"
    file.write_text(delimited_text(check_query_design(DESIGN)))
    assert file.read_text().splitlines()[:3] == [
        "query_id,depth,is_sampled,inclusion_probability,seed",
        "r,10,False,0.3333333333333333,4",
        "q,50,True,0.3333333333333333,4",
    ]
    pd.testing.assert_frame_equal(read_query_design(tmp_path), check_query_design(DESIGN))


@pytest.mark.parametrize("bad", [0, -0.1, 1.01, float("nan"), "often"])
def test_what_is_no_probability_is_refused(bad: object) -> None:
    with pytest.raises(TableError, match=r"inclusion_probability is (no|not|missing).*\(3 of 3"):
        check_query_design(DESIGN.assign(inclusion_probability=bad))
    if not pd.isna(bad):
        with pytest.raises(TableError, match="inclusion_probability is no"):
            check_pool(PAIRS.assign(inclusion_probability=bad))


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("seed", [4, 5, 4], "seed 4 and 5, expected one; a sample of two designs"),
        ("inclusion_probability", [0.1, 0.2, 0.3], "inclusion_probability 0.1 and 0.2, …, expected one"),
        ("depth", [10, 50, 11], "depth of the other queries 10 and 11, expected one"),
        ("depth", [10, 10, 10], "the sample are judged to depth 10, the others to 10; expected a greater"),
    ],
)
def test_two_designs_in_one_file_are_refused(column: str, values: list[object], message: str) -> None:
    with pytest.raises(TableError, match=message):
        check_query_design(DESIGN.assign(**{column: values}), where="query_design.csv")


def test_two_samples_in_one_pool_or_qrels_are_refused() -> None:
    mixed = PAIRS.assign(inclusion_probability=[0.1, 0.2])
    with pytest.raises(TableError, match=r"pool: stratum 11:50:0.1: inclusion_probability 0.1 and 0.2"):
        check_pool(mixed)
    with pytest.raises(TableError, match=r"qrels: stratum 11:50:0.1: inclusion_probability 0.1 and 0.2"):
        check_qrels(mixed.assign(relevance=1))
    with pytest.raises(TableError, match="seed 1 and 2, expected one"):
        check_pool(PAIRS.assign(seed=[1, 2]))
    partly = {"stratum": ["", "11:50:0.1"], "inclusion_probability": [None, 0.1]}
    sound = check_qrels(PAIRS.assign(relevance=1, **partly))
    assert sound["inclusion_probability"].tolist()[1:] == [0.1]


def test_strata_that_overlap_are_of_two_samples() -> None:
    mixed = PAIRS.assign(stratum=["1:10:1", "6:50:0.2"], inclusion_probability=[1.0, 0.2])
    with pytest.raises(TableError, match=r"pool: strata 1:10:1 and 6:50:0.2 overlap"):
        check_pool(mixed)
    side_by_side = mixed.assign(stratum=["1:5:1", "6:50:0.2"])
    assert check_pool(side_by_side)["stratum"].tolist() == ["1:5:1", "6:50:0.2"]
    with pytest.raises(TableError, match="strata 1:10:1 and deep; a sample of two designs"):
        check_pool(mixed.assign(stratum=["1:10:1", "deep"]))


def test_text_of_five_columns_mixes_no_designs_either(tmp_path: Path) -> None:
    for one, other, said in (("1:10:1", "6:50:0.2", "overlap"), ("shallow", "1:10:1", "1:10:1 and shallow")):
        (tmp_path / "qrels.txt").write_text(f"q 0 a {one} 1\nq 0 b {other} 0\n")
        with pytest.raises(TableError, match=said):
            read_qrels(tmp_path / "qrels.txt")
