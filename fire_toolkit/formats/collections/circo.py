"""CIRCO: `[{id, reference_img_id, relative_caption, gt_img_ids, …}]`, several positives a query."""

from __future__ import annotations

from fire_toolkit.collections.parts import Part
from fire_toolkit.formats.collections.entries import Captions, as_entry, as_list, as_text, have, need
from fire_toolkit.formats.collections.source import Source
from fire_toolkit.ids import id_text


def recognise(source: Source) -> str | None:
    """Return why a file is CIRCO's, or None."""
    found = have(source.records, "id", "reference_img_id", "relative_caption")
    return "JSON entries with reference_img_id and relative_caption" if found else None


def read(source: Source, split: str | None) -> Part:
    """Return the relative captions; ids are `id` and image numbers as written, without padding.

    Positives are gt_img_ids; target_img_id is the target. Queries keep reference, shared_concept,
    semantic_aspects (joined by `;`). The test split has no positives.
    """
    path = str(source.path)
    captions = Captions()
    for n, value in enumerate(source.records or []):
        where = f"{path}: entry {n}"
        entry = as_entry(value, where)
        key = id_text(need(entry, "id", where), where)
        positives = [id_text(doc, where) for doc in as_list(entry.get("gt_img_ids", []), where)]
        captions.add(
            "",
            as_text(need(entry, "relative_caption", where), where),
            query_id=key,
            is_positive=False,
            reference=id_text(need(entry, "reference_img_id", where), where),
            shared_concept=as_text(entry.get("shared_concept", ""), where),
            semantic_aspects=";".join(map(str, as_list(entry.get("semantic_aspects", []), where))),
        )
        captions.pairs += [(key, doc, 1) for doc in positives]
        if "target_img_id" in entry:
            captions.targets.append((key, id_text(entry["target_img_id"], where), 1))
    return captions.part(path)
