"""Files of candidates: two arrays of an .npz (or .pt), or Parquet.

Parquet has a row for each query with two columns of lists, or, as Lance gives it, a row for each doc found.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fire_toolkit.arrays import Ints
from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays.arrays import Arrays, described
from fire_toolkit.formats.ids import id_texts
from fire_toolkit.formats.runs.candidates import PADDING, Candidates
from fire_toolkit.formats.runs.matrix import Array, FileMatrix, HeldMatrix, Matrix, all_rows, rows_per_block
from fire_toolkit.formats.runs.names import QUERY, find_name
from fire_toolkit.formats.runs.parquet_runs import guarded, open_parquet
from fire_toolkit.formats.runs.readers import recognise

PLACES = ("ids", "indices", "i", "labels", "neighbors", "keys", "places", "doc_ids", "doc_id")
VALUES = ("scores", "distances", "d", "similarities", "sims", "score", "distance", "_distance")
_PLACE_OF_QUERY = "query_index"  # LanceDB's


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
    ids, numbers = _whole(places), all_rows(values)
    ids[(ids == 0) & np.isnan(numbers)] = PADDING  # as usearch pads
    return Candidates(str(path), ids, numbers, found.query_ids, found.doc_ids)


_EXPECTED = (
    "what a vector search returns: ids (queries × K, whole numbers, -1 for padding) and scores (the same "
    "shape), as an .npz with both, or Parquet with two columns of lists"
)


def _chosen(found: Arrays, path: Path) -> tuple[Matrix, Matrix]:
    """Return the array with the places and the one with the values, by their names, else by their types."""
    for key in (_by_name, _by_last_word, _by_type):
        places, values = (
            [m for name, m in found.matrices.items() if key(name, m, is_place)] for is_place in (1, 0)
        )
        if len(places) == len(values) == 1 and places[0] is not values[0]:
            break
    else:
        raise FormatError(f"{path}: {described(found) or 'no array'}; expected {_EXPECTED}")
    shapes = [tuple(m.shape[::-1] if m.is_flipped else m.shape) for m in (places[0], values[0])]
    if len(shapes[0]) != 2 or shapes[0] != shapes[1] or 0 in shapes[0]:
        raise FormatError(
            f"{path}: ids of shape {shapes[0]} and scores of shape {shapes[1]}, expected one shape, "
            "queries × K"
        )
    return places[0], values[0]


def _by_name(name: str, matrix: Matrix, is_place: int) -> bool:
    return _stem(name) in (PLACES if is_place else VALUES)


def _by_last_word(name: str, matrix: Matrix, is_place: int) -> bool:
    return re.split("[-_. ]", _stem(name))[-1] in (PLACES if is_place else VALUES)


def _stem(name: str) -> str:
    return name.rpartition("/")[2].lower()


def _by_type(name: str, matrix: Matrix, is_place: int) -> bool:
    return (_kind(matrix) in "iu") == bool(is_place)


def _kind(matrix: Matrix) -> str:
    dtype = _dtype(matrix)
    return "f" if dtype is None else dtype.kind


def _dtype(matrix: Matrix) -> np.dtype[Any] | None:
    """Return the type of the numbers as they are stored, None for bfloat16."""
    if isinstance(matrix, HeldMatrix):
        return matrix.values.dtype
    return None if getattr(matrix, "is_bfloat16", False) else getattr(matrix, "dtype", None)


def _whole(matrix: Matrix) -> Ints:
    """Return places of docs.

    Raises:
        FormatError: they are no whole numbers.
    """
    kind = _dtype(matrix)
    if isinstance(matrix, FileMatrix) and kind is not None and kind.kind in "iu" and kind.itemsize == 8:
        halves = np.dtype(np.uint32).newbyteorder(kind.byteorder)  # no float64 holds the padding of int64
        wide = replace(matrix, dtype=halves, shape=(*matrix.shape[:-1], 2 * matrix.shape[-1]))
        rows = np.concatenate(list(wide.blocks(rows_per_block(wide)))).astype(halves)
        whole = rows.view(kind)
        return _with_padding(whole.T if matrix.is_flipped else whole)
    rows = all_rows(matrix)
    if not np.array_equal(rows, np.trunc(rows)):
        raise FormatError(
            f"{matrix.where}: holds fractions, expected places of docs, which are whole numbers"
        )
    if kind is None or kind.kind == "f":
        most = 2.0 ** (8 if kind is None else 1 + np.finfo(kind).nmant)
        if np.abs(rows).max(initial=0) >= most:
            raise FormatError(
                f"{matrix.where}: places up to {rows.max():.0f} as {kind or 'bfloat16'}, in which numbers "
                f"from {most:.0f} on are rounded; save whole numbers (int64)"
            )
        kind = np.dtype(np.int64)
    return _with_padding(rows.astype(kind))


def _with_padding(ids: Array) -> Ints:
    """Return places in int64; the largest number of their type stands for none, as in cuVS."""
    limit = np.iinfo(ids.dtype).max if ids.dtype.itemsize >= 4 else None
    return np.where(ids == limit, PADDING, ids.astype(np.int64)) if limit else ids.astype(np.int64)


def _from_parquet(path: Path) -> Candidates:
    """Return Parquet with two lists for each query, ids and scores, or with a row for each doc found."""
    import pyarrow as pa

    file = open_parquet(path)
    table = guarded(path, file.read)
    guarded(path, lambda: table.validate(full=True))
    names = [str(name) for name in table.column_names]
    are_lists = [
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
        for kind in table.schema.types
    ]
    for is_list in (True, False):
        wanted = [name for name, own in zip(names, are_lists, strict=True) if own == is_list]
        ids_name, values_name = find_name(wanted, (*PLACES, "id")), find_name(wanted, VALUES)
        query = find_name(names, (*QUERY, _PLACE_OF_QUERY))
        if ids_name is not None and values_name is not None and (is_list or query is not None):
            break
    else:
        raise FormatError(
            f"{path}: columns {', '.join(names[:12])}; expected ids and scores, each a list a row, or a row "
            f"for each doc found: query_id (or {_PLACE_OF_QUERY}), id and score (or _distance)"
        )
    ids, values = table[ids_name].combine_chunks(), table[values_name].combine_chunks()
    where = f"{path}: column {query}"
    queries: list[Any] | None
    if is_list:
        lengths, others = (
            np.asarray(pa.compute.list_value_length(each).fill_null(0)) for each in (ids, values)
        )
        if not np.array_equal(lengths, others) or not len(lengths) or not lengths.max():
            raise FormatError(
                f"{path}: the lists of {ids_name} and {values_name} differ in length, or are all empty"
            )
        ids, values = ids.flatten(), values.flatten()
        queries = None if query is None else table[query].to_pylist()
    else:
        queries, lengths = _rows_of_queries(table[query].combine_chunks(), where)
    own = None if queries is None else id_texts(queries, where)
    if own is not None and query == _PLACE_OF_QUERY:
        _check_in_place(own, where)
        own = None
    return _filled(path, lengths, _places_of(ids, f"{path}: {ids_name}"), values, own)


def _filled(
    path: Path, lengths: Ints, named: tuple[list[str] | None, Ints], values: Any, queries: list[str] | None
) -> Candidates:
    """Return lists of these lengths, padded to the longest."""
    is_real = np.arange(lengths.max()) < lengths[:, None]
    matrix = np.full(is_real.shape, PADDING, dtype=np.int64)
    scores = np.full(is_real.shape, np.nan)
    matrix[is_real], scores[is_real] = named[1], _numbers(values, str(path))
    return Candidates(str(path), matrix, scores, queries, named[0])


def _rows_of_queries(column: Any, where: str) -> tuple[list[Any], Ints]:
    """Return each query of a table with a row for each doc, and how many rows it has."""
    import pyarrow as pa

    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise FormatError(f"{where}: holds {kind}, expected ids as text, or whole numbers")
    coded = column.dictionary_encode()
    if coded.null_count or not len(coded):
        raise FormatError(f"{where}: {'an id is missing' if len(coded) else 'no rows'}")
    codes, known = np.asarray(coded.indices), coded.dictionary.to_pylist()
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    if len(starts) > len(known):
        raise FormatError(f"{where}: the rows of a query are not together, expected them so, best first")
    return [known[code] for code in codes[starts]], np.diff(starts, append=len(codes))


def _check_in_place(queries: list[str], where: str) -> None:
    """Check that queries are called by their places, none left out."""
    if queries != [str(place) for place in range(len(queries))]:
        raise FormatError(
            f"{where}: expected the places of all queries in their order, 0, 1, 2 …; give lists where "
            "nothing was found for a query"
        )


def _places_of(values: Any, where: str) -> tuple[list[str] | None, Ints]:
    """Return the docs that text ids name, each once, and their places; whole numbers are places."""
    import pyarrow as pa

    if values.null_count:
        raise FormatError(f"{where}: {values.null_count:,} ids are missing, expected -1 for padding")
    if pa.types.is_integer(values.type):
        return None, _with_padding(values.to_numpy(zero_copy_only=False))
    if not pa.types.is_string(values.type) and not pa.types.is_large_string(values.type):
        raise FormatError(
            f"{where}: holds {values.type}, expected whole numbers (places of docs) or text (ids)"
        )
    coded = values.dictionary_encode()
    return id_texts(coded.dictionary.to_pylist(), where), np.asarray(coded.indices, dtype=np.int64)


def _numbers(values: Any, where: str) -> Array:
    import pyarrow as pa

    if not (pa.types.is_floating(values.type) or pa.types.is_integer(values.type)):
        raise FormatError(f"{where}: holds {values.type}, expected numbers")
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)
