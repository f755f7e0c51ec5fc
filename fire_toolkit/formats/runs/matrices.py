"""A matrix in a file as it fits its ids: scored as it lies, or ranked, one way or both."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.arrays import ranges_of
from fire_toolkit.errors import FileNote, FormatError
from fire_toolkit.formats.arrays.matrix import Array, blocks_of, by_rows
from fire_toolkit.formats.runs.named_arrays import Arrays, Matrix, choose_matrix
from fire_toolkit.formats.runs.ranked import (
    MEMBER,
    OUTSIDE,
    POSITIVE,
    QUERIES_COLUMNS,
    QUERIES_ROWS,
    Axes,
    cells_of,
    cut_of,
    kept_of,
    rank_rows,
    run_of_ranked,
)
from fire_toolkit.formats.runs.score_anomalies import ScoreAnomalies, refuse_anomalies
from fire_toolkit.matching.blocks import RunBlock, block_of
from fire_toolkit.matching.coded import CodedQrels
from fire_toolkit.matching.joining import PairRanks, StoredRun, rank_pairs
from fire_toolkit.matching.own_items import LeftOut, OwnItems, Tell, drop_own_items
from fire_toolkit.matching.ranking import top
from fire_toolkit.results import Shown
from fire_toolkit.scoring.expect import sense_of
from fire_toolkit.tables import Qrels, Run
from fire_toolkit.tables.columns import PAIR, places_in

_TELLING = 200  # queries with a positive, which tell whether positives stand as by chance


def readings_of(
    arrays: Arrays,
    path: Path,
    axes: Axes,
    *,
    key: str | None = None,
    mask: Array | None = None,
    wanted: str | None = None,
    may_be_padded: bool = True,
) -> tuple[str, dict[str, Array]]:
    """Return the name of the matrix among arrays, and it as rows of queries, by each orientation that fits.

    Args:
        arrays: of the file.
        path: the file.
        axes: the ids of queries and docs.
        key: which array; None chooses by names and shapes.
        mask: which rows are no padding.
        wanted: the orientation that is known, which is then the only one.
        may_be_padded: whether there may be more rows than queries.

    Raises:
        FormatError: there is none or several, it is damaged, or its shape does not fit the ids.
    """
    n_queries, n_docs = lengths = len(axes[0]), len(axes[1])
    name = choose_matrix(arrays, str(path), key=key, shapes={lengths, lengths[::-1]})
    values = arrays.matrices[name].values
    rows, fits = by_rows(values), dict[str, Array]()
    if rows.shape[1] == n_docs and (len(rows) == n_queries or (may_be_padded and len(rows) > n_queries)):
        fits[QUERIES_ROWS] = rows
    if values.shape == (n_docs, n_queries) and mask is None:
        fits[QUERIES_COLUMNS] = values.T
    shape = " × ".join(map(str, values.shape))
    ids = f"{n_queries} query ids and {n_docs} doc ids"
    if not fits or not values.size:
        expected = "queries × docs"
        if may_be_padded:
            either = " or ".join({f"{n_queries} × {n_docs}": 0, f"{n_docs} × {n_queries}": 0})
            expected = (
                f"{either}, or more rows of padding; of vectors give queries' and docs' with --similarity, "
                "of places of docs an .npz with their scores and --scores, or lists: json.dump(x.tolist(), f)"
            )
        raise FormatError(f"{path}: shape {shape}, but {ids}; expected {expected}")
    if wanted is not None and wanted not in fits:
        fit = " and ".join(fits)
        raise FormatError(f"{path}: orientation {wanted!r}, but shape {shape} with {ids} fits {fit} only")
    return name, fits if wanted is None else {wanted: fits[wanted]}


@dataclass(frozen=True, eq=False)
class MatrixRun(StoredRun, Shown):
    """A matrix of queries × docs in a file, as one run of all its docs.

    If the docs at a query's lowest score are a flood, they are not docs of the run, as in `rank_rows`.
    stored, is_turned: where the scores lie, and whether columns are queries there. may_be_turned: whether its
    columns are or may be queries, and the file does not say. own_items: the doc of each query that is left
    out of its ranking; tell: told of them when it is scored. rows: which of its rows a part has, from one up
    to another.
    """

    path: Path
    run_id: str
    stored: Matrix
    query_ids: Sequence[str]
    doc_ids: Sequence[str]
    is_turned: bool = False
    may_be_turned: bool = False
    own_items: OwnItems | None = None
    tell: Tell | None = None
    rows: tuple[int | None, int | None] = (None, None)

    @cached_property
    def values(self) -> Array:
        """Return the scores, queries × docs."""
        values = self.stored.values
        return (values.T if self.is_turned else by_rows(values))[slice(*self.rows)]

    def rank_pairs(
        self, coded: CodedQrels, *, with_ties: bool = False, doc_order: Sequence[str] | None = None
    ) -> PairRanks:
        """Return where the pairs of `coded` stand, in one reading; see `matching.joining.rank_pairs`.

        Raises:
            FormatError: damaged, or a score is NaN or infinite.
        """
        odd, n_rows = ScoreAnomalies(), 0

        def blocks() -> Iterator[tuple[Array, Array]]:
            nonlocal n_rows
            for scores in blocks_of(self.values, str(self.path)):
                yield cut_of(scores, odd, (self.query_ids[n_rows : n_rows + len(scores)], self.doc_ids))
                n_rows += len(scores)

        queries, docs = (pd.Index(list(ids), dtype="str") for ids in (self.query_ids, self.doc_ids))
        ranks = rank_pairs(
            blocks(),
            coded,
            query_ids=queries,
            doc_ids=docs,
            doc_order=doc_order,
            run_id=self.run_id,
            own_items=self.own_items,
        )
        self._look_at(odd)
        if self.tell is not None:
            self.tell(LeftOut(ranks.n_own_items))
        return ranks

    def parts(self, most: int) -> list[tuple[MatrixRun, list[str]]]:
        """Return at most so many parts that others can map, with their queries; none of held arrays."""
        if not self.stored.is_mapped:
            return []
        cuts, queries = ranges_of(len(self.query_ids), most), list(self.query_ids)
        own = replace(self, tell=None)  # which has not read its scores
        return [(replace(own, query_ids=queries[a:b], rows=(a, b)), queries[a:b]) for a, b in cuts]

    def top(self, depth: int | None) -> Run:
        """Return the top `depth` docs of each query, all without one, as a table.

        Raises:
            FormatError: as for `rank_pairs`.
        """
        deepest = len(self.doc_ids) if depth is None else depth + bool(self.own_items)
        run = self._ranked(self.values, (self.query_ids, self.doc_ids), None, deepest)
        run = drop_own_items(run, self.own_items or {})
        return run if depth is None else top(run, depth)

    def doubts(self, qrels: Qrels) -> Iterator[str]:
        """Yield what `add-run` says of ids and qrels; of chance by the first with a positive."""
        positives = qrels[PAIR][qrels["relevance"] >= 1]
        if n_outside := cells_of((self.query_ids, self.doc_ids), {POSITIVE: positives})[1]:
            yield OUTSIDE.format(n_outside)
        told = np.flatnonzero(places_in(self.query_ids, positives["query_id"].array) >= 0)[:_TELLING]
        if len(told):
            axes = [self.query_ids[row] for row in told], self.doc_ids
            own = Qrels(qrels[places_in(qrels["query_id"].array, axes[0]) >= 0])
            run = self._ranked(self.values[told], axes, own[PAIR], 1, is_checked=False)
            warning = sense_of(run, own, n_docs=len(axes[1])).warning
            yield from [warning] if warning else ()

    def blocks(self, depth: int | None = None) -> list[RunBlock]:
        """Return what `top` does as one block."""
        return [block_of(self.top(depth))]

    def both_ways(
        self, parts: Sequence[Axes], known: Sequence[pd.DataFrame], *, depth: int
    ) -> Iterator[tuple[Run, Run]]:
        """Yield the runs of each part (its queries and docs), queries to docs and back.

        known: of each part, the pairs (query_id, doc_id) that are kept at their true ranks below `depth`.

        Raises:
            FormatError: a score is NaN or infinite, or a part names what the matrix does not have.
        """
        for axes, pairs in zip(parts, known, strict=True):
            rows, columns = (
                pd.Index(list(own)).get_indexer(pd.Index(list(ids)))
                for own, ids in zip((self.query_ids, self.doc_ids), axes, strict=True)
            )
            if (rows < 0).any() or (columns < 0).any():
                raise FormatError(
                    f"{self.path}: {np.sum(rows < 0)} texts and {np.sum(columns < 0)} items of the qrels are "
                    "not in it"
                )
            values, turned = self.values[np.ix_(rows, columns)], dict(zip(PAIR, PAIR[::-1], strict=True))
            yield (
                self._ranked(values, axes, pairs, depth),
                self._ranked(values.T, axes[::-1], pairs.rename(columns=turned), depth),
            )

    def _ranked(
        self, values: Array, axes: Axes, kept: pd.DataFrame | None, depth: int, *, is_checked: bool = True
    ) -> Run:
        """Return the top of each row as a table, and below it the pairs that are kept."""
        where, cells = str(self.path), cells_of(axes, {} if kept is None else {MEMBER: kept})[0]
        size: dict[str, Any] = {"n_rows": len(axes[0]), "axes": axes, "depth": depth}
        ranked = rank_rows(blocks_of(values, where), where=where, cells=cells, **size)
        if is_checked:
            self._look_at(ranked.anomalies)
        return run_of_ranked(kept_of(ranked, axes, cells, depth)[0], self.run_id, axes, where=where)

    def _look_at(self, anomalies: ScoreAnomalies) -> None:
        """Refuse scores that are missing or none, and say what else is odd, as `add-run` does."""
        is_said = {"flood", "constant", "duplicates"}
        for words in refuse_anomalies(anomalies, len(self.query_ids), allow=is_said, where=str(self.path)):
            warnings.warn(f"{self.path}: {words}", FileNote, stacklevel=2)
