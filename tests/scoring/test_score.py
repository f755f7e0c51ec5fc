"""Scores: which queries count, the order of rows, notes and refusals; in blocks of queries as held whole."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import compress, pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
import pytrec_eval
from brought import refused
from hypothesis import given, settings
from hypothesis import strategies as st
from small_world import joined_or_why_not, made, make_qrels, make_qrels_in_strata, make_run

from examples import examples
from fire_toolkit.commands.score import score
from fire_toolkit.errors import JoinError, TableError, UsageError
from fire_toolkit.inference.background import Background, Unusable
from fire_toolkit.matching.blocks import RunBlock, block_of
from fire_toolkit.matching.joining import StoredRun
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.matching.ties import TIE_RULES
from fire_toolkit.measures import list_measures, parse_measure
from fire_toolkit.scoring import Scoring, score_runs
from fire_toolkit.tables import SCORES, Qrels, QueryLabels, Run, check_qrels, check_run
from fire_toolkit.tables.checks import check_table

RUN = make_run({"q1": {"a": 3, "b": 2, "c": 1}, "q2": {"a": 3, "b": 2, "c": 1}})
QRELS = make_qrels({"q1": {"b": 1}, "q2": {"a": 1}})
AUGMENTED = make_qrels({"q1": {"a": 1, "b": 1}, "q2": {"a": 1}})


def values(scores: pd.DataFrame) -> dict[tuple[str, ...], float]:
    keys = scores[["run_id", "qrels", "query_id", "measure"]].itertuples(index=False, name=None)
    return dict(zip(keys, scores["value"], strict=True))


def test_rows_stand_by_run_then_all_and_queries_then_measure_then_qrels() -> None:
    other = make_run({"q2": {"b": 1}}, "a first in the alphabet".replace(" ", "-"))
    scores = score_runs([RUN, other], QRELS, ["RR", "C@1"], augmented=AUGMENTED, per_query=True).scores
    expected = [
        (run_id, qrels, query_id, measure)
        for run_id in ("m", "a-first-in-the-alphabet")
        for query_id in ("all", "q1", "q2")
        for measure in ("RR", "C@1")
        for qrels in ("original", "augmented", "delta")
    ]
    assert expected == list(values(scores))
    pd.testing.assert_frame_equal(scores, check_table(SCORES, scores))


def test_delta_is_augmented_minus_original_for_means_medians_and_queries() -> None:
    found = values(score_runs(RUN, QRELS, ["C@1", "MedR"], augmented=AUGMENTED, per_query=True).scores)
    # Ranks of the first positive are 2 and 1 by the original qrels, 1 and 1 by the augmented.
    assert tuple(found["m", q, "all", "C@1"] for q in ("original", "augmented", "delta")) == (0.5, 1.0, 0.5)
    assert tuple(found["m", q, "all", "MedR"] for q in ("original", "augmented", "delta")) == (1.5, 1.0, -0.5)
    assert tuple(found["m", q, "q1", "MedR"] for q in ("original", "augmented", "delta")) == (2.0, 1.0, -1.0)


def test_every_query_of_the_qrels_counts_and_no_other() -> None:
    qrels = make_qrels({"q1": {"a": 1}, "q2": {"b": 0}, "q3": {"c": 1}})
    run = make_run({"q1": {"a": 2, "b": 1}, "q2": {"b": 1}, "extra": {"a": 1, "b": 2, "c": 3}})
    scoring = score_runs(run, qrels, ["C@1", "MnR"], per_query=True)
    found = values(scoring.scores)
    assert found["m", "original", "all", "C@1"] == pytest.approx(1 / 3)
    # The deepest list that counts has 2 docs, so that the worst rank is 3, for q2 and for q3.
    assert found["m", "original", "all", "MnR"] == pytest.approx((1 + 3 + 3) / 3)
    assert {"all", "q1", "q2", "q3"} == set(scoring.scores["query_id"])
    assert scoring.notes == (
        "original qrels: 1 of 3 queries without a positive; they score 0",
        "m: 1 of 3 queries of the qrels missing from the run; they score 0",
        "m: 1 query not in the qrels; they are ignored",
        "m: 2 of 3 queries without a positive found by the original qrels; MnR takes their rank as 3, "
        "a lower bound",
    )


def kept_below(run_id: str = "m") -> Run:
    """Return a run of the top 3, which keeps d at its exact rank 9."""
    docs, ranks, scores = ["a", "b", "c", "d"], [1, 2, 3, 9], [9.0, 8, 7, 1]
    rows = {"run_id": run_id, "query_id": "q1", "doc_id": docs, "rank": ranks, "score": scores}
    more = {"run_id": run_id, "query_id": "q2", "doc_id": docs[:3], "rank": ranks[:3], "score": scores[:3]}
    return check_run(pd.concat([pd.DataFrame(rows), pd.DataFrame(more)]))


def test_one_note_tells_of_all_runs_that_are_read_to_their_top_alone() -> None:
    qrels, more = {"q1": {"d": 1}, "q2": {"a": 1}}, {"q1": {"e": 1, "d": 1}, "q2": {"a": 1}}
    measures = ["C@3", "P@5", "AP", "NN"]
    exact = score_runs([kept_below(), kept_below("n")], make_qrels(qrels), measures)
    shallow = "1 of 2 queries with fewer docs than the cutoff 5 (shortest 3)"
    assert exact.notes == (f"m: {shallow}", f"n: {shallow}")  # the lists hold every positive
    runs = [kept_below(), kept_below("n")]
    told = score_runs(runs, make_qrels(qrels), measures, augmented=make_qrels(more)).notes
    found = values(score_runs(runs, make_qrels(qrels), ["MnR"], augmented=make_qrels(more)).scores)
    assert {found["m", label, "all", "MnR"] for label in ("original", "augmented")} == {(4 + 1) / 2}
    missing = "rank 3, 1 of 1 new positives in no list, original AP 50.0 (55.6 with them)"  # 1/9 of a query
    assert [note for note in told if " to the same rank" in note] == [
        "P@5, AP read original and augmented labels down to the same rank, the last one where all docs are "
        f"known; original positives that add-run kept below it do not count (m: {missing}; n: {missing}). To "
        "count every positive at its exact rank, score the matrix itself or keep more of it (add-run --depth)"
    ]
    many = [kept_below(name) for name in "mnopq"]
    (told,) = score_runs(many, make_qrels(qrels), ["AP"], augmented=make_qrels(more)).notes
    assert f"; o: {missing}; and so on for 2 more runs). To" in told


def test_a_doc_that_no_list_holds_and_no_other_label_adds_leaves_exact_ranks() -> None:
    qrels = make_qrels({"q1": {"d": 1, "gone": 1}, "q2": {"a": 1}})
    scored = score_runs(kept_below(), qrels, ["AP"], augmented=qrels)
    assert values(scored.scores)["m", "augmented", "all", "AP"] == (1 / 9 / 2 + 1) / 2
    assert [note for note in scored.notes if note.startswith("AP ")] == [
        "AP reads on below the top 3: positives that the runs kept there count at their exact ranks, all "
        "other docs as not relevant, also the positives that no list holds (m 1)"
    ]


def test_a_run_shallower_than_a_cutoff_and_unequal_depths_are_said() -> None:
    long = make_run({q: {"a": 0, **{f"d{n}": -n for n in range(1, 9)}} for q in ("q1", "q2")}, "long")
    notes = score_runs([RUN, long], QRELS, ["C@1", "AP@5", "RR"]).notes
    assert notes == (
        "m: 2 of 2 queries with fewer docs than the cutoff 5 (shortest 3)",
        "AP@5, RR read the runs to different depths (m 3, long 9); compare at one depth",
    )


def test_what_docs_without_a_label_could_add_is_said_where_qrels_tell_what_was_judged() -> None:
    other = make_run({"q1": {"b": 3, "a": 2, "c": 1}, "q2": {"c": 3, "b": 2, "a": 1}}, "other")
    judged = make_qrels({"q1": {"a": 0, "b": 1}, "q2": {"a": 1}})
    notes = score_runs([RUN, other], QRELS, ["C@1", "C@2", "P@2", "AP"], augmented=judged).notes
    # other has c of q2 first, and b second, without a label; of RUN's tops b of q2 alone has none
    said = "if all were relevant: C@1 +0 to +50, C@2 +0 to +50, P@2 +25 to +50 points"
    assert list(notes) == [f"docs without a label count as not relevant; {said}"]
    assert score_runs([RUN, other], QRELS, ["P@2"], augmented=AUGMENTED).notes == ()  # it has positives alone


def test_complete_input_leaves_no_note() -> None:
    assert score_runs(RUN, QRELS, ["C@1", "MedR"], augmented=AUGMENTED).notes == ()


def test_the_augmented_qrels_are_read_over_the_original_queries() -> None:
    emptied = make_qrels({"q2": {"a": 1}})
    found = values(score_runs(RUN, QRELS, ["C@2"], augmented=emptied).scores)
    assert (found["m", "original", "all", "C@2"], found["m", "augmented", "all", "C@2"]) == (1.0, 0.5)


def test_one_table_may_hold_many_runs_and_measures_may_repeat() -> None:
    two = made(rank_run, "run_id query_id doc_id score", ("b", "q1", "b", 1), ("a", "q1", "b", 1))
    scores = score_runs(two, QRELS, ["C@1", parse_measure("C@1"), "C@1"]).scores
    assert list(zip(scores["run_id"], scores["measure"], strict=True)) == [("a", "C@1"), ("b", "C@1")]


SPLIT_OF_0 = (
    "run other: has 0 of the 2 queries of the qrels (its first: 'x1', theirs: 'q1'), expected half or more; "
    "is it a run for another split"
)
SPLIT_OF_1 = "run other: has 1 of the 3 queries of the qrels ... another split?"
ELSEWHERE = (
    "run other: none of its docs (its first: 'z', theirs: 'b') is in the qrels; is it a run for another coll"
)
NOT_OF_THESE = "augmented qrels: 1 query not in the original qrels (q7)"
OTHER, ELSE = (make_run({q: {"a": 1} for q in own}, "other") for own in (["q1"], ["x1", "x2", "x3", "x4"]))


@pytest.mark.parametrize(
    ("error", "message", "arguments"),
    [
        (UsageError, "measure 'C': expected C@k", (RUN, QRELS, ["C"])),
        (UsageError, "measures: found [], expected a list", (RUN, QRELS, [])),
        (UsageError, "measures: found 'C@1', expected a list", (RUN, QRELS, "C@1")),
        (UsageError, "no run to score", ([], QRELS, ["C@1"])),
        (UsageError, "no run to score", (make_run({}), QRELS, ["C@1"])),
        (TableError, "run 'm' is given twice", ([RUN, RUN], QRELS, ["C@1"])),
        (JoinError, "qrels: no query found", (RUN, make_qrels({}), ["C@1"])),
        (JoinError, SPLIT_OF_0, ([RUN, ELSE], QRELS, ["C@1"])),
        (JoinError, SPLIT_OF_1, (OTHER, make_qrels({q: {"a": 1} for q in ("q1", "q2", "q3")}), ["C@1"])),
        (JoinError, ELSEWHERE, (make_run({"q1": {"z": 1}, "q2": {"y": 1}}, "other"), QRELS, ["C@1"])),
        (JoinError, NOT_OF_THESE, (RUN, QRELS, ["C@1"], make_qrels({"q1": {"b": 1}, "q7": {"b": 1}}))),
    ],
)
def test_what_cannot_be_scored_is_refused(error: Any, message: str, arguments) -> None:
    runs, qrels, measures, *augmented = arguments
    refused(message, score_runs, runs, qrels, measures, augmented=next(iter(augmented), None), by=error)


def test_a_query_named_all_is_refused_only_where_it_could_be_taken_for_the_aggregate() -> None:
    qrels, run = make_qrels({"all": {"a": 1}, "q": {"a": 1}}), make_run({"all": {"a": 1}})
    assert list(score_runs(run, qrels, ["C@1"]).scores["value"]) == [0.5]
    with pytest.raises(JoinError, match="a query has the id 'all'"):
        score_runs(run, qrels, ["C@1"], per_query=True)


def test_a_query_named_usable_is_refused_only_where_it_could_be_taken_for_the_mean_of_usable_ones() -> None:
    qrels, run = make_qrels({"usable": {"a": 1}, "q": {"a": 1}}), make_run({"usable": {"a": 1}})
    flagged = Background(unusable=Unusable("flag", QueryLabels(pd.DataFrame({"query_id": ["q"]})), 2, 2))
    scores = score(run, qrels, qrels, background=flagged, measures=["C@1"]).table
    assert scores.groupby("query_id")["value"].max().to_dict() == {"all": 0.5, "usable": 1.0}
    with pytest.raises(JoinError, match="a query has the id 'usable'"):
        score(run, qrels, qrels, background=flagged, measures=["C@1"], per_query=True)
    assert len(score(run, qrels, qrels, measures=["C@1"], per_query=True).table) == 9


def test_a_mean_is_exact_whatever_the_order_of_queries() -> None:
    # 1/10 cannot be held exactly: adding it ten times in float64 gives .9999999999999999.
    queries = [f"q{n}" for n in range(10)]
    run = make_run({q: {f"d{n}": -n for n in range(10)} for q in queries})
    scores = score_runs(run, make_qrels({q: {"d0": 1} for q in queries}), ["P@10"]).scores
    assert list(scores["value"]) == [0.1]


doc_tables = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 3), min_size=1)
query_tables = st.dictionaries(st.sampled_from(["007", "q:1|x", "日本", "NA"]), doc_tables, min_size=1)


@given(run=query_tables, relevances=query_tables, seed=st.integers(0, 99))
@settings(max_examples=examples(40))
def test_the_order_of_rows_does_not_matter_and_means_equal_trec_evals(run, relevances, seed) -> None:
    docs = {doc for own in relevances.values() for doc in own}
    if 2 * len(set(run) & set(relevances)) < len(relevances) or not docs & {
        d for own in run.values() for d in own
    }:
        return
    names = {"AP": "map", "RR": "recip_rank", "R@3": "recall_3", "nDCG@3": "ndcg_cut_3"}
    table, qrels = make_run(run), make_qrels(relevances)
    found = score_runs(table, qrels, list(names), per_query=True).scores
    shuffled = rank_run(table.sample(frac=1, random_state=seed))
    again = check_qrels(qrels.sample(frac=1, random_state=seed))
    pd.testing.assert_frame_equal(found, score_runs(shuffled, again, list(names), per_query=True).scores)
    theirs = pytrec_eval.RelevanceEvaluator(relevances, set(names.values())).evaluate(run)
    for ours, name in names.items():
        mean = sum(theirs.get(query, {}).get(name, 0.0) for query in relevances) / len(relevances)
        assert values(found)["m", "original", "all", ours] == pytest.approx(mean, abs=1e-12)


def test_measures_that_infer_from_strata_with_few_positives_are_marked() -> None:
    pairs = {"query_id": "q", "doc_id": list("abcdefgh"), "stratum": list("12222222")}
    run = rank_run(pd.DataFrame({"run_id": "m", "query_id": "q", "doc_id": list("abc"), "score": [3, 2, 1]}))
    for n_drawn, n_marked in ((4, 1), (5, 0)):
        relevance = [1] * (1 + n_drawn) + [-1] * (7 - n_drawn)
        found = score_runs(run, check_qrels(pd.DataFrame(pairs | {"relevance": relevance})), ["xinfAP"])
        assert (
            sum("sampled strata of the original qrels hold 4.0 pos" in note for note in found.notes)
            == n_marked
        )


EVERY = [*(each.example for each in list_measures()), "MnR:condensed", "MedR:rel=2", "AP@3:condensed", "C@1"]
DOCS = [f"d{n}" for n in range(8)]


@dataclass(frozen=True)
class Cut(StoredRun):
    """A Run of one run, cut before the queries at some places."""

    run: Run
    cuts: tuple[int, ...]
    run_id: str = "m"

    def blocks(self, depth: int | None = None) -> Iterator[RunBlock]:
        whole = block_of(self.run)
        places = sorted({0, *(cut for cut in self.cuts if cut < len(whole.queries)), len(whole.queries)})
        for first, last in pairwise(places):
            rows = slice(whole.start[first], whole.start[last])
            used, doc = np.unique(whole.doc[rows], return_inverse=True)
            yield replace(
                whole,
                queries=whole.queries[first:last],
                docs=whole.docs[used],
                start=whole.start[first : last + 1] - whole.start[first],
                doc=doc.astype(np.int32),
                rank=whole.rank[rows].astype(np.int32),
                score=whole.score[rows],
            )


queries = st.sampled_from([f"q{n}" for n in range(9)])
scored = st.dictionaries(
    queries, st.dictionaries(st.sampled_from(DOCS), st.integers(0, 3), min_size=1), min_size=1
)
judged = st.dictionaries(
    queries, st.dictionaries(st.sampled_from(DOCS), st.integers(-1, 2), min_size=1), min_size=1
)


@pytest.mark.slow
@given(
    scored,
    judged,
    st.sets(st.integers(1, 8)),
    st.sampled_from([None, *TIE_RULES]),
    st.integers(2, 9),
    st.integers(0, 3),
)
@settings(max_examples=examples(150))
def test_scores_and_notes_are_those_of_the_run_held_whole(
    scores, relevances, cuts, rule, depth, quarter
) -> None:
    run = make_run(scores)
    below = run["rank"].to_numpy() % depth != 0  # ranks with gaps, as of positives kept below the top
    run = Run(run[below].reset_index(drop=True)) if depth < 9 and below.any() else run
    original = make_qrels_in_strata(relevances)
    augmented = make_qrels_in_strata({q: {**docs, "d0": 1} for q, docs in relevances.items()})
    expected = joined_or_why_not(run, original, augmented)
    assert joined_or_why_not(Cut(run, tuple(cuts)), original, augmented) == expected
    asked = {"augmented": augmented, "per_query": True, "ties": rule, "doc_order": DOCS[::-1]}
    measures = known(EVERY[quarter::4], rule)
    expected, found = (outcome(each, original, measures, asked) for each in (run, Cut(run, tuple(cuts))))
    if isinstance(expected, str):
        assert expected == found
        return
    pd.testing.assert_frame_equal(expected.scores, found.scores, check_exact=True)
    assert expected.notes == found.notes


def known(measures: list[str], rule: str | None) -> list[str]:
    """Return the measures that the rule has a form for."""
    is_known = [rule != "expected" or parse_measure(m).definition.is_linear for m in measures]
    return list(compress(measures, is_known))


def outcome(run: Run | Cut, qrels: Qrels, measures: list[str], asked: dict[str, Any]) -> Scoring | str:
    """Return the scores, or in words why there are none."""
    try:
        return score_runs(run, qrels, measures, **asked)
    except JoinError as error:
        return str(error)


@pytest.mark.parametrize("rule", [None, *TIE_RULES])
@pytest.mark.parametrize("measures", [["MedR"], ["AP"], ["MnR", "MedR:rel=2"]])
def test_measures_of_one_kind_alone(rule: str | None, measures: list[str]) -> None:
    run = make_run({f"q{n}": {"d1": 1, "d2": 1, "d3": n} for n in range(4)})
    qrels = make_qrels_in_strata({f"q{n}": {"d2": 1, "d3": 2} for n in range(4)})
    measures = known(measures, rule) or ["RR", "MnR"]
    asked = {"ties": rule, "doc_order": DOCS, "per_query": True}
    expected = score_runs(run, qrels, measures, **asked)
    found = score_runs(Cut(run, (1, 3)), qrels, measures, **asked)
    pd.testing.assert_frame_equal(expected.scores, found.scores, check_exact=True)
    assert expected.notes == found.notes


def test_runs_of_both_kinds_stand_in_the_order_given_and_have_ids_of_their_own() -> None:
    run, qrels = make_run({"q1": {"d1": 1}, "q2": {"d2": 1}}), make_qrels_in_strata({"q1": {"d1": 1}})
    scores = score_runs([Cut(run, (1,), "z"), run], qrels, ["RR"]).scores
    assert list(scores["run_id"]) == ["z", "m"]
    with pytest.raises(TableError, match="run 'm' is given twice"):
        score_runs([Cut(run, (1,)), run], qrels, ["RR"])
