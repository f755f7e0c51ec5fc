"""SQLite files of a workspace: made, opened, written and refused in one way.

What was committed is on disk, a kill leaves the last commit, and processes wait for each other.
"""

import errno
import hashlib
import os
import shlex
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Self

from fire_toolkit.errors import FireError, FormatError
from fire_toolkit.files import sha256_of
from fire_toolkit.workspace.manifests import write_files

STORE = "campaign.sqlite"
MAGIC = b"SQLite format 3\0"
_WAIT_S = 60.0
_AT_ONCE = 2_000  # rows of a query: more of them leave the processor's cache before they are used
_OF_THE_DISK = ("space", "I/O", "open", "readonly")  # all else that SQLite says is wrong with the file
_LEAST_BYTES = 512  # of an SQLite file
_OLDEST = (3, 35)  # which knows all that the queries use
_LEAST_FREE = 1 << 16  # bytes, below which SQLite says no more than "disk I/O error"
KEPT: ContextVar[dict[Path, Any] | None] = ContextVar("KEPT", default=None)  # what `kept_open` keeps open


def row_sha256(values: Iterable[str]) -> bytes:
    """Return the hash of a row's texts, which is kept beside them.

    Raises:
        TypeError: one of them is no text.
    """
    return hashlib.sha256("\x1f".join(values).encode("utf-8", "surrogatepass")).digest()


class Database:
    """The SQLite file at `path`; while there is none, an empty one in memory: reading makes none.

    Args:
        path: the file; a folder that cannot be written is read as it lies.
        schema: the statements that make the tables.
        version: of the schema.
        remedy: what to do where the file is damaged, with `{}` for its path.
        views: the statements that make temporary views.

    Attributes:
        is_made: whether there is a file.

    Raises:
        FormatError: it cannot be read, is no SQLite file, is damaged, or was written in another schema.
        FireError: its disk does not keep a write-ahead log, as a network disk; or Python's SQLite is too old.
    """

    def __init__(self, path: Path, *, schema: str, version: int, remedy: str, views: str = "") -> None:
        self.path, self.remedy = path, remedy.format(shlex.quote(str(path)))
        self._version, self._views, self._has_written = version, views, False
        if sqlite3.sqlite_version_info < _OLDEST:
            found, oldest = sqlite3.sqlite_version, ".".join(map(str, _OLDEST))
            raise FireError(f"this Python has SQLite {found}, expected {oldest} or newer: use another Python")
        self.is_made = os.path.lexists(path)
        if self.is_made:
            self._open()
            return
        self._db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._db.executescript(f"{schema};\npragma user_version = {version};\n{views}")

    def _open(self) -> None:
        _refuse_unreadable(self.path)
        if (n_bytes := self.path.stat().st_size) < _LEAST_BYTES:  # SQLite takes these for new files
            raise self.damaged("not an SQLite file" if n_bytes else "an empty file")
        with self.named():
            self._db = _connect(self.path, isolation_level=None, check_same_thread=False)
        self.is_made, self._opened = True, self.path.stat()
        try:
            with self.named():
                self._db.execute("pragma synchronous = full")
                self._db.execute("pragma cache_size = -64000")
                (log,) = self._db.execute("pragma journal_mode = wal").fetchone()
                (version,) = self._db.execute("pragma user_version").fetchone()
            if log != "wal" and _is_ours(self.path):
                raise FireError(
                    f"{self.path}: its disk does not keep SQLite's write-ahead log (a network disk, say); "
                    "put the workspace on a local disk"
                )
            if version != self._version:
                raise FormatError(
                    f"{self.path}: written in schema {version}, expected {self._version}; use the version of "
                    "fire-toolkit that wrote it"
                )
            with self.named():
                self._db.executescript(self._views)
        except BaseException:
            self._db.close()
            raise

    def _prepare(self, query: str) -> None:
        """Bring up to date what a query rests on."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; what was committed is in it, and not in a log beside it, unless others use it."""
        if self._has_written:
            with suppress(sqlite3.Error):
                self._db.execute("pragma wal_checkpoint(truncate)")
        self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write inside: all of it is on disk afterwards, or, where anything is raised, nothing.

        Raises:
            FireError: the file cannot be written, or is not the one that was opened; the disk is full; or
                somebody else writes for a minute.
        """
        if not self.is_made:
            content = self._db.serialize()
            self._db.close()
            if not self.path.exists():
                write_files({self.path: content})
            self._open()
        if not (self.path.exists() and os.path.samestat(self.path.stat(), self._opened)):
            words = "was moved or replaced while this had it open; stop this, and start it again"
            raise FireError(f"{self.path}: {words}")
        self._has_written = True
        with self.named():
            self._db.execute("begin immediate")
            try:
                yield self._db
                self._db.execute("commit")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._db.execute("rollback")
                raise

    @contextmanager
    def aside(self) -> Iterator[sqlite3.Connection]:
        """Write temporary tables inside, of what the file has at one moment: no other process sees them."""
        with self.named():
            self._db.execute("savepoint aside")
            try:
                yield self._db
            except BaseException:
                self._db.execute("rollback to aside")
                raise
            finally:
                self._db.execute("release aside")

    def select(self, query: str, values: Iterable[Any] = ()) -> list[Any]:
        """Return the rows that a query finds."""
        self._prepare(query)
        with self.named():
            return self._db.execute(query, tuple(values)).fetchall()

    def chunks(self, query: str, values: Iterable[Any] = ()) -> tuple[list[str], Iterator[list[Any]]]:
        """Return the names of the columns that a query finds, and its rows, some thousands at once."""
        self._prepare(query)
        with self.named():
            found = self._db.execute(query, tuple(values))

        def fetched() -> Iterator[list[Any]]:
            with self.named():
                while rows := found.fetchmany(_AT_ONCE):
                    yield rows

        return [column[0] for column in found.description], fetched()

    @contextmanager
    def named(self) -> Iterator[None]:
        """Raise what SQLite says as our own errors."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise _of_the_disk(self.path, str(error)) or self.damaged(str(error)) from None
        except (sqlite3.DatabaseError, OverflowError, UnicodeDecodeError) as error:
            words = "not an SQLite file" if "not a database" in str(error) else str(error)
            raise self.damaged(words) from None

    def damaged(self, what: str) -> FormatError:
        """Return the error of a damaged file."""
        return FormatError(f"{self.path}: damaged: {what}; {self.remedy}")


