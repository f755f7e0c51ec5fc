"""The collection formats; a file is read by the first one that recognises its content."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase as fnmatch
from pathlib import Path
from typing import NamedTuple

from fire_toolkit.collections.assembly import Collection, assemble
from fire_toolkit.collections.parts import Part, part_ids
from fire_toolkit.errors import FireError, FormatError, PluginError, UsageError
from fire_toolkit.files import text_of
from fire_toolkit.formats.collections import qrels, tables
from fire_toolkit.formats.collections.layouts import LAYOUTS, SPECS
from fire_toolkit.formats.collections.layouts import Reader as Reader
from fire_toolkit.formats.collections.source import PICKLES, Named, Source, have
from fire_toolkit.formats.collections.tables import SPLITS, names_of_split, short_split
from fire_toolkit.formats.columns import are_names
from fire_toolkit.formats.recognised import start_of
from fire_toolkit.formats.releases import collection_files, is_release
from fire_toolkit.formats.runs.parquet_files import PARQUET_MAGIC
from fire_toolkit.formats.runs.reader import not_the_file
from fire_toolkit.plugins import Registry
from fire_toolkit.results import Shown

READERS: Registry[Reader] = Registry("collections", "collection format", Reader)
_GENERAL = {name for name, spec in SPECS.items() if "is_general" in spec}
_TABLE = Reader("table", tables.describe_table, tables.read_table)
# The first that recognises a file reads it: benchmarks before what is general, plug-ins last.
for _name, _reader in (
    *((name, reader) for name, reader in LAYOUTS.items() if name not in _GENERAL),
    ("qrels", Reader("qrels", qrels.recognise, qrels.read)),
    ("table", _TABLE),
    *((name, reader) for name, reader in LAYOUTS.items() if name in _GENERAL),
    ("items", Reader("items", tables.recognise_items, tables.read_items)),
):
    READERS.add(_name, _reader)


class _Unknown(FormatError):
    """A file that no format recognises."""


@dataclass(frozen=True)
class Recognised:
    """A file, its format, why, and its part; of a table its columns, and those given (by role)."""

    path: Path
    reader: str
    why: str
    part: Part
    columns: Sequence[str] = ()
    given: Mapping[str, str] = field(default_factory=dict)


def own_item_rule_of(readers: Iterable[str]) -> str | None:
    """Return what the benchmarks of these readers do with own items: `drop` or `keep`; None if unknown."""
    rules = {reader.own_item for name in readers if (reader := READERS.get(name)) and reader.own_item}
    return min(rules) if len(rules) == 1 else None


def find_reader(source: Source) -> Reader | None:
    """Return the format of a file, or None if no format recognises it."""
    return next((known for known in READERS.values() if known.recognise(source) is not None), None)


def _reader_of(source: Source) -> Reader:
    """Return the reader of a table by named columns if it has them all, else of the file's format.

    Raises:
        FormatError: the file cannot be read, is damaged, or has no known format.
        UsageError: it has a column that may be a grade of each pair; or as `Source.given`.
    """
    given = source.given
    if given and tables.describe_table(source) is None:
        source.given = {}  # columns of other tables, whose names this one has too
    reader = _TABLE if 0 < len(source.given) == len(source.named) else find_reader(source)
    if reader in (None, _TABLE, READERS["lavis"]):
        tables.refuse_unread_grades(source)
    if reader is not None:
        return reader
    if guess := not_the_file(source.raw[:1024]):
        raise FormatError(f"{source.path}: {guess}")
    if not source.text and source.raw.strip() and b"\0" not in source.raw:
        text_of(source.raw, source.path)  # which names the byte that is not UTF-8
    expected = "or a table whose first line names its columns, such as video_id,caption"
    if are_names(source.columns, "".join(source.lines[1:2])):
        line = tables.line_to_type(source.columns, given)
        expected = f"or a table of which you say which column is what: {line}"
    if inner := next((name for name, found in source.mapping.items() if have(found)), ""):
        expected = f"its list {inner!r} alone, {expected}"
    raise _Unknown(
        f"{source.path}: {_seen(source)}, which is not a known collection format; expected a benchmark's own "
        f"file, {expected}"
    )


def _seen(source: Source) -> str:
    if {"annotations", "disagreements"} <= set(source.mapping):
        return "judgments of FIRE's release (read them with `fire-toolkit import`)"
    if isinstance(source.json, dict):
        return f"a JSON object with keys {', '.join(list(source.json)[:4]) or 'none'}"
    if source.records:
        return f"entries with fields {', '.join(list(source.records[0])[:12])}"
    if len(source.header) > 1:
        return f"columns {', '.join(source.header[:12])}"
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


def read_collection(
    paths: Sequence[str | Path], *, split: str | None = None, columns: Named | None = None
) -> ReadCollection:
    """Return the collection that files make together, and what each was recognised as.

    Args:
        paths: files or folders; of a folder, every file that a format recognises, and of those that are
            named after several splits only the files of the split.
        split: the split to keep where a format has several; None is `test`, else `evaluation`; `all`
            keeps all.
        columns: role (`tables.ROLES`) → column of the tables that have it, or several, of which a table has
            one; the text's can be a pattern, such as `caption_*`, and columns of usual names need not be
            named. A benchmark's own file is read by them only if it has all.

    Raises:
        FormatError: a file cannot be read or has no known format, or a folder has no file.
        UsageError: no such split, or several and none named; no table has a column that is named.
        JoinError, TableError: the files do not make a collection.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp()) / "captions.csv"
        >>> _ = file.write_text("query_id,text,doc_id\\nq1,a dog runs,v1\\n")
        >>> read_collection([file]).collection.counts["queries"]
        1
    """
    notes, recognised = list[str](), list[Recognised]()
    takes_split, unknown = False, list[_Unknown]()
    named = {role: [own] if isinstance(own, str) else own for role, own in (columns or {}).items()}
    for path in map(Path, paths):
        for file in _files(path, split, notes):
            source, reader = Source(file, named=named), None
            try:
                reader = _reader_of(source)
                if path.is_dir() and (told := _notes_in_passing(reader, source)) is not None:
                    notes += told
                    continue
                part = reader.read(source, split)
            except (FormatError, UsageError) as error:
                is_own = reader is not None or isinstance(error, UsageError)
                unknown += _refuse_or_pass_over(error, file, path, notes, is_own=is_own)
                continue
            if not isinstance(part, Part):
                raise PluginError(f"{reader.name} returned a {type(part).__name__}, expected a Part")
            of_table = (source.columns, source.given) if reader is _TABLE else ()
            why = reader.recognise(source) or ""
            recognised.append(Recognised(file, reader.name, why, part, *of_table))
            name = str(file.relative_to(path))  # nothing of a file that was named itself
            words = {*re.split(r"[^\w]+|_", name), *map(short_split, SPLITS.findall(name.lower()))}
            is_of_split = split is not None and not words.isdisjoint((split, short_split(split)))
            has_column = tables.SPLIT in recognised[-1].columns
            takes_split = takes_split or reader.has_splits or has_column or is_of_split
    benchmarks = {LAYOUTS[name].name for name in LAYOUTS if name not in _GENERAL}
    if unknown and not any(each.part.queries is not None for each in recognised if each.reader in benchmarks):
        raise unknown[0]
    notes += [f"left out: {str(each).partition(';')[0]}" for each in unknown]
    _refuse_unread(recognised, named, notes)
    _refuse_two_forms([Path(path) for path in paths if Path(path).is_dir()], recognised, split)
    if split not in (None, tables.ALL) and not takes_split:
        raise UsageError(f"{paths[0]}: no file here has several splits; leave out --split")
    collection = assemble(_without_strange_lists(recognised, paths, notes))
    collection.notes[:0] = notes
    names = [each.path.name.removesuffix(".gz") for each in recognised if each.reader == "fashioniq"]
    if len(kinds := {name.split(".")[-3:][0] for name in names}) > 1:
        apart = "FashionIQ's protocol has one of each: name the files of one alone, with --out NAME"
        collection.notes.append(f"{', '.join(sorted(kinds))} make one gallery here; {apart}")
    if collection.qrels.empty:  # tables of captions alone, whose items a column may name
        for each in recognised:
            line = tables.line_to_type(each.columns, each.given)
            is_alone = each.part.queries is not None and each.part.positives is None
            if each.columns and is_alone and "doc_id=" in line:
                column = f"if a column of {each.path} names the item of each caption"
                collection.notes.append(f"{column}, add {line}")
    return ReadCollection(collection, recognised)


def _notes_in_passing(reader: Reader, source: Source) -> list[str] | None:
    """Return notes on a file that is read only if it is named: a licence of one word, a model's lists."""
    if reader is READERS["items"] and not _has_data(source.path):
        return []
    lengths = {len(docs) if isinstance(docs, list) else 0 for docs in source.mapping.values()}
    if reader is not READERS["qrels"] or len(lengths) != 1 or len(source.mapping) == 1:
        return None
    n_docs = lengths.pop()
    why = f"{n_docs} docs of every query, as models list them; if they are positives, name the files to read"
    return [f"left out: {source.path}: {why}"] if n_docs >= _OF_A_MODEL else None


