"""A real Dask cluster of three worker processes on loopback; `make cluster` runs it (FIRE_CLUSTER=1).

Workers, the scheduler and the command are killed in the middle of the work: what is written after a
re-run has the bytes of one process.
"""

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from child import COMMAND

from fire_toolkit.engines.cluster import Cluster
from fire_toolkit.engines.engine import packed
from fire_toolkit.errors import FormatError, ServerError, StaleError

if not os.environ.get("FIRE_CLUSTER"):
    pytest.skip("`make cluster` runs it", allow_module_level=True)

N_QUERIES, N_DOCS = 2400, 30_000
RUN = "add-run --embeddings q.npy d.npy --similarity cosine --id m --query-ids q.txt --doc-ids d.txt --out"
SMALL = {
    "pool": "pool a.parquet b.parquet --depth 5 --qrels qrels.txt --out {}",
    "score": "score a.parquet b.parquet --qrels qrels.txt -m AP --per-query --out {}/s.csv",
    "compare": "compare a.parquet b.parquet --out {}/s.csv",
    "difference": "difference a.parquet b.parquet --qrels qrels.txt -m AP --out {}/s.csv",
}


def start(*words: str, **more: str) -> subprocess.Popen[bytes]:
    return begin([sys.executable, "-m", *words], **more)


def begin(program: list[str], **more: str) -> subprocess.Popen[bytes]:
    env = os.environ | {"OPENBLAS_NUM_THREADS": "1"} | more
    return subprocess.Popen(program, stderr=subprocess.PIPE, env=env)


def command(words: str, engine: str = "", **more: str) -> subprocess.Popen[bytes]:
    """Begin a command, which hears SIGINT even where what starts the tests ignores it."""
    return begin([*COMMAND, *words.split(), *engine.split()], **more)


def ended(process: subprocess.Popen[bytes]) -> tuple[int, str]:
    _, said = process.communicate(timeout=100)
    return process.returncode, said.decode()


def hashes(folder: str) -> dict[str, str]:
    """Return the sha256 of each file in a folder; hidden ones too, so that nothing half-written is left."""
    found = (
        sorted(path for path in Path(folder).rglob("*") if path.is_file()) if Path(folder).exists() else []
    )
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


class Running:
    """A scheduler and its workers, each a process; `address` is the scheduler's."""

    def __init__(self, n_workers: int, *words: str, **more: str) -> None:
        self.file = Path(f"scheduler-{time.monotonic_ns()}.json").absolute()
        common = ("--no-dashboard", *words)
        where = ("--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(self.file))
        self.scheduler = start("distributed.cli.dask_scheduler", *where, *common)
        wait_for(self.file.exists)
        wait_for(lambda: bool(self.file.read_text()))
        self.address = json.loads(self.file.read_text())["address"]
        own = ("--nthreads", "1", "--no-nanny", "--host", "127.0.0.1", *common)
        self.workers = [
            start("distributed.cli.dask_worker", self.address, *own, **more) for _ in range(n_workers)
        ]

    @property
    def engine(self) -> str:
        return f"--engine dask --scheduler {self.address}"

    def stop(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.communicate()


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


@contextmanager
def running(n_workers: int, *words: str, **more: str) -> Iterator[Running]:
    found = Running(n_workers, *words, **more)
    try:
        from distributed import Client

        if n_workers and found.address.startswith("tcp"):
            with Client(found.address, set_as_default=False) as client:
                client.wait_for_workers(n_workers, timeout=60)
        yield found
    finally:
        found.stop()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict[str, str]]]:
    """Files, and the hashes of what one process makes of them."""
    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("world"))
    random = np.random.default_rng(8)
    docs = random.normal(size=(N_DOCS, 64)).astype(np.float32)
    docs[1::40] = docs[0]
    np.save("d.npy", docs)
    np.save("q.npy", random.normal(size=(N_QUERIES, 64)).astype(np.float32))
    for name, n in (("q", N_QUERIES), ("d", N_DOCS)):
        Path(f"{name}.txt").write_text("".join(f"{name}{place}\n" for place in range(n)))
    for name in "ab":
        np.save(f"{name}.npy", random.integers(0, 50, size=(60, 200)).astype(np.float32))
        Path("sq.txt").write_text("".join(f"q{place}\n" for place in range(60)))
        Path("sd.txt").write_text("".join(f"d{place}\n" for place in range(200)))
        words = f"add-run {name}.npy --query-ids sq.txt --doc-ids sd.txt --depth 30 --out ."
        assert ended(command(words))[0] == 0
    pairs = [f"q{place} 0 d{random.integers(200)} 1" for place in range(60)]
    Path("qrels.txt").write_text("\n".join(pairs) + "\n")
    expected = {"add-run": RUN + " alone"}
    expected |= {name: words.format(f"alone-{name}") for name, words in SMALL.items()}
    made = {}
    for name, words in expected.items():
        folder = "alone" if name == "add-run" else f"alone-{name}"
        code, said = ended(command(words))
        assert code == 0, said
        made[name] = hashes(folder)
        assert made[name]
    yield made
    os.chdir(before)


@pytest.fixture(scope="module")
def cluster(world: object) -> Iterator[Running]:
    with running(3) as found:
        yield found


def wait_until_working(address: str) -> int:
    """Return the process of a worker that works on a part, and has not finished another long ago."""
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        pids = client.run(os.getpid)
        found: list[str] = []

        def is_working() -> bool:
            found[:] = [name for name, keys in client.processing().items() if keys]
            return bool(found)

        wait_for(is_working)
        return int(pids[found[0]])


