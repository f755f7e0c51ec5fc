"""A machine judge's order, and its random sample: beside a few lines that share no code with them."""

import re

import numpy as np
import pandas as pd
import pytest

from examples import cases
from fire_toolkit.errors import UsageError
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.pooling.machine import allocate, stratify_scores
from fire_toolkit.pooling.pool import pool_runs
from fire_toolkit.results import Found
from fire_toolkit.tables import Qrels, Run, check_qrels

N_QUERIES, N_DOCS = 12, 30


def world() -> tuple[list[Run], Qrels, pd.DataFrame]:
    """Return two runs of 12 queries and 30 docs, an original of each query, and a judge's scores."""
    rng = np.random.default_rng(3)
    pairs = pd.DataFrame(
        [(f"q{q:02}", f"d{d:02}") for q in range(N_QUERIES) for d in range(N_DOCS)],
        columns=["query_id", "doc_id"],
    )
    runs = [rank_run(pairs.assign(run_id=name, score=rng.random(len(pairs)))) for name in ("a", "b")]
    original = check_qrels(pairs[pairs["doc_id"] == "d07"].assign(relevance=1))
    judge = pairs.assign(score=rng.random(len(pairs)).round(3))
    return runs, original, judge[judge["doc_id"] != "d11"]  # which the judge has failed on


def pooled(strategy: str, **options: object) -> Found:
    runs, original, judge = world()
    found: Found = pool_runs(runs, depth=15, strategy=strategy, originals=original, machine=judge, **options)
    return found


def expected_order(fusion: float) -> dict[str, list[str]]:
    """Each query's docs of the two top 15, best first."""
    runs, _, judge = world()
    scores = {(q, d): s for q, d, s in judge.itertuples(index=False)}
    order = {}
    for query in sorted(judge["query_id"].unique()):
        fused: dict[str, float] = {}
        for run in runs:
            own = run[(run["query_id"] == query) & (run["rank"] <= 15)]
            for doc, rank in zip(own["doc_id"], own["rank"], strict=True):
                fused[doc] = fused.get(doc, 0) + 1 / (60 + rank)

        def place(doc: str, of: dict[str, float]) -> float:
            return float(
                np.mean([n for n, s in enumerate(sorted(of.values(), reverse=True), 1) if s == of[doc]])
            )

        judged = {doc: scores[query, doc] for doc in fused if (query, doc) in scores}
        key = {
            doc: -np.log(place(doc, judged) if doc in judged else (len(fused) + 1) / 2)
            - fusion * np.log(place(doc, fused))
            for doc in fused
        }
        order[query] = sorted(key, key=lambda doc: (key[doc], doc), reverse=True)
    return order


@pytest.mark.parametrize("fusion", [0, 0.5])
def test_the_order_is_that_of_the_product_of_ranks(fusion: float) -> None:
    found = pooled(f"machine(judge=j, fusion={fusion})", per_query=4).pool
    for query, docs in expected_order(fusion).items():
        assert set(found.loc[found["query_id"] == query, "doc_id"]) == set(docs[:4])
    assert "inclusion_probability" not in found


def test_a_sample_has_probabilities_and_what_the_order_adds_has_none() -> None:
    found = pooled("machine(judge=j, random=60)", budget=150)
    assert len(found.pool) == 150
    drawn = found.machine_sample[found.machine_sample["is_drawn"]]
    chance = drawn.groupby("stratum")["inclusion_probability"].agg(["first", "size"])
    size = found.machine_sample.groupby("stratum").size()
    assert (chance["first"] * size).round(9).tolist() == chance["size"].tolist()
    assert 60 <= len(drawn) <= 66
    # originals are known, so they are not drawn; pairs of the order have neither stratum nor probability
    assert not (found.machine_sample["doc_id"] == "d07").any()
    both = found.pool.merge(drawn, on=["query_id", "doc_id"], how="left", suffixes=("", "_drawn"))
    has_chance = both["inclusion_probability"].notna()
    assert has_chance.sum() == len(drawn)
    assert (both["inclusion_probability"] == both["inclusion_probability_drawn"])[has_chance].all()
    assert set(both.loc[~has_chance, "stratum"]) == {""}


def test_a_sample_is_the_same_again_and_lies_in_a_larger_one() -> None:
    runs, original, judge = world()
    samples = []
    for n, seed in ((60, 1), (60, 1), (120, 1), (60, 2)):
        strategy = f"machine(judge=j, random={n})"
        options = {"originals": original, "machine": judge, "seed": seed}
        found = pool_runs(runs, depth=15, strategy=strategy, **options).machine_sample
        assert found is not None
        drawn = found.loc[found["is_drawn"], ["query_id", "doc_id"]]
        samples.append(set(drawn.itertuples(index=False, name=None)))
    assert samples[0] == samples[1]
    assert samples[0] < samples[2]
    assert samples[0] != samples[3]


def test_the_best_of_all_queries_need_not_be_spread_evenly() -> None:
    found = pooled("machine(judge=j, share=best)", budget=48).pool
    n_each = found["query_id"].value_counts()
    assert len(found) == 48
    assert n_each.max() > n_each.min()
    assert pooled("machine(judge=j)", budget=48).pool.equals(found)  # the default under a budget in all
    even = pooled("machine(judge=j, share=even)", budget=48).pool["query_id"].value_counts()
    assert even.max() - even.min() <= 1
    assert pooled("machine(judge=j)", per_query=4).pool["query_id"].value_counts().nunique() == 1


def test_strata_keep_equal_scores_together_and_neyman_asks_where_the_judge_is_unsure() -> None:
    hard = np.repeat([0.0, 1.0], [900, 100])
    assert np.bincount(stratify_scores(hard)).tolist() == [900, 100]
    # √(.5 · .5) against √(.1 · .9): 5/3 as many of equally many
    assert allocate(np.repeat([0.1, 0.5], 1000), np.repeat([0, 1], 1000), 80).tolist() == [30, 50]
    assert allocate(np.repeat([0.5, 0.5], [3, 1000]), np.repeat([0, 1], [3, 1000]), 50).tolist() == [3, 47]
    assert allocate(np.full(10, 0.5), np.zeros(10, dtype=np.int64), 50).tolist() == [10]


@cases("strategy", "options", "message")
def test_what_is_refused(strategy: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        pooled(strategy, **options)


def test_a_score_that_is_no_probability_orders_and_draws_nothing() -> None:
    runs, _, judge = world()
    far = judge.assign(score=judge["score"] * 100)
    ordered = pool_runs(runs, depth=15, strategy="machine(judge=j)", per_query=4, machine=far).pool
    again = pool_runs(runs, depth=15, strategy="machine(judge=j)", per_query=4, machine=judge).pool
    assert ordered.equals(again)
    with pytest.raises(UsageError, match="a random sample needs probabilities, from 0 to 1"):
        pool_runs(runs, depth=15, strategy="machine(judge=j, random=9)", machine=far)
    with pytest.raises(UsageError, match="judge 'j' scored none of these pairs"):
        pool_runs(runs, depth=15, strategy="machine(judge=j)", per_query=4, machine=far.iloc[:0])
