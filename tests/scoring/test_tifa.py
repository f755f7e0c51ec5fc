"""TIFA is the share of a text's questions that are answered as expected, for each pair."""

import json
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest
from brought import refused
from command import run

from examples import cases
from fire_toolkit.errors import FormatError, JoinError, TableError
from fire_toolkit.formats.tables.tifa import read_answers, read_questions
from fire_toolkit.scoring.tifa import Question, answer_questions, check_answers, judge_answers, score_tifa

YES_NO = ("yes", "no")
QUESTIONS = [
    Question("t1", "is there a cat?", YES_NO, "yes", "animal"),
    Question("t1", "how many cats?", ("1", "2", "3"), "3", "counting"),
    Question("t1", "is it red?", YES_NO, "yes", "color"),
    Question("t2", "is there a cat?", YES_NO, "no", "animal"),
]
GIVEN = {("t1", "a"): ["yes", "2", " Yes "], ("t1", "b"): ["no", "1", ""], ("t2", "a"): ["no"]}
ASKED = [each.question for each in QUESTIONS]
ROWS = [(*pair, ASKED[n], answer) for pair, own in GIVEN.items() for n, answer in enumerate(own)]
NAMES = ["query_id", "doc_id", "question", "answer"]
ANSWERS = check_answers(pd.DataFrame(ROWS, columns=NAMES))


def rows(table: pd.DataFrame) -> list[tuple[object, ...]]:
    return [tuple(row) for row in table.itertuples(index=False)]


def test_the_order_of_answers_does_not_matter_and_inputs_stay() -> None:
    shuffled = check_answers(ANSWERS.sample(frac=1, random_state=1))
    before = shuffled.copy()
    found = score_tifa(judge_answers(QUESTIONS, shuffled))
    pd.testing.assert_frame_equal(found, score_tifa(judge_answers(QUESTIONS, ANSWERS)))
    pd.testing.assert_frame_equal(before, shuffled)


def test_a_question_that_stands_twice_counts_twice() -> None:
    twice = [*QUESTIONS[3:], Question("t2", "is there a cat?", YES_NO, "yes")]
    answers = check_answers(ANSWERS[ANSWERS["query_id"] == "t2"])
    assert rows(score_tifa(judge_answers(twice, answers))) == [("t2", "a", 0.5, 2)]


def test_no_answers_are_no_scores() -> None:
    assert score_tifa(judge_answers(QUESTIONS, check_answers(ANSWERS[:0]))).empty


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(JoinError, match=r"answers: 1 questions have none \(query t1, doc b: 'is it red\?'\)"):
        judge_answers(QUESTIONS, check_answers(ANSWERS.drop(index=4)))
    assert rows(ANSWERS)[4] == ("t1", "b", "is it red?", "")
    with pytest.raises(JoinError, match=r"answers: 1 to questions that the text does not have \(query t2"):
        judge_answers(QUESTIONS[:3], ANSWERS)
    with pytest.raises(TableError, match="query_id, doc_id, question given twice"):
        check_answers(pd.concat([ANSWERS, ANSWERS[:1]]))


def test_a_model_is_asked_each_question_of_each_pair_once() -> None:
    asked: list[tuple[str, str]] = []

    def first_choice(media_url: str, question: str, choices: Sequence[str]) -> str:
        asked.append((media_url, question))
        return choices[0]

    pairs = pd.DataFrame({"query_id": ["t2", "t1", "t2"], "doc_id": ["a", "a", "a"]})
    answers = answer_questions([*QUESTIONS, QUESTIONS[0]], pairs, {"a": "a.mp4"}, first_choice)
    expected = [("t1", "a", pytest.approx(2 / 3), 3), ("t2", "a", 0.0, 1)]
    assert rows(score_tifa(judge_answers(QUESTIONS, answers))) == expected
    assert len(asked) == len(set(asked)) + 1 == 4  # both texts ask whether there is a cat
    with pytest.raises(JoinError, match=r"1 docs have no media_url \(a\)"):
        answer_questions(QUESTIONS, pairs, {}, first_choice)


