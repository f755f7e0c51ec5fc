"""CIRCO: `[{id, reference_img_id, relative_caption, gt_img_ids, …}]`, several positives a query."""

from __future__ import annotations

from fire_toolkit.collections.parts import Part
from fire_toolkit.formats.collections.entries import Captions, by_fields, entries_of
from fire_toolkit.formats.collections.source import Source

recognise = by_fields("id", "reference_img_id", "relative_caption")


def read(source: Source, split: str | None) -> Part:
    """Return the relative captions; ids are `id` and image numbers as written, without padding.

    Positives are gt_img_ids; target_img_id is the target. Queries keep reference, shared_concept,
    semantic_aspects (joined by `;`). The test split has no positives.
    """
    captions = Captions()
    for entry in entries_of(source):
        key = captions.add(
            "",
            entry.text("relative_caption"),
            query_id=entry.id("id"),
            is_positive=False,
            reference=entry.id("reference_img_id"),
            shared_concept=entry.text("shared_concept", ""),
            semantic_aspects=";".join(map(str, entry.values("semantic_aspects", []))),
        )
        captions.pairs += [(key, doc, 1) for doc in entry.ids("gt_img_ids", [])]
        if "target_img_id" in entry:
            captions.targets.append((key, entry.id("target_img_id"), 1))
    return captions.part(str(source.path))
