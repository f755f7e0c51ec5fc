"""Strategies and budgets, beside oracles in a few lines of Python that share no code with them."""

from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_world import made, make_run, run_in_order
from small_world import qrels_of as qrels

from examples import cases, examples
from fire_toolkit.errors import PluginError, UsageError
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.pooling.candidates import Budget, Candidates, Choice, Strategy
from fire_toolkit.pooling.pool import pool_runs
from fire_toolkit.pooling.registry import STRATEGIES
from fire_toolkit.tables import Run

Lists = Mapping[str, Mapping[str, Mapping[str, float]]]  # run → query → doc → score
Pair = tuple[str, str]


def runs_of(lists: Lists) -> Run:
    scores = [(name, query, docs) for name, own in lists.items() for query, docs in own.items()]
    rows = ((name, query, doc, score) for name, query, docs in scores for doc, score in docs.items())
    return made(rank_run, "run_id query_id doc_id score", *rows)


def pooled(table: pd.DataFrame) -> set[Pair]:
    return set(zip(table["query_id"], table["doc_id"], strict=True))


# Oracles: the fused score of each pair, in fractions, from the lists as they were written.
def ranked(lists: Lists, depth: int) -> list[tuple[Pair, int]]:
    """Pair and rank of each entry of the tops."""
    found = []
    for own in lists.values():
        for query, docs in own.items():
            best = [doc for _, doc in sorted(((docs[doc], doc) for doc in docs), reverse=True)][:depth]
            found += [((query, doc), rank) for rank, doc in enumerate(best, 1)]
    return found


def fused(lists: Lists, depth: int, strategy: str) -> dict[Pair, Fraction]:
    ranks: dict[Pair, list[int]] = defaultdict(list)
    for pair, rank in ranked(lists, depth):
        ranks[pair].append(rank)
    score = {
        "depth": lambda own: Fraction(-min(own)),
        "rrf(k=3)": lambda own: sum(Fraction(1, 3 + rank) for rank in own),
    }[strategy]
    return {pair: score(own) for pair, own in ranks.items()}


def expected_pool(score: Mapping[Pair, Fraction], budget: int | None, per_query: int | None) -> set[Pair]:
    """Round by round, each query's next best; the round that the budget does not pay for, by score."""
    by_query: dict[str, list[Pair]] = defaultdict(list)
    for pair in sorted(score, key=lambda pair: (score[pair], pair[1]), reverse=True):
        by_query[pair[0]].append(pair)
    taken: list[Pair] = []
    for place in range(per_query or len(score)):
        offered = [own[place] for own in by_query.values() if place < len(own)]
        offered.sort(key=lambda pair: (score[pair], pair[1], pair[0]), reverse=True)
        taken += offered[: None if budget is None else max(budget - len(taken), 0)]
    return set(taken)


scores = st.sampled_from([0.0, 0.25, 0.5, 1.0, 4.0])
docs = st.dictionaries(st.sampled_from("abcdefg"), scores, min_size=1)
queries = st.dictionaries(st.sampled_from("123"), docs, min_size=1).map(lambda own: {"0": {"z": 1.0}} | own)
worlds = st.lists(queries, min_size=1, max_size=3).map(lambda lists: dict(zip("nmo", lists, strict=False)))
ORDERS = ["depth", "rrf(k=3)"]


@settings(max_examples=examples(40))
@given(worlds, st.sampled_from(ORDERS), st.integers(1, 5), st.integers(4, 20), st.integers(1, 4))
def test_an_order_pools_its_best_within_the_budget(
    lists: Lists, strategy: str, depth: int, budget: int, per_query: int
) -> None:
    score = fused(lists, depth, strategy)
    for limits in ((budget, None), (None, per_query), (budget, per_query)):
        options: dict[str, Any] = {"depth": depth, "budget": limits[0], "per_query": limits[1]}
        result = pool_runs(runs_of(lists), strategy=strategy, **options)
        assert expected_pool(score, *limits) == pooled(result.pool), limits
        for query, n_pairs, reason in result.stops.itertuples(index=False):
            n_own = sum(pair[0] == query for pair in score)
            assert n_pairs == (result.pool["query_id"] == query).sum()
            limit = "per_query" if n_pairs == limits[1] else "budget"
            assert reason == ("all_docs" if n_pairs == n_own else limit)
        assert set(result.stops["query_id"]) == {query for query, _ in score}


