"""Docs of equal score under each named rule: known numbers, slow twins, the mean over every order of them."""

from statistics import fmean

import numpy as np
import pandas as pd
import pytest
from brought import refused
from hypothesis import given, settings
from hypothesis import strategies as st
from small_world import drawn, judge_run, make_qrels, make_run, orders_of

from examples import examples
from fire_toolkit.errors import FireError, UsageError
from fire_toolkit.matching.ties import TIE_RULES
from fire_toolkit.measures import code_qrels, list_measures, parse_measure
from fire_toolkit.measures.definition import values_of
from fire_toolkit.scoring import score_runs
from fire_toolkit.tables import Qrels, Run, check_run

MATRIX = [
    [0.9, 0.5, 0.5, 0.5, 0.1],
    [0.2, 0.2, 0.2, 0.2, 0.2],
    [0.1, 0.2, 0.3, 0.4, 0.5],
    [0.5, 0.5, 0.1, 0.9, 0.3],
    [0.3, 0.3, 0.3, 0.2, 0.3],
]
DOCS = [f"d{n}" for n in range(5)]


SQUARE = make_run({f"q{n}": dict(zip(DOCS, row, strict=True)) for n, row in enumerate(MATRIX)})
DIAGONAL = make_qrels({f"q{n}": {f"d{n}": 1} for n in range(5)})


# R@1, MedR, MnR and MRR of a 5 × 5 matrix whose positive is on the diagonal, counted by hand from the
# number of larger and of equal scores in each row.
@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("optimistic", (0.8, 1, 1.4, 0.8667)),
        ("average", (0.4, 2.5, 2.1, 0.6133)),
        ("index", (0.4, 2, 2.2, 0.6167)),
        ("pessimistic", (0.4, 3, 2.8, 0.5567)),
    ],
)
def test_the_table_of_rules(rule: str, expected: tuple[float, ...]) -> None:
    scoring = score_runs(SQUARE, DIAGONAL, ["R@1", "MedR", "MnR", "RR"], ties=rule, doc_order=DOCS)
    assert tuple(scoring.scores["value"].round(4)) == expected


def test_a_note_counts_the_queries_and_gives_both_ends() -> None:
    scoring = score_runs(SQUARE, DIAGONAL, ["R@1", "MnR", "Judged@5"], ties="doc-desc")
    (note,) = scoring.notes
    assert note == (  # 2: the rows of equal scores whose positive is among them
        "m: docs of equal score could change 2 of 5 queries by the original qrels; "
        "pessimistic to optimistic: R@1 40.0 to 80.0, MnR 2.8 to 1.4"
    )
    plain = score_runs(SQUARE, DIAGONAL, ["R@1", "MnR", "Judged@5"])
    pd.testing.assert_frame_equal(plain.scores, scoring.scores)
    assert plain.notes == ()


@pytest.mark.parametrize("name", ["MnR", "MnR:condensed", "AP", "AP:condensed", "Judged@2"])
@pytest.mark.parametrize("rule", TIE_RULES)
def test_some_queries_alone_have_the_values_they_have_among_all(rule: str, name: str) -> None:
    rng = np.random.default_rng(0)
    scores = {f"q{n}": dict(zip(DOCS, row, strict=True)) for n, row in enumerate(rng.integers(0, 3, (20, 5)))}
    grades = enumerate(rng.integers(0, 2, (20, 3)))
    judged = {f"q{n}": dict(zip(DOCS[1:4], row, strict=True)) for n, row in grades}
    tied = judge_run(make_run(scores), code_qrels(make_qrels(judged)), with_ties=True)
    measures = [parse_measure(name)]
    rule = "doc-desc" if rule == "expected" else rule  # whose means are never of some queries
    some = np.array([1, 4, 5, 11, 19])
    found = values_of(tied, measures, rule, queries=some)
    np.testing.assert_array_equal(found, values_of(tied, measures, rule)[:, some])


def test_ties_that_change_nothing_are_not_said() -> None:
    run = make_run({"q": {"a": 2, "b": 1, "c": 1}})
    assert score_runs(run, make_qrels({"q": {"a": 1, "b": 0}}), ["RR", "AP"], ties="average").notes == ()
    deep = make_run({"q": {f"d{n:03}": max(n, 1) for n in range(100)}})  # positive at rank 99 or 100
    (note,) = score_runs(deep, make_qrels({"q": {"d000": 1}}), ["RR", "AP", "MnR"], ties="doc-desc").notes
    assert note.endswith("pessimistic to optimistic: MnR 100.0 to 99.0")  # RR and AP 1.0 to 1.0
    assert score_runs(deep, make_qrels({"q": {"d000": 1}}), ["RR", "AP"], ties="doc-desc").notes == ()


