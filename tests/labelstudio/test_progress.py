"""How far a campaign is, and which pairs are asked again."""

import math
from typing import Any

import pandas as pd
import pytest
from campaigns import GUIDELINE, pairs_of, round_of, tasks_of
from records import record_of, rows_of

from fire_toolkit.campaign.ledger import DELETED, Origin, answer_rows
from fire_toolkit.campaign.progress import measure_progress, with_total
from fire_toolkit.campaign.records import Round
from fire_toolkit.campaign.rounds import next_round
from fire_toolkit.campaign.views import answered_pairs, seen_pairs, waiting_pairs
from fire_toolkit.errors import UsageError
from fire_toolkit.tables import Tasks

ENTRY = round_of(tasks_of(8), training=tasks_of(1, prefix="t"), controls=tasks_of(2, prefix="c"))


def answered(
    queue: str, user: int, pairs: list[str], label: str | None, seconds: float = 5.0
) -> pd.DataFrame:
    """Return the ledger's rows of one label by one account at several pairs."""
    origin = Origin("s", "1", queue, "2026-12-01T00:00:00.000000Z", {"2": "ann", "3": "bob", "4": "cy"})
    result = {"from_name": "relevance", "to_name": "video", "type": "choices", "value": {"choices": [label]}}
    rows = []
    for number, pair in enumerate(pairs):
        annotation = {
            "id": number,
            "unique_id": f"{queue}{user}{pair}{label}",
            "completed_by": user,
            "updated_by": user,
            "was_cancelled": label is None,
            "updated_at": f"2026-11-01T00:00:{number:02d}.000000Z",
            "lead_time": seconds,
            "result": [result] if label else [],
        }
        task = {"id": number, "data": {"pair_id": pair}, "annotations": [annotation]}
        rows += answer_rows([task], origin, where="test")
    return rows_of(rows)


def progress_of(*parts: pd.DataFrame) -> dict[str, Any]:
    """Return a row for each queue, and one for all of them."""
    with record_of([ENTRY], pd.concat(parts)) as store:
        measured = with_total(measure_progress(store, guideline=GUIDELINE))
    return {f"{queue.round}/{queue.annotator_id}": queue for queue in measured.itertuples()}


def test_at_the_beginning_all_is_left_and_the_pace_unknown() -> None:
    found = progress_of(rows_of())["1/ann"]
    assert (found.n_tasks, found.n_done, found.n_left, found.n_training_left) == (7, 0, 7, 1)
    assert math.isnan(found.seconds)
    assert math.isnan(found.hours_left)
    assert math.isnan(found.control_accuracy)


def test_done_left_skipped_escalated_and_hours_are_told_apart() -> None:
    pairs = pairs_of(ENTRY.assignments, "ann")
    found = progress_of(
        answered("1/ann", 2, pairs[:2], "relevant", 30.0),
        answered("1/ann", 2, pairs[2:3], "ambiguous", 60.0),
        answered("1/ann", 2, pairs[3:4], None),
    )
    ann, bob = found["1/ann"], found["1/bob"]
    assert (ann.n_done, ann.n_skipped, ann.n_left, ann.n_training_left) == (3, 1, 3, 0)
    assert (ann.n_escalated, ann.seconds) == (1, 30.0)
    assert ann.hours_left == pytest.approx(3 * 30 / 3600)
    assert math.isnan(bob.seconds)
    assert bob.hours_left == pytest.approx(7 * 30 / 3600)  # at everybody's pace
    everything = found["0/all"]
    assert (everything.n_tasks, everything.n_done, everything.annotator_id) == (14, 3, "all")
    assert everything.hours_left == pytest.approx(10 * 30 / 3600)


def test_controls_are_right_when_label_and_known_answer_agree() -> None:
    known = set(ENTRY.tasks.merge(ENTRY.controls, on=["query_id", "doc_id"])["pair_id"])
    one, other = (pair for pair in pairs_of(ENTRY.assignments, "ann") if pair in known)
    found = progress_of(
        answered("1/ann", 2, [one], "relevant"),
        answered("1/ann", 2, [other], "irrelevant"),
        answered("", 3, [one], "ambiguous"),  # of an export: for whom the pair was given to
    )
    assert [found["1/ann"].n_right, found["1/ann"].n_controls, found["1/ann"].control_accuracy] == [1, 2, 0.5]
    assert (found["1/bob"].n_controls, found["1/bob"].n_escalated) == (0, 1)  # neither right nor wrong


def test_deleted_answers_and_those_of_no_queue_do_not_count() -> None:
    pairs = pairs_of(ENTRY.assignments, "ann")
    there = answered("1/ann", 2, pairs[:2], "relevant")
    gone = there.head(1).assign(state=DELETED, seen_at="2026-12-02T00:00:00.000000Z")
    strange = answered("1/ann", 2, [tasks_of(1, prefix="z")["pair_id"][0]], "relevant")
    assert progress_of(there, gone, strange)["1/ann"].n_done == 1
    with record_of([ENTRY], pd.concat([there, gone, strange])) as store:
        counted = answered_pairs(store)
    assert len({pair for queue, pair in counted if pair in pairs}) == 1


ANSWERS = [
    answered(f"1/{name}", number, pairs_of(ENTRY.assignments, name), "relevant")
    for number, name in ((2, "ann"), (3, "bob"))
]


def asked_again(rows: list[pd.DataFrame], asked: Tasks, *annotators: str) -> Round:
    """Return the round of tasks that are asked again after that of all; rows: what was answered in it."""
    with record_of([ENTRY], pd.concat(rows)) as store:
        return next_round(2, asked, annotators, seen=seen_pairs(store))


def test_who_answered_without_being_asked_has_seen_the_pair() -> None:
    asked = tasks_of(1)
    over = answered("1/ann", 4, list(asked["pair_id"]), "relevant")
    with pytest.raises(UsageError, match="1 of 1 pairs have been seen by every annotator"):
        asked_again([*ANSWERS, over], asked, "cy")


def test_pairs_wait_until_they_are_answered() -> None:
    asked = tasks_of(3)
    second = asked_again(ANSWERS, asked, "cy")
    assert set(second.assignments["kind"]) == {"adjudication"}
    done = answered("2/cy", 4, list(second.assignments["pair_id"])[:1], "relevant")
    for rows, n_waiting in ((ANSWERS, 3), ([*ANSWERS, done], 2)):
        with record_of([ENTRY, second], pd.concat(rows)) as store:
            assert len(waiting_pairs(store)) == n_waiting
            third = next_round(3, asked, ["cy", "di"], seen=seen_pairs(store))
        assert (third.number, {*third.assignments["annotator_id"]}) == (3, {"di"})
