"""Weighted kappas, bias, time, repeats, captions, questions: against other programs or by hand."""

import math

import numpy as np
import pandas as pd
import pytest

from fire_toolkit.agreement.annotators import annotator_matrix
from fire_toolkit.agreement.captions import caption_disagreement
from fire_toolkit.agreement.consistency import self_consistency
from fire_toolkit.agreement.marginals import chi_squared_tail, holm, stuart_maxwell
from fire_toolkit.agreement.questions import agreement_by_question
from fire_toolkit.agreement.table import agreement, agreement_intervals
from fire_toolkit.agreement.times import add_times
from fire_toolkit.judgments import describe_bad_time, latest_judgments, unreadable_times
from fire_toolkit.tables import Judgments, check_judgments

GRADED = np.array([[20, 7, 2, 1], [5, 15, 6, 2], [1, 4, 18, 5], [0, 2, 6, 26]])
# Unaided distance vision of 7,477 women, right eye by left eye (Stuart 1955).
VISION = np.array([[1520, 266, 124, 66], [234, 1512, 432, 78], [117, 362, 1772, 205], [36, 82, 179, 492]])


def judged(table: np.ndarray, names: str = "uv") -> Judgments:
    """Judgments of two annotators whose table of votes is `table`; labels 0, 1, 2, ..."""
    cells = [cell for cell, n in np.ndenumerate(table) for _ in range(n)]
    rows = [(f"d{n:04d}", name, str(label)) for n, cell in enumerate(cells)
            for name, label in zip(names, cell, strict=True)]  # fmt: skip
    return check_judgments(
        pd.DataFrame(rows, columns=["doc_id", "annotator_id", "label"]).assign(query_id="q")
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [  # statsmodels 0.15 cohens_kappa(GRADED, wt=...)
        ("cohen_kappa_linear", 0.6700395952485703),
        ("cohen_kappa_quadratic", 0.771689497716895),
    ],
)
def test_weighted_kappas_are_those_of_statsmodels_at_every_level_with_an_order(
    name: str, expected: float
) -> None:
    for level in ("ordinal", "interval"):
        (found,) = agreement(judged(GRADED), level=level, statistics=[name])["value"]
        assert found == pytest.approx(expected)
    (row,) = agreement(judged(GRADED), statistics=[name]).to_dict("records")
    assert math.isnan(row["value"])
    assert "--level ordinal" in row["note"]


def test_labels_of_one_grade_are_one_value_for_a_weighted_kappa() -> None:
    merged = np.array([[20 + 7 + 5 + 15, 2 + 6, 1 + 2], [1 + 4, 18, 5], [0 + 2, 6, 26]])
    grades = {"0": 0, "1": 0, "2": 1, "3": 2}
    for name in ("cohen_kappa_linear", "cohen_kappa_quadratic"):
        found = agreement(judged(GRADED), level="ordinal", grades=grades, statistics=[name])
        expected = agreement(judged(merged), level="ordinal", statistics=[name])
        assert found["value"][0] == pytest.approx(expected["value"][0])


def test_a_weighted_kappa_has_a_linearised_interval() -> None:
    row = agreement_intervals(judged(GRADED), level="ordinal", statistics=["cohen_kappa_quadratic"]).iloc[0]

    # the derivative by the number of pairs in each cell, of 120 pairs in all
    def kappa(votes: np.ndarray) -> float:
        apart = (np.arange(4)[:, None] - np.arange(4)) ** 2
        expected = np.outer(votes.sum(axis=1), votes.sum(axis=0)) / votes.sum()
        return float(1 - (votes * apart).sum() / (expected * apart).sum())

    more = [kappa(GRADED + 1e-5 * (np.arange(16).reshape(4, 4) == cell)) for cell in range(16)]
    influence = (np.array(more) - kappa(GRADED)) / 1e-5
    reach = 1.980100 * math.sqrt(120 / 119 * (GRADED.ravel() * influence**2).sum())  # t of 119 degrees
    assert (row["low"], row["high"]) == pytest.approx((row["value"] - reach, row["value"] + reach), abs=1e-4)


