"""The values of statistics: published ones, those of their definitions, and what has none."""

import math
from collections import Counter
from itertools import combinations

import krippendorff
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_judgments import EXAMPLE_C, agreement_intervals, alpha_interval, judged, krippendorff_alpha, rated

from examples import cases, examples
from fire_toolkit.agreement.alpha import alphas
from fire_toolkit.agreement.annotators import annotator_profiles, leave_one_out
from fire_toolkit.agreement.registry import STATISTICS
from fire_toolkit.agreement.table import agreement, agreement_summary
from fire_toolkit.errors import FireError
from fire_toolkit.tables import Judgments, check_judgments

LEVELS = ["nominal", "ordinal", "interval", "ratio"]
NUMBERS = {"1": 1, "2": 2, "3": 3, "4": 4, "5": 5}


def by_pair(answers: str) -> Judgments:
    """Judgments from the answers to each pair, as the file beside this one has them."""
    counts = (word.partition(":")[::2] for word in answers.split())
    pairs = [given for given, n in counts for _ in range(int(n or 1))]
    cells = [(unit, rater, label) for unit, given in enumerate(pairs) for rater, label in enumerate(given)]
    return judged([(f"d{unit:05d}", f"a{rater}", label) for unit, rater, label in cells if label != "*"])


def values(judgments: Judgments, **options: object) -> dict[str, float]:
    table = agreement(judgments, statistics=list(STATISTICS), **options)  # type: ignore[arg-type]
    return dict(zip(table["statistic"], table["value"], strict=True))


def sparse(seed: int, n_raters: int = 4, n_labels: int = 3) -> list[tuple[str, str, str]]:
    """(doc_id, annotator_id, label) of some annotators on 12 docs, a third of them missing."""
    draw = np.random.default_rng(seed)
    ratings = draw.integers(n_labels, size=(n_raters, 12))
    is_there = draw.random((n_raters, 12)) > 0.33
    return [(f"d{u:02d}", f"a{r}", str(ratings[r, u])) for r, u in np.argwhere(is_there)]


@cases("source", "answers", "level", "expected")
def test_published_numbers(source: str, answers: str, level: str, expected: dict[str, str]) -> None:
    found = values(by_pair(answers), level=level)
    for name, printed in expected.items():
        digits = len(printed.partition(".")[2])
        assert float(printed) == pytest.approx(found[name], abs=0.51 * 10**-digits), name


@pytest.mark.parametrize("grades", [None, NUMBERS, dict(reversed(NUMBERS.items()))])
def test_the_order_of_grades_changes_nothing_and_what_alpha_rests_on_stands_beside_it(
    grades: dict[str, float] | None,
) -> None:
    measured = krippendorff_alpha(EXAMPLE_C, level="ordinal", grades=grades)
    assert measured.value == pytest.approx(0.815388, abs=1e-6)
    assert (measured.n_units, measured.n_pairable, measured.n_annotators, measured.note) == (12, 11, 4, "")


def test_ordinal_alpha_follows_grades_not_the_alphabet_of_labels() -> None:
    # The same data in words: .815 in graded order, .772 if the words were taken alphabetically.
    words = {"1": "very-low", "2": "low", "3": "mid", "4": "high", "5": "very-high"}
    renamed = check_judgments(EXAMPLE_C.assign(label=EXAMPLE_C["label"].map(words)))
    grades = {words[str(number)]: float(number) for number in (3, 1, 5, 2, 4)}
    found = krippendorff_alpha(renamed, grades=grades, level="ordinal").value
    assert found == pytest.approx(0.815388, abs=1e-6)


def test_columns_and_rows_of_the_table() -> None:
    table = agreement(EXAMPLE_C, level="interval")
    columns = ["group", "statistic", "level", "value", "n_units", "n_pairable", "n_annotators", "note"]
    assert columns == list(table.columns)
    names = ("percent_agreement", "positive_agreement", "prevalence")
    expected = [("all", "alpha", "interval"), *(("all", name, "nominal") for name in names)]
    assert expected == list(zip(table["group"], table["statistic"], table["level"], strict=True))


