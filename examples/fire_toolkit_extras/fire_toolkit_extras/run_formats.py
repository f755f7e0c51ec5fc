"""Runs as lines of `query_id<TAB>doc_id=score doc_id=score …`, after a first line `%scored-lines`."""

from pathlib import Path

import pandas as pd

from fire_toolkit.errors import FormatError
from fire_toolkit.files import read_text
from fire_toolkit.formats.runs.listed import Listed
from fire_toolkit.formats.runs.reader import RunReader

MARK = "%scored-lines"


def is_scored_lines(start: bytes, path: Path) -> bool:
    """Whether the file's first line is the mark."""
    return start.split(b"\n", 1)[0].strip() == MARK.encode()


def read_scored_lines(path: Path, key: str | None = None) -> Listed:
    """Return the pairs and scores; the toolkit ranks and checks them."""
    queries: list[str] = []
    docs: list[str] = []
    scores: list[float] = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip() or line.startswith("%"):
            continue
        query, tab, rest = line.partition("\t")
        for field in rest.split():
            doc, equals, score = field.rpartition("=")
            try:
                scores.append(float(score))
            except ValueError:
                tab = ""
            if not (tab and equals):
                raise FormatError(
                    f"{path}:{number}: {field[:40]!r}, expected query_id, a tab, doc_id=score …"
                )
            queries.append(query)
            docs.append(doc)
    return Listed(pd.DataFrame({"query_id": queries, "doc_id": docs, "score": scores}))


READER = RunReader(
    name="scored-lines",
    what="lines of doc=score",
    evidence=f"the first line is {MARK}",
    sniff=is_scored_lines,
    read_lists=read_scored_lines,
)
