"""How far a campaign is: for each queue what is done and left, its pace, how controls were judged."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from fire_toolkit.campaign.answers import Answer, read_rows
from fire_toolkit.campaign.ledger import DELETED, Ledger
from fire_toolkit.campaign.ledger_judgments import answers_asked
from fire_toolkit.campaign.queues import TRAINING
from fire_toolkit.campaign.records import QueueName, Round, queue_named
from fire_toolkit.campaign.tasks import split_pair_id
from fire_toolkit.errors import FormatError
from fire_toolkit.guidelines.model import Grades, Guideline
from fire_toolkit.tables import ELSEWHERE


@dataclass(frozen=True)
class QueueProgress:
    """The state of a queue.

    n_done: tasks with an answer; n_skipped: tasks that were only skipped; n_left; n_training_left: of
    these, training; n_escalated: answers that are not votes; seconds: median time of an answer, nan if
    unknown; hours_left: at that time (or everybody's), nan if unknown; n_controls: votes on pairs whose
    answer is known; n_right: of these, right.
    """

    round: int
    annotator_id: str
    n_tasks: int
    n_done: int
    n_skipped: int
    n_left: int
    n_training_left: int
    n_escalated: int
    seconds: float
    hours_left: float
    n_controls: int
    n_right: int

    @property
    def control_accuracy(self) -> float:
        """The share of controls that were judged right; nan if none was judged."""
        return self.n_right / self.n_controls if self.n_controls else math.nan


@dataclass(frozen=True)
class _Seen:
    label: str
    is_skipped: bool
    seconds: float


def measure_progress(rounds: Sequence[Round], ledger: Ledger, *, guideline: Guideline) -> list[QueueProgress]:
    """Return the progress of each queue, by round and annotator.

    Args:
        rounds: what was asked of whom.
        ledger: all rows.
        guideline: the grades of labels: a control is right if label and known answer are both positive (from
            grade 1), or neither; an escalated control counts as neither right nor wrong.
    """
    seen = _answers_by_queue(ledger, rounds)
    everybody = median_seconds(seen.values())
    found: dict[tuple[int, str], QueueProgress] = {}
    for entry in rounds:
        columns = (entry.controls[name].tolist() for name in ("query_id", "doc_id", "relevance"))
        known = {
            (query_id, doc_id): int(relevance) for query_id, doc_id, relevance in zip(*columns, strict=True)
        }
        asked: dict[str, list[tuple[str, str, _Seen | None]]] = {}
        columns = (entry.assignments[name].tolist() for name in ("annotator_id", "pair_id", "kind"))
        for name, pair, kind in zip(*columns, strict=True):
            asked.setdefault(name, []).append((pair, kind, seen.get((QueueName(entry.number, name), pair))))
        for name, own in asked.items():
            queue = QueueName(entry.number, name)
            found[entry.number, name] = _queue_progress(queue, own, known, guideline.grades, everybody)
    return [found[key] for key in sorted(found)]


def answered_pairs(ledger: Ledger, rounds: Sequence[Round]) -> set[tuple[str, str]]:
    """Return (queue, pair) of every answer that is there and no skip."""
    found = _answers_by_queue(ledger, rounds)
    return {(str(queue), pair) for (queue, pair), answer in found.items() if not answer.is_skipped}


def left_pairs(ledger: Ledger, rounds: Sequence[Round]) -> dict[int, set[tuple[str, str]]]:
    """Return for each round (annotator, pair) of every task of its queues that has no answer and no skip."""
    found = _answers_by_queue(ledger, rounds)
    return {
        entry.number: {
            (name, pair)
            for name, pair in zip(
                *(entry.assignments[name].tolist() for name in ("annotator_id", "pair_id")), strict=True
            )
            if (QueueName(entry.number, name), pair) not in found
        }
        for entry in rounds
    }


def judgment_seconds(ledger: Ledger, rounds: Sequence[Round]) -> float:
    """Return the median time of an answer, in seconds; nan if there is none."""
    return median_seconds(_answers_by_queue(ledger, rounds).values())


def median_seconds(answers: Iterable[_Seen]) -> float:
    """Return the median time of answers that are not skips and have one; nan if there is none."""
    known = [a.seconds for a in answers if not a.is_skipped and not math.isnan(a.seconds)]
    return median(known) if known else math.nan


def _answers_by_queue(ledger: Ledger, rounds: Sequence[Round]) -> dict[tuple[QueueName, str], _Seen]:
    """Return the answer of each queue to each pair: a vote before a skip, a later before an earlier one."""
    answers = answers_asked(ledger, rounds)
    is_asked = (answers["state"] != DELETED) & (answers["pair_id"] != "") & (answers["kind"] != ELSEWHERE)
    answers = answers[is_asked].sort_values("updated_at", kind="stable")
    found: dict[tuple[QueueName, str], _Seen] = {}
    names = ("queue", "round", "annotator_id", "pair_id", "answer")
    queues, numbers, people, pairs, texts = (answers[name].tolist() for name in names)
    contents = map(_seen, _read(pairs, texts), texts)
    for queue, number, annotator_id, pair, content in zip(
        queues, numbers, people, pairs, contents, strict=True
    ):
        name = queue_named(queue) or QueueName(number, annotator_id)
        if content is None:
            continue  # a page was sent without an answer to this caption: it is still to be judged
        earlier = found.get((name, pair))
        if earlier is None or earlier.is_skipped or not content.is_skipped:
            found[name, pair] = content
    return found


def _read(pairs: Sequence[str], texts: Sequence[str]) -> Sequence[Answer | None]:
    """Return the answer in each row; None where it cannot be read."""
    try:
        return read_rows(pairs, texts, where="ledger")
    except FormatError:
        if len(pairs) == 1:
            return [None]
        return [found for pair, text in zip(pairs, texts, strict=True) for found in _read([pair], [text])]


def _seen(answer: Answer | None, text: str) -> _Seen | None:
    """Return what an answer says; None if it is of a page that was sent without one to this caption."""
    if answer is None:
        return _Seen("", True, math.nan)
    label = answer.labels[0] if len(answer.labels) == 1 else ""
    if not label and not answer.is_skipped and "page" in json.loads(text):
        return None
    return _Seen(label, answer.is_skipped, answer.duration_s)


def _queue_progress(
    name: QueueName,
    asked: Sequence[tuple[str, str, _Seen | None]],
    known: Mapping[tuple[str, str], int],
    grades: Grades,
    everybody: float,
) -> QueueProgress:
    """Return the progress of a queue.

    asked: pair, kind and answer of each task; known: the relevance of each control; everybody: the median
    time of all answers.
    """
    votes = [(pair, answer) for pair, _, answer in asked if answer and not answer.is_skipped]
    n_skipped = sum(answer is not None and answer.is_skipped for *_, answer in asked)
    n_left = len(asked) - len(votes) - n_skipped
    of_controls = [(known.get(split_pair_id(pair)), answer.label) for pair, answer in votes] if known else []
    are_right = [
        (relevance >= 1) == (grade >= 1)
        for relevance, label in of_controls
        if relevance is not None and (grade := grades.get(label)) is not None
    ]
    own = median_seconds(answer for _, answer in votes)
    seconds = everybody if math.isnan(own) else own
    return QueueProgress(
        round=name.round,
        annotator_id=name.annotator_id,
        n_tasks=len(asked),
        n_done=len(votes),
        n_skipped=n_skipped,
        n_left=n_left,
        n_training_left=sum(kind == TRAINING and not answer for _, kind, answer in asked),
        n_escalated=sum(grades.get(answer.label, 0) is None for _, answer in votes),
        seconds=own,
        hours_left=n_left * seconds / 3600 if n_left else 0.0,
        n_controls=len(are_right),
        n_right=sum(are_right),
    )


def total_progress(queues: Sequence[QueueProgress]) -> QueueProgress:
    """Return the sum over queues, under the name `all` and round 0; seconds: the median of the medians."""
    known = [queue.seconds for queue in queues if not math.isnan(queue.seconds)]
    sums = {
        name: sum(getattr(queue, name) for queue in queues)
        for name in QueueProgress.__annotations__
        if name.startswith("n_") or name == "hours_left"
    }
    return QueueProgress(round=0, annotator_id="all", seconds=median(known) if known else math.nan, **sums)


def load_of(entry: Round) -> dict[str, dict[str, int]]:
    """Return how many tasks of each kind each annotator has."""
    found: dict[str, dict[str, int]] = {}
    columns = (entry.assignments[name] for name in ("annotator_id", "kind"))
    for annotator_id, kind in zip(*columns, strict=True):
        kinds = found.setdefault(annotator_id, {})
        kinds[kind] = kinds.get(kind, 0) + 1
    return found
