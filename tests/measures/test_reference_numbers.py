"""Measures give the numbers that papers and programs print for worked examples."""

import pytest

from fire_toolkit.measures import parse_measure


@pytest.mark.parametrize(
    ("expected", "name"),
    [
        # Positives at ranks 1, 3, 4, 8, 15 of 20 docs, 12 in all. The sum of the precisions is
        # 1 + 2/3 + 3/4 + 4/8 + 5/15 = 3.25; trec_eval divides by 12, CIRCO by
        # min(k, 12), FIRE's public code by those found.
        (0.270833, "AP"),
        (0.243056, "AP@10"),
        (0.291667, "AP@10/min"),
        (0.65, "AP_fire@20"),
        (0.729167, "AP_fire@10"),
    ],
)
def test_average_precision_by_its_divisors(at_ranks, expected: float, name: str) -> None:
    ranking = at_ranks([1, 3, 4, 8, 15], length=20, total=12)
    assert expected == pytest.approx(parse_measure(name).per_query(ranking)[0], abs=1e-6)


@pytest.mark.parametrize(
    ("expected", "name"),
    [
        # Grades 3 and 2 at ranks 2 and 3, a grade 1 not retrieved. DCG = 3/log2(3) + 2/log2(4) = 2.892789;
        # ideal = 3 + 2/log2(3) + 1/2 = 4.761860, at 2: 4.261860; DCG at 2 = 1.892789.
        (2.892789 / 4.761860, "nDCG"),
        (1.892789 / 4.261860, "nDCG@2"),
        (0.0, "nDCG@1"),
        # DCG is the numerator; in the form of Järvelin and Kekäläinen rank 2 is not discounted.
        (2.892789, "DCG"),
        (1.892789, "DCG@2"),
        (3 / 5, "nDCG_J@2"),
    ],
)
def test_ndcg_of_a_hand_computed_ranking(join, expected: float, name: str) -> None:
    ranking = join({"q": {"a": 9, "b": 8, "c": 7}}, {"q": {"b": 3, "c": 2, "x": 1}})
    assert expected == pytest.approx(parse_measure(name).per_query(ranking)[0], abs=1e-6)


def test_f_weighs_precision_and_recall(at_ranks) -> None:
    # Precision 3/10, recall 3/4: F = 2·.3·.75 / 1.05; with β = 2: 5·.3·.75 / (4·.3 + .75).
    ranking = at_ranks([1, 5, 9], length=30, total=4)
    assert parse_measure("F@10").per_query(ranking)[0] == pytest.approx(0.45 / 1.05)
    assert parse_measure("F(beta=2)@10").per_query(ranking)[0] == pytest.approx(1.125 / 1.95)


@pytest.mark.parametrize(("expected", "p"), [(0.7661, 0.5), (0.4526, 0.8), (0.1881, 0.95)])
def test_rank_biased_precision_of_the_papers_example(at_ranks, expected: float, p: float) -> None:
    # Moffat and Zobel 2008: 20 docs, all judged, positives at ranks 1, 2, 6, 11 and 17.
    ranking = at_ranks([1, 2, 6, 11, 17], length=20, total=5)
    assert parse_measure(f"RBP(p={p})").per_query(ranking)[0] == pytest.approx(expected, abs=5e-5)


def test_the_residual_is_what_is_unknown_within_the_list_and_past_it(join) -> None:
    # Ranks 1 and 3 are judged, rank 2 is not: .5·.5 for rank 2, .5^3 past the end.
    ranking = join({"q": {"a": 3, "b": 2, "c": 1}}, {"q": {"a": 1, "b": -1, "c": 0}, "r": {"a": 1}})
    measure = parse_measure("RBP_residual(p=0.5)")
    assert list(measure.per_query(ranking)) == [0.25 + 0.125, 1.0]


