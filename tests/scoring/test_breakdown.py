"""A breakdown is what scoring the queries of each aspect alone gives."""

import pandas as pd
import pytest

from fire_toolkit.errors import JoinError
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.scoring import score_runs
from fire_toolkit.scoring.breakdown import score_breakdown
from fire_toolkit.tables import Qrels, Run, Scores, check_qrels, check_queries

KINDS = {"q1": "x", "q2": "y", "q3": "x; y", "q4": ""}
QUERIES = check_queries(pd.DataFrame({"query_id": list(KINDS), "text": "t", "kind": list(KINDS.values())}))


def make_run(seed: int) -> Run:
    rows = [(f"m{seed}", q, d, (seed * 7 + i * 5 + j * 3) % 11) for i, q in enumerate(KINDS)
            for j, d in enumerate("abcd")]  # fmt: skip
    return rank_run(pd.DataFrame(rows, columns=["run_id", "query_id", "doc_id", "score"]))


def make_qrels(pairs: str) -> Qrels:
    table = pd.DataFrame([pair.split("-") for pair in pairs.split()], columns=["query_id", "doc_id"])
    return check_qrels(table.assign(relevance=1))


ORIGINAL = make_qrels("q1-a q2-b q3-c q4-d")
AUGMENTED = make_qrels("q1-a q1-b q2-b q3-c q3-a q4-d")
KEYS = ["aspect", "run_id", "qrels", "measure"]
MEASURES = ["RR", "MedR", "C@1", "AP"]


@pytest.mark.parametrize(("aspect", "own"), [("x", "q1 q3"), ("y", "q2 q3"), ("", "q4")])
def test_equals_the_scores_of_its_queries_alone(aspect: str, own: str) -> None:
    runs = [make_run(1), make_run(2)]
    scores = score_runs(runs, ORIGINAL, MEASURES, augmented=AUGMENTED, per_query=True).scores
    found = score_breakdown(scores, QUERIES, column="kind")
    part = found[found["aspect"] == aspect].drop(columns=["aspect", "n_queries"]).reset_index(drop=True)
    only = [Qrels(table[table["query_id"].isin(own.split())]) for table in (ORIGINAL, AUGMENTED)]
    expected = score_runs(runs, only[0], MEASURES, augmented=only[1]).scores
    pd.testing.assert_frame_equal(part, expected)
    assert set(found.loc[found["aspect"] == aspect, "n_queries"]) == {len(own.split())}


def test_one_value_for_all_is_the_whole() -> None:
    scores = score_runs(make_run(1), ORIGINAL, MEASURES, per_query=True).scores
    found = score_breakdown(scores, QUERIES, column="text")
    assert list(found["value"]) == list(scores.loc[scores["query_id"] == "all", "value"])


def test_what_cannot_be_broken_down_is_refused() -> None:
    scores = score_runs(make_run(1), ORIGINAL, ["RR"], per_query=True).scores
    with pytest.raises(JoinError, match=r"1 queries of the qrels are not among them \(q4\)"):
        score_breakdown(scores, check_queries(QUERIES[:3]), column="kind")
    with pytest.raises(JoinError, match="no values per query"):
        score_breakdown(score_runs(make_run(1), ORIGINAL, ["RR"]).scores, QUERIES, column="kind")


def test_the_order_of_rows_does_not_matter() -> None:
    scores = score_runs(
        [make_run(1), make_run(2)], ORIGINAL, MEASURES, augmented=AUGMENTED, per_query=True
    ).scores
    expected = score_breakdown(scores, QUERIES, column="kind").sort_values(KEYS, ignore_index=True)
    for order in (["value"], ["qrels", "query_id"], ["measure", "run_id"]):
        shuffled = Scores(scores.sort_values(order, ignore_index=True))
        found = score_breakdown(shuffled, QUERIES, column="kind").sort_values(KEYS, ignore_index=True)
        pd.testing.assert_frame_equal(found, expected)


def test_scores_with_a_row_left_out_or_twice_are_refused() -> None:
    scores = score_runs(make_run(1), ORIGINAL, MEASURES, per_query=True).scores
    for broken in (scores.iloc[:-1], pd.concat([scores, scores.iloc[-1:]])):
        with pytest.raises(JoinError, match="expected one for each run, query, measure and qrels"):
            score_breakdown(Scores(broken), QUERIES, column="kind")
