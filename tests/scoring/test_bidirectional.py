"""Both directions equal a slow count over the matrix, and breakdowns what scoring each aspect gives."""

from math import log2
from statistics import fmean, median

import numpy as np
import pandas as pd
import pytest
from brought import refused
from hypothesis import given, settings
from hypothesis import strategies as st

import fire_toolkit as fire
from examples import examples
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.scoring import score_curves, score_runs
from fire_toolkit.scoring.bidirectional import Part, make_folds, score_both_ways
from fire_toolkit.scoring.score import score_breakdown
from fire_toolkit.tables import Qrels, Run, Scores, check_qrels, check_queries


def make_qrels(pairs: list[tuple[str, str]], relevance: int = 1) -> Qrels:
    table = pd.DataFrame(pairs, columns=["query_id", "doc_id"]).assign(relevance=relevance)
    return check_qrels(table)


def both_runs(sims: np.ndarray, texts: list[str], items: list[str]) -> tuple[Run, Run]:
    cells = [(t, i, sims[a, b]) for a, t in enumerate(texts) for b, i in enumerate(items)]
    forth = pd.DataFrame(cells, columns=["query_id", "doc_id", "score"]).assign(run_id="m")
    back = forth.rename(columns={"query_id": "doc_id", "doc_id": "query_id"})
    return rank_run(forth), rank_run(back)


def first_ranks(sims: np.ndarray, positive: np.ndarray) -> list[int]:
    """Return the rank of the best positive of each row: one more than the number of larger scores."""
    return [1 + int((row > row[own].max()).sum()) for row, own in zip(sims, positive, strict=True)]


def slow(sims: np.ndarray, positive: np.ndarray) -> dict[str, float]:
    """Return all scores from a matrix without ties, texts × items, and its boolean positives."""
    found = {}
    for way, own, right in (("t2i", sims, positive), ("i2t", sims.T, positive.T)):
        kept = right.any(axis=1)
        ranks = first_ranks(own[kept], right[kept])
        found |= {f"{way}_R@{k}": fmean(rank <= k for rank in ranks) for k in (1, 5, 10)}
        found |= {f"{way}_MedR": median(ranks), f"{way}_MnR": fmean(ranks)}
    found["R@Sum"] = sum(value for name, value in found.items() if "_R@" in name)
    return found | {"mR": found["R@Sum"] / 6}


def as_dict(scores: pd.DataFrame, qrels: str = "original") -> dict[str, float]:
    own = scores[scores["qrels"] == qrels]
    return dict(zip(own["measure"], own["value"], strict=True))


def collection(captions: list[int], seed: int) -> tuple[np.ndarray, np.ndarray, list[str], list[str]]:
    """Return similarities without ties, positives and ids of items with so many captions each."""
    items = [f"i{n:02d}" for n in range(len(captions))]
    owner = np.repeat(np.arange(len(captions)), captions)
    texts = [f"t{n:03d}" for n in range(len(owner))]
    positive = owner[:, None] == np.arange(len(items))
    noise = np.random.default_rng(seed).permutation(positive.size).reshape(positive.shape)
    return noise + positive * (0.4 * positive.size + 0.5), positive, texts, items


def pairs_of(positive: np.ndarray, texts: list[str], items: list[str]) -> list[tuple[str, str]]:
    return [(texts[a], items[b]) for a, b in zip(*np.nonzero(positive), strict=True)]


@given(st.lists(st.integers(1, 4), min_size=1, max_size=14), st.integers(0, 4), st.integers(0, 99))
@settings(max_examples=examples(60))
def test_equals_a_slow_count_in_any_ratio_of_captions_and_of_items(
    captions: list[int], n_more: int, seed: int
) -> None:
    sims, positive, texts, items = collection(captions, seed)
    positive.ravel()[np.random.default_rng(seed).integers(0, positive.size, n_more)] = True
    scores, _ = score_both_ways(both_runs(sims, texts, items), make_qrels(pairs_of(positive, texts, items)))
    assert as_dict(scores) == pytest.approx(slow(sims, positive))
    assert list(scores["measure"]) == list(slow(sims, positive))


@given(st.integers(1, 4), st.integers(0, 99))
@settings(max_examples=examples(20))
def test_folds_are_parts_of_the_matrix(n_folds: int, seed: int) -> None:
    sims, positive, texts, items = collection([5, 2, 1, 5, 3, 2, 1, 5, 5], seed)
    forth, back = both_runs(sims, texts, items)
    qrels = make_qrels(pairs_of(positive, texts, items))
    found, _ = score_both_ways([forth, back], qrels, folds=n_folds, docs=items)
    parts = []
    for columns in np.array_split(np.arange(len(items)), n_folds):
        rows = np.flatnonzero(positive[:, columns].any(axis=1))
        parts.append(slow(sims[np.ix_(rows, columns)], positive[np.ix_(rows, columns)]))
    expected = {name: fmean(part[name] for part in parts) for name in parts[0]}
    assert as_dict(found) == pytest.approx(expected)


