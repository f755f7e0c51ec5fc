import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from small_judgments import EXAMPLE_C, judged, rated

from fire_toolkit.agreement.registry import STATISTICS
from fire_toolkit.agreement.table import agreement
from fire_toolkit.errors import UsageError
from fire_toolkit.tables import Judgments

BEYOND_CHANCE = ["alpha", "cohen_kappa", "fleiss_kappa", "gwet_ac1"]


def two_by_two(both: int, first: int, second: int, neither: int) -> Judgments:
    """Judgments of two annotators: both positive, only the first, only the second, neither."""
    answers = [("1", "1")] * both + [("1", "0")] * first + [("0", "1")] * second + [("0", "0")] * neither
    return judged(
        [
            (f"d{unit}", name, label)
            for unit, two in enumerate(answers)
            for name, label in zip("uv", two, strict=True)
        ]
    )


def values(judgments: Judgments, **options: object) -> dict[str, float]:
    table = agreement(judgments, statistics=list(STATISTICS), **options)  # type: ignore[arg-type]
    return dict(zip(table["statistic"], table["value"], strict=True))


# Fleiss (1971), table 1: the diagnoses of 6 raters on each of 30 patients, by place in this text.
FLEISS = """
444444 222555 233335 555555 222444 113333 333355 113334 114444 555555 144444 124444 222333 144444 224445
333335 111455 111112 224444 133555 555555 244444 224555 114444 144445 222224 111155 224444
133333 555555"""
FLEISS_1971 = judged(
    [
        (f"d{patient}", f"a{rater}", label)
        for patient, diagnoses in enumerate(FLEISS.split())
        for rater, label in enumerate(diagnoses)
    ]
)


def test_gwets_example_with_missing_ratings() -> None:
    measured = values(EXAMPLE_C)
    assert pytest.approx(0.775444, abs=1e-6) == measured["gwet_ac1"]
    assert pytest.approx(0.761169, abs=1e-6) == measured["fleiss_kappa"]


def test_fleiss_1971() -> None:
    measured = values(FLEISS_1971)
    assert pytest.approx(0.430245, abs=1e-6) == measured["fleiss_kappa"]
    assert pytest.approx(0.447885, abs=1e-6) == measured["gwet_ac1"]
    assert pytest.approx(0.433410, abs=1e-6) == measured["alpha"]
    assert pytest.approx(0.5556, abs=5e-5) == measured["percent_agreement"]  # Fleiss' P̄, p. 381


def test_two_raters_agreeing_by_habit() -> None:
    # The 80/10/5/5 table of Gwet.
    measured = values(two_by_two(80, 10, 5, 5))
    assert pytest.approx(0.3182, abs=5e-5) == measured["cohen_kappa"]
    assert pytest.approx(0.8080, abs=5e-5) == measured["gwet_ac1"]
    assert pytest.approx(0.3177, abs=5e-5) == measured["alpha"]
    assert pytest.approx(0.85) == measured["percent_agreement"]
    assert pytest.approx(2 * 80 / (2 * 80 + 15)) == measured["positive_agreement"]
    assert pytest.approx(2 * 5 / (2 * 5 + 15)) == measured["negative_agreement"]


def test_high_agreement_on_rare_positives_hides_disagreement_about_them() -> None:
    # The FIRE paper's agreement .931 with alpha .691 (MSR-VTT) implies 12.8% positives among doubled pairs.
    measured = values(two_by_two(935, 345, 345, 8375))
    assert pytest.approx(0.931) == measured["percent_agreement"]
    assert pytest.approx(0.691, abs=5e-4) == measured["alpha"]
    assert pytest.approx(0.128) == measured["prevalence"]
    assert pytest.approx(0.731, abs=1e-3) == measured["positive_agreement"]
    assert pytest.approx(0.960, abs=5e-4) == measured["negative_agreement"]
    assert pytest.approx(0.911, abs=5e-4) == measured["gwet_ac1"]


def test_pairs_with_one_vote_do_not_count_as_unanimous() -> None:
    # Of six pairs: three single votes, one unanimous pair, one 2:1, one 1:1.
    measured = values(rated("1101 00", "1*0* *1", "**1* **"))
    assert pytest.approx(1 / 3) == measured["unanimous"]
    assert pytest.approx((1 + 1 / 3 + 0) / 3) == measured["percent_agreement"]


def sparse(seed: int, n_labels: int = 3) -> list[tuple[str, str, str]]:
    """(doc_id, annotator_id, label) of 4 annotators on 12 docs, a third of them missing."""
    draw = np.random.default_rng(seed)
    ratings = draw.integers(n_labels, size=(4, 12))
    return [(f"d{u:02d}", f"a{r}", str(ratings[r, u])) for r, u in np.argwhere(draw.random((4, 12)) > 0.33)]


