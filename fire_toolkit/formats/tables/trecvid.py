"""TRECVID ad-hoc video search runs: XML, parsed without entities and without network access."""

import re
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from fire_toolkit.errors import FormatError
from fire_toolkit.files import read_text
from fire_toolkit.formats.runs.json_runs import of_lists
from fire_toolkit.formats.runs.listed import FROM_RANKS, Listed, chosen_run

_ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});)")
_UNREAD = ", which is not read; expected plain results"
_TOPICS = ("videoadhocsearchtopicresult", "topicresult")
Lists = dict[str, dict[int, str]]  # topic → place → shot


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
    if entity := _ENTITY.search(text):
        line = text.count("\n", 0, entity.start()) + 1
        raise FormatError(f"{path}:{line}: the XML has an entity{_UNREAD}")
    runs = _runs(path, text)
    names = [name for name, _ in runs]
    own = [name for name in names if name.partition("/")[0] == key]
    run_id = chosen_run(names, own[0] if len(own) == 1 else key, str(path), hint=" (pid or pid/priority)")
    ranked = {query: sorted(items.items()) for query, items in dict(runs)[run_id].items()}
    lists = [
        (f"{path}: topic {query}", query, ([shot for _, shot in items], [-n for n, _ in items], True))
        for query, items in ranked.items()
    ]
    notes = (FROM_RANKS, "query ids are 1 + tNum, as in the track's qrels (topic 501 is 1501)")
    return of_lists(lists, str(path), notes, run_id or None)


def _runs(path: Path, text: str) -> list[tuple[str, Lists]]:
    """Return the name of each run in a file, and its lists; names of tags and attributes in any case."""
    runs, topics = list[tuple[str, Lists]](), list[dict[int, str]]()
    parser = expat.ParserCreate("utf-8")

    def refuse(problem: str) -> NoReturn:
        raise FormatError(f"{path}:{parser.CurrentLineNumber}: {problem}")

    def start(tag: str, attributes: dict[str, str]) -> None:
        given = {name.lower(): value for name, value in attributes.items()}
        if tag.lower() == "videoadhocsearchrunresult":
            runs.append(("/".join(filter(None, (given.get("pid"), given.get("priority")))), {}))
        elif tag.lower() in _TOPICS:
            number = given.get("tnum", "")
            if not number.isascii() or not number.isdigit() or not runs:
                refuse(f"a topic with tNum {number[:20]!r}, expected a number within a run")
            query = number if len(number) > 3 else f"1{number}"
            if query in runs[-1][1]:
                refuse(f"topic {number} appears twice in a run")
            topics.append(runs[-1][1].setdefault(query, {}))
        elif tag.lower() == "item":
            place, shot = given.get("seqnum", ""), given.get("shotid", "")
            if not topics or not place.isascii() or not place.isdigit() or len(place) > 9 or not shot:
                refuse("an item outside a topic, or without seqNum and shotId")
            if int(place) in topics[-1]:
                refuse("a seqNum appears twice in a topic")
            topics[-1][int(place)] = shot

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: topics.clear() if tag.lower() in _TOPICS else None
    parser.StartDoctypeDeclHandler = lambda name, system, public, inner: (
        refuse(f"the XML has its own document type{_UNREAD}") if inner else None
    )
    parser.EntityDeclHandler = lambda *_: refuse(f"the XML has an entity{_UNREAD}")
    try:
        parser.Parse(text.encode("utf-8"), True)
    except expat.ExpatError as error:
        raise FormatError(f"{path}:{error.lineno}: not valid XML: {expat.ErrorString(error.code)}") from None
    except (ValueError, LookupError) as error:
        raise FormatError(f"{path}: not valid XML: {error}") from None
    return runs
