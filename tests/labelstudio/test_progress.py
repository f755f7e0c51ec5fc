"""How far a campaign is, and which pairs are asked again."""

import math

import pandas as pd
import pytest
from campaigns import GUIDELINE, pairs_of, round_of, tasks_of
from records import record_of, rows_of

from fire_toolkit.campaign.ledger import DELETED, Origin, answer_rows
from fire_toolkit.campaign.progress import QueueProgress, measure_progress, total_progress
from fire_toolkit.campaign.records import Round
from fire_toolkit.campaign.rounds import assign_next_round
from fire_toolkit.campaign.views import answered_pairs, waiting_pairs
from fire_toolkit.errors import JoinError, UsageError

NAMES = {"2": "ann", "3": "bob", "4": "cy"}
ENTRY = round_of(tasks_of(8), training=tasks_of(1, prefix="t"), controls=tasks_of(2, prefix="c"))


def answered(
    queue: str, user: int, pairs: list[str], label: str | None, *, seconds: float | None = 5.0
) -> pd.DataFrame:
    """Return the ledger's rows of one label by one account at several pairs."""
    origin = Origin("s", "1", queue, "2026-12-01T00:00:00.000000Z", NAMES)
    rows = []
    for number, pair in enumerate(pairs):
        result = {"from_name": "relevance", "to_name": "video", "type": "choices"}
        annotation = {
            "id": number,
            "unique_id": f"{queue}{user}{pair}{label}",
            "completed_by": user,
            "updated_by": user,
            "was_cancelled": label is None,
            "updated_at": f"2026-11-01T00:00:{number:02d}.000000Z",
            "lead_time": seconds,
            "result": [{**result, "value": {"choices": [label]}}] if label else [],
        }
        task = {"id": number, "data": {"pair_id": pair}, "annotations": [annotation]}
        rows += answer_rows([task], origin, where="test")
    return rows_of(rows)


def ledger_of(*parts: pd.DataFrame) -> pd.DataFrame:
    return pd.concat(parts, ignore_index=True)


def progress_of(ledger: pd.DataFrame, rounds: tuple[Round, ...] = (ENTRY,)) -> dict[str, QueueProgress]:
    with record_of(rounds, ledger) as store:
        measured = measure_progress(store, guideline=GUIDELINE)
    return {f"{queue.round}/{queue.annotator_id}": queue for queue in measured}


def test_at_the_beginning_all_is_left_and_the_pace_unknown() -> None:
    found = progress_of(rows_of())["1/ann"]
    assert (found.n_tasks, found.n_done, found.n_left, found.n_training_left) == (7, 0, 7, 1)
    assert math.isnan(found.seconds)
    assert math.isnan(found.hours_left)
    assert math.isnan(found.control_accuracy)


def test_done_left_skipped_escalated_and_hours_are_told_apart() -> None:
    pairs = pairs_of(ENTRY.assignments, "ann")
    ledger = ledger_of(
        answered("1/ann", 2, pairs[:2], "relevant", seconds=30.0),
        answered("1/ann", 2, pairs[2:3], "ambiguous", seconds=60.0),
        answered("1/ann", 2, pairs[3:4], None),
    )
    found = progress_of(ledger)
    ann, bob = found["1/ann"], found["1/bob"]
    assert (ann.n_done, ann.n_skipped, ann.n_left, ann.n_training_left) == (3, 1, 3, 0)
    assert ann.n_escalated == 1
    assert ann.seconds == 30.0
    assert ann.hours_left == pytest.approx(3 * 30 / 3600)
    assert math.isnan(bob.seconds)
    assert bob.hours_left == pytest.approx(7 * 30 / 3600)  # at everybody's pace
    everything = total_progress(list(found.values()))
    assert (everything.n_tasks, everything.n_done, everything.annotator_id) == (14, 3, "all")
    assert everything.hours_left == pytest.approx(10 * 30 / 3600)


def test_controls_are_right_when_label_and_known_answer_agree() -> None:
    controls = [p for p in pairs_of(ENTRY.assignments, "ann") if p in set(known_pairs())]
    assert len(controls) == 2
    ledger = ledger_of(
        answered("1/ann", 2, controls[:1], "relevant"),
        answered("1/ann", 2, controls[1:], "irrelevant"),
        answered("1/bob", 3, controls[:1], "ambiguous"),
    )
    found = progress_of(ledger)
    assert (found["1/ann"].n_right, found["1/ann"].n_controls) == (1, 2)
    assert found["1/ann"].control_accuracy == 0.5
    assert found["1/bob"].n_controls == 0  # handed on: neither right nor wrong


