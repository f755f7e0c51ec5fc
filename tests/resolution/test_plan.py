import math

import numpy as np
import pandas as pd
import pytest
from small_judgments import alpha_interval
from small_judgments import judged_docs as judged

from examples import cases
from fire_toolkit.errors import UsageError
from fire_toolkit.resolution.plan import STRATA, RoundPlan, plan_round
from fire_toolkit.resolution.resolve import resolve
from fire_toolkit.tables import Judgments, Qrels, check_judgments, check_qrels

GRADES = {"no": 0, "yes": 1, "?": None}


def positives(*docs: str) -> Qrels:
    return check_qrels(pd.DataFrame({"query_id": "q", "doc_id": list(docs), "relevance": 1}))


ANSWERS = {
    "tie": ["yes", "no"],
    "escalated": ["?"],
    "rejected": ["no"],
    "alone": ["yes"],
    "sure": ["yes", "yes"],
    **{f"no{n:02d}": ["no"] for n in range(40)},
}


def planned(answers: dict[str, list[str]] = ANSWERS, *, rule: str = "fire", **options: object) -> RoundPlan:
    judgments = judged(answers)
    labels, disputes = resolve(judgments, grades=GRADES, rule=rule)[:2]
    return plan_round(judgments, labels, disputes, grades=GRADES, **options)  # type: ignore[arg-type]


def strata(plan: RoundPlan) -> dict[str, tuple[int, int]]:
    return {row.stratum: (row.n_pairs, row.n_asked) for row in plan.strata.itertuples()}  # type: ignore[attr-defined]


def test_pairs_are_asked_in_the_order_of_use_each_once() -> None:
    plan = planned(original=positives("rejected", "alone"), random_share=0.1)
    assert strata(plan) == dict(zip(STRATA, [(1, 1)] * 4 + [(0, 0), (40, 4)], strict=True))
    assert " ".join(STRATA) == "dispute escalated rejected_original unverified_positive low_posterior random"
    by_doc = plan.pool.set_index("doc_id")
    assert by_doc["stratum"][["tie", "escalated", "rejected", "alone"]].tolist() == [*STRATA[:4]]
    assert not plan.pool.duplicated(["query_id", "doc_id"]).any()
    assert set(plan.pool["round"]) == {2}
    assert set(planned(round=4).pool["round"]) == {4}
    assert set(plan.pool.loc[plan.pool["stratum"] == "random", "inclusion_probability"]) == {0.1}
    assert tuple(plan.strata["stratum"]) == STRATA


def test_without_the_original_qrels_no_original_is_rejected() -> None:
    assert "rejected_original" not in strata(planned())


@pytest.mark.parametrize("budget", [0, 1, 3, 5, 100])
def test_a_budget_is_spent_from_the_front(budget: int) -> None:
    plan = planned(original=positives("rejected"), budget=budget, random_share=1.0)
    asked = [n_asked for _, n_asked in strata(plan).values()]
    assert sum(asked) == len(plan.pool)
    assert sum(asked) + plan.kept + plan.unused == budget
    short = [had > got for had, got in strata(plan).values()]
    begun_short = np.cumsum(short) > 0
    assert all(got == 0 for got, after in zip(asked[1:], begun_short[:-1], strict=True) if after)


def test_a_stratum_cut_by_the_budget_is_drawn_evenly_and_says_so() -> None:
    answers = {f"y{n:02d}": ["yes"] for n in range(40)}
    plan = planned(answers, budget=20)
    assert set(plan.pool["inclusion_probability"]) == {0.5}
    judgments = judged(answers)
    resolved = resolve(judgments, grades=GRADES)[:2]
    times = dict.fromkeys(answers, 0)
    for seed in range(10):
        pool = plan_round(judgments, *resolved, grades=GRADES, budget=20, seed=seed).pool
        for doc in pool["doc_id"]:
            times[doc] += 1
    assert 0 < min(times.values()) <= max(times.values()) < 10  # 5 expected, 1.6 a standard deviation
    assert planned(answers, budget=20, seed=9).pool.equals(pool)


