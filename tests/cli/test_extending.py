"""Judgments that are extended by what new answers change are byte for byte those made anew."""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "labelstudio"))

from campaigns import CAMPAIGN, round_of, tasks_of

from examples import seeds
from fire_toolkit.campaign.carrier import fetched
from fire_toolkit.campaign.ledger import (
    ANSWERED,
    DELETED,
    LEDGER,
    RESTORED,
    STATES,
    append_rows,
    check_ledger,
    read_ledger,
    row_id,
)
from fire_toolkit.campaign.ledger_compaction import compact_ledger
from fire_toolkit.campaign.ledger_judgments import ledger_to_judgments
from fire_toolkit.campaign.moves import MOVES, check_moves
from fire_toolkit.campaign.records import LEDGER_FOLDER, add_moves, read_rounds, write_campaign, write_round
from fire_toolkit.cli import extending, fetching
from fire_toolkit.formats.tables.delimited import delimited_bytes

TASKS = tasks_of(45)
ROUND = round_of(TASKS, ("A02", "A03"), training=tasks_of(1, prefix="t"), controls=tasks_of(2, prefix="c"))
LATER = round_of(tasks_of(3), ("A04",))
PAIRS = [*ROUND.tasks["pair_id"]]
PEOPLE = ("A02", "A03", "A04", "")
NOTHING = fetched(dict.fromkeys(STATES, 0), n_projects=1)
FILES = ("judgments.csv", "dropped.csv")


class Killed(BaseException):
    pass