def known_pairs() -> list[str]:
    rows = ENTRY.tasks.merge(ENTRY.controls, on=["query_id", "doc_id"])
    return list(rows["pair_id"])


def test_deleted_answers_and_those_of_no_queue_do_not_count() -> None:
    pairs = pairs_of(ENTRY.assignments, "ann")
    there = answered("1/ann", 2, pairs[:2], "relevant")
    gone = there.head(1).assign(state=DELETED, seen_at="2026-12-02T00:00:00.000000Z")
    strange = answered("1/ann", 2, [tasks_of(1, prefix="z")["pair_id"][0]], "relevant")
    ledger = ledger_of(there, gone, strange)
    assert progress_of(ledger)["1/ann"].n_done == 1
    assert len({pair for queue, pair in answered_pairs(record_of([ENTRY], ledger)) if pair in pairs}) == 1


def test_an_export_counts_for_the_annotator_whom_the_pair_was_given() -> None:
    pairs = pairs_of(ENTRY.assignments, "bob")
    assert progress_of(answered("", 3, pairs[:3], "relevant"))["1/bob"].n_done == 3


def answers_to(entry: Round) -> pd.DataFrame:
    """Return an answer to each task of a round, so that nothing in it waits."""
    parts = [
        answered(f"1/{name}", user, pairs_of(entry.assignments, name), "relevant")
        for name, user in (("ann", 2), ("bob", 3))
    ]
    return ledger_of(*parts)


def pairs_table(tasks: pd.DataFrame) -> pd.DataFrame:
    return tasks[["query_id", "doc_id"]]


def next_round(
    asked: pd.DataFrame,
    rounds: list[Round],
    rows: pd.DataFrame,
    annotators: list[str],
    *,
    number: int = 2,
    seed: int = 0,
) -> Round | None:
    with record_of(rounds, rows) as store:
        return assign_next_round(asked, ENTRY.tasks, store, annotators, number=number, seed=seed)


def test_another_round_goes_to_those_who_have_not_seen_a_pair() -> None:
    asked = tasks_of(8)
    planned = next_round(pairs_table(asked), [ENTRY], answers_to(ENTRY), ["ann", "bob", "cy"], seed=1)
    assert planned is not None
    assert planned.number == 2
    assert set(planned.assignments["kind"]) == {"adjudication"}
    given = set(zip(ENTRY.assignments["annotator_id"], ENTRY.assignments["pair_id"], strict=True))
    again = set(zip(planned.assignments["annotator_id"], planned.assignments["pair_id"], strict=True))
    assert not given & again
    assert sorted(planned.assignments["pair_id"]) == sorted(asked["pair_id"])


def test_who_answered_without_being_asked_has_seen_the_pair() -> None:
    asked = tasks_of(1)
    over = ledger_of(answers_to(ENTRY), answered("1/ann", 4, list(asked["pair_id"]), "relevant"))
    with pytest.raises(UsageError, match="1 of 1 pairs have been seen by every annotator"):
        next_round(pairs_table(asked), [ENTRY], over, ["cy"])


def test_pairs_that_wait_are_not_asked_twice_and_answered_ones_may_be() -> None:
    asked = tasks_of(3)
    done = answers_to(ENTRY)
    second = next_round(pairs_table(asked), [ENTRY], done, ["cy"])
    assert second is not None
    assert next_round(pairs_table(asked), [ENTRY, second], done, ["di"]) is None
    assert len(waiting_pairs(record_of([ENTRY, second], done))) == 3
    done = ledger_of(done, answered("2/cy", 4, list(second.assignments["pair_id"])[:1], "relevant"))
    third = next_round(pairs_table(asked), [ENTRY, second], done, ["cy", "di"], number=3)
    assert third is not None
    assert third.number == 3
    assert len(waiting_pairs(record_of([ENTRY, second], done))) == 2
    assert third.assignments["annotator_id"].tolist() == ["di"]


def test_pairs_that_were_never_a_task_are_refused() -> None:
    strange = pd.DataFrame({"query_id": ["x"], "doc_id": ["y"]})
    with pytest.raises(JoinError, match=r"1 of 1 pairs were never a task of this campaign \(x y\)"):
        next_round(strange, [ENTRY], rows_of(), ["cy"])