@contextmanager
def kept_open() -> Iterator[None]:
    """Keep open until the end what is opened inside to be looked at, as for a command; each file once."""
    token = KEPT.set(files := dict[Path, Database]())
    try:
        yield
    finally:
        KEPT.reset(token)
        for each in files.values():
            each.close()


def _of_the_disk(path: Path, words: str) -> FireError | None:
    """Return the error of what SQLite says where the file is not to blame."""
    if "locked" in words:
        return FireError(f"{path}: another command has been writing for a minute; wait")
    if "full" in words or shutil.disk_usage(path.resolve().parent).free < _LEAST_FREE:
        words = "No space left on device; free some space"
    is_its_own = not any(fault in words for fault in _OF_THE_DISK)
    return None if is_its_own else FireError(f"{path}: cannot be read or written: {words}")


def _refuse_unreadable(path: Path) -> None:
    """Refuse what cannot be read without opening it: to close a file ends the locks that SQLite has on it.

    Without these, another process takes itself for the last one and deletes the log beside the file, and what
    this process writes afterwards is lost (sqlite.org/howtocorrupt, 2.2).
    """
    if path.is_symlink() and not path.exists():
        raise FormatError(f"{path}: cannot be read: it leads to {path.readlink()}, which is not there")
    if not (path.is_file() or path.is_dir()):
        raise FormatError(f"{path}: a pipe or a device, expected a file")
    if path.is_dir() or not _may(path, os.R_OK):
        reason = errno.EISDIR if path.is_dir() else errno.EACCES
        raise FormatError(f"{path}: cannot be read: {os.strerror(reason)}")


def _may(path: Path, what: int) -> bool:
    return os.access(path, what, effective_ids=os.access in os.supports_effective_ids)


def _is_ours(path: Path) -> bool:
    return _may(path, os.W_OK) and _may(path.parent, os.W_OK)


def _connect(path: Path, query: str = "", **options: Any) -> sqlite3.Connection:
    """Open an SQLite file; one that is not ours as it lies, else SQLite wants to make a file beside it."""
    place = path.resolve().as_uri() + (query if _is_ours(path) else "?mode=ro&immutable=1")
    db: sqlite3.Connection = sqlite3.connect(place, uri=True, timeout=_WAIT_S, **options)
    return db


def rows_in(path: Path, query: str) -> list[Any]:
    """Return what a query finds in an SQLite file; nothing where there is no such file."""
    if not os.path.lexists(path):
        return []
    if path in (kept := KEPT.get() or {}):
        return list(kept[path].select(query))
    _refuse_unreadable(path)
    try:
        with closing(_connect(path, "?mode=ro")) as db:
            return db.execute(query).fetchall()
    except sqlite3.Error as error:
        is_other = "no such" in str(error) and path.stat().st_size >= _LEAST_BYTES
        state = "written by another version of fire-toolkit" if is_other else "damaged"
        found_bad = FormatError(f"{path}: {state}: {error}; `fire-toolkit doctor` says what to do")
        raise _of_the_disk(path, str(error)) or found_bad from None


def content_sha256(path: Path) -> str:
    """Return the sha256 of a file; of a campaign's record that of its answers, of whatever else it holds."""
    if path.name != STORE:
        return sha256_of(path)
    last = "select number, sha256, (select count(*) from versions) from batches order by number desc limit 1"
    return hashlib.sha256(repr(rows_in(path, last)).encode()).hexdigest()
