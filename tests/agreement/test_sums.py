"""Values, weights and intervals of the same sums, by groups of pairs, and on pages of several captions."""

import itertools
import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from small_judgments import agreement_intervals, alpha_interval, judged, on_pairs

from fire_toolkit.agreement.intervals import interval_of
from fire_toolkit.agreement.pages import alike, page_effects
from fire_toolkit.agreement.registry import STATISTICS
from fire_toolkit.agreement.table import agreement, join_columns, notes_of_rows
from fire_toolkit.errors import JoinError, TableError
from fire_toolkit.resolution.judgments import first_round
from fire_toolkit.resolution.votes import code_votes
from fire_toolkit.tables import Judgments, check_judgments

NAMES = list(STATISTICS)
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
    found = values(pairs(answers, inclusion_probability=chance))
    for name in NAMES:
        # alpha has a factor (n - 1) / n, in which copies count and weights do not
        assert expected[name] == pytest.approx(found[name], abs=5e-4 if name == "alpha" else 1e-12), name


def test_one_inclusion_probability_for_all_pairs_changes_nothing() -> None:
    assert values(pairs(ANSWERS)) == values(pairs(ANSWERS, inclusion_probability=[0.2] * 10))


def test_second_judgments_of_all_positives_and_few_negatives_are_undone_by_weights() -> None:
    # Among 16,000 pairs 10% of first answers are positive; second answers differ on 20% of these, on 5% of
    # the rest. All first positives are asked twice, and one in eight of the rest.
    first = ["11"] * 1280 + ["10"] * 320, ["00"] * 13680 + ["01"] * 720
    one_in_eight = [given if row % 8 == 0 else given[0] for row, given in enumerate(first[1])]
    chance = [1.0] * len(first[0]) + [1 / 8] * len(first[1])
    drawn = pairs([*first[0], *one_in_eight], inclusion_probability=chance)
    weighted, unweighted = values(drawn), values(Judgments(drawn.drop(columns="inclusion_probability")))
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
            found = interval_of(votes, name, 300, seed=seed)
            covered[name] += found.low <= truth[name] <= found.high
    assert min(covered.values()) >= 33, covered  # fewer has a chance below .001 at .95


@pytest.mark.parametrize("cluster", [None, "query_id"])
def test_the_interval_of_two_annotators_is_the_linearised_one(cluster: str | None) -> None:
    """The derivative by a pair's weight is had here from copies: one of 301, where other pairs have 300."""
    answers = ["11", "10", "110", "00", "01", "011", "1", "00", "101", "11", "0"]
    judgments = pairs(answers)
    doubled = [n for n, given in enumerate(answers) if len(given) > 1]
    unit = {n: n if cluster is None else n % 5 for n in doubled}
    whole = agreement(judgments, statistics=["cohen_kappa"])["value"][0]

    def with_more_of(chosen: int) -> float:
        copies = [given for n, given in enumerate(answers) for _ in range(300 + (unit.get(n) == chosen))]
        return float(agreement(pairs(copies), statistics=["cohen_kappa"])["value"][0])

    influence = np.array([300 * (with_more_of(each) - whole) for each in sorted(set(unit.values()))])
    n = len(influence)
    error = math.sqrt(n / (n - 1) * (influence**2).sum())
    student = {9: 2.306004, 5: 2.776445}[n]
    row = agreement_intervals(judgments, statistics=["cohen_kappa"], cluster=cluster).iloc[0]
    assert row["n_resampled"] == n
    assert row["low"] == pytest.approx(max(row["value"] - student * error, -1), rel=2e-3)


def test_an_undefined_value_says_why_beside_its_interval() -> None:
    table = agreement_intervals(pairs(["1", "0"]))
    row = table.iloc[0]
    assert row["note"] == row["interval_note"] == "no pair has two judgments"
    assert [note for note in notes_of_rows(table[:1]) if "two judgments" in note] == [row["note"]]  # once


def test_clusters_within_a_group_are_those_of_the_group() -> None:
    judgments = pairs(ANSWERS * 6, half=["x", "y"] * 30)
    whole = agreement_intervals(judgments, by="half", cluster="query_id", n_resamples=200)
    half = Judgments(judgments[judgments["half"] == "x"])
    alone = alpha_interval(half, cluster="query_id", n_resamples=200)
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
    assert ("queries have 2.0 each" in row["interval_note"]) == warned


