"""Objects of a store (`s3://bucket/key`) as local files, read through fsspec.

Every reader takes a local file, and many look at it twice: so an object is copied once, whole, and read
from there. Credentials are those that the store's own library finds; an address holds none.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from fire_toolkit.errors import FireError, FormatError, ServerError, UsageError

PACKAGES = {"s3": "s3fs", "gs": "gcsfs", "hf": "huggingface_hub", "memory": "fsspec"}
_ADDRESS = re.compile(rf"({'|'.join(PACKAGES)})://")
_VERSION = re.compile(r"versionId=[\w.-]+")
_MANIFESTS = ("{name}.manifest.json", "manifest.json")  # as stages write them beside their files
_FACTS = ("size", "ETag", "etag", "mtime", "LastModified", "updated", "created", "blob_id")


def is_address(text: str) -> bool:
    """Whether a text is the address of an object in a store that can be read.

    Examples:
        >>> is_address("s3://bucket/clip.npy"), is_address("clip.npy"), is_address("https://host/clip.npy")
        (True, False, False)
    """
    return _ADDRESS.match(text) is not None


def name_of(address: str) -> str:
    """Return the name of the file that an object is copied to: what follows the last `/` of its address.

    Examples:
        >>> name_of("s3://bucket/runs/clip.npy?versionId=a1")
        'clip.npy'

    Raises:
        UsageError: the address holds a user, a password or a token, or names no object. What it holds is
            not repeated.
    """
    scheme, _, rest = address.partition("://")
    key, question, query = rest.partition("?")
    if "@" in key.partition("/")[0] or (question and not _VERSION.fullmatch(query)):
        raise UsageError(
            f"an address of {scheme}:// holds a user, a password or a query (only ?versionId=… is taken); "
            "leave that to the store's own settings (environment, profile or login)"
        )
    name = PurePosixPath(key).name
    is_object = "/" in key.strip("/") or scheme == "memory"
    if not is_object or key.endswith("/") or name in ("", "..", "."):
        raise UsageError(f"{address}: expected one object, as in {scheme}://bucket/folder/file")
    return name


def fetch(address: str, folder: Path, on_read: Callable[[int, int | None], None] | None = None) -> Path:
    """Copy an object into a folder, with the manifest that a stage wrote beside it, and return the copy.

    Args:
        address: of one object, in a store of `PACKAGES`.
        folder: a local folder for this object alone.
        on_read: is told the bytes that came, and the object's size where the store says it.

    Returns:
        The copy, under the object's own name: its size is that which the store says, before and after.

    Raises:
        UsageError: the address cannot be taken (`name_of`).
        FormatError: there is no such object.
        ServerError: the store is out of reach, refuses, sends less than the object, or has another object
            at the end than at the beginning. What its library says is not repeated, for it may hold keys.
        FireError: the library that reads it is not installed, or the copy has no room.
    """
    file = folder / name_of(address)
    store, key = _store(address)
    before = _facts(store, key, address)
    _copy(store, key, file, address, on_read)
    came, size = file.stat().st_size, before.get("size")
    if size is not None and came != size:
        raise ServerError(f"{address}: cut: {came:,} bytes came of {size:,}; run the command again")
    if _facts(store, key, address) != before:
        raise ServerError(f"{address}: was written anew while it was read; run the command again")
    _fetch_manifests(store, key, file, address)
    return file


def _store(address: str) -> tuple[Any, str]:
    """Return the store's file system, with nothing remembered, and the object's key in it."""
    scheme, package = address.partition("://")[0], PACKAGES[address.partition("://")[0]]
    try:
        from fsspec.core import url_to_fs

        with _store_errors(address):
            settings = {"version_aware": True} if "?versionId=" in address else {}
            store, key = url_to_fs(address, **settings)
    except ImportError:
        extra = "'fire-toolkit[stores]'" if package in ("fsspec", "s3fs") else f"fsspec {package}"
        raise FireError(f"{address}: {scheme}:// needs {package}: pip install {extra}") from None
    return store, key


def _facts(store: Any, key: str, address: str) -> dict[str, Any]:
    """Return what the store says of an object now: its size, and what changes when it is written anew."""
    with _store_errors(address):
        store.invalidate_cache()
        found = store.info(key)
    if found.get("type") == "directory":
        raise FormatError(f"{address}: a folder of objects, expected one object")
    return {name: found[name] for name in _FACTS if name in found}


def _copy(
    store: Any, key: str, file: Path, address: str, on_read: Callable[[int, int | None], None] | None
) -> None:
    from fsspec.callbacks import Callback

    class Report(Callback):  # type: ignore[misc]
        def relative_update(self, inc: int = 1) -> None:
            super().relative_update(inc)
            if on_read is not None:
                on_read(inc, self.size)

    with _store_errors(address):
        store.get_file(key, str(file), callback=Report())


def _fetch_manifests(store: Any, key: str, file: Path, address: str) -> None:
    for pattern in _MANIFESTS:
        name = pattern.format(name=file.name)
        beside = key.partition("?")[0].removesuffix(file.name) + name
        try:
            with _store_errors(address):
                store.get_file(beside, str(file.with_name(name)))
        except (FormatError, PermissionDenied):  # many buckets deny what is not there
            file.with_name(name).unlink(missing_ok=True)


class PermissionDenied(ServerError):
    """A store does not let us read an object."""


@contextmanager
def _store_errors(address: str) -> Iterator[None]:
    """Turn whatever a store's library raises inside into one line that repeats nothing of it."""
    try:
        yield
    except (FireError, ImportError):
        raise
    except FileNotFoundError:
        raise FormatError(f"{address}: no such object") from None
    except PermissionError:
        raise PermissionDenied(
            f"{address}: the store denies it; look at the credentials that its library finds (environment, "
            "profile or login)"
        ) from None
    except Exception as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise FireError(
                f"{address}: no room for a copy of it; free some, or set TMPDIR to a folder with more"
            ) from None
        raise ServerError(f"{address}: cannot be read ({_kinds(error)}); is the store in reach?") from None


def _kinds(error: BaseException) -> str:
    """Return the kinds of an error and of its cause: their texts may hold addresses and keys."""
    cause = error.__cause__
    return type(error).__name__ + (f", {type(cause).__name__}" if cause is not None else "")
