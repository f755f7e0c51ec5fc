"""Estimates by a design: against a few lines of numpy, what stays as labelled, and what is refused."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from small_world import run_in_order

from fire_toolkit.errors import JoinError
from fire_toolkit.evidence.qrels import augment_qrels
from fire_toolkit.inference.background import Background, Design
from fire_toolkit.inference.differences import score_differences
from fire_toolkit.inference.drawn_pairs import (
    UNDRAWN,
    DrawnPairs,
    micro_recall,
    sampled_precision,
    undrawn_share,
)
from fire_toolkit.inference.estimates import share_left_out
from fire_toolkit.inference.honest import HonestRows, scores_with_uncertainty
from fire_toolkit.inference.judged_pairs import join_runs
from fire_toolkit.inference.limits import Count, Estimate, limits_of_difference
from fire_toolkit.inference.trust import describe_missing
from fire_toolkit.inference.two_phase import missing_share
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.tables import check_labels, check_qrels, check_query_design, check_run

N = 80
QUERIES = [f"q{number:02}" for number in range(N)]
DEEP = np.arange(0, N, 2)
A_IS_POSITIVE = np.arange(N) % 4 < 2
B_IS_POSITIVE = np.arange(N) % 3 < 2


def pairs_of(doc: str, queries: Any, **columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"query_id": [QUERIES[number] for number in queries], "doc_id": doc, **columns})


def design() -> Design:
    """Return the first rank judged for all queries, the second for every other query."""
    shallow = pairs_of("a", range(N), stratum="shallow", inclusion_probability=1.0)
    deep = pairs_of("b", DEEP, stratum="deep", inclusion_probability=0.5)
    sampled = np.isin(np.arange(N), DEEP)
    queries = pd.DataFrame(
        {"query_id": QUERIES, "depth": np.where(sampled, 2, 1), "is_sampled": sampled}
    ).assign(inclusion_probability=0.5, seed=0)
    return Design(pd.concat([shallow, deep], ignore_index=True), check_query_design(queries))


def rows(
    ranked: pd.DataFrame,
    labels: pd.DataFrame,
    measures: list[str],
    of: Design,
    *,
    known: str = "c",
    policy: str = "union",
) -> HonestRows:
    """Return the honest rows of a run; known: each query's original."""
    original, background = check_qrels(pairs_of(known, range(N), relevance=1)), Background(design=of)
    given = rank_run(ranked.assign(run_id="m")), original, check_labels(labels.assign(label="x"))
    return scores_with_uncertainty(*given, measures, background, policies=[policy])


def honest(
    measures: list[str],
    *,
    n_unlabelled: int = 0,
    n_unasked: int = 0,
    n_votes: int = 2,
    of: Design | None = None,
) -> HonestRows:
    """Return the honest rows of a run that ranks a before b; it lacks c."""
    ranked = pd.concat([pairs_of("a", range(N), score=2.0), pairs_of("b", range(N), score=1.0)])
    asked = [number for number in range(N) if number % 2 == 0 or number > 2 * n_unasked]
    a = pairs_of("a", asked, relevance=A_IS_POSITIVE[asked].astype(int))
    b = pairs_of("b", DEEP, relevance=B_IS_POSITIVE[DEEP].astype(int)).iloc[n_unlabelled:]
    labels = pd.concat([a, b]).assign(n_judgments=n_votes)
    return rows(ranked, labels, measures, of or design())


