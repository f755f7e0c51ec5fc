"""Values, weighted values and intervals, all made of the same sums."""

import math
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from small_judgments import agreement_intervals, alpha_interval, on_pairs

from fire_toolkit.agreement.intervals import Resampling, interval_of
from fire_toolkit.agreement.registry import STATISTICS
from fire_toolkit.agreement.table import agreement
from fire_toolkit.resolution.votes import code_votes
from fire_toolkit.tables import Judgments

NAMES = list(STATISTICS)
OF_TWO = ["cohen_kappa"]
pairs = partial(on_pairs, n_queries=5)


ANSWERS = ["11", "11", "10", "00", "00", "00", "110", "1", "0", "0"]


def values(judgments: Judgments, **how: Any) -> dict[str, float]:
    """Every statistic by its name."""
    table = agreement(judgments, statistics=NAMES, **how)
    return dict(zip(table["statistic"], table["value"], strict=True))


def test_a_pair_drawn_with_probability_one_third_counts_three_times() -> None:
    chance = [1, 1 / 3, 1 / 3, 1, 1 / 3, 1, 1, 1, 1, 1] * 100
    answers = ANSWERS * 100
    copies = [answer for answer, p in zip(answers, chance, strict=True) for _ in range(round(1 / p))]
    expected = values(pairs([answer for answer in copies if len(answer) > 1]))
    found = values(pairs(answers, p=chance), inclusion="p")
    for name in NAMES:
        # alpha has a factor (n - 1) / n, in which copies count and weights do not
        assert expected[name] == pytest.approx(found[name], abs=5e-4 if name == "alpha" else 1e-12), name


def test_one_inclusion_probability_for_all_pairs_changes_nothing() -> None:
    assert values(pairs(ANSWERS)) == values(pairs(ANSWERS, p=[0.2] * 10), inclusion="p")


def test_second_judgments_of_all_positives_and_few_negatives_are_undone_by_weights() -> None:
    # Among 16,000 pairs 10% of first answers are positive; second answers differ on 20% of these, on 5% of
    # the rest. All first positives are asked twice, and one in eight of the rest.
    first = ["11"] * 1280 + ["10"] * 320, ["00"] * 13680 + ["01"] * 720
    one_in_eight = [given if row % 8 == 0 else given[0] for row, given in enumerate(first[1])]
    chance = [1.0] * len(first[0]) + [1 / 8] * len(first[1])
    drawn = pairs([*first[0], *one_in_eight], p=chance)
    weighted, unweighted = values(drawn, inclusion="p"), values(drawn)
    for name, expected in values(pairs([*first[0], *first[1]])).items():
        assert expected == pytest.approx(weighted[name], abs=1e-4), name
        assert abs(unweighted[name] - expected) > 0.005, name


@pytest.mark.parametrize("name", NAMES)
def test_the_value_of_every_statistic_lies_in_its_interval(name: str) -> None:
    judgments = pairs(ANSWERS * 20)
    row = agreement_intervals(judgments, statistics=[name], n_resamples=400).iloc[0]
    assert row["low"] < row["value"] < row["high"]
    assert row["n_resampled"] == (200 if STATISTICS[name].of_all else 140)
    assert math.isnan(row["below_667"]) == (name != "alpha")


@pytest.mark.slow
def test_a_95_percent_interval_covers_the_statistic_of_the_whole() -> None:
    draw = np.random.default_rng(5)
    kinds = np.array(ANSWERS)
    truth, covered = values(pairs(list(kinds))), dict.fromkeys(NAMES, 0)
    for seed in range(40):
        votes = code_votes(pairs(list(draw.choice(kinds, size=200))))
        for name in NAMES:
            found = interval_of(votes, name, Resampling(n_resamples=300, seed=seed))
            covered[name] += found.low <= truth[name] <= found.high
    assert min(covered.values()) >= 33, covered  # fewer has a chance below .001 at .95


