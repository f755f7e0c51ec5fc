from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fire_toolkit.errors import UsageError
from fire_toolkit.evidence.qrels import augment_qrels
from fire_toolkit.inference import holm, score_differences
from fire_toolkit.matching.ranking import top
from fire_toolkit.scoring import score_runs
from fire_toolkit.tables import check_run

MakeWorld = Callable[..., Any]
MEASURES = ["C@1", "AP@3", "MedR"]


def differences(world: Any, measures: list[str] = MEASURES, **options: Any) -> pd.DataFrame:
    augmented, _ = augment_qrels(world.original, world.labels)
    options = {"augmented": augmented} | options
    return score_differences(world.runs, world.original, measures, **options).table


def test_differences_are_those_of_the_scores(make_world: MakeWorld) -> None:
    world = make_world(1)
    augmented, _ = augment_qrels(world.original, world.labels)
    scores = score_runs(world.runs, world.original, MEASURES, augmented=augmented).scores
    known = {(s.run_id, s.qrels, s.measure): s.value for s in scores.itertuples()}
    table = differences(world)
    assert len(table) == 3 * 3 * 3
    for row in table.itertuples():
        if row.measure == "MedR" and row.qrels == "delta":
            continue  # the median of the gains is not the gain of the medians
        assert known[row.run_a, row.qrels, row.measure] == pytest.approx(row.value_a, abs=1e-15)
        assert row.difference == row.value_a - row.value_b
        assert row.n_better + row.n_worse + row.n_equal == 6


def test_rows_stand_by_qrels_measure_and_pair(make_world: MakeWorld) -> None:
    table = differences(make_world(1))
    found = table[["qrels", "measure", "run_a", "run_b"]].to_numpy().tolist()
    pairs = [("r1", "r2"), ("r1", "r3"), ("r2", "r3")]
    assert found == [
        [name, measure, *pair]
        for name, measure, pair in product(("original", "augmented", "delta"), MEASURES, pairs)
    ]


def test_holm_multiplies_by_what_is_left_and_never_falls() -> None:
    # Holm 1979: sorted .01 .02 .03 .04 times 4 3 2 1 gives .04 .06 .06 .06.
    assert holm([0.04, 0.01, 0.03, 0.02]).tolist() == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.9, 0.8]).tolist() == [1.0, 1.0]
    corrected = holm([0.02, np.nan, 0.03])
    assert np.isnan(corrected[1])
    assert corrected[[0, 2]].tolist() == [0.04, 0.04]


def test_families_are_corrected_together(make_world: MakeWorld) -> None:
    world = make_world(2)
    small = differences(world, ["C@1", "C@3"])
    part = small[(small["qrels"] == "original") & (small["measure"] == "C@1")]
    assert holm(part["p"].to_numpy()).tolist() == part["p_holm"].tolist()


def test_a_median_has_an_interval_but_no_test(make_world: MakeWorld) -> None:
    table = differences(make_world(4, n_queries=30))
    median = table[table["measure"] == "MedR"]
    assert median[["p", "p_holm", "effect"]].isna().all(axis=None)
    assert (median["low"] <= median["difference"]).all()
    assert (median["difference"] <= median["high"]).all()
    assert (median["low"] < median["high"]).any()


def test_less_is_better_for_ranks(make_world: MakeWorld) -> None:
    table = differences(make_world(4), ["MnR", "RR"])
    ranks = table[(table["measure"] == "MnR") & (table["qrels"] == "augmented")].reset_index()
    inverse = table[(table["measure"] == "RR") & (table["qrels"] == "augmented")].reset_index()
    for name in ("n_better", "superiority"):
        assert ranks[name].tolist() == inverse[name].tolist()


def test_runs_of_different_depths_are_said(make_world: MakeWorld) -> None:
    world = make_world(5)
    shallow = top(check_run(world.runs[world.runs["run_id"] == "r1"]), 2)
    runs = [shallow, check_run(world.runs[world.runs["run_id"] != "r1"])]
    for measure, read in (("AP", r"r1 2, r2 8, r3 8"), ("C@3", r"r1 2, r2 8, r3 8")):
        note, *_ = score_differences(runs, world.original, [measure]).notes
        assert note == f"{measure} reads the runs to different depths ({read}); compare at one depth"
    assert not any("depths" in note for note in score_differences(runs, world.original, ["C@2"]).notes)


def test_pooled_and_fresh_runs_are_marked(make_world: MakeWorld) -> None:
    world = make_world(6)
    sources = world.sources[world.sources["run_id"] != "r3"]
    found = score_differences(world.runs, world.original, ["C@1"], sources=sources)
    assert found.table[["pooled_a", "pooled_b"]].to_numpy().tolist() == [
        ["yes", "yes"],
        ["yes", "no"],
        ["yes", "no"],
    ]
    assert sum("fed the pool" in note for note in found.notes) == 2
    assert found.notes[0].startswith("r1 fed the pool and r3 did not")


def test_one_run_is_refused(make_world: MakeWorld) -> None:
    world = make_world(7)
    with pytest.raises(UsageError, match="found 1 run; expected two or more"):
        score_differences(check_run(world.runs[world.runs["run_id"] == "r1"]), world.original, ["C@1"])
