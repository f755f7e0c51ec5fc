"""Tables of other tools, as their own documentation and source have them."""

import csv
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

import fire_toolkit
from fire_toolkit.campaign.store import read_ledger

Fire = Callable[..., Result]
Votes = Callable[[], list[tuple[str, ...]]]
Table = Callable[[str], list[Mapping[str, str]]]
YES_NO = ("--label", "Yes=relevant", "--label", "No=irrelevant")
MTURK = [
    "HITId",
    "HITTypeId",
    "Title",
    "Reward",
    "CreationTime",
    "MaxAssignments",
    "AssignmentId",
    "WorkerId",
    "AssignmentStatus",
    "AcceptTime",
    "SubmitTime",
    "AutoApprovalTime",
    "ApprovalTime",
    "RejectionTime",
    "RequesterFeedback",
    "WorkTimeInSeconds",
    "LifetimeApprovalRate",
    "Input.caption_id",
    "Input.video_id",
    "Answer.match",
    "Approve",
    "Reject",
]
OF_MTURK = ("--columns", "query=Input.caption_id,doc=Input.video_id,label=Answer.match")


def save_csv(name: str, rows: list[Mapping[str, Any]], columns: list[str] | None = None) -> str:
    with Path(name).open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, columns or list(rows[0]), restval="", quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(rows)
    return name


def save_lines(name: str, rows: list[Mapping[str, Any]]) -> str:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return name


def mturk(worker: str, query: str, doc: str, answer: str, status: str = "Approved") -> Mapping[str, str]:
    return {
        **{"WorkerId": worker, "AssignmentStatus": status, "SubmitTime": "Mon Jun 08 15:27:14 PDT 2015"},
        **{
            "WorkTimeInSeconds": "31",
            "Input.caption_id": query,
            "Input.video_id": doc,
            "Answer.match": answer,
        },
    }


def test_mturk_keeps_what_was_approved_and_dates_it(
    fire: Fire, workspace: Path, votes: Votes, table: Table
) -> None:
    rows = [mturk("A1", "NA", "007", "Yes"), mturk("A2", "NA", "007", "No", "Submitted")]
    file = save_csv("batch.csv", [*rows, mturk("A3", "1e5", "v1", "No", "Rejected")], MTURK)
    fire("import", file, *OF_MTURK, *YES_NO)
    assert votes() == [("NA", "007", "irrelevant"), ("NA", "007", "relevant")]
    judged = table("judgments.csv")[0]
    assert (judged["created_at"], judged["duration_s"]) == ("2015-06-08T22:27:14.000000Z", "31.0")
    assert [(row["query_id"], row["reason"], row["detail"]) for row in table("dropped.csv")] == [
        ("1e5", "skipped", "annotation 3 / left out (Rejected)")
    ]
    assert not re.search(rb"\bA[123]\b", b"".join(path.read_bytes() for path in Path("judgments").iterdir()))


def test_in_python_a_table_gives_the_same_votes(
    fire: Fire, workspace: Path, votes: Votes, table: Table
) -> None:
    rows = [mturk("A1", "NA", "007", "Yes"), mturk("A2", "NA", "007", "No"), mturk("A1", "NA", "007", "No")]
    rows += [mturk("A1", "1e5", "v1", "Unsure"), mturk("A3", "1e5", "v1", "No", "Rejected")]
    file = save_csv("batch.csv", rows, MTURK)
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


@pytest.mark.slow
def test_work_that_is_rejected_later_counts_no_more(fire: Fire, workspace: Path, votes: Votes) -> None:
    vote = [("NA", "007", "relevant")]
    for status, expected in (("Submitted", vote), ("Rejected", []), ("Approved", vote), ("Approved", vote)):
        fire(
            "import",
            save_csv("batch.csv", [mturk("A1", "NA", "007", "Yes", status)], MTURK),
            *OF_MTURK,
            *YES_NO,
        )
        assert votes() == expected, status