@pytest.mark.parametrize("cluster", [None, "query_id"])
@pytest.mark.parametrize("name", OF_TWO)
def test_the_interval_of_two_annotators_is_the_linearised_one(name: str, cluster: str | None) -> None:
    """The derivative by a pair's weight is had here from copies: one of 301, where other pairs have 300."""
    answers = ["11", "10", "110", "00", "01", "011", "1", "00", "101", "11", "0"]
    judgments = pairs(answers)
    doubled = [n for n, given in enumerate(answers) if len(given) > 1]
    unit = {n: n if cluster is None else n % 5 for n in doubled}
    whole = agreement(judgments, statistics=[name])["value"][0]

    def with_more_of(chosen: int) -> float:
        copies = [given for n, given in enumerate(answers) for _ in range(300 + (unit.get(n) == chosen))]
        return float(agreement(pairs(copies), statistics=[name])["value"][0])

    influence = np.array([300 * (with_more_of(each) - whole) for each in sorted(set(unit.values()))])
    n = len(influence)
    error = math.sqrt(n / (n - 1) * (influence**2).sum())
    student = {9: 2.306004, 5: 2.776445}[n]
    row = agreement_intervals(judgments, statistics=[name], cluster=cluster).iloc[0]
    assert row["n_resampled"] == n
    assert row["low"] == pytest.approx(max(row["value"] - student * error, -1), rel=2e-3)


def test_two_annotators_with_few_pairs_are_said() -> None:
    note = agreement(pairs(ANSWERS), statistics=["cohen_kappa"])["note"][0]
    assert "3 of 3 annotator pairs share fewer than 30 pairs; values on so few tend to be too low" in note


def test_an_undefined_value_says_why_beside_its_interval() -> None:
    row = agreement_intervals(pairs(["1", "0"])).iloc[0]
    assert row["note"] == row["interval_note"] == "no pair has two judgments"


def test_the_columns_of_agreement_come_first_and_unchanged() -> None:
    judgments = pairs(ANSWERS)
    plain = agreement(judgments, statistics=list(STATISTICS), by="annotator_id")
    table = agreement_intervals(judgments, statistics=list(STATISTICS), by="annotator_id", n_resamples=20)
    pd.testing.assert_frame_equal(plain, table[list(plain.columns)])


def test_clusters_within_a_group_are_those_of_the_group() -> None:
    judgments = pairs(ANSWERS * 6, half=["x", "y"] * 30)
    whole = agreement_intervals(judgments, by="half", cluster="query_id", n_resamples=200)
    alone = alpha_interval(
        Judgments(judgments[judgments["half"] == "x"]), cluster="query_id", n_resamples=200
    )
    row = whole[(whole["group"] == "x") & (whole["statistic"] == "alpha")].iloc[0]
    assert (alone.value, alone.n_resampled) == (pytest.approx(row["value"]), row["n_resampled"])
    assert (alone.low, alone.high) == (pytest.approx(row["low"]), pytest.approx(row["high"]))


@pytest.mark.parametrize(
    ("n_pairs", "cluster", "warned"), [(10, None, True), (9, None, False), (10, "query_id", False)]
)
def test_pairs_drawn_one_by_one_where_captions_have_several_are_said(
    n_pairs: int, cluster: str | None, warned: bool
) -> None:
    judgments = pairs((["11", "10"] * 5)[:n_pairs])  # of five captions
    row = agreement_intervals(judgments, cluster=cluster, n_resamples=20).iloc[0]
    assert ("captions have 2.0 each" in row["interval_note"]) == warned


def test_weighted_label_shares_by_hand() -> None:
    # Doubled at chance 1: six pairs 11 and four 10; at chance .1: nine pairs 00 and one 01; 90 single zeros.
    given = [("11", 1.0)] * 6 + [("10", 1.0)] * 4 + [("00", 0.1)] * 9 + [("01", 0.1)] + [("0", 0.1)] * 90
    answers, chances = zip(*given, strict=True)
    judgments = pairs(answers, inclusion_probability=chances)
    found = agreement(judgments, statistics=["fleiss_kappa", "gwet_ac1", "prevalence", "percent_agreement"])
    agreeing = (6 + 9 * 10) / (10 + 10 * 10)
    share = (6 + 4 / 2 + 10 / 2) / (10 + 10 * 10)
    by_chance, by_gwet = share**2 + (1 - share) ** 2, 2 * share * (1 - share)
    assert found["value"].tolist() == pytest.approx(
        [(agreeing - by_chance) / (1 - by_chance), (agreeing - by_gwet) / (1 - by_gwet), share, agreeing]
    )
