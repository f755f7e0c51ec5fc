"""Matrices and ranked lists to each query's top, and its positives at any rank, by the one rule.

Queries are the rows of a matrix or its columns. Ranks are exact under ties, also of positives below the top.
Anomalies are counted on the way: NaN, infinities, queries flooded by one lowest score, constant queries, rows
of padding, ties, equal lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fire_toolkit.arrays import GOLDEN, Ints, are_firsts, mix_bits, starts_of_groups
from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.formats.arrays.matrix import Array
from fire_toolkit.formats.runs.listed import Listed, coded
from fire_toolkit.formats.runs.score_anomalies import (
    CONSTANT_DOCS,
    FLOOD_DOCS,
    Kept,
    ScoreAnomalies,
    are_among,
)
from fire_toolkit.matching.ranking import rank_run, ranks_in_rows, top_of_rows
from fire_toolkit.tables import Run, check_run
from fire_toolkit.tables.columns import PAIR

QUERIES_ROWS, QUERIES_COLUMNS = "queries-rows", "queries-columns"
IndexPairs = tuple[Ints, Ints]  # queries and docs, by index
NO_PAIRS: IndexPairs = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


@dataclass(frozen=True)
class Ranked:
    """Ranked docs by index: query, doc, rank (1-based, true over all docs) and score, by query, then rank."""

    query: Ints
    doc: Ints
    rank: Ints
    score: npt.NDArray[np.float64]
    anomalies: ScoreAnomalies


def tie_codes_of(docs: Sequence[str]) -> Ints:
    """Return for each doc its place in the order of ids; among equal scores the higher comes first."""
    order = np.argsort(np.array(docs, dtype=object), kind="stable")
    codes = np.empty(len(docs), dtype=np.int64)
    codes[order] = np.arange(len(docs))
    return codes


def rank_rows(
    blocks: Iterable[Array],
    *,
    where: str,
    n_rows: int,
    n_queries: int,
    docs: Sequence[str],
    depth: int,
    positives: IndexPairs = NO_PAIRS,
    others: IndexPairs = NO_PAIRS,
    spare: int = 0,
    mask: Array | None = None,
) -> Ranked:
    """Return the top `depth` docs of each query and its positives below them, with their true ranks.

    Args:
        blocks: rows of scores, all of them, some at a time.
        where: the matrix's name for errors.
        n_rows: how many rows there are.
        n_queries: how many queries there are. Where they are fewer than the rows, those without any finite
            score are padding.
        docs: the ids of the docs, in the order of the columns.
        depth: how many docs are kept, 1 or more.
        positives: query index and doc index of pairs that are kept at any rank.
        others: further such pairs, whose ties are not counted.
        spare: 1 to keep one doc below the top too, 0 otherwise.
        mask: one flag a row, False where the row is padding.

    Returns:
        Cells that are NaN or infinite, and the lowest score of flooded queries, are not scores: such
        docs are left out, and counted.

    Raises:
        FormatError: the rows without padding are not `n_queries`, or the file is damaged.
    """
    if mask is not None and (len(mask), int(mask.sum())) != (n_rows, n_queries):
        raise FormatError(
            f"{where}: the mask keeps {int(mask.sum())} of {len(mask)} rows, expected {n_queries} "
            f"queries of {n_rows} rows"
        )
    pairs = np.unique(np.concatenate([query * len(docs) + doc for query, doc in (positives, others)]))
    is_positive = np.isin(pairs, positives[0] * len(docs) + positives[1])
    pair_query, pair_doc = np.divmod(pairs, len(docs))
    codes, anomalies = tie_codes_of(docs), ScoreAnomalies()
    tops, below = list[tuple[Array, ...]](), list[tuple[Array, ...]]()
    row = query = 0
    for chunk in blocks:
        is_row = None if mask is None else mask[row : row + len(chunk)]
        if mask is None and n_rows > n_queries:
            is_row = np.asarray(np.isfinite(chunk).any(axis=1))
        row += len(chunk)
        if is_row is not None:
            anomalies.padding += len(chunk) - int(is_row.sum())
            chunk = chunk[is_row]
        if not len(chunk):
            continue
        scores, cut = cut_of(chunk, anomalies, query)
        tops.append(_top_of(scores, cut, codes, depth, spare, anomalies, query))
        own = slice(*np.searchsorted(pair_query, (query, query + len(chunk))))
        found, n_equal = _where_pairs_stand(scores, cut, pair_query[own] - query, pair_doc[own], codes)
        anomalies.tied_positives += int(np.sum((n_equal > 1) & is_positive[own]))
        is_below = found > depth + spare
        cells = pair_query[own][is_below], pair_doc[own][is_below]
        below.append((*cells, found[is_below], scores[cells[0] - query, cells[1]]))
        query += len(chunk)
        if query > n_queries:
            break
    if query != n_queries:
        raise FormatError(
            f"{where}: {query} rows or more with scores, expected {n_queries}, one for "
            "each query id; padding must be -inf or NaN throughout, or marked by a mask"
        )
    query_of, doc, rank, score = _merged(tops, below)
    ranked = Ranked(query_of, doc, rank, score, anomalies)
    _count_duplicates(ranked, depth)
    return ranked


def joined(parts: Sequence[tuple[int, Ranked]], depth: int) -> Ranked:
    """Return ranked docs of all queries from those of consecutive ones; with each: its first query."""
    columns = {
        name: np.concatenate([getattr(each, name) for _, each in parts]) for name in ("doc", "rank", "score")
    }
    query, anomalies = np.concatenate([each.query + start for start, each in parts]), ScoreAnomalies()
    for start, each in parts:
        for name, n in each.anomalies.counts().items():
            setattr(anomalies, name, getattr(anomalies, name) + n)
        for kind, (row, other) in each.anomalies.first.items():
            anomalies.first.setdefault(kind, (row + start, other))
    anomalies.duplicates = 0  # which are counted among all queries
    ranked = Ranked(query, **columns, anomalies=anomalies)
    _count_duplicates(ranked, depth)
    return ranked


def _merged(tops: list[tuple[Array, ...]], below: list[tuple[Array, ...]]) -> list[Array]:
    """Return query, doc, rank and score of the tops, each query's followed by its pairs below, by rank."""
    pieces = [list(column) for column in zip(*tops, strict=True)]
    tops.clear()  # so that parts and whole are not in memory at once
    lower = [np.concatenate(column) for column in zip(*below, strict=True)]
    order, at, columns = np.lexsort((lower[2], lower[0])), None, list[Array]()
    for more, kind in zip(lower, (np.int64, np.int64, np.int64, np.float64), strict=True):
        column = np.concatenate(pieces.pop(0), dtype=kind)
        at = np.searchsorted(column, more[order], side="right") if at is None else at
        columns.append(np.insert(column, at, more[order]) if len(order) else column)
    columns[-1] += 0.0  # -0.0 is 0.0, whichever was kept
    return columns


