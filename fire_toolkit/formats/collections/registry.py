"""The collection formats; a file is read by the first one that recognises its content."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from fire_toolkit.collections.parts import Collection, Part, assemble
from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.formats.collections import composed, images, lists, qrels, tables, videos
from fire_toolkit.formats.collections.entries import ALL, by_fields, by_header, by_keys, by_list
from fire_toolkit.formats.collections.source import Source
from fire_toolkit.formats.releases import collection_files, is_release
from fire_toolkit.formats.runs.hints import not_the_file
from fire_toolkit.plugins import Registry
from fire_toolkit.results import Shown


@dataclass(frozen=True)
class Reader:
    """A collection format: its name, `recognise` (why a file has this format, or None), and `read`.

    `has_splits`: a file holds several splits, and `read` takes one out of it. `own_item`: whether the
    benchmark's scorer leaves a query's own item out of its ranking (`drop`) or not (`keep`).
    """

    name: str
    recognise: Callable[[Source], str | None]
    read: Callable[[Source, str | None], Part]
    has_splits: bool = False
    own_item: str | None = None


# The first that recognises a file reads it: the particular stand before the general, plug-ins last.
READERS: Registry[Reader] = Registry("collections", "collection format", Reader)
for _reader in (
    Reader("msrvtt-jsfusion", by_header(*videos.JSFUSION), videos.read_jsfusion),
    Reader("msrvtt-data", by_keys("videos", "sentences"), videos.read_msrvtt, has_splits=True),
    Reader("msvd", videos.recognise_msvd, videos.read_msvd),
    Reader("karpathy", by_list("images", "filename", "sentences"), images.read_karpathy, has_splits=True),
    Reader("coco", by_list("annotations", "image_id", "caption"), images.read_coco),
    Reader("activitynet", videos.recognise_activitynet, videos.read_activitynet),
    Reader("cirr", by_fields("pairid", "reference", "img_set"), composed.read_cirr, own_item="drop"),
    Reader(
        "circo", by_fields("id", "reference_img_id", "relative_caption"), composed.read_circo, own_item="keep"
    ),
    Reader("fashioniq", by_fields("candidate", "captions"), composed.read_fashioniq, own_item="keep"),
    Reader("vatex", by_fields("videoID", "enCap"), videos.read_vatex),
    Reader("didemo", by_fields("video", "description"), videos.read_didemo),
    Reader("flickr", images.recognise_flickr, images.read_flickr),
    Reader("lsmdc", videos.recognise_lsmdc, videos.read_lsmdc),
    Reader("qrels", qrels.recognise, qrels.read),
    Reader("lavis", images.recognise_lavis, images.read_lavis),
    Reader("table", tables.recognise, tables.read),
    Reader("texts", lists.recognise_texts, lists.read_texts),
    Reader("items", lists.recognise_items, lists.read_items),
):
    READERS.add(_reader.name, _reader)


@dataclass(frozen=True)
class Recognised:
    """A file, the format it was recognised as, and why."""

    path: Path
    reader: str
    why: str


def own_item_rule_of(readers: Iterable[str]) -> str | None:
    """Return what the benchmarks of these readers do with own items: `drop` or `keep`; None if unknown."""
    found = [READERS.get(name) for name in readers]
    rules = {reader.own_item for reader in found if reader is not None and reader.own_item}
    return min(rules) if len(rules) == 1 else None


def find_reader(source: Source) -> Reader | None:
    """Return the format of a file, or None if no format recognises it."""
    return next((known for known in READERS.one_by_one() if known.recognise(source) is not None), None)


def recognise(source: Source) -> tuple[Reader, str]:
    """Return the first reader that recognises a file, and why.

    Raises:
        FormatError: the file cannot be read, is damaged, or has no known format.
    """
    reader = find_reader(source)
    if reader is not None:
        return reader, reader.recognise(source) or ""
    if guess := not_the_file(source.raw[:1024]):
        raise FormatError(f"{source.path}: {guess}")
    raise FormatError(
        f"{source.path}: {_seen(source)}, which is not a known collection format; expected a "
        "benchmark's own file, or a table whose first line names its columns, such as video_id,caption"
    )


def _seen(source: Source) -> str:
    found = source.json
    if isinstance(found, dict) and {"annotations", "disagreements"} <= set(found):
        return "judgments of FIRE's release (read them with `fire-toolkit import`)"
    if isinstance(found, dict):
        return f"a JSON object with keys {', '.join(list(found)[:4]) or 'none'}"
    if source.records:
        return f"entries with fields {', '.join(list(source.records[0])[:6])}"
    if source.lines:
        return f"text that begins {source.lines[0][:40]!r}"
    return f"{len(source.raw):,} bytes of no text" if source.raw.strip() else "an empty file"


class _ReadCollection(NamedTuple):
    collection: Collection
    recognised: list[Recognised]


class ReadCollection(_ReadCollection, Shown):
    """What `read_collection` returns: the collection, and what each file was recognised as."""

    __slots__ = ()

    def shown_fields(self) -> Mapping[str, object]:
        """Return how many rows each table has, what each file is, and the notes."""
        files = {str(each.path): f"{each.reader}: {each.why}" for each in self.recognised}
        notes = {f"note {n}": note for n, note in enumerate(self.collection.notes, start=1)}
        return {**self.collection.counts, **files, **notes}


def read_collection(paths: Sequence[str | Path], *, split: str | None = None) -> ReadCollection:
    """Return the collection that files make together, and what each was recognised as.

    Args:
        paths: files or folders; of a folder, every file that a format recognises, and of its subfolder
            `qrels` only the file of the split.
        split: the split to keep where a format has several; None is `test`; `all` keeps all.

    Raises:
        FormatError: a file cannot be read or has no known format, or a folder has no file.
        UsageError: no such split, or several and none named.
        JoinError, TableError: the files do not make a collection.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp()) / "captions.csv"
        >>> _ = file.write_text("query_id,text,doc_id\\nq1,a dog runs,v1\\n")
        >>> read_collection([file]).collection.counts["queries"]
        1
    """
    parts: list[Part] = []
    takes_split = any(Path(path).is_dir() for path in paths)
    recognised: list[Recognised] = []
    for path in paths:
        for file in _files(Path(path), split):
            source = Source(file)
            try:
                reader, why = recognise(source)
            except FormatError:
                if Path(path).is_dir() and file.suffix.lower() not in _DATA:
                    continue
                raise
            parts.append(reader.read(source, split))
            takes_split = takes_split or reader.has_splits
            recognised.append(Recognised(file, reader.name, why))
    if split not in (None, ALL) and not takes_split:
        raise UsageError(f"{paths[0]}: no file here has several splits; leave out --split")
    return ReadCollection(assemble(parts), recognised)


_DATA = (".json", ".jsonl", ".csv", ".tsv", ".parquet", ".pkl", ".txt")


def _files(path: Path, split: str | None) -> list[Path]:
    """Return the file, or all files in a folder and its subfolders; of `qrels` only the split's."""
    if not path.is_dir():
        return [path]
    if is_release(path):
        return collection_files(path)
    found = [file for file in sorted(path.rglob("*")) if file.is_file() and not _is_hidden(file, path)]
    judged = [file for file in found if file.parent.name == "qrels"]
    wanted = [file for file in judged if file.stem.split(".")[0].split("-")[0] == (split or "test")]
    if judged and not wanted and split != ALL and len(judged) > 1:
        names = ", ".join(file.stem for file in judged)
        raise FormatError(f"{path}: qrels of {names}; choose one with --split")
    left_out = set(judged) - set(wanted or judged)
    kept = [file for file in found if file not in left_out]
    if not kept:
        raise FormatError(f"{path}: no file in this folder")
    return kept


def _is_hidden(file: Path, root: Path) -> bool:
    return any(part.startswith(".") for part in file.relative_to(root).parts)
