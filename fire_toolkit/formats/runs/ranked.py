"""Matrices and ranked lists to each query's top, and the pairs that are kept at any rank, by the one rule.

Queries are the rows of a matrix or its columns. Ranks are exact under ties, also of pairs below the top.
`rank_rows` and `rank_lists` give ranked docs as indices, `kept_of` what a run keeps of either. Anomalies are
counted on the way: NaN, infinities, queries flooded by one lowest score, constant queries, rows of padding,
ties, equal lists.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fire_toolkit.arrays import (
    GOLDEN,
    Bools,
    Ints,
    are_among,
    are_firsts,
    find_pairs,
    places_among,
    rows_of_lists,
    starts_of_groups,
)
from fire_toolkit.errors import FormatError, UsageError
from fire_toolkit.formats.arrays.matrix import Array
from fire_toolkit.formats.runs.listed import NUMBERED, Listed, coded
from fire_toolkit.formats.runs.score_anomalies import CONSTANT_DOCS, FLOOD_DOCS, ScoreAnomalies
from fire_toolkit.matching.blocks import block_of
from fire_toolkit.matching.ranking import rank_run, ranks_in_rows, top_of_rows
from fire_toolkit.pooling.draws import mix_bits
from fire_toolkit.tables import Run, check_run
from fire_toolkit.tables.columns import PAIR, places_in

QUERIES_ROWS, QUERIES_COLUMNS = "queries-rows", "queries-columns"
POSITIVE, OWN, MEMBER = 1, 2, 4  # why a pair is kept: of the qrels, a query's own item, of its group
OUTSIDE = "{:,} positives of the qrels have a query or doc that is not among the ids"
Axes = tuple[Sequence[str], Sequence[str]]  # the ids of queries and docs


@dataclass(frozen=True)
class Cells:
    """Pairs that are kept at any rank, by index, each once, by query, then doc; kind: why, added up."""

    query: Ints
    doc: Ints
    kind: Ints


NO_CELLS = Cells(*np.empty((3, 0), dtype=np.int64))


def cells_of(axes: Axes, pairs: Mapping[int, pd.DataFrame]) -> tuple[Cells, int]:
    """Return pairs as cells, and how many of the positives have a query or a doc that is not there.

    pairs: why they are kept → columns query_id, doc_id.
    """
    found, n_outside = [], 0
    for kind, table in pairs.items():
        places = (places_in(table[name].array, ids) for name, ids in zip(PAIR, axes, strict=True))
        query, doc = (each.astype(np.int64) for each in places)
        is_inside = (query >= 0) & (doc >= 0)
        n_outside += int((~is_inside).sum()) if kind == POSITIVE else 0
        keys = np.unique(query[is_inside] * len(axes[1]) + doc[is_inside])
        found.append((keys, np.full(len(keys), kind)))
    if not found:
        return NO_CELLS, 0
    keys, kinds = (np.concatenate(each) for each in zip(*found, strict=True))
    keys, place = np.unique(keys, return_inverse=True)
    query, doc = np.divmod(keys, max(len(axes[1]), 1))
    return Cells(query, doc, np.bincount(place, kinds, len(keys)).astype(np.int64)), n_outside


@dataclass(frozen=True)
class Ranked:
    """Ranked docs by index: query, doc, rank (1-based, true over all docs) and score, by query, then rank.

    is_whole: the lists are whole; else one doc below the top ends them, and cells further down may follow.
    is_shared: the scores of each doc sum to 1 over the queries.
    """

    anomalies: ScoreAnomalies
    query: Ints
    doc: Ints
    rank: Ints
    score: npt.NDArray[np.float64]
    is_whole: bool = False
    is_shared: bool = False


_COLUMNS = ("query", "doc", "rank", "score")


def _some(ranked: Ranked, are_kept: Bools) -> Ranked:
    """Return some of the rows."""
    return replace(ranked, **{name: getattr(ranked, name)[are_kept] for name in _COLUMNS})


def rank_rows(
    blocks: Iterable[Array],
    *,
    where: str,
    n_rows: int,
    axes: Axes,
    depth: int,
    cells: Cells = NO_CELLS,
    mask: Array | None = None,
) -> Ranked:
    """Return each query's docs to one below the top `depth`, and cells below them, with their true ranks.

    Args:
        blocks: rows of scores, all of them, some at a time.
        where: the matrix's name for errors.
        n_rows: how many rows there are.
        axes: the ids of the queries, and of the docs in the order of the columns. Where queries are fewer
            than the rows, rows without any finite score are padding.
        depth: how many docs a list has, 1 or more.
        cells: pairs that are kept at any rank.
        mask: one flag a row, False where the row is padding.

    Returns:
        Cells that are NaN or infinite, and the lowest score of flooded queries, are not scores: such
        docs are left out, and counted.

    Raises:
        FormatError: the rows without padding are not those of the queries, or the file is damaged.
    """
    (queries, docs), n_queries = axes, len(axes[0])
    if mask is not None and (len(mask), int(mask.sum())) != (n_rows, n_queries):
        raise FormatError(
            f"{where}: the mask keeps {int(mask.sum())} of {len(mask)} rows, expected {n_queries} "
            f"queries of {n_rows} rows"
        )
    anomalies, pieces = ScoreAnomalies(), list[list[Array]]()
    codes = places_among(np.argsort(np.array(docs, dtype=object), kind="stable"), len(docs))
    row = query = 0
    sums = np.zeros(len(docs))
    for chunk in blocks:
        is_row = None if mask is None else mask[row : row + len(chunk)]
        if mask is None and n_rows > n_queries:
            is_row = np.asarray(np.isfinite(chunk).any(axis=1))
        row += len(chunk)
        if is_row is not None:
            anomalies.padding += len(chunk) - int(is_row.sum())
            chunk = chunk[is_row]
        own = slice(query, query := query + len(chunk))
        if query > n_queries:
            break
        if len(chunk):
            with np.errstate(invalid="ignore"):
                sums += chunk.sum(axis=0, dtype=np.float64)
            scores, cut = cut_of(chunk, anomalies, (queries[own], docs))
            at = slice(*np.searchsorted(cells.query, (own.start, own.stop)))
            mine = Cells(cells.query[at] - own.start, cells.doc[at], cells.kind[at])
            pieces.append(_ranked_block(scores, cut, codes, depth + 1, mine, anomalies))
            pieces[-1][0] += own.start
    if query != n_queries:
        raise FormatError(
            f"{where}: {query} rows or more with scores, expected {n_queries}, one for "
            "each query id; padding must be -inf or NaN throughout, or marked by a mask"
        )
    query_of, doc, rank, score = map(np.concatenate, zip(*pieces, strict=True))
    is_shared = bool(np.allclose(sums, 1, rtol=0, atol=0.01))
    return Ranked(anomalies, query_of, doc, rank, score, is_shared=is_shared)


def _ranked_block(
    scores: Array, cut: Array, codes: Ints, depth: int, cells: Cells, anomalies: ScoreAnomalies
) -> list[Array]:
    """Return row, column, rank and score of each row's top above its cut, followed by the cells below it."""
    n_rows, n_docs = scores.shape
    columns = top_of_rows(scores, depth, codes)
    best = scores.reshape(-1).take(columns + n_docs * np.arange(n_rows)[:, None])
    is_real = best > cut[:, None]
    lengths = is_real.sum(axis=1)
    top = np.repeat(np.arange(n_rows), lengths), columns[is_real], rows_of_lists(1, lengths), best[is_real]
    real = np.flatnonzero(scores[cells.query, cells.doc] > cut[cells.query])
    row, column = cells.query[real], cells.doc[real]
    rank, _, n_equal = ranks_in_rows(scores, row, column, codes)
    anomalies.tied_positives += int(np.sum((n_equal > 1) & (cells.kind[real] & POSITIVE > 0)))
    below = np.flatnonzero(rank > depth)
    below = below[np.lexsort((rank[below], row[below]))]
    at = np.searchsorted(top[0], row[below], side="right")
    more = row[below], column[below], rank[below], scores[row[below], column[below]]
    found = [np.insert(own, at, others) for own, others in zip(top, more, strict=True)]
    return [*found[:3], found[3].astype(np.float64) + 0.0]  # -0.0 is 0.0, whichever was kept


