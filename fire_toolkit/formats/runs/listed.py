"""Ranked lists from a file: scored pairs that the one rule makes into a Run."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from fire_toolkit.arrays import are_firsts
from fire_toolkit.errors import FileNote, FormatError
from fire_toolkit.formats.columns import OWN, RANK, RUN, SCORE, find_name, needed_column
from fire_toolkit.formats.ids import id_text
from fire_toolkit.tables.columns import PAIR, arrow_text

FROM_RANKS = "the file holds an order and no scores: the score of a doc is minus its rank"
OF_GROUPS = (
    "the file's metric is recall_subset: its lists rank each query's group alone, and as ranks of all docs "
    "they would score too high; `score FILE --groups collection/groups.tsv` is for them"
)
NUMBERED = (
    "entries have no ids: each is its candidate and its number among those of that candidate, as in the "
    "benchmark's own file, in whose order they must stand"
)
_TELLING = 10_000  # rows that tell whether ranks and scores agree
_BY_CHANCE = 3  # rows of a list, on average, that may rise by chance


@dataclass(frozen=True)
class Listed:
    """Scored pairs of one run.

    scored: columns query_id, doc_id, score (or, when `has_ranks`, also rank, which then holds).
    run_id: the run's id, if the file names one. notes: what a user must know (scores made from ranks).
    has_places: the ids are places from 0 in lists of ids that another file has, as whole numbers.
    n_lists: how many lists of places there are, if the last of them may be empty.
    targets: the positive that the file names of a query, where queries are numbered by their order.
    """

    scored: pd.DataFrame
    run_id: str | None = None
    notes: tuple[str, ...] = ()
    has_ranks: bool = False
    has_places: bool = False
    n_lists: int = 0
    targets: Mapping[str, str] = field(default_factory=dict)


def coded(codes: Any, ids: Any) -> pd.Categorical:
    """Return the ids that codes stand for, as a column; ids: a list, or an index of text."""
    return pd.Categorical.from_codes(codes, pd.Index(ids, dtype="str"), validate=False)


def chosen_run(names: Collection[str], key: str | None, where: str, *, hint: str = "") -> str:
    """Return the run that `key` names of those in a file, without a key the only one.

    hint: what else can be done where there are several.

    Raises:
        FormatError: there is no such run, or there are several and no key.
    """
    found = [name for name in names if key in (None, name)]
    if len(found) == 1:
        return found[0]
    n, of_name = len(found) or "no", "" if key is None else f" {key!r}"
    shown = (", ".join(sorted(names)[:8]) or "none") + (hint if key is None else "")
    raise FormatError(f"{where}: {n} runs{of_name} in one file; choose one with `add-run --key`: {shown}")


def listed_table(table: pd.DataFrame, where: str, key: str | None) -> Listed:
    """Return a frame with columns of usual names as ranked lists; with a score, a rank is not used.

    Raises:
        FormatError: no query or doc, or several columns that could be; no score and no rank, one that is not
            a number (with its row), several runs and no `key`, which names one, or a `key` and no runs;
            ranks that rise with the score.
    """
    names = [str(name) for name in table.columns]
    pair = {role: needed_column(names, role, where) for role in PAIR}
    score, rank, run = (find_name(names, wanted) for wanted in (SCORE, RANK, RUN))
    if score is None and rank is None:
        raise FormatError(f"{where}: columns {', '.join(names)}; expected score (minus a distance) or rank")
    run_id = None
    if run is not None:
        run_id = chosen_run({*map(str, table[run].unique())}, key, where)
        table = table[table[run].astype(str) == run_id]
    elif key is not None:
        raise FormatError(f"{where}: no column of run ids, of which --key {key!r} could be one; leave it out")
    if table.empty:
        raise FormatError(f"{where}: no row below the header, expected a query with a ranked doc")
    numbers = numbers_of(table[score or rank], f"{where}: {score or rank}")
    if score:
        refuse_distances(table[pair["query_id"]], table[rank] if rank else None, numbers, where)
    table = table.reset_index(drop=True)
    ids = {role: id_column(table[name], f"{where}: column {name}") for role, name in pair.items()}
    notes = [] if score else [FROM_RANKS]
    if not all(find_name([name], OWN[role]) for role, name in pair.items()):
        notes.insert(0, f"columns {pair['query_id']} as query_id, {pair['doc_id']} as doc_id")
    return Listed(pd.DataFrame({**ids, "score": numbers if score else -numbers}), run_id, tuple(notes))


def refuse_distances(queries: pd.Series, ranks: pd.Series | None, scores: Any, where: str) -> None:
    """Raise `FormatError` where most lists say that lower scores are better; ranks are else not used.

    The first rows tell; ranks that are all the same say nothing (BEIR's runs). Without ranks scores that rise
    from row to row, in lists that cannot all do so by chance, are said alone: rows need have no order.
    """
    query, score = pd.factorize(queries.iloc[:_TELLING])[0], np.asarray(scores, dtype=np.float64)[:_TELLING]
    order = pd.Series(range(len(query))) if ranks is None else pd.to_numeric(ranks.iloc[:_TELLING], "coerce")
    rank = order.to_numpy(dtype=np.float64, na_value=np.nan)
    rows = np.lexsort((rank, query))
    rows = rows[((query >= 0) & ~np.isnan(rank) & ~np.isnan(score))[rows]]
    rows = rows[are_firsts(query[rows], rank[rows])]  # of docs of one rank the first
    last, own = score[rows[:-1]], score[rows[1:]]  # of the row before each, and its own
    is_step = np.diff(query[rows]) == 0
    of, rises, falls = (each[is_step] for each in (query[rows[1:]], own > last, own < last))
    n_lists, n_rising = len(np.unique(of)), len(np.setdiff1d(of[rises], of[falls]))
    if ranks is None and n_rising == n_lists and len(rows) > _BY_CHANCE * n_rising > 0:
        words = (
            "scores rise from row to row in every list, as distances and ranks do; if they are, give minus"
        )
        warnings.warn(f"{where}: {words} these as scores", FileNote, stacklevel=3)
    elif ranks is not None and n_rising * 2 > n_lists:
        raise FormatError(
            f"{where}: scores rise with their ranks in {n_rising} of {n_lists} lists, as distances do; "
            "give minus the distance as score; where higher is better, put the best first"
        )


def numbers_of(values: Any, where: str) -> Any:
    """Return scores or ranks as numbers; NaN, infinities and missing ones pass, to be counted later.

    Raises:
        FormatError: one is no number; its row is named, from 1.
    """
    values = pd.Series(values)
    if isinstance(values.dtype, pd.StringDtype):
        with suppress(pa.ArrowInvalid):
            numbers = np.asarray(arrow_text(values.array).cast(pa.float64()))
            if not np.isnan(numbers).any():  # else one is missing, or none, and is looked for below
                return numbers
    values = values.astype(object) if isinstance(values.dtype, pd.CategoricalDtype) else values
    if values.dtype == object:  # as in JSON, where whole numbers have any number of digits, and yes is none
        values = values.map(lambda each: float(str(each)) if type(each) is int else each)
        values = values.map(lambda each: str(each) if isinstance(each, bool) else each)
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    is_odd = np.isnan(numbers)
    for place, value in zip(np.flatnonzero(is_odd), values[is_odd], strict=True):
        if value is not None and value is not pd.NA and str(value).strip().lower() != "nan":
            raise FormatError(f"{where}: row {place + 1}: {str(value)[:40]!r} is not a number")
    return numbers


def id_column(values: pd.Series, where: str) -> pd.Series:
    """Return a column of ids as text; whole numbers become their digits, and anything else is refused."""
    if pd.api.types.is_integer_dtype(values.dtype):
        return values.astype("str")
    own = values.dtype.categories.dtype if isinstance(values.dtype, pd.CategoricalDtype) else values.dtype
    if isinstance(own, pd.StringDtype):
        return values
    ids = [id_text(value, f"{where}: id {place}") for place, value in enumerate(values, start=1)]
    return pd.Series(ids, index=values.index, dtype="str")
