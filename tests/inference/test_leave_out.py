from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from examples import seeds
from fire_toolkit.errors import UsageError
from fire_toolkit.evidence.qrels import augment_qrels
from fire_toolkit.inference.leave_out import leave_out
from fire_toolkit.inference.orders import kendall_tau
from fire_toolkit.scoring import score_runs
from fire_toolkit.tables import check_labels

MakeWorld = Callable[..., Any]
MEASURES = ["C@3", "R@8", "AP@8", "MedR", "bpref", "infAP", "C@3:condensed", "RBP_residual(p=0.8)"]


def scores_without(world: Any, members: set[str]) -> dict[tuple[str, str], float]:
    """By brute force: drop the labels of pairs that only members pooled, augment and score anew."""
    finders = world.sources.groupby(["query_id", "doc_id"])["run_id"].agg(set)
    pairs = zip(world.labels["query_id"], world.labels["doc_id"], strict=True)
    kept = [not finders[pair] <= members for pair in pairs]
    augmented, _ = augment_qrels(world.original, check_labels(world.labels[kept]))
    scores = score_runs(world.runs, world.original, MEASURES, augmented=augmented).scores
    own = scores[scores["qrels"] == "augmented"]
    return {(s.run_id, s.measure): s.value for s in own.itertuples()}


@pytest.mark.parametrize("seed", seeds(4))
@pytest.mark.parametrize("families", [None, {"r1": "old", "r3": "old"}])
def test_leaving_out_is_scoring_anew_without_the_labels(
    make_world: MakeWorld, seed: int, families: dict[str, str] | None
) -> None:
    world = make_world(seed)
    augmented, _ = augment_qrels(world.original, world.labels)
    found = leave_out(
        world.runs, world.original, augmented, MEASURES, sources=world.sources, families=families
    )
    groups = {"old": {"r1", "r3"}, "r2": {"r2"}} if families else {r: {r} for r in world.run_ids}
    assert set(found.scores["left_out"]) == set(groups)
    with_all = scores_without(world, set())
    for name, members in groups.items():
        without = scores_without(world, members)
        for row in found.scores[found.scores["left_out"] == name].itertuples():
            assert with_all[row.run_id, row.measure] == pytest.approx(row.all, abs=1e-12)
            assert without[row.run_id, row.measure] == pytest.approx(row.without, abs=1e-12)
            assert row.is_left_out == (row.run_id in members)


def test_orders_say_how_far_places_move(make_world: MakeWorld) -> None:
    world = make_world(2)
    augmented, _ = augment_qrels(world.original, world.labels)
    found = leave_out(world.runs, world.original, augmented, ["AP@8", "MnR"], sources=world.sources)
    for row in found.orders.itertuples():
        part = found.scores[
            (found.scores["left_out"] == row.left_out) & (found.scores["measure"] == row.measure)
        ]
        assert kendall_tau(part["all"].to_numpy(), part["without"].to_numpy()) == row.tau
        assert part["change"].abs().max() == row.largest_change
        best = part.loc[part["place_without"] == 1, "without"]
        extreme = part["without"].min() if row.measure == "MnR" else part["without"].max()
        assert (best == extreme).all()


def test_a_family_of_nobody_is_refused(make_world: MakeWorld) -> None:
    world = make_world(3)
    with pytest.raises(UsageError, match="families: run 'r9' pooled nothing; expected some of r1, r2, r3"):
        leave_out(
            world.runs, world.original, world.original, ["C@1"], sources=world.sources, families={"r9": "x"}
        )


def test_the_inputs_stay_and_row_order_does_not_count(make_world: MakeWorld) -> None:
    world = make_world(4)
    augmented, _ = augment_qrels(world.original, world.labels)
    first = leave_out(world.runs, world.original, augmented, ["C@3"], sources=world.sources)
    mixed = world.sources.sample(frac=1, random_state=3)
    again = leave_out(world.runs, world.original, augmented, ["C@3"], sources=mixed)
    pd.testing.assert_frame_equal(first.scores, again.scores)
