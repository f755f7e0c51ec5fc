"""LSMDC: six fields a line, without a header: clip, four times, sentence."""

from __future__ import annotations

import re

from fire_toolkit.collections.parts import Part
from fire_toolkit.errors import FormatError
from fire_toolkit.formats.collections.entries import Captions
from fire_toolkit.formats.collections.source import Source

_N_FIELDS = 6
_TIME = re.compile(r"\s*\d[\d.:]*\s*|")


def recognise(source: Source) -> str | None:
    """Return why a file is LSMDC's, or None."""
    fields = source.lines[0].split("\t") if source.lines else []
    if len(fields) == _N_FIELDS and all(_TIME.fullmatch(field) for field in fields[1:5]):
        return "six fields a line: a clip, four times, a sentence"
    return None


def read(source: Source, split: str | None) -> Part:
    """Return the captions; ids are the clip, and `clip#n`."""
    captions = Captions()
    for number, line in source.numbered_lines:
        fields = line.split("\t")
        if len(fields) != _N_FIELDS:
            raise FormatError(
                f"{source.path}:{number}: {len(fields)} fields, expected {_N_FIELDS} (clip, times, text)"
            )
        captions.add(fields[0].strip(), fields[5])
    return captions.part(str(source.path))