def test_an_estimate_equals_that_of_a_few_lines_of_numpy() -> None:
    found = honest(["R@1", "AP"])
    # of a and b those that are positive count, and the original c is never found
    x = A_IS_POSITIVE / (1 + A_IS_POSITIVE)
    y = A_IS_POSITIVE / (1 + A_IS_POSITIVE + B_IS_POSITIVE)
    slope = np.clip(np.cov(x[DEEP], y[DEEP])[0, 1] / x[DEEP].var(ddof=1), 0, 1)
    expected = slope * x.mean() + (y - slope * x)[DEEP].mean()
    row = found.scores.iloc[0]
    assert row["estimate"] == pytest.approx(expected)
    assert row["estimate_low"] < expected < row["estimate_high"]
    assert (row["estimate_method"], row["estimate_n"]) == ("two-phase difference", 40)
    as_labelled = np.where(np.arange(N) % 2, x, y)
    assert row["augmented"] == pytest.approx(as_labelled.mean())
    n_deep = 1 + A_IS_POSITIVE[DEEP] + B_IS_POSITIVE[DEEP]
    share = B_IS_POSITIVE[DEEP].sum() / n_deep.sum()
    bias = 0.5 * 40 * np.cov(B_IS_POSITIVE[DEEP] - share * n_deep, n_deep)[0, 1] / n_deep.sum() ** 2
    assert row["missing"] == pytest.approx(share + bias)
    assert (
        "est.: of the depth-2 union; 40 of 80 queries judged deep; intervals are for these queries"
        in found.notes
    )
    assert any(
        note.startswith("AP: at least about 31% of positives") and "AP is " in note for note in found.trusted
    )


def test_what_reads_the_shallow_pool_alone_stays_as_labelled_and_the_rest_is_refused() -> None:
    methods = honest(["C@1", "P@1", "C@2", "P@2", "bpref", "AP:condensed", "MedR", "Judged@2"]).scores
    found = methods.set_index("measure")["estimate_method"].to_dict()
    assert found["C@1"] == found["P@1"] == found["Judged@2"] == "as labelled"
    assert "gives bounds only" in found["C@2"]
    assert "gives bounds only" in found["MedR"]
    assert found["bpref"] == found["AP:condensed"] == "refused: it passes over unjudged docs"
    assert found["P@2"] == "refused: no sound estimator of it is known"
    assert methods["estimate"].isna().all()
    known = methods.loc[methods["missing"].notna(), "measure"]
    assert set(known) == {"bpref", "AP:condensed"}


def test_where_every_query_is_judged_deep_what_the_union_tells_is_known() -> None:
    a, b = (pairs_of(doc, range(N), inclusion_probability=1.0) for doc in "ab")
    pairs = pd.concat([a.assign(stratum="shallow", score=2.0), b.assign(stratum="deep", score=1.0)])
    drawn = {"depth": 2, "is_sampled": True, "inclusion_probability": 1.0, "seed": 0}
    of = Design(pairs, check_query_design(pd.DataFrame({"query_id": QUERIES, **drawn})))
    labels = pairs[["query_id", "doc_id"]].assign(relevance=[*A_IS_POSITIVE * 1, *B_IS_POSITIVE * 1])
    found = rows(pairs, labels, ["AP", "C@2", "P@2", "RR"], of).scores
    assert found["estimate_method"].tolist()[:3] == ["as labelled"] * 3
    assert "gives bounds only" in found["estimate_method"].iloc[3]  # it reads below the union
    assert found.loc[0, ["missing", "missing_low", "missing_high"]].tolist() == [0, 0, 0]
    few = missing_share(np.ones(30, dtype=int), np.full(30, 2), n_queries=30)
    assert few[:3] == (0.5, 0.5, 0.5)


def test_a_run_of_which_too_little_was_judged_as_designed_is_refused() -> None:
    assert honest(["AP"], n_unlabelled=4).scores["estimate"].notna().all()
    deep = honest(["AP"], n_unlabelled=5).scores.iloc[0]
    assert deep["estimate_method"].startswith("refused: 6% of its top 2 is not judged for the queries judged")
    assert np.isnan(deep["estimate"])
    shallow = honest(["AP"], n_unasked=6).scores.iloc[0]
    assert "92% of its top 1 is judged for all queries, and 100% for those" in shallow["estimate_method"]
    few, many = (honest(["C@1"], n_unasked=n).scores.iloc[0]["estimate_method"] for n in (3, 6))
    assert few == "as labelled"
    assert many == "refused: 8% of its top 1 is not judged; judge and resolve these pairs first"


def test_new_positives_of_deep_queries_with_one_vote_are_counted() -> None:
    assert not [note for note in honest(["AP"]).notes if "one vote" in note]
    (said,) = (note for note in honest(["AP"], n_votes=1).notes if "one vote" in note)
    assert said.startswith("47 of 47 new positives of the queries judged deep rest on one vote")