@pytest.mark.parametrize("level", LEVELS)
def test_our_own_alpha_is_that_of_the_package(monkeypatch: pytest.MonkeyPatch, level: str) -> None:
    expected = krippendorff_alpha(EXAMPLE_C, level=level).value
    monkeypatch.setattr("fire_toolkit.agreement.alpha.CELLS_FOR_THE_PACKAGE", 0)
    monkeypatch.setattr("krippendorff.alpha", None)
    assert krippendorff_alpha(EXAMPLE_C, level=level).value == pytest.approx(expected)
    one_value = np.array([[[4.0, 0.0], [0.0, 0.0]]])
    assert np.isnan(alphas(one_value, np.array([1.0, 2.0]), level)).all()


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
def test_alpha_equals_the_package_on_reliability_data(monkeypatch: pytest.MonkeyPatch, level: str) -> None:
    """And so does our own way, for more cells than the package can hold."""
    compared = 0
    for seed in range(24):
        rows = [(d, a, str(int(v) + 1)) for d, a, v in sparse(seed, 2 + seed % 4, 3 + seed % 4)]
        ratings = pd.DataFrame(rows).pivot(index=1, columns=0, values=2).astype(float).to_numpy()
        judgments = judged(rows)
        measured = krippendorff_alpha(judgments, level=level)
        with monkeypatch.context() as patch:
            patch.setattr("fire_toolkit.agreement.alpha.CELLS_FOR_THE_PACKAGE", 0)
            patch.setattr("krippendorff.alpha", None)
            beyond = krippendorff_alpha(judgments, level=level)
        assert (measured.note, measured.value) == (beyond.note, pytest.approx(beyond.value, nan_ok=True))
        votes = (~np.isnan(ratings)).sum(axis=0)
        assert ((votes >= 1).sum(), (votes >= 2).sum()) == (measured.n_units, measured.n_pairable)
        paired = ratings[:, votes >= 2]
        if len(np.unique(paired[~np.isnan(paired)])) < 2:
            assert math.isnan(measured.value)
            continue
        expected = krippendorff.alpha(paired, level_of_measurement=level)
        assert expected == pytest.approx(measured.value, abs=1e-12)
        resampled = alpha_interval(judgments, level=level, n_resamples=1).value
        assert expected == pytest.approx(resampled, abs=1e-10)
        compared += 1
    assert compared > 15


def test_answers_graded_none_are_no_votes_and_are_counted() -> None:
    measured = krippendorff_alpha(rated("111e", "10e*"), grades={"0": 0, "1": 1, "e": None})
    assert (measured.n_units, measured.n_pairable, measured.n_annotators) == (3, 2, 2)
    assert measured.note == "2 answers without a vote left out"
    assert krippendorff_alpha(rated("11", "10")).value == measured.value


def test_labels_of_equal_grade_are_one_value_except_at_the_nominal_level() -> None:
    judgments, grades = rated("xxyz", "yxyz"), {"x": 0, "y": 0, "z": 1}
    assert krippendorff_alpha(judgments, grades=grades, level="interval").value == 1.0
    assert krippendorff_alpha(judgments, grades=grades, level="nominal").value < 1.0


def test_a_count_above_what_a_byte_holds_is_counted() -> None:
    # uint8 counts gave .417 for .712 in the package; counts here are int64.
    counts = np.array([[300, 20], [10, 280]], dtype=np.int64)
    expected = krippendorff.alpha(value_counts=counts, level_of_measurement="nominal")
    answers = " ".join("0" * zeros + "1" * ones for zeros, ones in counts)
    assert expected == pytest.approx(krippendorff_alpha(by_pair(answers)).value)


@cases("answers", "grades", "level", "statistic", "note")
def test_what_is_undefined_is_nan_with_a_reason(
    answers: str, grades: dict[str, float], level: str, statistic: str, note: str
) -> None:
    row = agreement(by_pair(answers), grades=grades or None, level=level, statistics=[statistic]).iloc[0]
    assert math.isnan(row["value"])
    assert row["note"].startswith(note)


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("answers", ["", "1", "1* *0"])
def test_every_statistic_that_is_undefined_says_why(name: str, answers: str) -> None:
    for grades in (None, {"0": 0, "1": 1}):
        row = agreement(by_pair(answers), grades=grades, statistics=[name]).iloc[0]
        assert math.isnan(row["value"]) == bool(row["note"])


