"""CIRR: `[{pairid, reference, target_hard, target_soft, caption, img_set}]`."""

from __future__ import annotations

from fire_toolkit.collections.parts import Part
from fire_toolkit.formats.collections.entries import (
    Captions,
    as_entry,
    as_list,
    as_text,
    have,
    need,
)
from fire_toolkit.formats.collections.source import Source
from fire_toolkit.ids import id_text


def recognise(source: Source) -> str | None:
    """Return why a file is CIRR's, or None."""
    return (
        "JSON entries with pairid, reference and img_set"
        if have(source.records, "pairid", "reference", "img_set")
        else None
    )


def read(source: Source, split: str | None) -> Part:
    """Return the modification texts; the query's id is `pairid`, the positive is `target_hard`.

    Queries keep reference (the image the text modifies) and img_set; groups hold the members of the
    query's image set, the reference among them. The test split has no targets.
    """
    path = str(source.path)
    captions, members = Captions(), []
    n_soft = 0
    for n, value in enumerate(source.records or []):
        where = f"{path}: entry {n}"
        entry = as_entry(value, where)
        key = id_text(need(entry, "pairid", where), where)
        image_set = as_entry(need(entry, "img_set", where), where)
        captions.add(
            id_text(entry.get("target_hard", ""), where),
            as_text(need(entry, "caption", where), where),
            query_id=key,
            is_positive="target_hard" in entry,
            reference=id_text(need(entry, "reference", where), where),
            img_set=id_text(need(image_set, "id", where), where),
        )
        names = as_list(need(image_set, "members", where), where)
        members += [(key, name) for name in dict.fromkeys(id_text(name, where) for name in names)]
        n_soft += len(set(as_entry(entry.get("target_soft", {}), where)) - {entry.get("target_hard")})
    notes = [f"{n_soft:,} soft targets left out: the benchmark's positive is target_hard"] if n_soft else []
    return captions.part(path, members=members, notes=notes)
