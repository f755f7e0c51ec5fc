"""The command `score` on files gives trec_eval's numbers, query by query."""

from pathlib import Path
from typing import Any

import pytest
from command import rows, run

HERE = Path(__file__).parent


def values(table: Any) -> dict[tuple[str, str], float]:
    return {(row["query_id"], row["measure"]): float(row["value"]) for row in rows(table)}


def test_score_equals_trec_eval_on_every_query() -> None:
    expected = values(HERE / "trec_eval.csv")
    options = [word for name in dict.fromkeys(name for _, name in expected) for word in ("-m", name)]
    files = [HERE / "run.txt", "--qrels", HERE / "qrels.txt"]
    found = values(run("score", *files, *options, "--per-query", "--format", "csv"))
    queries = {query for query, _ in expected} | {"q07", "all"}  # which is not in the run, and the means
    assert {query for query, _ in found} == queries
    for key, value in expected.items():
        assert found[key] == pytest.approx(value, abs=1e-6), key
