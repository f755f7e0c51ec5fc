"""Any table by the columns that are named, and then the way of all judgments: ledger to qrels."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import krippendorff
import numpy as np
import pandas as pd
import pytest
from answer_files import OF_MTURK, OF_PEOPLE, YES_NO, mturk, said, save, table, votes
from brought import put
from command import rows
from command import run as fire

import fire_toolkit
from examples import cases
from fire_toolkit.campaign.keys import pair_id
from fire_toolkit.campaign.ledger import Version
from fire_toolkit.campaign.numbers import add_given
from fire_toolkit.campaign.store import Store

pytestmark = pytest.mark.usefixtures("workspace")
OWN = {"query_id": "NA", "doc_id": "v1", "annotator_id": "ann", "label": "Yes"}


def test_in_python_a_table_gives_the_same_votes() -> None:
    rows = [mturk("A1", "NA", "007", "Yes"), mturk("A2", "NA", "007", "No"), mturk("A1", "NA", "007", "No")]
    rows += [mturk("A1", "1e5", "v1", "Unsure"), mturk("A3", "1e5", "v1", "No", "Rejected")]
    file = save("batch.csv", rows)
    fire("import", file, *OF_MTURK, *YES_NO, "--label", "Unsure=-")
    columns = dict(part.split("=") for part in OF_MTURK[1].split(","))
    labels = {"Yes": "relevant", "No": "irrelevant", "Unsure": "-"}
    rules = fire_toolkit.read_guideline("caption-relevance-v1")
    found = fire_toolkit.judgments_from_table(file, columns, guideline=rules, labels=labels)
    own = found.judgments[["query_id", "doc_id", "label"]].itertuples(index=False, name=None)
    assert sorted(own) == sorted(votes())
    assert sorted(found.dropped["reason"]) == sorted(row["reason"] for row in table("dropped.csv"))
    with pytest.raises(fire_toolkit.FireError, match="4 answers have a value that no --label names"):
        fire_toolkit.judgments_from_table(file, columns, guideline=rules)


def test_a_dry_run_shows_all_and_writes_nothing() -> None:
    rows = [
        {"who": "a", "q": "NA", "d": "v1", "said": "Yes", "age": "31"},
        {"who": "b", "q": "NA", "d": "v1", "said": "No", "age": "32"},
        {"who": "b", "q": "q4", "d": "v3", "said": "Yes", "age": "32"},
    ]
    before = {*Path().rglob("*")}
    file = save("survey.csv", rows)
    asked = ("import", file, *OF_PEOPLE, *YES_NO, "--dry-run")
    shown = fire(*asked).stdout
    for words in (
        "survey.csv: 3 rows of a table, 3 answers",
        "not read   age",
        "the guideline that was shown; when; how long it took; the round",
        "people     2 (under pseudonyms)",
        "pairs      2; by votes: 1 with 1, 1 with 2",
        "relevant   2 (Yes 2)",
        "irrelevant 1 (No 1)",
    ):
        assert words in shown
    found = json.loads(fire(*asked, "--format", "json").stdout)
    assert (found["people"], found["pairs_by_votes"]) == (2, {"1": 1, "2": 1})
    assert found["labels"] == {"relevant": {"Yes": 2}, "irrelevant": {"No": 1}}
    refused = fire(*asked[:4], "--dry-run", code=1)
    assert "'Yes' (2); 'No' (1)" in refused.stderr
    assert {*Path().rglob("*")} - {Path(".fire/lock")} == {*before, Path(file)}


def test_ids_that_the_collection_does_not_have() -> None:
    file = said(("a", "NA", "v1", "Yes"), ("a", "7", "v1", "Yes"), ("a", "q4", "x", "Yes"))
    asked = ("import", file, *OF_PEOPLE, *YES_NO)
    error = fire(*asked, code=1).stderr
    assert "2 answers are at pairs that the collection does not have: 1 unknown query ids (7)" in error
    assert not Path("campaign.sqlite").exists()
    assert "2 answers left out" in fire(*asked, "--skip-unknown").stderr
    assert votes() == [("NA", "v1", "relevant")]


def test_ids_that_the_collection_has_in_another_spelling_are_said() -> None:
    Path("collection/items.tsv").write_text("doc_id\tmedia_url\nv1\tv1.mp4\n100%25.wav\tx.wav\n")
    error = fire("import", said(("a", "NA", "100%.wav", "Yes")), *OF_PEOPLE, *YES_NO, code=1).stderr
    assert "1 unknown doc ids (100%.wav); write '100%.wav' as '100%25.wav', since all ids are" in error


@pytest.mark.slow
def test_answers_without_times_count_as_they_stand() -> None:
    def read(*labels: str) -> str:
        file = said(*(("a", "NA", "v1", label) for label in labels))
        return fire("import", file, *OF_PEOPLE, *YES_NO).stderr

    read("Yes", "No")
    assert votes() == [("NA", "v1", "irrelevant")]
    assert "0 new, 0 edited" in read("Yes", "No")
    read("No", "Yes")
    assert votes() == [("NA", "v1", "relevant")]
    read("No", "No")
    assert votes() == [("NA", "v1", "irrelevant")]


@cases("change", "words")
def test_what_is_wrong_is_said_with_its_row(change: Mapping[str, str], words: str) -> None:
    row = {"who": "a", "q": "NA", "d": "v1", "said": "Yes", "when": "", "s": "", "state": "", "n": "1"}
    columns = (OF_PEOPLE[0], f"{OF_PEOPLE[1]},time=when,seconds=s,status=state,round=n", *YES_NO)
    assert words in fire("import", save("t.csv", [row | change]), *columns, code=1).stderr


def test_a_table_without_answers_is_refused() -> None:
    file = said(("a", "NA", "v1", ""))
    assert "t.csv: no answer in it" in fire("import", file, *OF_PEOPLE, code=1).stderr
    assert not Path("judgments").exists()
    file, columns = said(("a", "NA", "v1", "{bad")), f"{OF_PEOPLE[1]}.match"
    assert "t.csv: row 1: " in fire("import", file, "--columns", columns, code=1).stderr


def test_a_table_without_its_columns_named_says_what_to_type() -> None:
    file = save("batch.csv", [mturk("A1", "NA", "v1", "Yes")])
    error = fire("import", file, code=1).stderr
    assert "MTurk with judgments made elsewhere" in error
    guess = "annotator=WorkerId,query=Input.caption_id,doc=Input.video_id,label=Answer.match"
    assert f"--columns '{guess}' --label VALUE=LABEL" in error
    error = fire("import", file, "--columns", "query=Input.caption_id,label=Answer.match", code=1).stderr
    assert f"batch.csv: which column is doc? If the guess is right, type --columns '{guess}'; found" in error
    error = fire("import", file, "--columns", "query=caption", code=1).stderr
    assert "no column caption (query); found HITId, " in error
    assert f"if the guess is right, type --columns '{guess}'" in error


def test_naming_one_column_does_not_forget_the_others() -> None:
    row = {"query_id": "NA", "doc_id": "007", "w": "ann", "a": "Yes", "duration_s": "4.5"}
    file = save("t.csv", [row | {"created_at": "2026-02-01T10:00:00Z"}])
    fire("import", file, "--columns", "annotator=w,label=a", *YES_NO)
    assert votes() == [("NA", "007", "relevant")]
    judged = table("judgments.csv")[0]
    assert (judged["created_at"], judged["duration_s"]) == ("2026-02-01T10:00:00.000000Z", "4.5")


def test_a_column_with_a_role_of_its_own_has_no_other() -> None:
    rows = [{"query_id": "v1", "doc_id": "NA", "annotator_id": "ann", "label": "Yes"}]
    fire("import", save("t.csv", rows), "--columns", "query=doc_id,doc=query_id", *YES_NO)
    assert votes() == [("NA", "v1", "relevant")]
    error = fire("import", "t.csv", "--columns", "query=doc_id", *YES_NO, code=1).stderr
    assert "t.csv: which column is doc? If the guess is right, type --columns 'annotator=ann" in error


def test_the_round_is_said_where_no_column_has_it() -> None:
    asked = ("--round", "2", *YES_NO)
    columns = ("--columns", "annotator=annotator_id")
    done = fire("import", save("t.csv", [OWN]), *columns, *asked)
    assert "count as round 1" not in done.stderr
    with_column = [OWN | {"doc_id": "007", "round": "3"}]
    fire("import", save("other.csv", with_column), *columns, *asked)
    assert [(each["doc_id"], each["round"]) for each in table("judgments.csv")] == [("007", "3"), ("v1", "2")]
    assert "1<=x" in fire("import", "t.csv", *columns, "--round", "0", code=2).stderr


def test_answers_are_of_the_last_round_that_handed_their_pairs_out() -> None:
    """Several pairs of one round: what rows of the record share stands there once."""
    given = [("2", "NA", "v1"), ("2", "007", "v1"), ("3", "q4", "v3")]
    with Store(Path("campaign.sqlite")) as store, store.transaction() as db:
        keys = (
            (int(number), 0, n, "", "A01", pair_id(*pair), "task") for n, (number, *pair) in enumerate(given)
        )
        add_given(db, list(keys))
    fire("import", said(*(("w", query, doc, "Yes") for _, query, doc in given)), *OF_PEOPLE, *YES_NO)
    found = sorted((row["query_id"], row["round"]) for row in table("judgments.csv"))
    assert found == [("007", "2"), ("NA", "2"), ("q4", "3")]


def test_a_file_read_again_moves_to_the_round_that_is_said_and_never_back_by_silence() -> None:
    words = ("import", save("t.csv", [OWN]), "--columns", "annotator=annotator_id", *YES_NO)
    told = [("0 new", "1"), ("1 edited", "2"), ("0 new, 0 edited", "2"), ("1 edited", "3"), ("0 edited", "3")]
    fire(*words)
    for (words_said, number), more in zip(told, [(), ("2",), (), ("3",), ("3",)], strict=True):
        done = fire(*words, *(("--round", *more) if more else ()))
        assert words_said in done.output
        assert [each["round"] for each in table("judgments.csv")] == [number]
    fire(*words[:-4], "--label", "Yes=irrelevant")
    assert [(each["label"], each["round"]) for each in table("judgments.csv")] == [("irrelevant", "3")]


def test_judgments_of_our_own_need_no_columns() -> None:
    """As a release has them: the next group puts them into exports/, and they count as made elsewhere."""
    rows = [
        {"query_id": "NA", "doc_id": "v1", "annotator_id": who, "label": label, "round": "2"}
        for who, label in (("annotator-1", "relevant"), ("annotator-2", "irrelevant"))
    ]
    file = save("exports/judgments.csv", rows)
    assert "people     2 (under pseudonyms)" in fire("import", file, "--dry-run").stdout
    assert not Path("judgments/judgments.csv").exists()
    told = fire("import").stderr
    assert "not known: which guideline people were shown" in told
    found = [(row["query_id"], row["doc_id"], row["label"], row["round"]) for row in table("judgments.csv")]
    assert sorted(found) == [("NA", "v1", "irrelevant", "2"), ("NA", "v1", "relevant", "2")]
    assert {row["kind"] for row in table("judgments.csv")} == {"elsewhere"}
    stages = {row["stage"]: row["state"] for row in json.loads(fire("status", "--format", "json").stdout)}
    assert stages["import"] == "done"
    assert "0 new" in fire("import").stderr


def test_a_table_that_changed_after_another_import_or_a_pull_is_named_for_import() -> None:
    """Each of them reads what it is for, and left the table stale for ever."""
    put("pool/pool.csv", "query_id,doc_id\nq4,v3\n")
    other = Path("../other.csv").resolve()
    Path(said(("a", "NA", "v1", "Yes"))).rename(other)
    fire("import", other, *OF_PEOPLE, *YES_NO)
    fire("tasks")
    fire("push", "--carrier", "page", "--annotator", "A01")
    fire("pull")
    save("exports/more.csv", [OWN | {"label": "relevant"}])
    for command in (("pull",), ("import", "exports/more.csv", "--columns", "label=label")):
        fire(*command)
        other.write_text(other.read_text() + "b,NA,v1,No\n")
        assert f"next: fire-toolkit import {other}\n" in fire("status").stderr
        assert "has changed); `fire-toolkit status` says what comes first" in fire("agree").stderr
        fire("import", other, *OF_PEOPLE, *YES_NO)
        stages = json.loads(fire("status", "--format", "json").stdout)
        assert {row["state"] for row in stages if row["stage"] in ("import", "pull")} == {"done"}


def test_columns_of_one_name_are_told_apart_by_number() -> None:
    """A form that asks the same twice, saved with empty columns at its end."""
    Path("form.csv").write_text(
        '"who";"q";"d";"fits";"fits";"age";"";""\n"a";"NA";"v1";"Yes";"No";"31";"";""\n'
    )
    columns = "annotator=who,query=q,doc=d,label=fits"
    error = fire("import", "form.csv", "--columns", columns, *YES_NO, code=1).stderr
    assert "form.csv: no column fits (label); found who, q, d, fits (1), fits (2), age, (1), (2)" in error
    fire("import", "form.csv", "--columns", f"{columns} (2)", *YES_NO)
    assert votes() == [("NA", "v1", "irrelevant")]


@pytest.mark.slow
def test_a_pair_that_two_carriers_asked_is_one_pair() -> None:
    put("pool/pool.csv", "query_id,doc_id\nNA,v1\n007,v1\nq4,007\n")
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
    versions = Store.versions

    def counted(self: Store, names: Iterable[str]) -> dict[str, list[Version]]:
        asked.append(len(found := list(names)))
        return versions(self, found)

    monkeypatch.setattr(Store, "versions", counted)
    done = fire("import", said(*twenty, ("w20", "NA", "v1", "No")), *OF_PEOPLE, *YES_NO)
    assert "1 new, 0 edited" in done.stderr
    assert max(asked) == 21
    assert len(asked) <= 3


def test_judgments_that_nothing_can_make_again_are_not_written_over() -> None:
    own = "query_id,doc_id,annotator_id,label\nq4,v1,ann,relevant\n"
    put("judgments/judgments.csv", own)
    found = fire("import", said(("w", "NA", "v1", "No")), *OF_PEOPLE, *YES_NO, code=1).stderr
    assert "would be lost" in found
    assert Path("judgments/judgments.csv").read_text() == own


def test_columns_are_needed_and_a_workspace(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = said(("w", "NA", "v1", "No"))
    assert "says where the ids are" in fire("import", file, "--label", "No=irrelevant", code=1).stderr
    Path("usual.csv").write_text("query_id,doc_id,annotator_id,label\nq4,v1,ann,No\n")
    assert "1 row" in fire("import", "usual.csv", "--label", "No=irrelevant", "--dry-run").stdout
    assert "without --out" in fire("import", file, *OF_PEOPLE, "--out", "j.csv", code=1).stderr
    monkeypatch.chdir(tmp_path_factory.mktemp("nowhere"))
    fire("import", said(("w", "NA", "v1", "No")), *OF_PEOPLE, "--out", "j.csv", code=1)


@pytest.mark.slow
def test_trec_2011_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trec2011_crowd: Path) -> None:
    """17,395 labels by 445 workers on 2,165 pairs (its README); alpha is krippendorff's of the raw file."""
    raw = trec2011_crowd / "trec11_vuurens.labels.csv"
    fire("init", tmp_path / "own")
    monkeypatch.chdir(tmp_path / "own")
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
    both = save("pairs.csv", [{"who": "w", "both": "cap 1|rain 100%.jpg", "said": "Yes"}])
    fire("import", both, "--columns", "annotator=who,pair=both,label=said", "--split", "|", *YES_NO)
    assert votes().count(("cap%201", "rain%20100%25.jpg", "relevant")) == 2
