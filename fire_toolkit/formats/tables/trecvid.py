"""TRECVID ad-hoc video search runs: XML, parsed without entities and without network access."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from fire_toolkit.errors import FormatError
from fire_toolkit.files import read_text, without_mark
from fire_toolkit.formats.runs.listed import FROM_RANKS, Listed, from_columns
from fire_toolkit.formats.runs.reader import RunReader

_ROOT = re.compile(rb"<(?:!DOCTYPE\s+)?videoAdhocSearch(?:Results|RunResult)[\s>]", re.IGNORECASE)
_ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});)")
_RUN, _TOPIC, _ITEM = "videoadhocsearchrunresult", "videoadhocsearchtopicresult", "item"


def is_trecvid(start: bytes, path: Path) -> bool:
    """Whether the text begins as XML and names a result of ad-hoc video search."""
    text = without_mark(start).lstrip()
    return text.startswith(b"<") and _ROOT.search(text) is not None


def read_trecvid(path: Path, key: str | None = None) -> Listed:
    """Return a run of ad-hoc video search: topic `1` + tNum as in its qrels, shots by their seqNum.

    Args:
        path: XML, gzip or not.
        key: the `pid`, or `pid/priority`, of one of several runs.

    Raises:
        FormatError: invalid XML, its own document type or entity, a topic or item without its number,
            a place or a shot twice in a topic, several runs and no `key`.
    """
    text = read_text(path)
    if _ENTITY.search(text):
        _refuse(path, text.count("\n", 0, _ENTITY.search(text).start()) + 1, "an entity")  # type: ignore[union-attr]
    found = _parse(path, text)
    run_id, topics = _choose(path, found.runs, key)
    pairs = [(query, shot, float(-place)) for query, items in topics.items() for place, shot in items]
    queries, shots, scores = (list(column) for column in zip(*pairs, strict=True)) if pairs else ([], [], [])
    notes = (FROM_RANKS, "query ids are 1 + tNum, as in the track's qrels (topic 501 is 1501)")
    return from_columns(queries, shots, scores, where=str(path), run_id=run_id or None, notes=notes)


@dataclass
class _Found:
    """The runs seen so far: name, and topic → (place, shot)."""

    path: Path
    parser: expat.XMLParserType
    runs: list[tuple[str, dict[str, list[tuple[int, str]]]]] = field(default_factory=list)
    topic: list[tuple[int, str]] | None = None

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.lower()
        given = {name.lower(): value for name, value in attributes.items()}
        if tag == _RUN:
            self.runs.append(("/".join(filter(None, (given.get("pid"), given.get("priority")))), {}))
        elif tag == _TOPIC or tag == "topicresult":
            self._open_topic(given)
        elif tag == _ITEM:
            self._add(given)

    def _open_topic(self, given: dict[str, str]) -> None:
        number = given.get("tnum", "")
        if not number.isascii() or not number.isdigit() or not self.runs:
            self._fail(f"a topic with tNum {number[:20]!r}, expected a number within a run")
        topics = self.runs[-1][1]
        query = number if len(number) > 3 else f"1{number}"
        if query in topics:
            self._fail(f"topic {number} appears twice in a run")
        self.topic = topics[query] = []

    def _add(self, given: dict[str, str]) -> None:
        place, shot = given.get("seqnum", ""), given.get("shotid", "")
        if self.topic is None or not place.isascii() or not place.isdigit() or len(place) > 9 or not shot:
            self._fail("an item outside a topic, or without seqNum and shotId")
        self.topic.append((int(place), shot))

    def end(self, tag: str) -> None:
        if tag.lower() in (_TOPIC, "topicresult") and self.topic is not None:
            places = [place for place, _ in self.topic]
            if len(set(places)) < len(places):
                self._fail("a seqNum appears twice in a topic")
            self.topic = None

    def _fail(self, problem: str) -> NoReturn:
        raise FormatError(f"{self.path}:{self.parser.CurrentLineNumber}: {problem}")


def _parse(path: Path, text: str) -> _Found:
    parser = expat.ParserCreate("utf-8")
    found = _Found(path, parser)
    parser.StartElementHandler = found.start
    parser.EndElementHandler = found.end
    parser.StartDoctypeDeclHandler = lambda name, system, public, has_subset: (
        _refuse(path, parser.CurrentLineNumber, "its own document type") if has_subset else None
    )
    parser.EntityDeclHandler = lambda *_: _refuse(path, parser.CurrentLineNumber, "an entity")
    try:
        parser.Parse(text.encode("utf-8"), True)
    except expat.ExpatError as error:
        raise FormatError(f"{path}:{error.lineno}: not valid XML: {expat.ErrorString(error.code)}") from None
    except (ValueError, LookupError) as error:
        raise FormatError(f"{path}: not valid XML: {error}") from None
    return found


def _refuse(path: Path, line: int, what: str) -> NoReturn:
    raise FormatError(f"{path}:{line}: the XML has {what}, which is not read; expected plain results")


def _choose(
    path: Path, runs: list[tuple[str, dict[str, list[tuple[int, str]]]]], key: str | None
) -> tuple[str, dict[str, list[tuple[int, str]]]]:
    wanted = [run for run in runs if key is None or key == run[0] or key == run[0].partition("/")[0]]
    if len(wanted) == 1:
        return wanted[0]
    names = ", ".join(name for name, _ in runs[:8]) or "none"
    raise FormatError(f"{path}: {len(runs)} runs; choose one with --key (pid or pid/priority): {names}")


READER = RunReader(
    "trecvid",
    "TRECVID ad-hoc video search results",
    "XML of videoAdhocSearchResults",
    is_trecvid,
    read_trecvid,
)
