"""`status` and `progress` say from kept counts what they say when all is counted anew."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parents[1] / "labelstudio"))

from growing import World

from examples import THOROUGH, seeds
from fire_toolkit.agreement import live
from fire_toolkit.campaign.carrier import fetched
from fire_toolkit.campaign.ledger import STATES, read_ledger
from fire_toolkit.campaign.progress import _answers_by_queue, answered_pairs, left_pairs
from fire_toolkit.campaign.records import LEDGER_FOLDER, QueueName, read_rounds
from fire_toolkit.campaign.tasks import split_pair_id
from fire_toolkit.cli import extending, fetching, main, standing
from fire_toolkit.errors import FormatError
from fire_toolkit.guidelines.model import Guideline

COMMANDS = (["status"], ["progress", "--format", "json"])


class Killed(BaseException):
    pass


class Watched(World):
    """A workspace that changes at random, also while it is looked at; what followed."""

    def __init__(self, root: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(root, seed, standing.RECORD, extending.RECORD, "judgments/judgments.csv")
        self.n_followed = self.n_kept = 0
        monkeypatch.chdir(root)
        followed = standing._followed

        def counted(*arguments: object) -> standing.Counts | None:
            found = followed(*arguments)
            self.n_followed += found is not None
            return found

        monkeypatch.setattr(standing, "_followed", counted)

    def edit_by_hand(self) -> None:
        """Take a line out of what was asked, or out of the known answers."""
        path = self.root / "campaign" / "round-1" / self.chance.choice(["assignments.csv", "controls.csv"])
        lines = path.read_bytes().splitlines(keepends=True)
        if len(lines) > 2:
            lines.pop(self.chance.randrange(1, len(lines)))
        path.write_bytes(b"".join(lines))

    def pull(self) -> None:
        """Derive the judgments, as a pull does."""
        fetching.derive_judgments(self.root, fetched(dict.fromkeys(STATES, 0), n_projects=1), as_json=False)

    def change(self) -> None:
        self.chance.choices([self.live, self.pull, self.edit_by_hand], [20, 8, 1])[0]()

    def look(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Count, while somebody else changes the campaign, or be killed at a write."""
        state, flush = standing._state, os.fsync
        moment = self.chance.choice(["", "before", "after", "killed"])
        left = ["before", "after"]

        def changed(*arguments: object) -> list[object]:
            is_now = bool(left) and left.pop(0) == moment
            if is_now and moment == "after":
                self.change()
            found = state(*arguments)
            if is_now and moment == "before":
                self.change()
            return found

        def killed(handle: int) -> None:
            if moment == "killed":
                raise Killed
            flush(handle)

        with monkeypatch.context() as patch:
            patch.setattr(standing, "_state", changed)
            patch.setattr(os, "fsync", killed if moment == "killed" else flush)
            try:
                standing.queues_now(self.root, fetching.guideline_of(self.root))
            except (Killed, FormatError):  # a segment that was lost between two looks is named
                return


def said(command: list[str]) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, command)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def said_anew(command: list[str], root: Path) -> tuple[int, str, str]:
    """Return what a command says where nothing is kept, and leave what was kept as it was."""
    kept = {path: path.read_bytes() for path in root.glob(".fire-*") if path.suffix != ".lock"}
    for path in kept:
        path.unlink()
    try:
        return said(command)
    finally:
        for path, content in kept.items():
            path.write_bytes(content)


@pytest.mark.parametrize("seed", seeds(5))
def test_kept_counts_are_those_counted_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(live, "RESAMPLING", replace(live.RESAMPLING, n_resamples=20))
    world = Watched(tmp_path / "work", seed, monkeypatch)
    for _ in range(40):
        world.append()
    world.pull()
    for _ in range(10 if THOROUGH else 4):
        for _ in range(world.chance.choice([0, 1, 1, 2])):
            world.change()
        world.look(monkeypatch)
        for command in COMMANDS:
            assert said(command) == said_anew(command, world.root)
        rules = fetching.guideline_of(world.root)
        check_numbers(world.root, rules)
    assert world.n_followed > 0


def check_numbers(root: Path, rules: Guideline) -> None:
    """Compare the kept counts with a count of each queue by itself."""
    ledger, rounds = read_ledger(root / LEDGER_FOLDER), read_rounds(root)
    there = {QueueName(queue.round, queue.annotator_id): queue for queue in standing.queues_now(root, rules)}
    done, left = answered_pairs(ledger, rounds), left_pairs(ledger, rounds)
    labels = {key: answer.label for key, answer in _answers_by_queue(ledger, rounds).items()}
    queues = 0
    for entry in rounds:
        known = {
            (query_id, doc_id): relevance >= 1
            for query_id, doc_id, relevance in entry.controls[["query_id", "doc_id", "relevance"]].itertuples(
                index=False
            )
        }
        for annotator_id, rows in entry.assignments.groupby("annotator_id"):
            own, name = there[QueueName(entry.number, str(annotator_id))], str(annotator_id)
            pairs = [pair for pair in rows["pair_id"] if (f"{entry.number}/{name}", pair) in done]
            waiting = {pair for who, pair in left[entry.number] if who == name}
            grades = [
                (pair, rules.grades.get(labels[QueueName(entry.number, name), pair], 0)) for pair in pairs
            ]
            right = [
                known[split_pair_id(pair)] == (grade >= 1)
                for pair, grade in grades
                if split_pair_id(pair) in known
                and grade is not None
                and labels[QueueName(entry.number, name), pair]
            ]
            is_training = rows["kind"] == "training"
            assert (own.n_tasks, own.n_done, own.n_left) == (len(rows), len(pairs), len(waiting))
            assert own.n_skipped == own.n_tasks - own.n_done - own.n_left
            assert own.n_training_left == rows["pair_id"][is_training].isin(waiting).sum()
            assert own.n_escalated == sum(grade is None for _, grade in grades)
            assert (own.n_controls, own.n_right) == (len(right), sum(right))
            queues += 1
    assert queues == len(there)