def test_each_qrels_has_its_own_best_order() -> None:
    run = make_run({"q": {"a": 1, "b": 1, "c": 1}})
    original, augmented = make_qrels({"q": {"a": 1}}), make_qrels({"q": {"a": 0, "b": 1}})
    scores = score_runs(run, original, ["RR"], augmented=augmented, ties="optimistic").scores
    assert list(scores["value"]) == [1.0, 1.0, 0.0]
    scores = score_runs(run, original, ["RR"], augmented=augmented, ties="pessimistic").scores
    assert list(scores["value"].round(4)) == [0.3333, 0.3333, 0.0]


def test_index_needs_every_doc_in_its_order() -> None:
    for ties, docs, said in (
        ("index", None, "needs the collection's docs in their order"),
        ("index", DOCS[:4], "run m: 1 doc missing from the list of docs (d4)"),
        ("index", [*DOCS, "d0"], "'d0' appears twice"),
    ):
        refused(said, score_runs, SQUARE, DIAGONAL, ["RR"], ties=ties, doc_order=docs, by=FireError)


def test_index_is_a_stable_sort_of_the_row() -> None:
    before = SQUARE.copy()
    docs = ["d3", "d0", "d4", "d1", "d2"]
    for doc in DOCS:
        only = make_qrels({f"q{n}": {doc: 1} for n in range(5)})
        scores = score_runs(SQUARE, only, ["MnR"], ties="index", doc_order=docs, per_query=True).scores
        stable = [sorted(docs, key=dict(zip(DOCS, row, strict=True)).get, reverse=True) for row in MATRIX]
        assert list(scores["value"][1:]) == [1 + order.index(doc) for order in stable]
    pd.testing.assert_frame_equal(before, SQUARE)


scores_of = drawn(["q1", "q2", "q3"], [f"d{n}" for n in range(7)], st.integers(0, 2))
relevances_of = drawn(["q1", "q2", "q3"], [f"d{n}" for n in range(8)], st.integers(-1, 2))
LARGER = ["C@1", "C@3", "R@2", "P@3", "RR", "AP", "AP@3/min", "nDCG@4", "Rprec", "RBP(p=0.8)", "bpref", "NN"]
modifiers = st.sampled_from(["", ":rel=2", ":condensed", ":rel=2:condensed"])


def per_query(run: Run, qrels: Qrels, name: str, rule: str) -> np.ndarray:
    measure = parse_measure(name)
    tied = judge_run(run, code_qrels(qrels), with_ties=True)
    return values_of(tied, [measure], rule)[0]


@pytest.mark.slow
@given(scores_of, relevances_of, st.sampled_from([*LARGER, "MnR"]), modifiers)
@settings(max_examples=examples(150))
def test_optimistic_is_no_worse_than_average_than_pessimistic(scores, relevances, name, modifier) -> None:
    run, qrels = make_run(scores), make_qrels(relevances)
    sign = -1 if name == "MnR" else 1
    best, mean, own, worst = (
        sign * per_query(run, qrels, name + modifier, rule)
        for rule in ("optimistic", "average", "doc-desc", "pessimistic")
    )
    assert (best >= mean - 1e-12).all()
    assert (mean >= worst - 1e-12).all()
    assert (best >= own - 1e-12).all()
    assert (own >= worst - 1e-12).all()


def each_order(docs: dict[str, int]) -> dict[str, dict[str, float]]:
    """Return every order of docs that ties leave open, as the scores of a query of its own."""
    return {f"q{n}": {d: -float(i) for i, d in enumerate(order)} for n, order in enumerate(orders_of(docs))}


few_docs = st.dictionaries(st.sampled_from([f"d{n}" for n in range(5)]), st.integers(0, 1), min_size=1)


@pytest.mark.slow
@given(
    few_docs,
    st.dictionaries(st.sampled_from([f"d{n}" for n in range(6)]), st.integers(-1, 2), min_size=1),
    st.sampled_from([*LARGER, "MnR"]),
    modifiers,
)
@settings(max_examples=examples(80))
def test_the_ends_are_the_best_and_the_worst_of_all_orders(docs, relevance, name, modifier) -> None:
    run, qrels = make_run({"q": docs}), make_qrels({"q": relevance})
    each = each_order(docs)
    judged = make_qrels(dict.fromkeys(each, relevance))
    found = per_query(make_run(each), judged, name + modifier, "doc-desc")
    assert len(found) == len(each)
    ends = ("pessimistic", "optimistic") if name != "MnR" else ("optimistic", "pessimistic")
    low, high = (per_query(run, qrels, name + modifier, rule)[0] for rule in ends)
    assert (min(found), max(found)) == pytest.approx((low, high))


