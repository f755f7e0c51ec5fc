"""A breakdown is what scoring each aspect alone gives; curves and gain vectors are counts over the list."""

from math import log2

import pandas as pd
import pytest

from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.scoring import score_curves, score_runs
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


@pytest.mark.parametrize(
    ("column", "aspect", "own"),
    [("kind", "x", "q1 q3"), ("kind", "y", "q2 q3"), ("kind", "", "q4"), ("text", "t", "q1 q2 q3 q4")],
)
def test_equals_the_scores_of_its_queries_alone(column: str, aspect: str, own: str) -> None:
    runs = [make_run(1), make_run(2)]
    scores = score_runs(runs, ORIGINAL, MEASURES, augmented=AUGMENTED, per_query=True).scores
    found = score_breakdown(scores, QUERIES, column=column)
    part = found[found["aspect"] == aspect].drop(columns=["aspect", "n_queries"]).reset_index(drop=True)
    only = [Qrels(table[table["query_id"].isin(own.split())]) for table in (ORIGINAL, AUGMENTED)]
    expected = score_runs(runs, only[0], MEASURES, augmented=only[1]).scores
    pd.testing.assert_frame_equal(part, expected)
    assert set(found.loc[found["aspect"] == aspect, "n_queries"]) == {len(own.split())}


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


GRADES = {"q1": [0, 3, 0, 1, 0, 2], "q2": [1, 0, 0, 0, 0, 0]}  # by rank; q1 has one positive more, of grade 1


def tables():
    rows = [("m", q, f"d{i}", -i) for q, own in GRADES.items() for i in range(len(own))]
    run = rank_run(pd.DataFrame(rows, columns=["run_id", "query_id", "doc_id", "score"]))
    pairs = [(q, f"d{i}", g) for q, own in GRADES.items() for i, g in enumerate(own)] + [("q1", "x", 1)]
    return run, check_qrels(pd.DataFrame(pairs, columns=["query_id", "doc_id", "relevance"]))


def mean_at(k: int, value) -> float:
    return sum(value(own[:k], sorted(ideal, reverse=True)[:k]) for own, ideal in (
        (GRADES["q1"], [*GRADES["q1"], 1]), (GRADES["q2"], GRADES["q2"]))) / 2  # fmt: skip


def dcg(grades: list[int]) -> float:
    return sum(grade / log2(rank + 1) for rank, grade in enumerate(grades, 1))


def dcg_j(grades: list[int]) -> float:
    return sum(grade / (1 if rank == 1 else log2(rank)) for rank, grade in enumerate(grades, 1))


def test_equals_counts_over_the_list() -> None:
    run, qrels = tables()
    curves = score_curves(run, qrels, depth=6)
    by = {name: list(own["value"]) for name, own in curves.groupby("curve", sort=False)}
    ranks = range(1, 7)
    assert list(by) == ["IPrec", "P", "R", "CG", "nCG", "DCG", "nDCG", "DCG_J", "nDCG_J"]
    assert by["CG"] == pytest.approx([mean_at(k, lambda own, _: sum(own)) for k in ranks])
    assert by["nCG"] == pytest.approx([mean_at(k, lambda own, ideal: sum(own) / sum(ideal)) for k in ranks])
    assert by["DCG"] == pytest.approx([mean_at(k, lambda own, _: dcg(own)) for k in ranks])
    assert by["nDCG"] == pytest.approx([mean_at(k, lambda own, ideal: dcg(own) / dcg(ideal)) for k in ranks])
    assert by["DCG_J"] == pytest.approx([mean_at(k, lambda own, _: dcg_j(own)) for k in ranks])
    assert by["nDCG_J"] == pytest.approx(
        [mean_at(k, lambda own, best: dcg_j(own) / dcg_j(best)) for k in ranks]
    )
    assert by["P"] == pytest.approx([mean_at(k, lambda own, _: sum(g > 0 for g in own)) / k for k in ranks])
    # q1: precisions 1/2, 2/4, 3/6 at recalls 1/4, 2/4, 3/4; q2: 1 throughout.
    assert by["IPrec"] == pytest.approx([0.75] * 9 + [0.5] * 2, abs=1e-12)  # at .8 three of four suffice


def test_stand_run_by_run_and_qrels_by_qrels_with_gains() -> None:
    run, qrels = tables()
    other = rank_run(run.assign(run_id="n", score=-run["score"])[["run_id", "query_id", "doc_id", "score"]])
    augmented = check_qrels(qrels.assign(relevance=qrels["relevance"].clip(lower=1)))
    curves = score_curves([run, other], qrels, augmented=augmented, depth=3, recalls=[0, 0.5])
    assert list(curves.columns) == ["run_id", "qrels", "curve", "at", "value"]
    stretches = curves[["run_id", "qrels"]].drop_duplicates()
    assert [tuple(row) for row in stretches.itertuples(index=False)] == [
        (run_id, name) for run_id in "mn" for name in ("original", "augmented", "delta")
    ]
    scores = score_runs([run, other], qrels, ["nDCG@3", "IPrec(recall=0.5)"], augmented=augmented).scores
    for row in scores.itertuples():
        curve, at = ("nDCG", 3.0) if row.measure == "nDCG@3" else ("IPrec", 0.5)
        own = curves[(curves["run_id"] == row.run_id) & (curves["qrels"] == row.qrels)]
        assert own.loc[(own["curve"] == curve) & (own["at"] == at), "value"].item() == row.value


def test_what_is_out_of_range_is_refused() -> None:
    run, qrels = tables()
    with pytest.raises(UsageError, match="depth is 0; expected a rank from 1"):
        score_curves(run, qrels, depth=0)
    with pytest.raises(UsageError, match="expected a number from 0 to 1"):
        score_curves(run, qrels, recalls=[1.5])