def test_a_design_for_other_queries_is_refused() -> None:
    pairs, queries = design()[:2]
    assert queries is not None
    others = check_query_design(queries.replace({"query_id": {"q00": "elsewhere"}}))
    with pytest.raises(JoinError, match="79 of its 80 queries are among the 80 of the qrels"):
        honest(["AP"], of=Design(pairs, others))


def drawn_design(n_copies: int) -> tuple[Design, pd.DataFrame, pd.DataFrame]:
    """Return a design: rank 1 whole, ranks from 2 at one half; the run's pairs; the labels."""
    parts = [pairs_of("a", range(N), score=99.0, stratum="1:1:1", inclusion_probability=1.0,
                      relevance=A_IS_POSITIVE.astype(int))]  # fmt: skip
    for copy in range(n_copies):
        last = f"2:{1 + n_copies}:0.5"
        parts.append(pairs_of(f"b{copy}", DEEP, score=50.0 - copy, stratum=last, inclusion_probability=0.5,
                              relevance=B_IS_POSITIVE[DEEP].astype(int)))  # fmt: skip
    undrawn = [pairs_of(f"b{copy}", range(1, N, 2), score=50.0 - copy, stratum=f"2:{1 + n_copies}:0.5",
                        inclusion_probability=0.5) for copy in range(n_copies)]  # fmt: skip
    pairs = pd.concat(parts, ignore_index=True)
    both = pd.concat([pairs, *undrawn], ignore_index=True)
    return Design(both, None), both[["query_id", "doc_id", "score"]], pairs


def from_strata(
    n_copies: int, measures: list[str], *, first: str = "a", known: str = "c", policy: str = "union"
) -> HonestRows:
    """Return the honest rows of one run over `drawn_design`; it lacks c."""
    of, ranked, pairs = drawn_design(n_copies)
    labels = pairs[["query_id", "doc_id", "relevance"]].assign(n_judgments=2)
    return rows(ranked.replace({"doc_id": {"a": first}}), labels, measures, of, known=known, policy=policy)


def test_pairs_drawn_in_strata_give_precision_and_a_ratio_of_totals_alone() -> None:
    found = from_strata(3, ["P@4", "R@4", "C@4", "P@5", "xinfAP"])
    rows = found.scores.set_index("measure")
    n_a, n_b = A_IS_POSITIVE.sum(), 3 * B_IS_POSITIVE[DEEP].sum()
    estimate, size = (n_a + 2 * n_b) / (4 * N), 4 * N
    # each drawn positive stands for itself and one more: (2 n_b − θ)² = z² θ
    limits = np.sort(np.roots([1, -(4 * n_b + 1.959964**2), 4 * n_b**2]))
    assert rows.loc["P@4", "estimate"] == pytest.approx(estimate)
    assert rows.loc["P@4", ["estimate_low", "estimate_high"]].tolist() == pytest.approx((n_a + limits) / size)
    assert rows.loc["P@4", "estimate_method"] == "Horvitz–Thompson"
    reasons = rows["estimate_method"]
    assert "ratios of single queries are biased" in reasons["R@4"]
    assert "bounds only" in reasons["C@4"]
    assert "the strata end at 4" in reasons["P@5"]
    assert reasons["xinfAP"].startswith("refused: it is an estimate itself")
    assert any(note.startswith("xinfAP: scored here as if every pair") for note in found.notes)
    whole, top = N + n_a + 2 * n_b, n_a + 2 * n_b
    ratio = top / whole + (1 - top / whole) * 2 * n_b / whole**2  # less the bias of a ratio
    assert any(f"union: m {ratio:.3f} [" in note for note in found.notes)


