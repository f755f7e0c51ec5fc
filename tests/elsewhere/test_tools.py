"""What each tool leaves, in the layout of its own documentation and source, and what becomes of it."""

import json
import re
import shutil
from pathlib import Path

import pytest
from answer_files import OF_MTURK, YES_NO, Row, mturk, save, table, votes
from command import run as fire
from records import read_ledger

from examples import cases

TOOLS = Path(__file__).parents[1] / "golden/tools"
pytestmark = pytest.mark.usefixtures("workspace")
YES, NO = "relevant", "irrelevant"
PAIR = {"caption_id": "NA", "video_id": "v1"}
OF_ARGILLA = {"id": "1", "status": "completed", "_server_id": "s"}
OF_DOCCANO = ("--columns", "annotator=@file,query=caption_id,doc=video_id")
API = "query=metadata.caption_id,doc=metadata.video_id,annotator=responses.user_id,"
API += "label=responses.values.match.value"


def doccano(*label: str) -> Row:
    return {"id": 1, "text": "a dog", "label": [*label], "Comments": [], **PAIR}


def left_by(tool: str) -> list[str]:
    """Put the files of a golden case here, and return their names."""
    shutil.copytree(TOOLS / tool, ".", dirs_exist_ok=True)
    return sorted(str(path.relative_to(TOOLS / tool)) for path in (TOOLS / tool).rglob("*.*"))


@cases("tool", "options", "expected", "said")
def test_what_a_tool_leaves_becomes_votes(
    tool: str, options: list[str], expected: list[str], said: list[str]
) -> None:
    asked = ("import", *left_by(tool), *options)
    done = fire(*asked, *(YES_NO if "accept=relevant" not in options else ()))
    assert votes() == [("NA", "v1", label) for label in expected]
    for words in said:
        assert words in done.stderr
    shown = json.loads(fire(*asked, *YES_NO, "--dry-run", "--format", "json").stdout)
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
    response = {"user_id": "u0", "values": {"match": {"value": "Yes"}}, "status": "draft"}
    file = save("r.json", [{"metadata": PAIR, "responses": [response]}])
    assert "r.json: no answer in it" in fire("import", file, "--columns", API, *YES_NO, code=1).stderr
    wrong = API.replace("metadata.video_id", "metadata.doc")
    error = fire("import", file, "--columns", wrong, *YES_NO, code=1).stderr
    assert "r.json: no column metadata.doc (doc); found metadata.caption_id, metadata.video_id, " in error
    assert "doc=metadata.video_id," in error


@cases("tool", "name", "line")
def test_a_known_tool_is_named_with_the_line_to_type(tool: str, name: str, line: str) -> None:
    (file, *_) = left_by(tool)
    error = fire("import", file, code=1).stderr
    assert f"{file}: is this {name} with judgments made elsewhere" in error
    assert f"type --columns '{line} --label VALUE=LABEL" in error


def test_labels_of_the_guideline_need_no_word_on_what_they_mean() -> None:
    error = fire(
        "import", save("a.csv", [mturk("A1", "NA", "v1", YES) | {"Description": "Look at a clip"}]), code=1
    ).stderr
    assert "label=Answer.match'; --dry-run shows what is understood" in error
