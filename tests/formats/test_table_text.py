"""Result tables as text: every form, every digit where programs read."""

import io
import json

import pandas as pd
import pytest

from fire_toolkit import compare, table_text
from fire_toolkit.errors import UsageError
from fire_toolkit.matching.ranking import rank_run

TABLE = pd.DataFrame({"run_id": ["a_b", "c"], "n": [1200, 3], "value": [2 / 3, float("nan")], "is_new": True})


def test_forms_for_programs_keep_every_digit() -> None:
    assert [row["value"] for row in json.loads(table_text(TABLE, "json"))] == [2 / 3, None]
    for form, delimiter in (("csv", ","), ("tsv", "\t")):
        pd.testing.assert_frame_equal(
            TABLE, pd.read_csv(io.StringIO(table_text(TABLE, form)), sep=delimiter), check_dtype=False
        )


def test_forms_for_people_round_at_the_end_and_leave_missing_values_empty() -> None:
    lines = table_text(TABLE, "markdown", digits=2).splitlines()
    assert lines[2:] == [
        "| a_b      | 1,200 |    0.67 |     True |",
        "| c        |     3 |         |     True |",
    ]
    latex = table_text(TABLE, "latex")
    assert all(word in latex for word in ("\\toprule", "\\bottomrule", "a\\_b", "0.6667"))
    assert table_text(TABLE).splitlines()[0].split() == ["run_id", "n", "value", "is_new"]


def test_results_of_a_stage_are_tables_of_this_kind() -> None:
    rows = [(r, "q", d, -i) for r, docs in {"a": "xy", "b": "yx"}.items() for i, d in enumerate(docs)]
    run = rank_run(pd.DataFrame(rows, columns=["run_id", "query_id", "doc_id", "score"]))
    assert table_text(compare(run).table, "csv").startswith("run_a,run_b,query_id,measure,value\n")


def test_an_empty_table_has_its_header() -> None:
    assert table_text(TABLE[:0], "csv") == "run_id,n,value,is_new\n"
    assert table_text(TABLE[:0], "json") == "[]\n"
    assert "run_id" in table_text(TABLE[:0], "markdown")


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(
        UsageError, match="form 'xml' is unknown; expected one of table, latex, markdown, html, csv"
    ):
        table_text(TABLE, "xml")
