"""Query vectors ranked against doc vectors in parts, by ranges of the queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fire_toolkit.arrays import Ints
from fire_toolkit.engines.engine import Engine, packed, ranges_of, unpacked
from fire_toolkit.formats.runs.dense import QUERIES_ROWS, rank_matrix
from fire_toolkit.formats.runs.embeddings import product_matrix
from fire_toolkit.formats.runs.matrix import Array, FileMatrix, HeldMatrix, Matrix
from fire_toolkit.formats.runs.ranked import Ranked, ranked_of
from fire_toolkit.formats.runs.score_anomalies import ScoreAnomalies

_COLUMNS = ("query", "doc", "rank", "score")


@dataclass(frozen=True)
class ProductShard:
    """Some query vectors, the doc vectors, and how they are ranked."""

    queries: Matrix
    docs: Matrix
    similarity: str | None
    options: Mapping[str, Any]
    files: Mapping[str, str]


def product_shard(shard: ProductShard) -> bytes:
    """Return the ranked docs of the queries, and counts of their anomalies."""
    if not shard.queries.shape[0]:
        return packed(_as_arrays(_nothing()))
    product = product_matrix(shard.queries, shard.docs, similarity=shard.similarity)
    ranked = rank_matrix(product, orientation=QUERIES_ROWS, n_queries=shard.queries.shape[0], **shard.options)
    return packed(_as_arrays(ranked))


def _nothing() -> Ranked:
    none = np.zeros(0, dtype=np.int64)
    return Ranked(none, none, none, np.zeros(0), ScoreAnomalies())


def _as_arrays(ranked: Ranked) -> dict[str, Array]:
    anomalies = ranked.anomalies
    counts = {f"n.{name}": np.array(n) for name, n in anomalies.counts().items()}
    first = {f"first.{name}": np.array(pair) for name, pair in anomalies.first.items()}
    return {name: getattr(ranked, name) for name in _COLUMNS} | counts | first


@dataclass(frozen=True)
class ProductRanker:
    """What ranks vectors by an engine. hashes: the sha256 of the files, by path as given."""

    engine: Engine
    hashes: Mapping[Path, str]

    def __call__(
        self, of_queries: Matrix, of_docs: Matrix, similarity: str | None, /, **options: Any
    ) -> Ranked:
        """Return what `rank_matrix` does of the product of all queries and docs."""
        ranges = ranges_of(of_queries.shape[0], self.engine.ranges(1))
        files = {str(path.absolute()): sha256 for path, sha256 in self.hashes.items()}
        shards = []
        for first, stop in ranges:
            own = options | {
                name: _within(options.get(name), first, stop) for name in ("positives", "others")
            }
            vectors = _rows(of_queries, first, stop), _absolute(of_docs)
            shards.append(ProductShard(*vectors, similarity, own, files))
        parts = [unpacked(content) for content in self.engine.map(product_shard, shards)]
        anomalies = _summed(parts, [first for first, _ in ranges])
        columns = [
            (part["query"] + first, *(part[name] for name in _COLUMNS[1:]))
            for part, (first, _) in zip(parts, ranges, strict=True)
        ]
        return ranked_of(columns, anomalies, options["depth"])


def _rows(matrix: Matrix, first: int, stop: int) -> Matrix:
    if isinstance(matrix, FileMatrix) and not matrix.is_flipped and len(matrix.shape) == 2:
        return _absolute(matrix.rows(first, stop))
    values = np.concatenate(list(matrix.blocks(max(1, matrix.shape[0]))))
    return HeldMatrix(matrix.where, values[first:stop])


def _absolute(matrix: Matrix) -> Matrix:
    if isinstance(matrix, FileMatrix):
        return replace(matrix, path=matrix.path.absolute(), on_read=None, hasher=None)
    return matrix


def _within(pairs: tuple[Ints, Ints] | None, first: int, stop: int) -> tuple[Ints, Ints] | None:
    """Return the pairs of a range of queries, which become 0, 1, ..."""
    if pairs is None:
        return None
    kept = (pairs[0] >= first) & (pairs[0] < stop)
    return pairs[0][kept] - first, pairs[1][kept]


def _summed(parts: Sequence[Mapping[str, Array]], firsts: Sequence[int]) -> ScoreAnomalies:
    """Return the anomalies of all parts; equal lists are counted anew, of all together."""
    names = [name for name in ScoreAnomalies().counts() if name != "duplicates"]
    total = ScoreAnomalies()
    for name in names:
        setattr(total, name, sum(int(part[f"n.{name}"]) for part in parts))
    for part, first in zip(parts, firsts, strict=True):
        for name, pair in part.items():
            kind = name.removeprefix("first.")
            if kind != name and kind != "duplicates":
                total.first.setdefault(kind, (int(pair[0]) + first, int(pair[1])))
    return total
