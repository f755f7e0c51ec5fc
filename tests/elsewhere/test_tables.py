"""Any table by the columns that are named: what is read, refused, and said."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from answer_files import OF_MTURK, OF_PEOPLE, YES_NO, mturk, said, save, table, votes
from command import run as fire

import fire_toolkit

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


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"q": "two\twords"}, r"row 1: q (query) is 'two\twords', expected an id"),
        ({"when": "3/14/2026 10:00"}, "row 1: when is '3/14/2026 10:00': a US date"),
        ({"s": "-3"}, "row 1: s is '-3', expected seconds"),
        ({"state": "odd"}, "row 1: state is 'odd', expected a known word"),
        ({"n": "0"}, "row 1: round is '0', expected a whole number from 1"),
    ],
)
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
    save("exports/judgments.csv", rows)
    told = fire("import").stderr
    assert "not known: which guideline people were shown" in told
    found = [(row["query_id"], row["doc_id"], row["label"], row["round"]) for row in table("judgments.csv")]
    assert sorted(found) == [("NA", "v1", "irrelevant", "2"), ("NA", "v1", "relevant", "2")]
    assert {row["kind"] for row in table("judgments.csv")} == {"elsewhere"}
    stages = {row["stage"]: row["state"] for row in json.loads(fire("status", "--format", "json").stdout)}
    assert stages["import"] == "done"
    assert "0 new" in fire("import").stderr


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
