"""What a judge doubts is suggested, in its order, and changes nothing."""

from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner, Result

from fire_toolkit.cli import main
from fire_toolkit.formats.tables.table_files import read_pool

LABELS = pd.DataFrame(
    {"query_id": ["q", "q", "q", "r", "r"], "doc_id": list("abcab"), "relevance": [1, 0, 1, 0, 1]}
).assign(label="x")
SCORES = LABELS[["query_id", "doc_id"]].assign(score=[0.05, 0.95, 0.9, 0.1, None])


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fire.toml").write_text("")
    for folder in ("labels", "judgments", "machine/vlm"):
        (tmp_path / folder).mkdir(parents=True)
    LABELS.to_csv("labels/labels.csv", index=False)
    LABELS.drop(columns="relevance").assign(annotator_id="A").to_csv("judgments/judgments.csv", index=False)
    SCORES.dropna().assign(judge_id="vlm").to_csv("machine/vlm/machine.csv", index=False)
    return tmp_path


def next_round(*words: str) -> Result:
    return CliRunner().invoke(main, ["next-round", "--ask", "doubts", *words])


def test_next_round_asks_what_the_judge_doubts_as_rechecks(judged: Path) -> None:
    before = Path("labels/labels.csv").read_bytes()
    found = next_round()
    assert found.exit_code == 0, found.output
    assert "2 labels doubted by judge vlm at 0.9 or more; suggestions, not errors" in found.stderr
    pool = read_pool("plan/round-2")
    assert pool[["query_id", "doc_id"]].values.tolist() == [["q", "a"], ["q", "b"]]
    assert set(pool["design_class"]) == {"recheck"}
    assert Path("labels/labels.csv").read_bytes() == before
    most = next_round("--judge", "vlm", "--budget", "1", "--out", "one")
    assert most.exit_code == 0, most.output
    assert read_pool("one")[["query_id", "doc_id"]].values.tolist() == [["q", "a"]]


def test_scores_that_are_no_probabilities_doubt_nothing(judged: Path) -> None:
    SCORES.fillna(7.0).assign(judge_id="vlm").to_csv("machine/vlm/machine.csv", index=False)
    found = next_round()
    assert found.exit_code == 1
    assert "scores lie between 0.05 and 7; doubts need probabilities, from 0 to 1" in found.stderr


def test_doubts_go_alone_and_name_their_judge(judged: Path) -> None:
    for words in (
        ["--ask", "dispute"],
        ["--recheck", "x.csv"],
        ["--random-share", "0.1"],
        ["--ask", "audit"],
    ):
        assert next_round(*words).exit_code == 2
    other = next_round("--judge", "gpt")
    assert (other.exit_code, "judge 'gpt': no machine/gpt" in other.stderr) == (1, True)
    plain = CliRunner().invoke(main, ["next-round", "--judge", "vlm"])
    assert (plain.exit_code, "--judge is for --ask doubts" in plain.stderr) == (2, True)
