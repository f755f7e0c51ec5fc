"""One matrix of texts × items ranked both ways, whole or in folds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays.matrix import Matrix, all_rows, held
from fire_toolkit.formats.runs.axis_ids import IdFile
from fire_toolkit.formats.runs.kept import indexed
from fire_toolkit.formats.runs.matrix_runs import refuse_missing
from fire_toolkit.formats.runs.ranked import QUERIES_COLUMNS, QUERIES_ROWS, rank_matrix, run_of_ranked
from fire_toolkit.formats.runs.read import open_matrix
from fire_toolkit.formats.runs.readers import find_reader
from fire_toolkit.tables import Run

Axes = tuple[Sequence[str], Sequence[str]]


class MatrixBothWays:
    """A matrix of texts × items in a file, which is ranked both ways.

    Raises:
        FormatError: the file is not a matrix, or has no ids that fit it.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        query_ids: str | Path | IdFile | None = None,
        doc_ids: str | Path | IdFile | None = None,
    ) -> None:
        self.path = Path(path)
        self.run_id = self.path.stem
        reader = find_reader(self.path)
        if reader is None or reader.read_arrays is None:
            raise FormatError(f"{path}: no matrix; give two runs, one for each direction")
        ids = {"query_ids": query_ids, "doc_ids": doc_ids}
        self._matrix, self.texts, self.items = open_matrix(self.path, reader, **ids)

    def ranked(
        self, parts: Sequence[Axes], known: Sequence[pd.DataFrame], *, depth: int
    ) -> Iterator[tuple[Run, Run]]:
        """Yield the runs of each part (its texts and items), texts to items and back.

        known: of each part, the pairs that are kept at their true ranks below `depth`.
        """
        is_whole = len(parts) == 1 and list(parts[0][1]) == self.items and list(parts[0][0]) == self.texts
        matrices = [self._matrix] if is_whole else cut_matrix(self._matrix, (self.texts, self.items), parts)
        for matrix, axes, pairs in zip(matrices, parts, known, strict=True):
            yield rank_bidirectional(self.path, matrix, axes, pairs, run_id=self.run_id, depth=depth)


def rank_bidirectional(
    path: Path, matrix: Matrix, axes: Axes, positives: pd.DataFrame, *, run_id: str, depth: int
) -> tuple[Run, Run]:
    """Return the run from texts to items and the one from items to texts.

    Args:
        path: named in errors.
        matrix: texts × items, as `cut_matrix` gives it.
        axes: the texts' ids and the items'.
        positives: columns query_id (texts), doc_id (items): kept at their true ranks below `depth`.
        run_id: of both runs.
        depth: how many docs of each query are kept.

    Raises:
        FormatError: a score is NaN or infinite.
    """
    texts, items = list(axes[0]), list(axes[1])
    pairs, _ = indexed(positives, texts, items)
    forth = rank_matrix(
        matrix, orientation=QUERIES_ROWS, n_queries=len(texts), docs=items, depth=depth, positives=pairs
    )
    refuse_missing(path, forth.anomalies, texts, items)
    back = rank_matrix(
        matrix, orientation=QUERIES_COLUMNS, n_queries=len(items), docs=texts, depth=depth,
        positives=pairs[::-1],
    )  # fmt: skip
    return (
        run_of_ranked(forth, run_id, texts, items, where=str(path)),
        run_of_ranked(back, run_id, items, texts, where=str(path)),
    )


def cut_matrix(matrix: Matrix, axes: Axes, parts: Sequence[Axes]) -> Iterator[Matrix]:
    """Yield the cells of each part (texts and items), in the part's order; the matrix is held in memory.

    Raises:
        FormatError: a part names a text or an item that the matrix does not have.
    """
    values = all_rows(matrix)
    places = [pd.Index(list(ids)) for ids in axes]
    for part in parts:
        rows, columns = (own.get_indexer(pd.Index(list(ids))) for own, ids in zip(places, part, strict=True))
        if (rows < 0).any() or (columns < 0).any():
            raise FormatError(
                f"{matrix.where}: {np.sum(rows < 0)} texts and {np.sum(columns < 0)} items of the qrels are "
                "not in it"
            )
        yield held(matrix.where, values[np.ix_(rows, columns)])
