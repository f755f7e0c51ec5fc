import pandas as pd
import pytest

from fire_toolkit.errors import TableError, UsageError
from fire_toolkit.resolution.resolve import resolve
from fire_toolkit.tables import Judgments, check_judgments

GRADES = {"y": 1, "n": 0, "e": None}


def judged(answers: dict[str, list[tuple[str, str, int]]]) -> Judgments:
    """Judgments from doc_id → (annotator_id, label, round)."""
    rows = [("q", doc, *answer) for doc, given in answers.items() for answer in given]
    return check_judgments(
        pd.DataFrame(rows, columns=["query_id", "doc_id", "annotator_id", "label", "round"])
    )


def decided(judgments: Judgments, *adjudicators: str) -> dict[str, str]:
    labels, disputes = resolve(judgments, grades=GRADES, rule="adjudicator", adjudicators=adjudicators)[:2]
    return dict(zip(labels["doc_id"], labels["label"], strict=True)) | dict.fromkeys(disputes["doc_id"], "?")


def test_the_adjudicator_overrules_a_majority() -> None:
    judgments = judged({"d": [("u", "n", 1), ("v", "n", 1), ("lead", "y", 1)]})
    assert decided(judgments, "lead") == {"d": "y"}
    labels = resolve(judgments, grades=GRADES, rule="adjudicator", adjudicators=["lead"]).labels
    assert (labels.loc[0, "n_judgments"], labels.loc[0, "n_agree"]) == (3, 1)
    assert labels.loc[0, "vote_share"] == pytest.approx(1 / 3)


def test_without_a_word_of_the_adjudicator_the_others_decide_by_more_than_half() -> None:
    answers = {
        "agreed": [("u", "n", 1), ("v", "n", 1)],
        "tied": [("u", "n", 1), ("v", "y", 1)],
        "passed": [("u", "n", 1), ("lead", "e", 1)],
        "other": [("lead", "y", 1)],
    }
    assert decided(judged(answers), "lead") == {"agreed": "n", "tied": "?", "passed": "n", "other": "y"}


def test_adjudicators_who_contradict_each_other_make_a_dispute() -> None:
    answers = {"d": [("lead", "n", 1), ("chair", "y", 1), ("u", "y", 1)]}
    assert decided(judged(answers), "lead", "chair") == {"d": "?"}


def test_without_named_adjudicators_the_latest_round_of_each_pair_decides() -> None:
    answers = {
        "asked-again": [("u", "n", 1), ("v", "n", 1), ("w", "y", 2)],
        "once": [("u", "n", 1)],
        "thrice": [("u", "n", 1), ("v", "y", 2), ("w", "n", 3), ("x", "n", 3)],
        "escalated": [("u", "y", 1), ("v", "e", 2)],
        "tied": [("u", "y", 1), ("v", "y", 2), ("w", "n", 2)],
    }
    expected = {"asked-again": "y", "once": "n", "thrice": "n", "escalated": "y", "tied": "?"}
    assert decided(judged(answers)) == expected


def test_neither_adjudicators_nor_rounds_is_an_error() -> None:
    judgments = check_judgments(judged({"d": [("u", "y", 1)]}).drop(columns="round"))
    with pytest.raises(
        UsageError, match="rule adjudicator needs adjudicators, or judgments with a column round"
    ):
        decided(judgments)


@pytest.mark.parametrize("rounds", [["1", "2"], [1.0, None], [1.5, 2]])
def test_rounds_that_are_no_whole_numbers_are_an_error(rounds: list[object]) -> None:
    judgments = judged({"d": [("u", "y", 1), ("v", "n", 1)]})
    with pytest.raises(TableError, match=r"round is of type .*; expected whole numbers"):
        decided(check_judgments(judgments.assign(round=rounds)))
