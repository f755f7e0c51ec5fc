"""Locks on files, and the one lock of a workspace: whoever writes there does so alone.

The system keeps a lock as long as the process that holds it lives: one that is killed leaves none behind,
and nothing has to be cleaned up or guessed from a pid.
"""

import errno
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from fire_toolkit.errors import FireError

LOCK = ".fire/lock"
WAIT_S = 60.0
POLL_S = 0.1
_PRIVATE, _SHARED = 0o600, 0o666
_TAKEN = (errno.EWOULDBLOCK, errno.EACCES, errno.EAGAIN)
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
_BEYOND = 1 << 20  # Windows locks bytes, and nobody could read those that say who holds the lock

_END = " UTC)"  # of the words that say who holds a lock, where they are whole
_held: ContextVar[frozenset[Path]] = ContextVar("held", default=frozenset())


def open_lock(path: Path, *, mode: int = _PRIVATE) -> int | None:
    """Return a handle that holds the exclusive lock on `path`, or None if somebody else holds it.

    mode: the rights of the file where it is made. One that is another user's is only read, which is enough
    to lock it.
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, mode)
    except PermissionError:
        if not path.exists():
            raise
        handle = os.open(path, os.O_RDONLY)
    try:
        try:
            import fcntl
        except ImportError:  # Windows
            os.lseek(handle, _BEYOND, os.SEEK_SET)
            msvcrt: Any = import_module("msvcrt")
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        if error.errno in _TAKEN:
            return None
        raise
    return handle


def is_locked(path: Path) -> bool:
    """Whether a living process holds the lock on `path`."""
    if not path.exists():
        return False
    handle = open_lock(path)
    if handle is not None:
        os.close(handle)
    return handle is None


def _await_lock(path: Path, mode: int, wait_s: float, told: Callable[[], None] = lambda: None) -> int | None:
    """Return a handle that holds the lock on `path`, None if somebody else holds it all that time."""
    deadline = time.monotonic() + wait_s
    while (handle := open_lock(path, mode=mode)) is None and time.monotonic() < deadline:
        told()
        time.sleep(POLL_S)
    return handle


@contextmanager
def hold_lock(path: Path, *, wait_s: float, what: str) -> Iterator[int]:
    """Hold the lock on `path` inside; wait for it at most `wait_s` seconds.

    Raises:
        FireError: somebody else (`what`) holds it all that time.
    """
    handle = _await_lock(path, _PRIVATE, wait_s)
    if handle is None:
        raise FireError(f"{path}: {what} is still running; wait for it, or stop it")
    try:
        yield handle
    finally:
        os.close(handle)


@contextmanager
def hold_workspace(
    root: Path, command: str, *, wait_s: float = WAIT_S, report: Callable[[str], None] = lambda words: None
) -> Iterator[None]:
    """Hold the lock of the workspace `root` inside; wait for another command at most `wait_s` seconds.

    Args:
        root: the workspace.
        command: who holds the lock, for others to read.
        wait_s: how long to wait.
        report: is told once whom we wait for.

    A command inside another one of the same thread goes on with its lock. A folder that cannot be written,
    or whose file system keeps no locks, is not locked.

    Raises:
        FireError: another command holds it all that time.
    """
    root = root.resolve()
    if root in _held.get():
        yield
        return

    @cache
    def tell() -> None:
        report(f"waiting for {_holder(root)}, which is writing in this workspace")

    handle = None
    try:
        (root / LOCK).parent.mkdir(exist_ok=True)
        handle = _await_lock(root / LOCK, _SHARED, wait_s, tell)
        if handle is None:
            raise FireError(f"{root}: {_holder(root)} is writing here; wait until it ends, or stop it")
    except OSError as error:
        if error.errno in _NO_LOCKS:
            report("note: the file system keeps no locks here; run one command at a time")
        elif error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
    token = _held.set(_held.get() | {root})
    here = f"pid {os.getpid()} on {socket.gethostname()}"
    try:
        if handle is not None:
            words = f"`fire-toolkit {command}` ({here}, since {datetime.now(UTC):%Y-%m-%d %H:%M:%S}{_END}"
            _write(handle, words.encode())
        yield
    finally:
        _held.reset(token)
        if handle is not None:
            _write(handle, b"")
            os.close(handle)


def _write(handle: int, content: bytes) -> None:
    with suppress(OSError):  # a full disk: the lock holds, and only its words are missing
        os.ftruncate(handle, 0)
        os.lseek(handle, 0, os.SEEK_SET)
        os.write(handle, content)


def _holder(root: Path) -> str:
    """Return who holds the lock, as far as that was written."""
    with suppress(OSError, ValueError):
        if (words := (root / LOCK).read_text(encoding="utf-8")).endswith(_END):
            return words
    return "another command"