def entry(each: Question) -> dict[str, object]:
    return {
        "id": each.query_id,
        "caption": "left out",
        "question": each.question,
        "choices": list(each.choices),
        "answer": each.answer,
        "element_type": each.element_type,
    }


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "q.json").write_text(json.dumps([entry(each) for each in QUESTIONS]))
    (tmp_path / "a.json").write_text(json.dumps([dict(zip(NAMES, row, strict=True)) for row in ROWS]))
    ANSWERS.to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "labels.csv").write_text("query_id,doc_id,label,relevance\nt1,a,yes,1\nt1,b,no,0\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_files_are_read_to_the_letter(files: Path) -> None:
    assert read_questions(files / "q.json") == QUESTIONS
    pd.testing.assert_frame_equal(ANSWERS, read_answers(files / "a.json"))
    pd.testing.assert_frame_equal(ANSWERS, read_answers(files / "a.csv"))


@cases("text", "message")
def test_other_files_are_no_questions(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "q.json").write_text(text)
    with pytest.raises(FormatError, match=message):
        read_questions(tmp_path / "q.json")


def test_answers_need_their_keys(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[{"query_id": "q"}]')
    refused("[0]: no field 'doc_id'; found query_id", read_answers, tmp_path / "a.json")


@pytest.mark.usefixtures("files")
def test_the_command_shows_each_form() -> None:
    def shown(*words: str, code: int = 0) -> str:
        result = run("tifa", "q.json", "a.csv", *words, code=code)
        return result.stderr if code else result.stdout

    assert shown("--format", "csv").splitlines()[1:] == ["t1,0.3333333333333333,2", "t2,1.0,1"]
    expected = [["t1", "a", "66.7", "3"], ["t1", "b", "0.0", "3"], ["t2", "a", "100.0", "1"]]
    assert [line.split() for line in shown("--per", "pair").splitlines()[2:]] == expected
    assert shown("--per", "type", "--format", "csv").splitlines()[2] == "color,0.5,2"
    by_label = shown("--per", "label", "--labels", "labels.csv", "--format", "csv", "--out", "by.csv")
    assert by_label == Path("by.csv").read_text()
    assert by_label == "label,tifa,n_pairs\nno,0.0,1\nyes,0.6666666666666666,1\n"
    assert "--per label and --labels go together" in shown("--per", "label", code=1)


def write_result(path: Path) -> None:
    """A file as TIFA's tifa_score_benchmark writes it; 11 and 8 questions, 3 answers wrong."""
    details: dict[str, dict[str, object]] = {}
    for text_id, n, wrong in (("coco_1", 11, 0), ("drawbench_2", 8, 3)):
        for place in range(n):
            asked = Question(text_id, f"is it {place}?", YES_NO, "yes", "object")
            answer = "no" if place < wrong else "yes"
            logged = {"free_form_vqa": answer, "multiple_choice_vqa": answer, "scores": int(answer == "yes")}
            details.setdefault(text_id, {})[asked.question] = entry(asked) | logged
    scores = {"coco_1": 1, "drawbench_2": 0.625}
    result = {"tifa_average": 0.8125, "question_details": details, "caption_scores": scores}
    path.write_text(json.dumps(result, indent=4))


def test_a_result_of_tifa_s_own_program_is_scored_as_there(files: Path) -> None:
    # The numbers of sample/sample_evaluation_result.json in TIFA's repository: 1 and .625, mean .8125.
    write_result(files / "result.json")
    done = run("tifa", "result.json", "--per", "pair", "--format", "csv")
    expected = ["query_id,doc_id,tifa,n_questions", "coco_1,coco_1,1.0,11", "drawbench_2,drawbench_2,0.625,8"]
    assert done.stdout.splitlines() == expected
    assert "mean TIFA over texts 81.2" in done.stderr
    own_file = [entry(each) for each in read_questions(files / "result.json")]
    (files / "questions.json").write_text(json.dumps(own_file))
    names = ["questions.json", "result.json", "--per", "pair", "--format", "csv"]
    assert run("tifa", *names).stdout == done.stdout
    (files / "bad.json").write_text('{"question_details": {"t": {"is it?": {"id": "t", "choices": []}}}}')
    refused = run("tifa", "bad.json", code=1)
    assert "question_details['t']['is it?']: no field 'question'; found id" in refused.stderr
    run("tifa", "q.json", code=1)
