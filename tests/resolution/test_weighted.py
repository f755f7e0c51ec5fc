import math

import numpy as np
import pandas as pd
import pytest

from fire_toolkit.errors import UsageError
from fire_toolkit.resolution.resolve import resolve
from fire_toolkit.resolution.vote_table import count_votes
from fire_toolkit.resolution.weighted import annotator_weights
from fire_toolkit.tables import Judgments, check_judgments

GRADES = {"y": 1, "n": 0, "e": None}


def judged(answers: dict[str, str]) -> Judgments:
    """Judgments from annotator_id → one answer a doc; `*`: none."""
    rows = [
        ("q", f"d{place:02d}", annotator, label)
        for annotator, given in answers.items()
        for place, label in enumerate(given)
        if label != "*"
    ]
    return check_judgments(pd.DataFrame(rows, columns=["query_id", "doc_id", "annotator_id", "label"]))


def known(labels: str) -> pd.DataFrame:
    docs = [f"d{place:02d}" for place in range(len(labels))]
    return pd.DataFrame({"query_id": "q", "doc_id": docs, "label": list(labels)})


def test_weights_are_log_odds_of_accuracy_drawn_towards_that_of_all() -> None:
    judgments = judged({"good": "yyyy", "bad": "ynnn", "new": "****y"})
    weights = annotator_weights(count_votes(judgments, grades=GRADES, controls=known("yyyy")))
    overall = (5 + 1) / (8 + 2)
    accuracy = [(4 + 4 * overall) / 8, (1 + 4 * overall) / 8, overall]
    by_name = dict(zip(sorted(judgments["annotator_id"].unique()), weights, strict=True))
    for name, share in zip(("good", "bad", "new"), accuracy, strict=True):
        assert by_name[name] == pytest.approx(max(0, math.log(share / (1 - share))))
    assert by_name["bad"] == 0


def test_the_better_annotator_decides_and_the_share_of_weight_is_told() -> None:
    # On d08 two annotators with 4 of 8 controls right say n, one with 8 of 8 says y.
    answers = {"sure": "yyyyyyyy" + "y", "one": "yyyynnnn" + "n", "two": "nnnnyyyy" + "n"}
    labels, _ = resolve(judged(answers), grades=GRADES, rule="weighted", controls=known("yyyyyyyy"))
    row = labels[labels["doc_id"] == "d08"].iloc[0]
    overall = (16 + 1) / (24 + 2)
    sure, other = (8 + 4 * overall) / 12, (4 + 4 * overall) / 12
    weight, less = math.log(sure / (1 - sure)), math.log(other / (1 - other))
    assert (row["label"], row["n_judgments"], row["n_agree"]) == ("y", 3, 1)
    assert row["weight_share"] == pytest.approx(weight / (weight + 2 * less))
    majority, _ = resolve(judged(answers), grades=GRADES)
    assert majority.set_index("doc_id").loc["d08", "label"] == "n"


def test_annotators_of_the_same_weight_who_disagree_make_a_dispute() -> None:
    answers = {"u": "yyyyy", "v": "yyyyn"}
    _, disputes = resolve(judged(answers), grades=GRADES, rule="weighted", controls=known("yyyy"))
    assert list(disputes["doc_id"]) == ["d04"]


def test_the_word_of_an_annotator_no_better_than_chance_is_a_dispute() -> None:
    answers = {"wrong": "nnnnnnnn" + "y"}
    _, disputes = resolve(judged(answers), grades=GRADES, rule="weighted", controls=known("yyyyyyyy"))
    assert "d08" in set(disputes["doc_id"])


def test_escalating_a_control_says_nothing_of_accuracy() -> None:
    controls = known("yyyy")
    votes = [
        count_votes(judged({"u": given, "v": "yyny"}), grades=GRADES, controls=controls)
        for given in ("yyee", "yy**")
    ]
    np.testing.assert_allclose(annotator_weights(votes[0]), annotator_weights(votes[1]))


@pytest.mark.parametrize("controls", [None, known("***********y").iloc[-1:], known("y").iloc[:0]])
def test_without_a_judged_control_there_are_no_weights(controls: pd.DataFrame | None) -> None:
    with pytest.raises(UsageError, match="rule weighted needs controls"):
        resolve(judged({"u": "yy", "v": "yn"}), grades=GRADES, rule="weighted", controls=controls)
