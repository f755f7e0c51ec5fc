"""How far a campaign is: for each queue what is done and left, its pace, how controls were judged."""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import median

import pyarrow as pa
from pyarrow import compute

from fire_toolkit.campaign.answers import Answer, read_rows
from fire_toolkit.campaign.ledger import DELETED, Ledger
from fire_toolkit.campaign.ledger_judgments import answers_asked
from fire_toolkit.campaign.queues import TRAINING
from fire_toolkit.campaign.records import QueueName, Round, queue_named
from fire_toolkit.campaign.tasks import split_pair_id
from fire_toolkit.errors import FormatError
from fire_toolkit.guidelines.model import Grades, Guideline
from fire_toolkit.tables import ELSEWHERE

Counts = Counter[tuple[int, str, str, float]]  # round, annotator, of what, and of which seconds


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
    given = count_given(rounds)
    return progress_of(given + count_answers(ledger, rounds, guideline=guideline))


def count_given(rounds: Sequence[Round]) -> Counts:
    """Return how many tasks, and how many of training, each queue has."""
    counts: Counts = Counter()
    for entry in rounds:
        for name, kinds in load_of(entry).items():
            counts[entry.number, name, "tasks", 0.0] = sum(kinds.values())
            counts[entry.number, name, "training", 0.0] = kinds.get(TRAINING, 0)
    return +counts


def count_answers(ledger: Ledger, rounds: Sequence[Round], *, guideline: Guideline) -> Counts:
    """Return what the answers of each queue come to; round 0 without a name: those nobody was asked for.

    Of rows that share neither an answer nor a pair with others (`rows_beside`) the counts are a summand of
    those of the whole ledger. Arguments are as in `measure_progress`.
    """
    seen = _answers_by_queue(ledger, rounds)
    wanted = pa.array({pair for _, pair in seen}, pa.large_string())
    kinds: dict[tuple[int, str, str], str] = {}
    relevances: dict[tuple[int, str, str], int] = {}
    for entry in rounds:
        rows = entry.assignments
        is_wanted = compute.is_in(pa.array(rows["pair_id"].array, pa.large_string()), value_set=wanted)
        rows = rows[is_wanted.to_numpy(zero_copy_only=False)]
        columns = (rows[name].tolist() for name in ("annotator_id", "pair_id", "kind"))
        kinds |= {(entry.number, name, pair): kind for name, pair, kind in zip(*columns, strict=True)}
        columns = (entry.controls[name].tolist() for name in ("query_id", "doc_id", "relevance"))
        relevances |= {(entry.number, *key): int(known) for *key, known in zip(*columns, strict=True)}
    counts: Counts = Counter()
    for (queue, pair), answer in seen.items():
        kind = kinds.get((queue.round, queue.annotator_id, pair))
        key = (0, "") if kind is None else (queue.round, queue.annotator_id)
        if not answer.is_skipped and not math.isnan(answer.seconds):
            counts[(*key, "seconds", answer.seconds)] += 1
        if kind is None:
            continue
        what = ["skipped" if answer.is_skipped else "done", *(["trained"] if kind == TRAINING else [])]
        if not answer.is_skipped:
            known = relevances.get((queue.round, *split_pair_id(pair))) if relevances else None
            what += _judged(guideline.grades, answer.label, known)
        counts.update((*key, each, 0.0) for each in what)
    return counts


def _judged(grades: Grades, label: str, known: int | None) -> Iterator[str]:
    """Yield what an answer counts as: escalated, a control, a control that is right."""
    grade = grades.get(label, 0)
    if grade is None:
        yield "escalated"
    elif known is not None and label in grades:
        yield "controls"
        if (known >= 1) == (grade >= 1):
            yield "right"


def progress_of(counts: Counts) -> list[QueueProgress]:
    """Return the progress of each queue that has tasks, by round and annotator."""
    numbers: dict[tuple[int, str], Counter[str]] = defaultdict(Counter)
    times: dict[tuple[int, str], Counter[float]] = defaultdict(Counter)
    for (number, name, what, value), n in counts.items():
        if what == "seconds":
            times[number, name][value] = n
        else:
            numbers[number, name][what] = n
    everybody = _middle(sum(times.values(), Counter()))
    return [
        _queue_progress(QueueName(*key), own, _middle(times[key]), everybody)
        for key, own in sorted(numbers.items())
        if own["tasks"]
    ]


def _middle(times: Counter[float]) -> float:
    """Return the median of values that were counted; nan of none."""
    values, ends = sorted(times), list(accumulate(times[value] for value in sorted(times)))
    if not ends:
        return math.nan
    low, high = (values[bisect_right(ends, place)] for place in ((ends[-1] - 1) // 2, ends[-1] // 2))
    return low if low == high else (low + high) / 2


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


def _queue_progress(name: QueueName, n: Counter[str], own: float, everybody: float) -> QueueProgress:
    n_left = n["tasks"] - n["done"] - n["skipped"]
    seconds = everybody if math.isnan(own) else own
    return QueueProgress(
        round=name.round,
        annotator_id=name.annotator_id,
        n_tasks=n["tasks"],
        n_done=n["done"],
        n_skipped=n["skipped"],
        n_left=n_left,
        n_training_left=n["training"] - n["trained"],
        n_escalated=n["escalated"],
        seconds=own,
        hours_left=n_left * seconds / 3600 if n_left else 0.0,
        n_controls=n["controls"],
        n_right=n["right"],
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
