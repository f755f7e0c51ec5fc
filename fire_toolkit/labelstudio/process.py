"""A server process that outlives the command that started it, and that is never mistaken for another.

The process holds an exclusive lock on a file from its first moment to its last, because it inherits
the locked handle: a pid may be used again by a stranger, such a lock not. The pid itself is written
by the process before it becomes the server.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from fire_toolkit.errors import FireError, UsageError
from fire_toolkit.workspace.locks import POLL_S, is_locked

_PRIVATE = 0o600

# What a program may need of our own environment. Label Studio reads bare names (DEBUG, HOST, PORT, CI …)
# as its settings, so nothing else is handed to it.
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "SSL_CERT_FILE")
_QUIET = {
    "SENTRY_DSN": "",
    "FRONTEND_SENTRY_DSN": "",
    "LABEL_STUDIO_LATEST_VERSION_CHECK": "false",
    "LABEL_STUDIO_COLLECT_ANALYTICS": "false",
    "PYTHONUNBUFFERED": "1",
}

# The outer shell only sends the inner one into the background; the inner writes its pid, then becomes
# the server. Neither is left behind, and nobody has to wait for a child.
_LAUNCH = (
    "umask 077; "
    """/bin/sh -c 'echo "$$" > "$1" && shift && exec "$@"' sh "$@" &"""
)


def check_system() -> None:
    """Refuse to run a server where processes have no groups and inherit no locks.

    Raises:
        UsageError: this system is such (Windows).
    """
    if not hasattr(os, "killpg"):
        raise UsageError(
            "a local server runs on Linux and macOS only; start Label Studio yourself and give --url"
        )


def launch(
    command: Sequence[str], *, lock: int, pid_file: Path, log: Path, folder: Path, environ: Mapping[str, str]
) -> None:
    """Start `command` in a session of its own, with the lock, its words appended to `log`.

    Args:
        command: the program's path and arguments.
        lock: a handle from `open_lock`; the caller may close it afterwards.
        pid_file: holds the pid from before the program's first instruction on.
        log: standard output and error.
        folder: the working folder.
        environ: the whole environment.
    """
    pid_file.unlink(missing_ok=True)
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, _PRIVATE)
    try:
        subprocess.run(
            ["/bin/sh", "-c", _LAUNCH, "sh", str(pid_file), *command],
            stdin=subprocess.DEVNULL,
            stdout=handle,
            stderr=handle,
            pass_fds=(lock,),
            start_new_session=True,
            cwd=folder,
            env=dict(environ),
            timeout=30,
            check=True,
        )
    finally:
        os.close(handle)


def quiet_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the whole environment of a Label Studio that calls nobody, with `settings` (bare names)."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**kept, **_QUIET, **{f"LABEL_STUDIO_{name}": value for name, value in settings.items()}}


def read_pid(pid_file: Path) -> int | None:
    """Return the pid that a launched process wrote, or None."""
    with suppress(OSError, ValueError):
        return int(pid_file.read_text())
    return None


def command_of(pid: int) -> str:
    """Return a process's command line, its words joined by blanks; empty if there is no such process."""
    with suppress(psutil.Error):
        return " ".join(psutil.Process(pid).cmdline()).strip()
    return ""


def memory_bytes(pid: int) -> int | None:
    """Return the memory a process holds, or None if that cannot be told."""
    with suppress(psutil.Error):
        return int(psutil.Process(pid).memory_info().rss)
    return None


def listens_on(pid: int, port: int) -> bool | None:
    """Whether a process itself listens on a TCP port; None where the system does not tell."""
    with suppress(psutil.Error):
        sockets = psutil.Process(pid).net_connections("tcp")
        return any(each.status == psutil.CONN_LISTEN and each.laddr.port == port for each in sockets)
    return None


def end(pid: int, lock_file: Path, *, patience_s: float = 15.0) -> None:
    """End a process and its group: ask, wait, then force; return when its lock is free.

    Raises:
        FireError: it does not go away.
    """
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(os.getpgid(pid), sign)
        if _is_free_within(lock_file, patience_s):
            return
    raise FireError(f"the server (pid {pid}) does not stop; inspect it with `ps -p {pid}`")


def _is_free_within(lock_file: Path, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while is_locked(lock_file):
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True


def is_answered(port: int) -> bool:
    """Whether somebody listens on a loopback port."""
    for host in ("127.0.0.1", "localhost"):
        with suppress(OSError), socket.create_connection((host, port), timeout=1):
            return True
    return False


def is_free_port(port: int) -> bool:
    """Whether nobody listens on a loopback port, and we could."""
    if is_answered(port):
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def any_free_port() -> int:
    """Return a loopback port that nobody uses now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