def _refuse_or_pass_over(
    error: FireError, file: Path, path: Path, notes: list[str], *, is_own: bool
) -> list[_Unknown]:
    """Raise what is wrong with a file, but for one in a folder that need be of no format.

    Returns:
        What is said of a file of data of no known format, which is passed over beside a benchmark's own.
    """
    if not path.is_dir():
        raise error
    if not is_own and not _has_data(file):
        return []
    choose = ", or another split with --split" if notes and is_own else ""
    told = type(error)(f"{error}; or name the files to read in the place of {path}{choose}")
    if isinstance(told, _Unknown):
        return [told]
    raise told from None


def _without_strange_lists(
    recognised: Sequence[Recognised], paths: Sequence[str | Path], notes: list[str]
) -> list[Part]:
    """Return the parts without a folder's lists of no item of captions that know their split themselves."""
    know_splits = {reader.name for reader in LAYOUTS.values() if reader.has_splits}
    own = [each.part for each in recognised if each.part.queries is not None and each.reader in know_splits]
    known = {doc for part in own for doc in part_ids(part, "doc_id") or ()}
    strange = [
        each.path
        for each in recognised
        if known and each.part.is_gallery and each.path not in map(Path, paths)
        if known.isdisjoint(part_ids(each.part, "doc_id") or ())
    ]
    notes += [f"left out: {path} lists no item of {own[0].name}" for path in strange]
    return [each.part for each in recognised if each.path not in strange]


