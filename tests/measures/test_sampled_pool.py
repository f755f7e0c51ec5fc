"""Measures of sampled strata, against their formulas written as loops; strata from file to scores."""

import math
import random
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from small_world import judge_matrix, judge_run, make_run

from fire_toolkit.errors import JoinError
from fire_toolkit.inference.judged_pairs import join_runs
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.measures import code_qrels, parse_measure
from fire_toolkit.measures.definition import values_of
from fire_toolkit.tables import Qrels, Run, check_qrels

Judged = dict[str, tuple[str, int]]  # doc → stratum, relevance


def sampled(ranked: list[str], pairs: Judged, level: int = 1) -> dict[str, float]:
    """The numbers of one query as NIST's sample_eval.pl defines them (Yilmaz et al. 2008)."""
    top, strata = ranked[:1000], sorted({s for s, _ in pairs.values()})
    rels = {s: [r for t, r in pairs.values() if t == s] for s in strata}
    n = {s: sum(r >= 0 for r in rels[s]) for s in strata}
    each = {s: len(rels[s]) / n[s] if n[s] else 0.0 for s in strata}  # pooled docs that one judged stands for
    inferred = sum(each[s] * sum(r >= level for r in rels[s]) for s in strata)

    def count(docs: list[str]) -> float:
        total = 0.0
        for s in strata:
            seen = [pairs[d][1] for d in docs if d in pairs and pairs[d][0] == s]
            total += len(seen) * (sum(r >= level for r in seen) + 1e-5) / (sum(r >= 0 for r in seen) + 3e-5)
        return total

    precisions = 0.0
    gain = dict.fromkeys(strata, 0.0)
    for rank, doc in enumerate(top, 1):
        stratum, rel = pairs.get(doc, ("", -1))
        if rel >= level:
            precisions += each[stratum] * (1 + count(top[: rank - 1])) / rank
        if rel > 0:
            gain[stratum] += rel / math.log2(rank + 1)
    dcg = 0.0
    for s in strata:
        seen = [pairs[d][1] for d in top if d in pairs and pairs[d][0] == s]
        judged = sum(r >= 0 for r in seen)
        dcg += gain[s] * len(seen) / judged if judged else 0.0
    ideal, place, half = 0.0, 0, Fraction(1, 2)
    for grade in sorted({r for _, r in pairs.values() if r > 0}, reverse=True):
        number = math.floor(
            sum(rels[s].count(grade) * Fraction(len(rels[s]), n[s]) for s in strata if n[s]) + half
        )
        ideal += sum(grade / math.log2(r + 1) for r in range(place + 1, place + number + 1) if r <= 1000)
        place += number
    unrounded, start = 0.0, 0.0
    for grade in sorted({r for _, r in pairs.values() if r > 0}, reverse=True):
        number = float(sum(rels[s].count(grade) * Fraction(len(rels[s]), n[s]) for s in strata if n[s]))
        rank = start + 1
        while rank <= start + number + 1e-9:
            unrounded += grade / math.log2(rank + 1)
            if rank >= 1000:
                break
            rank += 1
        start += number
    ap = precisions / inferred if inferred else 0.0
    return {
        "inum_rel": inferred,
        "inum_rel_ret": count(top),
        "iP@3": count(top[:3]) / 3,
        "iP@100": count(top[:100]) / 100,
        "xinfAP": ap,
        "xinfAP/nist": ap * inferred / 1000 if inferred > 1000 else ap,
        "infNDCG": dcg / ideal if ideal else 0.0,
        "infNDCG/nist": dcg / unrounded if unrounded else 0.0,
    }


def tables(runs: dict[str, list[str]], pairs: dict[str, Judged], *, has_strata: bool = True):
    rows = [("m", q, d, -i) for q, docs in runs.items() for i, d in enumerate(docs)]
    run = rank_run(pd.DataFrame(rows, columns=["run_id", "query_id", "doc_id", "score"], dtype=object))
    judged = [(q, d, r, s) for q, own in pairs.items() for d, (s, r) in own.items()]
    qrels = pd.DataFrame(judged, columns=["query_id", "doc_id", "relevance", "stratum"], dtype=object)
    return run, check_qrels(qrels if has_strata else qrels.drop(columns="stratum"))


