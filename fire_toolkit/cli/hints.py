"""What the hint at a command's end names: files that are there, so that it works when pasted."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path

_USUAL = {
    "QUERIES": ("queries.tsv", "queries.csv"),
    "QRELS": ("qrels.original.txt", "qrels.txt", "qrels.trec", "qrels.tsv", "qrels.csv"),
}
MEANINGS = {
    "QUERIES": "your queries, CSV or TSV with query_id and text",
    "QRELS": "the original qrels",
    "POOL": "the folder that `pool` wrote",
    "RUN...": "the files of your runs",
    "EXPORT.json": "what Label Studio exported as JSON",
}


def named(name: str, given: str | Path | None = None, *, beside: Iterable[str] = ()) -> str:
    """Return for QUERIES or QRELS the file given, else one of a usual name here or beside other files.

    Where there is none the name itself is returned; `say_next` says what it stands for.
    """
    folders = [Path(), *(Path(file).parent for file in beside)]
    found = (folder / usual for folder in folders for usual in _USUAL[name])
    path = Path(given) if given else next((path for path in found if path.is_file()), None)
    return shlex.quote(str(path)) if path else name


def runs_named(given: Iterable[str] = ()) -> str:
    """Return the runs given, else those in the folder `runs`, as words of a command."""
    there = sorted(path for path in Path("runs").glob("[!.]*") if not path.name.endswith(".manifest.json"))
    return " ".join(shlex.quote(str(run)) for run in given or there) or "RUN..."
