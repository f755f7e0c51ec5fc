"""What each tool leaves, in the layout of its own documentation and source, and what becomes of it."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from answer_files import OF_MTURK, YES_NO, Row, mturk, prodigy, save, table, votes
from command import run as fire

from fire_toolkit.campaign.store import read_ledger

pytestmark = pytest.mark.usefixtures("workspace")
YES, NO = "relevant", "irrelevant"
PAIR = {"caption_id": "NA", "video_id": "v1"}
OF_ARGILLA = {"id": "1", "status": "completed", "_server_id": "s"}
OF_POTATO = ("--columns", "pair=instance_id,label=match", "--split", "|")
OF_PRODIGY = ("--columns", "query=meta.caption_id,doc=meta.video_id")
OPTIONS = {"options": [{"id": "Yes", "text": "Yes"}, {"id": "No", "text": "No"}]}
OF_DOCCANO = ("--columns", "annotator=@file,query=caption_id,doc=video_id")
API = "query=metadata.caption_id,doc=metadata.video_id,annotator=responses.user_id,"
API += "label=responses.values.match.value"


def of_api(*states: str) -> Row:
    value = {"match": {"value": "Yes"}}
    responses = [{"user_id": f"u{n}", "values": value, "status": state} for n, state in enumerate(states)]
    return {"metadata": PAIR, "responses": responses}


def doccano(*label: str) -> Row:
    return {"id": 1, "text": "a dog", "label": [*label], "Comments": [], **PAIR}


def json_min(by: int, match: Any) -> Row:
    row = {"annotation_id": 1, "lead_time": 2.0, "updated_at": "2026-06-01T10:00:00Z"}
    return {**PAIR, **row, "annotator": by, "match": match}


def batch_row(answers: Row) -> Row:
    row = {**mturk("A1", "NA", "v1", ""), "Description": "Look at a clip"}
    return {name: value for name, value in row.items() if name != "Answer.match"} | answers


# files → rows; options; the votes at NA v1; what is said
CASES: Mapping[str, tuple[Mapping[str, Sequence[Row]], Sequence[str], Sequence[str], Sequence[str]]] = {
    "Prodigy, choices": (
        {
            "choice.jsonl": [
                prodigy("pairs-ann", "NA", accept=["Yes"], answer="accept", **OPTIONS),
                prodigy("pairs-bob", "NA", accept=[], answer="ignore", **OPTIONS),
                prodigy("pairs-cy", "NA", accept=["Yes", "No"], answer="accept", **OPTIONS),
                prodigy("2024-02-06_10-17-19", "NA", accept=["No"], answer="accept", **OPTIONS),
            ]
        },
        OF_PRODIGY,
        [NO, YES],
        ["1 answers are from unnamed sessions", "dropped: 1 several_labels, 1 skipped"],
    ),
    "Prodigy, yes or no": (
        {"binary.jsonl": [prodigy(by, "NA", answer=by) for by in ("accept", "reject", "ignore")]},
        (*OF_PRODIGY, "--label", "accept=relevant", "--label", "reject=irrelevant"),
        [NO, YES],
        ["dropped: 1 skipped"],
    ),
    "Argilla, flat": (
        {
            "flat.json": [
                {
                    **{**OF_ARGILLA, **PAIR, "match.responses": ["Yes", "No", "No"]},
                    "match.responses.users": ["u1", "u2", "u3"],
                    "match.responses.status": ["submitted", "draft", "discarded"],
                }
            ]
        },
        ("--columns", "query=caption_id,doc=video_id,label=match.responses"),
        [YES],
        ["1 not submitted (draft)", "dropped: 1 skipped"],
    ),
    "Argilla, nested": (
        {
            "nested.json": [
                {
                    **{**OF_ARGILLA, "metadata": {}, "suggestions": {}, "vectors": {}, "fields": PAIR},
                    "responses": {"match": [{"value": v, "user_id": v} for v in ("Yes", "No")]},
                }
            ]
        },
        ("--columns", "query=fields.caption_id,doc=fields.video_id,label=responses.match"),
        [NO, YES],
        ["2 responses do not say whether they were submitted"],
    ),
    "Argilla's API": (
        {"records.json": [of_api("submitted", "draft", "discarded", "submitted"), of_api()]},
        ("--columns", API),
        [YES, YES],
        ["records.json: 1 not submitted (draft)", "dropped: 1 skipped"],
    ),
    "doccano, a file for each person": (
        {f"ann.{n}.jsonl": [doccano("Yes")] for n in ("lee", "kim", "lee@uni.edu")}
        | {"bob.jsonl": [doccano()]},
        OF_DOCCANO,
        [YES, YES, YES],
        ["bob.jsonl: 1 without an answer"],
    ),
    "Potato, one person": (
        {
            "annotation_output/ann/annotated_instances.jsonl": [
                {
                    **{"id": "NA|v1", "displayed_text": "a dog", "span_annotations": []},
                    "label_annotations": {"match": {"Yes": "1"}},
                    "behavioral_data": {"time_string": "Time spent: 0d 0h 1m 5s "},
                }
            ]
        },
        (
            "--columns",
            "annotator=@folder,pair=id,label=label_annotations.match,seconds=behavioral_data.time_string",
            *OF_POTATO[2:],
        ),
        [YES],
        [],
    ),
    "Potato, all": (
        {
            "annotated_instances.csv": [
                {"user": "bob", "instance_id": "NA|v1", "match:::Yes": "", "match:::No": "2"},
                {"user": "cy", "instance_id": "NA|v1", "match:::Yes": "1", "match:::No": ""},
            ]
        },
        OF_POTATO,
        [NO, YES],
        [],
    ),
    "Potato, where `match` holds something only if its options say two things": (
        {
            "annotations.csv": [
                dict(zip(("user_id", "annotator_origin", "match.Yes", "match.No", "match"), row, strict=True))
                | {"instance_id": "NA|v1"}
                for row in (
                    ("a", "human", "Yes", "", ""),
                    ("b", "human", "Yes", "No", "No"),
                    ("llm", "llm", "Yes", "", ""),
                )
            ]
        },
        OF_POTATO,
        [NO, YES],
        ["annotations.csv: 1 by a machine"],
    ),
    "JSON_MIN": (
        {"min.json": [json_min(3, "Yes"), json_min(4, {"choices": ["Yes", "No"]})]},
        ("--columns", "query=caption_id,doc=video_id,label=match"),
        [YES],
        ["dropped: 1 several_labels", "such an export leaves out skips"],
    ),
    "Qualtrics, whose further headers are no answers": (
        {
            "q.csv": [
                {"who": "Who?", "q": "q", "d": "d", "said": "Does it\nfit?"},
                {name: f'{{"ImportId":"QID_{name}"}}' for name in ("who", "q", "d", "said")},
                {"who": "a", "q": "NA", "d": "v1", "said": "Yes"},
            ]
        },
        ("--columns", "annotator=who,query=q,doc=d,label=said"),
        [YES],
        [],
    ),
    **{
        f"MTurk, answers as {label}": (
            {"batch.csv": [batch_row(own)]},
            ("--columns", f"query=Input.caption_id,label={label},doc=Input.video_id"),
            [YES],
            [],
        )
        for label, own in {
            "Answer.taskAnswers.match.label": {"Answer.taskAnswers": '[{"match":{"label":"Yes"}}]'},
            "Answer.taskAnswers.match": {"Answer.taskAnswers": '[{"match":{"No":false,"Yes":true}}]'},
            "Answer.match": {"Answer.match.Yes": "true", "Answer.match.No": "false"},
            "Answer.is it, or not=?": {"Answer.is it, or not=?": "Yes"},
        }.items()
    },
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_a_tool_leaves_becomes_votes(case: Any) -> None:
    files, options, expected, said = case
    for name, rows in files.items():
        save(name, rows)
    done = fire("import", *files, *options, *(YES_NO if "accept=relevant" not in options else ()))
    assert votes() == [("NA", "v1", label) for label in expected]
    for words in said:
        assert words in done.stderr
    shown = json.loads(fire("import", *files, *options, *YES_NO, "--dry-run", "--format", "json").stdout)
    assert not any("match" in name for file in shown["files"] for name in file["not_read"])


def test_mturk_keeps_what_was_approved_and_dates_it() -> None:
    rows = [mturk("A1", "NA", "007", "Yes"), mturk("A2", "NA", "007", "No", "Submitted")]
    fire("import", save("batch.csv", [*rows, mturk("A3", "1e5", "v1", "No", "Rejected")]), *OF_MTURK, *YES_NO)
    assert votes() == [("NA", "007", NO), ("NA", "007", YES)]
    judged = table("judgments.csv")[0]
    assert (judged["created_at"], judged["duration_s"]) == ("2015-06-08T22:27:14.000000Z", "31.0")
    assert [(row["query_id"], row["reason"], row["detail"]) for row in table("dropped.csv")] == [
        ("1e5", "skipped", "annotation 3 / left out (Rejected)")
    ]
    assert not re.search(rb"\bA[123]\b", b"".join(path.read_bytes() for path in Path("judgments").iterdir()))


def test_what_a_requester_rejects_in_the_file_itself_is_no_vote() -> None:
    """A batch reviewed in a spreadsheet: `x` under Approve, a reason under Reject, the status as it was."""
    reviewed = [("A1", "x", ""), ("A2", "", "too fast; no reading"), ("A3", "", "")]
    rows = [mturk(who, "NA", "v1", "Yes", "Submitted", Approve=yes, Reject=no) for who, yes, no in reviewed]
    fire("import", save("batch.csv", rows, separator=";", mark="\ufeff"), *OF_MTURK, *YES_NO)
    assert votes() == [("NA", "v1", YES)] * 2
    assert [row["detail"] for row in table("dropped.csv")] == ["annotation 2 / left out (Rejected)"]


@pytest.mark.slow
def test_work_that_is_rejected_later_counts_no_more() -> None:
    vote = [("NA", "007", YES)]
    for status, expected in (("Submitted", vote), ("Rejected", []), ("Approved", vote), ("Approved", vote)):
        fire("import", save("batch.csv", [mturk("A1", "NA", "007", "Yes", status)]), *OF_MTURK, *YES_NO)
        assert votes() == expected, status


def test_prolific_decides_whose_work_counts() -> None:
    states = ["APPROVED", "AWAITING REVIEW", "PARTIALLY APPROVED"]
    states += ["REJECTED", "RETURNED", "TIMED-OUT", "SCREENED OUT"]
    people = {f"p{n}": state for n, state in enumerate(states)}
    answers = [{"PROLIFIC_PID": who, "c": "NA", "v": "v1", "fits": "Yes"} for who in [*people, "me"]]
    submissions = [
        {"Submission id": "s", "Participant id": who, "Status": state, "Age": "DATA_EXPIRED"}
        for who, state in people.items()
    ]
    columns = ("--columns", "annotator=PROLIFIC_PID,query=c,doc=v,label=fits", *YES_NO)
    known = ("--submissions", save("prolific_export.csv", submissions))
    done = fire("import", save("survey.csv", answers), *columns, *known)
    assert votes() == [("NA", "v1", YES)] * 3
    assert "dropped: 5 skipped" in done.stderr


def test_doccanos_file_of_all_is_nobodys_and_a_persons_file_is_known_by_its_name() -> None:
    error = fire("import", save("all.jsonl", [doccano("Yes", "No")]), *OF_DOCCANO, *YES_NO, code=1).stderr
    assert "whose they are is lost" in error
    fire("import", save("ann.jsonl", [doccano("Yes")]), *OF_DOCCANO, *YES_NO)
    assert set(read_ledger(Path("campaign.sqlite"))["source"]) == {"file:doccano of one person"}


def test_what_is_no_list_of_responses_is_refused_with_its_row() -> None:
    given = ([{"value": "Yes", "user_id": "u"}], "Yes")
    rows = [OF_ARGILLA | {"metadata": PAIR, "responses": {"match": each}} for each in given]
    columns = ("--columns", "query=metadata.caption_id,doc=metadata.video_id,label=responses.match", *YES_NO)
    error = fire("import", save("nested.json", rows), *columns, code=1).stderr
    assert "nested.json: row 2: responses.match: expected a list of responses" in error


def test_drafts_alone_are_no_answer_and_a_way_that_leads_nowhere_no_column() -> None:
    file = save("r.json", [of_api("draft")])
    assert "r.json: no answer in it" in fire("import", file, "--columns", API, *YES_NO, code=1).stderr
    wrong = API.replace("metadata.video_id", "metadata.doc")
    error = fire("import", file, "--columns", wrong, *YES_NO, code=1).stderr
    assert "r.json: no column metadata.doc (doc); found metadata.caption_id, metadata.video_id, " in error
    assert "doc=metadata.video_id," in error


OF_FLAT = OF_ARGILLA | PAIR | {"match.responses": [], "match.responses.users": []}
IDS = "query=caption_id,doc=video_id"


@pytest.mark.parametrize(
    ("name", "record", "tool", "line"),
    [
        ("a.json", OF_FLAT, "Argilla", f"annotator=match.responses.users,{IDS},label=match.responses'"),
        (
            "a.json",
            prodigy("ann", "NA", accept=[], answer="accept"),
            "Prodigy",
            "annotator=_annotator_id,query=meta.caption_id,doc=meta.video_id,label=accept'",
        ),
        ("a.json", doccano(), "doccano", f"annotator=@file,{IDS},label=label'"),
        (
            "a.csv",
            {"user": "a", "instance_id": "NA|v1", "match:::No": "", "match:::Yes": "1"},
            "Potato",
            "annotator=user,label=match,pair=instance_id' --split TEXT",
        ),
        (
            "a.csv",
            batch_row({"Answer.match.No": "", "Answer.match.Yes": ""}),
            "MTurk",
            "annotator=WorkerId,query=Input.caption_id,doc=Input.video_id,label=Answer.match'",
        ),
    ],
)
def test_a_known_tool_is_named_with_the_line_to_type(name: str, record: Row, tool: str, line: str) -> None:
    error = fire("import", save(name, [record]), code=1).stderr
    assert f"{name}: is this {tool} with judgments made elsewhere" in error
    assert f"type --columns '{line} --label VALUE=LABEL" in error


def test_labels_of_the_guideline_need_no_word_on_what_they_mean() -> None:
    error = fire("import", save("a.csv", [batch_row({"Answer.match": YES})]), code=1).stderr
    assert "label=Answer.match'; --dry-run shows what is understood" in error
