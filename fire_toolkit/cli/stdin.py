"""Standard input as a file: for formats that are recognised by content, and read in blocks or twice."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from fire_toolkit.errors import FireError

STDIN = "-"


@dataclass(frozen=True)
class Files:
    """The paths of files as they were given; of standard input the path where it is kept meanwhile."""

    paths: list[Path]
    kept: Path | None = None

    def name(self, path: Path) -> str:
        """Return what a file is called in words and manifests."""
        return STDIN if path == self.kept else str(path)


@contextmanager
def as_files(files: Sequence[str]) -> Iterator[Files]:
    """Yield files to read; standard input (`-`) is kept in a file meanwhile, and is `-` in errors."""
    if STDIN not in files:
        yield Files([Path(file) for file in files])
        return
    if files.count(STDIN) > 1:
        raise click.UsageError("`-` is given twice: standard input can be read once")
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "stdin"
        with kept.open("wb") as stream:
            shutil.copyfileobj(sys.stdin.buffer, stream)
        try:
            yield Files([kept if file == STDIN else Path(file) for file in files], kept)
        except FireError as error:
            error.args = (str(error).replace(str(kept), STDIN),)
            raise
