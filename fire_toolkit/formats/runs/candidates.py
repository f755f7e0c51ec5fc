"""What vector search gives: for each query the places of its nearest docs, and their scores or distances.

Two arrays of queries × K, best first, with padding where nothing more was found, as faiss, cuVS, usearch and
hnswlib return them; or Parquet with two columns of lists. They become ranked lists, read as any other.
"""

import re
from pathlib import Path

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Ints, rows_of_lists, starts_of_lists
from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays.matrix import Array, as_floats
from fire_toolkit.formats.columns import find_name, pair_column
from fire_toolkit.formats.ids import id_texts
from fire_toolkit.formats.runs.listed import Listed
from fire_toolkit.formats.runs.named_arrays import Arrays, Matrix, described
from fire_toolkit.formats.runs.parquet_files import lists_in, whole_table
from fire_toolkit.formats.runs.reader import recognise
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.words import n_of

SIMILARITY, DISTANCE = KINDS = ("similarity", "distance")
PADDING = -1
PLACES = ("ids", "indices", "i", "labels", "neighbors", "keys", "places", "doc_ids", "doc_id")
VALUES = ("scores", "distances", "d", "similarities", "sims", "score", "distance")
Ids = list[str] | None  # of an axis, if the file has them
_EXPECTED = (
    "what a vector search returns: ids (queries × K, whole numbers, -1 for padding) and scores (the same "
    "shape), as an .npz with both, or Parquet with two columns of lists"
)


def read_candidates(path: Path, kind: str) -> tuple[Listed, tuple[Ids, Ids], int]:
    """Return the candidates in a file as lists of places, the ids of queries and docs in it, and K.

    Args:
        path: the file.
        kind: `similarity` (the higher the better) or `distance` (the lower the better; a doc's score is then
            minus its distance).

    Raises:
        FormatError: there are not two arrays of one shape, one of whole numbers; the file is damaged; padding
            stands before a doc, or a list is not in the order of its scores.
    """
    reader = recognise(path)
    if reader.name == "parquet":
        place, value, lengths, own = _from_parquet(path)
    elif reader.read_arrays is None:
        raise FormatError(f"{path}: {reader.what}, expected {_EXPECTED}")
    else:
        arrays = reader.read_arrays(path)
        places, values = _chosen(arrays, path)
        ids, numbers = _whole(places.values, places.where), as_floats(values.values, values.where)
        ids[(ids == 0) & np.isnan(numbers)] = PADDING  # as usearch pads
        place, value, own = ids.ravel(), numbers.ravel(), (arrays.query_ids, arrays.doc_ids)
        lengths = np.full(len(ids), ids.shape[1])
    row, column = np.repeat(np.arange(len(lengths)), lengths), rows_of_lists(0, lengths)
    is_real = place != PADDING
    row, column, place, value = (each[is_real] for each in (row, column, place, value))
    score = -value if kind == DISTANCE else value
    rise, expected = np.zeros(len(row)), rows_of_lists(0, np.bincount(row, minlength=len(lengths)))
    rise[:-1] = np.where(row[1:] == row[:-1], np.diff(score), 0.0)
    if len(gap := np.flatnonzero(column != expected)):
        at = f"row {row[gap[0]]}, column {expected[gap[0]]}"
        raise FormatError(f"{path}: {at}: -1 before a doc, expected padding at the end of a list")
    if len(worse := np.flatnonzero(rise > 0)):
        at, first = f"row {row[worse[0]]}, column {column[worse[0]]}", value[worse[0]]
        other, most = KINDS[1 - KINDS.index(kind)], "at least" if kind == DISTANCE else "at most"
        advice = "" if (rise < 0).any() else f"; every list is in the other order: give --scores {other}"
        raise FormatError(
            f"{path}: {at}: {first} is followed by {value[worse[0] + 1]}, expected each {kind} to be {most} "
            f"the one before it{advice}"
        )
    scored = pd.DataFrame({"query_id": row, "doc_id": place, "score": score})
    return Listed(scored, has_places=True, n_lists=len(lengths)), own, int(lengths.max())