class World:
    """A workspace whose ledger grows at random, and how often its judgments were extended."""

    def __init__(self, root: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.chance = root, random.Random(seed)
        self.has_pages = self.chance.random() < 0.5
        self.n_extended = self.n_seen = 0
        root.mkdir()
        (root / "fire.toml").write_text("")
        write_campaign(root, CAMPAIGN)
        write_round(root, ROUND)
        monkeypatch.chdir(root)
        extended = extending.extended

        def counted(*arguments: object) -> extending.Derived | None:
            found = extended(*arguments)
            self.n_extended += found is not None
            return found

        monkeypatch.setattr(fetching, "extended", counted)

    def row(self) -> dict[str, str]:
        """A version of an answer, or what became of it; few answers and pairs, so that they meet."""
        chance = self.chance
        number, day = chance.randrange(3 * len(PAIRS)), chance.randint(10, 28)
        pair = PAIRS[number % len(PAIRS)] if chance.random() < 0.99 else chance.choice([*PAIRS, ""])
        name, moment = chance.choice(PEOPLE), f"2026-01-{day}T00:00:00.000000Z"
        self.n_seen += 1
        seen_at = f"2026-02-01T{self.n_seen // 60:02}:{self.n_seen % 60:02}:00.000000Z"
        state = chance.choices([ANSWERED, DELETED, RESTORED], [8, 1, 1])[0]
        chosen = chance.choice([["relevant"], ["irrelevant"], ["relevant"], ["relevant", "irrelevant"], []])
        result = [{"from_name": "relevance", "value": {"choices": chosen}}] if chosen else []
        if chance.random() < 0.2:
            result.append({"from_name": "comment", "value": {"text": ['"blurred", he said\nand cut']}})
        answer = {
            **{"id": number, "completed_by": 1, "updated_at": moment, "created_at": moment, "result": result},
            **{"lead_time": chance.choice([3, 4.5, None]), "was_cancelled": not chosen, "unique_id": ""},
        }
        if self.has_pages and pair and chance.random() < 0.8:
            answer |= {"page": f"page:{number % len(PAIRS) // 4}", "position": number % 4 + 1}
        source, project = chance.choice(["http://a", "http://b"]), chance.choice("12")
        key = f"u{number}"
        return {
            "row_id": row_id(source, project, key, moment, state, seen_at),
            **{"source": source, "project": project, "annotation": key, "updated_at": moment},
            **{"state": state, "seen_at": seen_at, "pair_id": pair, "task": str(number)},
            "queue": chance.choice(["1/A02", "1/A03", "2/A04", ""]),
            **{"annotator_id": name, "answer": json.dumps(answer, sort_keys=True, separators=(",", ":"))},
        }

    def append(self) -> None:
        rows = {row["row_id"]: row for row in (self.row() for _ in range(self.chance.choice([1, 1, 2, 9])))}
        table = pd.DataFrame(list(rows.values()), columns=list(LEDGER.names), dtype="str")
        append_rows(self.root / LEDGER_FOLDER, check_ledger(table))

    def merge(self) -> None:
        """Copy a segment that holds rows seen before, as of another site."""
        rows = read_ledger(self.root / LEDGER_FOLDER)
        append_rows(self.root / LEDGER_FOLDER, check_ledger(rows.sample(min(3, len(rows)), random_state=1)))

    def lose_segment(self) -> None:
        paths = sorted((self.root / LEDGER_FOLDER).glob("*.parquet"))
        if len(paths) > 1:
            self.chance.choice(paths).unlink()

    def move(self) -> None:
        pair = self.chance.choice(PAIRS)
        n_before = len(read_rounds(self.root)[0].moves)
        row = (n_before + 1, 1, "A02", "A03", pair, "task")
        add_moves(
            self.root, read_rounds(self.root)[0], check_moves(pd.DataFrame([row], columns=list(MOVES.names)))
        )

    def begin_round(self) -> None:
        write_round(self.root, replace(LATER, number=2))

    def spoil(self) -> None:
        """Change a file that the judgments are made from or are kept in, as somebody or a disk might."""
        name = self.chance.choice(["judgments/judgments.csv", "judgments/dropped.csv", extending.RECORD])
        path = self.root / name
        path.write_bytes(path.read_bytes()[: self.chance.randrange(200)])

    def live(self) -> None:
        deeds = [self.append, self.merge, self.lose_segment, self.move, self.begin_round, self.spoil]
        deeds.append(lambda: compact_ledger(self.root / LEDGER_FOLDER, most_small=1))
        self.chance.choices(deeds, [80, 4, 2, 2, 2, 2, 3])[0]()

    def derive(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Make the judgments, or be killed at one of the writes."""
        fsync, at = os.fsync, self.chance.choice([0] * 7 + [1, 2, 3, 4, 5])
        left = [at]

        def flush(handle: int) -> None:
            left[0] -= 1
            if left[0] == 0:
                raise Killed
            fsync(handle)

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", flush)
            try:
                fetching.derive_judgments(self.root, NOTHING, as_json=False)
            except Killed:
                return
        self.check()

    def check(self) -> None:
        rules = fetching.guideline_of(self.root)
        anew = fetching._made_anew(self.root, rules)
        written = {name: (self.root / "judgments" / name).read_bytes() for name in FILES}
        assert written == {name: delimited_bytes(anew.files[name]) for name in FILES}
        manifest = self.root / "judgments" / "judgments.csv.manifest.json"
        there = manifest.read_bytes()
        if self.chance.random() < 0.7:
            return
        copy = shutil.copytree(self.root, self.root.parent / "copy")
        os.chdir(copy)
        fetching.derive_judgments(copy, NOTHING, is_anew=True, as_json=False)
        os.chdir(self.root)
        assert (copy / "judgments" / manifest.name).read_bytes() == there
        shutil.rmtree(copy)


@pytest.mark.parametrize("seed", seeds(15))
def test_extended_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    world = World(tmp_path / "work", seed, monkeypatch)
    for _ in range(60):
        world.append()
    fetching.derive_judgments(world.root, NOTHING, as_json=False)
    for _ in range(12):
        for _ in range(world.chance.choice([0, 1, 1, 2])):
            world.live()
        world.derive(monkeypatch)
    assert world.n_extended > 0


def test_judgments_that_are_read_are_those_of_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path / "work", 2, monkeypatch)
    world.has_pages = False
    out = world.root / "judgments" / "judgments.csv"
    rules = fetching.guideline_of(world.root)
    n_read = 0
    for _ in range(8):
        world.append()
        assert extending.judgments_now(world.root, out, rules) is None
        fetching.derive_judgments(world.root, NOTHING, as_json=False)
        found = extending.judgments_now(world.root, out, rules)
        ledger, rounds = read_ledger(world.root / LEDGER_FOLDER), read_rounds(world.root)
        made = ledger_to_judgments(ledger, rounds, guideline=rules).judgments
        if found is not None and len(made):
            pd.testing.assert_frame_equal(found, made)
            n_read += 1
            out.unlink()
            assert extending.judgments_now(world.root, out, rules) is None
    assert n_read > 3
