"""Columns whose rows share values: each distinct value once, looked at once, and a code for each row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, starmap
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools, Ints
from fire_toolkit.tables.columns import Texts, packed_codes


class Coded(NamedTuple):
    """A column: for each row the place of its value among those that there are."""

    codes: Ints
    distinct: Sequence[Any]

    def rows(self) -> Any:
        """Return the value of each row, as an array."""
        return np.fromiter(self.distinct, dtype=object, count=len(self.distinct))[self.codes]

    def of_rows(self, which: Bools | Ints | slice) -> Coded:
        """Return the same of some rows."""
        return self._replace(codes=self.codes[which])

    def named(self, make: Callable[[Any], Any]) -> Coded:
        """Return what is made of each value, equal ones once."""
        return self._replace(distinct=list(map(make, self.distinct))).unified()

    def unified(self) -> Coded:
        """Return the same with equal values once."""
        values = coded(self.distinct)
        is_so = len(values.distinct) == len(self.distinct)
        return self if is_so else Coded(values.codes[self.codes], values.distinct)

    def used(self, which: Bools) -> list[Any]:
        """Return the distinct values of some rows, in the order of these."""
        return [self.distinct[code] for code in pd.unique(self.codes[which]).tolist()]

    def count(self, is_so: Callable[[Any], object]) -> int:
        """Return of how many rows something is so."""
        return int(self.where(is_so).sum())

    def where(self, is_so: Callable[[Any], object]) -> Bools:
        """Return of which rows something is so."""
        return np.array([bool(is_so(each)) for each in self.distinct], dtype=bool)[self.codes]


def coded(values: Iterable[Any]) -> Coded:
    """Return a column of any values that can be keys.

    Examples:
        >>> coded("aba")
        Coded(codes=array([0, 1, 0]), distinct=['a', 'b'])
    """
    values = list(values)
    places = {value: place for place, value in enumerate(dict.fromkeys(values))}
    codes = np.fromiter(map(places.__getitem__, values), dtype=np.int64, count=len(values))
    return Coded(codes, list(places))


def coded_texts(texts: Texts) -> Coded:
    """Return an Arrow column of texts, none of them missing."""
    found = texts.dictionary_encode()
    return Coded(np.asarray(found.indices).astype(np.int64), found.dictionary.to_pylist())


def listed_rows(column: Sequence[Any] | Coded) -> Sequence[Any]:
    """Return the value of each row of a column, coded or not."""
    return column.rows().tolist() if isinstance(column, Coded) else column


def column_codes(values: pd.Series[Any]) -> Ints:
    """Return a number for each value: of equal texts the same, of each value of JSON its own."""
    if isinstance(values.dtype, pd.StringDtype):
        return np.asarray(values.array.factorize(use_na_sentinel=False)[0], dtype=np.int64)
    known: dict[str | int, int] = {}
    keys = (value if type(value) is str else id(value) for value in values.tolist())
    return np.array([known.setdefault(key, len(known)) for key in keys], dtype=np.int64)


def same(value: Any, n_rows: int) -> Coded:
    """Return a column that has the same value in all rows."""
    return Coded(np.zeros(n_rows, dtype=np.int64), [value])


def stacked(columns: Sequence[Coded]) -> Coded:
    """Return the rows of columns, one column behind the other.

    Examples:
        >>> stacked([coded("ab"), coded("cb")])
        Coded(codes=array([0, 1, 2, 1]), distinct=['a', 'b', 'c'])
    """
    values = coded(chain.from_iterable(column.distinct for column in columns))
    ends = np.cumsum([0, *(len(column.distinct) for column in columns)])
    parts = [values.codes[start:][column.codes] for start, column in zip(ends, columns, strict=False)]
    return Coded(np.concatenate(parts), values.distinct)


def distinct_rows(keys: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Return a number from 0 for each row by its keys, in the order of appearance, and where each is first.

    Examples:
        >>> distinct_rows([np.array([7, 2, 7]), np.array([0, 0, 0])])
        (array([0, 1, 0]), array([0, 1]))
    """
    numbers = pd.factorize(packed_codes(keys))[0]
    return numbers, np.flatnonzero(~pd.Series(numbers).duplicated().to_numpy())


def beside(*columns: Coded) -> Coded:
    """Return the values of columns side by side, as tuples; each column has its values once.

    Examples:
        >>> beside(coded("aba"), coded("xyx")).distinct
        [('a', 'x'), ('b', 'y')]
    """
    codes, rows = distinct_rows([column.codes for column in columns])
    values = ([column.distinct[code] for code in column.codes[rows].tolist()] for column in columns)
    return Coded(codes, list(zip(*values, strict=True)))


def joined(make: Callable[..., Any], *columns: Coded) -> Coded:
    """Return what is made of the values of columns, of equal ones once.

    Examples:
        >>> joined(str.__add__, coded("aba"), coded("xyx")).distinct
        ['ax', 'by']
    """
    both = beside(*columns)
    return Coded(both.codes, list(starmap(make, both.distinct))).unified()
