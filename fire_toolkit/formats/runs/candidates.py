"""What vector search gives: for each query the places of its nearest docs, and their scores or distances.

Two arrays of queries × K, best first, with padding where nothing more was found, as faiss, cuVS, usearch and
hnswlib return them; or Parquet with two columns of lists. They become ranked lists, read as any other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Ints
from fire_toolkit.errors import FormatError, TableError
from fire_toolkit.formats.arrays.matrix import BFLOAT16, Array, Stored, as_floats
from fire_toolkit.formats.columns import find_name, pair_column
from fire_toolkit.formats.ids import id_texts
from fire_toolkit.formats.runs.listed import Listed
from fire_toolkit.formats.runs.named_arrays import Arrays, described
from fire_toolkit.formats.runs.parquet_files import is_list, whole_table
from fire_toolkit.formats.runs.readers import recognise
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
    """Lists of docs, best first, all K long; short ones end in padding.

    places: queries × K, the places of docs, -1 for padding. values: their scores or distances. query_ids: of
    the rows, None if the file has none. doc_ids: what the places are places of, None if the file has none.
    """

    where: str
    places: Ints
    values: Array
    query_ids: list[str] | None = None
    doc_ids: list[str] | None = None


def candidate_lists(
    found: Candidates, queries: Sequence[str], docs: Sequence[str], *, kind: str, depth: int
) -> tuple[Listed, dict[str, int]]:
    """Return candidates as ranked lists with notes on them, and counts for the manifest.

    Args:
        found: the candidates; their rows are the queries.
        queries: the ids of the rows.
        docs: the ids of the docs at the places.
        kind: `similarity` (the higher the better) or `distance` (the lower the better; a doc's score is then
            minus its distance).
        depth: how many docs of a query are kept; a list that ends in a tie with the last of them is noted.

    Raises:
        FormatError: not a row for each query, a place beyond the docs or below -1, or a doc twice in a list.
        TableError: a score is NaN or infinite, or a list is not in the order of its scores.
    """
    if len(found.places) != len(queries):
        raise FormatError(
            f"{found.where}: {len(found.places):,} rows, but {len(queries):,} query ids; expected a row each"
        )
    _check_places(found, docs)
    scores = -found.values if kind == DISTANCE else found.values
    is_real = found.places != PADDING
    _check_values(found, scores, is_real, kind)
    row, column = np.nonzero(is_real)
    query = pd.Categorical.from_codes(row, pd.Index(list(queries), dtype="str"))
    doc = pd.Categorical.from_codes(found.places[row, column], pd.Index(list(docs), dtype="str"))
    scored = pd.DataFrame({"query_id": query, "doc_id": doc, "score": scores[row, column]})
    lengths, n_listed = is_real.sum(axis=1), scores.shape[1]
    n_padding, n_short = int((~is_real).sum()), int((lengths < depth).sum())
    is_full = (lengths == n_listed) & (n_listed > depth) & (n_listed < len(docs))
    n_open = int((scores[is_full, min(depth, n_listed) - 1] == scores[is_full, -1]).sum())
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
    return Listed(scored, notes=tuple(notes)), counts


def _first(cells: Array) -> tuple[int, int]:
    """Return row and column of the first cell that is true."""
    return divmod(int(np.argmax(cells)), cells.shape[1])


def _check_places(found: Candidates, docs: Sequence[str]) -> None:
    places, n_docs = found.places, len(docs)
    if (is_strange := (places < PADDING) | (places >= n_docs)).any():
        row, column = _first(is_strange)
        raise FormatError(
            f"{found.where}: row {row}, column {column}: place {places[row, column]}, but {n_docs:,} doc "
            f"ids; expected places from 0 to {n_docs - 1}, or -1 for padding; ids that are not places go "
            "into Parquet as text"
        )
    ordered = np.sort(places, axis=1)
    if (is_twice := (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != PADDING)).any():
        row, column = _first(is_twice)
        place = ordered[row, column]
        raise FormatError(
            f"{found.where}: row {row}: place {place} twice ({docs[place]}), expected each doc once"
        )


def _check_values(found: Candidates, scores: Array, is_real: Array, kind: str) -> None:
    if (is_odd := is_real & ~np.isfinite(scores)).any():
        row, column = _first(is_odd)
        value = found.values[row, column]
        raise TableError(f"{found.where}: row {row}, column {column}: {value}, expected a finite {kind}")
    after = is_real[:, 1:]
    if (is_gap := after & ~is_real[:, :-1]).any():
        row = _first(is_gap)[0]
        raise FormatError(f"{found.where}: row {row}: -1 before a doc, expected padding at the end of a list")
    if (is_worse := (scores[:, 1:] > scores[:, :-1]) & after).any():
        row, column = _first(is_worse)
        first, second = found.values[row, column : column + 2]
        is_turned = not ((scores[:, 1:] < scores[:, :-1]) & after).any()
        advice = f"; every list is in the other order: give --scores {KINDS[1 - KINDS.index(kind)]}"
        raise TableError(
            f"{found.where}: row {row}: {first} is followed by {second}, expected each {kind} to be "
            f"{'at least' if kind == DISTANCE else 'at most'} the one before it{advice if is_turned else ''}"
        )


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
    ids, numbers = _whole(places), as_floats(values.matrix(), values.where)
    ids[(ids == 0) & np.isnan(numbers)] = PADDING  # as usearch pads
    return Candidates(str(path), ids, numbers, found.query_ids, found.doc_ids)


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


def _whole(stored: Stored) -> Ints:
    """Return places of docs.

    Raises:
        FormatError: they are no whole numbers.
    """
    values = stored.matrix()
    if values.dtype.kind != "f" and values.dtype.names is None:
        return _with_padding(values)  # no float64 holds the padding of int64
    rows = as_floats(values, stored.where)
    dtype = None if values.dtype.names == BFLOAT16.names else values.dtype
    if not np.array_equal(rows, np.trunc(rows)):
        raise FormatError(
            f"{stored.where}: holds fractions, expected places of docs, which are whole numbers"
        )
    most = 2.0 ** (8 if dtype is None else 1 + np.finfo(dtype).nmant)
    if np.abs(rows).max(initial=0) >= most:
        raise FormatError(
            f"{stored.where}: places up to {rows.max():.0f} as {dtype or 'bfloat16'}, in which numbers "
            f"from {most:.0f} on are rounded; save whole numbers (int64)"
        )
    return rows.astype(np.int64)


def _with_padding(ids: Array) -> Ints:
    """Return places in int64; the largest number of their type stands for none, as in cuVS."""
    limit = np.iinfo(ids.dtype).max if ids.dtype.itemsize >= 4 else None
    return np.where(ids == limit, PADDING, ids.astype(np.int64)) if limit else ids.astype(np.int64)


def _from_parquet(path: Path) -> Candidates:
    """Return Parquet with two lists for each query, ids and scores."""
    import pyarrow as pa

    table = whole_table(path)
    lists = [field.name for field in table.schema if is_list(field.type)]
    ids_name, values_name = find_name(lists, (*PLACES, "id")), find_name(lists, VALUES)
    if ids_name is None or values_name is None:
        raise FormatError(
            f"{path}: columns {', '.join(table.column_names[:12])}; expected ids and scores, each a list a "
            "row; a row for each doc found (query_id, doc_id, score) is a run's table: leave --scores out"
        )
    ids, values = table[ids_name].combine_chunks(), table[values_name].combine_chunks()
    lengths, others = (np.asarray(pa.compute.list_value_length(each).fill_null(0)) for each in (ids, values))
    if not np.array_equal(lengths, others) or not len(lengths) or not lengths.max():
        raise FormatError(
            f"{path}: the lists of {ids_name} and {values_name} differ in length, or are all empty"
        )
    docs, places = _places_of(ids.flatten(), f"{path}: {ids_name}")
    numbers = values.flatten()
    if not (pa.types.is_floating(numbers.type) or pa.types.is_integer(numbers.type)):
        raise FormatError(f"{path}: {values_name} holds {numbers.type}, expected numbers")
    is_real = np.arange(lengths.max()) < lengths[:, None]
    matrix, scores = np.full(is_real.shape, PADDING, dtype=np.int64), np.full(is_real.shape, np.nan)
    matrix[is_real] = places
    scores[is_real] = np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)
    query = pair_column(table.column_names, "query_id")
    queries = None if query is None else id_texts(table[query].to_pylist(), f"{path}: column {query}")
    return Candidates(str(path), matrix, scores, queries, docs)


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