@pytest.mark.parametrize(
    ("columns", "label"),
    [
        ({"Answer.taskAnswers": '[{"match":{"label":"Yes"}}]'}, "Answer.taskAnswers.match.label"),
        ({"Answer.taskAnswers": '[{"match":{"No":false,"Yes":true}}]'}, "Answer.taskAnswers.match"),
        ({"Answer.match.Yes": "true", "Answer.match.No": "false"}, "Answer.match"),
        ({"Answer.is it, or not=?": "Yes"}, "Answer.is it, or not=?"),
    ],
)
def test_mturk_writes_answers_in_three_ways(
    fire: Fire, workspace: Path, votes: Votes, columns: dict[str, str], label: str
) -> None:
    row = {name: value for name, value in mturk("A1", "NA", "v1", "").items() if name != "Answer.match"}
    file = save_csv("batch.csv", [{**row, **columns}])
    named = f"query=Input.caption_id,label={label},doc=Input.video_id"
    fire("import", file, "--columns", named, *YES_NO)
    assert votes() == [("NA", "v1", "relevant")]


def prodigy(by: str, query: str, **more: Any) -> Mapping[str, Any]:
    return {
        **{"text": "a dog", "meta": {"caption_id": query, "video_id": "v1"}, "_input_hash": -91551573},
        **{"_task_hash": -1162253049, "_view_id": "choice", "_timestamp": 1707211049, "_annotator_id": by},
        **{"_session_id": by, **more},
    }


def test_prodigy_choices_and_accept_or_reject(
    fire: Fire, workspace: Path, votes: Votes, table: Table
) -> None:
    options = {"options": [{"id": "Yes", "text": "Yes"}, {"id": "No", "text": "No"}]}
    answers = [
        prodigy("pairs-ann", "NA", accept=["Yes"], answer="accept", **options),
        prodigy("pairs-bob", "NA", accept=[], answer="ignore", **options),
        prodigy("pairs-bob", "007", accept=["Yes", "No"], answer="accept", **options),
        prodigy("2024-02-06_10-17-19", "1e5", accept=["No"], answer="accept", **options),
    ]
    pair = ("--columns", "query=meta.caption_id,doc=meta.video_id")
    done = fire("import", save_lines("choice.jsonl", answers), *pair, *YES_NO)
    assert votes() == [("1e5", "v1", "irrelevant"), ("NA", "v1", "relevant")]
    assert sorted(row["reason"] for row in table("dropped.csv")) == ["several_labels", "skipped"]
    assert table("judgments.csv")[0]["created_at"] == "2024-02-06T09:17:29.000000Z"
    assert "1 answers are from unnamed sessions" in done.stderr
    binary = [prodigy(by, "q4", answer=by) for by in ("accept", "reject", "ignore")]
    labels = ("--label", "accept=relevant", "--label", "reject=irrelevant")
    fire("import", save_lines("binary.jsonl", binary), *pair, *labels)
    assert [vote[2] for vote in votes() if vote[0] == "q4"] == ["irrelevant", "relevant"]


ARGILLA = {
    "id": "1",
    "status": "completed",
    "_server_id": "s",
    "metadata": {},
    "suggestions": {},
    "vectors": {},
}


@pytest.mark.slow
def test_argilla_flat_and_nested(fire: Fire, workspace: Path, votes: Votes) -> None:
    flat = {
        **{"id": "1", "status": "completed", "_server_id": "s", "caption_id": "NA", "video_id": "v1"},
        **{"match.responses": ["Yes", "No", "No"], "match.responses.users": ["u1", "u2", "u3"]},
        "match.responses.status": ["submitted", "draft", "discarded"],
    }
    Path("flat.json").write_text(json.dumps([flat]))
    done = fire(
        "import", "flat.json", "--columns", "query=caption_id,doc=video_id,label=match.responses", *YES_NO
    )
    assert votes() == [("NA", "v1", "relevant")]
    assert "1 not submitted (draft)" in done.stderr
    responses = {"match": [{"value": "Yes", "user_id": "u4"}, {"value": "No", "user_id": "u5"}]}
    nested = ARGILLA | {"fields": {"caption_id": "007", "video_id": "v1"}, "responses": responses}
    Path("nested.json").write_text(json.dumps([nested]))
    columns = "query=fields.caption_id,doc=fields.video_id,label=responses.match"
    done = fire("import", "nested.json", "--columns", columns, *YES_NO)
    assert votes() == [("007", "v1", "irrelevant"), ("007", "v1", "relevant"), ("NA", "v1", "relevant")]
    assert "2 responses do not say whether they were submitted" in done.stderr
    Path("nested.json").write_text(json.dumps([nested, nested | {"responses": {"match": "Yes"}}]))
    error = fire("import", "nested.json", "--columns", columns, *YES_NO, code=1).stderr
    assert "nested.json: row 2: responses.match: expected a list of responses" in error


