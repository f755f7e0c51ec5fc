"""FashionIQ: `[{candidate, target, captions[2]}]` of one category."""

from __future__ import annotations

from fire_toolkit.collections.parts import Part
from fire_toolkit.formats.collections.entries import Captions, by_fields, entries_of
from fire_toolkit.formats.collections.source import Source

recognise = by_fields("candidate", "captions")


def read(source: Source, split: str | None) -> Part:
    """Return the two captions joined by ` and `; the query's id is `candidate#n`, n in file order.

    Queries keep reference (the candidate). The category's list of images, named as a second file,
    makes the items. The test split has no targets.
    """
    captions = Captions()
    n_of_candidate: dict[str, int] = {}
    for entry in entries_of(source):
        candidate = entry.id("candidate")
        place = n_of_candidate[candidate] = n_of_candidate.get(candidate, -1) + 1
        captions.add(
            entry.id("target", ""),
            " and ".join(text.strip() for text in entry.texts("captions")),
            query_id=f"{candidate}#{place}",
            is_positive="target" in entry,
            reference=candidate,
        )
    return captions.part(str(source.path))
