"""The depth of a run is its top; positives below it keep their ranks, everything else there is a hole."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from examples import cases
from fire_toolkit.inference.bounds import coverage
from fire_toolkit.inference.compare import compare_runs
from fire_toolkit.inference.differences import score_differences
from fire_toolkit.matching.ranking import rank_run, ranked_lengths, run_depth, top
from fire_toolkit.measures.depths import Reach, note_depths
from fire_toolkit.measures.names import parse_measure
from fire_toolkit.measures.registry import MEASURES
from fire_toolkit.pooling.pool import pool_runs
from fire_toolkit.scoring import score_runs
from fire_toolkit.tables import Qrels, Run, check_qrels, check_run

TOP, N_QUERIES, N_DOCS = 4, 6, 30
World = tuple[Run, Run, Run, Qrels]


@pytest.fixture(scope="module")
def world() -> World:
    """Return a run of all docs, its top 4, its top 4 with the positives below it, and its qrels."""
    rng = np.random.default_rng(0)
    query, doc = (index.ravel() for index in np.indices((N_QUERIES, N_DOCS)))
    ids = {"query_id": [f"q{n}" for n in query], "doc_id": [f"d{n:02}" for n in doc]}
    whole = rank_run(pd.DataFrame({"run_id": "m", **ids, "score": rng.normal(size=query.size)}))
    grades = rng.choice([0, 0, 1, 2], size=query.size) * (rng.random(query.size) < 0.4)
    positives = pd.DataFrame({**ids, "relevance": grades}).query("relevance > 0")
    qrels = check_qrels(positives)
    is_kept = pd.MultiIndex.from_frame(whole[["query_id", "doc_id"]].astype(str)).isin(
        pd.MultiIndex.from_frame(positives[["query_id", "doc_id"]])
    )
    return whole, top(whole, TOP), check_run(whole[(whole["rank"] <= TOP) | is_kept]), qrels


def scores(run: Run, qrels: Qrels, measure: str) -> list[float]:
    return list(score_runs(run, qrels, [measure], per_query=True).scores["value"])


@pytest.mark.parametrize(
    "measure",
    ["AP", "AP@9", "nDCG", "nDCG@9", "DCG", "RR", "MedR", "MnR", "RBP(p=0.8)", "C@9", "R@9", "P@9", "Rprec"],
)
def test_ranks_below_the_top_count_as_in_the_whole_ranking(world: World, measure: str) -> None:
    whole, _, kept, qrels = world
    assert scores(kept, qrels, measure) == scores(whole, qrels, measure)


@pytest.mark.parametrize("measure", ["Judged@9", "F", "CG", "nCG", "AP:condensed", "bpref", "unjudged@9"])
def test_what_asks_for_the_docs_ranked_reads_the_top(world: World, measure: str) -> None:
    _, cut, kept, qrels = world
    assert scores(kept, qrels, measure) == scores(cut, qrels, measure)
    assert scores(kept, qrels, "AP") != scores(cut, qrels, "AP")


@pytest.mark.parametrize("key", list(MEASURES))
def test_the_note_names_the_measures_that_positives_below_the_top_change(world: World, key: str) -> None:
    _, cut, kept, qrels = world
    measure = replace(parse_measure(MEASURES[key].example), k=None)
    if MEASURES[key].cutoff == "required":
        measure = replace(measure, k=9)
    names = [measure.name, f"{measure.name}:condensed"]
    qrels = check_qrels(qrels.assign(stratum="1"))
    tables = [score_runs(run, qrels, names, per_query=True).scores for run in (kept, cut)]
    is_changed = [len({tuple(each.loc[each["measure"] == name, "value"]) for each in tables}) > 1
                  for name in names]  # fmt: skip
    said = note_depths([Reach("m", TOP, has_gap=True, n_lost=1)], [parse_measure(name) for name in names])
    assert is_changed == ["".join(said).startswith(f"{measure.name} reads on below the top {TOP}: "), False]


@pytest.mark.parametrize("name", ["lower", "upper", "judged", "n_pairs", "n_open"])
@pytest.mark.parametrize("measure", ["RR", "DCG@4"])
def test_bounds_open_the_docs_of_the_top_alone(world: World, measure: str, name: str) -> None:
    _, cut, kept, qrels = world
    found = [coverage(run, qrels, qrels, [measure]) for run in (cut, kept)]
    if name not in ("lower", "n_open"):  # positives below the top raise the least value
        assert found[0].summary[name][0] == found[1].summary[name][0]
    assert found[1].pairs["rank"].max() <= TOP
    assert found[0].summary["lower"][0] <= found[1].summary["lower"][0]


def test_pooling_and_comparing_read_the_top(world: World) -> None:
    _, cut, kept, _ = world
    pd.testing.assert_frame_equal(pool_runs(kept, depth=9).pool_sources, pool_runs(cut, depth=9).pool_sources)
    other = check_run(cut.assign(run_id=pd.Categorical(["o"] * len(cut))))
    tables = [compare_runs([run, other], depth=9).comparisons for run in (kept, cut)]
    pd.testing.assert_frame_equal(*tables)


def test_runs_with_positives_below_different_ranks_are_compared_without_a_word(world: World) -> None:
    whole, _, kept, qrels = world
    other = check_run(whole.assign(run_id=pd.Categorical(["o"] * len(whole))))
    found = score_differences([kept, other], qrels, ["AP", "MnR"])
    assert not any("depths" in note for note in found.notes)
    assert (found.table["difference"] == 0).all()


@cases("ranked", "last", "expected")
def test_the_depth_of_a_run(ranked: list[int], last: list[int], expected: int) -> None:
    assert run_depth(np.array(ranked), np.array(last)) == expected


def test_a_list_is_ranked_down_to_its_first_gap() -> None:
    rank, start, stop = np.array([1, 2, 9, 2, 1, 2, 3]), np.array([0, 3, 4, 4]), np.array([3, 4, 4, 7])
    assert ranked_lengths(rank, start, stop).tolist() == [2, 0, 0, 3]