@pytest.mark.parametrize("name", SMALL)
def test_each_command_writes_the_bytes_of_one_process(
    name: str, cluster: Running, world: dict[str, dict[str, str]]
) -> None:
    words = SMALL[name].format(f"dask-{name}")
    assert ended(command(words, cluster.engine))[0] == 0
    assert hashes(f"dask-{name}") == world[name]


def test_a_killed_command_leaves_nothing_and_can_be_run_again(
    cluster: Running, world: dict[str, dict[str, str]]
) -> None:
    for number, how in enumerate((signal.SIGKILL, signal.SIGTERM, signal.SIGINT)):
        process = command(f"{RUN} stopped{number}", cluster.engine)
        wait_until_working(cluster.address)
        process.send_signal(how)
        assert ended(process)[0] != 0
        assert hashes(f"stopped{number}") == {}
    assert ended(command(f"{RUN} again", cluster.engine))[0] == 0
    assert hashes("again") == world["add-run"]


def test_a_killed_worker_changes_nothing(world: dict[str, dict[str, str]]) -> None:
    with running(3) as own:
        process = command(f"{RUN} survived", own.engine)
        os.kill(wait_until_working(own.address), signal.SIGKILL)
        code, said = ended(process)
        assert code == 0, said
        assert sum(worker.poll() is not None for worker in own.workers) == 1
    assert hashes("survived") == world["add-run"]


def test_a_killed_scheduler_ends_the_command_and_a_new_one_does_it(world: dict[str, dict[str, str]]) -> None:
    with running(3) as own:
        process = command(f"{RUN} lost", own.engine)
        wait_until_working(own.address)
        own.scheduler.kill()
        code, said = ended(process)
    assert (code, hashes("lost")) == (3, {})
    assert said.strip().splitlines()[-1].startswith(f"error: {own.address}: the scheduler was lost")
    assert "Traceback" not in said
    with running(3) as new:
        assert ended(command(f"{RUN} lost", new.engine))[0] == 0
    assert hashes("lost") == world["add-run"]


class Asking:
    def __init__(self, files: dict[str, str]) -> None:
        self.files = files


def test_a_file_that_a_worker_does_not_see_or_that_differs_is_named(cluster: Running) -> None:
    engine = Cluster(cluster.address)
    unseen = str(Path("nowhere.npy").absolute())
    with pytest.raises(FormatError, match=r"nowhere\.npy: the worker on \S+ does not see this file"):
        engine.map(packed, [Asking({unseen: "0" * 64})])  # type: ignore[type-var]
    with pytest.raises(StaleError, match=r"q\.txt: the worker on \S+ has another file of this name"):
        engine.map(packed, [Asking({str(Path("q.txt").absolute()): "0" * 64})])  # type: ignore[type-var]


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ("import fire_toolkit; fire_toolkit.__version__ = '9.9'", r"has fire-toolkit 9\.9, expected"),
        ("import platform; platform.python_version_tuple = lambda: ('3', '99', '0')", r"has python 3\.99"),
        ("import sys; sys.modules['fire_toolkit'] = None", r"has no fire-toolkit"),
    ],
)
def test_a_cluster_of_other_versions_is_refused(
    patch: str, expected: str, world: object, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(patch + "\n")
    paths = f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    with running(1, PYTHONPATH=paths) as odd, pytest.raises(ServerError, match=expected):
        Cluster(odd.address).map(packed, [Asking({})])  # type: ignore[type-var]


def test_a_scheduler_without_workers_is_refused(world: object) -> None:
    with running(0) as empty, pytest.raises(ServerError, match="has no workers"):
        Cluster(empty.address).map(packed, [Asking({})])  # type: ignore[type-var]


@pytest.mark.parametrize("answer", [None, b"", b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 500])
def test_what_is_no_scheduler_ends_the_command_in_a_line(answer: bytes | None, world: object) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"

        def serve() -> None:
            held = []
            try:
                while True:
                    connection, _ = server.accept()
                    held.append(connection)
                    if answer is not None:
                        connection.sendall(answer)
                        connection.close()
            except OSError:
                return

        threading.Thread(target=serve, daemon=True).start()
        code, said = ended(command(f"{RUN} none", f"--engine dask --scheduler {address}"))
    assert (code, hashes("none")) == (3, {})
    assert said.strip().splitlines()[-1].startswith(f"error: {address}: no Dask scheduler answers")
    assert "Traceback" not in said


def test_over_tls_with_certificates_and_not_without(world: dict[str, dict[str, str]]) -> None:
    make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    make += " -keyout key.pem -out ca.pem"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    subprocess.run([*make.split(), *names], check=True, capture_output=True)
    files = {"ca-file": "ca.pem", "cert": "ca.pem", "key": "key.pem"}
    words = [word for name, file in files.items() for word in (f"--tls-{name}", str(Path(file).absolute()))]
    own = {"CA_FILE": "ca.pem", "CLIENT__CERT": "ca.pem", "CLIENT__KEY": "key.pem"}
    env = {f"DASK_DISTRIBUTED__COMM__TLS__{name}": str(Path(file).absolute()) for name, file in own.items()}
    with running(1, "--protocol", "tls", *words) as secure:
        assert secure.address.startswith("tls://")
        wait_for(lambda: ended(command(SMALL["pool"].format("tls"), secure.engine, **env))[0] == 0)
        assert hashes("tls") == world["pool"]
        code, said = ended(command(SMALL["pool"].format("tls2"), secure.engine))
    assert (code, hashes("tls2")) == (3, {})
    assert "no Dask scheduler answers" in said.strip().splitlines()[-1]