def test_doccano_has_a_file_for_each_person(fire: Fire, workspace: Path, votes: Votes) -> None:
    for person, label in (("ann", ["Yes"]), ("bob", []), ("all", ["Yes", "No"])):
        row = {"id": 1, "text": "a dog", "label": label, "Comments": [], "caption_id": "NA", "video_id": "v1"}
        save_lines(f"{person}.jsonl", [row])
    columns = ("--columns", "annotator=@file,query=caption_id,doc=video_id")
    done = fire("import", "ann.jsonl", "bob.jsonl", *columns, *YES_NO)
    assert votes() == [("NA", "v1", "relevant")]
    assert "bob.jsonl: 1 without an answer" in done.stderr
    kept = read_ledger(Path("campaign.sqlite"))
    assert set(kept["source"]) == {"file:doccano of one person"}
    assert "whose they are is lost" in fire("import", "all.jsonl", *columns, *YES_NO, code=1).stderr


@pytest.mark.slow
def test_potato_of_one_person_and_of_all(fire: Fire, workspace: Path, votes: Votes) -> None:
    row = {
        **{"id": "NA|v1", "displayed_text": "a dog", "label_annotations": {"match": {"Yes": "1"}}},
        **{"span_annotations": [], "behavioral_data": {"time_string": "Time spent: 0d 0h 1m 5s "}},
    }
    own = save_lines("annotation_output/ann/annotated_instances.jsonl", [row])
    columns = "annotator=@folder,pair=id,label=label_annotations.match,seconds=behavioral_data.time_string"
    fire("import", own, "--columns", columns, "--split", "|", *YES_NO)
    everybody = save_csv(
        "annotated_instances.csv",
        [
            {"user": "bob", "instance_id": "NA|v1", "match:::Yes": "", "match:::No": "2"},
            {"user": "cy", "instance_id": "007|v3", "match:::Yes": "1", "match:::No": ""},
        ],
    )
    fire("import", everybody, "--columns", "pair=instance_id,label=match", "--split", "|", *YES_NO)
    assert votes() == [("007", "v3", "relevant"), ("NA", "v1", "irrelevant"), ("NA", "v1", "relevant")]


def test_prolific_decides_whose_work_counts(fire: Fire, workspace: Path, votes: Votes) -> None:
    people = {"p1": "APPROVED", "p2": "RETURNED", "p3": "AWAITING REVIEW", "p4": "REJECTED"}
    answers = [
        {"PROLIFIC_PID": name, "caption": "NA", "video": "v1", "fits": "Yes"} for name in [*people, "me"]
    ]
    submissions = save_csv(
        "prolific_export.csv",
        [{"Submission id": "s", "Participant id": p, "Status": s, "Age": "25"} for p, s in people.items()],
    )
    columns = "annotator=PROLIFIC_PID,query=caption,doc=video,label=fits"
    file = save_csv("survey.csv", answers)
    done = fire("import", file, "--columns", columns, "--submissions", submissions, *YES_NO)
    assert votes() == [("NA", "v1", "relevant")] * 2
    assert "dropped: 3 skipped" in done.stderr


