"""The sha256 of a workspace's files, kept so that a look at its stages reads again only what has changed.

They lie in `.fire/hashes`: a line with the sha256 of what follows, then JSON. It may be deleted at any time,
and is as good as none where it is damaged or cannot be written. What is computed with is hashed anew.
"""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fire_toolkit.errors import FireError
from fire_toolkit.files import opened, state_of, text_sha256
from fire_toolkit.workspace.database import STORE, content_sha256
from fire_toolkit.workspace.manifests import write_files

KEPT = ".fire/hashes"


@contextmanager
def kept_hashes(root: Path) -> Iterator[Callable[[Path], str]]:
    """Give a function that returns what `content_sha256` does, and reads a file that lies as it lay once.

    A hash of an earlier time stands where the file's size, times and place on the disk are those of then,
    and it had not just changed when it was hashed.

    Args:
        root: the folder of the workspace.
    """
    kept, looked = _read(root / KEPT), dict[str, tuple[str, str]]()

    def hash_of(path: Path) -> str:
        if (name := os.path.relpath(path, root)) not in looked:
            state = ""  # of a record no file tells it, and to open and close that ends SQLite's locks
            if path.name != STORE:
                with opened(path) as stream:
                    state = state_of(os.fstat(stream.fileno()))
            is_as_it_lay = state and kept.get(name, ("",))[0] == state
            looked[name] = kept[name] if is_as_it_lay else (state, content_sha256(path))
        return looked[name][1]

    yield hash_of
    found = {name: each for name, each in (kept | looked).items() if each[0] and (root / name).is_file()}
    if found != kept:
        content = json.dumps(found)
        with suppress(FireError):
            write_files({root / KEPT: f"{text_sha256(content)}\n{content}".encode()})


def _read(path: Path) -> dict[str, tuple[str, str]]:
    """Return name → state and sha256; nothing where they are absent or damaged."""
    with suppress(OSError, ValueError, AttributeError):
        seal, _, content = path.read_text(encoding="utf-8").partition("\n")
        if seal == text_sha256(content):
            return {name: (state, sha256) for name, (state, sha256) in json.loads(content).items()}
    return {}