def test_what_reads_the_ranks_judged_whole_stays_as_labelled_for_a_run_that_was_judged() -> None:
    scores = from_strata(3, ["C@1", "RR@1", "P@1", "P@1:rel=2", "R@1", "MedR"]).scores.set_index("measure")
    rows, read_whole = scores["estimate_method"], ["C@1", "RR@1", "P@1", "P@1:rel=2"]
    assert rows[read_whole].tolist() == ["as labelled"] * 4  # the draw leaves nothing open: no interval of it
    assert scores.loc[read_whole, "estimate_low"].isna().all()
    assert "ratios of single queries" in rows["R@1"]
    assert "bounds only" in rows["MedR"]
    all_judged = from_strata(0, ["R@1", "AP", "RR"]).scores["estimate_method"]  # no pair is left to chance
    assert all_judged.tolist()[:2] == ["as labelled"] * 2
    assert "bounds only" in all_judged[2]
    late = from_strata(3, ["C@1"], first="unpooled").scores.iloc[0]  # whose first doc nobody judged
    assert "100% of its top 1 is not judged; judge" in late["estimate_method"]
    few = from_strata(3, ["P@4"], first="unpooled").scores.iloc[0]
    assert few["estimate_method"] == "refused: 25% of its top 4 could not be drawn; pool it with the others"


def test_a_late_run_needs_as_many_drawn_pairs_where_the_ranks_of_others_were_judged_whole() -> None:
    of, ranked, pairs = drawn_design(3)
    late = ranked.assign(score=-ranked["score"])  # b2, b1, b0, a
    labels = pairs[["query_id", "doc_id", "relevance"]]
    row = rows(late, labels, ["P@1"], of).scores.iloc[0]
    why = "the design draws 40 of the pairs in its top 1 on average, and an interval needs 100"
    assert row["estimate_method"] == f"refused: {why}; draw more pairs"


@pytest.mark.parametrize("policy", ["override", "drop"])
def test_an_original_that_a_label_rejected_was_judged_whatever_the_policy(policy: str) -> None:
    drawn = from_strata(3, ["P@4", "P@1"], known="a", policy=policy).scores["estimate"]
    n_positive = A_IS_POSITIVE.sum() + 2 * 3 * B_IS_POSITIVE[DEEP].sum()
    assert drawn.tolist() == pytest.approx([n_positive / (4 * N), np.nan], nan_ok=True)
    # of originals that were drawn by chance nothing says which of the others a label would reject
    by_chance = from_strata(3, ["P@4"], known="b0", policy=policy).scores.iloc[0]
    assert by_chance["estimate_method"].startswith("refused: 80 original positives could be judged by chance")
    assert np.isnan(by_chance["estimate_low"])
    assert not np.isnan(from_strata(3, ["P@4"], known="b0").scores.iloc[0]["estimate_low"])


def by_chance(label: np.ndarray, chance: np.ndarray, n_queries: int = 9) -> DrawnPairs:
    """Return pairs of one query that could be drawn one by one, with no originals among them."""
    query = np.zeros(len(label), dtype=np.int64)
    return DrawnPairs(np.zeros(len(label)), label.astype(float), query, n_queries, chance=chance)


def test_the_share_of_positives_that_a_draw_left_out_is_that_of_many_draws() -> None:
    rng = np.random.default_rng(0)
    rate = np.where(np.arange(4000) < 1500, 1.0, 0.1)
    is_positive = rng.random(4000) < np.where(rate == 1, 0.3, 0.2)
    found = []
    for _ in range(400):
        kept = rng.random(4000) < rate
        pairs = by_chance(np.where(kept, is_positive, UNDRAWN), rate)
        share, low, high = undrawn_share(pairs)[:3]
        truth = 1 - is_positive[kept].sum() / is_positive.sum()
        found.append((share - truth, low <= truth <= high))
        assert not undrawn_share(pairs).refused
    error, covered = np.mean(found, axis=0)
    assert abs(error) < 0.005
    assert 0.92 < covered < 0.99
    few = undrawn_share(by_chance(np.ones(199), np.full(199, 0.5)))  # all were drawn, and 99.5 are expected
    assert few.refused.startswith("the design draws 99 of the pairs in all on average, and an")
    assert not undrawn_share(by_chance(np.where(np.arange(200) < 60, 1, UNDRAWN), np.full(200, 0.5))).refused
    assert undrawn_share(by_chance(np.ones(3), np.ones(3)))[:3] == (0.0, 0.0, 0.0)