def test_labels_a_model_doubts_are_asked_from_the_least_sure() -> None:
    answers = {f"y{n:02d}": ["yes", "yes"] for n in range(6)} | {f"n{n:02d}": ["no", "no"] for n in range(20)}
    answers |= {"doubt": ["yes", "no", "no"], "more": ["yes", "no", "yes"]}
    judgments = judged(answers)
    labels, disputes = resolve(judgments, grades=GRADES, rule="dawid-skene")[:2]
    least = labels.sort_values("posterior")["doc_id"].iloc[0]
    bound = float(labels["posterior"].sort_values().iloc[1]) + 1e-12
    one = plan_round(judgments, labels, disputes, grades=GRADES, low_posterior=bound, budget=1)
    assert one.pool["doc_id"].tolist() == [least]
    both = plan_round(judgments, labels, disputes, grades=GRADES, low_posterior=bound)
    assert strata(both)["low_posterior"] == (2, 2)
    row = both.strata.set_index("stratum").loc["low_posterior"]
    assert row["expected_changes"] == pytest.approx((1 - labels["posterior"]).nlargest(2).sum())


def test_what_it_buys_is_told_by_pairs_with_two_votes() -> None:
    # of 2 pairs with two votes one is split: a positive meets another in 2 of 3, a negative in none
    plan = planned(original=positives("rejected"), random_share=0.5)
    assert plan.strata["expected_changes"].tolist() == pytest.approx([1, 1, 1, 1 / 3, 0, 20])
    alone = planned({"a": ["yes"], "b": ["no"]}).strata.set_index("stratum")
    assert math.isnan(alone.loc["unverified_positive", "expected_changes"])
    assert "no pair has two votes" in alone.loc["unverified_positive", "note"]


def test_seconds_are_the_median_time_of_an_answer() -> None:
    judgments = judged({"a": ["yes", "no"], "b": ["no"]}, duration_s=[4.0, 9.0, 5.0])
    resolved = resolve(judgments, grades=GRADES)[:2]
    assert plan_round(judgments, *resolved, grades=GRADES).seconds == 5.0
    assert math.isnan(planned().seconds)


def test_rows_in_another_order_change_nothing_and_inputs_stay() -> None:
    judgments = judged(ANSWERS)
    labels, disputes = resolve(judgments, grades=GRADES)[:2]
    before = labels.copy(), disputes.copy(), judgments.copy()
    one = plan_round(judgments, labels, disputes, grades=GRADES, random_share=0.3)
    mixed = Judgments(judgments.sample(frac=1, random_state=1))
    other = plan_round(mixed, labels, disputes, grades=GRADES, random_share=0.3)
    pd.testing.assert_frame_equal(one.pool, other.pool)
    for table, kept in zip((labels, disputes, judgments), before, strict=True):
        pd.testing.assert_frame_equal(table, kept)


def test_nothing_judged_gives_an_empty_pool() -> None:
    plan = planned({})
    assert len(plan.pool) == 0
    assert {"stratum", "inclusion_probability"} <= set(plan.pool.columns)


def test_weights_by_the_plans_probabilities_give_the_agreement_of_an_even_sample() -> None:
    # everything judged once; then all positives and 5% of the rest a second time
    draw = np.random.default_rng(4)
    truth = draw.random(20_000) < 0.13
    answers = np.where(truth[:, None] ^ (draw.random((20_000, 2)) < 0.04), "yes", "no")
    share = 0.13 * 0.96 + 0.87 * 0.04
    expected = 1 - 2 * 0.04 * 0.96 / (2 * share * (1 - share))
    once = judged({f"d{n:05d}": [str(row[0])] for n, row in enumerate(answers)})
    plan = plan_round(once, *resolve(once, grades=GRADES)[:2], grades=GRADES, random_share=0.05).pool
    number = plan["doc_id"].str.slice(1).astype(int)
    second = plan.assign(annotator_id="other", label=answers[number, 1])
    columns = ["query_id", "doc_id", "annotator_id", "label"]
    both = pd.concat([once[columns], second[columns]])
    chance = plan[["query_id", "doc_id", "inclusion_probability"]]
    judgments = check_judgments(both.merge(chance, on=["query_id", "doc_id"], how="left"))
    naive = alpha_interval(check_judgments(both), n_resamples=10)
    weighted = alpha_interval(judgments, n_resamples=500)
    assert naive.value < expected - 0.1
    assert weighted.low < expected < weighted.high
    assert weighted.value == pytest.approx(expected, abs=0.03)


