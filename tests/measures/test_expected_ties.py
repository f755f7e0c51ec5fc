"""`--ties expected`: the mean over every order of tied docs, counted out order by order."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_world import make_qrels, make_run, orders_of

from examples import examples
from fire_toolkit.errors import UsageError
from fire_toolkit.matching.pair_ranks import look_up_pairs
from fire_toolkit.matching.stored_runs import HeldRun
from fire_toolkit.measures import code_qrels, judge_run, list_measures, parse_measure
from fire_toolkit.measures.views import values_of
from fire_toolkit.scoring import score_runs
from fire_toolkit.tables import check_run

NAMES = [
    "C@1",
    "C@3",
    "NN",
    "P@3",
    "R@2",
    "R@4",
    "AP",
    "AP@3",
    "AP@3/min",
    "RR",
    "RR@2",
    "MnR",
    "nDCG",
    "nDCG@3",
]
NAMES += [
    "DCG@4",
    "DCG_J",
    "nDCG_J@2",
    "CG@2",
    "nCG@3",
    "RBP(p=0.8)",
    "RBP_residual(p=0.5)",
    "Rprec",
    "FT",
    "ST",
]
NAMES += ["F@3", "F(beta=2)@2", "F", "E", "Judged@3", "unjudged@2", "mAP@R", "Rndcg", "num_rel_ret", "set_P"]
NO_CLOSED_FORM = {"AP_fire", "MedR", "bpref", "infAP", "xinfAP", "xinfAP/nist", "IPrec", "gm_map", "11pt_avg"}
NO_CLOSED_FORM |= {"infNDCG", "infNDCG/nist", "iP", "inum_rel_ret", "IPrec/v9", "11pt_avg/v9"}


def test_four_positives_of_five_tied_docs_are_first_four_times_in_five() -> None:
    run = make_run({"q": dict.fromkeys("abcde", 1.0)})
    qrels = make_qrels({"q": dict.fromkeys("abcd", 1) | {"e": 0}})
    found = score_runs(run, qrels, ["C@1", "P@5", "RR"], ties="expected").scores["value"]
    assert list(found) == pytest.approx([0.8, 0.8, 0.8 + 0.2 / 2])


def test_a_positive_tied_with_one_other_doc() -> None:
    # McSherry and Najork: each order has half the weight; RR is (1 + 1/2) / 2, and not 1 / 1.5.
    run, qrels = make_run({"q": {"a": 1, "b": 1}}), make_qrels({"q": {"a": 1}})
    found = score_runs(run, qrels, ["C@1", "RR", "AP", "MnR", "nDCG"], ties="expected").scores["value"]
    assert list(found) == pytest.approx([0.5, 0.75, 0.75, 1.5, (1 + 1 / np.log2(3)) / 2])


@pytest.mark.slow
@given(
    st.dictionaries(st.sampled_from([f"d{n}" for n in range(5)]), st.integers(0, 1), min_size=1),
    st.dictionaries(st.sampled_from([f"d{n}" for n in range(6)]), st.integers(-1, 2), min_size=1),
    st.sampled_from(["", ":rel=2", ":condensed"]),
)
@settings(max_examples=examples(60))
def test_is_the_mean_over_all_orders(docs, relevance, modifier: str) -> None:
    is_the_mean_over_all_orders(docs, relevance, modifier)


def test_of_two_ties_with_positives_of_several_grades_is_the_mean_over_all_orders() -> None:
    docs = dict.fromkeys("abc", 1) | dict.fromkeys("def", 0)
    is_the_mean_over_all_orders(docs, {"a": 0, "b": 2, "d": 1, "e": 2, "f": -1}, "")


def is_the_mean_over_all_orders(docs: dict[str, int], relevance: dict[str, int], modifier: str) -> None:
    each = {f"q{n}": order for n, order in enumerate(orders_of(docs))}
    run = make_run({q: {d: -float(i) for i, d in enumerate(order)} for q, order in each.items()})
    ranking = judge_run(run, code_qrels(make_qrels(dict.fromkeys(each, relevance))))
    coded = code_qrels(make_qrels({"q": relevance}))
    tied = look_up_pairs(HeldRun("m", make_run({"q": docs})), coded, with_ties=True).under(coded)
    for name in NAMES:
        measure = parse_measure(name + modifier)
        counted = measure.per_query(measure.view(ranking)).mean()
        assert values_of(tied, [measure], "expected")[0, 0] == pytest.approx(counted, abs=1e-9), name


def test_queries_without_ties_have_the_value_of_their_order_to_the_bit() -> None:
    docs = [f"d{n}" for n in range(9)]
    scores = {f"q{n}": {doc: float(-i * (n + 1) % 9) for i, doc in enumerate(docs)} for n in (0, 1, 3)}
    relevance = {q: {doc: (i + len(q)) % 3 for i, doc in enumerate(docs)} for q in scores}
    run, qrels = make_run(scores), make_qrels(relevance)
    plain, expected = (score_runs(run, qrels, NAMES, ties=rule).scores for rule in ("doc-desc", "expected"))
    pd.testing.assert_frame_equal(plain, expected, check_exact=True)


def test_measures_without_a_closed_form_are_refused_by_name() -> None:
    assert {d.key for d in list_measures() if not d.is_linear} == NO_CLOSED_FORM
    run, qrels = make_run({"q": {"a": 1, "b": 1}}), make_qrels({"q": {"a": 1}})
    with pytest.raises(UsageError, match="no closed form for MedR, bpref; leave them out"):
        score_runs(run, qrels, ["C@1", "MedR", "bpref"], ties="expected")


@pytest.mark.parametrize(("relevant", "expected"), [("a", (1 + 1 / 2) / 2), ("abc", 1.0)])
def test_ap_over_min_of_k_and_positives_divides_by_the_smaller(relevant: str, expected: float) -> None:
    """a and b are tied. One positive: at rank 1 or 2, over min(2, 1). Three: both ranks, over min(2, 3)."""
    run, qrels = make_run({"q": {"a": 1, "b": 1}}), make_qrels({"q": dict.fromkeys(relevant, 1)})
    found = score_runs(run, qrels, ["AP@2/min"], ties="expected").scores["value"]
    assert list(found) == pytest.approx([expected])


def test_judged_docs_kept_below_the_top_do_not_count_in_ties_either() -> None:
    """The list ends after rank 2, where the tied a and b stand; c, judged, is known to stand at rank 5."""
    run = make_run({"q": {"b": 1.0, "a": 1.0, "c": 0.5}})
    run = check_run(run.assign(rank=[1, 2, 5]))
    scores = score_runs(run, make_qrels({"q": {"a": 0, "c": 1}}), ["Judged@10"], ties="expected").scores
    assert list(scores["value"]) == [0.5]
