"""The tops of runs read in parts, by ranges of each run's own queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.arrays import starts_of_lists
from fire_toolkit.engines.engine import Engine, packed, packed_texts, ranges_of, unpacked, unpacked_texts
from fire_toolkit.formats.runs.matrix import Array, FileMatrix
from fire_toolkit.formats.runs.matrix_runs import MatrixRun
from fire_toolkit.formats.runs.native import NativeRunFile, query_ids_of
from fire_toolkit.matching.blocks import RunBlock, block_of
from fire_toolkit.tables import Run, check_run

Source = NativeRunFile | MatrixRun


@dataclass(frozen=True)
class TopShard:
    """Some queries of some runs, of which the first `depth` docs are wanted."""

    runs: Sequence[Source]
    depth: int
    files: Mapping[str, str]


def top_shard(shard: TopShard) -> bytes:
    """Return the top of each run, its lists as codes of docs."""
    found: dict[str, Array] = {}
    for place, run in enumerate(shard.runs):
        for name, values in _as_arrays(list(_top_blocks(run, shard.depth))).items():
            found[f"{place}.{name}"] = values
    return packed(found)


def _top_blocks(run: Source, depth: int) -> Sequence[RunBlock]:
    if isinstance(run, MatrixRun):
        return [block_of(run.top(depth))] if len(run.query_ids) else []
    if run.rows is not None and run.rows[0] == run.rows[1]:
        return []
    return [block.select(block.rank <= depth) for block in run.blocks()]


def _as_arrays(blocks: Sequence[RunBlock]) -> dict[str, Array]:
    """Return blocks of a run as one: ids, lengths of the lists, columns; docs by their place."""
    docs = pd.Index(np.concatenate([np.zeros(0, dtype=object), *(np.array(b.docs, object) for b in blocks)]))
    docs = docs.unique()
    codes = [np.zeros(0, dtype=np.int32)]
    codes += [docs.get_indexer(block.docs).astype(np.int32)[block.doc] for block in blocks]
    code, kept = np.unique(np.concatenate(codes), return_inverse=True)
    empty = np.zeros(0)
    return {
        "queries": packed_texts([query for block in blocks for query in block.queries]),
        "docs": packed_texts(docs[code].tolist()),
        "lengths": np.concatenate([empty.astype(np.int64), *(block.lengths for block in blocks)]),
        "doc": kept.astype(np.int32),
        "rank": np.concatenate([empty.astype(np.int64), *(block.rank for block in blocks)]),
        "score": np.concatenate([empty, *(block.score for block in blocks)]),
    }


def read_tops(runs: Sequence[Run | Source], depth: int, engine: Engine, hashes: Sequence[str]) -> list[Run]:
    """Return the first `depth` docs of each query of runs, as `read_run` does; tables stay as they are.

    Args:
        runs: as `open_run` returns them.
        depth: how many docs are wanted.
        engine: what reads them.
        hashes: of the runs' files.
    """
    split = [place for place, run in enumerate(runs) if _can_be_split(run)]
    ranges: dict[int, list[Source]] = {}
    n_ranges = engine.ranges(len(split))
    for place in split:
        ranges[place] = _cut(runs[place], n_ranges)
    units = [split] if engine.takes_whole else [[place] for place in split]
    shards = []
    for unit in units:
        for number in range(n_ranges):
            parts = [ranges[place][number] for place in unit]
            files = {str(part.path): hashes[place] for part, place in zip(parts, unit, strict=True)}
            shards.append(TopShard(parts, depth, files))
    contents = iter(engine.map(top_shard, shards) if split else [])
    found: dict[int, Run] = {}
    for unit in units if split else []:
        arrays = [unpacked(next(contents)) for _ in range(n_ranges)]
        found |= {place: _joined(runs[place], number, arrays) for number, place in enumerate(unit)}
    return [found[place] if place in found else _whole(run, depth) for place, run in enumerate(runs)]


def _can_be_split(run: Run | Source) -> bool:
    return isinstance(run, NativeRunFile) or (
        isinstance(run, MatrixRun) and isinstance(run.matrix, FileMatrix)
    )


def _whole(run: Run | Source, depth: int) -> Run:
    from fire_toolkit.matching.ranking import top

    return run.top(depth) if isinstance(run, MatrixRun) else top(run, depth)  # type: ignore[arg-type]


def _cut(run: Any, n_ranges: int) -> list[Source]:
    path: Path = run.path.absolute()
    if isinstance(run, NativeRunFile):
        ranges = ranges_of(len(query_ids_of(run)), n_ranges)
        return [replace(run, path=path, rows=rows, tell=None) for rows in ranges]
    parts = []
    for first, stop in ranges_of(len(run.query_ids), n_ranges):
        matrix = replace(run.matrix.rows(first, stop), path=path)
        parts.append(replace(run, path=path, matrix=matrix, query_ids=run.query_ids[first:stop], tell=None))
    return parts


def _joined(run: Any, place: int, arrays: Sequence[Mapping[str, Array]]) -> Run:
    """Return the run whose parts stand at `place` in the results of the ranges."""
    take: Callable[[str], list[Array]] = partial(_take, arrays, place)
    lengths = np.concatenate(take("lengths"))
    queries = [query for raw in take("queries") for query in unpacked_texts(raw)]
    own = [pd.Index(unpacked_texts(raw), dtype="str") for raw in take("docs")]
    docs = own[0].append(own[1:]).unique().sort_values()
    doc = np.concatenate([docs.get_indexer(ids)[codes] for ids, codes in zip(own, take("doc"), strict=True)])
    query = np.repeat(np.arange(len(lengths)), np.diff(starts_of_lists(lengths)))
    categories = pd.Index(queries, dtype="str")
    table = {
        "run_id": pd.Categorical.from_codes(
            np.zeros(len(doc), dtype=np.int8), pd.Index([run.run_id], dtype="str")
        ),
        "query_id": pd.Categorical.from_codes(query, categories),
        "doc_id": pd.Categorical.from_codes(doc, docs),
        "rank": np.concatenate(take("rank")),
        "score": np.concatenate(take("score")),
    }
    return check_run(pd.DataFrame(table), where=str(run.path))


def _take(arrays: Sequence[Mapping[str, Array]], place: int, name: str) -> list[Array]:
    return [each[f"{place}.{name}"] for each in arrays]