def test_weighted_label_shares_by_hand() -> None:
    # Doubled at chance 1: six pairs 11 and four 10; at chance .1: nine pairs 00 and one 01; 90 single zeros.
    given = [("11", 1.0)] * 6 + [("10", 1.0)] * 4 + [("00", 0.1)] * 9 + [("01", 0.1)] + [("0", 0.1)] * 90
    answers, chances = zip(*given, strict=True)
    judgments = pairs(answers, inclusion_probability=chances)
    found = agreement(judgments, statistics=["fleiss_kappa", "gwet_ac1", "prevalence", "percent_agreement"])
    agreeing = (6 + 9 * 10) / (10 + 10 * 10)
    share = (6 + 4 / 2 + 10 / 2) / (10 + 10 * 10)
    by_chance, by_gwet = share**2 + (1 - share) ** 2, 2 * share * (1 - share)
    kappa, ac1 = ((agreeing - chance) / (1 - chance) for chance in (by_chance, by_gwet))
    assert found["value"].tolist() == pytest.approx([kappa, ac1, share, agreeing])


ROWS = [("a", "u", "1"), ("a", "v", "0"), ("a", "w", "1"), ("b", "u", "1"), ("b", "v", "1")]


def test_only_each_pairs_first_round_is_kept() -> None:
    # b was pooled for the second round, so its first answers are of round 2
    kept = first_round(judged(ROWS, round=[1, 1, 2, 2, 3]))
    assert kept[["doc_id", "annotator_id"]].to_numpy().tolist() == [["a", "u"], ["a", "v"], ["b", "u"]]


def test_answers_that_nobody_asked_for_do_not_count_as_first() -> None:
    kept = first_round(judged(ROWS, round=[1, 1, 2, 1, 1], kind=["task", "unassigned", "task", "task", ""]))
    assert kept[["doc_id", "annotator_id"]].to_numpy().tolist() == [["a", "u"], ["b", "u"], ["b", "v"]]


def test_without_a_column_round_all_judgments_are_kept() -> None:
    assert len(ROWS) == len(first_round(judged(ROWS)))
    assert len(first_round(judged([]))) == 0


def test_a_pair_that_two_runs_pooled_is_in_both_groups() -> None:
    sources = pd.DataFrame({"query_id": "q", "doc_id": ["a", "a", "b"], "run_id": ["x", "y", "x"]})
    table = agreement(join_columns(judged(ROWS), sources, by="run_id"), by="run_id")
    alpha = table[table["statistic"] == "percent_agreement"]
    assert alpha[["group", "n_units"]].to_numpy().tolist() == [["x", 2], ["y", 1]]
    expected = [(1 / 3 + 1) / 2, 1 / 3]
    assert expected == pytest.approx(alpha["value"].tolist())


def test_queries_bring_the_length_of_their_text_in_the_order_of_numbers() -> None:
    queries = pd.DataFrame({"query_id": ["q", "r"], "text": ["one two", "w " * 12]})
    both = pd.concat([judged(ROWS), judged(ROWS).assign(query_id="r")])
    joined = join_columns(check_judgments(both), queries, by="text_words")
    table = agreement(joined, by="text_words", statistics=["unanimous"])
    assert table["group"].tolist() == ["1-5", "11-15"]


def test_a_pair_without_a_partner_is_in_the_group_of_the_empty_text() -> None:
    joined = join_columns(judged(ROWS), pd.DataFrame({"doc_id": ["a"], "stratum": ["s"]}))
    table = agreement(joined, by="stratum", statistics=["alpha"])
    assert table["group"].tolist() == ["", "s"]


def test_columns_that_judgments_have_stay_as_they_are() -> None:
    pool = pd.DataFrame({"doc_id": ["a", "b"], "round": [7, 7], "is_original": [True, False]})
    joined = join_columns(judged(ROWS, round=[1, 1, 2, 1, 1]), pool)
    assert joined["round"].tolist() == [1, 1, 2, 1, 1]
    assert joined["is_original"].tolist() == [True, True, True, False, False]


