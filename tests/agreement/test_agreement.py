import math
from collections import Counter

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_judgments import EXAMPLE_C, judged, krippendorff_alpha, rated

from examples import examples
from fire_toolkit.agreement.annotators import leave_one_out
from fire_toolkit.agreement.intervals import alpha_interval
from fire_toolkit.agreement.profiles import annotator_profiles
from fire_toolkit.agreement.table import agreement
from fire_toolkit.errors import TableError, UsageError
from fire_toolkit.tables import Judgments, check_judgments

LEVELS = ["nominal", "ordinal", "interval", "ratio"]
NUMBERS = {"1": 1, "2": 2, "3": 3, "4": 4, "5": 5}


# Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), examples A and B.
EXAMPLE_A = rated("0100000010", "1110010000")
EXAMPLE_B = rated("aabbdcccedda", "babbbccceddd")


@pytest.mark.parametrize(("example", "value"), [(EXAMPLE_A, 0.095238), (EXAMPLE_B, 0.691964)])
def test_alpha_of_krippendorffs_first_examples(example: Judgments, value: float) -> None:
    assert krippendorff_alpha(example).value == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize(
    ("level", "value"),
    [("nominal", 0.743421), ("ordinal", 0.815388), ("interval", 0.849107), ("ratio", 0.797403)],
)
@pytest.mark.parametrize("grades", [None, NUMBERS, dict(reversed(NUMBERS.items()))])
def test_alpha_of_krippendorffs_example_c_at_each_level_whatever_the_order_of_grades(
    level: str, value: float, grades: dict[str, float] | None
) -> None:
    measured = krippendorff_alpha(EXAMPLE_C, level=level, grades=grades)
    assert value == pytest.approx(measured.value, abs=1e-6)
    assert (measured.n_units, measured.n_pairable, measured.n_annotators, measured.note) == (12, 11, 4, "")


def test_ordinal_alpha_follows_grades_not_the_alphabet_of_labels() -> None:
    # The same data in words: .815 in graded order, .772 if the words were taken alphabetically.
    words = {"1": "very-low", "2": "low", "3": "mid", "4": "high", "5": "very-high"}
    renamed = check_judgments(EXAMPLE_C.assign(label=EXAMPLE_C["label"].map(words)))
    grades = {words[str(number)]: float(number) for number in (3, 1, 5, 2, 4)}
    assert (
        pytest.approx(0.815388, abs=1e-6) == krippendorff_alpha(renamed, grades=grades, level="ordinal").value
    )


def test_columns_and_rows_of_the_table() -> None:
    table = agreement(EXAMPLE_C, level="interval")
    columns = ["group", "statistic", "level", "value", "n_units", "n_pairable", "n_annotators", "note"]
    assert columns == list(table.columns)
    names = ("percent_agreement", "positive_agreement", "prevalence")
    expected = [("all", "alpha", "interval"), *(("all", name, "nominal") for name in names)]
    assert expected == list(zip(table["group"], table["statistic"], table["level"], strict=True))


def sparse(seed: int) -> tuple[np.ndarray, Judgments]:
    """Ratings 1..V of up to 5 raters on up to 12 units, a third of them missing."""
    draw = np.random.default_rng(seed)
    shape = (draw.integers(2, 6), draw.integers(1, 13))
    ratings = draw.integers(1, draw.integers(3, 7), size=shape).astype(np.float64)
    ratings[draw.random(shape) < 0.33] = np.nan
    rows = [(f"d{u}", f"a{r}", f"{ratings[r, u]:g}") for r, u in np.argwhere(~np.isnan(ratings))]
    return ratings, judged(rows)


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
def test_alpha_equals_the_package_on_reliability_data(level: str) -> None:
    compared = 0
    for seed in range(80):
        ratings, judgments = sparse(seed)
        measured = krippendorff_alpha(judgments, level=level)
        votes = (~np.isnan(ratings)).sum(axis=0)
        paired = ratings[:, votes >= 2]
        if len(np.unique(paired[~np.isnan(paired)])) < 2:
            assert math.isnan(measured.value)
            continue
        expected = krippendorff.alpha(paired, level_of_measurement=level)
        assert expected == pytest.approx(measured.value, abs=1e-12)
        assert expected == pytest.approx(
            alpha_interval(judgments, level=level, n_resamples=1).value, abs=1e-10
        )
        assert ((votes >= 1).sum(), (votes >= 2).sum()) == (measured.n_units, measured.n_pairable)
        compared += 1
    assert compared > 50