@cases("answers", "options", "message")
def test_what_is_refused(answers: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(FireError) as refused:
        agreement(by_pair(answers), **options)  # type: ignore[arg-type]
    assert str(refused.value).startswith(message) or message in str(refused.value)


def test_by_annotator_takes_everyones_judgments_on_the_pairs_of_that_annotator() -> None:
    table = agreement(rated("1101", "10**", "**01"), by="annotator_id", statistics=["alpha"])
    alphas = table.set_index("group")
    assert list(alphas.index) == ["rater0", "rater1", "rater2"]
    assert list(alphas["n_pairable"]) == [4, 2, 2]
    assert list(alphas["n_annotators"]) == [3, 2, 2]
    assert krippendorff_alpha(rated("11", "10")).value == alphas.loc["rater1", "value"]
    assert alphas.loc["rater2", "value"] == 1.0
    nobody = agreement(judged([]), by="annotator_id")
    assert (len(nobody), nobody["value"].dtype) == (0, "float64")


def test_by_another_column_takes_the_judgments_with_each_value_and_missing_ones_are_a_group() -> None:
    judgments = check_judgments(rated("1101", "1000").assign(batch=[1, 1, 1, 1, 2, 2, 2, 2]))
    table = agreement(judgments, by="batch")
    assert list(table["group"]) == ["1"] * 4 + ["2"] * 4
    assert set(table["n_pairable"]) == {2}
    assert table.loc[1, "value"] == 0.5
    missing = check_judgments(rated("11", "11").assign(stratum=["s", "s", None, None]))
    assert list(agreement(missing, by="stratum")["group"].unique()) == ["", "s"]


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
        if votes.total() >= 2:
            shares.append(sum(math.comb(c, 2) for c in votes.values()) / math.comb(votes.total(), 2))
    expected = float(np.mean(shares)) if shares else math.nan
    alpha, percent = agreement(judged(rows))["value"].iloc[:2]
    assert expected == pytest.approx(percent, nan_ok=True)
    assert math.isnan(alpha) or (alpha == 1) == (percent == 1)


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


def test_pairwise_and_specific_agreement_equal_their_definitions() -> None:
    for seed in range(12):
        rows = sparse(seed)
        measured = values(judged(rows))
        assert pytest.approx(pairwise(rows)) == measured["cohen_kappa"]
        two = [(x, y) for (d, _, x), (e, _, y) in combinations(rows, 2) if d == e]
        ordered = two + [(y, x) for x, y in two]
        for name, positive in (("positive_agreement", True), ("negative_agreement", False)):
            chosen = [(int(y) >= 1) == positive for x, y in ordered if (int(x) >= 1) == positive]
            assert pytest.approx(np.mean(chosen)) == measured[name]


def test_annotator_pairs_without_a_kappa_are_counted() -> None:
    # u and v agree on one label throughout; u and w do not.
    note = agreement(rated("00 0101", "00 ****", "** 0100"), statistics=["cohen_kappa"]).loc[0, "note"]
    assert note.startswith("1 of 2 annotator pairs undefined and left out; 2 of 2 annotator pairs share few")


@pytest.mark.parametrize("name", STATISTICS)
def test_every_statistic_ignores_row_order_and_leaves_its_input(name: str) -> None:
    judgments = judged(sparse(5))
    before = judgments.copy()
    shuffled = Judgments(judgments.sample(frac=1, random_state=3))
    for by in (None, "annotator_id"):
        expected = agreement(judgments, level="ordinal", by=by, statistics=[name])
        again = agreement(shuffled, level="ordinal", by=by, statistics=[name])
        pd.testing.assert_frame_equal(expected, again)
        assert (expected["value"].isna() <= (expected["note"] != "")).all()
    pd.testing.assert_frame_equal(before, judgments)


def test_who_gave_only_the_first_label_counts_as_anybody_else() -> None:
    """The first label has the code 0, and no answer the code -1."""
    rows = [(doc, "low", "1") for doc in "abcd"]
    judgments = judged(rows + [(doc, "high", label) for doc, label in zip("abce", "1223", strict=True)])
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
    judgments = by_pair("11 0* 0* 10")
    chance = judgments["doc_id"].map({"d00000": 1.0, "d00001": 0.1, "d00002": 0.1, "d00003": 1.0})
    drawn = Judgments(judgments.assign(inclusion_probability=chance))
    (share,) = agreement(drawn, statistics=["prevalence"])["value"]
    assert share == pytest.approx((1 + 0.5) / 2)  # of the doubled pairs alone


def campaign(n_captions: int, n_docs: int, *, doubled: float = 0.5, seed: int = 0) -> Judgments:
    """Two annotators; captions differ in how hard they are; not all pairs are judged twice."""
    draw = np.random.default_rng(seed)
    rows = []
    for caption in range(n_captions):
        error = draw.uniform(0, 0.5)
        for doc in range(n_docs):
            relevant = draw.random() < 0.3
            for rater in "uv" if draw.random() < doubled else "u":
                label = relevant ^ (draw.random() < error * (rater == "v"))
                rows.append((f"q{caption:03d}", f"d{doc}", rater, "01"[int(label)]))
    names = ["query_id", "doc_id", "annotator_id", "label"]
    return check_judgments(pd.DataFrame(rows, columns=names))


def alpha_of(judgments: pd.DataFrame) -> float:
    """Alpha by the package, from counts made here."""
    counts = judgments.groupby(["query_id", "doc_id"])["label"].value_counts().unstack(fill_value=0)
    counts = counts[counts.sum(axis=1) >= 2].to_numpy(dtype=np.int64)
    return float(krippendorff.alpha(value_counts=counts, level_of_measurement="nominal"))


def linearised_error(judgments: pd.DataFrame, names: list[str]) -> float:
    """Linearised standard error of nominal alpha of two labels, over groups of pairs judged twice."""
    counts = judgments.groupby(["query_id", "doc_id"])["label"].value_counts().unstack(fill_value=0)
    counts = counts[counts.sum(axis=1) == 2]
    of_units = counts.assign(apart=counts["0"] * counts["1"] * 2).groupby(names).sum()
    zero, one, apart = (of_units[name].to_numpy(dtype=float) for name in ("0", "1", "apart"))
    n = (zero + one).sum()
    value = apart.sum() * n / (2 * zero.sum() * one.sum())
    influence = value * (apart / apart.sum() + (zero + one) / n - zero / zero.sum() - one / one.sum())
    return math.sqrt((influence**2).sum())


def test_intervals_draw_captions_and_the_design_effect_compares_with_pairs() -> None:
    judgments = campaign(150, 8)
    summary = agreement_summary(judgments)
    alpha = summary.table.iloc[0]
    by_caption = linearised_error(judgments, ["query_id"])
    by_pair = linearised_error(judgments, ["query_id", "doc_id"])
    assert alpha["value"] == pytest.approx(alpha_of(judgments))
    assert alpha["high"] - alpha["low"] == pytest.approx(2 * 1.976 * by_caption, rel=0.05)
    assert summary.cluster == "query_id"
    assert summary.design_effect == pytest.approx((by_caption / by_pair) ** 2, rel=0.08)
    assert summary.design_effect > 1.2


def test_the_values_are_those_of_agreement() -> None:
    judgments = campaign(30, 5)
    table = agreement_summary(judgments).table
    plain = agreement(judgments)
    pd.testing.assert_frame_equal(plain, table[list(plain.columns)])
    assert list(table["statistic"]) == ["alpha", "percent_agreement", "positive_agreement", "prevalence"]
    clustered = agreement_intervals(judgments, cluster="query_id")
    numbers = ["low", "high", "below_667", "n_resampled"]
    pd.testing.assert_frame_equal(clustered[numbers], table[numbers])


def test_pairs_are_drawn_where_captions_have_fewer_than_two() -> None:
    judgments = campaign(120, 1, doubled=0.8)
    summary = agreement_summary(judgments)
    assert (summary.cluster, math.isnan(summary.design_effect)) == ("", True)
    plain = agreement_intervals(judgments)
    pd.testing.assert_frame_equal(plain[["low", "high"]], summary.table[["low", "high"]])


def test_pairs_are_counted_by_their_votes_and_escalations_are_none() -> None:
    given = {"a": "101", "b": "?", "c": "1?", "d": "11"}
    names = {"0": "irrelevant", "1": "relevant", "?": "ambiguous"}
    rows = [(doc, "uvw"[n], names[label]) for doc, said in given.items() for n, label in enumerate(said)]
    table = pd.DataFrame(rows, columns=["doc_id", "annotator_id", "label"]).assign(query_id="q")
    summary = agreement_summary(check_judgments(table))
    assert summary.n_pairs_by_votes == (1, 1, 1, 1)
    assert "2 answers without a vote left out" in summary.table.loc[0, "note"]


def test_answers_of_one_page_are_drawn_by_item() -> None:
    """A page holds captions of one item, so drawing items draws pages whole."""
    judgments = campaign(30, 6)
    paged = check_judgments(judgments.assign(page="p" + judgments["annotator_id"] + judgments["doc_id"]))
    found = agreement_summary(paged)
    assert found.cluster == "doc_id"
    named = agreement_intervals(judgments, cluster="doc_id").set_index("statistic")
    row = found.table.set_index("statistic").loc["alpha"]
    assert (row["low"], row["high"]) == (named.loc["alpha", "low"], named.loc["alpha", "high"])
    assert agreement_summary(check_judgments(judgments.assign(page=""))).cluster == "query_id"
