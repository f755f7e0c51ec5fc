"""Measures give the numbers that papers and programs print for worked examples."""

import pytest
from small_world import at_ranks, join

from examples import cases
from fire_toolkit.measures import JudgedRanking, parse_measure


def value(ranking: JudgedRanking, name: str) -> float:
    return float(parse_measure(name).per_query(ranking)[0])


RANKINGS = {
    "five": at_ranks([1, 3, 4, 8, 15], length=20, total=12),
    "graded": join({"q": {"a": 9, "b": 8, "c": 7}}, {"q": {"b": 3, "c": 2, "x": 1}}),
    "three": at_ranks([1, 5, 9], length=30, total=4),
}


@cases("ranking", "name", "expected")
def test_rankings_computed_by_hand(ranking: str, name: str, expected: float) -> None:
    assert expected == pytest.approx(value(RANKINGS[ranking], name), abs=1e-6)


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
