"""A matrix in a file as a run that is scored without ranking it: only judged docs get a rank."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays.matrix import Array, Matrix, rows_per_block
from fire_toolkit.formats.runs.ranked import (
    QUERIES_ROWS,
    Ranked,
    chunks_of,
    cut_of,
    rank_matrix,
    run_of_ranked,
)
from fire_toolkit.formats.runs.score_anomalies import ScoreAnomalies
from fire_toolkit.matching.coded import CodedQrels
from fire_toolkit.matching.judge_matrix import PairRanks, rank_pairs
from fire_toolkit.matching.own_items import LeftOut, OwnItems, Tell, drop_own_items
from fire_toolkit.matching.ranking import top
from fire_toolkit.results import Shown
from fire_toolkit.tables import Run
from fire_toolkit.tables.checks import are_ids


@dataclass(frozen=True)
class MatrixRun(Shown):
    """A matrix of queries × docs in a file, as one run of all its docs.

    If the docs at a query's lowest score are a flood, they are not docs of the run, as in `rank_matrix`.
    own_items: the doc of each query that is left out of its ranking; tell: told of them when it is scored.
    """

    path: Path
    run_id: str
    matrix: Matrix
    query_ids: Sequence[str]
    doc_ids: Sequence[str]
    own_items: OwnItems | None = None
    tell: Tell | None = None

    def without_own_items(self, own_items: OwnItems, tell: Tell) -> MatrixRun:
        """Return the run without each query's own item."""
        return replace(self, own_items=own_items, tell=tell)

    @property
    def first_pair(self) -> tuple[str, str]:
        """Return query and doc of the first cell."""
        return self.query_ids[0], self.doc_ids[0]

    def rank_pairs(self, coded: CodedQrels, doc_order: Sequence[str] | None) -> PairRanks:
        """Return where the pairs of `coded` stand, in one reading; see `matching.judge_matrix.rank_pairs`.

        Raises:
            FormatError: damaged, or a score is NaN or infinite.
        """
        ranks = rank_pairs(
            self._blocks(),
            coded,
            query_ids=pd.Index(list(self.query_ids), dtype="str"),
            doc_ids=pd.Index(list(self.doc_ids), dtype="str"),
            doc_order=doc_order,
            run_id=self.run_id,
            own_items=self.own_items,
        )
        if self.tell is not None:
            self.tell(LeftOut(ranks.n_own_items))
        return ranks

    def top(self, depth: int | None) -> Run:
        """Return the top `depth` docs of each query, all without one, as a table.

        Raises:
            FormatError: as for `rank_pairs`.
        """
        spare = 1 if self.own_items else 0
        deepest = len(self.doc_ids) if depth is None else depth + spare
        ranked = self._ranked(deepest)
        refuse_missing(self.path, ranked.anomalies, self.query_ids, self.doc_ids)
        run = run_of_ranked(ranked, self.run_id, self.query_ids, self.doc_ids, where=str(self.path))
        if not self.own_items:
            return run
        run = drop_own_items(run, self.own_items)
        return run if depth is None else top(run, depth)

    def _ranked(self, depth: int) -> Ranked:
        n_queries = len(self.query_ids)
        return rank_matrix(
            self.matrix, orientation=QUERIES_ROWS, n_queries=n_queries, docs=self.doc_ids, depth=depth
        )

    def _blocks(self) -> Iterator[tuple[Array, Array]]:
        """Yield rows, and the score at or below which each row's docs are left out."""
        odd = ScoreAnomalies()
        for scores in chunks_of(self.matrix.blocks(rows_per_block(self.matrix)), len(self.doc_ids)):
            cut = cut_of(scores, odd, 0)
            if odd.n_missing:
                self._refuse()
            yield cut

    def _refuse(self) -> None:
        """Raise the FormatError that counts and names what is not finite."""
        refuse_missing(self.path, self._ranked(1).anomalies, self.query_ids, self.doc_ids)


def can_be_scored(run: MatrixRun) -> bool:
    """Whether a matrix can be scored as it lies: queries in rows, ids that a run can have."""
    is_plain = len(run.matrix.shape) == 2 and not run.matrix.is_flipped
    return is_plain and are_ids([run.run_id]) and are_ids(run.query_ids) and are_ids(run.doc_ids)


def refuse_missing(
    path: Path, anomalies: ScoreAnomalies, queries: Sequence[str], docs: Sequence[str]
) -> None:
    """Raise FormatError where scores of a matrix were NaN or infinite; the first is named."""
    n_odd = anomalies.n_missing
    if not n_odd:
        return
    row, column = next(
        anomalies.first[kind] for kind in ("nan", "minus_inf", "plus_inf") if kind in anomalies.first
    )
    raise FormatError(
        f"{path}: {n_odd} scores that are NaN or infinite, the first at row {row}, column {column} (query "
        f"{queries[row]}, doc {docs[column]}); expected finite numbers: leave padding rows out, or bring the "
        "file in with `fire-toolkit add-run`"
    )
