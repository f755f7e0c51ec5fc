"""The ids of a matrix's axes and of places in lists: read from files, and given to what has none."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.collections.parts import part_ids
from fire_toolkit.errors import FormatError, StaleError, UsageError
from fire_toolkit.files import STDIN, read_text
from fire_toolkit.formats.arrays.containers import tree_of
from fire_toolkit.formats.collections.registry import find_reader
from fire_toolkit.formats.collections.source import Source
from fire_toolkit.formats.collections.tables import FILE_NAME, column_of, ids_of_lines
from fire_toolkit.formats.ids import id_texts
from fire_toolkit.formats.recognised import start_of
from fire_toolkit.formats.runs.listed import Listed, coded
from fire_toolkit.formats.runs.named_arrays import found_as
from fire_toolkit.formats.runs.parquet_files import PARQUET_MAGIC
from fire_toolkit.formats.tables.delimited import delimiter_of, read_delimited
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.tables.ids import spelling_of
from fire_toolkit.workspace.config import ENDS_OF_IDS
from fire_toolkit.workspace.manifests import writer_of

_PLACE = re.compile("0|[1-9][0-9]{0,14}")


def read_ids(path: str | Path, column: str) -> list[str]:
    """Return the ids in a file, in its order; recognised by content.

    The file has one id per line, or is any file of queries or items that `add-collection` reads, a table
    with a column of a usual name (`query_id`, `caption_id`, `video_id`, ...), a JSON list, a NumPy array of
    text or whole numbers (`.npy`, or by its name in an `.npz`), or a pickle of a list or an array. JSON
    objects and pickled dicts have the ids under a name such as `query_ids`. In a benchmark's own file, doc
    ids are those of its items, each once, in the order in which the file names them.

    Args:
        path: the file; text may be gzip.
        column: `query_id` or `doc_id`.

    Raises:
        FormatError: the file is in none of these forms, is damaged or has no id, or its first line looks like
            a header of something else.
        StaleError: it is a table of this toolkit that need not keep its source's order.
    """
    writer = writer_of(None if str(path) == STDIN else Path(path))
    if writer.stage not in ("", "add-collection"):
        raise StaleError(
            f"{path}: written by `fire-toolkit {writer.stage}`, in an order that may differ from a matrix's; "
            "give the tables of add-collection, or the benchmark's own file"
        )
    values = _values(Path(path), column)
    ids = id_texts(values, str(path))
    if not ids:
        raise FormatError(f"{path}: no id, expected a list of {column}s")
    return ids


@dataclass
class IdFile:
    """A file of ids for those runs that have none of their own.

    path: the file. column: `query_id` or `doc_id`, what of it is read. is_asked: the user gave it for these
    runs, so a run with other ids is refused; otherwise ids inside a file or beside it take precedence.
    note: called with the path before a collection's own table is read, in whose order the axes of a run
    without any ids are taken to be; None of a file that is there for runs. users: the runs that used it.
    """

    path: Path
    column: str
    is_asked: bool = True
    note: Callable[[Path], object] | None = None
    users: list[Path] = field(default_factory=list)

    @cached_property
    def ids(self) -> list[str]:
        """The ids, in the file's order; raises as `read_ids` does."""
        if self.note is not None:
            self.note(self.path)
        return read_ids(self.path, self.column)

    @property
    def option(self) -> str:
        """The option of the commands that gives such a file."""
        return f"--{self.column.replace('_', '-')}s"


Given = str | Path | IdFile | None  # ids of an axis: a file, or none
Ids = Sequence[str] | IdFile | None


