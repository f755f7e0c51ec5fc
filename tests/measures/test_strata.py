"""xinfAP over sampled strata: a slow twin, AP and infAP where they meet, and strata from file to scores."""

import random

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_world import judge_matrix, make_run

from examples import examples
from fire_toolkit.errors import JoinError
from fire_toolkit.inference.judged_pairs import join_runs
from fire_toolkit.matching.pair_ranks import look_up_pairs
from fire_toolkit.matching.stored_runs import HeldRun
from fire_toolkit.measures import code_qrels, judge_run, parse_measure
from fire_toolkit.measures.views import values_of
from fire_toolkit.tables import Qrels, Run, check_qrels

E = 0.00001
DOCS = [f"d{n:02d}" for n in range(12)]
Pairs = dict[str, dict[str, tuple[str, int]]]  # query → doc → stratum, relevance


def make_qrels(pairs: Pairs) -> Qrels:
    rows = [(q, d, r, s) for q, docs in pairs.items() for d, (s, r) in docs.items()]
    return check_qrels(
        pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance", "stratum"], dtype=object)
    )


def slow(ranked: list[str], pairs: dict[str, tuple[str, int]], level: int = 1) -> float:
    """Return xinfAP of one query from its definition (Yilmaz et al. 2008), stratum by stratum."""
    strata = sorted({stratum for stratum, _ in pairs.values()})
    own = {s: [r for stratum, r in pairs.values() if stratum == s] for s in strata}
    judged = {s: sum(r >= 0 for r in own[s]) for s in strata}
    positive = {s: sum(r >= level for r in own[s]) for s in strata}
    estimated = {s: positive[s] * len(own[s]) / judged[s] if judged[s] else 0.0 for s in strata}
    total = 0.0
    for s in strata:
        for rank, doc in enumerate(ranked, 1):
            if pairs.get(doc, ("", -1))[1] < level or pairs[doc][0] != s:
                continue
            precision = 1 / rank
            above = [pairs[d] for d in ranked[: rank - 1] if d in pairs]
            for t in strata:
                seen = [r for stratum, r in above if stratum == t]
                ratio = (sum(r >= level for r in seen) + E) / (sum(r >= 0 for r in seen) + 3 * E)
                precision += len(seen) / rank * ratio
            total += estimated[s] / sum(estimated.values()) / positive[s] * precision
    return total


def values(run: Run, qrels: Qrels, name: str = "xinfAP") -> np.ndarray:
    measure = parse_measure(name)
    return measure.per_query(measure.view(judge_run(run, code_qrels(qrels))))


scores_of = st.dictionaries(
    st.sampled_from(["q1", "q2"]), st.dictionaries(st.sampled_from(DOCS), st.integers(0, 99), min_size=1)
)
pairs_of = st.dictionaries(
    st.sampled_from(["q1", "q2"]),
    st.dictionaries(
        st.sampled_from(DOCS), st.tuples(st.sampled_from(["1", "2", "10"]), st.integers(-1, 2)), min_size=1
    ),
    min_size=1,
)


def ranked_of(run: Run, query_id: str) -> list[str]:
    return list(run.loc[run["query_id"] == query_id, "doc_id"])


@pytest.mark.slow
@given(scores_of, pairs_of, st.sampled_from([1, 2]))
@settings(max_examples=examples(150))
def test_equals_the_definition(scores, pairs: Pairs, level: int) -> None:
    run = make_run(scores)
    expected = [slow(ranked_of(run, q), pairs[q], level) for q in sorted(pairs)]
    assert values(run, make_qrels(pairs), f"xinfAP:rel={level}" if level > 1 else "xinfAP") == pytest.approx(
        expected
    )


@pytest.mark.parametrize("name", ["xinfAP", "xinfAP:rel=2", "xinfAP:condensed", "xinfAP:rel=2:condensed"])
def test_of_two_strata_the_grades_and_the_undrawn_are_each_counted_in_their_own(name: str) -> None:
    """Of stratum 1 three of four docs were drawn, of 2 two of three; two positives have grade 2."""
    own = {"a": ("1", 2), "b": ("1", 0), "c": ("2", 1), "d": ("2", -1), "e": ("1", 1), "f": ("2", 2)}
    pairs, ranked = {"q": own | {"g": ("1", -1)}}, list("badcgef")
    run = make_run({"q": {doc: -float(rank) for rank, doc in enumerate(ranked)}})
    level, seen = 2 if "rel=2" in name else 1, pairs["q"]
    if "condensed" in name:
        seen = {doc: pair for doc, pair in seen.items() if pair[1] >= 0}
    expected = slow([doc for doc in ranked if doc in seen], seen, level)
    assert values(run, make_qrels(pairs), name) == pytest.approx([expected], rel=1e-9)


