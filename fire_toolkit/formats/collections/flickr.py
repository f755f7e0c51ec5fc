"""Flickr30k's captions as text: `name.jpg#0<TAB>caption`, or `image,caption` with commas in captions."""

from __future__ import annotations

import csv
import re

from fire_toolkit.collections.parts import Part
from fire_toolkit.errors import FormatError
from fire_toolkit.formats.collections.entries import Captions
from fire_toolkit.formats.collections.source import Source

_TOKEN = re.compile(r"(\S+)#(\d+)\t(.*)")
_HEADERS = {"image,caption": ",", "image_name| comment_number| comment": "|", "image|caption": "|"}


def recognise(source: Source) -> str | None:
    """Return why a file is Flickr30k's captions, or None."""
    first = source.lines[0] if source.lines else ""
    if _TOKEN.fullmatch(first):
        return "lines of `name#number`, a tab and a caption"
    return f"the header is {first.strip()!r}" if first.strip() in _HEADERS else None


def read(source: Source, split: str | None) -> Part:
    """Return the captions; a query's id is `name.jpg#n` as written, or n in the order of the file."""
    delimiter = _HEADERS.get(source.lines[0].strip())
    captions = Captions()
    for number, line in source.numbered_lines:
        if delimiter and line.strip() in _HEADERS:
            continue
        where = f"{source.path}:{number}"
        if delimiter is None:
            found = _TOKEN.fullmatch(line)
            if found is None:
                raise FormatError(f"{where}: {line[:40]!r}, expected name#number, a tab and a caption")
            captions.add(found[1], found[3], query_id=f"{found[1]}#{found[2]}")
        else:
            captions.add(*_fields(line, delimiter, where))
    return captions.part(str(source.path))


def _fields(line: str, delimiter: str, where: str) -> tuple[str, str]:
    """Return name and caption: all that follows the name (and number) is caption, quoted or not."""
    name, found, caption = line.partition(delimiter)
    if not found:
        raise FormatError(f"{where}: {line[:40]!r}, expected name{delimiter}caption")
    if delimiter == "|":
        caption = re.sub(r"^\s*\d+\s*\|", "", caption).strip()
    return name.strip(), _unquoted(caption)


def _unquoted(caption: str) -> str:
    if len(caption) < 2 or not (caption.startswith('"') and caption.endswith('"')):
        return caption
    try:
        fields = next(csv.reader([caption], strict=True))
    except csv.Error:
        return caption
    return fields[0] if len(fields) == 1 else caption
