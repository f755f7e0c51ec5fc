"""One matrix of texts × items ranked both ways, whole or in folds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
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

        known: of each part, the pairs of a text and an item (query_id, doc_id) that are kept at their true
        ranks below `depth`.

        Raises:
            FormatError: a score is NaN or infinite, or a part names what the matrix does not have.
        """
        is_whole = len(parts) == 1 and list(parts[0][1]) == self.items and list(parts[0][0]) == self.texts
        matrices = [self._matrix] if is_whole else cut_matrix(self._matrix, (self.texts, self.items), parts)
        for matrix, axes, pairs in zip(matrices, parts, known, strict=True):
            texts, items = map(list, axes)
            kept, _ = indexed(pairs, texts, items)
            ranked = partial(rank_matrix, matrix, depth=depth)
            forth = ranked(orientation=QUERIES_ROWS, n_queries=len(texts), docs=items, positives=kept)
            refuse_missing(self.path, forth.anomalies, texts, items)
            turned = kept[::-1]
            back = ranked(orientation=QUERIES_COLUMNS, n_queries=len(items), docs=texts, positives=turned)
            where = str(self.path)
            yield (
                run_of_ranked(forth, self.run_id, texts, items, where=where),
                run_of_ranked(back, self.run_id, items, texts, where=where),
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
