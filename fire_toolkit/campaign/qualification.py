"""Who has passed the training: a mark to reach, so many further tries, and nothing more below it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from fire_toolkit.campaign.ledger import ANSWERED, EDITED, Ledger
from fire_toolkit.campaign.progress import labels_given
from fire_toolkit.campaign.queues import TRAINING
from fire_toolkit.campaign.records import QueueName, Round
from fire_toolkit.campaign.tasks import split_pair_id
from fire_toolkit.guidelines.model import Grades

OPEN, PASSED, AGAIN, FAILED = "open", "passed", "again", "failed"


@dataclass(frozen=True)
class Qualification:
    """pass_mark: the share of the training to be right, 0 to 1; retries: how many further tries there are."""

    pass_mark: float
    retries: int = 0


@dataclass(frozen=True)
class Trained:
    """How a training went.

    n_known: pairs of the training whose answer is known; n_right: of these, right; n_tries: answers given to
    the pair that was answered most often, changes too; state: `open` (not all is answered), `passed`, `again`
    (below the mark, and there is another try), `failed`.
    """

    queue: QueueName
    n_tasks: int
    n_known: int
    n_right: int
    n_tries: int
    state: str


def training_results(
    rounds: Sequence[Round], ledger: Ledger, rule: Qualification, *, grades: Grades
) -> list[Trained]:
    """Return how the training of each queue went that has one, by round and annotator.

    Args:
        rounds: what was asked; their controls hold the known answers.
        ledger: all rows.
        rule: the mark and the tries.
        grades: an answer is right if label and known answer are both positive (from grade 1), or neither;
            a skip or an escalation is not right.

    A training of which no answer is known is passed when all of it is answered.
    """
    given = labels_given(ledger, rounds)
    tries = _tries(ledger)
    found = []
    for entry in rounds:
        rows = entry.controls[["query_id", "doc_id", "relevance"]].itertuples(index=False, name=None)
        answers_known = {(query_id, doc_id): relevance >= 1 for query_id, doc_id, relevance in rows}
        training = entry.assignments[entry.assignments["kind"] == TRAINING]
        for name, own in training.groupby("annotator_id", sort=True):
            queue = QueueName(entry.number, str(name))
            pairs = list(own["pair_id"])
            known = {
                pair: answers_known[ids] for pair in pairs if (ids := split_pair_id(pair)) in answers_known
            }
            answers = {pair: given[queue, pair] for pair in pairs if (queue, pair) in given}
            right = [
                pair
                for pair, label in answers.items()
                if pair in known and (grade := grades.get(label)) is not None and (grade >= 1) == known[pair]
            ]
            n_tries = max((tries[str(queue), pair] for pair in pairs), default=0)
            state = OPEN if len(answers) < len(pairs) else _state(len(right), len(known), n_tries, rule)
            found.append(Trained(queue, len(pairs), len(known), len(right), n_tries, state))
    return found


def _state(n_right: int, n_known: int, n_tries: int, rule: Qualification) -> str:
    if n_right >= rule.pass_mark * n_known:
        return PASSED
    return AGAIN if n_tries <= rule.retries else FAILED


def _tries(ledger: Ledger) -> Counter[tuple[str, str]]:
    """Return how often each pair was answered in each queue, changes counted too."""
    rows = ledger[ledger["state"].isin([ANSWERED, EDITED])]
    versions = rows.drop_duplicates(["annotation", "updated_at"])
    return Counter(zip(versions["queue"], versions["pair_id"], strict=True))