def cut_of(scores: Array, anomalies: ScoreAnomalies, axes: Axes) -> tuple[Array, Array]:
    """Return rows of scores, and for each row the score at or below which its docs are left out.

    Cells that are not finite become minus infinity; the lowest score of a flooded row is its cut. They and
    constant rows are counted. axes: the ids of the rows and columns.
    """
    (queries, docs), n_docs = axes, scores.shape[1]
    low, high = scores.min(axis=1), scores.max(axis=1)
    is_odd = ~(np.isfinite(low) & np.isfinite(high))
    if is_odd.any():
        odd, lines = scores[is_odd], np.flatnonzero(is_odd)
        count_missing(odd, anomalies, lambda place: (queries[lines[place // n_docs]], docs[place % n_docs]))
        scores = scores.copy()
        scores[is_odd] = odd = np.where(np.isfinite(odd), odd, -np.inf)
        low[is_odd], high[is_odd] = np.where(odd == -np.inf, np.inf, odd).min(axis=1), odd.max(axis=1)
    may_be = np.flatnonzero((high - low == n_docs - 1) & ((low == 0) | (low == 1)) & (n_docs >= FLOOD_DOCS))
    are_places = [(np.sort(scores[row]) == low[row] + np.arange(n_docs)).all() for row in may_be]
    anomalies.count("places", np.array(are_places), lambda place: (queries[may_be[place]], ""))
    is_flooded = _count_shapes(anomalies, low, high, (scores == low[:, None]).sum(axis=1), n_docs, queries)
    return scores, np.where(is_flooded, low, -np.inf)


def count_missing(
    scores: Array, anomalies: ScoreAnomalies, example: Callable[[int], tuple[str, str]]
) -> None:
    """Count the scores that are NaN or infinite.

    example: returns query and doc of a place in the flattened scores.
    """
    anomalies.count("n_nan", np.isnan(scores), example)
    anomalies.count("n_minus_inf", scores == -np.inf, example)
    anomalies.count("n_plus_inf", scores == np.inf, example)


def _count_shapes(
    anomalies: ScoreAnomalies, low: Array, high: Array, at_low: Ints, n_docs: int | Ints, queries: Any
) -> Bools:
    """Count constant and flooded queries; return which are flooded."""
    constant = (low == high) & (at_low == n_docs) & (n_docs >= CONSTANT_DOCS)
    flooded = (low < high) & (at_low >= FLOOD_DOCS) & (2 * at_low >= n_docs)
    anomalies.count("constant", constant, lambda row: (queries[row], ""))
    anomalies.count("flood", flooded, lambda row: (queries[row], ""))
    return np.asarray(flooded, dtype=np.bool_)


def joined(parts: Sequence[Ranked]) -> Ranked:
    """Return ranked docs of all queries from those of consecutive ones."""
    anomalies = ScoreAnomalies()
    for part in parts:
        anomalies.add(part.anomalies)
    columns = (np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS)
    return Ranked(anomalies, *columns)


def kept_of(ranked: Ranked, axes: Axes, cells: Cells, depth: int) -> tuple[Ranked, dict[str, int]]:
    """Return each query's top `depth`, and below it the cells that are kept; count ties and equal lists.

    Where a query's own item stands in its top, one doc more is kept, so that the list has its depth without
    it. With it: how many positives are below the top, and how many other rows.
    """
    query, doc, rank, anomalies = ranked.query, ranked.doc, ranked.rank, ranked.anomalies
    n_queries, n_docs = map(len, axes)
    is_top, kind = rank <= depth, np.zeros(len(rank), dtype=np.int8)
    needs_all = ranked.is_whole or bool((cells.kind & OWN).any())
    at = np.arange(len(rank)) if needs_all else np.flatnonzero(~is_top)
    rows, place = find_pairs(query[at] * n_docs + doc[at], cells.query * n_docs + cells.doc)
    kind[at[rows]] = cells.kind[place]

    is_equal = ~are_firsts(query, ranked.score)  # to the one before it
    anomalies.tied_in_top = int(np.count_nonzero(are_among(query[is_equal & is_top], n_queries)))
    anomalies.tied_at_cut = int(np.sum(is_equal & (rank == depth + 1)))
    if ranked.is_whole:
        is_tied = is_equal | np.append(is_equal[1:], False)[: len(rank)]
        anomalies.tied_positives = int(np.sum(is_tied & (kind & POSITIVE > 0)))
    _count_duplicates(ranked, is_top, axes[0])

    needs_more = are_among(query[is_top & (kind & OWN > 0)], n_queries)
    is_kept = is_top | (kind > 0) | ((rank == depth + 1) & needs_more[query])
    n_below = int(np.sum(is_kept & ~is_top))
    n_positives = int(np.sum((kind & POSITIVE > 0) & ~is_top))
    return ranked if is_kept.all() else _some(ranked, is_kept), {
        "positives_below_top": n_positives,
        "others_below_top": n_below - n_positives,
    }


def _count_duplicates(ranked: Ranked, is_top: Bools, queries: Sequence[str]) -> None:
    """Count the queries whose top's docs and scores are an earlier query's."""
    query, score = ranked.query, ranked.score.view(np.uint64)
    if not len(query):
        return
    starts, hashes = starts_of_groups(query), mix_bits(ranked.doc.view(np.uint64) * np.uint64(GOLDEN) ^ score)
    hashes[~is_top] = 0
    lists = np.add.reduceat(hashes, starts)  # a sum of hashes for each
    _, first, list_of = np.unique(lists, return_index=True, return_inverse=True)
    earlier = first[list_of]
    is_again = earlier != np.arange(len(lists))
    ranked.anomalies.count(
        "duplicates",
        is_again,
        lambda own: (queries[query[starts[own]]], queries[query[starts[earlier[own]]]]),
    )


def run_of_ranked(ranked: Ranked, run_id: str, axes: Axes, *, where: str) -> Run:
    """Return ranked indices as a Run of the ids at those indices."""
    same = np.zeros(len(ranked.query), dtype=np.int8)
    columns: dict[str, Any] = {"run_id": coded(same, [run_id])}
    columns |= {"query_id": coded(ranked.query, axes[0]), "doc_id": coded(ranked.doc, axes[1])}
    columns |= {"rank": ranked.rank, "score": ranked.score}
    return check_run(pd.DataFrame(columns, copy=False), where=where)


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
    """Return ranked lists as a Run, ranked by the one rule unless they have ranks.

    Raises:
        FormatError: its queries have no ids, and there is nothing to compare their order with.
    """
    if NUMBERED in listed.notes:
        todo = "`fire-toolkit add-run FILE` (outside a workspace with --qrels and --out) checks the order"
        raise FormatError(f"{path}: {NUMBERED}; {todo}")
    name = coded(np.zeros(len(listed.scored), dtype=np.int8), [run_name(path, run_id or listed.run_id)])
    make = check_run if listed.has_ranks else rank_run
    return make(listed.scored.assign(run_id=name), where=str(path))


def rank_lists(
    listed: Listed, path: Path, *, run_id: str | None, may_flood: bool = False
) -> tuple[Ranked, Axes]:
    """Return the lists' docs ranked, and the ids of their queries and docs.

    Pairs whose score is NaN or infinite, and the lowest score of flooded queries, are left out and counted.

    Args:
        listed: the lists.
        path: where they come from.
        run_id: the run's id, by default theirs.
        may_flood: whether many docs may share the lowest score, as in a list that is cut within a tie.
    """
    anomalies, scored = ScoreAnomalies(), listed.scored
    score = np.asarray(scored["score"], dtype=np.float64)
    is_real = np.isfinite(score)
    if not is_real.all():
        queries, docs = (scored[name] for name in PAIR)
        count_missing(score, anomalies, lambda row: (str(queries.iloc[row]), str(docs.iloc[row])))
        listed = replace(listed, scored=scored[is_real])
    run = run_of_lists(replace(listed, notes=()), path, run_id=run_id)  # whose notes are said
    block = block_of(run)
    axes: Any = block.queries, block.docs
    first, last, score = block.start[:-1], block.start[1:] - 1, block.score + 0.0
    low, high = score[last], score[first]
    at_low = np.add.reduceat(score == np.repeat(low, block.lengths), first, dtype=np.int64)
    at_low = np.where((low < high) & may_flood, 0, at_low)
    is_flooded = _count_shapes(anomalies, low, high, at_low, block.lengths, axes[0])
    ranked = Ranked(anomalies, block.query, block.doc.astype(np.int64), block.rank, score, is_whole=True)
    is_kept = np.repeat(~is_flooded, block.lengths) | (score > np.repeat(low, block.lengths))
    return ranked if is_kept.all() else _some(ranked, is_kept), axes
