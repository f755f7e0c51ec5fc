import math

import numpy as np
import pandas as pd
import pytest

from fire_toolkit.agreement.profiles import annotator_profiles
from fire_toolkit.arrays import wilson_interval
from fire_toolkit.errors import TableError, UsageError
from fire_toolkit.tables import Judgments, check_judgments

GRADES = {"y": 1, "n": 0, "e": None}


def judged(answers: dict[str, str], **columns: list[object]) -> Judgments:
    """Judgments from annotator_id → one answer a doc (`*`: none); columns: one value a row."""
    rows = [
        ("q", f"d{place:02d}", annotator, label)
        for annotator, given in answers.items()
        for place, label in enumerate(given)
        if label != "*"
    ]
    table = pd.DataFrame(rows, columns=["query_id", "doc_id", "annotator_id", "label"], dtype="str")
    return check_judgments(table.assign(**columns))


def profile(judgments: Judgments, annotator: str, **options: object) -> pd.Series:
    table = annotator_profiles(judgments, grades=GRADES, **options)  # type: ignore[arg-type]
    return table.set_index("annotator_id").loc[annotator]


def test_an_annotator_beside_the_peers_on_the_same_pairs() -> None:
    row = profile(judged({"u": "yyyyne", "v": "ynn***", "w": "yn****"}), "u", min_pairs=3)
    assert (row["n_votes"], row["n_without_vote"], row["n_shared"]) == (5, 1, 3)
    assert row["positive_rate"] == 4 / 5
    assert row["shared_positive_rate"] == 1
    assert row["peer_positive_rate"] == pytest.approx((1 + 0 + 0) / 3)
    assert row["peer_agreement"] == pytest.approx((1 + 0 + 0) / 3)


def test_too_few_shared_pairs_cannot_be_told() -> None:
    row = profile(judged({"u": "yyyy", "v": "yn**"}), "u", min_pairs=3)
    assert row["n_shared"] == 2
    assert row[["shared_positive_rate", "peer_positive_rate", "peer_agreement", "drift"]].isna().all()
    assert "beside peers cannot be told: 2 shared pairs, fewer than 3" in row["note"]


def test_drift_is_the_change_of_agreement_from_the_earlier_to_the_later_half() -> None:
    times = [f"2026-03-{day:02d}T10:00:00Z" for day in range(1, 9)]
    judgments = judged({"u": "yyyynnnn", "v": "yyyyyynn"}, created_at=times + times)
    assert profile(judgments, "u", min_pairs=4)["drift"] == pytest.approx(2 / 4 - 4 / 4)
    later = profile(judgments, "u", min_pairs=5)
    assert math.isnan(later["drift"])
    assert "drift cannot be told" in later["note"]


def test_drift_reads_times_of_any_iso_form_and_needs_times() -> None:
    times = [
        "2026-03-02T00:00:00Z",
        "2026-03-01T09:00:00.5+09:00",
        "2026-03-04T00:00:00Z",
        "2026-03-03T00:00:00Z",
    ]
    judgments = judged({"u": "yyyy", "v": "nyny"}, created_at=times + [""] * 4)
    # In time: d01 (same), d00 (not), then d03 (same), d02 (not).
    assert profile(judgments, "u", min_pairs=2)["drift"] == 0.0
    assert math.isnan(profile(judgments, "v", min_pairs=2)["drift"])


def test_accuracy_on_controls_with_wilsons_interval() -> None:
    controls = pd.DataFrame(
        {"query_id": "q", "doc_id": [f"d{n:02d}" for n in range(10)] + ["unseen"], "label": "y"}
    )
    row = profile(judged({"u": "yyyyyyyyne" + "n", "v": "y"}), "u", controls=controls)
    assert (row["n_controls"], row["control_accuracy"]) == (9, pytest.approx(8 / 9))
    # 8 of 9: .565 to .980 (Wilson 1927 by hand).
    assert (row["control_low"], row["control_high"]) == (
        pytest.approx(0.565, abs=1e-3),
        pytest.approx(0.980, abs=1e-3),
    )
    none = profile(judged({"u": "y"}), "u")
    assert math.isnan(none["control_low"])
    assert "no controls" in none["note"]


def test_a_control_given_twice_is_an_error() -> None:
    controls = pd.DataFrame({"query_id": "q", "doc_id": "d00", "label": ["y", "n"]})
    with pytest.raises(TableError, match="controls: query_id, doc_id given twice"):
        profile(judged({"u": "y"}), "u", controls=controls)


def test_wilsons_interval_at_its_ends() -> None:
    low, high = wilson_interval(np.array([0.0, 10.0, 0.0]), np.array([10.0, 10.0, 0.0]), 0.95)
    np.testing.assert_allclose(low, [0, 0.7225, np.nan], atol=5e-5)
    np.testing.assert_allclose(high, [0.2775, 1, np.nan], atol=5e-5)


def test_quantiles_of_durations() -> None:
    row = profile(judged({"u": "y" * 11}, duration_s=[float(second) for second in range(11)]), "u")
    assert list(row[["duration_s_q10", "duration_s_q50", "duration_s_q90"]]) == [1.0, 5.0, 9.0]
    assert "no durations" in profile(judged({"u": "y"}), "u")["note"]


def test_labels_without_grades_have_no_positive_rate() -> None:
    table = annotator_profiles(judged({"u": "yn", "v": "yy"}), min_pairs=1)
    assert table["positive_rate"].isna().all()
    assert list(table["peer_agreement"]) == [0.5, 0.5]
    assert table["note"].str.startswith("labels have no grades").all()


def test_row_order_is_irrelevant_and_the_input_stays() -> None:
    judgments = judged({"u": "yynnyy", "v": "ynynyn", "w": "*yynn*"})
    before = judgments.copy()
    shuffled = Judgments(judgments.sample(frac=1, random_state=1))
    pd.testing.assert_frame_equal(
        annotator_profiles(judgments, grades=GRADES, min_pairs=2),
        annotator_profiles(shuffled, grades=GRADES, min_pairs=2),
    )
    pd.testing.assert_frame_equal(before, judgments)


def test_no_judgments_give_no_rows() -> None:
    assert len(annotator_profiles(judged({}), grades=GRADES)) == 0


@pytest.mark.parametrize(
    ("options", "words"), [({"min_pairs": 0}, "min_pairs is 0"), ({"confidence": 1.0}, "confidence is 1.0")]
)
def test_a_bad_argument_is_a_usage_error(options: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        annotator_profiles(judged({"u": "y"}), **options)  # type: ignore[arg-type]
