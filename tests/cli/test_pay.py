"""Pay by measured seconds, and completion codes for whoever is done."""

from __future__ import annotations

import csv
import hashlib
import hmac
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Fire = Callable[..., Result]


@pytest.fixture
def root(fire: Fire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """W01 has done all six tasks, one without a time and one of an hour; W02 two of six, W03 nothing."""
    monkeypatch.chdir(tmp_path)
    fire("init", ".")
    (tmp_path / "pool").mkdir()
    (tmp_path / "pool/pool.csv").write_text("query_id,doc_id\n" + "".join(f"q{n},v{n}\n" for n in range(18)))
    queries = "".join(f"q{n}\ta dog runs {n}\n" for n in range(18))
    (tmp_path / "collection/queries.tsv").write_text("query_id\ttext\n" + queries)
    fire("tasks", "pool/pool.csv", "--overlap", "0", "--annotators", "W01,W02,W03")
    for name, seconds in (("W01", ["10", "20", "30", "20", "", "3600"]), ("W02", ["36", "36"])):
        with (tmp_path / f"tasks/tasks.{name}.csv").open(newline="", encoding="utf-8") as stream:
            pairs = [row["pair_id"] for row in csv.DictReader(stream)]
        rows = [f"{pair},relevant,{time}\n" for pair, time in zip(pairs, seconds, strict=False)]
        text = "pair_id,label,duration_s\n" + "".join(rows)
        (tmp_path / f"exports/back.{name}.csv").write_text(text)
    fire("import")
    return tmp_path


def test_measured_seconds_are_paid_and_codes_go_to_who_is_done(fire: Fire, root: Path) -> None:
    rows = list(
        csv.DictReader(fire("annotators", "pay", "--hourly", "10", "--format", "csv").stdout.splitlines())
    )
    one, two = rows
    assert (one["annotator_id"], one["n_answers"], one["n_untimed"], one["n_capped"]) == (
        "W01",
        "6",
        "1",
        "1",
    )
    assert float(one["seconds"]) == 10 + 20 + 30 + 20 + 20 + 600  # the untimed at the median of the others
    assert float(one["pay"]) == 1.94  # 700 / 3600 * 10
    assert (two["annotator_id"], float(two["seconds"]), float(two["pay"])) == ("W02", 72.0, 0.2)
    assert len(one["completion_code"]) == 10
    assert two["completion_code"] == ""
    told = fire("annotators", "pay", "--hourly", "10", "--longest", "30")
    assert "0.53 in all, at 10.00 an hour; longer answers count as 30 s" in told.stderr  # .36 and .17
    again = json.loads(fire("annotators", "pay", "--hourly", "10", "--format", "json").stdout)
    assert again[0]["completion_code"] == one["completion_code"]
    assert (root / ".labelstudio/completion.key").stat().st_mode & 0o077 == 0


def test_before_anybody_has_answered_nothing_is_owed(fire: Fire, root: Path) -> None:
    for path in (root / "ledger").glob("*"):
        path.unlink()
    assert "0.00 in all" in fire("annotators", "pay", "--hourly", "10").stderr


def test_submitted_codes_are_checked_row_by_row(fire: Fire, root: Path) -> None:
    pay = ("annotators", "pay", "--hourly", "10")
    mine = json.loads(fire(*pay, "--format", "json").stdout)[0]["completion_code"]
    # What W02 would get for a round that is not done, by the definition of the code.
    secret = (root / ".labelstudio/completion.key").read_text().strip().encode()
    early = hmac.new(secret, b"1/W02", hashlib.sha256).hexdigest()[:10].upper()

    def checked(*lines: str, header: str = "annotator_id,code") -> tuple[list[str], str]:
        Path("codes.csv").write_text("\n".join([header, *lines]) + "\n")
        found = fire(*pay, "--codes", "codes.csv", "--format", "csv")
        return [row["code_check"] for row in csv.DictReader(found.stdout.splitlines())], found.stderr

    assert checked(f"W01, {mine.lower()} ,x", f"W02,{early},", header="annotator,completion_code,when")[
        0
    ] == [
        "right",
        "not done",
    ]
    assert checked("W02,")[0] == ["missing", ""]
    states, said = checked("W01,ABCDEFGHIJ", f"W02,{mine}", f"W09,{early[::-1]}")
    assert states == ["wrong", ""]
    assert "warning: codes.csv, line 2: W01 submitted ABCDEFGHIJ, which is nobody’s code" in said
    assert "note: warning" not in said
    assert f"line 3: W02 submitted {mine}, the code of W01 in round 1" in said
    assert f"line 4: W09 submitted {early[::-1]}, and has answered nothing here" in said
    assert "code_check" in fire(*pay, "--codes", "codes.csv").stdout
    Path("codes.csv").write_text("worker,code\nW01,A\n")
    told = fire(*pay, "--codes", "codes.csv", code=1).stderr
    assert "codes.csv:1: no column annotator_id; expected annotator_id and code, found worker, code" in told


def test_a_damaged_secret_makes_no_codes(fire: Fire, root: Path) -> None:
    fire("annotators", "pay", "--hourly", "10")
    (root / ".labelstudio/completion.key").write_text("\n")
    said = fire("annotators", "pay", "--hourly", "10", code=1).stderr
    assert (
        "completion.key: expected 64 hexadecimal digits; restore it from a copy: codes that were given"
        in said
    )


def test_by_hand_there_is_no_training_and_that_is_said(fire: Fire, root: Path) -> None:
    said = fire("annotators", "qualify", "--pass-mark", "0.8").stderr
    assert "no round has training tasks; `push --training` sends them" in said
