"""No labelling of the unjudged docs leaves the bounds: all labellings of small cases are scored."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_world import judge_run

from examples import examples
from fire_toolkit.inference.bounds import EXACT, OUTER, describe_bounds, score_bounds, why_unbounded
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.measures import JudgedRanking, code_qrels, list_measures, parse_measure
from fire_toolkit.tables import Qrels, Run, check_qrels, check_run

MONOTONE = ("C@1", "C@3", "hit@2", "Success@2", "NN", "RR", "RR@3", "MedR", "MnR", "P@1", "P@4", "RBP(p=0.8)",
            "CG", "CG@3", "DCG", "DCG@3", "DCG_J", "DCG_J@3", "set_P", "num_rel_ret", "C@3:rel=2",
            "DCG@3:rel=2", "P@4:rel=3")  # fmt: skip
RECALL = ("R@1", "R@4", "F", "F@4", "F(beta=2)@4", "E", "set_recall", "set_F", "set_map", "set_relative_P",
          "R@4:rel=2")  # fmt: skip
SHARES = ("AP", "AP@3", "gm_map", "nDCG", "nCG", "nDCG_J", "AP:rel=2", "nDCG:rel=2")
OF_TOP = ("AP@3/min", "nDCG@1", "nDCG@3", "nDCG_J@3", "nCG@3", "nDCG@3:rel=2", "AP@3/min:rel=2")
BOUNDED = (*MONOTONE, *RECALL, *SHARES, *OF_TOP)
Docs = dict[str, int | None]  # doc → relevance; None and below 0: not judged


def joined(ranks: dict[str, int], labellings: list[Docs]) -> JudgedRanking:
    """Return one list of docs under each of some labellings, each as a query of its own."""
    names = [f"q{number:04}" for number in range(len(labellings))]
    rows = [("m", q, doc, rank, float(-rank)) for q in names for doc, rank in ranks.items()]
    pairs = [
        (q, d, r) for q, own in zip(names, labellings, strict=True) for d, r in own.items() if r is not None
    ]
    pairs += [(q, "judged0", 0) for q in names]  # so that every query is one of the qrels
    run: Run = check_run(pd.DataFrame(rows, columns=["run_id", "query_id", "doc_id", "rank", "score"]))
    qrels: Qrels = check_qrels(pd.DataFrame(pairs, columns=["query_id", "doc_id", "relevance"]))
    return judge_run(run, code_qrels(qrels))


@st.composite
def cases(draw: st.DrawFn) -> tuple[dict[str, int], Docs, int]:
    """A list of up to five docs, sometimes with a gap; what is judged of it and of others; the grades."""
    highest = draw(st.sampled_from([1, 1, 2, 3]))
    relevance = st.sampled_from([None, None, -1, *range(highest + 1)])
    n_ranked = draw(st.integers(1, 5))
    ranks = {f"d{place}": place for place in range(1, n_ranked + 1)}
    if draw(st.booleans()):
        ranks["d8"] = draw(st.integers(n_ranked + 1, 9))  # kept at its rank below the top
    docs: Docs = {doc: draw(relevance) for doc in ranks}
    unlisted = [draw(relevance) for _ in range(draw(st.integers(0, 3)))]
    docs |= {f"u{place}": each for place, each in enumerate(unlisted)}
    while sum(each is None or each < 0 for each in docs.values()) > (7 if highest == 1 else 4):
        docs[next(doc for doc, each in docs.items() if each is None or each < 0)] = 0
    return ranks, docs, highest


@given(case=cases())
@settings(max_examples=examples(60))
def test_no_labelling_leaves_the_bounds_and_exact_ones_are_reached(
    case: tuple[dict[str, int], Docs, int],
) -> None:
    ranks, docs, highest = case
    unjudged = [doc for doc, relevance in docs.items() if relevance is None or relevance < 0]
    labellings = [docs | dict(zip(unjudged, grades, strict=True))
                  for grades in product(range(highest + 1), repeat=len(unjudged))]  # fmt: skip
    as_is, every = joined(ranks, [docs]), joined(ranks, labellings)
    for name in BOUNDED:
        measure = parse_measure(name)
        values = measure.per_query(measure.view(every))
        (low,), (high,) = score_bounds(as_is, measure, highest=highest)
        kind = describe_bounds(measure, as_is)
        assert values.max() <= high + 1e-12, (name, kind)
        if name in (*MONOTONE, *OF_TOP):
            assert low - 1e-12 <= values.min(), (name, kind)
            assert kind in (EXACT, OUTER), name
        else:
            assert np.isnan(low), name
            assert kind.startswith("no lower bound; "), name
        if kind == EXACT:
            assert (values.min(), values.max()) == pytest.approx((low, high), abs=1e-12), name
        if name in RECALL and ranks == {f"d{place}": place for place in range(1, len(ranks) + 1)}:
            assert values.max() == pytest.approx(high, abs=1e-12), name  # without a gap it is reached


@pytest.mark.parametrize("name", OF_TOP)
def test_the_lower_bound_over_an_ideal_of_k_docs_is_reached_where_k_more_are_relevant(name: str) -> None:
    ranks = {"d1": 1, "d2": 2, "d3": 3}
    docs: Docs = {"d1": 2, "d2": None, "d3": 0}
    outside: Docs = {f"u{place}": 3 for place in range(3)}
    measure = parse_measure(name)
    (low,), _ = score_bounds(joined(ranks, [docs]), measure, highest=3)
    worst = joined(ranks, [docs | {"d2": 0} | outside])
    assert low == pytest.approx(measure.per_query(measure.view(worst))[0], abs=1e-12)


def test_a_doc_of_the_highest_grade_lies_within_the_bounds() -> None:
    """d2 is unjudged and stands first; as a doc of grade 3 it makes nDCG@2 1, as one of grade 1 only .797."""
    ranking = joined({"d2": 1, "d1": 2}, [{"d1": 3}])
    measure = parse_measure("nDCG@2")
    (low,), (high,) = score_bounds(ranking, measure, highest=3)
    assert high == 1.0
    assert low == pytest.approx(
        (3 / np.log2(3)) / (3 + 3 / np.log2(3))
    )  # another doc of grade 3 is not listed
    for grade in (1, 3):
        ranking = joined({"d2": 1, "d1": 2}, [{"d1": 1}])
        _, (top,) = score_bounds(ranking, parse_measure("DCG@2"), highest=grade)
        assert top == pytest.approx(grade + 1 / np.log2(3))


def test_many_queries_at_once_are_bounded_as_each_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    ranks = {f"d{place}": place for place in range(1, 9)}
    labellings: list[Docs] = [
        {doc: int(rng.integers(-1, 3)) for doc in ranks if rng.random() < 0.5} for _ in range(30)
    ]
    apart, together = [joined(ranks, [own]) for own in labellings], joined(ranks, labellings)
    for measure in map(parse_measure, ["C@5", "nDCG@5", "AP", "RBP(p=0.8)", "R@9", "MnR"]):
        alone = [score_bounds(one, measure, highest=2) for one in apart]
        with monkeypatch.context() as patched:
            patched.setattr("fire_toolkit.inference.bounds._CELLS", 17)
            low, high = score_bounds(together, measure, highest=2)
        np.testing.assert_array_equal([one[0][0] for one in alone], low, err_msg=str(measure))
        np.testing.assert_array_equal([one[1][0] for one in alone], high, err_msg=str(measure))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Judged@4", "no bounds; it measures how much is judged"),
        ("RBP_residual(p=0.8)", "no bounds; it is itself how far RBP could rise"),
        ("xinfAP", "no bounds; it is an estimate from a sample"),
        ("bpref", "no bounds; it passes over unjudged docs"),
        ("Rprec", "no bounds; it can rise or fall with another relevant doc"),
        ("C@4:condensed", "no bounds; it leaves unjudged docs out, and once they are judged it is C@4"),
        ("R@4", "no lower bound; each relevant doc that nobody judged and the run does not list lowers it"),
        ("nDCG", "no lower bound; each relevant doc"),
        ("nDCG@4", ""),
    ],
)
def test_what_has_no_bound_gives_nan_and_says_why(name: str, reason: str) -> None:
    measure = parse_measure(name)
    assert why_unbounded(measure).startswith(reason)
    assert (why_unbounded(measure) == "") == (reason == "")
    low, high = score_bounds(joined({"d1": 1, "d2": 2}, [{"d1": 1}]), measure)
    assert np.isnan(low).all() == (reason != "")
    assert np.isnan(high).all() == reason.startswith("no bounds")


def test_docs_that_share_a_rank_have_no_bounds() -> None:
    rows = [("m", "q", doc, 1.0) for doc in "ab"]
    run = rank_run(pd.DataFrame(rows, columns=["run_id", "query_id", "doc_id", "score"]))
    qrels = check_qrels(pd.DataFrame({"query_id": "q", "doc_id": ["a"], "relevance": [1]}))
    ranking = judge_run(run, code_qrels(qrels))
    shared = replace(ranking, rank=ranking.rank - 0.5)
    assert np.isnan(score_bounds(shared, parse_measure("RR"))).all()


def test_every_measure_with_a_bound_is_tried() -> None:
    tried = {parse_measure(name).definition.key for name in BOUNDED}
    assert {one.key for one in list_measures() if one.bounds != "none"} == tried