@pytest.mark.parametrize(
    ("table", "statistic", "p_value"),
    [  # statsmodels 0.15 SquareTable(...).homogeneity(method="stuart_maxwell")
        (VISION, 11.95656962298254, 0.007533425054800591),
        (GRADED, 1.6104680422747863, 0.6570185974787799),
        (np.array([[20, 15], [5, 60]]), (15 - 5) ** 2 / (15 + 5), math.erfc(math.sqrt(5 / 2))),
        (np.array([[30, 9, 0], [3, 40, 0], [0, 0, 12]]), 36 / 12, math.erfc(math.sqrt(3 / 2))),
        (np.array([[30, 4], [4, 9]]), 0.0, 1.0),
        (np.zeros((2, 2), dtype=np.int64), 0.0, 1.0),
    ],
)
def test_stuart_and_maxwells_test(table: np.ndarray, statistic: float, p_value: float) -> None:
    assert stuart_maxwell(table) == pytest.approx((statistic, p_value))
    assert stuart_maxwell(table.T) == pytest.approx((statistic, p_value))


def test_tails_of_chi_squared_and_holms_correction() -> None:
    # upper 5% points by table: 3.841, 5.991, 7.815, 9.488, 11.070
    for freedom, point in enumerate((3.841459, 5.991465, 7.814728, 9.487729, 11.0705), start=1):
        assert chi_squared_tail(point, freedom) == pytest.approx(0.05, abs=1e-6)
        assert chi_squared_tail(0.0, freedom) == 1.0
    # statsmodels 0.15 multipletests(method="holm")
    found = holm(np.array([0.01, 0.04, math.nan, 0.03, 0.2, 0.001]))
    np.testing.assert_allclose(found, [0.04, 0.09, math.nan, 0.09, 0.2, 0.005])


@pytest.mark.parametrize("names", ["uv", "vu"])
def test_the_matrix_tells_who_says_positive_more_often(names: str) -> None:
    table = np.array([[20, 15], [5, 60]])
    (row,) = annotator_matrix(judged(table, names)).to_dict("records")
    rates = {names[0]: 65 / 100, names[1]: 75 / 100}
    assert (row["annotator_a"], row["annotator_b"]) == ("u", "v")
    assert (row["positive_rate_a"], row["positive_rate_b"]) == pytest.approx((rates["u"], rates["v"]))
    assert (row["stuart_maxwell"], row["p_value"], row["p_holm"]) == pytest.approx(
        (5.0, 0.025347, 0.025347), abs=1e-6
    )
    (few,) = annotator_matrix(judged(table, names), min_shared=101).to_dict("records")
    assert math.isnan(few["p_value"])


def timed(rows: list[tuple[str, str, str, str]]) -> Judgments:
    names = ["doc_id", "annotator_id", "label", "created_at"]
    return check_judgments(pd.DataFrame(rows, columns=names).assign(query_id="q"))


def test_day_batch_and_position_come_from_the_times() -> None:
    minutes = [0, 1, 2, 40, 41, 24 * 60]  # a sitting of three, one of two, one the next day
    rows = [(f"d{n}", "u", "1", f"2026-03-01T{8 + m // 60 % 24:02}:{m % 60:02}:00Z" if m < 960
             else "2026-03-02T08:00:00Z") for n, m in enumerate(minutes)]  # fmt: skip
    rows += [("d0", "v", "1", ""), ("d1", "v", "1", "3/14/2026")]
    table = add_times(timed(rows)).set_index(["annotator_id", "doc_id"])
    assert list(table.loc["u", "day"]) == ["2026-03-01"] * 5 + ["2026-03-02"]
    assert list(table.loc["u", "position"]) == ["1-25"] * 6
    assert table.loc["v", ["day", "batch", "position"]].isna().all(axis=None)
    many = [(f"d{n:03d}", "u", "1", f"2026-03-01T{8 + n // 60:02}:{n % 60:02}:00Z") for n in range(210)]
    found = add_times(timed(many))
    assert dict(found["batch"].value_counts()) == {1: 100, 2: 100, 3: 10}
    expected = {"1-25": 25, "26-50": 25, "51-100": 50, "101-200": 100, "201 or more": 10}
    assert dict(found["position"].value_counts(sort=False)) == expected


