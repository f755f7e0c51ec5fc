import pandas as pd
import pytest
from small_judgments import judged

from examples import cases
from fire_toolkit.errors import TableError, UsageError
from fire_toolkit.resolution.resolve import Resolution, resolve
from fire_toolkit.tables import Judgments, check_judgments

GRADES = {"y": 1, "n": 0, "e": None}


def answered(answers: str) -> Judgments:
    """Judgments of the doc d and, so that any adjudicator has one, of the doc other, in round 1."""
    given = [answer.split(":") for answer in answers.split()]
    rows = [("d", name, said[0]) for name, said in given] + [("other", who, "y") for who in ("lead", "chair")]
    return judged(rows, round=[int(said[1:] or 1) for _, said in given] + [1, 1])


def resolved(judgments: Judgments, *adjudicators: str) -> Resolution:
    return resolve(judgments, grades=GRADES, rule="adjudicator", adjudicators=adjudicators)


@cases("answers", "adjudicators", "expected")
def test_whose_word_counts(answers: str, adjudicators: list[str], expected: str) -> None:
    labels, disputes = resolved(answered(answers), *adjudicators)[:2]
    found = dict(zip(labels["doc_id"], labels["label"], strict=True)) | dict.fromkeys(disputes["doc_id"], "?")
    assert found == {"d": expected, "other": "y"}


def test_votes_are_counted_whoever_overruled_them() -> None:
    label = resolved(answered("u:n v:n lead:y"), "lead").labels.iloc[0]
    assert (label["n_judgments"], label["n_agree"], label["vote_share"]) == (3, 1, pytest.approx(1 / 3))


def test_neither_adjudicators_nor_rounds_is_an_error() -> None:
    judgments = check_judgments(answered("u:y").drop(columns="round"))
    words = "rule adjudicator needs adjudicators, or judgments with a column round"
    with pytest.raises(UsageError, match=words):
        resolved(judgments)


@pytest.mark.parametrize("rounds", [["1", "2"], [1.0, None], [1.5, 2]])
def test_rounds_that_are_no_whole_numbers_are_an_error(rounds: list[object]) -> None:
    judgments = judged([("d", "u", "y"), ("d", "v", "n")]).assign(round=rounds)
    with pytest.raises(TableError, match=r"round is of type .*; expected whole numbers"):
        resolved(check_judgments(pd.DataFrame(judgments)))
