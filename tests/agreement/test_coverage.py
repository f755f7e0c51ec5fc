"""How often intervals held the truth in simulated samples, beside each of them."""

import math

import numpy as np
import pandas as pd
import pytest

from fire_toolkit.agreement.coverage import SIZES, _read, describe_coverage
from fire_toolkit.agreement.intervals import METHODS
from fire_toolkit.agreement.registry import DEFAULTS, STATISTICS
from fire_toolkit.agreement.summary import agreement_summary
from fire_toolkit.agreement.table import agreement_intervals
from fire_toolkit.tables import Judgments, check_judgments


def campaign(n_captions: int, n_docs: int, *, n_doubled: int) -> Judgments:
    """Two annotators, who differ on every tenth pair; of each caption so many pairs are judged twice."""
    rows = [
        (
            f"q{caption:03d}",
            f"d{doc}",
            rater,
            str((caption + doc) % 3 // 2 ^ (n == 1 and caption % 10 == doc)),
        )
        for caption in range(n_captions)
        for doc in range(n_docs)
        for n, rater in enumerate("uv" if doc < n_doubled else "u")
    ]
    return check_judgments(pd.DataFrame(rows, columns=["query_id", "doc_id", "annotator_id", "label"]))


def uneven(judgments: Judgments) -> Judgments:
    chance = np.where(judgments["doc_id"] == "d0", 1.0, 0.5)
    return check_judgments(judgments.assign(inclusion_probability=chance))


def test_every_statistic_design_and_method_was_simulated() -> None:
    shares = _read()
    designs = {
        f"{what}{how}" for what in ("pairs", "captions", "pairs of captions") for how in ("", ", uneven")
    }
    assert set(shares) == {(d, m, s) for d in designs for m in METHODS for s in STATISTICS}
    assert {len(each) for each in shares.values()} == {len(SIZES)}


@pytest.mark.parametrize("design", ["pairs", "captions"])
def test_default_intervals_of_even_draws_hold_the_truth_as_often_as_they_say(design: str) -> None:
    place = SIZES.index(100)
    for statistic in DEFAULTS:
        shares = _read()[design, "jackknife", statistic]
        assert all(0.91 <= share <= 0.97 for share in shares[place:])


def test_what_holds_too_seldom_is_told_number_by_number() -> None:
    judgments = uneven(campaign(120, 4, n_doubled=2))
    table = agreement_summary(judgments).table
    of_100 = [_read()["captions, uneven", "jackknife", name][2] for name in DEFAULTS]
    assert of_100 == table["coverage"].tolist()
    assert set(table["coverage_of"]) == {"100 captions, unevenly drawn"}
    (words,) = describe_coverage(table)
    low = [f"{name} {share:.3f}".replace("0.", ".") for name, share in zip(DEFAULTS, of_100, strict=True)
           if share < 0.91]  # fmt: skip
    assert words.startswith("share of simulated samples (100 captions, unevenly drawn)")
    assert words.endswith(f"held the truth: {', '.join(low)}")
    assert list(describe_coverage(agreement_summary(campaign(120, 4, n_doubled=2)).table)) == []


@pytest.mark.parametrize(
    ("n_captions", "n_docs", "n_doubled", "of"),
    [
        (400, 4, 2, "400 captions"),
        (399, 4, 2, "100 captions"),
        (400, 4, 1, "100 captions"),  # 400 doubled pairs count as 200 captions
        (19, 4, 4, "fewer than 20 captions"),
        (250, 1, 1, "1,000 pairs"),  # as if of 125 captions
        (39, 1, 1, "fewer than 200 pairs"),
    ],
)
def test_the_samples_are_no_larger_than_what_is_at_hand(
    n_captions: int, n_docs: int, n_doubled: int, of: str
) -> None:
    table = agreement_summary(campaign(n_captions, n_docs, n_doubled=n_doubled)).table
    assert set(table["coverage_of"]) == {of}
    assert table["coverage"].isna().all() == of.startswith("fewer")


def test_pairs_drawn_one_by_one_of_captions_are_a_design_of_their_own() -> None:
    judgments = campaign(120, 4, n_doubled=2)
    table = agreement_intervals(judgments, statistics=["prevalence"], n_resamples=20)
    assert table["coverage_of"].tolist() == ["100 captions, by pair"]
    assert table["coverage"].tolist() == [_read()["pairs of captions", "bootstrap", "prevalence"][2]]
    other = agreement_intervals(judgments, statistics=["prevalence"], n_resamples=20, confidence=0.9)
    assert (math.isnan(other["coverage"][0]), other["coverage_of"][0]) == (True, "")