def _top_of(
    scores: Array, cut: Array, codes: Ints, depth: int, spare: int, anomalies: ScoreAnomalies, start: int
) -> tuple[Array, ...]:
    """Return query, doc, rank and score of each row's top above its cut, and count its ties."""
    n_rows, n_docs = scores.shape
    columns = top_of_rows(scores, depth + 1, codes)[1].reshape(n_rows, -1)
    best = scores.reshape(-1).take(columns + n_docs * np.arange(n_rows)[:, None])
    is_real = best > cut[:, None]
    is_tied = (best[:, 1:] == best[:, :-1]) & is_real[:, 1:]
    anomalies.tied_in_top += int(is_tied[:, : depth - 1].any(axis=1).sum())
    anomalies.tied_at_cut += int(is_tied[:, depth - 1 :].sum())
    row, place = np.nonzero(is_real[:, : depth + spare])
    return *(each.astype(np.int32) for each in (row + start, columns[row, place], place + 1)), best[
        row, place
    ]


def _where_pairs_stand(
    scores: Array, cut: Array, rows: Ints, columns: Ints, codes: Ints
) -> tuple[Ints, Ints]:
    """Return the ranks of cells and how many docs of their row have their score; 0 at or below the cut."""
    found = np.zeros((2, len(rows)), dtype=np.int64)
    real = np.flatnonzero(scores[rows, columns] > cut[rows])
    found[:, real] = ranks_in_rows(scores, rows[real], columns[real], codes)
    return found[0], found[1]


