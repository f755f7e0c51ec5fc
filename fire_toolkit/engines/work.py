"""Runs in files, and the vectors of two sides, of which each worker takes some queries."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Ints, ranges_of, rows_of_lists
from fire_toolkit.engines.cluster import SharedFile, shared_file
from fire_toolkit.formats.runs.ingest import rank_vectors
from fire_toolkit.formats.runs.matrices import MatrixRun
from fire_toolkit.formats.runs.named_arrays import Matrix
from fire_toolkit.formats.runs.native import NativeRunFile
from fire_toolkit.formats.runs.ranked import Ranked, joined
from fire_toolkit.matching.blocks import RunBlock
from fire_toolkit.matching.coded import CodedQrels
from fire_toolkit.matching.own_items import LeftOut
from fire_toolkit.matching.pair_ranks import PairRanks, StoredRun
from fire_toolkit.results import Shown

_File = NativeRunFile | MatrixRun
Spread = Callable[..., list[Any] | None]  # `cluster.spread` of an address


@dataclass(frozen=True, eq=False)
class SharedRun(StoredRun, Shown):
    """A run that the workers of a cluster read; its numbers are those of `run`, to the last bit."""

    run_id: str
    run: _File
    spread: Spread
    file: SharedFile

    def rank_pairs(
        self, coded: CodedQrels, *, with_ties: bool = False, doc_order: Sequence[str] | None = None
    ) -> PairRanks:
        """Return where the pairs of `coded` stand; see `matching.pair_ranks`."""

        def cut(n: int) -> list[Any]:
            parts = self.run.parts(n)
            places = [coded.queries.get_indexer(pd.Index(queries, dtype="str")) for _, queries in parts]
            known = [np.sort(own[own >= 0]) for own in places]
            return [(run, own, coded.of(own), doc_order) for (run, _), own in zip(parts, known, strict=True)]

        every, whole, lengths = np.arange(len(coded.queries)), PairRanks(coded), np.diff(coded.start)
        for queries, part in self._found(_rank, cut) or [_rank(self.run, every, coded, doc_order)]:
            whole.n_retrieved[queries], whole.last_rank[queries] = part.n_retrieved, part.last_rank
            at = rows_of_lists(coded.start[queries], lengths[queries])
            whole.rank[at], whole.first[at], whole.last[at] = part.rank, part.first, part.last
            whole.n_extra_queries += part.n_extra_queries
            whole.has_known_doc |= part.has_known_doc
            whole.first_pair = whole.first_pair if any(whole.first_pair) else part.first_pair
        return whole

    def top_blocks(self, depth: int | None) -> list[RunBlock]:
        """Return at least the top `depth` docs of each query, all without one; a query is in one block."""
        found = depth and self._found(_top, lambda n: [(run, depth) for run, _ in self.run.parts(n)])
        return list(chain(*found) if found else self.run.top_blocks(depth))

    def _found(self, function: Any, cut: Any) -> list[Any] | None:
        """Return what the function finds in each part; None where the run is to be read here."""
        found = self.spread(partial(_on_part, function), cut, [self.file])
        told = [each for _, left_out in found or () for each in left_out]
        if told and self.run.tell is not None:
            self.run.tell(sum(told, LeftOut()))
        return found and [each for each, _ in found]


def shared(run: Any, spread: Spread, sha256: str) -> Any:
    """Return a run that workers read, of a file that they can read in parts; another is returned as it is."""
    is_file = isinstance(run, NativeRunFile | MatrixRun)
    return SharedRun(run.run_id, run, spread, shared_file(run.path, sha256)) if is_file else run


def _on_part(function: Any, part: _File, *given: Any) -> tuple[Any, list[LeftOut]]:
    """Return what the function gives for a part, and what is told of it."""
    left_out: list[LeftOut] = []
    return function(replace(part, tell=left_out.append), *given), left_out


def _rank(run: _File, own: Ints, coded: CodedQrels, doc_order: Any) -> tuple[Ints, PairRanks]:
    return own, run.rank_pairs(coded, with_ties=True, doc_order=doc_order)


def _top(run: _File, depth: int) -> list[RunBlock]:
    return [block.to_depth(depth).with_used_docs() for block in run.top_blocks(depth)]


def rank_shared_vectors(
    spread: Spread, files: Sequence[Path], left: Matrix, right: Matrix, *kind: Any, **settings: Any
) -> Ranked:
    """Return what `ingest.rank_vectors` does, to the last bit; files: those with the vectors."""

    def cut(n: int) -> list[Any]:
        cuts = ranges_of(settings["n_rows"], n) if left.is_mapped and right.is_mapped else []
        return [(*rows, settings, left, right, *kind) for rows in cuts]

    found = spread(_rank_vectors, cut, [shared_file(file) for file in files])
    return joined(found) if found else rank_vectors(left, right, *kind, **settings)


def _rank_vectors(a: int, b: int, settings: dict[str, Any], left: Matrix, *others: Any) -> Ranked:
    """Return some of the rows ranked; cells of other rows find none."""
    rows, (queries, docs), cells = left.values[a:b], settings["axes"], settings["cells"]
    own = settings | {"n_rows": len(rows), "axes": (queries[a:b], docs)}
    own["cells"] = replace(cells, query=cells.query - a)
    found = rank_vectors(replace(left, held=rows), *others, **own)
    return replace(found, query=found.query + a)
