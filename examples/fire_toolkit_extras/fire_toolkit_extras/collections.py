"""Captions as lines of `video_id | caption`, after a first line `%caption-lines`."""

import pandas as pd

from fire_toolkit.collections.parts import Part
from fire_toolkit.errors import FormatError
from fire_toolkit.formats.collections.registry import Reader
from fire_toolkit.formats.collections.source import Source

MARK = "%caption-lines"


def recognise(source: Source) -> str | None:
    """Return why a file is of this format, or None."""
    return f"its first line is {MARK}" if source.lines[:1] == [MARK] else None


def read(source: Source, split: str | None) -> Part:
    """Return one query for each line, whose positive is the video of the line."""
    queries, positives = [], []
    for number, line in enumerate(source.lines[1:], start=1):
        video, bar, caption = (part.strip() for part in line.partition("|"))
        if not (video and bar and caption):
            raise FormatError(f"{source.path}: line {line[:40]!r}, expected video_id | caption")
        queries.append((f"c{number}", caption))
        positives.append((f"c{number}", video, 1))
    return Part(
        str(source.path),
        queries=pd.DataFrame(queries, columns=["query_id", "text"]),
        positives=pd.DataFrame(positives, columns=["query_id", "doc_id", "relevance"]),
    )


READER = Reader("caption-lines", recognise, read)
