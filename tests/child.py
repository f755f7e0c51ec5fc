"""A command as a process of its own, which ends with the block that started it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

# What starts the tests may ignore SIGINT, as shells do for what runs in the background; a child would too.
_BEGIN = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from fire_toolkit.cli import main; main(prog_name='fire-toolkit')"
)
COMMAND = [sys.executable, "-c", _BEGIN]


@contextmanager
def running(
    *words: str, cwd: Path, through: tuple[str, ...] = (), errors: int = subprocess.PIPE
) -> Iterator[subprocess.Popen[str]]:
    """Run `fire-toolkit` with these words; no process or pipe of it is left after the block.

    through: a command line that runs what follows it, such as a shell with other limits. errors: where stderr
    goes; a pipe must be read, or the process stands still when it is full. Nothing waits for a clock: what is
    read ends when the process does, and a process that hangs is seen as one.
    """
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [*through, *COMMAND, *words], cwd=cwd, env=environ, stdout=subprocess.PIPE, stderr=errors, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def first_line(process: subprocess.Popen[str]) -> str:
    """Return the first line on a process's stdout; empty where it ended without one."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def words_until(process: subprocess.Popen[str], end: str) -> str:
    """Return what a process says on stderr up to the line with `end`, or all that it says."""
    assert process.stderr is not None
    said = ""
    for line in process.stderr:
        said += line
        if end in line:
            break
    return said


@contextmanager
def ready(
    *words: str, cwd: Path, is_ready: Callable[[], object], end: int = signal.SIGTERM, path: str = ""
) -> Iterator[subprocess.Popen[bytes]]:
    """Run `fire-toolkit`, which prints to `printed.txt` and says in `words.txt`, from when it is ready.

    end: the signal that ends it with the block. path: what the PATH has beside what it has here.
    """
    place = os.pathsep.join(filter(None, (os.environ["PATH"], path)))
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1", "PATH": place}
    said = cwd / "words.txt"
    with said.open("wb") as errors, (cwd / "printed.txt").open("wb") as output:
        command = [*COMMAND, *words]
        process = subprocess.Popen(command, cwd=cwd, env=environ, stdout=output, stderr=errors)
    try:
        while not is_ready():
            assert process.poll() is None, said.read_text()
            time.sleep(0.1)
        yield process
    finally:
        process.send_signal(end)
        process.wait()
