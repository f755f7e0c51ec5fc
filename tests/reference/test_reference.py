"""The command `score` on files gives trec_eval's numbers, query by query."""

import csv
import io
from pathlib import Path

import pytest
from click.testing import CliRunner

from fire_toolkit.cli import main

HERE = Path(__file__).parent


def test_score_equals_trec_eval_on_every_query() -> None:
    with (HERE / "trec_eval.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    expected = {(row["query_id"], row["measure"]): float(row["value"]) for row in rows}
    options = [word for name in dict.fromkeys(row["measure"] for row in rows) for word in ("-m", name)]
    result = CliRunner().invoke(
        main,
        [
            "score",
            "--qrels",
            f"{HERE / 'qrels.txt'}",
            f"{HERE / 'run.txt'}",
            *options,
            "--per-query",
            "--format",
            "csv",
        ],
    )
    assert result.exit_code == 0, result.output
    found = {
        (row["query_id"], row["measure"]): float(row["value"])
        for row in csv.DictReader(io.StringIO(result.stdout))
        if row["query_id"] != "all"
    }
    assert {query for query, _ in found} == {query for query, _ in expected} | {"q07"}  # not in the run
    for key, value in expected.items():
        assert found[key] == pytest.approx(value, abs=1e-6), key
