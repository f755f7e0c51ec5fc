"""Whole columns at once: text to codes, to numbers, to booleans, where all values are regular.

`checks` goes this way first. What returns None here is looked at value by value there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from pyarrow import compute

from fire_toolkit.arrays import Ints, are_among, are_firsts, places_among, starts_of_groups
from fire_toolkit.errors import TableError

PAIR = ["query_id", "doc_id"]
_OF_NUMBERS = np.isin(np.arange(256), np.frombuffer(b"0123456789.e+-", dtype=np.uint8))
_OF_IDS = (np.arange(256) > ord(" ")) & (np.arange(256) < 0x7F)


class Coded:
    """A column as codes: equal values have equal codes.

    values: text, a category (whose categories are sorted), or numbers.
    """

    def __init__(self, values: Any) -> None:
        self.values = values

    @cached_property
    def _factorized(self) -> tuple[npt.NDArray[Any], Any]:
        return self.values.array.factorize()  # type: ignore[no-any-return]

    @property
    def _is_category(self) -> bool:
        return isinstance(self.values.dtype, pd.CategoricalDtype)

    @property
    def distinct(self) -> Any:
        """The values that occur, each once, in the order of their codes."""
        return self._factorized[1]

    @cached_property
    def codes(self) -> npt.NDArray[Any]:
        """The code of each value: for text in the order of appearance, for categories that of the ids."""
        if self._is_category:
            return np.asarray(self.values.array.codes)
        return np.asarray(self.values if _is_number(self.values) else self._factorized[0])

    @cached_property
    def sorted_codes(self) -> npt.NDArray[Any]:
        """Codes, or numbers, that sort as the values do (text by code point)."""
        if self._is_category or _is_number(self.values):
            return self.codes
        place = places_in_order(self.distinct)
        return self.codes if place is None else np.asarray(place[self.codes])


def _is_number(values: Any) -> bool:
    return bool(pd.api.types.is_numeric_dtype(values.dtype))


def places_in_order(distinct: Any) -> Ints | None:
    """Return the place of each distinct text in the order of code points; None where they stand in it."""
    texts = _whole(pa.array(distinct, pa.large_string()))
    if len(texts) < 2 or compute.all(compute.less(texts[:-1], texts[1:])).as_py():
        return None
    order = compute.array_sort_indices(texts).to_numpy()  # UTF-8 sorts as code points do
    return places_among(order, len(order))


def packed_codes(keys: Sequence[npt.NDArray[Any]]) -> Ints | None:
    """Return one number for each row that sorts as the keys do, the first one first; None where none can."""
    if any(key.dtype.kind not in "iu" or not len(key) for key in keys):
        return None
    lows = [int(key.min()) for key in keys]
    spans = [int(key.max()) - low + 1 for key, low in zip(keys, lows, strict=True)]
    if prod(spans) >= 2**63:
        return None
    packed: Ints = np.zeros(len(keys[0]), dtype=np.int64)
    for key, low, span in zip(keys, lows, spans, strict=True):
        packed = packed * span + (key.astype(np.int64) - low)
    return packed


def pair_rows(pairs: pd.DataFrame, among: pd.DataFrame) -> Ints:
    """Return for each row of `pairs` the row of `among` with the same query_id and doc_id, -1 where none is.

    Args:
        pairs, among: with columns query_id and doc_id, text; of a pair that stands twice in `among` the
            first row counts.
    """
    if not len(pairs) or not len(among):
        return np.full(len(pairs), -1, dtype=np.int64)
    own = np.zeros(len(pairs), dtype=np.int64)
    known = np.zeros(len(among), dtype=np.int64)
    is_known = np.ones(len(pairs), dtype=bool)
    for name in PAIR:
        column = Coded(among[name])
        places = _whole(
            compute.index_in(_whole(pa.array(pairs[name].array)), _whole(pa.array(column.distinct)))
        )
        is_known &= places.is_valid().to_numpy(zero_copy_only=False)
        own = own * len(column.distinct) + places.fill_null(0).to_numpy()
        known = known * len(column.distinct) + column.codes
    order = None if are_ascending(known) else np.argsort(known, kind="stable")
    in_order = known if order is None else known[order]
    found = np.minimum(np.searchsorted(in_order, own), len(known) - 1)
    rows = found if order is None else order[found]
    return np.where(is_known & (in_order[found] == own), rows, -1)


def rows_of_controls(pairs: pd.DataFrame, controls: pd.DataFrame) -> Ints:
    """Return for each row of `pairs` the row of its control, a pair of known label; -1 where it has none.

    Raises:
        TableError: a pair stands twice among the controls.
    """
    if controls[PAIR].duplicated().any():
        raise TableError("controls: query_id, doc_id given twice; expected one known label for each pair")
    return pair_rows(pairs, controls)


def code_pairs(table: pd.DataFrame) -> tuple[Ints, pd.DataFrame]:
    """Return the code of each row's pair, and the pairs of the codes, by query_id, then doc_id.

    Examples:
        >>> code_pairs(pd.DataFrame({"query_id": ["q", "p", "q"], "doc_id": ["d", "d", "d"]}))[0]
        array([1, 0, 1])
    """
    (query, queries), (doc, docs) = (pd.factorize(table[name], sort=True) for name in PAIR)
    n_docs = max(len(docs), 1)
    keys, codes = distinct_codes(query.astype(np.int64) * n_docs + doc)
    pairs: dict[str, Any] = {"query_id": queries[keys // n_docs], "doc_id": docs[keys % n_docs]}
    return codes, pd.DataFrame(pairs, dtype="str")


def pairs_once(pairs: pd.DataFrame, least: str) -> pd.DataFrame:
    """Return each pair (query_id, doc_id) once, in the order of appearance, with the least of a column.

    Args:
        pairs: with columns query_id and doc_id, text, and `least`, whole numbers; others are left out.

    Examples:
        >>> pairs = pd.DataFrame({"query_id": ["q", "p", "q"], "doc_id": "d", "round": [2, 3, 1]})
        >>> pairs_once(pairs, "round")
          query_id doc_id  round
        0        q      d      1
        1        p      d      3
    """
    known = pairs[[*PAIR, least]].reset_index(drop=True)
    keys = [Coded(known[name]).codes.astype(np.int64) for name in PAIR]
    packed = keys[0] * (int(keys[1].max(initial=0)) + 1) + keys[1]
    order = np.argsort(packed, kind="stable")
    if not len(order):
        return known
    starts = starts_of_groups(packed[order])
    first, lowest = order[starts], np.minimum.reduceat(known[least].to_numpy()[order], starts)
    kept = np.argsort(first)
    return pd.DataFrame(known.iloc[first[kept]].reset_index(drop=True)).assign(**{least: lowest[kept]})


def are_ascending(numbers: npt.NDArray[Any]) -> bool:
    """Return whether no number is below the one before it."""
    return not bool((numbers[1:] < numbers[:-1]).any())


def _whole(found: Any) -> Any:
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def listed(texts: Any) -> list[str]:
    """Return a column or an index of text as a list, in a tenth of the time that pandas takes."""
    return list(pa.array(texts.array).to_pylist())


def are_in(texts: pd.Series[str], others: pd.Series[str]) -> npt.NDArray[np.bool_]:
    """Return for each text whether it is one of the others.

    As `Series.isin` does, which makes a Python object of each of the others: 2.6 s for 300,000, here .02.
    """
    mine, theirs = (pa.array(column.array).cast(pa.large_string()) for column in (texts, others))
    found = compute.is_in(mine, value_set=compute.unique(theirs))
    are: npt.NDArray[np.bool_] = found.to_numpy(zero_copy_only=False)
    return are


def sorted_union(parts: Sequence[pd.Index[str]]) -> pd.Index[str]:
    """Return the ids of all parts, each of which is sorted, once and sorted."""
    first, *others = parts
    if all(each.equals(first) for each in others):
        return first
    union: pd.Index[str] = pd.Index(sorted({name for each in parts for name in listed(each)}), dtype="str")
    return union


def _arrow_text(values: Any) -> Any | None:
    """Return text held by Arrow as one array; None where it is held otherwise."""
    if not isinstance(values.dtype, pd.StringDtype) or values.dtype.storage != "pyarrow":
        return None
    return _whole(pa.array(values.array)).cast(pa.large_string())


def _bytes_of(texts: Any) -> npt.NDArray[np.uint8]:
    _, offsets, data = texts.buffers()
    if data is None or not len(texts):
        return np.empty(0, dtype=np.uint8)
    first, last = np.frombuffer(offsets, dtype=np.int64)[[texts.offset, texts.offset + len(texts)]]
    return np.frombuffer(data, dtype=np.uint8)[first:last]


def are_plain_ids(values: Any) -> bool:
    """Return whether every text is of printable ASCII without a blank, and none is empty or missing."""
    texts = _arrow_text(values)
    if texts is None or texts.null_count or not len(texts):
        return False
    shortest = compute.min(compute.binary_length(texts)).as_py()
    return bool(shortest > 0 and _OF_IDS[_bytes_of(texts)].all())


def plain_numbers(
    values: Any, kind: Literal["int", "float"], *, missing: bool, minimum: float | None
) -> pd.Series | None:
    """Return text as numbers where every field is one, or empty if `missing`, and none below `minimum`."""
    texts = _arrow_text(values)
    if texts is None or texts.null_count or not _OF_NUMBERS[_bytes_of(texts)].all():
        return None
    is_missing = compute.equal(texts, "")
    known = texts if not compute.any(is_missing).as_py() else compute.if_else(is_missing, None, texts)
    try:
        numbers = known.cast(pa.int64() if kind == "int" else pa.float64())
    except pa.ArrowInvalid:
        return None
    is_odd = (numbers.null_count and not missing) or (kind == "float" and not _are_finite(numbers))
    lowest, highest = compute.min_max(numbers).as_py().values()
    if kind == "int" and lowest is not None and max(-lowest, highest) >= 2**53:
        return None
    if is_odd or (minimum is not None and lowest is not None and lowest < minimum):
        return None
    if kind == "float":
        return pd.Series(numbers.to_numpy(zero_copy_only=False))
    if not missing:
        return pd.Series(numbers.to_numpy())
    mask = is_missing.to_numpy(zero_copy_only=False)
    return pd.Series(pd.arrays.IntegerArray(numbers.fill_null(0).to_numpy().copy(), mask))


def _are_finite(numbers: Any) -> bool:
    return compute.all(compute.is_finite(numbers)).as_py() is not False


def has_each_key_once(keys: Sequence[npt.NDArray[Any]]) -> bool:
    """Return whether keys as codes are all different; False also where that cannot be told from codes."""
    *outer, inner = keys
    if not len(inner):
        return True
    starts = starts_of_groups(*outer) if outer else np.zeros(1, dtype=np.int64)
    heads = packed_codes([code[starts] for code in outer]) if outer else starts
    if heads is None or inner.dtype.kind not in "iu":
        return False
    is_wide = int(inner.min()) < 0 or int(inner.max()) >= 2**31
    if is_wide or _has_repeat(heads):  # the rows of a group do not stand together
        packed = packed_codes(keys)
        return packed is not None and not _has_repeat(packed)
    return not has_repeat_within(inner, starts)


def distinct_codes(codes: Ints) -> tuple[Ints, Ints]:
    """Return the distinct codes, ascending, and the place of each code among them.

    As `np.unique` with its inverse; codes from 0 that hardly outnumber the rows are counted, not sorted.

    Examples:
        >>> distinct_codes(np.array([7, 2, 7]))
        (array([2, 7]), array([1, 0, 1]))
    """
    if not len(codes) or codes.min() < 0 or codes.max() >= 4 * len(codes):
        distinct, places = np.unique(codes, return_inverse=True)
        return distinct, places
    is_there = are_among(codes, int(codes.max()) + 1)
    return np.flatnonzero(is_there), (np.cumsum(is_there) - 1)[codes]


def _has_repeat(values: npt.NDArray[Any]) -> bool:
    return not bool(are_firsts(np.sort(values, kind="stable")).all())


def has_repeat_within(values: npt.NDArray[Any], starts: npt.NDArray[Any]) -> bool:
    """Return whether a value from 0 stands twice in a stretch; stretches of one length sort as a matrix."""
    lengths = np.diff(starts, append=len(values))
    widest = int(lengths.max(initial=0))
    if widest * len(starts) > 4 * len(values):
        group = np.repeat(np.arange(len(starts)), lengths)
        return _has_repeat(group * (int(values.max(initial=0)) + 1) + values)
    if (lengths == widest).all():
        rows = np.sort(values.reshape(-1, max(widest, 1)), axis=1)
    else:
        rows = np.tile(-1 - np.arange(widest, dtype=np.int32), (len(starts), 1))
        rows[np.arange(widest) < lengths[:, None]] = values
        rows.sort(axis=1)
    return bool((rows[:, 1:] == rows[:, :-1]).any())


def are_in_order(keys: Sequence[npt.NDArray[Any]]) -> bool:
    """Return whether rows ascend by the keys, the first one first."""
    is_equal = np.ones(max(len(keys[0]) - 1, 0), dtype=bool)
    for key in keys:
        if (is_equal & (key[1:] < key[:-1])).any():
            return False
        is_equal &= key[1:] == key[:-1]
    return True