def _refuse_two_forms(folders: Sequence[Path], recognised: Sequence[Recognised], split: str | None) -> None:
    """Raise FormatError where a folder has captions with their items in two forms, or of a split and none."""
    are_all = split == tables.ALL
    of_form = {
        (each.reader, are_all or SPLITS.search(str(each.path.relative_to(own)).lower()) is None): each
        for each in recognised
        if each.part.queries is not None and each.part.positives is not None
        for own in folders
        if own in each.path.parents
    }
    if len(of_form) > 1:
        one, other, *_ = of_form.values()
        why = "in two forms" if one.reader != other.reader else "in a file of a split and one of none"
        raise FormatError(
            f"{one.path} ({one.reader}) and {other.path} ({other.reader}): captions with their items {why}; "
            "name the files of the one to read in the place of their folder"
        )


def _refuse_unread(recognised: Sequence[Recognised], named: Named, notes: Sequence[str]) -> None:
    """Raise what is wrong where no table has a column that is named, or none captions: with what to type."""
    used = {name for each in recognised for name in each.given.values()}
    absent = [name for names in named.values() for name in names if name not in used]
    found = [each for each in recognised if are_names(each.columns)]
    shown = "; ".join(f"{each.path}: {', '.join(each.columns)}" for each in found)
    several = [each for each in found if len(each.columns) > 2 or named]
    line = f" type {tables.line_to_type(several[0].columns, several[0].given)}" if several else ""
    if absent:
        lack = f"no table has the columns {', '.join(absent)}; found {shown or 'no table'}"
        raise UsageError(f"--columns: {lack}{line and ';' + line}")
    parts = [each.part for each in recognised]
    if line and not any(part.queries is not None for part in parts):
        raise FormatError(f"no queries: found {shown}; add the file with the captions, or{line}")
    if notes and not any(part.queries is not None or part.texts is not None for part in parts):
        names = ", ".join(part.name for part in parts) or "nothing"
        choose = "choose another with --split, or add the file with the captions"
        raise FormatError(f"no queries: found {names}; {'; '.join(notes)}: {choose}")