def cut_of(scores: Array, anomalies: ScoreAnomalies, start: int) -> tuple[Array, Array]:
    """Return rows of scores, and for each row the score at or below which its docs are left out.

    Cells that are not finite become minus infinity; the lowest score of a flooded row is its cut. They and
    constant rows are counted. start: the first row's query.
    """
    n_docs = scores.shape[1]
    low, high = scores.min(axis=1), scores.max(axis=1)
    is_odd = ~(np.isfinite(low) & np.isfinite(high))
    if is_odd.any():
        odd, lines = scores[is_odd], start + np.flatnonzero(is_odd)
        count_missing(odd, anomalies, lambda place: (int(lines[place // n_docs]), place % n_docs))
        scores = scores.copy()
        scores[is_odd] = odd = np.where(np.isfinite(odd), odd, -np.inf)
        low[is_odd], high[is_odd] = np.where(odd == -np.inf, np.inf, odd).min(axis=1), odd.max(axis=1)
    is_flooded = _count_shapes(anomalies, low, high, (scores == low[:, None]).sum(axis=1), n_docs, start)
    return scores, np.where(is_flooded, low, -np.inf)


def count_missing(
    scores: Array, anomalies: ScoreAnomalies, example: Callable[[int], tuple[int, int]]
) -> None:
    """Count the scores that are NaN or infinite.

    example: returns query and doc, by index, of a place in the flattened scores.
    """
    anomalies.count("n_nan", np.isnan(scores), example)
    anomalies.count("n_minus_inf", scores == -np.inf, example)
    anomalies.count("n_plus_inf", scores == np.inf, example)


def _count_shapes(
    anomalies: ScoreAnomalies, low: Array, high: Array, at_low: Ints, n_docs: int | Ints, start: int
) -> npt.NDArray[np.bool_]:
    """Count constant and flooded queries; return which are flooded."""
    constant = (low == high) & (at_low == n_docs) & (n_docs >= CONSTANT_DOCS)
    flooded = (low < high) & (at_low >= FLOOD_DOCS) & (2 * at_low >= n_docs)
    anomalies.count("constant", constant, lambda row: (start + row, 0))
    anomalies.count("flood", flooded, lambda row: (start + row, 0))
    return np.asarray(flooded, dtype=np.bool_)


def _count_duplicates(ranked: Ranked, depth: int) -> None:
    """Count the queries whose first `depth` docs and scores are an earlier query's."""
    is_top = ranked.rank <= depth
    columns: Any = (ranked.query, ranked.doc, ranked.score)
    query, doc, score = columns if is_top.all() else [column[is_top] for column in columns]
    if not len(query):
        return
    starts, doc, score = starts_of_groups(query), doc.view(np.uint64), score.view(np.uint64)
    lists = np.add.reduceat(mix_bits(doc * np.uint64(GOLDEN) ^ score), starts)  # a sum of hashes for each
    _, first, list_of = np.unique(lists, return_index=True, return_inverse=True)
    repeats = np.flatnonzero(first[list_of] != np.arange(len(lists)))
    ranked.anomalies.duplicates += len(repeats)
    if len(repeats):
        pair = query[starts[[repeats[0], first[list_of[repeats[0]]]]]]
        ranked.anomalies.first["duplicates"] = int(pair[0]), int(pair[1])


def run_of_ranked(
    ranked: Ranked, run_id: str, queries: Sequence[str], docs: Sequence[str], *, where: str
) -> Run:
    """Return ranked indices as a Run of the ids at those indices."""
    same = np.zeros(len(ranked.query), dtype=np.int8)
    columns = {"run_id": coded(same, [run_id])}
    columns |= {"query_id": coded(ranked.query, queries), "doc_id": coded(ranked.doc, docs)}
    return check_run(pd.DataFrame({**columns, "rank": ranked.rank, "score": ranked.score}), where=where)


def run_name(path: Path, run_id: str | None) -> str:
    """Return the id of a run: the one given, else the name of its file without the ending.

    Raises:
        UsageError: it holds white space, which no TREC file can carry.

    Examples:
        >>> run_name(Path("runs/clip.v2.npy"), None), run_name(Path("bm25.run.gz"), None)
        ('clip.v2', 'bm25')
    """
    name = run_id or Path(path.name.removesuffix(".gz")).stem
    if name.split() != [name]:
        raise UsageError(
            f"{path}: its run would be called {name!r}, with white space, which no TREC file can carry; give "
            "it another name (`add-run --name NAME`, or NAME=FILE where several files are given)"
        )
    return name


def run_of_lists(listed: Listed, path: Path, *, run_id: str | None) -> Run:
    """Return ranked lists as a Run, ranked by the one rule unless they have ranks."""
    name = coded(np.zeros(len(listed.scored), dtype=np.int8), [run_name(path, run_id or listed.run_id)])
    make = check_run if listed.has_ranks else rank_run
    return make(listed.scored.assign(run_id=name), where=str(path))


def rank_lists(
    listed: Listed,
    path: Path,
    *,
    run_id: str | None,
    depth: int,
    kept: Kept,
    may_flood: bool = False,
) -> tuple[Run, ScoreAnomalies, list[list[str]]]:
    """Return the lists' top `depth`, their positives below it, anomalies, and the ids that these refer to.

    Pairs whose score is NaN or infinite, and the lowest score of flooded queries, are left out and counted.

    Args:
        listed: the lists.
        path: where they come from.
        run_id: the run's id, by default theirs.
        depth: how many docs of a query are kept.
        kept: what is kept at any rank; ties are counted of the positives alone.
        may_flood: whether many docs may share the lowest score, as in a list that is cut within a tie.
    """
    anomalies, pairs = ScoreAnomalies(), listed.scored[PAIR]
    ids = [sorted(map(str, pairs[name].unique())) for name in PAIR]
    score = np.asarray(listed.scored["score"], dtype=np.float64)

    def example(row: int) -> tuple[int, int]:
        query, doc = (own.index(str(each)) for own, each in zip(ids, pairs.iloc[row], strict=True))
        return query, doc

    count_missing(score, anomalies, example)
    run = run_of_lists(replace(listed, scored=listed.scored[np.isfinite(score)]), path, run_id=run_id)

    query, score = run["query_id"].array.codes, run["score"].to_numpy()
    n_queries = len(run["query_id"].cat.categories)
    low, high = np.full(n_queries, np.inf), np.full(n_queries, -np.inf)
    np.minimum.at(low, query, score)
    np.maximum.at(high, query, score)
    n_docs, at_low = (np.bincount(rows, minlength=n_queries) for rows in (query, query[score == low[query]]))
    at_low = np.where((low < high) & may_flood, 0, at_low)
    is_flooded = _count_shapes(anomalies, low, high, at_low, n_docs, 0)
    run = Run(run[~(is_flooded[query] & (score == low[query]))].reset_index(drop=True))

    is_positive = are_among(run, kept.positives)
    query, doc = (np.asarray(run[name].cat.codes, dtype=np.int64) for name in PAIR)
    rank, score = run["rank"].to_numpy(), np.asarray(run["score"] + 0.0, dtype=np.float64)
    is_equal = ~are_firsts(query, score)  # to the one before it
    anomalies.tied_in_top = len(np.unique(query[is_equal & (rank <= depth)]))
    anomalies.tied_at_cut = int(np.sum(is_equal & (rank == depth + 1)))
    is_tied = is_equal | np.append(is_equal[1:], False)[: len(run)]
    anomalies.tied_positives = int(np.sum(is_tied & is_positive))
    _count_duplicates(Ranked(query, doc, rank, score, anomalies), depth)
    is_kept = (rank <= depth + kept.spare) | is_positive | are_among(run, kept.pairs)
    return check_run(run[is_kept], where=str(path)), anomalies, ids
