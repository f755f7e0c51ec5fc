"""Every measure that trec_eval has equals it for each query (pytrec_eval runs trec_eval's own code)."""

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st
from small_world import drawn, join

from examples import examples
from fire_toolkit.measures import JudgedRanking, parse_measure

NAMES = """
C@3 success_3, Success@1 success_1, hit@10 success_10, R@3 recall_3, R@10 recall_10, P@1 P_1, P@10 P_10,
AP map, AP@4 map_cut_4, nDCG ndcg, nDCG@1 ndcg_cut_1, nDCG@5 ndcg_cut_5, RR recip_rank, Rprec Rprec,
FT Rprec, NN P_1, bpref bpref, IPrec(recall=0)/v9 iprec_at_recall_0.0,
IPrec(recall=0.3)/v9 iprec_at_recall_0.3, IPrec(recall=0.7)/v9 iprec_at_recall_0.7,
IPrec(recall=1)/v9 iprec_at_recall_1.0, infAP infAP, F set_F, F(beta=2) set_F_4.0, set_F set_F,
set_P set_P, set_recall set_recall, set_map set_map, set_relative_P set_relative_P,
num_rel_ret num_rel_ret, 11pt_avg/v9 11pt_avg, Rndcg Rndcg
"""  # ours and trec_eval's
TREC_NAMES = dict(pair.split() for pair in NAMES.split(","))
QUERY_IDS = ["007", "7", "NA", "nan", "q:1|x", "é", "日本", "all"]
DOC_IDS = ["007", "7", "NA", "q:1|x", "é", "e", "日本", "𝛼", "d1", "d10", "d2", "D2", "None", "-1"]
# All of these are float32 numbers: pytrec_eval holds scores in float32.
SCORES = [0.0, -0.0, 1.0, 1.0, 1.5, -3.25, 2.0**-20, 2.0**100, -(2.0**100)]

runs = drawn(QUERY_IDS, DOC_IDS, st.sampled_from(SCORES))
qrels = drawn(QUERY_IDS, DOC_IDS, st.integers(-2, 3))


def trec_values(run, relevances, measure: str, **options) -> dict[str, float]:
    """Return trec_eval's value for every query of `relevances`; 0 for those missing from the run."""
    # trec_eval reads past its arrays (and crashes) on a query without a doc at the level below the positives.
    lowest = options.get("relevance_level", 1) - 1
    safe = {query: docs for query, docs in relevances.items() if max(docs.values()) >= lowest}
    if not safe:
        return dict.fromkeys(relevances, 0.0)
    evaluator = pytrec_eval.RelevanceEvaluator(safe, {measure}, **options)
    found = evaluator.evaluate(run)
    return {query: _only(found[query]) if query in found else 0.0 for query in relevances}


def _only(named: dict[str, float]) -> float:
    (value,) = named.values()
    # iprec_at_recall is 0/0 in trec_eval where a list is empty (no judged doc in it).
    return 0.0 if np.isnan(value) else value


def by_rank(run) -> dict[str, dict[str, float]]:
    """Return minus the rank of each doc: score descending, then doc id by bytes descending."""
    ordered = {
        query: sorted(docs, key=lambda doc: (docs[doc], doc.encode()), reverse=True)
        for query, docs in run.items()
    }
    return {query: {doc: -float(i) for i, doc in enumerate(docs)} for query, docs in ordered.items()}


def values(ranking: JudgedRanking, name: str) -> np.ndarray:
    measure = parse_measure(name)
    return measure.per_query(measure.view(ranking))


def assert_equal(ranking: JudgedRanking, run, relevances, ours: str, theirs: str, **options) -> None:
    for scores in (run, by_rank(run)):
        expected = trec_values(scores, relevances, theirs, **options)
        in_order = [expected[query] for query in sorted(expected)]
        np.testing.assert_allclose(values(ranking, ours), in_order, rtol=0, atol=1e-9, err_msg=ours)


@pytest.mark.parametrize(
    ("modifier", "options"),
    [("", {}), (":rel=2", {"relevance_level": 2}), (":condensed", {"judged_docs_only_flag": True})],
)
@given(run=runs, relevances=qrels)
@settings(max_examples=examples(50))
def test_equals_trec_eval_on_ties_missing_queries_odd_ids_and_grades(
    run, relevances, modifier: str, options: dict[str, int]
) -> None:
    ranking = join(run, relevances)
    for ours, theirs in TREC_NAMES.items():
        if not (modifier == ":rel=2" and "ndcg" in ours.lower()):  # which does not look at the level there
            assert_equal(ranking, run, relevances, ours + modifier, theirs, **options)


def test_equals_trec_eval_on_long_lists_full_of_ties() -> None:
    random = np.random.default_rng(1)
    docs = [f"d{n}" for n in range(400)]
    run = {
        f"q{n}": {doc: float(random.integers(-9, 9)) for doc in random.choice(docs, 200, replace=False)}
        for n in range(20)
    }
    relevances = {
        f"q{n}": {doc: int(random.integers(-1, 4)) for doc in random.choice(docs, 90, replace=False)}
        for n in range(5, 25)
    }
    ranking = join(run, relevances)
    for ours, theirs in TREC_NAMES.items():
        assert_equal(ranking, run, relevances, ours, theirs)


@given(run=runs, relevances=qrels)
@settings(max_examples=examples(30))
def test_the_geometric_mean_equals_trec_eval(run, relevances) -> None:
    # pytrec_eval gives the logarithm of each query; a query missing from the run is not in its mean.
    logs = trec_values(run, relevances, "gm_map")
    in_run = [log for query, log in logs.items() if query in run and max(relevances[query].values()) >= 0]
    ranking = join(run, relevances)
    measure = parse_measure("gm_map")
    own = [measure.per_query(ranking)[n] for n, q in enumerate(sorted(relevances)) if q in run]
    of_known = [q for q in sorted(relevances) if q in run]
    known = [v for v, q in zip(own, of_known, strict=True) if max(relevances[q].values()) >= 0]
    if known:
        assert measure.aggregate(np.array(known)) == pytest.approx(np.exp(np.mean(in_run)))


def interpolated(hits: list[int], n_positives: int, recall: float, *, is_v9: bool) -> float:
    """Return the largest precision from the rank on by which that many positives were found."""
    share = recall * n_positives
    needed = int(share + 0.9) if is_v9 else int(share + 0.5)  # 10 rounds
    return max(
        (sum(hits[:rank]) / rank for rank in range(1, len(hits) + 1) if sum(hits[:rank]) >= needed), default=0
    )


@pytest.mark.parametrize("n_positives", range(1, 13))
def test_interpolated_precision_follows_version_10_and_9_by_name(n_positives: int) -> None:
    random = np.random.default_rng(n_positives)
    hits = [int(hit) for hit in random.random(20) < 0.3]
    docs = [f"d{place:02}" for place in range(20)]
    run = {"q": {doc: -float(place) for place, doc in enumerate(docs)}}
    while sum(hits) > n_positives:
        hits[hits.index(1)] = 0
    n_missed = n_positives - sum(hits)
    relevances = {"q": dict(zip(docs, hits, strict=True)) | {f"m{n}": 1 for n in range(n_missed)}}
    ranking = join(run, relevances)
    for is_v9, variant in ((False, ""), (True, "/v9")):
        own = [interpolated(hits, n_positives, step / 10, is_v9=is_v9) for step in range(11)]
        for step, value in enumerate(own):
            assert values(ranking, f"IPrec(recall={step / 10}){variant}") == pytest.approx([value]), step
        assert values(ranking, f"11pt_avg{variant}") == pytest.approx([np.mean(own)])
