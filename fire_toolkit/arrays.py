"""What everything counts with: groups of rows that stand together, places among codes, sums by query.

Rows of a group stand together, as the entries of a ranking do, which are sorted by query; `query` gives
the query's index of each entry.
"""

from itertools import pairwise, starmap
from math import frexp, fsum
from typing import Any

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]

GOLDEN = 0x9E3779B97F4A7C15  # the step of SplitMix64
_PART = 1 << 17  # rows
DENSE_CELLS = 1 << 25  # of a table of all codes, while these are not many more than the rows


def are_firsts(*keys: Any) -> Bools:
    """Return for each row whether it differs from the row above it in any of the keys; the first one does.

    Examples:
        >>> are_firsts(np.array([4, 4, 7, 7]), np.array([1, 1, 1, 2]))
        array([ True, False,  True,  True])
    """
    is_first = np.zeros(len(keys[0]), dtype=bool)
    is_first[:1] = True
    for key in keys:
        is_first[1:] |= np.asarray(key[1:] != key[:-1], dtype=bool)
    return is_first


def starts_of_groups(*keys: Any) -> Ints:
    """Return the first row of each stretch of rows that agree in all of the keys."""
    return np.flatnonzero(are_firsts(*keys))


def number_groups(*keys: Any) -> Ints:
    """Return 0, 1, ... for each stretch of rows that agree in all of the keys."""
    return np.cumsum(are_firsts(*keys), dtype=np.int64) - 1


def running_count(query: npt.NDArray[Any], is_counted: Bools | None = None) -> Ints:
    """Return for each entry how many of its query's entries up to and with it are counted; by default all."""
    starts = starts_of_groups(query)
    sizes = np.diff(starts, append=query.size)
    if is_counted is None:
        return rows_of_lists(1, sizes)
    count = np.cumsum(is_counted, dtype=np.int64)
    return count - np.repeat(count[starts] - is_counted[starts], sizes)


def starts_of_lists(lengths: npt.NDArray[Any]) -> Ints:
    """Return the first row of each of some lists that follow one another, and at last the number of rows."""
    return np.append(0, np.cumsum(lengths, dtype=np.int64))


def rows_of_lists(start: Ints | int, lengths: Ints) -> Ints:
    """Return the rows of lists, one list after the other; `start`: the first row of each.

    Examples:
        >>> rows_of_lists(np.array([5, 0]), np.array([2, 3]))
        array([5, 6, 0, 1, 2])
    """
    before = np.append(0, np.cumsum(lengths, dtype=np.int64))
    steps = np.ones(before[-1] + 1, dtype=np.int64)
    np.add.at(steps, before[:-1], np.diff(start - before[:-1], prepend=1))
    return np.cumsum(steps[:-1], out=steps[:-1])


def parts_of(starts: Ints, n: int) -> list[slice]:
    """Return n rows as parts of some 100,000 that begin where lists do; what is made of each fits the cache.

    Examples:
        >>> parts_of(np.array([0, 2]), 5)
        [slice(0, 5, None)]
    """
    ends = np.append(starts, n)[np.searchsorted(starts, np.arange(_PART, n, _PART))].tolist()
    return list(starmap(slice, pairwise(sorted({0, *ends, n}))))


def ranges_of(n: int, most: int) -> list[tuple[int, int]]:
    """Return `n` places as at most so many ranges, from one up to another, of about one length.

    Examples:
        >>> ranges_of(5, 2)
        [(0, 2), (2, 5)]
    """
    n_ranges = min(n, most)
    return list(pairwise(n * place // n_ranges for place in range(n_ranges + 1))) if n else []


def are_among(codes: npt.NDArray[Any], n_codes: int) -> Bools:
    """Return for each code below `n_codes` whether it is one of `codes`."""
    is_there = np.zeros(n_codes, dtype=bool)
    is_there[codes] = True
    return is_there


def are_distinct(codes: Ints) -> bool:
    """Whether each of some codes stands once: a table of all tells where it is small, else a sort.

    Examples:
        >>> are_distinct(np.array([3, 0, 1])), are_distinct(np.array([3, 0, 3]))
        (True, False)
    """
    n_codes = int(codes.max(initial=-1)) + 1
    if codes.min(initial=0) >= 0 and n_codes <= min(DENSE_CELLS, 16 * len(codes)):
        return bool(np.count_nonzero(are_among(codes, n_codes)) == len(codes))
    return bool(are_firsts(np.sort(codes, kind="stable")).all())  # which gains by rows that stand together


def places_among(codes: Ints, n_codes: int) -> Ints:
    """Return for each code below `n_codes` its place in `codes`, each once; -1 where it is not among them."""
    place = np.full(n_codes, -1, dtype=np.int64)
    place[codes] = np.arange(len(codes))
    return place


def find_pairs(keys: Ints, sorted_keys: Ints) -> tuple[Ints, Ints]:
    """Return which of the keys are among `sorted_keys`, and the place of each of these there.

    sorted_keys: ascending, each once. A table of cells that a few of them share tells which may be there.

    Examples:
        >>> find_pairs(np.array([4, 2, 9]), np.array([2, 9]))
        (array([1, 2]), array([0, 1]))
    """
    n_bits = min((16 * sorted_keys.size + 1).bit_length(), 25)
    step, shift = np.uint64(GOLDEN), np.uint64(64 - n_bits)
    cells, own = (((each.view(np.uint64) * step) >> shift).view(np.int64) for each in (keys, sorted_keys))
    rows = np.flatnonzero(are_among(own, 1 << n_bits)[cells])
    place = np.searchsorted(sorted_keys, keys[rows]).clip(max=sorted_keys.size - 1)
    is_there = sorted_keys[place] == keys[rows]
    return rows[is_there], place[is_there]


def sum_by_query(query: Ints, values: npt.NDArray[Any], n_queries: int) -> Floats:
    """Return the sum of each query's values, 0 where it has none, added in the order of the entries."""
    return np.bincount(query, weights=values, minlength=n_queries).astype(np.float64)


def mean(values: Floats) -> float:
    """Return the sum rounded once, as `math.fsum` has it, divided by the number of values (1 or more).

    The values' leading bits are added exactly; the sum of the rest decides the last digit. Where it does
    not, `fsum` adds them one by one. Source: Rump, Ogita and Oishi, Accurate Floating-Point Summation,
    SIAM J. Sci. Comput. 31 (2008), algorithm 3.2.
    """
    largest = float(np.abs(values).max())
    if not 2.0**-500 < largest < 2.0**500:
        return fsum(values.tolist()) / values.size
    sigma = 2.0 ** (frexp(largest)[1] + (values.size + 2).bit_length())
    leading = (values + sigma) - sigma
    exact, remainder = float(leading.sum()), float((values - leading).sum())
    doubt = values.size**2 * 2.0**-104 * sigma  # what adding the rests can have lost, and more
    low, high = exact + (remainder - doubt), exact + (remainder + doubt)
    return (low if low == high else fsum(values.tolist())) / values.size


def share(part: npt.NDArray[Any], whole: npt.NDArray[Any] | float) -> Floats:
    """Return part / whole in float64, and 0 where the whole is 0."""
    whole = np.broadcast_to(np.asarray(whole, dtype=np.float64), np.shape(part))
    quotient = np.zeros(np.shape(part))
    np.divide(part, whole, out=quotient, where=whole != 0)
    return quotient
