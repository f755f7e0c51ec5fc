"""What a judge doubts is suggested, in its order, and changes nothing."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from fire_toolkit.cli import main
from fire_toolkit.errors import UsageError
from fire_toolkit.machines.doubts import doubtful_labels, doubtful_queries
from fire_toolkit.tables import check_labels, check_qrels

LABELS = pd.DataFrame(
    {"query_id": ["q", "q", "q", "r", "r"], "doc_id": list("abcab"), "relevance": [1, 0, 1, 0, 1]}
).assign(label="x")
SCORES = LABELS[["query_id", "doc_id"]].assign(score=[0.05, 0.95, 0.9, 0.1, None])


def test_a_label_is_doubted_by_the_chance_that_it_is_wrong() -> None:
    found = doubtful_labels(check_labels(LABELS), SCORES, least=0.9)
    assert found[["query_id", "doc_id", "relevance"]].values.tolist() == [["q", "a", 1], ["q", "b", 0]]
    assert found["doubt"].tolist() == [0.95, 0.95]
    assert doubtful_labels(check_labels(LABELS), SCORES, least=0.96).empty


def test_a_query_is_doubted_where_no_original_of_it_is_right() -> None:
    original = check_qrels(
        pd.DataFrame({"query_id": ["q", "q", "r"], "doc_id": ["a", "c", "a"], "relevance": 1})
    )
    # q has c, of which the judge is sure; the best of r is its own original, at .1
    assert doubtful_queries(original, SCORES).values.tolist() == [["r", "a", 0.1, 0.1]]
    assert doubtful_queries(original, SCORES, most=0.05).empty


def test_scores_that_are_no_probabilities_doubt_nothing() -> None:
    with pytest.raises(UsageError, match=r"scores lie between 0\.05 and 7; doubts need probabilities"):
        doubtful_labels(check_labels(LABELS), SCORES.fillna(7.0))
    with pytest.raises(UsageError, match=r"least doubt 0.5, expected a number above 0\.5"):
        doubtful_labels(check_labels(LABELS), SCORES, least=0.5)


def test_the_command_writes_what_next_round_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    LABELS.to_csv("labels.csv", index=False)
    SCORES.dropna().assign(judge_id="vlm").to_csv("machine.csv", index=False)
    before = Path("labels.csv").read_bytes()
    words = [
        "machine",
        "doubts",
        "vlm",
        "--machine",
        "machine.csv",
        "--labels",
        "labels.csv",
        "--out",
        "re.csv",
    ]
    found = CliRunner().invoke(main, words)
    assert found.exit_code == 0, found.output
    assert "2 labels doubted by judge vlm at 0.9 or more; suggestions, not errors" in found.stderr
    assert "next: fire-toolkit next-round --recheck re.csv" in found.stderr
    assert pd.read_csv("re.csv").iloc[:, :2].values.tolist() == [["q", "a"], ["q", "b"]]
    assert found.stdout.splitlines()[2].split() == ["q", "a", "x", "1", "0.0500", "0.9500"]
    assert Path("labels.csv").read_bytes() == before