def _values(path: Path, column: str) -> Any:
    """Return what a file of ids holds, as a list: as it is, under a name, in lines, or of a collection."""
    start = start_of(path)[0] if path.is_file() else b""
    tree = tree_of(start, path)
    is_text = tree is None and not start.startswith(PARQUET_MAGIC)
    only = next(iter(tree.values())) if isinstance(tree, dict) and len(tree) == 1 else tree
    if callable(only) or isinstance(only, np.ndarray):  # alone, whatever it is called
        tree = only() if callable(only) else only
    source = Source(path, read_text(path).encode() if is_text else None)
    is_json = is_text and source.text.lstrip()[:1] in ("[", "{")
    tree = source.json if is_json and source.records is None else tree
    if isinstance(tree, Mapping):
        found = found_as(f"{column}s", tree)
        return _in_a_collection(source, column, list(tree)) if found is None else found
    if tree is not None:
        return tree
    if is_json or not is_text:
        return _in_a_collection(source, column)
    lines, rows = source.fields, [line.strip() for line in source.lines]
    mark = delimiter_of(rows[0])
    are_rows = lines == rows and all(mark in row for row in rows)
    is_table = are_rows and (mark != ";" or column_of(source.header, column) is not None)
    if is_table or any(len(line.split()) > 1 and not FILE_NAME.fullmatch(line) for line in lines[:2]):
        return _in_a_collection(source, column)
    return ids_of_lines(lines, str(source.path), column)


def _in_a_collection(source: Source, column: str, found: Sequence[object] = ()) -> list[str]:
    """Return the ids of queries or items in a file that `add-collection` takes."""
    if str(source.path) == STDIN:
        raise FormatError(f"{STDIN}: standard input is not a list of ids; give a table or JSON by its path")
    reader = find_reader(source)
    if reader is None or (reader.name == "qrels" and source.json is not None):
        name = column_of(source.columns, column)
        if name is not None:
            table = read_delimited(source.path, required=[name])[name].tolist() if source.header else []
            return table or [entry.value(name) for entry in source.entries()]
        named = ", ".join(map(str, (found or source.columns)[:8])) or "nothing"
        raise FormatError(
            f"{source.path}: no {column}s; found {named}; expected a list of ids, or one under {column}s, or "
            f"a header that names {column}"
        )
    ids = None if reader.name == "qrels" else part_ids(reader.read(source, None), column)
    if ids is None:
        why = reader.recognise(source)
        raise FormatError(f"{source.path}: lists no {column}s: it is {reader.name} ({why})")
    return ids


def id_file_for(path: Path, column: str, given: Given) -> IdFile | None:
    """Return the file of ids for a run: the one the user gave, else one beside it, else the workspace's.

    Beside a run are `NAME.query_ids.txt` (`.npy`, `.json`) and `query_ids.txt`.
    """
    file = given if isinstance(given, IdFile | None) else IdFile(Path(given), column)
    if file is not None and file.is_asked:
        return file
    names = [f"{stem}{column}s{end}" for stem in (f"{path.stem}.", "") for end in ENDS_OF_IDS]
    beside = next((path.parent / name for name in names if (path.parent / name).is_file()), None)
    return file if beside is None else IdFile(beside, column, is_asked=False)


