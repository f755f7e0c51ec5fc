"""Who judges what: every pair once, doubled pairs twice, nobody a pair twice, loads even."""

from collections.abc import Collection
from typing import Any

import pandas as pd
import pytest
from brought import refused
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import cases, examples
from fire_toolkit.campaign.queues import (
    ADJUDICATION,
    CONTROL,
    OVERLAP,
    TASK,
    TRAINING,
    Assignments,
    assign_round,
    assign_tasks,
)
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.tables import Tasks, check_tasks

COLUMNS = ["pair_id", "query_id", "doc_id", "text", "media_url", "guideline", "batch", "position"]


def tasks_of(n_pairs: int, n_doubled: int = 0, *, prefix: str = "p") -> Tasks:
    pairs = [f"{prefix}{number}" for number in range(n_pairs)]
    rows = [
        (pair, "q", pair, "t", "m", "g", batch, position)
        for batch, listed in ((1, pairs), (2, pairs[:n_doubled]))
        for position, pair in enumerate(listed, start=1)
    ]
    return check_tasks(pd.DataFrame(rows, columns=COLUMNS))


names = st.lists(st.sampled_from([f"ann{n}" for n in range(7)]), min_size=2, unique=True)


def loads_of(assigned: Assignments) -> dict[str, int]:
    return assigned["annotator_id"].value_counts().to_dict()


def are_even(assigned: Assignments, annotators: list[str]) -> bool:
    loads = [loads_of(assigned).get(name, 0) for name in annotators]
    return max(loads) - min(loads) <= 1


@st.composite
def campaigns(draw: st.DrawFn) -> tuple[Tasks, list[str], int]:
    n_pairs = draw(st.integers(0, 40))
    return tasks_of(n_pairs, draw(st.integers(0, n_pairs))), draw(names), draw(st.integers(0, 3))


@pytest.mark.slow
@given(campaigns())
@settings(max_examples=examples(150))
def test_pairs_have_one_task_or_two_people_and_loads_are_even(campaign: tuple[Tasks, list[str], int]) -> None:
    tasks, annotators, seed = campaign
    assigned = assign_tasks(tasks, annotators, seed=seed)
    for batch, kind in ((1, TASK), (2, OVERLAP)):
        given_out = assigned.loc[assigned["kind"] == kind, "pair_id"]
        assert sorted(tasks.loc[tasks["batch"] == batch, "pair_id"]) == sorted(given_out)
    assert not assigned.duplicated(["annotator_id", "pair_id"]).any()
    assert are_even(assigned, annotators)


@given(campaigns(), st.randoms())
@settings(max_examples=examples(50))
def test_no_order_matters_and_inputs_stay(campaign: tuple[Tasks, list[str], int], random: object) -> None:
    tasks, annotators, seed = campaign
    before = tasks.copy(deep=True)
    shuffled = Tasks(tasks.sample(frac=1, random_state=seed + 1))
    expected = assign_tasks(tasks, annotators, seed=seed)
    pd.testing.assert_frame_equal(expected, assign_tasks(shuffled, annotators[::-1], seed=seed))
    pd.testing.assert_frame_equal(before, tasks)


def test_queues_are_in_random_orders_of_their_own_and_another_seed_gives_others() -> None:
    controls = tasks_of(30, prefix="c")
    queues = [
        list(queue["pair_id"])
        for seed in (0, 1)
        for _, queue in assign_tasks(tasks_of(0), ["ann", "bob"], controls=controls, seed=seed).groupby(
            "annotator_id"
        )
    ]
    assert len({tuple(queue) for queue in queues}) == 4
    assert len({tuple(sorted(queue)) for queue in queues}) == 1


