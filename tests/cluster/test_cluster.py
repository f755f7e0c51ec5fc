"""Commands whose work a real Dask cluster does: a scheduler and two workers, each a process, on loopback.

Workers, scheduler and command are killed in the middle: what is written has the bytes of one process, or
nothing is written and one line says why.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fire_toolkit.engines import cluster as engine
from fire_toolkit.engines.cluster import shared_file, spread
from fire_toolkit.errors import ServerError

Hashes = dict[str, dict[str, str]]  # command → file → sha256
N_QUERIES, N_DOCS = 1000, 8_000
IDS = "--query-ids q.txt --doc-ids d.txt"
VECTORS = f"add-run qv.npy dv.npy --similarity cosine --id v {IDS} --qrels qrels.txt --out"
COMMANDS = {
    "vectors": f"{VECTORS} OUT",
    "pool": "pool m.npy runs/v.parquet --depth 5 --qrels qrels.txt --out OUT",
    "score": "score m.npy runs/v.parquet --qrels qrels.txt --ties average --per-query --out OUT/s.csv",
}


def start(*words: str, **environ: str) -> subprocess.Popen[str]:
    """Start a module as a process, with what it says."""
    env = {name: each for name, each in os.environ.items() if name != "FIRE_SCHEDULER"}
    env |= {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | environ
    errors = subprocess.PIPE if words[0] == "fire_toolkit" else subprocess.DEVNULL
    where: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": errors}
    return subprocess.Popen(
        [sys.executable, "-m", *words], text=True, env=env, start_new_session=True, **where
    )


def command(name: str, out: str, address: str = "") -> subprocess.Popen[str]:
    """Start a command, on the cluster where its address is given."""
    Path(out).mkdir(exist_ok=True)
    words = COMMANDS[name].replace("OUT", out).split()
    return start("fire_toolkit", *words, **({"FIRE_SCHEDULER": address} if address else {}))


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    said = process.communicate(timeout=120)[1]
    return process.returncode, said


def hashes(folder: str) -> dict[str, str]:
    """Return the sha256 of every file, hidden ones too, so that nothing half-written is left."""
    files = {path: path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(raw.replace(folder.encode(), b"OUT")).hexdigest()
        for path, raw in files.items()
    }


def wait_for(condition: Callable[[], Any]) -> None:
    """Wait for other processes, as long as it takes them on a busy machine, but not for ever."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


class Processes:
    """A scheduler, and its workers below a nanny, which starts one anew that is lost."""

    def __init__(self, n_workers: int) -> None:
        from distributed import Client

        file = Path(f"scheduler-{time.monotonic_ns()}.json").absolute()
        own = ("--no-dashboard", "--host", "127.0.0.1")
        self.scheduler = start(
            "distributed.cli.dask_scheduler", *own, "--port", "0", "--scheduler-file", str(file)
        )
        wait_for(lambda: file.exists() and file.read_text().strip())
        self.address = json.loads(file.read_text())["address"]
        self.started = [self.scheduler]
        if n_workers:
            many = ("--nworkers", str(n_workers), "--nthreads", "1")
            self.started.append(start("distributed.cli.dask_worker", self.address, *own, *many))
        self.client: Any = Client(self.address, set_as_default=False, timeout=60)
        if n_workers:
            self.client.wait_for_workers(n_workers, timeout=60)

    def pids(self) -> list[int]:
        """Return the processes that work on a part now."""
        busy = [worker for worker, keys in self.client.processing().items() if keys]
        return list(self.client.run(os.getpid, workers=busy).values()) if busy else []

    def stop(self) -> None:
        self.client.close(timeout=1)
        for process in self.started:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hashes]:
    """Files, and what one process makes of them."""
    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("world"))
    random = np.random.default_rng(8)
    for name, n in (("q", N_QUERIES), ("d", N_DOCS)):
        vectors = random.normal(size=(n, 48)).astype(np.float32)
        vectors[1::40] = vectors[0]  # with ties
        np.save(f"{name}v.npy", vectors)
        Path(f"{name}.txt").write_text("".join(f"{name}{place}\n" for place in random.permutation(n)))
    for what, name in (("query_ids", "q"), ("doc_ids", "d")):
        Path(f"m.{what}.txt").write_text(Path(f"{name}.txt").read_text())
    np.save("m.npy", random.integers(0, 500, size=(N_QUERIES, N_DOCS)).astype(np.float16))
    Path("qrels.txt").write_text(
        "".join(f"q{q} 0 d{d} {d % 2}\n" for q in range(N_QUERIES) for d in random.choice(N_DOCS, 4, False))
    )
    code, said = ended(start("fire_toolkit", *VECTORS.split(), "runs"))
    assert code == 0, said
    for name, process in {name: command(name, f"one-{name}") for name in COMMANDS}.items():
        code, said = ended(process)
        assert code == 0, f"{name}: {said}"
    yield {name: hashes(f"one-{name}") for name in COMMANDS}
    os.chdir(before)