@pytest.mark.parametrize(
    ("expected", "ranks", "total"),
    [
        # SHREC's DCG is nDCG_J: 1 + 1 + 1/2 + 1/log2(7) + ... over the ideal's 1 + 1 + 1/log2(3) + ...
        # By hand from the definitions of the Princeton Shape Benchmark (Shilane et al. 2004).
        # 4 of the top 8, 5 of the top 16; 6 in the first 32: 2·6 / (32 + 8).
        ({"NN": 1.0, "FT": 0.5, "ST": 0.625, "E": 0.3, "nDCG_J": 0.814678}, [1, 2, 4, 7, 9, 20, 33, 50], 8),
        # 2 of the top 3, all of the top 6; 2·3 / (32 + 3).
        ({"NN": 0.0, "FT": 0.666667, "ST": 1.0, "E": 0.171429, "nDCG_J": 0.783604}, [2, 3, 5], 3),
    ],
)
def test_shape_retrieval(at_ranks, expected: dict[str, float], ranks: list[int], total: int) -> None:
    ranking = at_ranks(ranks, length=60, total=total)
    found = {name: parse_measure(name).per_query(ranking)[0] for name in expected}
    assert expected == pytest.approx(found, abs=1e-6)


@pytest.mark.parametrize(
    ("expected", "name"),
    [
        # Järvelin and Kekäläinen, ACM TOIS 2002, §2.2: the vectors CG' and DCG' (base 2) of G'.
        ([3, 5, 8, 8, 8, 9, 11, 13, 16, 16], "CG"),
        ([3, 5, 6.89, 6.89, 6.89, 7.28, 7.99, 8.66, 9.61, 9.61], "DCG_J"),
        # Over their ideal CG'_I = 3, 6, 9, 11, 13, 15, 16, 17, 18, 19.
        ([1, 0.83, 0.89, 0.73, 0.62, 0.6, 0.69, 0.76, 0.89, 0.84], "nCG"),
    ],
)
def test_cumulated_gains_of_the_papers_example(join, expected: list[float], name: str) -> None:
    grades = [3, 2, 3, 0, 0, 1, 2, 2, 3, 0]
    # The ideal of the paper has three 3s, three 2s and four 1s in its first ten places.
    missed = {f"m{n}": 1 for n in range(3)}
    run = {"q": {f"d{n}": -float(n) for n in range(10)}}
    ranking = join(run, {"q": {f"d{n}": grade for n, grade in enumerate(grades)} | missed})
    found = [parse_measure(f"{name}@{k}").per_query(ranking)[0] for k in range(1, 11)]
    assert expected == pytest.approx(found, abs=0.0051)
    assert found[-1] == parse_measure(name).per_query(ranking)[0]


def test_map_at_r_stops_at_the_number_of_positives(at_ranks) -> None:
    # Musgrave et al. 2020, figure 4: of ten positives, one at rank 1 gives 1/10; at ranks 1 to 10 all give 1;
    # a positive at rank 5 counts with |G| = 5 and not with |G| = 4.
    first = at_ranks([1], length=20, total=10)
    assert parse_measure("mAP@R").per_query(first)[0] == pytest.approx(0.1)
    assert parse_measure("Rprec").per_query(first)[0] == pytest.approx(0.1)
    assert parse_measure("mAP@R").per_query(at_ranks([*range(1, 11)], length=20, total=10))[0] == 1.0
    for total, expected in ((5, (1 + 2 / 5) / 5), (4, 1 / 4)):
        ranking = at_ranks([1, 5, 6], length=20, total=total)
        assert parse_measure("mAP@R").per_query(ranking)[0] == pytest.approx(expected)


def test_gm_map_takes_nothing_as_a_hundred_thousandth(join) -> None:
    ranking = join({"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": {"a": 1}, "q2": {"z": 1}})
    measure = parse_measure("gm_map")
    assert list(measure.per_query(ranking)) == [1.0, 0.0]
    assert measure.aggregate(measure.per_query(ranking)) == pytest.approx(0.00001**0.5)
