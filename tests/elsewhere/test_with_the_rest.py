"""Judgments made elsewhere go the way of all others: ledger, status, agreement, labels, qrels."""

import json
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path

import krippendorff
import numpy as np
import pandas as pd
import pytest
from answer_files import OF_PEOPLE, YES_NO, said, save, table, votes
from command import rows
from command import run as fire

from fire_toolkit.workspace.database import Database

pytestmark = pytest.mark.usefixtures("workspace")


@pytest.mark.slow
def test_a_pair_that_two_carriers_asked_is_one_pair() -> None:
    Path("pool").mkdir()
    Path("pool/pool.csv").write_text("query_id,doc_id\nNA,v1\n007,v1\nq4,007\n")
    Path("collection/qrels.txt").write_text("NA 0 v1 1\n007 0 v3 1\nq4 0 v3 1\n1e5 0 v1 1\n")
    fire("tasks", "pool/pool.csv", "--annotator", "A01")
    sheet = Path("tasks/tasks.A01.csv")
    tasks = rows(sheet)
    save("exports/tasks.A01.csv", [{**task, "label": "relevant"} for task in tasks])
    fire("import", "exports/tasks.A01.csv")
    others = said(("w1", "NA", "v1", "Yes"), ("w2", "007", "v1", "No"), ("w3", "1e5", "v3", "Yes"))
    fire("import", others, *OF_PEOPLE, *YES_NO)
    kinds = sorted((row["query_id"], row["kind"]) for row in table("judgments.csv"))
    assert kinds == [
        *(("007", "elsewhere"), ("007", "task"), ("1e5", "elsewhere")),
        *(("NA", "elsewhere"), ("NA", "task"), ("q4", "task")),
    ]
    assert "A01, round 1: 3 of 3 tasks" in fire("status").stderr
    assert "6 judgments of 4 pairs by 4 annotators" in fire("agree").stderr
    fire("resolve")
    labels = {row["query_id"]: (row["label"], row["n_judgments"]) for row in rows(Path("labels/labels.csv"))}
    assert labels == {"1e5": ("relevant", "1"), "NA": ("relevant", "2"), "q4": ("relevant", "1")}
    assert [row["query_id"] for row in rows(Path("labels/disputes.csv"))] == ["007"]
    fire("augment")
    assert "NA 0 v1 1\n" in Path("augmented/qrels.txt").read_text()
    assert "q4 0 007 1\n" in Path("augmented/qrels.txt").read_text()


@pytest.mark.slow
def test_judgments_that_were_there_before_stay() -> None:
    answer = {"id": 1, "completed_by": 5, "created_at": "2026-01-01T00:00:00Z", "unique_id": "u"}
    choice = {"from_name": "relevance", "type": "choices", "value": {"choices": ["relevant"]}}
    task = {
        "id": 1,
        "data": {"query_id": "q4", "doc_id": "v1"},
        "annotations": [{**answer, "result": [choice]}],
    }
    save("exports/own.json", [task])
    both = [("NA", "v1", "irrelevant"), ("q4", "v1", "relevant")]
    fire("import")
    assert votes() == both[1:]
    fire("import", said(("w1", "NA", "v1", "No")), *OF_PEOPLE, *YES_NO)
    assert votes() == both
    fire("import")
    assert votes() == both


def test_all_rows_of_a_file_are_looked_up_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    twenty = [(f"w{n}", "NA", "v1", "Yes") for n in range(20)]
    fire("import", said(*twenty), *OF_PEOPLE, *YES_NO)
    asked: list[int] = []
    wanted = Database.wanted

    def counted(self: Database, names: Iterable[str]) -> AbstractContextManager[None]:
        asked.append(len(found := list(names)))
        return wanted(self, found)

    monkeypatch.setattr(Database, "wanted", counted)
    done = fire("import", said(*twenty, ("w20", "NA", "v1", "No")), *OF_PEOPLE, *YES_NO)
    assert "1 new, 0 edited" in done.stderr
    assert max(asked) == 21
    assert len(asked) <= 3