def pairwise(rows: list[tuple[str, str, str]]) -> float:
    """Cohen's kappa of every two annotators, averaged by shared docs."""
    by_annotator: dict[str, dict[str, str]] = {}
    for doc, annotator, label in rows:
        by_annotator.setdefault(annotator, {})[doc] = label
    found = []
    for one, two in combinations(by_annotator.values(), 2):
        shared = sorted(one.keys() & two.keys())
        if not shared:
            continue
        a, b = [one[doc] for doc in shared], [two[doc] for doc in shared]
        n = len(shared)
        observed = sum(x == y for x, y in zip(a, b, strict=True)) / n
        chance = sum(a.count(label) * b.count(label) / n**2 for label in "0123")
        if chance < 1:
            found.append(((observed - chance) / (1 - chance), n))
    return sum(value * n for value, n in found) / sum(n for _, n in found)


def test_pairwise_statistics_equal_their_definition() -> None:
    for seed in range(40):
        rows = sparse(seed)
        measured = values(judged(rows))
        assert pytest.approx(pairwise(rows)) == measured["cohen_kappa"]


def test_annotator_pairs_without_a_kappa_are_counted() -> None:
    # u and v agree on one label throughout; u and w do not.
    judgments = rated("00 0101", "00 ****", "** 0100")
    note = agreement(judgments, statistics=["cohen_kappa"]).loc[0, "note"]
    assert note.startswith("1 of 2 annotator pairs undefined and left out; 2 of 2 annotator pairs share few")


def test_specific_agreement_equals_counting_pairs_of_votes() -> None:
    for seed in range(20):
        rows = sparse(seed)
        measured = values(judged(rows))
        two = [(x, y) for (d, _, x), (e, _, y) in combinations(rows, 2) if d == e]
        ordered = two + [(y, x) for x, y in two]
        for name, positive in (("positive_agreement", True), ("negative_agreement", False)):
            given = [(int(y) >= 1) == positive for x, y in ordered if (int(x) >= 1) == positive]
            assert pytest.approx(np.mean(given)) == measured[name]


@pytest.mark.parametrize("name", BEYOND_CHANCE)
def test_perfect_agreement_on_two_labels_is_one(name: str) -> None:
    assert pytest.approx(1.0) == values(rated("1100", "1100", "1*0*"))[name]


@pytest.mark.parametrize("name", [name for name in BEYOND_CHANCE if name != "gwet_ac1"])
def test_agreement_beyond_chance_on_one_label_is_undefined_with_a_word(name: str) -> None:
    table = agreement(rated("111", "111"), statistics=[name])
    assert math.isnan(table.loc[0, "value"])
    assert table.loc[0, "note"]


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("rows", [[], [("d", "u", "1")], [("d", "u", "1"), ("e", "v", "0")]])
def test_what_is_undefined_says_why(name: str, rows: list[tuple[str, str, str]]) -> None:
    for grades in (None, {"0": 0, "1": 1}):
        row = agreement(judged(rows), grades=grades, statistics=[name]).iloc[0]
        assert math.isnan(row["value"]) == bool(row["note"])


@pytest.mark.parametrize("name", ["positive_agreement", "negative_agreement", "prevalence"])
def test_labels_without_grades_have_no_positives(name: str) -> None:
    row = agreement(rated("yn", "yy"), statistics=[name]).iloc[0]
    assert math.isnan(row["value"])
    assert row["note"].startswith("labels have no grades")


@pytest.mark.parametrize("name", STATISTICS)
def test_every_statistic_ignores_row_order_and_leaves_its_input(name: str) -> None:
    judgments = judged(sparse(5))
    before = judgments.copy()
    shuffled = Judgments(judgments.sample(frac=1, random_state=3))
    for by in (None, "annotator_id"):
        expected = agreement(judgments, level="ordinal", by=by, statistics=[name])
        pd.testing.assert_frame_equal(
            expected, agreement(shuffled, level="ordinal", by=by, statistics=[name])
        )
        assert (expected["value"].isna() <= (expected["note"] != "")).all()
    pd.testing.assert_frame_equal(before, judgments)


def test_an_unknown_statistic_is_an_error_that_names_the_known() -> None:
    with pytest.raises(
        UsageError, match="statistic 'kappa' is unknown; expected one of alpha, percent_agreement"
    ):
        agreement(EXAMPLE_C, statistics=["alpha", "kappa"])
