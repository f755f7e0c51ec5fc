"""What is kept of what counts: the same as all counted anew, whatever was cut short."""

import contextlib
import json
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from records import answer_row, day

from examples import THOROUGH, some
from fire_toolkit.campaign.counting import count_answers
from fire_toolkit.campaign.keys import pair_id
from fire_toolkit.campaign.numbers import add_given
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.views import record_to_judgments
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.formats.written import delimited_bytes

RULES = read_guideline("caption-relevance-v1")


def row(chance: random.Random, seen_at: str) -> dict[str, str]:
    """A version of one of 12 answers on 5 pairs, by anybody, in a queue or none, rarely on no pair."""
    number = chance.randrange(12)
    label, moment = chance.choice(["relevant", "irrelevant", "", "two"]), chance.randint(1, 9)
    names = ["relevant", "irrelevant"] if label == "two" else [label] if label else []
    result = [{"from_name": "relevance", "value": {"choices": names}}] if names else []
    if chance.random() < 0.3:
        result.append(
            {"from_name": "comment", "value": {"text": [chance.choice(["=1+1", 'a, "b"', "plain"])]}}
        )
    content = {"id": number, "updated_at": day(moment), "result": result, "was_cancelled": not names}
    columns = {
        "seen_at": seen_at,
        "pair_id": "" if chance.random() < 0.05 else pair_id(f"q{chance.randrange(5)}", "d,1"),
        "task": str(number),
        "queue": chance.choice(["", "", "1/A01", "2/A02"]),
        "annotator_id": chance.choice(["", "A01", "A02", 'ann,"o']),
        "answer": json.dumps(content | {"lead_time": chance.choice([3, 0.1 + 0.2, None])}),
    }
    return answer_row(f"a{number}", day(moment), **columns)


def step(path: Path, chance: random.Random) -> None:
    """Something that happens to a record: answers come or are gone, or tasks are given."""
    with Store(path, shows_now=chance.random() < 0.5) as store:
        if (kind := chance.random()) < 0.6:
            store.add_answers([row(chance, store.now()) for _ in range(chance.randint(1, 4))])
        elif kind < 0.75:
            gone = store.missing(
                "http://server", "1", seen=[f"a{n}" for n in range(12) if chance.random() < 0.8]
            )
            store.add_deleted(gone, store.now())
        else:
            name, number = chance.choice(["A01", "A02"]), chance.randint(1, 2)
            key, kind_of = (
                pair_id(f"q{chance.randrange(5)}", "d,1"),
                chance.choice(["task", "control", "overlap", "training"]),
            )
            with store.transaction() as db:
                given = [number, 0, chance.randrange(9), "", name, key, kind_of]
                add_given(db, [tuple(given)])


def bytes_of(store: Store) -> tuple[bytes, ...]:
    """The judgments, what counts for none, what is said of it, and the table that they are made of."""
    found = record_to_judgments(store, guideline=RULES)
    tables = (found.judgments, found.dropped, store.table("select * from counted order by number"))
    return (*map(delimited_bytes, tables), "\n".join(found.notes).encode())


@pytest.mark.parametrize("seed", some(range(12), 4))
def test_what_is_kept_counts_as_all_counted_anew(tmp_path: Path, seed: int) -> None:
    chance, path = random.Random(seed), tmp_path / "campaign.sqlite"
    with Store(path) as store:
        store.add_answers([row(chance, store.now())])
    for _ in range(20 if THOROUGH else 8):
        for _ in range(chance.choice([1, 1, 2])):
            step(path, chance)
        with Store(path) as store:
            found = bytes_of(store)
            store.check()
        shutil.copy(path, anew := tmp_path / "anew.sqlite")
        with contextlib.closing(sqlite3.connect(anew)) as db, db:
            db.executescript("drop table counted; drop table counted_so_far")
        with Store(anew) as store:
            assert bytes_of(store) == found


_COUNTER = """
import os, signal, sys
from pathlib import Path
from fire_toolkit.campaign.counting import count_answers
from fire_toolkit.campaign.store import Store
store = Store(Path(sys.argv[1]))
left = [int(sys.argv[2])]
def one_more():
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
store._db.set_progress_handler(one_more, 20)
count_answers(store)
"""


@pytest.mark.slow
def test_killed_while_it_counts_the_record_counts_right(tmp_path: Path) -> None:
    chance, path = random.Random(3), tmp_path / "campaign.sqlite"
    for _ in range(20):
        step(path, chance)
    with Store(path) as store:
        count_answers(store)
    for _ in range(30):
        step(path, chance)
    whole, n_steps = tmp_path / "whole.sqlite", [0]
    shutil.copy(path, whole)
    with Store(whole) as store:
        store._db.set_progress_handler(lambda: n_steps.__setitem__(0, n_steps[0] + 1), 20)
        count_answers(store)
        store._db.set_progress_handler(None, 0)
        expected = bytes_of(store)
    for share in (0.02, 0.4, 0.8, 0.98):
        killed = tmp_path / f"{share}.sqlite"
        shutil.copy(path, killed)
        words = [sys.executable, "-c", _COUNTER, str(killed), str(max(1, int(share * n_steps[0])))]
        assert subprocess.run(words, check=False).returncode == -signal.SIGKILL
        with Store(killed) as store:
            store.check()
            assert bytes_of(store) == expected