@settings(max_examples=examples(15))
@given(worlds, st.sampled_from(ORDERS))
def test_the_order_of_runs_and_what_is_pooled_say_the_same(lists: Lists, strategy: str) -> None:
    """The sources are those of the whole pool, restricted to the pairs that were chosen."""
    first = pool_runs(runs_of(lists), strategy=strategy, budget=4)
    backwards = [make_run(own, name) for name, own in reversed(lists.items())]
    again = pool_runs(backwards, strategy=strategy, budget=4)
    whole = pool_runs(runs_of(lists))
    pd.testing.assert_frame_equal(first.pool, again.pool)
    pd.testing.assert_frame_equal(first.stops, again.stops)
    chosen = pd.MultiIndex.from_tuples(sorted(pooled(first.pool)), names=["query_id", "doc_id"])
    for table, all_rows in ((first.pool_sources, whole.pool_sources), (first.pool, whole.pool)):
        is_chosen = pd.MultiIndex.from_frame(all_rows[["query_id", "doc_id"]]).isin(chosen)
        pd.testing.assert_frame_equal(all_rows[is_chosen].reset_index(drop=True), table)


def test_a_hundred_runs_in_any_order_have_equal_sums() -> None:
    """Sums of 1/(60 + rank) in floats depend on the order of addition; ties must not."""
    names = [f"m{n:03}" for n in range(100)]
    places = np.random.default_rng(0).permutation(100)
    lists = {
        name: {"q": {f"d{doc:03}": -float((doc + place) % 100) for doc in range(100)}}
        for name, place in zip(names, places, strict=True)
    }  # each doc stands once at each rank, so that all are tied
    pool = pool_runs(runs_of(lists), depth=100, strategy="rrf", per_query=10).pool
    assert pool["doc_id"].tolist() == [f"d{doc:03}" for doc in range(90, 100)]


def test_reciprocal_ranks_are_fused_with_the_published_constant() -> None:
    """1/61 + 1/171 > 2/90; with 61 in the place of 60 1/62 + 1/172 < 2/91 (Cormack et al., SIGIR 2009)."""
    runs = []
    for run_id, places in (("m", {1: "a", 30: "b"}), ("n", {30: "b", 111: "a"})):
        docs = [places.get(rank, f"{run_id}{rank}") for rank in range(1, 112)]
        runs.append(run_in_order(run_id, {"q": docs}))
    assert pool_runs(runs, depth=111, strategy="rrf", per_query=1).pool["doc_id"].tolist() == ["a"]


@pytest.mark.parametrize(("docs", "last"), [(("ab", "cd"), ("2", "c")), (("ab", "ab"), ("2", "a"))])
def test_the_rest_of_a_budget_goes_by_doc_id_then_query_id_descending(docs: Any, last: Pair) -> None:
    """Each query gets its first doc; of the two at rank 2 one is paid for."""
    lists = {"m": {query: {own[1]: 2.0, own[0]: 1.0} for query, own in zip("12", docs, strict=True)}}
    pool = pool_runs(runs_of(lists), budget=3).pool
    assert pooled(pool) == {("1", docs[0][1]), ("2", docs[1][1]), last}


ONE = {"m": {"1": {"a": 3.0, "b": 2.0, "c": 1.0}, "2": {"x": 1.0}}, "n": {"1": {"c": 1.0}, "2": {"x": 2.0}}}


def test_originals_left_out_are_added_with_their_runs_and_ranks() -> None:
    originals = qrels({("1", "c"): 1, ("1", "nowhere"): 1, ("2", "x"): 1})
    options: dict[str, Any] = {"strategy": "depth", "per_query": 1, "originals": originals}
    pool = pool_runs(runs_of({"m": ONE["m"]}), include_originals=True, **options).pool
    expected = [["a", 1, 1], ["c", 3, 1], ["nowhere", 0, 0], ["x", 1, 1]]
    assert pool[["doc_id", "best_rank", "n_runs"]].fillna(0).values.tolist() == expected
    assert pooled(pool_runs(runs_of({"m": ONE["m"]}), **options).pool) == {("1", "a"), ("2", "x")}


