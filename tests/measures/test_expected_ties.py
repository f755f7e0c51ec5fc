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

NAMES = ["C@1", "C@3", "NN", "P@3", "R@2", "R@4", "AP", "AP@3", "AP@3/min", "RR", "RR@2", "MnR"]
NAMES += ["nDCG", "nDCG@3", "DCG@4", "DCG_J", "nDCG_J@2", "CG@2", "nCG@3", "Rprec", "FT", "ST"]
NAMES += ["RBP(p=0.8)", "RBP_residual(p=0.5)", "F@3", "F(beta=2)@2", "F", "E", "Judged@3", "unjudged@2"]
NAMES += ["mAP@R", "Rndcg", "num_rel_ret", "set_P"]
NO_CLOSED_FORM = {"AP_fire", "MedR", "bpref", "infAP", "xinfAP", "xinfAP/nist", "IPrec", "gm_map", "11pt_avg"}
NO_CLOSED_FORM |= {"infNDCG", "infNDCG/nist", "iP", "inum_rel_ret", "IPrec/v9", "11pt_avg/v9"}


@pytest.mark.parametrize(
    ("docs", "relevant", "expected"),
    [
        # Four positives of five tied docs are first four times in five.
        ("abcde", "abcd", {"C@1": 0.8, "P@5": 0.8, "RR": 0.8 + 0.2 / 2}),
        # McSherry and Najork: each order has half the weight; RR is (1 + 1/2) / 2, and not 1 / 1.5.
        ("ab", "a", {"C@1": 0.5, "RR": 0.75, "AP": 0.75, "MnR": 1.5, "nDCG": (1 + 1 / np.log2(3)) / 2}),
        # One positive: at rank 1 or 2, over min(2, 1). Three: both ranks, over min(2, 3).
        ("ab", "a", {"AP@2/min": (1 + 1 / 2) / 2}),
        ("ab", "abc", {"AP@2/min": 1.0}),
    ],
)
def test_tied_docs_stand_in_each_order_as_often(docs: str, relevant: str, expected: dict[str, float]) -> None:
    qrels = make_qrels({"q": dict.fromkeys(docs, 0) | dict.fromkeys(relevant, 1)})
    run = make_run({"q": dict.fromkeys(docs, 1.0)})
    found = score_runs(run, qrels, list(expected), ties="expected").scores["value"]
    assert list(found) == pytest.approx(list(expected.values()))


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


def test_judged_docs_kept_below_the_top_do_not_count_in_ties_either() -> None:
    """The list ends after rank 2, where the tied a and b stand; c, judged, is known to stand at rank 5."""
    run = make_run({"q": {"b": 1.0, "a": 1.0, "c": 0.5}})
    run = check_run(run.assign(rank=[1, 2, 5]))
    scores = score_runs(run, make_qrels({"q": {"a": 0, "c": 1}}), ["Judged@10"], ties="expected").scores
    assert list(scores["value"]) == [0.5]
