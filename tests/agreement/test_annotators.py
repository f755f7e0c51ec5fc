import math

import numpy as np
import pandas as pd
import pytest
from small_judgments import judged, krippendorff_alpha

from fire_toolkit.agreement.annotators import leave_one_out
from fire_toolkit.tables import Judgments, check_judgments

GRADES = {"0": 0, "1": 1, "2": 2, "e": None}


def sparse(seed: int, labels: str = "012e") -> Judgments:
    """Five annotators on 14 docs, half of the cells empty."""
    draw = np.random.default_rng(seed)
    rated = draw.integers(len(labels), size=(5, 14))
    return judged(
        [(f"d{u:02d}", f"a{r}", labels[rated[r, u]]) for r, u in np.argwhere(draw.random((5, 14)) > 0.5)]
    )


def without(judgments: Judgments, annotator: str) -> Judgments:
    return check_judgments(judgments[judgments["annotator_id"] != annotator])


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_leaving_an_annotator_out_equals_alpha_of_the_others(level: str) -> None:
    for seed in range(8):
        judgments = sparse(seed)
        whole = krippendorff_alpha(judgments, grades=GRADES, level=level).value
        for row in leave_one_out(judgments, grades=GRADES, level=level).itertuples():
            expected = krippendorff_alpha(without(judgments, row.annotator_id), grades=GRADES, level=level)
            assert expected.value == pytest.approx(row.value, nan_ok=True)
            assert expected.n_pairable == row.n_pairable
            assert expected.value - whole == pytest.approx(row.change, nan_ok=True)
            assert math.isnan(row.value) == bool(row.note)


def test_leaving_out_says_why_alpha_is_undefined() -> None:
    judgments = judged([("d", "u", "1"), ("d", "v", "0"), ("e", "v", "1"), ("e", "w", "1")])
    table = leave_one_out(judgments).set_index("annotator_id")
    assert list(table["n_votes"]) == [1, 2, 1]
    assert list(table["n_pairable"]) == [1, 0, 1]
    assert table.loc["v", "note"] == "no pair has two judgments"
    assert table.loc["u", "note"].startswith("without this annotator every judgment")
    assert table.loc["w", "value"] == 0.0


def test_an_annotator_who_never_voted_changes_nothing() -> None:
    judgments = judged([("d", "u", "1"), ("d", "v", "0"), ("e", "u", "1"), ("e", "v", "1"), ("e", "z", "e")])
    row = leave_one_out(judgments, grades=GRADES).iloc[-1]
    assert (row["annotator_id"], row["n_votes"], row["n_pairable"], row["change"]) == ("z", 0, 2, 0.0)


def test_rows_are_by_id_whatever_the_order_of_judgments_and_the_input_stays() -> None:
    judgments = sparse(3)
    before = judgments.copy()
    shuffled = Judgments(judgments.sample(frac=1, random_state=2))
    pd.testing.assert_frame_equal(
        leave_one_out(judgments, grades=GRADES), leave_one_out(shuffled, grades=GRADES)
    )
    pd.testing.assert_frame_equal(before, judgments)


def test_no_judgments_give_no_rows() -> None:
    assert len(leave_one_out(judged([]))) == 0
