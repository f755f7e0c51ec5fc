"""Files as tools and people leave them: reviewed, saved by a spreadsheet, with machines among them."""

import csv
import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Fire = Callable[..., Result]
Votes = Callable[[], list[tuple[str, ...]]]
Table = Callable[[str], list[Mapping[str, str]]]
YES_NO = ("--label", "Yes=relevant", "--label", "No=irrelevant")
PEOPLE = ("--columns", "annotator=who,query=q,doc=d,label=fits", *YES_NO)


def write(
    name: str, header: list[str], rows: list[list[str]], *, separator: str = ",", mark: str = ""
) -> str:
    """Write a table as a spreadsheet does: everything quoted, perhaps semicolons and a byte order mark."""
    with Path(name).open("w", newline="", encoding="utf-8") as stream:
        stream.write(mark)
        writer = csv.writer(stream, delimiter=separator, quoting=csv.QUOTE_ALL)
        writer.writerows([header, *rows])
    return name


def test_what_a_requester_rejects_in_the_file_itself_is_no_vote(
    fire: Fire, workspace: Path, votes: Votes, table: Table
) -> None:
    """A batch reviewed in a spreadsheet: `x` under Approve, a reason under Reject, the status as it was."""
    header = [
        "HITId",
        "WorkerId",
        "AssignmentStatus",
        "Input.q",
        "Input.d",
        "Answer.fits",
        "Approve",
        "Reject",
    ]
    reviewed = [("A1", "x", ""), ("A2", "", "too fast; no reading"), ("A3", "", "")]
    rows = [["h", who, "Submitted", "NA", "v1", "Yes", yes, no] for who, yes, no in reviewed]
    file = write("batch.csv", header, rows, separator=";", mark="\ufeff")
    fire("import", file, "--columns", "query=Input.q,doc=Input.d,label=Answer.fits", *YES_NO)
    assert votes() == [("NA", "v1", "relevant")] * 2
    assert [row["detail"] for row in table("dropped.csv")] == ["annotation 2 / left out (Rejected)"]


def test_all_words_of_prolific_for_a_submission(fire: Fire, workspace: Path, votes: Votes) -> None:
    counted = {"APPROVED", "AWAITING REVIEW", "PARTIALLY APPROVED"}
    states = [*sorted(counted), "REJECTED", "RETURNED", "TIMED-OUT", "SCREENED OUT"]
    people = [[f"p{n}", state, "DATA_EXPIRED"] for n, state in enumerate(states)]
    submissions = write("prolific_export.csv", ["Participant id", "Status", "Age"], people)
    answers = write("survey.csv", ["who", "q", "d", "fits"], [[who, "NA", "v1", "Yes"] for who, *_ in people])
    fire("import", answers, *PEOPLE, "--submissions", submissions)
    assert len(votes()) == len(counted)


def test_columns_of_one_name_are_told_apart_by_number(fire: Fire, workspace: Path, votes: Votes) -> None:
    """A form that asks the same twice, saved with empty columns at its end."""
    header = ["who", "q", "d", "fits", "fits", "age", "", ""]
    file = write("form.csv", header, [["a", "NA", "v1", "Yes", "No", "31", "", ""]], separator=";")
    error = fire("import", file, *PEOPLE, code=1).stderr
    assert "form.csv: no column fits (label); found who, q, d, fits (1), fits (2), age, (1), (2)" in error
    fire("import", file, "--columns", "annotator=who,query=q,doc=d,label=fits (2)", *YES_NO)
    assert votes() == [("NA", "v1", "irrelevant")]


def test_the_further_headers_of_qualtrics_are_no_answers(fire: Fire, workspace: Path, votes: Votes) -> None:
    questions = ["Who?", "q", "d", "Does it\nfit?"]
    ids = [json.dumps({"ImportId": f"QID{n}"}, separators=(",", ":")) for n in range(4)]
    file = write("q.csv", ["who", "q", "d", "fits"], [questions, ids, ["a", "NA", "v1", "Yes"]])
    fire("import", file, *PEOPLE)
    assert votes() == [("NA", "v1", "relevant")]


def test_dots_in_the_names_of_people_and_their_files(fire: Fire, workspace: Path, table: Table) -> None:
    """doccano names each person's file by the account, which may hold dots."""
    names = ("ann.lee.jsonl", "ann.kim.jsonl", "ann.lee@uni.edu.jsonl")
    for name in names:
        row = {"id": 1, "text": "a", "label": ["Yes"], "Comments": [], "q": "NA", "d": "v1"}
        Path(name).write_text(json.dumps(row))
    fire("import", *names, "--columns", "annotator=@file,query=q,doc=d", *YES_NO)
    assert len({row["annotator_id"] for row in table("judgments.csv")}) == 3