def test_training_comes_first_in_its_own_order_and_controls_lie_among_the_tasks() -> None:
    others = {"training": tasks_of(12, prefix="t"), "controls": tasks_of(5, prefix="c")}
    assigned = assign_tasks(tasks_of(40, 10), ["ann", "bob"], **others, seed=3)
    for _, queue in assigned.groupby("annotator_id"):
        training, controls = (queue[queue["kind"] == kind] for kind in (TRAINING, CONTROL))
        assert list(training["pair_id"]) == [f"t{n}" for n in range(12)]
        assert list(training["position"]) == list(range(1, 13))
        assert sorted(controls["pair_id"]) == [f"c{n}" for n in range(5)]
        assert controls["position"].min() < queue["position"].max() - 5  # not all of them at the end


def test_a_control_that_is_a_task_or_training_is_seen_once_as_such() -> None:
    assigned = assign_tasks(tasks_of(4), ["ann", "bob"], controls=tasks_of(4), seed=0)
    assert assigned["kind"].value_counts().to_dict() == {TASK: 4, CONTROL: 4}
    assigned = assign_tasks(tasks_of(0), ["ann"], training=tasks_of(2), controls=tasks_of(3), seed=0)
    assert assigned["kind"].value_counts().to_dict() == {TRAINING: 2, CONTROL: 1}


def test_weights_are_relative_loads_and_give_way_to_two_different_annotators_for_a_pair() -> None:
    assigned = assign_tasks(tasks_of(80, 20), {"ann": 3, "bob": 1, "cy": 1}, seed=0)
    assert loads_of(assigned) == {"ann": 60, "bob": 20, "cy": 20}
    assert loads_of(assign_tasks(tasks_of(10, 10), {"ann": 99, "bob": 1}, seed=0)) == {"ann": 10, "bob": 10}


def test_doubled_pairs_bring_all_annotators_together() -> None:
    assigned = assign_tasks(tasks_of(60, 60), ["a", "b", "c", "d"], seed=0)
    company = assigned.groupby("pair_id")["annotator_id"].agg(lambda names: "".join(sorted(names)))
    assert {"ab", "ac", "ad", "bc", "bd", "cd"} == set(company)


@cases("annotators", "message")
def test_bad_annotators_are_refused(annotators: Any, message: str) -> None:
    refused(message, assign_tasks, tasks_of(5, 3), annotators, seed=0, by=UsageError)


def test_pairs_that_do_not_fit_and_bad_seeds_are_refused() -> None:
    with pytest.raises(JoinError, match="2 training pairs are also tasks"):
        assign_tasks(tasks_of(3), ["ann"], training=tasks_of(2), seed=0)
    with pytest.raises(JoinError, match="3 doubled pairs are not in batch 1"):
        assign_tasks(Tasks(tasks_of(3, 3).query("batch == 2")), ["ann", "bob"])
    refused("seed is -1", assign_tasks, tasks_of(1), ["ann"], seed=-1, by=UsageError)
    with pytest.raises(UsageError, match=r"1 of 2 pairs have been seen by every annotator \(first: q p0\)"):
        assign_round(tasks_of(2), ["a", "b"], seen=seen_of({"p0": "ab"}), seed=0)


def seen_of(pairs: dict[str, str]) -> pd.DataFrame:
    rows = [(name, pair) for pair, who in pairs.items() for name in who]
    return pd.DataFrame(rows, columns=["annotator_id", "pair_id"])


def test_a_pair_is_asked_again_of_one_who_has_not_seen_it() -> None:
    seen = seen_of({"p0": "ab", "p1": "bc", "p2": "ac"})
    assigned = assign_round(tasks_of(3), ["a", "b", "c"], seen=seen, seed=0)
    asked = dict(zip(assigned["pair_id"], assigned["annotator_id"], strict=True))
    assert asked == {"p0": "c", "p1": "a", "p2": "b"}
    assert {ADJUDICATION} == set(assigned["kind"])


