"""CIRR: `[{pairid, reference, target_hard, target_soft, caption, img_set}]`."""

from __future__ import annotations

from fire_toolkit.collections.parts import Part
from fire_toolkit.formats.collections.entries import Captions, by_fields, entries_of
from fire_toolkit.formats.collections.source import Source

recognise = by_fields("pairid", "reference", "img_set")


def read(source: Source, split: str | None) -> Part:
    """Return the modification texts; the query's id is `pairid`, the positive is `target_hard`.

    Queries keep reference (the image the text modifies) and img_set; groups hold the members of the
    query's image set, the reference among them. The test split has no targets.
    """
    captions, members, n_soft = Captions(), [], 0
    for entry in entries_of(source):
        image_set = entry.entry("img_set")
        key = captions.add(
            entry.id("target_hard", ""),
            entry.text("caption"),
            query_id=entry.id("pairid"),
            is_positive="target_hard" in entry,
            reference=entry.id("reference"),
            img_set=image_set.id("id"),
        )
        members += [(key, name) for name in dict.fromkeys(image_set.ids("members"))]
        n_soft += len(set(entry.entry("target_soft", {}).fields) - {entry.value("target_hard", "")})
    notes = [f"{n_soft:,} soft targets left out: the benchmark's positive is target_hard"] if n_soft else []
    return captions.part(str(source.path), members=members, notes=notes)
