"""A run read in blocks of queries scores as the same run held whole does, by every measure and rule."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import compress, pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_world import joined_or_why_not, make_run
from small_world import make_qrels_in_strata as make_qrels

from examples import examples
from fire_toolkit.errors import JoinError, TableError
from fire_toolkit.matching.blocks import RunBlock, block_of
from fire_toolkit.matching.ties import TIE_RULES
from fire_toolkit.measures import list_measures, parse_measure
from fire_toolkit.scoring import Scoring, score_runs
from fire_toolkit.tables import Qrels, Run

EVERY = [*(each.example for each in list_measures()), "MnR:condensed", "MedR:rel=2", "AP@3:condensed", "C@1"]
DOCS = [f"d{n}" for n in range(8)]


@dataclass(frozen=True)
class Cut:
    """A Run of one run, cut before the queries at some places."""

    run: Run
    cuts: tuple[int, ...]
    run_id: str = "m"

    def blocks(self) -> Iterator[RunBlock]:
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
@given(scored, judged, st.sets(st.integers(1, 8)), st.sampled_from([None, *TIE_RULES]), st.integers(2, 9))
@settings(max_examples=examples(150))
def test_scores_and_notes_are_those_of_the_run_held_whole(scores, relevances, cuts, rule, depth) -> None:
    run = make_run(scores)
    below = run["rank"].to_numpy() % depth != 0  # ranks with gaps, as of positives kept below the top
    run = Run(run[below].reset_index(drop=True)) if depth < 9 and below.any() else run
    original = make_qrels(relevances)
    augmented = make_qrels({q: {**docs, "d0": 1} for q, docs in relevances.items()})
    assert joined_or_why_not(Cut(run, tuple(cuts)), original, augmented) == joined_or_why_not(
        run, original, augmented
    )
    asked = {"augmented": augmented, "per_query": True, "ties": rule, "doc_order": DOCS[::-1]}
    expected, found = (outcome(each, original, asked) for each in (run, Cut(run, tuple(cuts))))
    if isinstance(expected, str):
        assert expected == found
        return
    pd.testing.assert_frame_equal(expected.scores, found.scores, check_exact=True)
    assert expected.notes == found.notes


def known(measures: list[str], rule: str | None) -> list[str]:
    """Return the measures that the rule has a form for."""
    is_known = [rule != "expected" or parse_measure(m).definition.is_linear for m in measures]
    return list(compress(measures, is_known))


def outcome(run: Run | Cut, qrels: Qrels, asked: dict[str, Any]) -> Scoring | str:
    """Return the scores, or in words why there are none."""
    try:
        return score_runs(run, qrels, known(EVERY, asked["ties"]), **asked)
    except JoinError as error:
        return str(error)


@pytest.mark.parametrize("rule", [None, *TIE_RULES])
@pytest.mark.parametrize("measures", [["MedR"], ["AP"], ["MnR", "MedR:rel=2"]])
def test_measures_of_one_kind_alone(rule: str | None, measures: list[str]) -> None:
    run = make_run({f"q{n}": {"d1": 1, "d2": 1, "d3": n} for n in range(4)})
    qrels = make_qrels({f"q{n}": {"d2": 1, "d3": 2} for n in range(4)})
    measures = known(measures, rule) or ["RR", "MnR"]
    asked = {"ties": rule, "doc_order": DOCS, "per_query": True}
    expected = score_runs(run, qrels, measures, **asked)
    found = score_runs(Cut(run, (1, 3)), qrels, measures, **asked)
    pd.testing.assert_frame_equal(expected.scores, found.scores, check_exact=True)
    assert expected.notes == found.notes


def test_runs_of_both_kinds_stand_in_the_order_given_and_have_ids_of_their_own() -> None:
    run, qrels = make_run({"q1": {"d1": 1}, "q2": {"d2": 1}}), make_qrels({"q1": {"d1": 1}})
    scores = score_runs([Cut(run, (1,), "z"), run], qrels, ["RR"]).scores
    assert list(scores["run_id"]) == ["z", "m"]
    with pytest.raises(TableError, match="run 'm' is given twice"):
        score_runs([Cut(run, (1,)), run], qrels, ["RR"])