@cases("strategy", "said")
def test_a_strategy_that_cannot_be_is_refused_in_one_line(strategy: str, said: str) -> None:
    with pytest.raises(UsageError) as error:
        pool_runs(runs_of(ONE), strategy=strategy, per_query=1)
    assert str(error.value).startswith(said)
    assert "\n" not in str(error.value)


@cases("options", "said")
def test_a_budget_that_cannot_be_is_refused(options: dict[str, int], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        pool_runs(runs_of(ONE), strategy="rrf", **options)  # type: ignore[arg-type]


def test_limits_and_depths_beyond_any_run_take_all() -> None:
    for strategy in (*ORDERS, "move-to-front(batch=1000000000)"):
        pool = pool_runs(runs_of(ONE), strategy=strategy, depth=10**12, budget=10**30, per_query=10**30).pool
        assert pooled(pool) == pooled(pool_runs(runs_of(ONE)).pool)


def test_one_strategy_is_spelled_in_several_ways() -> None:
    pools = [
        pool_runs(runs_of(ONE), strategy=text, per_query=1).pool
        for text in ("rrf(k=0)", "rrf(0)", "rrf:0", "rrf:k=0", "rrf( k = 0 )")
    ]
    for pool in pools[1:]:
        pd.testing.assert_frame_equal(pools[0], pool)
    assert pooled(pools[0]) == {("1", "c"), ("2", "x")}  # c: 1/3 + 1/1


# Strategies from outside.
def test_a_strategy_sees_what_the_runs_and_tables_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Candidates] = []

    def look(candidates: Candidates, budget: Budget, *, note: str) -> Choice:
        seen.append(candidates)
        pairs = np.arange(len(candidates.starts))[::-1]
        return Choice(pairs, {"stratum": np.array([f"{note}{place}" for place in pairs])})

    monkeypatch.setitem(STRATEGIES.built_in, "look", Strategy(look, reads_labels=True))
    labels = pd.DataFrame({"query_id": ["1", "9"], "doc_id": ["b", "b"], "relevance": [2, 1], "n_agree": 3})
    judged = pd.DataFrame({"query_id": ["1", "1"], "doc_id": ["b", "d"]})
    previous = pool_runs(runs_of({"m": ONE["m"]}), depth=2).pool
    result = pool_runs(
        runs_of(ONE | {"own": {"1": {"d": 1.0, "z": 0.0}, "7": {"d": 1.0}}}),
        depth=2,
        strategy="look(s)",
        originals=qrels({("1", "c"): 1, ("2", "y"): 1}),
        own_items={"1": "a"},
        judged=judged,
        previous=previous,
        labels=labels,  # type: ignore[arg-type]
    )
    [found] = seen
    pairs = [(found.query_ids[q], found.doc_ids[d]) for q, d in zip(found.query, found.doc, strict=True)]
    assert pairs == [("1", "b"), ("1", "c"), ("1", "d"), ("1", "z"), ("2", "x")]
    assert found.n_runs.tolist() == [1, 2, 1, 1, 2]
    assert found.best_rank.tolist() == [1, 1, 1, 2, 1]
    assert found.score.tolist() == [2.0, 1.0, 1.0, 1.0, 0.0, 1.0, 2.0]
    known = found.known
    assert known.is_original.tolist() == [False, True, False, False, False]
    assert known.is_asked.tolist() == [True, False, True, False, True]
    assert known.is_judged.tolist() == [True, False, True, False, False]
    assert known.relevance.tolist() == [2, -1, -1, -1, -1]
    assert known.n_agree.tolist() == [3, 0, 0, 0, 0]
    assert result.pool["stratum"].tolist() == ["s0", "s1", "s2", "s3", "s4"]
    assert len(result.stops) == 0