_OF_A_MODEL = 10  # docs of every query alike
_OF_SPLITS = ("qrels", "topics")
_ABOUT = re.compile(r"(?i)(?:readme|licen[cs]e|copying|changelog)(?:\.txt)?$")  # a folder, and no data of it
_DATA = (".json", ".jsonl", ".jsonlines", ".ndjson", ".csv", ".tsv", ".parquet", ".arrow", ".pkl", ".txt")


def _files(path: Path, split: str | None, notes: list[str]) -> list[Path]:
    """Return the file, or all in a folder and its subfolders; of files of several splits the split's."""
    if not path.is_dir():
        return [path]
    if is_release(path):
        return collection_files(path)
    found = [
        file
        for file in sorted(path.rglob("*"))
        if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts)
    ]
    left_out: set[Path] = set()
    data = [] if split == tables.ALL else [file for file in found if _has_data(file)]
    folders = {each for file in data for each in file.parents if each.is_relative_to(path)}
    names = {name for file in data for name in SPLITS.findall(str(file.relative_to(path)).lower())}
    is_there = bool(names_of_split(sorted(names), split))
    for each in sorted(folders):  # the outermost first
        inside = [file for file in data if each in file.parents and file not in left_out]
        left_out |= _of_other_splits(each, inside, split, notes, is_elsewhere=is_there)
    for own, *others in (spec["beside"] for spec in SPECS.values() if "beside" in spec):
        read = next((file for file in data if fnmatch(file.name, own) and file not in left_out), None)
        beside = [file for file in data if read and any(fnmatch(file.name, other) for other in others)]
        notes += [f"left out: {file}, beside {read}" for file in beside if file not in left_out]
        left_out.update(beside)
    if not found:
        raise FormatError(f"{path}: no file in this folder")
    return [file for file in found if file not in left_out and _may_be_read(file)]


def _has_data(file: Path) -> bool:
    return not _ABOUT.match(file.name) and (Source(file).suffix in _DATA or file.parent.name in _OF_SPLITS)


def _may_be_read(file: Path) -> bool:
    """Whether a file of a folder may have a format, as clips and archives have none."""
    if _has_data(file):
        return True
    try:
        start = start_of(file)[0]
    except FormatError:
        return False
    return b"\0" not in start or start.startswith((PARQUET_MAGIC, *PICKLES))


def _of_other_splits(
    folder: Path, files: Sequence[Path], split: str | None, notes: list[str], *, is_elsewhere: bool
) -> set[Path]:
    """Return the files below a folder that it names after other splits than the one to read; note it.

    is_elsewhere: whether files of other folders have that one.
    """
    splits_of = {}
    for file in files:
        name = file.relative_to(folder).parts[0].lower()
        words = re.split(r"[.-]", name) if folder.name in _OF_SPLITS else ()
        splits_of[file] = frozenset(SPLITS.findall(name) or words)
    splits = sorted({name for own in splits_of.values() for name in own})
    same = names_of_split(splits, split)
    are_several = len({*splits_of.values()} - {frozenset()}) > 1
    if not are_several and (split is None or not splits or same):
        return set()
    if not same and not is_elsewhere and (are_several or all(splits_of.values())):
        lack = "" if split is None else f"; none is {split}"
        raise UsageError(f"{folder}: files of {', '.join(splits)}; choose one with --split, or all{lack}")
    others = ", ".join(name for name in splits if name not in same)
    notes.append(f"split {', '.join(same) or split} read; {folder} also has files of {others}")
    return {file for file, own in splits_of.items() if own and own.isdisjoint(same)}