def test_a_dry_run_shows_all_and_writes_nothing(fire: Fire, workspace: Path) -> None:
    rows = [
        {"who": "a", "q": "NA", "d": "v1", "said": "Yes", "age": "31"},
        {"who": "b", "q": "NA", "d": "v1", "said": "No", "age": "32"},
        {"who": "b", "q": "q4", "d": "v3", "said": "Yes", "age": "32"},
    ]
    before = {*Path().rglob("*")}
    file = save_csv("survey.csv", rows)
    asked = ("import", file, "--columns", "annotator=who,query=q,doc=d,label=said", *YES_NO, "--dry-run")
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


def test_ids_that_the_collection_does_not_have(fire: Fire, workspace: Path, votes: Votes) -> None:
    rows = [{"who": "a", "q": q, "d": d, "said": "Yes"} for q, d in (("NA", "v1"), ("7", "v1"), ("q4", "x"))]
    asked = (
        "import",
        save_csv("t.csv", rows),
        "--columns",
        "annotator=who,query=q,doc=d,label=said",
        *YES_NO,
    )
    error = fire(*asked, code=1).stderr
    assert "2 answers are at pairs that the collection does not have: 1 unknown query ids (7)" in error
    assert not Path("campaign.sqlite").exists()
    assert "2 answers left out" in fire(*asked, "--skip-unknown").stderr
    assert votes() == [("NA", "v1", "relevant")]


@pytest.mark.slow
def test_answers_without_times_count_as_they_stand(fire: Fire, workspace: Path, votes: Votes) -> None:
    def read(*said: str) -> str:
        rows = [{"who": "a", "q": "NA", "d": "v1", "said": each} for each in said]
        columns = ("--columns", "annotator=who,query=q,doc=d,label=said")
        return fire("import", save_csv("t.csv", rows), *columns, *YES_NO).stderr

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
def test_what_is_wrong_is_said_with_its_row(
    fire: Fire, workspace: Path, change: Mapping[str, str], words: str
) -> None:
    row = {
        "who": "a",
        "q": "NA",
        "d": "v1",
        "said": "Yes",
        "when": "",
        "s": "",
        "state": "",
        "n": "1",
    } | change
    columns = "annotator=who,query=q,doc=d,label=said,time=when,seconds=s,status=state,round=n"
    assert (
        words
        in fire("import", save_csv("t.csv", [row | change]), "--columns", columns, *YES_NO, code=1).stderr
    )


def test_a_table_without_answers_is_refused(fire: Fire, workspace: Path) -> None:
    file = save_csv("t.csv", [{"who": "a", "q": "NA", "d": "v1", "said": ""}])
    columns = ("--columns", "annotator=who,query=q,doc=d,label=said")
    assert "t.csv: no answer in it" in fire("import", file, *columns, code=1).stderr
    assert not Path("judgments").exists()
    file = save_csv("t.csv", [{"who": "a", "q": "NA", "d": "v1", "said": "{bad"}])
    columns = ("--columns", "annotator=who,query=q,doc=d,label=said.match")
    assert "t.csv: row 1: " in fire("import", file, *columns, code=1).stderr


def test_a_table_without_its_columns_named_says_what_to_type(fire: Fire, workspace: Path) -> None:
    file = save_csv("batch.csv", [mturk("A1", "NA", "v1", "Yes")], MTURK)
    error = fire("import", file, code=1).stderr
    assert "MTurk with judgments made elsewhere" in error
    guess = "annotator=WorkerId,query=Input.caption_id,doc=Input.video_id,label=Answer.match"
    assert f"--columns '{guess}' --label VALUE=LABEL" in error
    error = fire("import", file, "--columns", "query=Input.caption_id,label=Answer.match", code=1).stderr
    assert f"batch.csv: which column is doc? If the guess is right, type --columns '{guess}'; found" in error
    error = fire("import", file, "--columns", "query=caption", code=1).stderr
    assert "no column caption (query); found HITId, " in error
    assert f"if the guess is right, type --columns '{guess}'" in error