@pytest.mark.parametrize("level", LEVELS)
def test_alpha_beyond_the_memory_of_the_package_is_the_same(
    monkeypatch: pytest.MonkeyPatch, level: str
) -> None:
    for seed in range(30):
        judgments = sparse(seed)[1]
        expected = krippendorff_alpha(judgments, level=level)
        with monkeypatch.context() as patch:
            patch.setattr("fire_toolkit.agreement.alpha.CELLS_FOR_THE_PACKAGE", 0)
            patch.setattr("krippendorff.alpha", None)
            beyond = krippendorff_alpha(judgments, level=level)
        assert expected.note == beyond.note
        assert expected.value == pytest.approx(beyond.value, abs=1e-12, nan_ok=True)


def test_answers_graded_none_are_no_votes_and_are_counted() -> None:
    escalated = rated("111e", "10e*")
    measured = krippendorff_alpha(escalated, grades={"0": 0, "1": 1, "e": None})
    assert (measured.n_units, measured.n_pairable, measured.n_annotators) == (3, 2, 2)
    assert measured.note == "2 answers without a vote left out"
    assert krippendorff_alpha(rated("11", "10")).value == measured.value


def test_labels_of_equal_grade_are_one_value_except_at_the_nominal_level() -> None:
    judgments = rated("xxyz", "yxyz")
    grades = {"x": 0, "y": 0, "z": 1}
    assert krippendorff_alpha(judgments, grades=grades, level="interval").value == 1.0
    assert krippendorff_alpha(judgments, grades=grades, level="nominal").value < 1.0


def test_a_count_above_what_a_byte_holds_is_counted() -> None:
    # uint8 counts gave .417 for .712 in the package; counts here are int64.
    counts = [[300, 20], [10, 280]]
    expected = krippendorff.alpha(
        value_counts=np.array(counts, dtype=np.int64), level_of_measurement="nominal"
    )
    rows = [
        (f"d{unit}", f"a{rater}", label)
        for unit, (zeros, ones) in enumerate(counts)
        for rater, label in enumerate("0" * zeros + "1" * ones)
    ]
    assert expected == pytest.approx(krippendorff_alpha(judged(rows)).value)


@pytest.mark.parametrize(
    ("judgments", "reason"),
    [
        (judged([]), "no pair has two judgments"),
        (rated("1010", "****"), "no pair has two judgments"),
        (rated("111", "11*"), "every judgment on pairs with two judgments says '1'"),
    ],
)
def test_an_undefined_alpha_is_nan_with_a_reason(judgments: Judgments, reason: str) -> None:
    measured = krippendorff_alpha(judgments)
    assert math.isnan(measured.value)
    assert measured.note.startswith(reason)


def test_alpha_of_one_grade_under_two_labels_is_undefined_at_graded_levels() -> None:
    measured = krippendorff_alpha(rated("xy", "yx"), grades={"x": 1, "y": 1}, level="ordinal")
    assert math.isnan(measured.value)
    assert measured.note.startswith("every judgment on pairs with two judgments says grade 1")


def test_by_annotator_takes_everyones_judgments_on_the_pairs_of_that_annotator() -> None:
    judgments = rated("1101", "10**", "**01")
    table = agreement(judgments, by="annotator_id")
    alphas = table[table["statistic"] == "alpha"].set_index("group")
    assert list(alphas.index) == ["rater0", "rater1", "rater2"]
    assert list(alphas["n_pairable"]) == [4, 2, 2]
    assert list(alphas["n_annotators"]) == [3, 2, 2]
    assert krippendorff_alpha(rated("11", "10")).value == alphas.loc["rater1", "value"]
    assert alphas.loc["rater2", "value"] == 1.0


def test_by_another_column_takes_the_judgments_with_each_value() -> None:
    judgments = check_judgments(rated("1101", "1000").assign(batch=[1, 1, 1, 1, 2, 2, 2, 2]))
    table = agreement(judgments, by="batch")
    assert list(table["group"]) == ["1"] * 4 + ["2"] * 4
    assert set(table["n_pairable"]) == {2}
    assert table.loc[1, "value"] == 0.5


