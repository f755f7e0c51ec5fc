"""What vector search gives: for each query the places of its nearest docs, and their scores or distances.

Two arrays of queries × K, best first, with padding where nothing more was found, as faiss, cuVS, usearch and
hnswlib return them; or Parquet with two columns of lists. They become ranked lists, read as any other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Ints, rows_of_lists, starts_of_lists
from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays.matrix import Array, Stored, as_floats
from fire_toolkit.formats.columns import find_name, pair_column
from fire_toolkit.formats.ids import id_texts
from fire_toolkit.formats.runs.listed import Listed, coded
from fire_toolkit.formats.runs.named_arrays import Arrays, described
from fire_toolkit.formats.runs.parquet_files import is_list, whole_table
from fire_toolkit.formats.runs.reader import recognise
from fire_toolkit.words import n_of

SIMILARITY, DISTANCE = KINDS = ("similarity", "distance")
PADDING = -1
PLACES = ("ids", "indices", "i", "labels", "neighbors", "keys", "places", "doc_ids", "doc_id")
VALUES = ("scores", "distances", "d", "similarities", "sims", "score", "distance")
_EXPECTED = (
    "what a vector search returns: ids (queries × K, whole numbers, -1 for padding) and scores (the same "
    "shape), as an .npz with both, or Parquet with two columns of lists"
)


@dataclass(frozen=True)
class Candidates:
    """The docs that a search found, by their lists.

    shape: the number of lists, and of docs in the longest. row, column: where each doc stands; place: of the
    doc; value: its score or distance. query_ids: of the lists, None if the file has none. doc_ids: what the
    places are places of, None if the file has none.
    """

    where: str
    shape: tuple[int, ...]
    row: Ints
    column: Ints
    place: Ints
    value: Array
    query_ids: list[str] | None = None
    doc_ids: list[str] | None = None


def candidate_lists(
    found: Candidates, axes: Sequence[Sequence[str]], *, kind: str, depth: int
) -> tuple[Listed, dict[str, int]]:
    """Return candidates as ranked lists with notes on them, and counts for the manifest.

    Args:
        found: the candidates; their rows are the queries.
        axes: the ids of the rows, and of the docs at the places.
        kind: `similarity` (the higher the better) or `distance` (the lower the better; a doc's score is then
            minus its distance).
        depth: how many docs of a query are kept; a list that ends in a tie with the last of them is noted.

    Raises:
        FormatError: not a row for each query, a place beyond the docs or below -1, padding before a doc, or a
            list that is not in the order of its scores.
    """
    (queries, docs), (n_lists, length) = axes, found.shape
    if n_lists != len(queries):
        raise FormatError(
            f"{found.where}: {n_lists:,} rows, but {len(queries):,} query ids; expected a row each"
        )
    score = -found.value if kind == DISTANCE else found.value
    lengths = np.bincount(found.row, minlength=n_lists)
    _check(found, score, lengths, kind, len(docs))
    n_padding, n_short = n_lists * length - len(found.row), int((lengths < depth).sum())
    full = starts_of_lists(lengths)[:-1][(lengths == length) & (depth < length < len(docs))]
    n_open = int((score[full + depth - 1] == score[full + length - 1]).sum()) if len(full) else 0
    notes = []
    if n_padding:
        few = f"{n_of(n_short, 'query')} {'has' if n_short == 1 else 'have'} fewer docs than are kept"
        notes.append(f"{n_of(n_padding, 'id')} {'is' if n_padding == 1 else 'are'} padding; {few}")
    if n_open:
        notes.append(
            f"{n_of(n_open, 'list')} {'ends' if n_open == 1 else 'end'} in a tie with the last doc kept; "
            "which docs of that score lie beyond is not known: ask the index for more docs than --depth"
        )
    counts = {"cells_of_padding": n_padding, "short_lists": n_short, "open_ties": n_open}
    ids = {"query_id": coded(found.row, queries), "doc_id": coded(found.place, docs)}
    return Listed(pd.DataFrame({**ids, "score": score}), notes=tuple(notes)), counts


def _check(found: Candidates, score: Array, lengths: Ints, kind: str, n_docs: int) -> None:
    """Refuse lists that no search gives, by the first cell of the first kind of fault."""
    row, column, place = found.row, found.column, found.place
    expected, rise = rows_of_lists(0, lengths), np.zeros(len(row))
    rise[:-1] = np.where(row[1:] == row[:-1], np.diff(score), 0.0)
    other, most = KINDS[1 - KINDS.index(kind)], "at least" if kind == DISTANCE else "at most"
    advice = "" if (rise < 0).any() else f"; every list is in the other order: give --scores {other}"
    for is_wrong, at_column, words in (
        (
            (place < 0) | (place >= n_docs),
            column,
            f"place {{place}}, but {n_docs:,} doc ids; expected places from 0 to {n_docs - 1}, or -1 for "
            "padding; ids that are not places go into Parquet as text",
        ),
        (column != expected, expected, "-1 before a doc, expected padding at the end of a list"),
        (
            rise > 0,
            column,
            f"{{value}} is followed by {{next}}, expected each {kind} to be {most} the one before it{advice}",
        ),
    ):
        if is_wrong.any():
            at = int(np.argmax(is_wrong))
            told = words.format(place=place[at], value=found.value[at], next=found.value[(at + 1) % len(row)])
            raise FormatError(f"{found.where}: row {row[at]}, column {at_column[at]}: {told}")


def read_candidates(path: Path) -> Candidates:
    """Return the candidates in a file.

    Raises:
        FormatError: there are not two arrays of one shape, one of whole numbers; or the file is damaged.
    """
    reader = recognise(path)
    if reader.name == "parquet":
        return _from_parquet(path)
    if reader.read_arrays is None:
        raise FormatError(f"{path}: {reader.what}, expected {_EXPECTED}")
    found = reader.read_arrays(path)
    places, values = _chosen(found, path)
    ids, numbers = _whole(places.matrix(), places.where), as_floats(values.matrix(), values.where)
    ids[(ids == 0) & np.isnan(numbers)] = PADDING  # as usearch pads
    row, column = np.nonzero(ids != PADDING)
    shape, cells = ids.shape, (row, column, ids[row, column], numbers[row, column])
    return Candidates(str(path), shape, *cells, found.query_ids, found.doc_ids)


def _chosen(found: Arrays, path: Path) -> tuple[Stored, Stored]:
    """Return the array with the places and the one with the values, by their names, else by their types."""
    stems = {name: name.rpartition("/")[2].lower() for name in found.matrices}
    words = {name: re.split("[-_. ]", stem)[-1] for name, stem in stems.items()}
    kinds = {name: "ids" if own.dtype.kind in "iu" else "scores" for name, own in found.matrices.items()}
    for called in (stems, words, kinds):
        places, values = (
            [found.matrices[name] for name, word in called.items() if word in known]
            for known in (PLACES, VALUES)
        )
        if len(places) == len(values) == 1:
            break
    else:
        raise FormatError(f"{path}: {described(found) or 'no array'}; expected {_EXPECTED}")
    shapes = places[0].shape, values[0].shape
    if len(shapes[0]) != 2 or shapes[0] != shapes[1] or 0 in shapes[0]:
        raise FormatError(
            f"{path}: ids of shape {shapes[0]} and scores of shape {shapes[1]}, expected one shape, "
            "queries × K"
        )
    return places[0], values[0]


def _whole(values: Array, where: str) -> Ints:
    """Return places of docs in int64; the largest number of a type stands for none, as in cuVS."""
    if values.dtype.kind not in "iu":
        raise FormatError(f"{where}: holds {values.dtype}, expected places of docs, whole numbers (int64)")
    limit = np.iinfo(values.dtype).max if values.dtype.itemsize >= 4 else None
    return np.where(values == limit, PADDING, values.astype(np.int64))


def _from_parquet(path: Path) -> Candidates:
    """Return Parquet with two lists for each query, ids (text, or places) and scores."""
    import pyarrow as pa

    table = whole_table(path)
    lists = [field.name for field in table.schema if is_list(field.type)]
    ids_name, values_name = find_name(lists, (*PLACES, "id")), find_name(lists, VALUES)
    if ids_name is None or values_name is None:
        raise FormatError(
            f"{path}: columns {', '.join(table.column_names[:12])}; expected ids and scores, each a list a "
            "row; a row for each doc found (query_id, doc_id, score) is a run's table: leave --scores out"
        )
    columns = [table[name].combine_chunks() for name in (ids_name, values_name)]
    lengths, others = (np.asarray(pa.compute.list_value_length(each).fill_null(0)) for each in columns)
    (ids, numbers), docs, where = (each.flatten() for each in columns), None, f"{path}: {ids_name}"
    if not np.array_equal(lengths, others) or not len(ids):
        raise FormatError(
            f"{path}: the lists of {ids_name} and {values_name} differ in length, or are all empty"
        )
    if pa.types.is_string(ids.type) or pa.types.is_large_string(ids.type):
        codes = ids.dictionary_encode()
        docs, ids = id_texts(codes.dictionary.to_pylist(), where), codes.indices
    if ids.null_count or not pa.types.is_integer(ids.type):
        problem = f"{ids.null_count:,} ids are missing" if ids.null_count else f"holds {ids.type}"
        raise FormatError(f"{where}: {problem}, expected places of docs, -1 for padding, or ids as text")
    if not (pa.types.is_floating(numbers.type) or pa.types.is_integer(numbers.type)):
        raise FormatError(f"{path}: {values_name} holds {numbers.type}, expected numbers")
    place, value = _whole(ids.to_numpy(zero_copy_only=False), where), numbers.to_numpy(zero_copy_only=False)
    row, column = np.repeat(np.arange(len(lengths)), lengths), rows_of_lists(0, lengths.astype(np.int64))
    row, column, place, value = (each[place != PADDING] for each in (row, column, place, value * 1.0))
    query = pair_column(table.column_names, "query_id")
    queries = None if query is None else id_texts(table[query].to_pylist(), f"{path}: column {query}")
    shape = len(lengths), int(lengths.max())
    return Candidates(str(path), shape, row, column, place, value, queries, docs)