@cases("options", "words")
def test_a_bad_argument_is_a_usage_error(options: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        planned(**options)  # type: ignore[arg-type]


def test_answers_to_disputes_do_not_tell_how_often_a_second_one_differs() -> None:
    votes = {"a": ["yes", "no", "yes"], "b": ["no", "no"], "c": ["yes"], "d": ["no"]}
    later = judged(votes, round=[1, 1, 2, 1, 1, 1, 1])
    plan = plan_round(later, *resolve(later, grades=GRADES)[:2], grades=GRADES, random_share=1)
    bought = plan.strata.set_index("stratum")["expected_changes"]
    # of two doubled pairs one is split: the positive meets a negative, a negative one in a third of cases
    assert (bought["unverified_positive"], bought["random"]) == (1.0, pytest.approx(1 / 3))


def test_pairs_that_wait_for_an_answer_are_left_out_and_not_counted() -> None:
    judgments = judged({"a": ["yes", "no"], "b": ["yes"], "c": ["no"]})
    resolved = resolve(judgments, grades=GRADES)[:2]
    waiting = pd.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "c"]})
    plan = plan_round(judgments, *resolved, grades=GRADES, random_share=1, waiting=waiting)
    assert list(plan.pool["doc_id"]) == ["b"]
    assert plan.strata["n_pairs"].sum() == 1


def test_the_random_share_is_set_aside_before_positives_take_the_budget() -> None:
    votes = {f"y{n:04d}": ["yes"] for n in range(300)} | {f"n{n:04d}": ["no"] for n in range(1000)}
    plan = planned(votes, budget=100)
    # 2% of 1,000 would be 20, and a tenth of the budget is 10
    assert (strata(plan)["unverified_positive"][1], strata(plan)["random"][1]) == (90, 10)
    assert set(plan.pool.loc[plan.pool["stratum"] == "random", "inclusion_probability"]) == {0.01}
    assert (plan.kept, plan.unused) == (0, 0)


def test_what_nobody_claims_goes_to_more_pairs_at_random_and_the_rest_is_said() -> None:
    votes = {f"y{n:04d}": ["yes"] for n in range(50)} | {f"n{n:04d}": ["no"] for n in range(1000)}
    assert strata(planned(votes, budget=600))["random"] == (1000, 550)
    over = planned(votes, budget=2000)
    assert (strata(over)["random"][1], over.kept, over.unused) == (1000, 0, 950)
    only = planned(votes, budget=600, ask=["unverified_positive"])
    assert (len(only.pool), only.unused) == (50, 550)


def test_an_answer_is_kept_for_each_dispute_that_the_round_creates() -> None:
    # 100 splits of 3 votes: of 100 x 2 x 2 + 900 x 2 negatives beside another vote, 200 meet a positive
    votes = {f"n{n:04d}": ["no"] for n in range(3000)} | {f"d{n:03d}": ["no"] * 2 for n in range(900)}
    votes |= {f"s{n:03d}": ["no", "yes", "no"] for n in range(100)}
    plan = planned(votes, budget=500, ask=["random"], random_share=1.0)
    chance = 200 / (100 * 4 + 900 * 2)
    n_asked = strata(plan)["random"][1]
    assert n_asked + plan.kept == 500
    assert n_asked * chance == pytest.approx(plan.kept, abs=1 + chance)
    row = plan.strata.set_index("stratum").loc["random"]
    assert row["expected_changes"] == pytest.approx(n_asked * chance)


def test_rejected_originals_change_as_often_as_doubled_originals_do() -> None:
    # two votes each on 20 originals, 8 of them split: a negative vote meets a positive in 8 of 16
    answers = [["no", "yes"]] * 8 + [["no", "no"]] * 4 + [["yes", "yes"]] * 8
    originals = {f"o{n:02d}": given for n, given in enumerate(answers)}
    votes = originals | {f"r{n:02d}": ["no"] for n in range(30)}
    votes |= {f"d{n:03d}": ["no"] * 2 for n in range(300)}
    known = positives(*originals, *(f"r{n:02d}" for n in range(30)))
    row = planned(votes, original=known).strata.set_index("stratum").loc["rejected_original"]
    assert (row["n_pairs"], row["expected_changes"]) == (34, 17.0)
    assert row["note"].endswith("0.500 (that of 12 doubled originals with a negative vote)")
    few = planned(votes, original=positives("o00", "r00")).strata
    few = few.set_index("stratum").loc["rejected_original"]
    assert few["expected_changes"] == pytest.approx(8 / 616)
    assert few["note"].endswith("(that of all doubled pairs; doubled originals with a negative vote: only 1)")