@pytest.mark.slow
@given(scores_of, pairs_of)
@settings(max_examples=examples(60))
def test_one_stratum_is_inferred_ap_and_a_judged_pool_is_ap(scores, pairs: Pairs) -> None:
    run = make_run(scores)
    one: Pairs = {q: {d: ("1", r) for d, (_, r) in own.items()} for q, own in pairs.items()}
    plain = make_qrels(one).drop(columns="stratum")
    # Both estimate by the same ratio but for ε, which decides where nothing above was judged.
    assert values(run, make_qrels(one)) == pytest.approx(values(run, Qrels(plain)))
    judged = Qrels(make_qrels(pairs).assign(relevance=lambda table: table["relevance"].clip(lower=0)))
    assert values(run, judged) == pytest.approx(values(run, judged, "AP"), abs=1e-4)


@given(scores_of, pairs_of)
@settings(max_examples=examples(40))
def test_condensed_lists_have_strata_of_judged_docs_alone(scores, pairs: Pairs) -> None:
    run, found = make_run(scores), values(make_run(scores), make_qrels(pairs), "xinfAP:condensed")
    for value, query_id in zip(found, sorted(pairs), strict=True):
        judged = {d: pair for d, pair in pairs[query_id].items() if pair[1] >= 0}
        ranked = [doc for doc in ranked_of(run, query_id) if doc in judged]
        assert value == pytest.approx(slow(ranked, judged))


@given(pairs_of, st.integers(0, 99))
@settings(max_examples=examples(40))
def test_every_way_to_join_knows_the_strata(pairs: Pairs, seed: int) -> None:
    qrels, draws = make_qrels(pairs), random.Random(seed)
    queries = sorted(pairs)
    scores = {q: {d: draws.randrange(9) for d in DOCS} for q in queries}
    run, coded = make_run(scores), code_qrels(qrels)
    expected = values(run, qrels)
    matrix = np.array([[float(scores[q][d]) for d in DOCS] for q in queries])
    measure = parse_measure("xinfAP")
    assert expected == pytest.approx(
        measure.per_query(judge_matrix(matrix, coded, query_ids=queries, doc_ids=DOCS))
    )
    more = make_qrels({q: dict.fromkeys(DOCS, ("1", 0)) for q in queries})  # pairs that `qrels` do not hold
    for others in ((more,), ()):
        joined = join_runs(run, qrels, *others)
        assert expected == pytest.approx(measure.per_query(joined.ranking("m", joined.label(qrels))))
    last = joined.within(np.array([len(queries) - 1]))
    own = Qrels(qrels[qrels["query_id"] == queries[-1]])
    assert expected[-1:] == pytest.approx(measure.per_query(last.ranking("m", last.label(own))))
    shuffled = check_qrels(qrels.sample(frac=1, random_state=seed))
    assert expected == pytest.approx(values(run, shuffled))


def test_qrels_of_another_query_or_doc_than_were_joined_are_refused() -> None:
    own = make_qrels({"q": {"a": ("1", 1), "b": ("1", 0)}})
    joined = join_runs(make_run({"q": {"a": 1}}), own)
    for query, doc in (("q", "z"), ("r", "a"), ("r", "z")):
        with pytest.raises(JoinError, match=f"not joined with query '{query}' and doc '{doc}'"):
            joined.label(make_qrels({query: {doc: ("1", 1)}}))


def test_strata_follow_docs_that_a_tie_rule_moves() -> None:
    run = make_run({"q": dict.fromkeys("abc", 1)})
    pairs: Pairs = {"q": {"a": ("1", 1), "b": ("2", 0), "c": ("2", -1), "z": ("1", -1)}}
    coded = code_qrels(make_qrels(pairs))
    tied = look_up_pairs(HeldRun("m", run), coded, with_ties=True).under(coded)
    measure = parse_measure("xinfAP")
    for rule, ranked in (("optimistic", ["a", "c", "b"]), ("pessimistic", ["b", "c", "a"])):
        assert values_of(tied, [measure], rule)[0, 0] == pytest.approx(slow(ranked, pairs["q"]))
