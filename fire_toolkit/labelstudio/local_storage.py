"""Label Studio's own way to show files of its machine: a storage for each project, and addresses.

A file is shown as `/data/local-files/?d=PATH`, with PATH from the server's document root, if the project
has a storage on a folder that holds it: strictly below the document root, by the server's rule. Whoever is
logged in and sees the project can fetch it, and no other page is involved.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fire_toolkit.errors import UsageError
from fire_toolkit.labelstudio.connection import Connection, open_client
from fire_toolkit.labelstudio.failures import server_errors

if TYPE_CHECKING:
    import httpx

TITLE = "fire-toolkit media"
_MATCHES_NOTHING = "(?!)"


def local_files_url(path: PurePosixPath, document_root: PurePosixPath) -> str:
    """Return the address of a file for tasks.

    Examples:
        >>> local_files_url(PurePosixPath("/m/clips/a b.mp4"), PurePosixPath("/m"))
        '/data/local-files/?d=clips/a%20b.mp4'
    """
    return "/data/local-files/?d=" + quote(path.relative_to(document_root).as_posix(), safe="/")


def storage_folder(files: Collection[PurePosixPath], document_root: PurePosixPath) -> PurePosixPath:
    """Return the deepest folder that holds all files; it lies strictly below the document root.

    Args:
        files: absolute, without links and dots, as the server sees them.
        document_root: of the server.

    Raises:
        UsageError: no file; one outside of the document root; or no folder below it holds them all.

    Examples:
        >>> files = [PurePosixPath("/m/clips/a.mp4"), PurePosixPath("/m/clips/new/b.mp4")]
        >>> storage_folder(files, PurePosixPath("/m"))
        PurePosixPath('/m/clips')
    """
    if not files:
        raise UsageError("no item is a local file; there is nothing for Label Studio to serve")
    outside = [str(path) for path in files if not path.is_relative_to(document_root)]
    if outside:
        raise UsageError(
            f"{len(outside)} files are outside the server's document root {document_root} "
            f"({', '.join(outside[:3])}); move them below it, or start the server with another (--media)"
        )
    common = PurePosixPath(os.path.commonpath([path.parent for path in files]))
    if common == document_root:
        raise UsageError(
            f"files are directly in the server's document root {document_root}, which Label Studio does not "
            f"serve; move them into a subfolder, such as {document_root / 'clips'}"
        )
    return common


def storage_settings(project: int, folder: PurePosixPath) -> dict[str, Any]:
    """Return the storage that lets a project's tasks show the files in `folder`.

    Its filter matches no file, so that a click on "Sync" in the project's settings adds no tasks.
    """
    return {
        "project": project,
        "path": str(folder),
        "title": TITLE,
        "use_blob_urls": True,
        "regex_filter": _MATCHES_NOTHING,
        "recursive_scan": False,
    }


def add_storages(
    connection: Connection,
    projects: Iterable[int],
    folder: PurePosixPath,
    *,
    transport: httpx.BaseTransport | None = None,
) -> dict[int, bool]:
    """Give each project a storage on `folder` unless it has one on it or above it.

    Returns:
        For each project, in the order given, whether a storage was added.

    Raises:
        ServerError: the server refuses (no such folder there, another document root, serving of local files
            switched off), or fails; projects before stay as they are, and doing it again goes on.
    """
    client = open_client(connection, transport=transport)
    added: dict[int, bool] = {}
    with server_errors(connection):
        for project in projects:
            there = client.import_storage.local.list(project=project)
            paths = [PurePosixPath(storage.path) for storage in there if storage.path]
            added[project] = not any(folder.is_relative_to(path) for path in paths)
            if added[project]:
                once: Any = {"max_retries": 0}
                client.import_storage.local.create(**storage_settings(project, folder), request_options=once)
    return added