def values(run: Run, qrels: Qrels, name: str = "xinfAP") -> np.ndarray:
    measure = parse_measure(name)
    return measure.per_query(measure.view(judge_run(run, code_qrels(qrels))))


DOCS = [f"d{n:02d}" for n in range(40)]


def drawn(
    strata: str, relevances: list[int], *, seed: int = 7, is_whole: bool = False
) -> tuple[dict[str, list[str]], dict[str, Judged]]:
    """Return random lists of 60 queries, of all docs or some, and random strata and relevances of some."""
    draw, runs, pairs = random.Random(seed), {}, {}
    for query in (f"q{n:02d}" for n in range(60)):
        pool = draw.sample(DOCS, draw.randint(1, 40))
        pairs[query] = {doc: (draw.choice(strata), draw.choice(relevances)) for doc in pool}
        runs[query] = draw.sample(DOCS, 40 if is_whole else draw.randint(1, 40))
    return runs, pairs


def by_formula(name: str, ranked: list[str], pairs: Judged) -> float:
    """Return the number by the formula; a condensed list and its strata hold judged docs alone."""
    if ":condensed" in name:
        pairs = {doc: pair for doc, pair in pairs.items() if pair[1] >= 0}
        ranked = [doc for doc in ranked if doc in pairs]
    return sampled(ranked, pairs, 2 if ":rel=2" in name else 1)[name.partition(":")[0]]


@pytest.mark.parametrize("has_strata", [True, False])
def test_equals_the_formulas(has_strata: bool) -> None:
    runs, pairs = drawn("123" if has_strata else "1", [-1, -1, 0, 0, 1, 1, 2])
    run, qrels = tables(runs, pairs, has_strata=has_strata)
    joined = join_runs(run, qrels)
    rankings = judge_run(run, code_qrels(qrels)), joined.ranking("m", joined.label(qrels))
    modified = ["xinfAP:rel=2", "xinfAP:condensed", "xinfAP:rel=2:condensed"]
    for name in [*sampled([], {}), *modified]:
        measure = parse_measure(name)
        expected = [by_formula(name, runs[q], pairs[q]) for q in sorted(pairs)]
        for ranking in rankings:
            assert measure.per_query(measure.view(ranking)) == pytest.approx(expected, abs=1e-9), name


def test_one_stratum_is_inferred_ap_and_a_judged_pool_is_ap() -> None:
    run, qrels = tables(*drawn("1", [-1, 0, 1, 2]))
    # Both estimate by the same ratio but for ε, which decides where nothing above was judged.
    assert values(run, qrels) == pytest.approx(values(run, Qrels(qrels.drop(columns="stratum"))))
    run, qrels = tables(*drawn("123", [0, 1, 2]))
    assert values(run, qrels) == pytest.approx(values(run, qrels, "AP"), abs=1e-4)


def test_every_way_to_join_knows_the_strata() -> None:
    lists, pairs = drawn("123", [-1, -1, 0, 1, 2], is_whole=True)
    run, qrels = tables(lists, pairs)
    expected, measure, queries = values(run, qrels), parse_measure("xinfAP"), sorted(lists)
    matrix = np.array([[-float(lists[q].index(doc)) for doc in DOCS] for q in queries])
    joined = judge_matrix(matrix, code_qrels(qrels), query_ids=queries, doc_ids=DOCS)
    assert expected == pytest.approx(measure.per_query(joined))
    _, more = tables(lists, {q: dict.fromkeys(DOCS, ("1", 0)) for q in queries})  # pairs that `qrels` lack
    for others in ((more,), ()):
        held = join_runs(run, qrels, *others)
        assert expected == pytest.approx(measure.per_query(held.ranking("m", held.label(qrels))))
    few = Qrels(qrels[~qrels["query_id"].duplicated() | (qrels.index % 2 == 0)])  # others were joined
    assert values(run, few) == pytest.approx(measure.per_query(held.ranking("m", held.label(few))))
    last = held.within(np.array([59]))
    own = Qrels(qrels[qrels["query_id"] == queries[-1]])
    assert expected[-1:] == pytest.approx(measure.per_query(last.ranking("m", last.label(own))))
    assert expected == pytest.approx(values(run, check_qrels(qrels.sample(frac=1, random_state=1))))


