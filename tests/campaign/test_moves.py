"""Tasks that change hands: none is lost, nobody has one twice, and no control stands out."""

from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from campaigns import round_of, tasks_of
from hypothesis import given, settings
from hypothesis import strategies as st
from records import copy_of, moved_round, record_of

from examples import examples, seeds
from fire_toolkit.campaign.queues import CONTROL, OVERLAP, TASK, TRAINING, Assignments, check_assignments
from fire_toolkit.campaign.records import Round, Rounds, add_moves
from fire_toolkit.campaign.rounds import move_tasks
from fire_toolkit.errors import FormatError

ENTRY = round_of(
    tasks_of(20, overlap=0.3),
    ("ann", "bob"),
    training=tasks_of(2, prefix="t"),
    controls=tasks_of(4, prefix="c"),
)
Key = tuple[str, str]


def keys(assignments: Assignments, *kinds: str, of: str = "") -> list[Key]:
    rows = assignments[assignments["kind"].isin(kinds)] if kinds else assignments
    found = list(zip(rows["annotator_id"], rows["pair_id"], strict=True))
    return [key for key in found if key[0] == of] if of else found


def votes(assignments: Assignments) -> list[str]:
    return sorted(pair for _, pair in keys(assignments, TASK, OVERLAP))


EVERY = set(keys(ENTRY.assignments))


def moved(
    sources: list[str], targets: list[str], left: set[Key] = EVERY, *, is_share: bool = False
) -> tuple[pd.DataFrame, Assignments]:
    given = ENTRY.assignments
    moves = move_tasks(given, left, sources, targets, seen=keys(given), batch=1, is_share=is_share)
    return moves, moved_round(ENTRY, moves).assignments


def test_who_has_seen_a_pair_does_not_get_it_and_others_stand_behind_what_was_there() -> None:
    doubled = {pair for _, pair in keys(ENTRY.assignments, OVERLAP)}
    moves, now = moved(["ann"], ["bob"])
    assert not doubled & set(moves["pair_id"])
    assert {pair for _, pair in keys(now, TASK, OVERLAP, of="ann")} == doubled
    assert not now[["annotator_id", "pair_id"]].duplicated().any()
    before = keys(ENTRY.assignments, of="bob")
    assert keys(now, of="bob")[: len(before)] == before


def test_moves_of_several_rounds_are_kept_all_or_none() -> None:
    moves, _ = moved(["ann"], ["bob"])
    with record_of([ENTRY]) as store:
        root = store.path.parent
    with pytest.raises(FormatError, match="NOT NULL"):
        add_moves(root, [(ENTRY, moves), (ENTRY, moves.assign(position=None))])
    assert Rounds(root)[0].hands is None


def test_controls_are_withdrawn_with_the_last_task_and_not_before() -> None:
    _, kept = moved(["ann"], ["bob"])
    assert len(keys(kept, CONTROL, of="ann")) == 4
    _, gone = moved(["ann"], ["cy"])
    assert keys(gone, of="ann") == []
    done = set(keys(ENTRY.assignments, TRAINING, CONTROL, of="ann"))
    _, answered = moved(["ann"], ["cy"], EVERY - done)
    assert set(keys(answered, of="ann")) == done


def test_who_is_new_begins_with_the_training_and_has_the_usual_share_of_controls_among_her_tasks() -> None:
    _, now = moved([], ["cy"])
    assert keys(now, of="cy") == []
    _, now = moved(["ann", "bob"], ["cy"], is_share=True)
    kinds = list(now[now["annotator_id"] == "cy"].sort_values("position")["kind"])
    assert kinds[:2] == [TRAINING, TRAINING]
    n_votes = kinds.count(TASK) + kinds.count(OVERLAP)
    assert (n_votes, kinds.count(CONTROL)) == (8, 3)  # 26 votes of three people; 8 controls of 26 votes
    assert CONTROL not in kinds[-1:] or CONTROL not in kinds[2:3]
    loads = now[now["kind"].isin([TASK, OVERLAP])]["annotator_id"].value_counts()
    assert loads.max() - loads.min() <= 1