@given(few_docs, st.dictionaries(st.sampled_from([f"d{n}" for n in range(6)]), st.integers(0, 1), min_size=1))
@settings(max_examples=examples(60))
def test_average_is_the_mean_first_rank_over_all_orders(docs, relevance) -> None:
    run, qrels = make_run({"q": docs}), make_qrels({"q": relevance})
    orders = orders_of(docs)
    first = [
        next((i for i, doc in enumerate(order, 1) if relevance.get(doc) == 1), len(docs) + 1)
        for order in orders
    ]
    assert per_query(run, qrels, "MnR", "average")[0] == pytest.approx(fmean(first))


def test_a_run_without_ties_scores_the_same_under_every_rule() -> None:
    run = make_run({"q": {"a": 3, "b": 2, "c": 1}})
    qrels = make_qrels({"q": {"b": 1, "c": 0, "a": -1}})  # pooled, and not judged
    names = [name for name in LARGER if name != "bpref"]  # has no closed form under `expected`
    found = {
        tuple(score_runs(run, qrels, names, ties=rule, doc_order=["c", "b", "a"]).scores["value"])
        for rule in TIE_RULES
    }
    assert len(found) == 1


@pytest.mark.parametrize(("rule", "unjudged"), [("optimistic", 0.5), ("pessimistic", 0.5)])
def test_what_nobody_judged_stands_between_positives_and_others(rule: str, unjudged: float) -> None:
    """c is judged not relevant, b relevant, a not judged: b a c at best, c a b at worst."""
    run = make_run({"q": dict.fromkeys("abc", 1.0)})
    qrels = make_qrels({"q": {"b": 1, "c": 0, "a": -1}})  # pooled, and not judged
    found = score_runs(run, qrels, ["unjudged@2", "RR"], ties=rule).scores["value"]
    assert list(found) == pytest.approx([unjudged, 1.0 if rule == "optimistic" else 1 / 3])


@pytest.mark.parametrize(("rule", "expected"), [("optimistic", 1.0), ("pessimistic", 0.0)])
def test_what_was_pooled_and_not_judged_stands_nearer_to_the_positives(rule: str, expected: float) -> None:
    """x, y are in no pool: a u x y at best, both pooled ones expected to be positives; x y u a at worst."""
    run = make_run({"q": dict.fromkeys("auxy", 1.0)})
    found = score_runs(run, make_qrels({"q": {"a": 1, "u": -1}}), ["iP@2"], ties=rule).scores["value"]
    assert list(found) == pytest.approx([expected], abs=1e-4)


@pytest.mark.parametrize("rule", ["optimistic", "average", "pessimistic"])
def test_ties_end_where_a_run_is_cut(rule: str) -> None:
    """b, c are tied, and the run is cut at rank 2, as the place of the new positive e is not known."""
    docs = {"doc_id": ["a", "b", "c"], "rank": [1, 2, 5], "score": [2.0, 1.0, 1.0]}
    run = check_run(pd.DataFrame({"run_id": "m", "query_id": "q", **docs}))
    qrels, augmented = make_qrels({"q": {"b": 1, "c": 1}}), make_qrels({"q": {"b": 1, "c": 1, "e": 1}})
    found = score_runs(run, qrels, ["MnR"], augmented=augmented, ties=rule).scores["value"]
    assert list(found) == [2, 2, 0]


def test_ties_that_are_left_without_unjudged_docs_are_those_of_the_judged_alone() -> None:
    """Of three tied docs two are judged: the positive stands at 1.5 on average, of three places at 2."""
    run = make_run({"q": dict.fromkeys("abc", 1.0)})
    qrels = make_qrels({"q": {"a": 1, "b": 0}})
    found = score_runs(run, qrels, ["MnR:condensed", "MnR"], ties="average").scores["value"]
    assert list(found) == pytest.approx([1.5, 2.0])


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


def test_the_first_of_two_positives_among_many_tied_docs() -> None:
    n, above = 70_000, np.arange(69_999)
    chance = 2 * (n - 1 - above) / (n * (n - 1))  # that it has so many docs above it, and none is the other
    run = make_run({"p": dict.fromkeys(map(str, range(n)), 1.0), "q": {"0": 3.0, "1": 2.0}})
    qrels = make_qrels({query: {"0": 1, "7": 1} for query in "pq"})
    found = score_runs(run, qrels, ["C@10", "RR"], ties="expected")
    expected = [(1 + chance[:10].sum()) / 2, (1 + (chance / (1 + above)).sum()) / 2]
    assert list(found.scores["value"]) == pytest.approx(expected, rel=1e-12)


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
    each = each_order(docs)
    ranking = judge_run(make_run(each), code_qrels(make_qrels(dict.fromkeys(each, relevance))))
    tied = judge_run(make_run({"q": docs}), code_qrels(make_qrels({"q": relevance})), with_ties=True)
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
