import numpy as np
import pandas as pd
import pytest

from fire_toolkit.agreement.annotators import annotator_profiles
from fire_toolkit.arrays import wilson_interval
from fire_toolkit.errors import UsageError
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
    assert row[["shared_positive_rate", "peer_positive_rate", "peer_agreement"]].isna().all()


def test_wilsons_interval_at_its_ends() -> None:
    low, high = wilson_interval(np.array([0.0, 10.0, 0.0]), np.array([10.0, 10.0, 0.0]), 0.95)
    np.testing.assert_allclose(low, [0, 0.7225, np.nan], atol=5e-5)
    np.testing.assert_allclose(high, [0.2775, 1, np.nan], atol=5e-5)


def test_labels_without_grades_have_no_positive_rate() -> None:
    table = annotator_profiles(judged({"u": "yn", "v": "yy"}), min_pairs=1)
    assert table["positive_rate"].isna().all()
    assert list(table["peer_agreement"]) == [0.5, 0.5]


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


def test_a_bad_argument_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="min_pairs is 0"):
        annotator_profiles(judged({"u": "y"}), min_pairs=0)
