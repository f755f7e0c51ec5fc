"""Precision–recall curves and gain vectors in one table, against counts over the ranked list."""

from math import log2

import pandas as pd
import pytest

from fire_toolkit.errors import UsageError
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.scoring import score_curves, score_runs
from fire_toolkit.tables import check_qrels

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
