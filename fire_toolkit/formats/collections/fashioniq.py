"""FashionIQ: `[{candidate, target, captions[2]}]` of one category."""

from __future__ import annotations

from fire_toolkit.collections.parts import Part
from fire_toolkit.formats.collections.entries import Captions, as_entry, as_texts, have, need
from fire_toolkit.formats.collections.source import Source
from fire_toolkit.ids import id_text


def recognise(source: Source) -> str | None:
    """Return why a file is FashionIQ's, or None."""
    return (
        "JSON entries with candidate and captions" if have(source.records, "candidate", "captions") else None
    )


def read(source: Source, split: str | None) -> Part:
    """Return the two captions joined by ` and `; the query's id is `candidate#n`, n in file order.

    Queries keep reference (the candidate). The category's list of images, named as a second file,
    makes the items. The test split has no targets.
    """
    path = str(source.path)
    captions = Captions()
    n_of_candidate: dict[str, int] = {}
    for n, value in enumerate(source.records or []):
        where = f"{path}: entry {n}"
        entry = as_entry(value, where)
        candidate = id_text(need(entry, "candidate", where), where)
        place = n_of_candidate[candidate] = n_of_candidate.get(candidate, -1) + 1
        texts = as_texts(need(entry, "captions", where), where)
        captions.add(
            id_text(entry.get("target", ""), where),
            " and ".join(text.strip() for text in texts),
            query_id=f"{candidate}#{place}",
            is_positive="target" in entry,
            reference=candidate,
        )
    return captions.part(path)
