"""What the comparison with the oracle must see, and what it must pass."""

from typing import Any

import pytest
from oracles.compare import differences


def step(**changed: Any) -> dict[str, Any]:
    return {"code": 0, "stdout": "", "stderr": "", "files": {}} | changed


TABLE = "run_id,measure,value\nclip,C@1,0.5\nclip,AP,0.25\n"


@pytest.mark.parametrize(
    ("then", "now", "found"),
    [
        (step(stdout=TABLE), step(stdout=TABLE), []),
        (step(stdout="AP 0.3333333333333333"), step(stdout="AP 0.3333333333333334"), []),
        (step(stdout="AP 0.3333333"), step(stdout="AP 0.3333334"), ["line 1"]),
        (step(stdout="q007"), step(stdout="q7"), ["line 1"]),
        (step(stdout=TABLE), step(stdout=TABLE.replace("0.25", "0.26")), ["row 2 (clip AP 0.25), value"]),
        (step(stdout=TABLE), step(stdout=TABLE.replace("value", "score")), ["column value", "column score"]),
        (step(stdout=TABLE), step(stdout=TABLE + "ssb,C@1,1\n"), ["rows"]),
        (step(), step(code=1), ["exit code"]),
        (step(files={"a.csv": TABLE}), step(), ["line 1", "line 2", "line 3"]),
        (step(stderr="note: 3 queries"), step(stderr="note: 4 queries"), ["line 1"]),
    ],
)
def test_a_difference_is_named_by_its_cell(
    then: dict[str, Any], now: dict[str, Any], found: list[str]
) -> None:
    assert [cell for _, cell, _, _ in differences(then, now, "world: command")] == found


def test_a_line_is_spelled_by_each_side_in_its_own_way(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    from oracles import drive

    (tmp_path / "commands.txt").write_text("[all]\nscore --old => score\n[binary]\nagree\n[graded]\npool\n")
    monkeypatch.setattr(drive, "HERE", tmp_path)
    assert list(drive.lines_of("binary", "then")) == [("score", "score --old"), ("agree", "agree")]
    assert list(drive.lines_of("graded", "now")) == [("score", "score"), ("pool", "pool")]
    assert list(drive.lines_of("coco", "now")) == []