@cache
def drawn_among(n_people: int) -> tuple[Round, Path]:
    """Return a round of so many people, and a record that holds it."""
    tasks = tasks_of(15, overlap=0.0 if n_people == 1 else 0.4)
    entry = round_of(tasks, tuple("abcde"[:n_people]), controls=tasks_of(3, prefix="c"))
    with record_of([entry]) as store:
        return entry, store.path


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(
            st.sets(st.sampled_from("abcde"), max_size=3),
            st.sets(st.sampled_from("abcdefg"), min_size=1, max_size=3),
            st.integers(0, 40),
        ),
        max_size=6,
    ),
    st.integers(1, 5),
    st.integers(0, 9),
)
@settings(max_examples=examples(200), deadline=None)
def test_whatever_changes_hands_no_vote_is_lost_and_nobody_is_given_a_pair_twice(
    steps: list[tuple[set[str], set[str], int]], n_people: int, seed: int
) -> None:
    entry, record = drawn_among(n_people)
    root = copy_of(record)
    now, every = entry.assignments, set(keys(entry.assignments))
    expected, answered = votes(now), set[Key]()
    for batch, (sources, targets, n_answered) in enumerate(steps, start=1):
        answered |= set(keys(now)[:: max(1, n_answered)]) if n_answered else set()
        left = set(keys(now)) - answered
        giving = (sources or set(now["annotator_id"])) - targets
        moves = move_tasks(
            now, left, giving, sorted(targets), seen=every, batch=batch, is_share=not sources, seed=seed
        )
        got = [key for key in zip(moves["to_annotator_id"], moves["pair_id"], strict=True) if key[0]]
        assert not every & set(got)
        assert len(set(got)) == len(got)
        every |= set(got)
        add_moves(root, [(ENTRY, moves)])
        now = Rounds(root)[0].assignments
        assert votes(now) == expected
        assert answered <= set(keys(now))
        doubled = [pair for _, pair in keys(now, TASK, OVERLAP)]
        assert max(doubled.count(pair) for pair in doubled) <= 2
        for name in giving:
            own = now[(now["annotator_id"] == name)]
            is_left = [key in left for key in keys(Assignments(own))]
            kinds = set(own["kind"][is_left])
            assert not kinds or kinds & {TASK, OVERLAP}


PAGES = {("ann", f"p{n}"): n // 3 for n in range(12)}  # four pages of three pairs


def of_pages(kinds: dict[str, str] | None = None) -> Assignments:
    rows = [("ann", pair, place, (kinds or {}).get(pair, TASK)) for place, (_, pair) in enumerate(PAGES, 1)]
    rows += [("bob", f"own{n}", n + 1, TASK) for n in range(3)]
    return check_assignments(pd.DataFrame(rows, columns=["annotator_id", "pair_id", "position", "kind"]))


def move_pages(assignments: Assignments, targets: list[str], **options: Any) -> pd.DataFrame:
    left = set(keys(assignments))
    seen = [*left, *options.pop("also_seen", ())]
    return move_tasks(assignments, left, ["ann"], targets, seen=seen, batch=1, page_of=PAGES, **options)


@pytest.mark.parametrize("seed", seeds(20))
@pytest.mark.parametrize("is_share", [False, True])
def test_a_page_moves_whole_or_not_at_all(seed: int, is_share: bool) -> None:
    moves = move_pages(of_pages(), ["bob", "cy"], is_share=is_share, seed=seed)
    to = dict(zip(moves["pair_id"], moves["to_annotator_id"], strict=True))
    owners = [{to.get(f"p{3 * page + n}", "ann") for n in range(3)} for page in range(4)]
    assert [len(each) for each in owners] == [1, 1, 1, 1]
    for name in to:
        places = [list(moves["pair_id"]).index(pair) for _, pair in PAGES if to.get(pair) == name]
        assert not places or max(places) - min(places) == len(places) - 1
    counts = [owners.count({name}) for name in ("ann", "bob", "cy")]
    # ann has 12 tasks, bob 3, cy none: shared, a page goes to cy and one to bob (6, 6 and 3); else all go
    assert counts == ([2, 1, 1] if is_share else [0, *counts[1:]])
    assert sum(counts) == 4


def test_a_page_of_which_the_target_has_seen_one_pair_stays() -> None:
    moves = move_pages(of_pages(), ["bob"], also_seen=[("bob", "p4")])
    assert sorted(moves["pair_id"]) == sorted(f"p{n}" for n in range(12) if n // 3 != 1)


def test_a_control_is_not_left_alone_on_a_page_that_moved() -> None:
    assignments = of_pages({"p0": CONTROL, "p3": CONTROL})
    moves = move_pages(assignments, ["bob"], also_seen=[("bob", "p4")])
    to = dict(zip(moves["pair_id"], moves["to_annotator_id"], strict=True))
    assert to["p1"] == to["p2"] == "bob"
    assert to["p0"] == ""  # asked of nobody any more
    assert "p3" not in to  # its page stays, for bob has seen p4
