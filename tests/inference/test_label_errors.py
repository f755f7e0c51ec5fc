"""Error rates from votes and unbiased products; numbers of the reference by hand and by a second program."""

import math
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from fire_toolkit.inference.label_errors import (
    ErrorRates,
    alarm_of_fourth_votes,
    chance_of_common_rates,
    moment_rates,
    positive_fourth_votes,
)
from fire_toolkit.tables.design import CLASSES, label_by_design


def test_rates_of_doubled_pairs() -> None:
    found = moment_rates([10_000, 936 + 464 / 2, 936, 93 / 2])
    assert [float(x) for x in found] == pytest.approx((0.954395, 0.021339, 0.102310), abs=5e-7)


def test_rates_are_those_of_three_votes_of_either_design() -> None:
    t, f, share = 0.9, 0.05, 0.2
    chance = {
        votes: sum(
            weight * np.prod([rate if vote else 1 - rate for vote in votes])
            for weight, rate in ((share, t), (1 - share, f))
        )
        for votes in product((0, 1), repeat=3)
    }
    both = chance[1, 1, 0] + chance[1, 1, 1]
    differ = 2 * (chance[1, 0, 0] + chance[1, 0, 1])
    found = moment_rates([1.0, both + differ / 2, both, chance[1, 0, 1]])  # half of the thirds are 1, 0, 1
    assert [float(x) for x in found] == pytest.approx([t, f, share])


def test_votes_that_tell_nothing_or_fit_no_probability_have_no_rates() -> None:
    alike = moment_rates([100.0, 50.0, 25.0, 12.5])
    assert alike.why_not
    of_bands = [
        ErrorRates(*np.array([[[t, 0.9], [0.9, 0.9]], [[0.1] * 2] * 2, [[0.2] * 2] * 2])) for t in (0.9, 0.4)
    ]
    assert of_bands[0].why_not == ""  # of several bands and draws
    few = "finds 40.0% of positives and calls 10.00% of others positive"
    assert few in of_bands[1].why_not
    assert few in alike._replace(t=np.array(0.4), f=np.array(0.1)).why_not


T, F = 0.92, 0.04
P = ErrorRates(*np.array([[T], [F], [0.1]])).relevance[:-1].reshape(3, 2)  # by class and label


def outcomes(is_relevant: bool, name: str) -> Iterator[tuple[float, int, float]]:
    """Three votes of a pair with their probability, its label by design and what 1 − p̂ is left."""
    rate = T if is_relevant else F
    for votes in product("10", repeat=3):
        label = label_by_design(name, "".join(votes))
        chance = float(np.prod([rate if vote == "1" else 1 - rate for vote in votes]))
        yield chance, label, 1 - float(P[CLASSES.index(name), label])


@pytest.mark.parametrize("n_relevant", [0, 1, 2])
def test_by_enumeration_the_product_is_0_or_1_on_average(n_relevant: int) -> None:
    # three docs, one of each class, the first n of them relevant: every vote that can be cast
    docs = (list(outcomes(place < n_relevant, name)) for place, name in enumerate(CLASSES))
    mean = sum(math.prod(chance for chance, *_ in each) * (1 - math.prod(rest for *_, rest in each))
               for each in product(*docs))  # fmt: skip
    assert mean == pytest.approx(min(n_relevant, 1), abs=1e-12)


@pytest.mark.parametrize("is_relevant", [*product((False, True), repeat=2)])
def test_a_class_that_waits_for_the_pairs_before_keeps_the_product_exact(
    is_relevant: tuple[bool, bool],
) -> None:
    # a second doc is verified unless the first was confirmed: its class hangs on votes before it alone
    mean = sum(
        one * two * (1 - first * second)
        for one, label, first in outcomes(is_relevant[0], "verify")
        for two, _, second in outcomes(is_relevant[1], "single" if label else "verify")
    )
    assert mean == pytest.approx(float(any(is_relevant)), abs=1e-12)


@pytest.mark.slow
def test_enough_fourth_votes_show_a_correlation_of_a_tenth_in_nine_cases_of_ten() -> None:
    """Against votes drawn with rates of beta distribution for each pair."""
    rng = np.random.default_rng(0)
    a = {rate: (rate * 9, (1 - rate) * 9) for rate in (0.92, 0.04)}  # correlation 1 / (1 + 9)
    pairs = {
        rate: rng.beta(*ab, size=n) for (rate, ab), n in zip(a.items(), (390_000, 2_610_000), strict=True)
    }
    chance = np.concatenate(list(pairs.values()))
    votes = rng.random((4, len(chance))) < chance
    is_asked = (votes[:3].sum(axis=0) == 2) & ~(votes[0] & votes[1])
    fourth = rng.permutation(votes[3][is_asked])
    rates = ErrorRates(*np.array([0.92, 0.04, 0.13]))
    assert float(positive_fourth_votes(rates, 0.1)[0][0]) == pytest.approx(fourth.mean(), abs=0.005)
    needed = alarm_of_fourth_votes(0, 0, rates).n_needed
    drawn = fourth[: len(fourth) // needed * needed].reshape(-1, needed).sum(axis=1)
    raised = [alarm_of_fourth_votes(needed, int(n), rates).is_raised for n in drawn]
    assert 0.88 < np.mean(raised) < 0.96
    assert alarm_of_fourth_votes(needed, needed, rates).is_enough
    assert not alarm_of_fourth_votes(needed - 1, needed - 1, rates).is_enough


def test_fourth_votes_of_bands_are_expected_by_the_rates_of_each() -> None:
    of_bands = ErrorRates(*np.array([[0.95, 0.9], [0.1, 0.02], [0.4, 0.1]]))
    shares = []
    for t, f, share in zip(*of_bands, strict=True):
        split = share * t**2 * (1 - t), (1 - share) * f**2 * (1 - f)
        shares.append((split[0] * t + split[1] * f) / sum(split))
    found = alarm_of_fourth_votes(np.array([30, 50]), 60, of_bands, np.array([500.0, 900.0]))
    mean = 30 * shares[0] + 50 * shares[1]
    variance = 30 * shares[0] * (1 - shares[0]) + 50 * shares[1] * (1 - shares[1])
    assert (found.n, found.expected * 80) == pytest.approx((80, mean))
    assert (found.z, found.is_raised) == (pytest.approx((60 - mean) / np.sqrt(variance)), True)


@pytest.mark.slow
def test_patterns_by_band_are_those_of_a_chi_square() -> None:
    """Doubled pairs in three bands with common rates: the chance is even; with other rates it is small."""
    rng = np.random.default_rng(1)
    found: dict[float, list[float]] = {0.04: [], 0.12: []}
    for f_first, chances in found.items():
        for _ in range(400):
            counts = []
            for share, f in ((0.4, f_first), (0.2, 0.04), (0.1, 0.04)):
                relevant = rng.random(600) < share
                one, two, three = rng.random((3, 600)) < np.where(relevant, 0.9, f)
                counts.append(
                    [600, (one + 0.0 + two).sum() / 2, (one & two).sum(), ((one ^ two) & three).sum() / 2]
                )
            chances.append(chance_of_common_rates(np.array(counts), is_doubled=True))
    assert 0.4 < np.mean(found[0.04]) < 0.6
    assert np.mean(np.array(found[0.04]) < 0.1) < 0.16
    assert np.mean(found[0.12]) < 0.02
    assert chance_of_common_rates(np.array([[10.0, 3, 2, 0]]), is_doubled=True) == 1