def test_pairs_across_folds_are_left_out_of_the_augmented_qrels() -> None:
    qrels = make_qrels([("t1", "a"), ("t2", "b")])
    augmented = make_qrels([("t1", "a"), ("t2", "b"), ("t1", "b")])
    folds = make_folds(Part(["a", "b"], (), qrels, augmented), 2)
    assert [len(fold.augmented) for fold in folds if fold.augmented is not None] == [1, 1]


def test_augmented_qrels_count_in_both_directions() -> None:
    # t1's own item a stands second; b is a new positive of t1, and first. Item b is t2's own.
    sims = np.array([[1.0, 2.0], [0.0, 3.0]])
    forth, back = both_runs(sims, ["t1", "t2"], ["a", "b"])
    own = [("t1", "a"), ("t2", "b")]
    qrels, augmented = make_qrels(own), make_qrels([*own, ("t1", "b")])
    scores, notes = score_both_ways([forth, back], qrels, augmented)
    assert as_dict(scores)["t2i_R@1"] == 0.5
    assert as_dict(scores, "augmented")["t2i_R@1"] == 1.0
    assert as_dict(scores, "delta")["R@Sum"] == 0.5
    assert as_dict(scores, "delta")["mR"] == pytest.approx(0.5 / 6)
    fewer = "2 of 2 queries with fewer docs than the cutoff 10 (shortest 2)"
    assert notes == [f"t2i: m: {fewer}", f"i2t: m: {fewer}"]
    new_item = make_qrels([*pairs_of(np.eye(2), ["t1", "t2"], ["a", "b"]), ("t1", "z")])
    _, notes = score_both_ways([forth, back], qrels, new_item)
    assert notes[-1].startswith("1 items that only the augmented qrels hold are not queries")


def test_python_scores_both_ways_of_one_model_and_refuses_a_single_run() -> None:
    sims, positive, texts, items = collection([2, 1, 3], 0)
    qrels = make_qrels([(texts[t], items[i]) for t, i in np.argwhere(positive)])
    forth, back = both_runs(sims, texts, items)  # both are called m
    found = fire.score([forth, back], qrels, direction="both").table
    assert as_dict(found) == pytest.approx(slow(sims, positive))
    refused(
        "1 run; expected one matrix, or two runs", fire.score, forth, qrels, direction="both", by=UsageError
    )


def test_what_cannot_be_scored_is_refused() -> None:
    qrels = make_qrels([("t1", "a"), ("t2", "b")])
    forth, back = both_runs(np.eye(2), ["t1", "t2"], ["a", "b"])
    said = "has 0 of the 2 queries of the qrels ... another split?"
    refused(said, score_both_ways, [back, forth], qrels, by=JoinError)
    two = pd.concat([forth, back]).drop(columns="rank")
    two["run_id"] = ["x"] * 4 + ["y"] * 4
    with pytest.raises(UsageError, match=r"2 runs in one table \(x, y\), expected one a direction"):
        score_both_ways([rank_run(two), back], qrels)
    refused("3 folds of 2 docs", make_folds, Part(["a", "b"], (), qrels), 3, by=UsageError)
    with pytest.raises(JoinError, match=r"1 doc of the qrels missing from the list of docs \(b\)"):
        make_folds(Part(["a", "c"], (), qrels), 1)
    whole = Part(["a", "b", "c"], (), qrels)
    refused("the fold from c to c has no text", make_folds, whole, 3, by=JoinError)


KINDS = {"q1": "x", "q2": "y", "q3": "x; y", "q4": ""}
QUERIES = check_queries(pd.DataFrame({"query_id": list(KINDS), "text": "t", "kind": list(KINDS.values())}))


def make_run(seed: int) -> Run:
    rows = [(f"m{seed}", q, d, (seed * 7 + i * 5 + j * 3) % 11) for i, q in enumerate(KINDS)
            for j, d in enumerate("abcd")]  # fmt: skip
    return rank_run(pd.DataFrame(rows, columns=["run_id", "query_id", "doc_id", "score"]))


def qrels_of(pairs: str) -> Qrels:
    table = pd.DataFrame([pair.split("-") for pair in pairs.split()], columns=["query_id", "doc_id"])
    return check_qrels(table.assign(relevance=1))


ORIGINAL = qrels_of("q1-a q2-b q3-c q4-d")
AUGMENTED = qrels_of("q1-a q1-b q2-b q3-c q3-a q4-d")
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
    runs = [make_run(1), make_run(2)]
    scores = score_runs(runs, ORIGINAL, MEASURES, augmented=AUGMENTED, per_query=True).scores
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
    gains = [mean_at(k, lambda own, best: dcg_j(own) / dcg_j(best)) for k in ranks]
    assert by["nDCG_J"] == pytest.approx(gains)
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
    refused("depth is 0; expected a rank from 1", score_curves, run, qrels, depth=0, by=UsageError)
    refused("(recall a number from 0 to 1)", score_curves, run, qrels, recalls=[1.5], by=UsageError)