@given(st.integers(0, 30), names, st.integers(0, 3))
@settings(max_examples=examples(50))
def test_a_round_of_unseen_pairs_is_even(n_pairs: int, annotators: list[str], seed: int) -> None:
    assigned = assign_round(tasks_of(n_pairs), annotators, seen=seen_of({}), seed=seed)
    assert sorted(f"p{n}" for n in range(n_pairs)) == sorted(assigned["pair_id"])
    assert are_even(assigned, annotators)


def of_items(n_items: int, n_each: int, doubled: Collection[str] = ()) -> Tasks:
    """Return tasks of `n_each` captions for each item; the doubled items are judged twice."""
    rows: list[tuple[object, ...]] = []
    for item in range(n_items):
        for number in range(n_each):
            for batch in (1, 2) if f"m{item}" in doubled else (1,):
                ids = (f"p{item}-{number}", f"q{number}", f"d{item}", "t", f"m{item}", "g")
                rows.append((*ids, batch, len(rows) + 1))
    return check_tasks(pd.DataFrame(rows, columns=COLUMNS))


def pages_of(assigned: pd.DataFrame) -> pd.Series:
    """Return for each annotator and item how many pairs she has of it."""
    item = assigned["pair_id"].str.split("-").str[0]
    return assigned.groupby([assigned["annotator_id"], item]).size()


def test_with_several_captions_pages_go_to_people_whole() -> None:
    """6 items of 12 captions are 12 pages of 6 at up to 10 a page; two of the items are judged twice."""
    tasks = of_items(6, 12, {"m0", "m1"})
    assigned = assign_tasks(tasks, ["ann", "bob", "eve"], n_captions=10, seed=1)
    assert set(pages_of(assigned)) <= {6, 12}
    twice = assigned[assigned["pair_id"].str.startswith(("p0", "p1"))]
    assert (twice.groupby("pair_id")["annotator_id"].nunique() == 2).all()
    assert assigned[assigned["kind"] == OVERLAP].groupby("annotator_id").size().isin([6, 12, 18, 24]).all()
    loads = assigned.groupby("annotator_id").size() // 6
    assert loads.max() - loads.min() <= 1
    for _, own in assigned.sort_values("position").groupby("annotator_id"):
        items = own["pair_id"].str.split("-").str[0]
        assert (items != items.shift()).sum() == items.nunique()  # the pairs of an item come together
        assert list(items.unique()) != sorted(items.unique())


def test_controls_stand_among_the_captions_of_their_item() -> None:
    tasks, known = of_items(4, 5), of_items(1, 7).iloc[5:]
    controls = check_tasks(known.assign(position=[1, 2]))
    assigned = assign_tasks(tasks, ["ann"], controls=controls, n_captions=10, seed=3)
    own = assigned[assigned["pair_id"].str.startswith("p0")].sort_values("position")
    assert len(own) == 7
    assert own["position"].max() - own["position"].min() == 6
    assert not own["kind"].iloc[:2].eq(CONTROL).all()


def test_controls_find_room_on_a_page_of_tasks() -> None:
    """Ten tasks and a control of an item are two pages of six and five, drawn as such: five tasks each."""
    tasks, known = of_items(1, 10), of_items(1, 11).iloc[10:]
    assigned = assign_tasks(
        tasks, ["ann", "bob"], controls=check_tasks(known.assign(position=1)), n_captions=10, seed=3
    )
    assert list(assigned.groupby("annotator_id").size()) == [6, 6]


def test_pairs_asked_again_make_new_pages_of_who_can_judge_them() -> None:
    """Ann has seen half of the item's pairs; bob and eve can take all, and ann the other half."""
    tasks = of_items(2, 8)
    seen = pd.DataFrame({"annotator_id": "ann", "pair_id": [f"p0-{n}" for n in range(4)]})
    assigned = assign_round(tasks, ["ann", "bob", "eve"], seen=seen, n_captions=4)
    assert len(assigned) == 16
    assert not assigned.merge(seen).shape[0]
    assert set(pages_of(assigned)) <= {4, 8}