def test_own_items_leave_the_lists_before_these_are_cut_and_are_counted_to_the_depth() -> None:
    lists = {"m": {"1": {"b": 2.0, "a": 1.0}, "2": {"a": 2.0, "b": 1.0}}}
    result = pool_runs(runs_of(lists), depth=1, own_items={"1": "a", "2": "a"})
    assert result.pool[["query_id", "doc_id", "best_rank"]].values.tolist() == [["1", "b", 1], ["2", "b", 1]]
    assert result.counts["own_items"] == 1


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (Choice(np.array([0, 0])), "returned a pair twice"),
        (Choice(np.array([4])), "returned place 4, which no pair has"),
        (Choice(np.array([-1])), "returned place -1, which no pair has"),
        (Choice(np.array([0.5])), "returned pairs of type float64, expected places of pairs"),
        (Choice(np.arange(3)), "returned 3 pairs of a query, more than 2"),
        (Choice(np.arange(4)), "returned 4 pairs, more than the budget of 3"),
        (Choice(np.array([0]), {"round": np.array([1])}), "returned a column round, which the pool has"),
        (Choice(np.array([0]), {"stratum": np.array([])}), "returned 0 values of stratum for 1 pairs"),
        (Choice(np.array([0]), stops=("done",)), "returned 1 stops for 2 queries"),
        (Choice(np.array([0]), again=np.array([1])), "returned a pair to ask again that nobody has judged"),
    ],
)
def test_a_strategy_that_goes_wrong_is_named(found: Any, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Strategy(lambda candidates, budget: found)
    monkeypatch.setitem(STRATEGIES.built_in, "wrong", wrong)
    with pytest.raises(PluginError, match=said):
        pool_runs(runs_of(ONE), strategy="wrong", budget=3, per_query=2)


def test_a_strategy_may_pool_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = Strategy(lambda candidates, budget: Choice(np.empty(0, dtype=np.int64)))
    monkeypatch.setitem(STRATEGIES.built_in, "nothing", nothing)
    assert len(pool_runs(runs_of(ONE), strategy="nothing").pool) == 0


def test_judged_pairs_without_labels_are_refused_where_labels_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reading = Strategy(lambda candidates, budget: Choice(np.empty(0, dtype=np.int64)), reads_labels=True)
    monkeypatch.setitem(STRATEGIES.built_in, "reading", reading)
    judged = pd.DataFrame({"query_id": ["1"], "doc_id": ["a"]})
    with pytest.raises(UsageError, match="strategy reading reads labels, and none are given of the 1 judged"):
        pool_runs(runs_of(ONE), strategy="reading", judged=judged)


# Move-to-front: the method as published, with each answer known before the next doc is taken.
def moved_to_front(lists: Lists, query: str, truth: set[Pair]) -> list[str]:
    rest = {
        name: [doc for _, doc in sorted(((own[query][doc], doc) for doc in own[query]), reverse=True)]
        for name, own in sorted(lists.items())
        if query in own
    }
    priority = dict.fromkeys(rest, 0)
    taken: list[str] = []
    while rest := {name: docs for name, docs in rest.items() if docs}:
        best = sorted(rest, key=lambda name: (-priority[name], name))[0]
        doc = rest[best].pop(0)
        if doc not in taken:
            taken.append(doc)
            priority[best] -= (query, doc) not in truth
    return taken


truths = st.sets(st.tuples(st.sampled_from("123"), st.sampled_from("abcdefg")))


def answered(pool: pd.DataFrame, truth: set[Pair]) -> Any:
    pairs = pool[["query_id", "doc_id"]]
    return pairs.assign(relevance=[int(pair in truth) for pair in pairs.itertuples(index=False, name=None)])


@pytest.mark.slow
@settings(max_examples=examples(12))
@given(worlds, truths)
def test_move_to_front_one_answer_at_a_time_is_the_published_method(lists: Lists, truth: set[Pair]) -> None:
    queries = {query for own in lists.values() for query in own}
    orders = {query: moved_to_front(lists, query, truth) for query in queries}
    labels = answered(pd.DataFrame({"query_id": [], "doc_id": []}), truth)
    for n in range(1, 4):
        options: dict[str, Any] = {"strategy": "move-to-front(batch=1)", "labels": labels, "judged": labels}
        result = pool_runs(runs_of(lists), **options)
        pool, stops = result.pool, result.stops
        assert {(query, doc) for query, order in orders.items() for doc in order[:n]} == pooled(pool)
        reasons = dict(zip(stops["query_id"], stops["reason"], strict=True))
        assert reasons == {q: "all_docs" if len(order) <= n else "waiting" for q, order in orders.items()}
        labels = answered(pool, truth)


@pytest.mark.slow
@settings(max_examples=examples(8))
@given(worlds, truths, st.integers(2, 3), st.integers(4, 9))
def test_move_to_front_in_batches_ends_at_the_budget_and_never_loses_a_pair(
    lists: Lists, truth: set[Pair], batch: int, budget: int
) -> None:
    options: dict[str, Any] = {"strategy": f"move-to-front(batch={batch})", "budget": budget}
    n_all = sum(len(set().union(*(own.get(q, ()) for own in lists.values()))) for q in "0123")
    labels, before = answered(pd.DataFrame({"query_id": [], "doc_id": []}), truth), set[Pair]()
    for _ in range(5):
        pool = pool_runs(runs_of(lists), labels=labels, judged=labels, **options).pool
        again = pool_runs(runs_of(lists), labels=labels, judged=labels, previous=pool, **options).pool
        assert pooled(again) == pooled(pool)  # nothing more is asked before there are answers
        assert before <= pooled(pool)
        new = pd.Series([query for query, _ in pooled(pool) - before], dtype="str")
        assert new.value_counts().max() <= batch or not len(new)
        before, labels = pooled(pool), answered(pool, truth)
    assert len(before) == min(budget, n_all)


def test_move_to_front_takes_originals_as_relevant_and_disputes_as_nothing() -> None:
    lists = {"m": {"1": dict(zip("abc", (3.0, 2.0, 1.0), strict=True))}, "n": {"1": {"x": 2.0, "y": 1.0}}}

    def docs_of(batch: int, **options: Any) -> str:
        pool = pool_runs(runs_of(lists), strategy=f"move-to-front({batch})", **options).pool
        return "".join(pool["doc_id"])

    assert docs_of(2) == "ax"
    waiting = pool_runs(runs_of(lists), strategy="move-to-front(2)").pool
    assert docs_of(2, previous=waiting) == "ax"  # two wait for an answer already
    assert docs_of(2, originals=qrels({("1", "a"): 1})) == "ab"
    disputed = pd.DataFrame({"query_id": ["1"], "doc_id": ["a"]})
    none = answered(disputed.iloc[:0], set())
    assert docs_of(1, judged=disputed, labels=none) == "ab"
    assert docs_of(1, judged=disputed, labels=answered(disputed, set())) == "ax"


def test_move_to_front_passes_over_a_doc_that_another_run_brought() -> None:
    """a of m falls it to −1; n goes on past a to c, whose fall it does not share; then m's b, by run id."""
    lists = {"m": {"1": {"a": 3.0, "b": 2.0}}, "n": {"1": {"a": 3.0, "c": 2.0, "d": 1.0}}}
    for batch, expected in ((2, {"a", "c"}), (3, {"a", "b", "c"})):
        pool = pool_runs(runs_of(lists), strategy=f"move-to-front({batch})").pool
        assert set(pool["doc_id"]) == expected


def test_what_was_asked_stays_where_the_budget_is_smaller() -> None:
    """So does an original that was asked beyond it: the next round would else be refused."""
    asked = pd.DataFrame({"query_id": ["1", "1"], "doc_id": ["a", "b"], "relevance": 0})
    given: dict[str, Any] = {"labels": asked, "judged": asked, "strategy": "move-to-front"}
    result = pool_runs(runs_of(ONE), budget=2, **given)
    pool, stops = result.pool, result.stops
    assert pooled(pool) == {("1", "a"), ("1", "b")}
    assert stops.values.tolist() == [["1", 2, "budget"], ["2", 0, "budget"]]
    result = pool_runs(runs_of(ONE), per_query=1, **given)
    pool, stops = result.pool, result.stops
    assert pooled(pool) == {("1", "a"), ("1", "b"), ("2", "x")}
    assert stops["reason"].tolist() == ["per_query", "all_docs"]
    for limits in ({"budget": 1}, {"budget": 2, "per_query": 1}):
        assert pooled(pool_runs(runs_of(ONE), **limits, **given).pool) == {("1", "a"), ("1", "b")}
