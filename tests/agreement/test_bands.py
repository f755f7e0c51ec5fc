from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest

from fire_toolkit.agreement.bands import BANDS, normal_at_least, reached_band
from fire_toolkit.agreement.table import agreement_intervals
from fire_toolkit.tables import Judgments, check_judgments

BOUNDS = [(0.8, 1.0), (0.6, 0.8), (0.4, 0.6), (0.2, 0.4), (0.0, 0.2), (-1.0, 0.0)]


def cumulative(value: float, error: float) -> list[float]:
    """Gwet's cumulative membership probabilities, band by band from the top, as irrCAC sums them."""
    p = NormalDist().cdf
    truncated = p((value + 1) / error) - p((value - 1) / error)
    each = [(p((value - low) / error) - p((value - high) / error)) / truncated for low, high in BOUNDS]
    return list(np.cumsum(each))


@pytest.mark.parametrize(
    ("value", "error"), [(0.775444, 0.14295), (0.7, 0.01), (0.61, 0.05), (0.95, 0.1), (-0.3, 0.2), (0.0, 0.4)]
)
def test_the_band_is_the_first_of_irrcacs_whose_cumulative_probability_is_95(
    value: float, error: float
) -> None:
    at_least = normal_at_least(value, error)
    expected = cumulative(value, error)
    assert [at_least(bound) for bound, _ in BANDS] == pytest.approx(expected, abs=1e-12)
    place = next(place for place, chance in enumerate(expected) if chance >= 0.95)
    name, chance = reached_band(at_least)
    assert name == BANDS[place][1]
    assert chance == pytest.approx(expected[place])


def test_a_value_just_above_a_bound_does_not_reach_its_band() -> None:
    assert reached_band(normal_at_least(0.61, 0.05))[0] == "moderate"
    assert reached_band(normal_at_least(0.61, 0.001)) == ("substantial", pytest.approx(1.0))
    assert reached_band(lambda bound: 0.0) == ("poor", 1.0)


def answers() -> Judgments:
    rows = [(f"d{n:03d}", rater, "1" if (n % 3 == 0) ^ (rater == "v" and n % 20 == 0) else "0")
            for n in range(200) for rater in "uv"]  # fmt: skip
    return check_judgments(
        pd.DataFrame(rows, columns=["doc_id", "annotator_id", "label"]).assign(query_id="q")
    )


@pytest.mark.parametrize("method", ["bootstrap", "jackknife"])
def test_coefficients_beyond_chance_have_a_band_and_shares_have_none(method: str) -> None:
    names = ["alpha", "gwet_ac1", "cohen_kappa", "percent_agreement", "positive_agreement", "prevalence"]
    table = agreement_intervals(answers(), statistics=names, method=method, n_resamples=2000)
    found = table.set_index("statistic")
    assert list(found["band"]) == ["almost perfect"] * 3 + [""] * 3
    assert (found.loc[names[:3], "band_probability"] >= 0.95).all()
    assert found.loc[names[3:], "band_probability"].isna().all()