def test_intervals_hold_whatever_pairs_without_a_label_are() -> None:
    """Votes in dispute leave no label: 30 of 400 drawn pairs, which may be positive and may not."""
    rng = np.random.default_rng(4)
    label, chance = (rng.random(400) < 0.3).astype(float), np.full(400, 0.5)
    top, other = np.arange(400) < 200, np.arange(400) % 2 == 0
    label[rng.choice(400, 30, replace=False)] = np.nan

    def estimates(label: np.ndarray) -> list[Estimate]:
        pairs = by_chance(label, chance, 90)
        options: dict[str, Any] = {"k": 10}
        return [
            *(sampled_precision(pairs, each, **options) for each in (top, other)),
            sampled_precision(pairs, top, other, **options),
            *(micro_recall(pairs, each) for each in (top, other)),
            undrawn_share(pairs),
        ]

    found = estimates(label)
    for there in (top, ~top, other, ~other, top & other, label > 2):
        completed = estimates(np.where(np.isnan(label), there, label))
        for each, whole in zip(found, completed, strict=True):
            assert each.low <= whole.estimate <= each.high
    again = estimates(np.nan_to_num(label))
    assert [each.estimate for each in found[:3]] == [each.estimate for each in again[:3]]


def test_a_difference_of_runs_is_estimated_with_the_errors_that_they_share_taken_out() -> None:
    ranked = pd.concat([pairs_of("a", range(N), score=2.0), pairs_of("b", range(N), score=1.0)])
    other = ranked.assign(score=-ranked["score"])  # b before a
    original = check_qrels(pairs_of("c", range(N), relevance=1))
    a_labels = pairs_of("a", range(N), relevance=A_IS_POSITIVE.astype(int))
    b_labels = pairs_of("b", DEEP, relevance=B_IS_POSITIVE[DEEP].astype(int))
    labels = check_labels(pd.concat([a_labels, b_labels]).assign(label="x"))
    augmented = augment_qrels(original, labels).qrels
    runs = [rank_run(table.assign(run_id=name)) for name, table in (("m", ranked), ("n", other))]
    found = score_differences(runs, original, ["AP", "C@2"], augmented=augmented,
                              design=design())  # fmt: skip
    a, b = A_IS_POSITIVE.astype(float), B_IS_POSITIVE.astype(float)
    x = np.column_stack([a / (1 + a), a / 2 / (1 + a)])  # by the labels of a alone, m and n
    both = 1 + a + b
    y = np.column_stack([(a + b * (1 + a) / 2) / both, (b + a * (1 + b) / 2) / both])
    centred = x[DEEP] - x[DEEP].mean(axis=0)
    slope = np.clip((centred * y[DEEP]).sum() / (centred**2).sum(), 0, 1)
    rest = (y - slope * x)[DEEP]
    estimate = slope * x.mean(axis=0) + rest.mean(axis=0)
    leverage = 1 / 40 + centred**2 / (centred**2).sum(axis=0)
    residual = (rest - rest.mean(axis=0)) / (1 - leverage)
    change = (y - x)[DEEP] @ [1, -1]
    more = 1 + 2 / (np.abs(change) > 1e-9).sum()  # two changed queries more than were seen
    error = np.sqrt(more * (1 - 40 / N) * ((residual[:, 0] - residual[:, 1]) ** 2).sum()) / 40
    row = found.table[(found.table["measure"] == "AP") & (found.table["qrels"] == "augmented")].iloc[0]
    assert row["estimate"] == pytest.approx(estimate[0] - estimate[1])
    assert row["estimate_high"] - row["estimate"] == pytest.approx(2.024394 * error)  # t(.975, 38)
    others = found.table[found.table["qrels"] != "augmented"]
    assert others["estimate"].isna().all()
    assert set(others["estimate_method"]) == {""}
    assert any(note.startswith("C@2: no estimate: the first positive decides it") for note in found.notes)
    assert any(
        note.startswith("est. a - b: from the queries judged deep, of these queries;") for note in found.notes
    )


