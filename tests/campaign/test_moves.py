"""Tasks that change hands: none is lost, nobody has one twice, and no control stands out."""

import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[1] / "labelstudio"))

from campaigns import round_of, tasks_of
from records import moved_round

from examples import examples, seeds
from fire_toolkit.campaign.moves import move_tasks
from fire_toolkit.campaign.queues import CONTROL, OVERLAP, TASK, TRAINING, Assignments, check_assignments
from fire_toolkit.campaign.records import Round, add_moves, read_rounds, write_round

ENTRY = round_of(
    tasks_of(20, overlap=0.3),
    ("ann", "bob"),
    training=tasks_of(2, prefix="t"),
    controls=tasks_of(4, prefix="c"),
)
Key = tuple[str, str]


def keys(assignments: Assignments, *kinds: str) -> list[Key]:
    rows = assignments[assignments["kind"].isin(kinds)] if kinds else assignments
    return list(zip(rows["annotator_id"], rows["pair_id"], strict=True))


def votes(assignments: Assignments) -> list[str]:
    return sorted(pair for _, pair in keys(assignments, TASK, OVERLAP))


def moved(
    left: set[Key], sources: list[str], targets: list[str], *, is_share: bool = False, entry: Round = ENTRY
) -> tuple[pd.DataFrame, Assignments]:
    seen = keys(entry.assignments)
    moves = move_tasks(entry.assignments, left, sources, targets, seen=seen, batch=1, is_share=is_share)
    return moves, moved_round(entry, moves).assignments


def test_what_is_not_answered_goes_to_others_and_answers_stay() -> None:
    mine = [key for key in keys(ENTRY.assignments, TASK, OVERLAP) if key[0] == "ann"]
    left = {key for key in keys(ENTRY.assignments) if key not in mine[:3]}
    _, now = moved(left, ["ann"], ["cy", "di"])
    assert votes(now) == votes(ENTRY.assignments)
    assert keys(now, TASK, OVERLAP)[:3] == mine[:3]
    loads = [len([key for key in keys(now, TASK, OVERLAP) if key[0] == name]) for name in ("cy", "di")]
    assert sum(loads) == len(mine) - 3
    assert abs(loads[0] - loads[1]) <= 1


def test_who_has_seen_a_pair_does_not_get_it() -> None:
    doubled = {pair for _, pair in keys(ENTRY.assignments, OVERLAP)}
    moves, now = moved(set(keys(ENTRY.assignments)), ["ann"], ["bob"])
    assert not doubled & set(moves["pair_id"])
    assert {pair for name, pair in keys(now, TASK, OVERLAP) if name == "ann"} == doubled
    assert not now[["annotator_id", "pair_id"]].duplicated().any()


def test_controls_are_withdrawn_with_the_last_task_and_not_before() -> None:
    left = set(keys(ENTRY.assignments))
    _, kept = moved(left, ["ann"], ["bob"])
    assert len([key for key in keys(kept, CONTROL) if key[0] == "ann"]) == 4
    _, gone = moved(left, ["ann"], ["cy"])
    assert [key for key in keys(gone) if key[0] == "ann"] == []
    done = {key for key in left if key[0] == "ann" and key in keys(ENTRY.assignments, TRAINING, CONTROL)}
    _, answered = moved(left - done, ["ann"], ["cy"])
    assert {key for key in keys(answered) if key[0] == "ann"} == done


def test_who_is_new_begins_with_the_training_and_has_the_usual_share_of_controls_among_her_tasks() -> None:
    _, now = moved(set(keys(ENTRY.assignments)), [], ["cy"])
    assert [key for key in keys(now) if key[0] == "cy"] == []
    _, now = moved(set(keys(ENTRY.assignments)), ["ann", "bob"], ["cy"], is_share=True)
    mine = now[now["annotator_id"] == "cy"].sort_values("position")
    kinds = list(mine["kind"])
    assert kinds[:2] == [TRAINING, TRAINING]
    n_votes = len([kind for kind in kinds if kind in (TASK, OVERLAP)])
    assert (n_votes, kinds.count(CONTROL)) == (8, 3)  # 26 votes of three people; 8 controls of 26 votes
    assert CONTROL not in kinds[-1:] or CONTROL not in kinds[2:3]
    loads = now[now["kind"].isin([TASK, OVERLAP])]["annotator_id"].value_counts()
    assert loads.max() - loads.min() <= 1


def test_what_is_appended_stands_behind_what_was_there() -> None:
    _, now = moved(set(keys(ENTRY.assignments)), ["ann"], ["bob"])
    before = ENTRY.assignments[ENTRY.assignments["annotator_id"] == "bob"]
    after = now[now["annotator_id"] == "bob"]
    assert list(after["pair_id"])[: len(before)] == list(before["pair_id"])


def test_moves_are_kept_and_only_grow(tmp_path: Path) -> None:
    write_round(tmp_path, ENTRY)
    left = set(keys(ENTRY.assignments))
    first, now = moved(left, ["ann"], ["cy"])
    add_moves(tmp_path, 1, first)
    (entry,) = read_rounds(tmp_path)
    assert keys(entry.assignments) == keys(now)
    write_round(tmp_path, entry)  # the same as it was drawn
    seen = list(zip(entry.given["annotator_id"], entry.given["pair_id"], strict=True))
    assert set(keys(ENTRY.assignments)) <= set(seen)
    second = move_tasks(entry.assignments, set(keys(entry.assignments)), ["cy"], ["ann"], seen=seen, batch=2)
    assert not len(second)  # she had them all before
    second = move_tasks(entry.assignments, set(keys(entry.assignments)), ["cy"], ["di"], seen=seen, batch=2)
    add_moves(tmp_path, 1, second)
    (entry,) = read_rounds(tmp_path)
    assert votes(entry.assignments) == votes(ENTRY.assignments)
    came = entry.given["batch"].value_counts()
    assert came[1] == (first["to_annotator_id"] != "").sum()
    assert came[2] == (second["to_annotator_id"] != "").sum()


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
    overlap = 0.0 if n_people == 1 else 0.4
    people = tuple("abcde"[:n_people])
    entry = round_of(tasks_of(15, overlap=overlap), people, controls=tasks_of(3, prefix="c"))
    now, every, done = entry.assignments, set(keys(entry.assignments)), list[pd.DataFrame]()
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
        done.append(moves)
        now = moved_round(entry, *done).assignments
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
    places = [
        [list(moves["pair_id"]).index(pair) for _, pair in PAGES if to.get(pair) == name] for name in to
    ]
    assert all(max(each) - min(each) == len(each) - 1 for each in places if each)
    counts = [sum(each == {name} for each in owners) for name in ("ann", "bob", "cy")]
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