def test_naming_one_column_does_not_forget_the_others(
    fire: Fire, workspace: Path, votes: Votes, table: Table
) -> None:
    row = {"query_id": "NA", "doc_id": "007", "w": "ann", "a": "Yes", "duration_s": "4.5"}
    file = save_csv("t.csv", [row | {"created_at": "2026-02-01T10:00:00Z"}])
    fire("import", file, "--columns", "annotator=w,label=a", *YES_NO)
    assert votes() == [("NA", "007", "relevant")]
    judged = table("judgments.csv")[0]
    assert (judged["created_at"], judged["duration_s"]) == ("2026-02-01T10:00:00.000000Z", "4.5")


def test_a_column_with_a_role_of_its_own_has_no_other(fire: Fire, workspace: Path, votes: Votes) -> None:
    rows = [{"query_id": "v1", "doc_id": "NA", "annotator_id": "ann", "label": "Yes"}]
    fire("import", save_csv("t.csv", rows), "--columns", "query=doc_id,doc=query_id", *YES_NO)
    assert votes() == [("NA", "v1", "relevant")]
    error = fire("import", "t.csv", "--columns", "query=doc_id", *YES_NO, code=1).stderr
    assert (
        "t.csv: which column is doc? If the guess is right, type --columns 'annotator=annotator_id," in error
    )


def test_the_round_is_said_where_no_column_has_it(fire: Fire, workspace: Path, table: Table) -> None:
    row = {"query_id": "NA", "doc_id": "v1", "annotator_id": "ann", "label": "Yes"}
    asked = ("--round", "2", *YES_NO)
    columns = ("--columns", "annotator=annotator_id")
    done = fire("import", save_csv("t.csv", [row]), *columns, *asked)
    assert "count as round 1" not in done.stderr
    with_column = [row | {"doc_id": "007", "round": "3"}]
    fire("import", save_csv("other.csv", with_column), *columns, *asked)
    assert [(each["doc_id"], each["round"]) for each in table("judgments.csv")] == [("007", "3"), ("v1", "2")]
    assert "1<=x" in fire("import", "t.csv", *columns, "--round", "0", code=2).stderr


def test_a_file_read_again_moves_to_the_round_that_is_said_and_never_back_by_silence(
    fire: Fire, workspace: Path, table: Table
) -> None:
    row = {"query_id": "NA", "doc_id": "v1", "annotator_id": "ann", "label": "Yes"}
    words = ("import", save_csv("t.csv", [row]), "--columns", "annotator=annotator_id", *YES_NO)
    told = [("0 new", "1"), ("1 edited", "2"), ("0 new, 0 edited", "2"), ("1 edited", "3"), ("0 edited", "3")]
    fire(*words)
    for (said, number), more in zip(told, [(), ("2",), (), ("3",), ("3",)], strict=True):
        done = fire(*words, *(("--round", *more) if more else ()))
        assert said in done.output
        assert [each["round"] for each in table("judgments.csv")] == [number]
    fire(*words[:-4], "--label", "Yes=irrelevant")
    assert [(each["label"], each["round"]) for each in table("judgments.csv")] == [("irrelevant", "3")]


def test_judgments_of_our_own_need_no_columns(fire: Fire, workspace: Path, table: Table) -> None:
    """As a release has them: the next group puts them into exports/, and they count as made elsewhere."""
    rows = [
        {"query_id": "NA", "doc_id": "v1", "annotator_id": who, "label": label, "round": "2"}
        for who, label in (("annotator-1", "relevant"), ("annotator-2", "irrelevant"))
    ]
    save_csv("exports/judgments.csv", rows)
    told = fire("import").stderr
    assert "not known: which guideline people were shown" in told
    found = [(row["query_id"], row["doc_id"], row["label"], row["round"]) for row in table("judgments.csv")]
    assert sorted(found) == [("NA", "v1", "irrelevant", "2"), ("NA", "v1", "relevant", "2")]
    assert {row["kind"] for row in table("judgments.csv")} == {"elsewhere"}
    stages = {row["stage"]: row["state"] for row in json.loads(fire("status", "--format", "json").stdout)}
    assert stages["import"] == "done"
    assert "0 new" in fire("import").stderr