def test_potatos_machines_are_nobody_and_its_second_column_hides_no_answer(
    fire: Fire, workspace: Path, votes: Votes
) -> None:
    """`match` holds something only in the row where the columns of its options say two things."""
    header = ["instance_id", "user_id", "annotator_origin", "match.Yes", "match.No", "match"]
    rows = [
        ["NA|v1", "a", "human", "Yes", "", ""],
        ["NA|v1", "b", "human", "Yes", "No", "No"],
        ["NA|v1", "llm", "llm", "Yes", "", ""],
    ]
    file = write("annotations.csv", header, rows)
    asked = ("import", file, "--columns", "pair=instance_id,label=match", "--split", "|", *YES_NO)
    shown = fire(*asked, "--dry-run").stdout
    assert "left out   1 by a machine" in shown
    assert "not read" not in shown
    fire(*asked)
    assert votes() == [("NA", "v1", "irrelevant"), ("NA", "v1", "relevant")]


def test_responses_of_argillas_api_say_their_status(fire: Fire, workspace: Path, votes: Votes) -> None:
    states = ("submitted", "draft", "discarded", "submitted")
    responses: list[dict[str, Any]] = [
        {"user_id": f"u{n}", "values": {"match": {"value": "Yes"}}, "status": state}
        for n, state in enumerate(states)
    ]
    record = {"metadata": {"q": "NA", "d": "v1"}, "responses": responses}
    Path("records.json").write_text(json.dumps([record, {**record, "responses": []}]))
    columns = "query=metadata.q,doc=metadata.d,annotator=responses.user_id,label=responses.values.match.value"
    done = fire("import", "records.json", "--columns", columns, *YES_NO)
    assert Counter(votes()) == {("NA", "v1", "relevant"): 2}
    assert "records.json: 1 not submitted (draft)" in done.stderr
    assert "dropped: 1 skipped" in done.stderr


def test_drafts_alone_are_no_answer_and_a_way_that_leads_nowhere_no_column(
    fire: Fire, workspace: Path
) -> None:
    response = {"user_id": "u", "values": {"match": {"value": "Yes"}}, "status": "draft"}
    Path("r.json").write_text(json.dumps([{"metadata": {"q": "NA", "d": "v1"}, "responses": [response]}]))
    columns = "query=metadata.q,annotator=responses.user_id,label=responses.values.match.value,doc=metadata."
    assert (
        "r.json: no answer in it"
        in fire("import", "r.json", "--columns", f"{columns}d", *YES_NO, code=1).stderr
    )
    error = fire("import", "r.json", "--columns", f"{columns}doc", *YES_NO, code=1).stderr
    assert "r.json: no column metadata.doc (doc); found metadata.q, metadata.d, " in error
    assert "doc=metadata.d," in error


def test_several_choices_in_json_min_are_no_vote(fire: Fire, workspace: Path, votes: Votes) -> None:
    row = {"q": "NA", "d": "v1", "annotation_id": 1, "lead_time": 2.0, "updated_at": "2026-06-01T10:00:00Z"}
    rows = [
        {**row, "annotator": n, "match": match}
        for n, match in enumerate(["Yes", {"choices": ["Yes", "No"]}], 3)
    ]
    Path("min.json").write_text(json.dumps(rows))
    done = fire("import", "min.json", "--columns", "query=q,doc=d,label=match", *YES_NO)
    assert votes() == [("NA", "v1", "relevant")]
    assert "dropped: 1 several_labels" in done.stderr


@pytest.mark.parametrize(
    ("record", "tool"),
    [
        ({"_server_id": "s", "metadata": {}, "responses": {}}, "Argilla"),
        ({"_task_hash": 1, "answer": "accept", "meta": {}}, "Prodigy"),
        ({"id": 1, "text": "a", "label": [], "Comments": []}, "doccano"),
    ],
)
def test_a_tool_that_is_known_is_named_at_once(
    fire: Fire, workspace: Path, record: Mapping[str, Any], tool: str
) -> None:
    Path("a.json").write_text(json.dumps([record]))
    error = fire("import", "a.json", code=1).stderr
    assert f"a.json: is this {tool} with judgments made elsewhere" in error
    assert "--columns " in error
