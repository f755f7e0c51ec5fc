"""An answer that takes long to find, kept while no file of the workspace changes."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from fire_toolkit import __version__
from fire_toolkit.workspace.hashes import facts_of, is_settled, read_sealed, write_sealed

RECORD = ".fire-answers"
T = TypeVar("T")
_MOST_FILES = 20_000  # more take longer to look at than the answer to find


def kept_answer(
    root: Path, name: str, question: Any, find: Callable[[], T], *, beside: Iterable[Path] = ()
) -> T:
    """Return what `find` returns; what it returned to the same question where no file has changed since.

    Size, times and inode of every file in the workspace but hidden ones are those of then, and no file had
    been touched for two seconds before it was found. The record may be deleted at any time; one that is
    damaged, or of another version of the toolkit, counts as none.

    Args:
        root: the folder of the workspace.
        name: of the answer; of each name the last is kept.
        question: all that it depends on beside files, as JSON has it.
        find: finds it, as JSON has it; what it raises is raised and not kept.
        beside: the files elsewhere that it depends on; where one is absent, nothing is kept.
    """
    began_ns, others = time.time_ns(), list(beside)
    before = _facts_of_all(root, others)
    state = hashlib.sha256(json.dumps([__version__, question, before]).encode()).hexdigest()
    record = read_sealed(root / RECORD)
    kept = record if isinstance(record, dict) else {}
    if before and name in kept and kept[name][0] == state:
        answer: T = kept[name][1]
        return answer
    found = find()
    is_still = all(is_settled(facts, began_ns) for facts in before.values())
    if before and is_still and _facts_of_all(root, others) == before:
        write_sealed(root / RECORD, kept | {name: [state, found]})
    return found


def _facts_of_all(root: Path, others: Iterable[Path]) -> dict[str, list[int]]:
    """Return the facts of every file by its path; nothing where there are too many."""
    files = [path for path in root.iterdir() if not path.name.startswith(".")]
    found = {str(path): facts_of(path) for path in [*others, *files] if not path.is_dir()}
    for folder in sorted(path for path in files if path.is_dir()):
        for at, _, names in os.walk(folder):
            if len(found) + len(names) > _MOST_FILES:
                return {}
            paths = [Path(at, name) for name in names]
            found |= {str(path): facts_of(path) for path in paths}
    return dict(sorted(found.items()))