def test_judgments_that_nothing_can_make_again_are_not_written_over() -> None:
    Path("judgments").mkdir()
    own = "query_id,doc_id,annotator_id,label\nq4,v1,ann,relevant\n"
    Path("judgments/judgments.csv").write_text(own)
    assert (
        "so it would be lost"
        in fire("import", said(("w", "NA", "v1", "No")), *OF_PEOPLE, *YES_NO, code=1).stderr
    )
    assert Path("judgments/judgments.csv").read_text() == own


def test_columns_are_needed_and_a_workspace(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = said(("w", "NA", "v1", "No"))
    assert "says where the ids are" in fire("import", file, "--label", "No=irrelevant", code=1).stderr
    assert "without --out" in fire("import", file, *OF_PEOPLE, "--out", "j.csv", code=1).stderr
    monkeypatch.chdir(tmp_path_factory.mktemp("nowhere"))
    fire("import", said(("w", "NA", "v1", "No")), *OF_PEOPLE, "--out", "j.csv", code=1)


@pytest.mark.slow
def test_trec_2011_from_its_raw_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trec2011_crowd: Path
) -> None:
    """17,395 labels by 445 workers on 2,165 pairs (its README); alpha is krippendorff's of the raw file."""
    raw = trec2011_crowd / "trec11_vuurens.labels.csv"
    monkeypatch.chdir(tmp_path)
    fire("init", ".")
    columns = ("--columns", "pair=task,annotator=worker,label=label", "--split", "_")
    labels = ("--label", "1=relevant", "--label", "0=irrelevant")
    done = json.loads(fire("import", raw, *columns, *labels, "--format", "json").stdout)
    assert (done["new"], done["judgments"], done["dropped"]) == (17_395, 17_395, {})
    judgments = pd.read_csv("judgments/judgments.csv", dtype="str", keep_default_na=False)
    assert (judgments["annotator_id"].nunique(), len(judgments)) == (445, 17_395)
    assert len(judgments[["query_id", "doc_id"]].drop_duplicates()) == 2_165
    wanted = pd.read_csv(raw, dtype="str")
    counts = wanted.groupby("task")["label"].value_counts().unstack(fill_value=0).to_numpy(dtype=np.int64)
    expected = krippendorff.alpha(value_counts=counts, level_of_measurement="nominal")
    assert expected == pytest.approx(0.1658, abs=5e-5)
    fire("agree")
    found = pd.read_csv("agreement/agreement.csv")
    alpha = found.loc[found["statistic"] == "alpha", "value"].iloc[0]
    assert alpha == pytest.approx(expected, abs=1e-12)
    by_pair = judgments.assign(task=judgments["query_id"] + "_" + judgments["doc_id"])
    one = by_pair.groupby("task")["label"].apply(lambda labels: int((labels == "relevant").sum()))
    other = wanted.groupby("task")["label"].apply(lambda labels: int((labels == "1").sum()))
    assert one.to_dict() == other.to_dict()
    again = json.loads(fire("import", raw, *columns, *labels, "--format", "json").stdout)
    assert (again["new"], again["edited"], again["judgments"]) == (0, 0, 17_395)


def test_ids_with_blanks_are_those_of_the_collection() -> None:
    """All ids of the benchmark are percent-encoded where one has a blank, and so are those of a table."""
    for file in Path("collection").iterdir():
        file.unlink()
    Path("theirs.csv").write_text("caption_id,caption,image\ncap 1,a dog,rain 100%.jpg\n2,a cat,v.jpg\n")
    fire("add-collection", "theirs.csv", "--columns", "query_id=caption_id,text=caption,doc_id=image")
    two = [("w1", "cap 1", "rain 100%.jpg", "Yes"), ("w2", "2", "rain 100%.jpg", "No")]
    fire("import", said(*two), *OF_PEOPLE, *YES_NO)
    found = [(row["query_id"], row["doc_id"], row["label"]) for row in table("judgments.csv")]
    assert found == [("2", "rain%20100%25.jpg", "irrelevant"), ("cap%201", "rain%20100%25.jpg", "relevant")]