@pytest.fixture(scope="module")
def shared(expected: Hashes) -> Iterator[Processes]:
    """A cluster that outlives its tests."""
    found = Processes(2)
    yield found
    found.stop()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_cluster_writes_the_bytes_of_one_process(shared: Processes, expected: Hashes, name: str) -> None:
    code, said = ended(command(name, f"two-{name}", shared.address))
    assert code == 0, said
    assert hashes(f"two-{name}") == expected[name]


def test_a_command_that_was_killed_is_run_again(shared: Processes, expected: Hashes) -> None:
    process = command("vectors", "killed", shared.address)
    wait_for(shared.pids)
    process.kill()
    process.communicate()
    assert hashes("killed") == {}
    code, said = ended(command("vectors", "killed", shared.address))
    assert code == 0, said
    assert hashes("killed") == expected["vectors"]


def test_workers_that_see_other_files_are_named(shared: Processes) -> None:
    path, sha256, _ = shared_file(Path("m.npy"))
    work = shared.address, len, lambda n: [("a",), ("bc",)]
    with pytest.raises(ServerError, match=r"m\.npy: the worker on .* sees another file \(sha256"):
        spread(*work, [(path, "0" * 64, (0,))])
    with pytest.raises(ServerError, match=r"gone\.npy: the worker on .* sees no such file; put the same"):
        spread(*work, [(path.with_name("gone.npy"), sha256, (0,))])
    assert spread(*work, [(path, sha256, (0,))]) == [1, 2]  # as of a copy: the same bytes


def test_a_worker_that_was_killed_changes_nothing(shared: Processes, expected: Hashes) -> None:
    process = command("vectors", "worker", shared.address)
    wait_for(shared.pids)
    os.kill(shared.pids()[0], signal.SIGKILL)
    code, said = ended(process)
    assert code == 0, said
    assert hashes("worker") == expected["vectors"]


def test_workers_that_die_again_and_again_end_the_work(shared: Processes) -> None:
    with pytest.raises(ServerError, match="workers died of one part again and again") as error:
        spread(shared.address, os._exit, lambda n: [(1,), (1,)], [])
    assert str(error.value).startswith(shared.address)


def test_a_scheduler_that_was_killed_leaves_nothing_written(shared: Processes, expected: Hashes) -> None:
    lost = Processes(1)
    process = command("vectors", "scheduler", lost.address)
    wait_for(lost.pids)
    lost.scheduler.kill()
    code, said = ended(process)
    lost.stop()
    assert code == 3, said
    assert f"error: {lost.address}: no scheduler answers, or it was lost; nothing is written" in said
    assert len(said.splitlines()) == 1
    assert hashes("scheduler") == {}
    code, said = ended(command("vectors", "scheduler", shared.address))
    assert code == 0, said
    assert hashes("scheduler") == expected["vectors"]


def test_what_dask_logs_stays_out_of_the_one_line(shared: Processes) -> None:
    assert spread(shared.address, len, lambda n: [("a",), ("bb",)], []) == [1, 2]
    loggers = [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]
    assert "distributed.client" in loggers  # it has a level of its own, and says so when it cannot come back
    assert [name for name in loggers if logging.getLogger(name).isEnabledFor(logging.ERROR)] == []


def test_a_scheduler_without_workers_is_not_waited_for(
    expected: Hashes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_NO_WORKER_S", 0.5)
    alone = Processes(0)
    with pytest.raises(ServerError, match="no worker; start some"):
        spread(alone.address, len, lambda n: [("a",), ("b",)], [])
    alone.stop()
