"""A run that is killed anywhere: what was stored is never asked again, and what was in flight is counted."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from command import run as fire
from judge import arguments

from fire_toolkit.errors import FireError, FormatError, ServerError
from fire_toolkit.formats.tables.table_files import read_machine_judgments
from fire_toolkit.machines.judge import Answer, Judge, Request
from fire_toolkit.machines.run import Cache, Spending, ask_all, open_cache
from fire_toolkit.workspace.database import STORE

N_PAIRS = 60
JUDGE = Judge("http://127.0.0.1:1/v1", "toy", prompt_sha256="hash")


@pytest.fixture
def server(folder: Path) -> Iterator[tuple[str, Path]]:
    """A server in a process of its own, which writes down what it answered; and sixty captions."""
    captions = [f"q{n}\t{'dog' if n % 3 else 'cat'} number {n}\n" for n in range(N_PAIRS)]
    (folder / "queries.tsv").write_text("query_id\ttext\n" + "".join(captions))
    (folder / "pool.csv").write_text("query_id,doc_id\n" + "".join(f"q{n},a\n" for n in range(N_PAIRS)))
    log = folder / "asked.txt"
    log.touch()
    command = [sys.executable, str(Path(__file__).parent / "chat_server.py"), str(log), "0.05"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1", log
        process.kill()


def lines(log: Path) -> Counter[str]:
    return Counter(log.read_text().splitlines())


def killed(endpoint: str, log: Path, n_answers: int) -> None:
    """Start a run and kill it -9 once the server has answered `n_answers` more requests."""
    enough = sum(lines(log).values()) + n_answers
    words = [str(word) for word in arguments(endpoint, at_once=4)]
    code = f"import sys; from fire_toolkit.cli import main; main({words!r})"
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and sum(lines(log).values()) < enough:
            time.sleep(0.002)
        os.kill(process.pid, signal.SIGKILL)


@pytest.mark.slow
def test_killed_again_and_again_nothing_stored_is_asked_again(server: tuple[str, Path], folder: Path) -> None:
    endpoint, log = server
    place = folder / "machine/toy"
    n_lost = 0
    for n_answers in (1, 9, 14, 3):
        killed(endpoint, log, n_answers)
        stored, n_lost = stored_and_lost(place / STORE)
        before = lines(log)
        assert stored <= {f"q{caption.rpartition(' ')[2]}" for caption in before}
        # each answer of the server is stored, or was in flight when the run was killed
        assert sum(before.values()) <= len(stored) + n_lost
        assert n_lost <= 4 * 4
    done = fire(*arguments(endpoint))
    after = lines(log)
    assert {f"q{caption.rpartition(' ')[2]}" for caption, n in (after - before).items()}.isdisjoint(stored)
    assert len(after) == N_PAIRS
    assert sum(after.values()) <= N_PAIRS + n_lost
    assert f"note: {n_lost} requests in flight when earlier runs were killed" in done.stderr
    found = read_machine_judgments(place)
    assert len(found) == N_PAIRS
    assert (found["label"] == "relevant").sum() == sum(n % 3 != 0 for n in range(N_PAIRS))


def stored_and_lost(record: Path) -> tuple[set[str], int]:
    """The queries of which answers were kept, and how many requests were left without one."""
    with closing(sqlite3.connect(record)) as db:
        rows = db.execute("select query_id, answer is null from machine where key != ''").fetchall()
    asked, kept = ([query for query, is_asked in rows if is_asked == what] for what in (1, 0))
    return set(kept), len(asked) - len(kept)


def opened(folder: Path) -> AbstractContextManager[Cache]:
    return open_cache(folder / STORE, folder, JUDGE)


def request(n: int) -> Request:
    return Request(f"q{n}", "d", 1, f"caption {n}", "v.mp4", "sha")


def test_each_request_and_answer_is_on_disk_when_it_was_noted(tmp_path: Path) -> None:
    """The folder as it stands after each step, as a kill would leave it: nothing that was kept is lost."""
    seen = []
    with opened(tmp_path / "toy") as cache:
        for n in (1, 2, 3):
            cache.add(request(n).key(JUDGE), request(n).place)
            shutil.copytree(tmp_path / "toy", tmp_path / f"{n} asked")
            if n < 3:
                cache.add(request(n).key(JUDGE), request(n).place, Answer(label="relevant", is_final=True))
                shutil.copytree(tmp_path / "toy", tmp_path / f"{n} answered")
    for folder in sorted(tmp_path.glob("? *")):
        with opened(folder) as found:
            seen.append((folder.name, len(found.stored), found.n_lost))
            assert set(found.stored) == {request(n + 1).key(JUDGE) for n in range(len(found.stored))}
    assert seen == [
        ("1 answered", 1, 0),
        ("1 asked", 0, 1),
        ("2 answered", 2, 0),
        ("2 asked", 1, 1),
        ("3 asked", 2, 1),
    ]


def test_an_error_ends_the_run_and_what_was_in_flight_is_kept(tmp_path: Path) -> None:
    failed = Event()

    def ask(asked: Request) -> Answer:
        if asked.query_id == "q2":
            failed.set()
            raise ServerError("no such model")
        failed.wait()
        return Answer(label="relevant", is_final=True)

    requests = [request(n) for n in range(1, 9)]
    with opened(tmp_path / "toy") as cache:
        with pytest.raises(ServerError, match="no such model"):
            ask_all(requests, replace(JUDGE, at_once=3), cache, ask, spending=Spending())
        assert {place[0] for _, place, _ in cache.rows} == {"q1", "q3"}
    assert stored_and_lost(tmp_path / "toy" / STORE) == ({"q1", "q3"}, 1)


def test_one_run_of_a_judge_at_a_time(tmp_path: Path) -> None:
    with opened(tmp_path / "toy"), pytest.raises(FireError, match="a run of this judge is still running"):
        opened(tmp_path / "toy").__enter__()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda content: content[: len(content) // 2], "damaged: "),
        (lambda content: b"x" + content[1:], "damaged: not an SQLite file"),
        (lambda content: content.replace(b'"relevant"', b'"relevent"'), "the answer on q1 d is not the one"),
    ],
)
def test_a_damaged_file_is_named_and_nothing_is_asked(
    tmp_path: Path, damage: Callable[[bytes], bytes], message: str
) -> None:
    place = tmp_path / "toy"
    with opened(place) as cache:
        cache.add("k", request(1).place)
        cache.add("k", request(1).place, Answer(label="relevant", is_final=True))
    (place / STORE).write_bytes(damage((place / STORE).read_bytes()))
    with pytest.raises(FormatError, match=message):
        opened(place).__enter__()


def test_whatever_decides_an_answer_is_in_the_key() -> None:
    """Each setting of the judge and each part of the request by itself makes another key."""
    plain = request(1)
    keys = {plain.key(JUDGE)}
    for name, value in JUDGE.settings.items():
        other = not value if isinstance(value, bool) else value + ("x" if isinstance(value, str) else 1)
        keys.add(plain.key(replace(JUDGE, **{name: other})))
    changes: list[dict[str, Any]] = [{"sample_number": 2}, {"media_url": "v.mp4#t=1,2"}]
    changes += [{name: "x"} for name in ("query_id", "doc_id", "caption", "media_sha256")]
    keys |= {replace(plain, **change).key(JUDGE) for change in changes}
    assert len(keys) == 1 + len(JUDGE.settings) + len(changes)
    assert replace(plain, media_url="moved/v.mp4").key(JUDGE) == plain.key(JUDGE)  # the same bytes
