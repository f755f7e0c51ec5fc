"""TREC qrels of four and of five columns are read and written as they are."""

from pathlib import Path

import pandas as pd
import pytest

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.trec import read_trec_qrels, trec_qrels_text
from fire_toolkit.tables import check_qrels

FIVE = "1501 0 shot1_2 1 1\n1501 0 shot1_3 02 -1\n1502 0 shot9_1 all 0\n"


def test_strata_are_read_to_the_letter_and_written_back(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text(FIVE)
    qrels = read_trec_qrels(tmp_path / "qrels")
    assert list(qrels["stratum"]) == ["1", "02", "all"]
    assert list(qrels["relevance"]) == [1, -1, 0]
    assert trec_qrels_text(qrels) == FIVE


def test_four_columns_stay_four(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q 0 a 1\nq 0 b 0\n")
    qrels = read_trec_qrels(tmp_path / "qrels")
    assert list(qrels.columns) == ["query_id", "doc_id", "relevance", "source"]
    assert trec_qrels_text(qrels) == "q 0 a 1\nq 0 b 0\n"


def test_a_pair_of_no_stratum_has_a_dash() -> None:
    table = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "relevance": 1, "stratum": ["1", None]})
    assert trec_qrels_text(check_qrels(table)) == "q 0 a 1 1\nq 0 b - 1\n"


def test_columns_that_come_and_go_are_refused(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q 0 a 1 1\nq 0 b 1\n")
    with pytest.raises(FormatError, match="qrels:2: 4 fields, expected 5 as on the first line"):
        read_trec_qrels(tmp_path / "qrels")