def test_qrels_of_another_query_or_doc_than_were_joined_are_refused() -> None:
    run, own = tables({"q": ["a"]}, {"q": {"a": ("1", 1), "b": ("1", 0)}})
    joined = join_runs(run, own)
    for query, doc in (("q", "z"), ("r", "a"), ("r", "z")):
        with pytest.raises(JoinError, match=f"not joined with query '{query}' and doc '{doc}'"):
            joined.label(tables({}, {query: {doc: ("1", 1)}})[1])


def test_strata_follow_docs_that_a_tie_rule_moves() -> None:
    pairs: Judged = {"a": ("1", 1), "b": ("2", 0), "c": ("2", -1), "z": ("1", -1)}
    coded = code_qrels(tables({}, {"q": pairs})[1])
    tied = judge_run(make_run({"q": dict.fromkeys("abc", 1)}), coded, with_ties=True)
    for rule, ranked in (("optimistic", ["a", "c", "b"]), ("pessimistic", ["b", "c", "a"])):
        found = values_of(tied, [parse_measure("xinfAP")], rule)
        assert found[0, 0] == pytest.approx(sampled(ranked, pairs)["xinfAP"])


def test_more_than_a_thousand_inferred_positives_and_a_list_longer_than_that() -> None:
    docs, draw = [f"d{n:04d}" for n in range(3000)], random.Random(3)
    pairs = {d: ("1", 1 if n % 3 else 0) if n % 2 else ("1", -1) for n, d in enumerate(docs[:2500])}
    ranked = docs[500:] + docs[:500]
    draw.shuffle(ranked)
    run, qrels = tables({"q": ranked}, {"q": pairs})
    ranking = judge_run(run, code_qrels(qrels))
    expected = sampled(ranked, pairs)
    assert expected["inum_rel"] > 1000
    del expected["xinfAP"]  # which reads the whole list
    for name, value in expected.items():
        assert parse_measure(name).per_query(ranking) == pytest.approx([value]), name
    plain = parse_measure("xinfAP").per_query(ranking)[0]
    assert expected["xinfAP/nist"] != pytest.approx(plain)


def test_sums_are_over_queries() -> None:
    pairs = {q: {"a": ("1", 1), "b": ("1", -1), "c": ("1", 0), "d": ("1", -1)} for q in ("q1", "q2")}
    run, qrels = tables({"q1": ["a"]}, pairs)
    measure = parse_measure("inum_rel")
    values = measure.per_query(judge_run(run, code_qrels(qrels)))
    assert list(values) == [2.0, 2.0]  # 4 pooled, 2 judged, 1 of them a positive
    assert measure.aggregate(values) == 4.0
    assert np.isfinite(parse_measure("infNDCG").per_query(judge_run(run, code_qrels(qrels)))).all()


NIST = {  # sample_eval.pl for TRECVID (2016) on the layout below: infAP, infNDCG, iP10, and two counts
    "xinfAP/nist": [0.267302874603, 0.256597318394, 0.274366222712],
    "infNDCG/nist": [0.501620752265, 0.520980519387, 0.478419478013],
    "iP@10": [0.200000499978, 0.299999999960, 0.233330333423],
    "inum_rel_ret": [16.285686311353, 13.342851521082, 13.199987733397],
    "inum_rel": [20.666666666667, 14.642857142857, 16.25],
}


def test_equals_what_the_program_of_trecvid_prints() -> None:
    """Three topics; strata of 10, 15 and 15 docs, judged whole, in part and in less, with grades to 2."""
    draw = random.Random(2012)
    docs = [f"shot{n:03d}" for n in range(60)]
    grades = {"1": [0, 0, 1, 2], "2": [-1, 0, 0, 1, 2], "3": [-1, -1, -1, 0, 0, 1]}
    runs, pairs = {}, {}
    for topic in ("1501", "1502", "1503"):
        pool, runs[topic] = draw.sample(docs, 40), draw.sample(docs, 45)
        strata = ["1"] * 10 + ["2"] * 15 + ["3"] * 15
        pairs[topic] = {doc: (s, draw.choice(grades[s])) for doc, s in zip(pool, strata, strict=True)}
    run, qrels = tables(runs, pairs)
    ranking = judge_run(run, code_qrels(qrels))
    for name, printed in NIST.items():
        measure = parse_measure(name)
        assert measure.per_query(measure.view(ranking)) == pytest.approx(printed, abs=1e-11), name