def gaps_of(listed: Listed, length: int, depth: int) -> tuple[list[str], dict[str, int]]:
    """Return notes on lists that are short or end in a tie, and counts of them for the manifest.

    Args:
        listed: candidates with their ids; the categories of docs are all that were searched.
        length: how many docs the longest list may have.
        depth: how many docs of a query are kept; a list that ends in a tie with the last of them is noted.
    """
    queries, docs = (listed.scored[name].array for name in PAIR)
    score, n_lists = listed.scored["score"].to_numpy(), len(queries.categories)
    lengths = np.bincount(queries.codes, minlength=n_lists)
    n_padding, n_short = n_lists * length - len(score), int((lengths < depth).sum())
    is_full = (lengths == length) & (depth < length < len(docs.categories))
    full = starts_of_lists(lengths)[:-1][is_full]
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
    return notes, {"cells_of_padding": n_padding, "short_lists": n_short, "open_ties": n_open}


def _chosen(found: Arrays, path: Path) -> tuple[Matrix, Matrix]:
    """Return the array with the places and the one with the values, by their names, else by their types."""
    stems = {name: name.rpartition("/")[2].lower() for name in found.matrices}
    words = {name: re.split("[-_. ]", stem)[-1] for name, stem in stems.items()}
    types = {name: own.values.dtype.kind for name, own in found.matrices.items()}
    kinds = {name: "ids" if kind in "iu" else "scores" for name, kind in types.items()}
    for called in (stems, words, kinds):
        places, values = (
            [found.matrices[name] for name, word in called.items() if word in known]
            for known in (PLACES, VALUES)
        )
        if len(places) == len(values) == 1:
            break
    else:
        raise FormatError(f"{path}: {described(found) or 'no array'}; expected {_EXPECTED}")
    shapes = places[0].values.shape, values[0].values.shape
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


def _from_parquet(path: Path) -> tuple[Array, Array, Ints, tuple[Ids, Ids]]:
    """Return places and values of all lists, their lengths, and the ids of queries and of docs as text."""
    import pyarrow as pa

    table = whole_table(path)
    lists = lists_in(table)
    ids_name, values_name = find_name([*lists], (*PLACES, "id")), find_name([*lists], VALUES)
    if ids_name is None or values_name is None:
        raise FormatError(
            f"{path}: columns {', '.join(table.column_names[:12])}; expected ids and scores, each a list a "
            "row; a row for each doc found (query_id, doc_id, score) is a run's table: leave --scores out"
        )
    (lengths, ids), (others, numbers) = lists[ids_name], lists[values_name]
    lengths, docs, where = np.maximum(lengths, 0), None, f"{path}: {ids_name}"  # none is an empty one
    if not np.array_equal(lengths, np.maximum(others, 0)) or not len(ids):
        raise FormatError(
            f"{path}: the lists of {ids_name} and {values_name} differ in length, or are all empty"
        )
    if pa.types.is_string(ids.type) or pa.types.is_large_string(ids.type):
        codes = ids.dictionary_encode().combine_chunks()
        docs, ids = id_texts(codes.dictionary.to_pylist(), where), codes.indices
    if ids.null_count or not pa.types.is_integer(ids.type):
        problem = f"{ids.null_count:,} ids are missing" if ids.null_count else f"holds {ids.type}"
        raise FormatError(f"{where}: {problem}, expected places of docs, -1 for padding, or ids as text")
    if not (pa.types.is_floating(numbers.type) or pa.types.is_integer(numbers.type)):
        raise FormatError(f"{path}: {values_name} holds {numbers.type}, expected numbers")
    query = pair_column(table.column_names, "query_id")
    queries = None if query is None else id_texts(table[query].to_pylist(), f"{path}: column {query}")
    place, value = _whole(np.asarray(ids), where), numbers.to_numpy()
    return place, value * 1.0, lengths.astype(np.int64), (queries, docs)