@pytest.mark.parametrize(
    ("table", "error", "words"),
    [
        ({"video": ["a"]}, TableError, "expected some of query_id, doc_id, annotator_id"),
        ({"doc_id": ["a"]}, TableError, "a column that judgments do not have"),
        ({"doc_id": ["z"], "stratum": ["s"]}, JoinError, "no judgment has its doc_id"),
    ],
)
def test_a_table_that_does_not_belong_is_an_error(
    table: dict[str, list[str]], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        join_columns(judged(ROWS), pd.DataFrame(table))


def on_pages(pages: Sequence[str]) -> pd.DataFrame:
    """Return judgments of pages that are given as texts of 1, 0 and - (no vote), in random row order."""
    rows = [
        {"query_id": f"q{p}-{n}", "doc_id": f"v{p}", "annotator_id": "u", "page": f"p{p}"}
        | {"label": {"1": "relevant", "0": "irrelevant", "-": "ambiguous"}[mark], "page_position": str(n + 1)}
        for p, page in enumerate(pages)
        for n, mark in enumerate(page)
    ]
    return pd.DataFrame(rows).sample(frac=1, random_state=0)


def z_by_all_orders(pages: Sequence[str]) -> tuple[float, float]:
    """Return z of both effects from the mean and variance over every order of every page, one by one."""
    found = []
    for statistic in (
        lambda page: sum(n / (len(page) - 1) for n, mark in enumerate(page) if mark == "1"),
        lambda page: sum(pair == ("1", "1") for pair in itertools.pairwise(page)),
    ):
        all_values = [[statistic(order) for order in itertools.permutations(page)] for page in pages]
        mean = sum(float(np.mean(values)) for values in all_values)
        variance = sum(float(np.var(values)) for values in all_values)
        found.append((sum(statistic(page) for page in pages) - mean) / math.sqrt(variance))
    return found[0], found[1]


@pytest.mark.parametrize(
    "pages", [["1100"], ["0101", "1011"], ["11010", "000", "111", "10"], ["0111100", "10", "01"]]
)
def test_z_is_that_of_every_order_of_every_page(pages: list[str]) -> None:
    effects = page_effects(on_pages(pages)).set_index("effect")
    assert tuple(effects["z"]) == pytest.approx(z_by_all_orders(pages))
    assert effects.loc["order", "expected"] == 0.5
    assert list(effects["n_pages"]) == [len(pages)] * 2
    expected_p = [math.erfc(abs(z) / math.sqrt(2)) for z in effects["z"]]
    assert list(effects["p_value"]) == pytest.approx(expected_p)


def test_answers_that_are_no_vote_and_single_captions_are_left_out() -> None:
    effects = page_effects(on_pages(["1-10", "1", "-1"])).set_index("effect")
    assert list(effects["n_answers"]) == [3, 3]
    assert effects.loc["order", "observed"] == pytest.approx(0.25)  # the first and the second of three
    assert effects.loc["contrast", "observed"] == 0.5


def test_pages_of_one_kind_tell_nothing_and_no_pages_give_no_rows() -> None:
    assert page_effects(on_pages(["111", "00"]))["z"].isna().all()
    assert page_effects(on_pages(["111"]).assign(page="")).empty
    assert page_effects(on_pages(["111"]).drop(columns=["page", "page_position"])).empty


def test_a_contrast_that_is_there_is_found() -> None:
    """400 pages of random answers, where a positive one turns every second positive after it."""
    rng = np.random.default_rng(0)
    pages = []
    for _ in range(400):
        page = ""
        for mark in rng.random(10) < 0.4:
            page += "1" if mark and not (page.endswith("1") and rng.random() < 0.5) else "0"
        pages.append(page)
    effects = page_effects(on_pages(pages)).set_index("effect")
    assert effects.loc["contrast", "p_value"] < 1e-6
    assert effects.loc["contrast", "observed"] < effects.loc["contrast", "expected"]
    assert effects.loc["order", "p_value"] > 0.001


def test_what_a_page_shows_is_drawn_whole() -> None:
    """An item with its captions; or, where captions are the items, a query with them."""
    judgments = on_pages(["110", "01"])
    assert alike(judgments) == "doc_id"
    turned = judgments.rename(columns={"query_id": "doc_id", "doc_id": "query_id"})
    assert alike(turned) == "query_id"
    assert alike(judgments.assign(page="")) == "query_id"
