"""Measures give the numbers that papers and programs print for worked examples."""

import pytest
from small_world import at_ranks, join

from examples import cases
from fire_toolkit.measures import JudgedRanking, parse_measure


def value(ranking: JudgedRanking, name: str) -> float:
    return float(parse_measure(name).per_query(ranking)[0])


# Positives at ranks 1, 3, 4, 8, 15 of 20 docs, 12 in all. The sum of the precisions is 1 + 2/3 + 3/4 + 4/8 +
# 5/15 = 3.25; trec_eval divides by 12, CIRCO by min(k, 12), FIRE's public code by those found.
FIVE = at_ranks([1, 3, 4, 8, 15], length=20, total=12)
# Grades 3 and 2 at ranks 2 and 3, a grade 1 not retrieved. DCG = 3/log2(3) + 2/log2(4) = 2.892789;
# ideal = 3 + 2/log2(3) + 1/2 = 4.761860, at 2: 4.261860; DCG at 2 = 1.892789.
GRADED = join({"q": {"a": 9, "b": 8, "c": 7}}, {"q": {"b": 3, "c": 2, "x": 1}})
# Precision 3/10, recall 3/4: F = 2·.3·.75 / 1.05; with β = 2: 5·.3·.75 / (4·.3 + .75).
THREE = at_ranks([1, 5, 9], length=30, total=4)


@pytest.mark.parametrize(
    ("ranking", "name", "expected"),
    [
        (FIVE, "AP", 0.270833),
        (FIVE, "AP@10", 0.243056),
        (FIVE, "AP@10/min", 0.291667),
        (FIVE, "AP_fire@20", 0.65),
        (FIVE, "AP_fire@10", 0.729167),
        (GRADED, "nDCG", 2.892789 / 4.761860),
        (GRADED, "nDCG@2", 1.892789 / 4.261860),
        (GRADED, "nDCG@1", 0.0),
        # DCG is the numerator; in the form of Järvelin and Kekäläinen rank 2 is not discounted.
        (GRADED, "DCG", 2.892789),
        (GRADED, "DCG@2", 1.892789),
        (GRADED, "nDCG_J@2", 3 / 5),
        (THREE, "F@10", 0.45 / 1.05),
        (THREE, "F(beta=2)@10", 1.125 / 1.95),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_rankings_computed_by_hand(ranking: JudgedRanking, name: str, expected: float) -> None:
    assert expected == pytest.approx(value(ranking, name), abs=1e-6)


@pytest.mark.parametrize(("expected", "p"), [(0.7661, 0.5), (0.4526, 0.8), (0.1881, 0.95)])
def test_rank_biased_precision_of_the_papers_example(expected: float, p: float) -> None:
    # Moffat and Zobel 2008: 20 docs, all judged, positives at ranks 1, 2, 6, 11 and 17.
    ranking = at_ranks([1, 2, 6, 11, 17], length=20, total=5)
    assert value(ranking, f"RBP(p={p})") == pytest.approx(expected, abs=5e-5)


def test_the_residual_is_what_is_unknown_within_the_list_and_past_it() -> None:
    # Ranks 1 and 3 are judged, rank 2 is not: .5·.5 for rank 2, .5^3 past the end.
    ranking = join({"q": {"a": 3, "b": 2, "c": 1}}, {"q": {"a": 1, "b": -1, "c": 0}, "r": {"a": 1}})
    measure = parse_measure("RBP_residual(p=0.5)")
    assert list(measure.per_query(ranking)) == [0.25 + 0.125, 1.0]


@cases("expected", "ranks", "total")
def test_shape_retrieval(expected: dict[str, float], ranks: list[int], total: int) -> None:
    ranking = at_ranks(ranks, length=60, total=total)
    found = {name: value(ranking, name) for name in expected}
    assert expected == pytest.approx(found, abs=1e-6)


@cases("expected", "name")
def test_cumulated_gains_of_the_papers_example(expected: list[float], name: str) -> None:
    grades = [3, 2, 3, 0, 0, 1, 2, 2, 3, 0]
    # The ideal of the paper has three 3s, three 2s and four 1s in its first ten places.
    missed = {f"m{n}": 1 for n in range(3)}
    run = {"q": {f"d{n}": -float(n) for n in range(10)}}
    ranking = join(run, {"q": {f"d{n}": grade for n, grade in enumerate(grades)} | missed})
    found = [value(ranking, f"{name}@{k}") for k in range(1, 11)]
    assert expected == pytest.approx(found, abs=0.0051)
    assert found[-1] == value(ranking, name)


def test_map_at_r_stops_at_the_number_of_positives() -> None:
    # Musgrave et al. 2020, figure 4: of ten positives, one at rank 1 gives 1/10; at ranks 1 to 10 all give 1;
    # a positive at rank 5 counts with |G| = 5 and not with |G| = 4.
    first = at_ranks([1], length=20, total=10)
    assert [value(first, name) for name in ("mAP@R", "Rprec")] == pytest.approx([0.1, 0.1])
    assert value(at_ranks([*range(1, 11)], length=20, total=10), "mAP@R") == 1.0
    for total, expected in ((5, (1 + 2 / 5) / 5), (4, 1 / 4)):
        assert value(at_ranks([1, 5, 6], length=20, total=total), "mAP@R") == pytest.approx(expected)


def test_gm_map_takes_nothing_as_a_hundred_thousandth() -> None:
    ranking = join({"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": {"a": 1}, "q2": {"z": 1}})
    measure = parse_measure("gm_map")
    assert list(measure.per_query(ranking)) == [1.0, 0.0]
    assert measure.aggregate(measure.per_query(ranking)) == pytest.approx(0.00001**0.5)
