"""Bounds are the true extremes: every assignment of the unjudged docs is tried."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fire_toolkit.inference import is_bounded, score_bounds, why_unbounded
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.measures import JudgedRanking, Measure, code_qrels, judge_run, list_measures, parse_measure
from fire_toolkit.tables import Qrels, Run, check_qrels, check_run

BOUNDED = [
    "C@1", "C@4", "R@4", "P@4", "F@4", "F(beta=2)@4", "AP@4", "AP", "AP@4/min", "AP_fire@4", "nDCG@4", "nDCG",
    "nDCG_J@4", "nCG@4", "CG@4", "DCG@4", "RR", "RR@3", "RBP(p=0.8)", "Rprec", "FT", "ST", "MedR", "MnR", "E",
    "NN", "hit@2", "Success@2", "DCG_J@4", "F", "nDCG@4:rel=2", "C@4:rel=2", "IPrec(recall=0.5)",
    "IPrec(recall=1)", "bpref", "bpref:rel=2", "infAP", "infAP:rel=2", "C@4:condensed", "AP:condensed",
    "nDCG@3:condensed", "RBP(p=0.8):condensed", "MnR:condensed", "bpref:condensed",
    "mAP@R", "mAP@R:rel=2", "gm_map", "11pt_avg", "set_P", "set_recall", "set_F", "set_map", "set_relative_P",
    "num_rel_ret", "nCG", "nDCG_J", "AP:rel=2", "AP@4/min:rel=2",
]  # fmt: skip


COLUMNS = ["run_id", "query_id", "doc_id", "rank", "score"]


def random_case(seed: int) -> tuple[Run, Qrels]:
    """Return a run of up to six docs and, in every other case, up to three more below a gap."""
    rng = np.random.default_rng(seed)
    docs = [f"d{number}" for number in range(9)]
    n_retrieved = int(rng.integers(1, 7))
    ranked = rng.permutation(9)
    ranks = list(range(1, n_retrieved + 1))
    if seed % 2:
        below = rng.choice(np.arange(n_retrieved + 2, 12), size=min(3, 9 - n_retrieved), replace=False)
        ranks += sorted(int(rank) for rank in below)
    rows = [("m", "q", docs[doc], rank, float(-rank)) for rank, doc in zip(ranks, ranked, strict=False)]
    run = check_run(pd.DataFrame(rows, columns=COLUMNS))
    judged = rng.permutation(9)[: int(rng.integers(1, 6))]
    relevance = rng.choice([-1, 0, 1, 1, 2, 3], size=len(judged))
    qrels = pd.DataFrame({"query_id": "q", "doc_id": [docs[d] for d in judged], "relevance": relevance})
    return run, check_qrels(qrels)


@cache
def assigned(seed: int, depth: int, level: int) -> JudgedRanking:
    """Every assignment of the unjudged docs down to `depth`, each as a query of its own."""
    run, qrels = random_case(seed)
    judged = dict(zip(qrels["doc_id"], qrels["relevance"], strict=True))
    ranks = dict(zip(run["doc_id"].astype(str), run["rank"], strict=True))
    top = [doc for place, (doc, rank) in enumerate(ranks.items(), 1) if rank == place]
    unjudged = [doc for doc in top[:depth] if judged.get(doc, -1) < 0]
    rows, copies = [], []
    for number, grades in enumerate(product([0, level], repeat=len(unjudged))):
        query = f"q{number:03}"
        relevances = judged | dict(zip(unjudged, grades, strict=True))
        rows += [(query, doc, relevance) for doc, relevance in relevances.items()]
        copies += [("m", query, doc, rank, float(-rank)) for doc, rank in ranks.items()]
    table = check_qrels(pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"]))
    many = check_run(pd.DataFrame(copies, columns=COLUMNS))
    return judge_run(many, code_qrels(table))


def all_values(seed: int, measure: Measure) -> list[float]:
    depth = {"NN": 1, "E": 6}.get(measure.definition.name, measure.k) or 6
    return [float(value) for value in measure.per_query(measure.view(assigned(seed, depth, measure.level)))]


@pytest.mark.slow
@pytest.mark.parametrize("name", BOUNDED)
def test_bounds_are_the_extremes_over_all_assignments(name: str) -> None:
    for seed in range(40):
        run, qrels = random_case(seed)
        measure = parse_measure(name)
        low, high = score_bounds(judge_run(run, code_qrels(qrels)), measure)
        values = all_values(seed, measure)
        assert (min(values), max(values)) == pytest.approx((low[0], high[0]), abs=1e-12), (name, seed)


@pytest.mark.parametrize("name", ["AP@5", "AP", "nDCG", "mAP@R"])
@pytest.mark.parametrize("n_cells", [1, 40, 1 << 17])
def test_many_queries_at_once_are_bounded_as_each_alone(
    make_world: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, name: str, n_cells: int
) -> None:
    monkeypatch.setattr("fire_toolkit.inference.bounds._CELLS", n_cells)
    world = make_world(3)
    run = world.runs[world.runs["run_id"] == "r1"].reset_index(drop=True)
    qrels = check_qrels(world.labels[["query_id", "doc_id", "relevance"]])
    whole = score_bounds(judge_run(run, code_qrels(qrels)), parse_measure(name))
    for place, query in enumerate(sorted(qrels["query_id"].unique())):
        alone = code_qrels(check_qrels(qrels[qrels["query_id"] == query]))
        low, high = score_bounds(judge_run(run, alone), parse_measure(name))
        assert (low[0], high[0]) == (whole[0][place], whole[1][place])


@pytest.mark.parametrize(
    "name",
    [
        "AP",
        "gm_map",
        "AP@60/min",
        "AP_fire@60",
        "nDCG",
        "nDCG_J",
        "nCG@60",
        "mAP@R",
        "Rprec",
        "FT",
        "ST",
        "infAP",
        "bpref",
        "bpref:rel=2",
        "IPrec(recall=0.3)",
        "IPrec(recall=1)",
        "11pt_avg",
        "mAP@R:rel=2",
    ],
)
def test_a_long_list_takes_one_evaluation_and_has_the_extremes_of_all(name: str) -> None:
    rng = np.random.default_rng(7)
    rows = [("m", f"q{q}", f"d{d:02}", float(-d)) for q in range(20) for d in range(60)]
    run = rank_run(pd.DataFrame(rows, columns=["run_id", "query_id", "doc_id", "score"]))
    judged = [(q, d, int(rng.integers(3))) for _, q, d, _ in rows if rng.random() < 0.2]
    qrels = check_qrels(pd.DataFrame(judged, columns=["query_id", "doc_id", "relevance"]))
    ranking, plain = judge_run(run, code_qrels(qrels)), parse_measure(name)
    evaluated: list[int] = []

    def counting(ranking: JudgedRanking, **named: Any) -> Any:
        evaluated.append(1)
        return plain.definition.per_query(ranking, **named)

    measure = replace(plain, definition=replace(plain.definition, per_query=counting))
    found = score_bounds(ranking, measure)
    assert len(evaluated) == 1
    every = score_bounds(ranking, replace(measure, definition=replace(measure.definition, filled=None)))
    assert len(evaluated) > 80
    np.testing.assert_allclose(found, every, rtol=0, atol=1e-13)


@given(
    lists=st.lists(st.tuples(st.lists(st.sampled_from([None, None, -1, 0, 0, 1, 2]), min_size=1, max_size=16),
                             st.lists(st.sampled_from([-1, 0, 1]), max_size=6)), min_size=1, max_size=5),
    level=st.sampled_from(["", ":rel=2"]),
)  # fmt: skip
def test_bpref_is_bounded_as_by_every_number_of_added_positives(
    lists: list[tuple[list[int | None], list[int]]], level: str
) -> None:
    """Lists of ranked docs, judged or not, and of docs that were judged but not retrieved."""
    ranked = [(f"q{q}", f"d{d:02}", float(-d)) for q, (top, _) in enumerate(lists) for d in range(len(top))]
    run = rank_run(pd.DataFrame(ranked, columns=["query_id", "doc_id", "score"]).assign(run_id="m"))
    known = [
        (f"q{q}", f"d{d:02}", relevance)
        for q, (top, rest) in enumerate(lists)
        for d, relevance in enumerate([*top, *rest, 0])
        if relevance is not None
    ]
    qrels = check_qrels(pd.DataFrame(known, columns=["query_id", "doc_id", "relevance"]))
    ranking, measure = judge_run(run, code_qrels(qrels)), parse_measure("bpref" + level)
    one_by_one = replace(measure, definition=replace(measure.definition, filled=None))
    np.testing.assert_allclose(
        score_bounds(ranking, measure), score_bounds(ranking, one_by_one), rtol=0, atol=1e-13
    )


def test_average_precision_is_not_greatest_with_all_positive() -> None:
    """A positive at rank 1 and unjudged docs from 2 to 10: AP@10 is 1 when none of them is a positive."""
    rows = [("m", "q", f"d{place}", float(-place)) for place in range(10)]
    run = rank_run(pd.DataFrame(rows, columns=["run_id", "query_id", "doc_id", "score"]))
    qrels = check_qrels(pd.DataFrame({"query_id": "q", "doc_id": ["d0"], "relevance": [1]}))
    low, high = score_bounds(judge_run(run, code_qrels(qrels)), parse_measure("AP@10"))
    assert high[0] == 1.0
    assert low[0] < (1 + 2 / 10) / 2  # one positive at rank 10 is not the worst
    assert pytest.approx((1 + 2 / 8 + 3 / 9 + 4 / 10) / 4) == low[0]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Judged@4", "measures how much is judged"),
        ("unjudged@4", "measures how much is judged"),
        ("RBP_residual(p=0.8)", "is itself how far RBP could rise"),
        ("xinfAP", "is an estimate from a sample"),
        ("infNDCG", "is an estimate from a sample"),
        ("iP@4", "is an estimate from a sample"),
        ("Rndcg", "is not known to be best or worst at an end"),
    ],
)
def test_what_has_no_bound_gives_nan_and_says_why(name: str, reason: str) -> None:
    measure = parse_measure(name)
    assert not is_bounded(measure)
    assert why_unbounded(measure).startswith(reason)
    assert why_unbounded(parse_measure("bpref")) == ""
    run, qrels = random_case(1)
    assert np.isnan(score_bounds(judge_run(run, code_qrels(qrels)), measure)).all()


def test_every_measure_is_either_bounded_or_refused() -> None:
    tried = {parse_measure(name).definition.key for name in BOUNDED}
    bounded = {d.key for d in list_measures() if is_bounded(parse_measure(d.example))}
    assert bounded <= tried, "a measure is offered bounds that no test has tried"
