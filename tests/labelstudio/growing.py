"""A campaign whose ledger, assignments and files change at random, for what has to follow them."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pandas as pd
from campaigns import CAMPAIGN, round_of, tasks_of

from fire_toolkit.campaign.ledger import (
    ANSWERED,
    DELETED,
    LEDGER,
    RESTORED,
    append_rows,
    check_ledger,
    read_ledger,
    row_id,
)
from fire_toolkit.campaign.ledger_compaction import compact_ledger
from fire_toolkit.campaign.moves import MOVES, check_moves
from fire_toolkit.campaign.records import LEDGER_FOLDER, add_moves, read_rounds, write_campaign, write_round

TASKS = tasks_of(45)
ROUND = round_of(TASKS, ("A02", "A03"), training=tasks_of(1, prefix="t"), controls=tasks_of(2, prefix="c"))
LATER = round_of(tasks_of(3), ("A04",))
PAIRS = [*ROUND.tasks["pair_id"]]
PEOPLE = ("A02", "A03", "A04", "")


class World:
    """A workspace that changes at random: answers, versions, deletions, moves, rounds, lost and spoilt files.

    spoilt: the files that may be spoilt.
    """

    def __init__(self, root: Path, seed: int, *spoilt: str) -> None:
        self.root, self.chance = root, random.Random(seed)
        self.has_pages = self.chance.random() < 0.5
        self.n_seen, self.spoilt = 0, spoilt
        root.mkdir()
        (root / "fire.toml").write_text("")
        write_campaign(root, CAMPAIGN)
        write_round(root, ROUND)

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
        """Cut a file that results are kept in, as somebody or a disk might."""
        path = self.root / self.chance.choice(self.spoilt)
        if path.is_file():
            path.write_bytes(path.read_bytes()[: self.chance.randrange(200)])

    def live(self) -> None:
        deeds = [self.append, self.merge, self.lose_segment, self.move, self.begin_round, self.spoil]
        deeds.append(lambda: compact_ledger(self.root / LEDGER_FOLDER, most_small=1))
        self.chance.choices(deeds, [80, 4, 2, 2, 2, 2, 3])[0]()
