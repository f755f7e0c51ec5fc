"""The files of a collection's items in a folder, and which of them could be equal."""

import warnings
from pathlib import Path

import pandas as pd

from fire_toolkit.errors import FileNote, UsageError
from fire_toolkit.files import sha256_of
from fire_toolkit.tables import Items


def item_file_hashes(items: Items, folder: Path) -> pd.DataFrame:
    """Return the sha256 of the items' files, by `media_url` in a folder.

    Returns:
        Columns doc_id and sha256, a row for each item that has a file, in the order of the items. Only files
        of one size are read; the hash of others is empty.

    A `FileNote` says how many items have none.

    Raises:
        UsageError: there is no such folder.
    """
    if not folder.is_dir():
        raise UsageError(f"--media {folder}: no such folder")
    paths = {doc: folder / url for doc, url in zip(items["doc_id"], items["media_url"], strict=True)}
    sizes = pd.Series(
        {doc: path.stat().st_size for doc, path in paths.items() if path.is_file()}, dtype="int64"
    )
    if n := len(items) - len(sizes):
        warnings.warn(f"{n:,} of {len(items):,} items have no file in {folder}", FileNote, stacklevel=2)
    is_alike = sizes.duplicated(keep=False)
    hashes = [sha256_of(paths[doc]) if alike else "" for doc, alike in is_alike.items()]
    return pd.DataFrame({"doc_id": sizes.index, "sha256": hashes}, dtype="str")
