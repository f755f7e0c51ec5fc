"""Annotators: alpha without each of them, and each beside the peers."""

import math

import numpy as np
import pandas as pd
import pytest
from small_judgments import judged, krippendorff_alpha

from fire_toolkit.agreement.annotators import annotator_profiles, leave_one_out
from fire_toolkit.arrays import wilson_interval
from fire_toolkit.errors import UsageError
from fire_toolkit.tables import Judgments, check_judgments

GRADES = {"0": 0, "1": 1, "2": 2, "e": None}


def sparse(seed: int, labels: str = "012e") -> Judgments:
    """Five annotators on 14 docs, half of the cells empty."""
    draw = np.random.default_rng(seed)
    rated = draw.integers(len(labels), size=(5, 14))
    return judged(
        [(f"d{u:02d}", f"a{r}", labels[rated[r, u]]) for r, u in np.argwhere(draw.random((5, 14)) > 0.5)]
    )


def answers(**given: str) -> Judgments:
    """Judgments from annotator_id → one answer a doc (`*`: none)."""
    cells = [(f"d{place:02d}", who, label) for who, own in given.items() for place, label in enumerate(own)]
    return judged([cell for cell in cells if cell[2] != "*"])


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_leaving_an_annotator_out_equals_alpha_of_the_others(level: str) -> None:
    for seed in range(3):
        judgments = sparse(seed)
        whole = krippendorff_alpha(judgments, grades=GRADES, level=level).value
        for row in leave_one_out(judgments, grades=GRADES, level=level).itertuples():
            others = check_judgments(judgments[judgments["annotator_id"] != row.annotator_id])
            expected = krippendorff_alpha(others, grades=GRADES, level=level)
            assert expected.value == pytest.approx(row.value, nan_ok=True)
            assert expected.n_pairable == row.n_pairable
            assert expected.value - whole == pytest.approx(row.change, nan_ok=True)
            assert math.isnan(row.value) == bool(row.note)


def test_leaving_out_says_why_alpha_is_undefined() -> None:
    table = leave_one_out(answers(u="1*", v="01", w="*1")).set_index("annotator_id")
    assert list(table["n_votes"]) == [1, 2, 1]
    assert list(table["n_pairable"]) == [1, 0, 1]
    assert table.loc["v", "note"] == "no pair has two judgments"
    assert table.loc["u", "note"].startswith("without this annotator every judgment")
    assert table.loc["w", "value"] == 0.0


def test_an_annotator_who_never_voted_changes_nothing() -> None:
    row = leave_one_out(answers(u="11", v="01", z="*e"), grades=GRADES).iloc[-1]
    assert (row["annotator_id"], row["n_votes"], row["n_pairable"], row["change"]) == ("z", 0, 2, 0.0)


@pytest.mark.parametrize("given", [{}, {"u": "ee", "v": "e*"}])
def test_where_no_label_is_a_vote_nothing_is_said_of_anybody(given: dict[str, str]) -> None:
    table = leave_one_out(answers(**given), grades={"e": None})
    assert list(table["annotator_id"]) == list(given)
    assert set(table["n_votes"]) <= {0}
    assert set(table["note"]) <= {"no pair has two judgments"}


def test_an_annotator_beside_the_peers_on_the_same_pairs() -> None:
    judgments = answers(u="11110e", v="100***", w="10****")
    row = annotator_profiles(judgments, grades=GRADES, min_pairs=3).iloc[0]
    assert (row["n_votes"], row["n_without_vote"], row["n_shared"]) == (5, 1, 3)
    assert (row["positive_rate"], row["shared_positive_rate"]) == (4 / 5, 1)
    assert row["peer_positive_rate"] == row["peer_agreement"] == pytest.approx((1 + 0 + 0) / 3)


@pytest.mark.parametrize("table", [leave_one_out, annotator_profiles])
def test_later_answers_count_only_where_all_rounds_are_asked_for(table) -> None:
    rows = [
        (f"d{n}", who, label) for who, own in (("u", "1101"), ("v", "0111")) for n, label in enumerate(own)
    ]
    later = [("d0", "w", "1"), ("d2", "w", "0")]
    first, both = judged(rows), judged(rows + later, round=[1] * len(rows) + [2] * len(later))
    pd.testing.assert_frame_equal(table(first), table(both))
    assert table(both, all_rounds=True)["annotator_id"].tolist() == ["u", "v", "w"]


def test_too_few_shared_pairs_cannot_be_told_and_labels_without_grades_have_no_positive_rate() -> None:
    row = annotator_profiles(answers(u="1111", v="10**"), min_pairs=3).iloc[0]
    assert row["n_shared"] == 2
    assert row[["shared_positive_rate", "peer_positive_rate", "peer_agreement"]].isna().all()
    table = annotator_profiles(answers(u="yn", v="yy"), min_pairs=1)
    assert table["positive_rate"].isna().all()
    assert list(table["peer_agreement"]) == [0.5, 0.5]


def test_wilsons_interval_at_its_ends() -> None:
    low, high = wilson_interval(np.array([0.0, 10.0, 0.0]), np.array([10.0, 10.0, 0.0]), 0.95)
    np.testing.assert_allclose(low, [0, 0.7225, np.nan], atol=5e-5)
    np.testing.assert_allclose(high, [0.2775, 1, np.nan], atol=5e-5)


@pytest.mark.parametrize("table_of", [leave_one_out, annotator_profiles])
def test_rows_are_by_id_whatever_the_order_of_judgments_and_the_input_stays(table_of: object) -> None:
    judgments = sparse(3)
    before = judgments.copy()
    shuffled = Judgments(judgments.sample(frac=1, random_state=2))
    tables = [table_of(each, grades=GRADES) for each in (judgments, shuffled)]  # type: ignore[operator]
    pd.testing.assert_frame_equal(*tables)
    pd.testing.assert_frame_equal(before, judgments)
    assert len(table_of(judged([]))) == 0  # type: ignore[operator]


def test_a_bad_argument_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="min_pairs is 0"):
        annotator_profiles(answers(u="1"), min_pairs=0)