def test_by_a_column_with_missing_values_gives_them_a_group_of_their_own() -> None:
    judgments = check_judgments(rated("11", "11").assign(stratum=["s", "s", None, None]))
    assert list(agreement(judgments, by="stratum")["group"].unique()) == ["", "s"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: agreement(EXAMPLE_A, by="colour"), "no column 'colour'; found query_id, doc_id"),
        (lambda: agreement(EXAMPLE_A, level="nominl"), "level of measurement 'nominl' is unknown"),
        (lambda: agreement(EXAMPLE_B, level="ordinal"), "label 'a' is not a number"),
        (lambda: krippendorff_alpha(rated("1", "n"), level="ratio"), "label 'n' is not a number"),
        (lambda: krippendorff_alpha(rated("nan", "inf"), level="ratio"), "label 'a' is not a number"),
        (
            lambda: krippendorff_alpha(rated("ab"), grades={"a": -1, "b": 1}, level="ratio"),
            "grade of label 'a' is -1; level ratio needs grades of 0 or more",
        ),
        (
            lambda: krippendorff_alpha(rated("ab"), grades={"a": math.inf, "b": 1}, level="interval"),
            "grade of label 'a' is inf",
        ),
    ],
)
def test_a_bad_argument_is_a_usage_error(call: object, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        call()  # type: ignore[operator]


def test_a_label_the_guideline_does_not_know_is_a_table_error() -> None:
    with pytest.raises(TableError, match="label 'c' is not in the guideline"):
        agreement(rated("abc"), grades={"a": 0, "b": 1})


def test_no_judgments_by_annotator_is_an_empty_table() -> None:
    table = agreement(judged([]), by="annotator_id")
    assert len(table) == 0
    assert table["value"].dtype == "float64"


judgment_rows = st.dictionaries(
    st.tuples(st.sampled_from("defgh"), st.sampled_from("uvwx")), st.sampled_from("012"), max_size=20
).map(lambda found: [(doc, annotator, label) for (doc, annotator), label in found.items()])


@settings(max_examples=examples(12))
@given(judgment_rows, st.permutations("defgh"), st.permutations("uvwx"), st.permutations("012"))
def test_names_do_not_matter(
    rows: list[tuple[str, str, str]], docs: list[str], annotators: list[str], labels: list[str]
) -> None:
    doc, annotator = dict(zip("defgh", docs, strict=True)), dict(zip("uvwx", annotators, strict=True))
    label = dict(zip("012", labels, strict=True))
    for level in LEVELS:
        expected = krippendorff_alpha(judged(rows), level=level)
        renamed = krippendorff_alpha(judged([(doc[d], annotator[a], v) for d, a, v in rows]), level=level)
        assert expected.note == renamed.note
        assert expected.value == pytest.approx(renamed.value, nan_ok=True)
    two = ("alpha", "percent_agreement")  # grades are labels here, and the others are of positive ones
    relabelled = agreement(judged([(d, a, label[v]) for d, a, v in rows]), statistics=two)
    np.testing.assert_allclose(agreement(judged(rows), statistics=two)["value"], relabelled["value"])


@settings(max_examples=examples(25))
@given(judgment_rows)
def test_percent_agreement_is_the_mean_share_of_agreeing_pairs(rows: list[tuple[str, str, str]]) -> None:
    shares = []
    for doc in "defgh":
        votes = Counter(label for d, _, label in rows if d == doc)
        n = votes.total()
        if n >= 2:
            shares.append(sum(math.comb(c, 2) for c in votes.values()) / math.comb(n, 2))
    expected = float(np.mean(shares)) if shares else math.nan
    assert expected == pytest.approx(agreement(judged(rows)).loc[1, "value"], nan_ok=True)


@settings(max_examples=examples(25))
@given(judgment_rows)
def test_alpha_is_one_exactly_when_no_pair_disagrees(rows: list[tuple[str, str, str]]) -> None:
    alpha, percent = agreement(judged(rows))["value"].iloc[:2]
    assert math.isnan(alpha) or (alpha == 1) == (percent == 1)


def test_who_gave_only_the_first_label_counts_as_anybody_else() -> None:
    """The first label has the code 0, and no answer the code -1."""
    rows = [(doc, "low", "1") for doc in "abcd"]
    rows += [(doc, "high", label) for doc, label in zip("abce", "1223", strict=True)]
    judgments = judged(rows)
    found = krippendorff_alpha(judgments)
    assert (found.n_annotators, found.n_units, found.n_pairable) == (2, 5, 3)
    by = agreement(judgments, by="annotator_id", statistics=["percent_agreement"]).set_index("group")
    assert by.loc["low", ["n_units", "n_pairable", "n_annotators"]].tolist() == [4, 3, 2]
    assert by.loc["low", "value"] == pytest.approx(1 / 3)
    left = leave_one_out(judgments).set_index("annotator_id")
    assert left["n_votes"].to_dict() == {"high": 4, "low": 4}
    assert left["n_pairable"].to_dict() == {"high": 0, "low": 0}
    people = annotator_profiles(judgments, min_pairs=1).set_index("annotator_id")
    assert people["n_votes"].to_dict() == {"high": 4, "low": 4}
    assert people["n_shared"].to_dict() == {"high": 3, "low": 3}


def test_pairs_of_the_first_label_alone_tell_that_a_draw_was_uneven() -> None:
    rows = [("a", "u", "1"), ("a", "v", "1"), ("b", "u", "0"), ("c", "u", "0"), ("d", "u", "1")]
    judgments = judged([*rows, ("d", "v", "0")])
    chance = judgments["doc_id"].map({"a": 1.0, "b": 0.1, "c": 0.1, "d": 1.0})
    drawn = Judgments(judgments.assign(p=chance))
    (share,) = agreement(drawn, statistics=["prevalence"], inclusion="p")["value"]
    assert share == pytest.approx((1 + 0.5) / 2)  # of the doubled pairs alone