def test_a_group_of_a_day_holds_all_answers_on_the_pairs_that_were_voted_on_that_day() -> None:
    day = {"u": "2026-03-01T10:00:00Z", "v": "2026-03-02T10:00:00Z", "w": "2026-03-03T10:00:00Z"}
    said = {"a": {"u": "1", "v": "1"}, "b": {"u": "1", "v": "0"}, "c": {"v": "0", "w": "0"}}
    rows = [(doc, name, label, day[name]) for doc, votes in said.items() for name, label in votes.items()]
    table = agreement(timed(rows), by="day", statistics=["percent_agreement"])
    assert list(zip(table["group"], table["n_pairable"], table["value"], strict=True)) == [
        ("2026-03-01", 2, 0.5), ("2026-03-02", 3, pytest.approx(2 / 3)), ("2026-03-03", 1, 1.0)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "is_us"),
    [("3/14/2026 10:00", True), ("03/14/26", True), ("yesterday", False), ("2026-13-01", False)],
)
def test_times_that_cannot_be_read_are_named(text: str, is_us: bool) -> None:
    judgments = timed([("a", "u", "1", "2026-03-01T10:00:00Z"), ("b", "u", "1", text), ("c", "u", "1", "")])
    assert unreadable_times(judgments) == [text]
    assert ("a US date" in describe_bad_time(text)) == is_us
    assert "ISO 8601" in describe_bad_time(text)


def test_repeats_are_compared_with_the_answer_that_counts() -> None:
    rows = [("a", "u", "1"), ("a", "u", "0"), ("a", "u", "1"), ("b", "u", "1"), ("b", "u", "0"),
            ("c", "u", "1"), ("a", "v", "0"), ("a", "v", "1"), ("b", "v", "x"), ("b", "v", "1")]  # fmt: skip
    answers = pd.DataFrame(rows, columns=["doc_id", "annotator_id", "label"]).assign(query_id="q")
    table = self_consistency(*latest_judgments(answers), grades={"0": 0, "1": 1, "x": None})
    found = table.set_index("annotator_id")
    # u: a 1 then 0 beside the last 1, b 1 beside 0; v: a 0 beside 1, b no vote
    assert list(found.index) == ["(all)", "u", "v"]
    assert found[["n_repeats", "n_same", "n_to_positive", "n_to_negative"]].values.tolist() == [
        [4, 1, 2, 1], [3, 1, 1, 1], [1, 0, 1, 0]
    ]  # fmt: skip
    # Wilson's interval of 1 of 4 by statsmodels' proportion_confint
    assert tuple(found.loc["(all)", ["self_agreement", "low", "high"]]) == pytest.approx(
        (0.25, 0.0456, 0.6994), abs=1e-4
    )
    assert len(self_consistency(*latest_judgments(answers.drop_duplicates(["doc_id", "annotator_id"])))) == 0


def test_captions_come_by_disagreement() -> None:
    said = {
        "p": {"a": "11", "b": "10", "c": "1"},
        "q": {"a": "110", "b": "01"},
        "r": {"a": "00"},
        "s": {"a": "1"},
    }
    rows = [(query, doc, "uvw"[n], label) for query, docs in said.items()
            for doc, labels in docs.items() for n, label in enumerate(labels)]  # fmt: skip
    names = ["query_id", "doc_id", "annotator_id", "label"]
    table = caption_disagreement(check_judgments(pd.DataFrame(rows, columns=names)))
    assert table.values.tolist() == [
        ["q", 2, 2, 2, pytest.approx((2 / 3 + 1) / 2)], ["p", 3, 2, 1, 0.5], ["r", 1, 1, 0, 0.0]
    ]  # fmt: skip


def test_each_question_of_the_guideline_has_its_agreement() -> None:
    rows = [("a", "u", "relevant", "sensitive"), ("a", "v", "relevant", "sensitive;dark"),
            ("b", "u", "ambiguous", ""), ("b", "v", "irrelevant", ""),
            ("c", "u", "irrelevant", "edited-by-other"), ("c", "v", "relevant", "")]  # fmt: skip
    table = pd.DataFrame(rows, columns=["doc_id", "annotator_id", "label", "flags"]).assign(query_id="q")
    found = agreement_by_question(
        check_judgments(table), statistics=["percent_agreement", "positive_agreement", "prevalence"]
    )
    values = {group: rows["value"].tolist() for group, rows in found.groupby("group", sort=False)}
    assert list(values) == ["label", "escalated", "flag dark", "flag sensitive"]
    assert values["label"] == pytest.approx([0.5, 2 * 1 / (2 + 1), (1 + 0 + 0.5) / 3])
    assert values["escalated"] == pytest.approx([2 / 3, 0.0, 0.5 / 3])
    assert values["flag dark"] == pytest.approx([2 / 3, 0.0, 0.5 / 3])
    assert values["flag sensitive"] == pytest.approx([1.0, 1.0, 1 / 3])