def axes_of(
    path: Path,
    own: Sequence[Sequence[str] | None],
    given: Sequence[Ids],
    texts: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> tuple[list[str], list[str]]:
    """Return the ids of queries and docs: those in the file of predictions, else those given.

    Args:
        path: the file of predictions.
        own: the ids of queries and of docs in it, None if it has none.
        given: those from elsewhere; a file is marked as used.
        texts: lists of text in it, by where they stand.

    Raises:
        UsageError: the user gave ids, and the file has others of its own; one of its lists has those from
            elsewhere in another order.
        FormatError: there are none, or one is given twice.
    """
    axes, absent = [], []
    for what, mine, other in zip(("query ids", "doc ids"), own, given, strict=True):
        ids = mine
        if isinstance(other, IdFile):
            if mine is None or other.is_asked:
                ids = other.ids
                other.users.append(path)
            if mine is not None and list(mine) != list(ids or ()):
                raise UsageError(
                    f"{path}: has its own {what.replace(' ', '_')} ({', '.join(mine[:2])}, …), which differ "
                    f"from those given; leave {other.option} (or {other.column}s in fire.toml) out, or save "
                    "the array without ids"
                )
        elif mine is None:
            ids = other
        known = list(ids or ()) if mine is None else []
        for place, values in texts.items():
            if len(values) != len(known) or list(values) == known:
                continue
            own, theirs = _bare(known), _bare([*map(spelling_of(values), values)])
            if theirs != own and sorted(theirs) == sorted(own):
                order = f"these {what} in another order than they were given in"
                raise UsageError(f"{place}: {order}; save it as {what.replace(' ', '_')} in an .npz")
        if ids is None:
            absent.append(what)
        elif len(set(ids)) < len(ids):
            twice = ids[int(pd.Series(ids).duplicated().argmax())]
            raise FormatError(f"{path}: {what}: {twice!r} is given twice, expected one of each")
        axes.append(list(ids or ()))
    if absent:
        raise FormatError(
            f"{path}: no {' and '.join(absent)}; give --query-ids and --doc-ids to `add-run`, or put "
            f"{path.stem}.query_ids.txt and {path.stem}.doc_ids.txt beside it (for doc vectors "
            "DOCS.doc_ids.txt beside DOCS.npy), or save all in an .npz, the ids as query_ids and doc_ids"
        )
    return axes[0], axes[1]


def _bare(ids: list[str]) -> list[str]:
    """Return ids as names of files without folder and ending, where they still differ."""
    names = [PurePath(each).stem for each in ids]
    return names if len({*names}) == len(ids) else ids


def with_ids(
    listed: Listed, path: Path, given: Sequence[Ids], own: Sequence[Sequence[str] | None] = (None, None)
) -> Listed:
    """Return lists with ids in the place of places.

    Args:
        listed: the lists of a file.
        path: the file.
        given: the ids of queries, then of docs. In lists that have ids, these must be places in a file of
            ids that the user gave.
        own: the ids of queries and docs in a file of places, None if it has none.

    Raises:
        FormatError: the file has places, and not one list for each query, or a place beyond the docs.
        UsageError: the user gave ids, and those of the file are no places, or could be either.
    """
    if not listed.has_places:
        for column, file in zip(PAIR, given, strict=True):
            if isinstance(file, IdFile) and file.is_asked:
                listed = _in_places_of(listed, path, column, file)
        return listed
    axes = queries, docs = axes_of(path, own, given)
    row, place = (listed.scored[name].to_numpy() for name in PAIR)
    n_lists = max(listed.n_lists, int(row.max(initial=-1)) + 1)
    if n_lists != len(queries):
        raise FormatError(
            f"{path}: {n_lists} lists, but {len(queries)} query ids; expected a list for each query"
        )
    if len(outside := place[(place < 0) | (place >= len(docs))]):
        raise FormatError(
            f"{path}: place {outside[0]}, but {len(docs)} doc ids; expected places from 0 to "
            f"{len(docs) - 1}; ids that are no places must be text"
        )
    ids = {name: coded(listed.scored[name].to_numpy(), own) for name, own in zip(PAIR, axes, strict=True)}
    return replace(listed, scored=listed.scored.assign(**ids), has_places=False)


def _in_places_of(listed: Listed, path: Path, column: str, file: IdFile) -> Listed:
    """Return lists whose ids of one column are places in a list of ids, with the ids there."""
    ids, values = file.ids, listed.scored[column].astype("str")
    known = set(ids)
    found = list(map(str, values.unique()))  # a missing id too, which is none
    strange = next((each for each in found if not _PLACE.fullmatch(each) or int(each) >= len(ids)), None)
    are_ids, problem = known.issuperset(found), ""
    if len(known) < len(ids):
        problem = "cannot be places in a list that names one twice"
    elif strange is not None:
        unknown = f"hold {strange[:40]!r}, neither an id of that list nor a place in it"
        what = "are ids already" if are_ids else unknown
        problem = f"{what} (places are 0 to {len(ids) - 1}); leave it out"
    elif are_ids and any(ids[int(each)] != each for each in found):
        problem = (
            "may be ids of the list of ids or places in it, which only you can tell: leave it out where they "
            "are ids; where they are places, save the file with ids"
        )
    if problem:
        raise UsageError(f"{path}: {file.option}: its {column}s {problem}")
    file.users.append(path)
    named = coded(values.astype("int64").to_numpy(), ids)
    note = f"{column}s are places from 0, named by the list of {column}s"
    return replace(listed, scored=listed.scored.assign(**{column: named}), notes=(*listed.notes, note))