def test_a_difference_in_p_at_k_is_estimated_from_pairs_drawn_in_strata() -> None:
    """Two runs share rank 1; a to a4 stand below it in one of them, b to b4 in the other."""
    docs = ("c", "a", "a2", "a3", "a4"), ("c", "b", "b2", "b3", "b4")
    runs = [run_in_order(name, dict.fromkeys(QUERIES, each)) for name, each in zip("mn", docs, strict=True)]
    a_drawn, b_drawn = np.arange(0, N, 2), np.arange(0, N, 4)  # at one half, and at one quarter
    rates = [(docs[0][1:], a_drawn, 0.5, A_IS_POSITIVE), (docs[1][1:], b_drawn, 0.25, B_IS_POSITIVE)]
    pairs = pd.concat(
        pairs_of(doc, range(N), stratum=f"2:5:{rate}", inclusion_probability=rate,
                 relevance=truth.astype(int), is_drawn=np.isin(np.arange(N), at))
        for own, at, rate, truth in rates for doc in own
    )  # fmt: skip
    drawn = pairs[pairs["is_drawn"]]
    labels = check_labels(drawn[["query_id", "doc_id", "relevance"]].assign(label="x"))
    original = check_qrels(pairs_of("c", range(N), relevance=1))
    augmented = augment_qrels(original, labels).qrels
    found = score_differences(runs, original, ["P@5", "AP", "C@2", "P@6"], augmented=augmented,
                              design=Design(pairs, None))  # fmt: skip
    rows = found.table[found.table["qrels"] == "augmented"].set_index("measure")
    a, b = 4 * A_IS_POSITIVE[a_drawn].sum() / 0.5, 4 * B_IS_POSITIVE[b_drawn].sum() / 0.25
    # w of a and of b: how many pairs one that was drawn stands for beside itself
    limits = limits_of_difference(Count(0, a, 1), Count(0, b, 3))
    assert rows.loc["P@5", "estimate"] == pytest.approx((a - b) / (5 * N))
    assert (rows.loc["P@5", "estimate_low"], rows.loc["P@5", "estimate_high"]) == pytest.approx(
        [limit / (5 * N) for limit in limits]
    )
    assert rows.loc["P@5", "estimate_method"] == "Horvitz–Thompson"
    assert any(note.startswith("est. a - b: from the pairs drawn, of these queries") for note in found.notes)
    for measure, reason in {"AP": "ratios of single", "C@2": "bounds only", "P@6": "end at 5"}.items():
        assert np.isnan(rows.loc[measure, "estimate"])
        assert any(note.startswith(f"{measure}: no estimate: ") and reason in note for note in found.notes)


def test_what_holds_for_several_measures_is_said_once() -> None:
    shares = {"augmented": 0.5, "estimate": np.nan, "missing": 0.4, "missing_low": 0.37, "missing_high": 0.43}
    assert describe_missing(pd.DataFrame({"measure": ["AP", "RR"]}).assign(**shares)) == [
        "AP, RR: at least about 40% of positives (37% to 43%) were never judged; by these labels AP, RR "
        "are off by an unknown amount, and wrong new positives push them down"
    ]


def test_what_is_left_out_of_a_top_is_a_share_of_what_was_ranked_whole() -> None:
    """A positive that the run kept below its top fills no place of it; one of twenty docs is 5%, not more."""
    ids = {"query_id": "q", "doc_id": [f"d{n:02}" for n in range(30)], "run_id": "m"}
    whole = rank_run(pd.DataFrame({**ids, "score": -np.arange(30.0)}))
    judged = check_qrels(pd.DataFrame({**ids, "relevance": 1}).iloc[[*range(19), 29]].drop(columns="run_id"))
    joined = join_runs(check_run(whole[(whole["rank"] <= 20) | (whole["rank"] == 30)]), judged)
    is_in = np.ones(len(joined.pairs), dtype=bool)
    assert [share_left_out(joined.places["m"], k, is_in) for k in (19, 20, 30)] == [0.0, 0.05, 0.05]
