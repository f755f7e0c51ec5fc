"""Pay by measured seconds, and completion codes for whoever is done."""

from __future__ import annotations

import csv
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
