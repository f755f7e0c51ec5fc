"""Benchmarks of composed queries: an image, and a text that says what to change in it."""

from __future__ import annotations

from fire_toolkit.collections.parts import Part
from fire_toolkit.formats.collections.entries import Captions, entries_of
from fire_toolkit.formats.collections.source import Source


def read_cirr(source: Source, split: str | None) -> Part:
    """Return CIRR's texts: `[{pairid, reference, target_hard, target_soft, caption, img_set}]`.

    The query's id is `pairid`, the positive is `target_hard`. Queries keep reference (the image the text
    modifies) and img_set; groups hold the members of the query's image set, including the reference. The
    test split has no targets.
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


def read_circo(source: Source, split: str | None) -> Part:
    """Return CIRCO's texts: `[{id, reference_img_id, relative_caption, gt_img_ids, …}]`.

    Ids are `id` and image numbers as written, without padding. Positives are gt_img_ids, several per query;
    target_img_id is the target. Queries keep reference, shared_concept, semantic_aspects (joined by `;`).
    The test split has no positives.
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


def read_fashioniq(source: Source, split: str | None) -> Part:
    """Return FashionIQ's captions of one category: `[{candidate, target, captions[2]}]`.

    The two captions are joined by ` and `; the query's id is `candidate#n`, n in file order. Queries keep
    reference (the candidate). The items are the category's list of images, given as a second file. The
    test split has no targets.
    """
    captions = Captions()
    for entry in entries_of(source):
        candidate = entry.id("candidate")
        captions.add(
            entry.id("target", ""),
            " and ".join(text.strip() for text in entry.texts("captions")),
            query_id=captions.next_id(candidate),
            is_positive="target" in entry,
            reference=candidate,
        )
    return captions.part(str(source.path))
