"""The toolkit's own file of a run: Parquet, one row per query, written and read a block of queries at a time.

It keeps scores bit for bit and the true rank of each doc, so it can hold positives below the top that
was kept. Pages carry checksums, which are verified when the file is read.
"""

from __future__ import annotations

import io
import itertools
import json
import operator
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import union_categoricals

from fire_toolkit.arrays import are_distinct, ranges_of, starts_of_lists
from fire_toolkit.errors import FormatError
from fire_toolkit.formats.runs.listed import coded
from fire_toolkit.formats.runs.parquet_files import guarded, open_parquet
from fire_toolkit.formats.runs.ranked import run_name
from fire_toolkit.matching.blocks import RunBlock, block_of
from fire_toolkit.matching.joining import StoredRun
from fire_toolkit.matching.own_items import LeftOut, OwnItems, Tell, close_up, places_of
from fire_toolkit.matching.ranking import top
from fire_toolkit.results import Shown
from fire_toolkit.tables import Run, check_run
from fire_toolkit.tables.columns import packed_codes
from fire_toolkit.tables.ids import are_ids

KEY = b"fire_toolkit.run"  # of the metadata of such a file
_VERSION = 1
_BLOCK_ROWS = 1 << 20  # of a Run, in a row group
_BLOCK_BYTES = 32 << 20  # of a row group's pages, in a block
_DOCS = "doc_ids.list.element"
_MOST_IDS_BYTES = 1 << 30  # of a block's doc ids, which stand in the file once a block


def run_bytes(run: Run) -> bytes:
    """Return one run as the toolkit's Parquet file; the same run gives the same bytes.

    One row per query, sorted: query_id, doc_ids, ranks (int32), scores (float32 where that is exact, else
    float64), in row groups of about a million docs. The run's id is in the file's metadata.
    """
    from pyarrow import parquet

    block = block_of(run)
    narrow = block.score.astype(np.float32)
    if (narrow.astype(np.float64) == block.score).all():
        block = replace(block, score=narrow)
    about = {"version": _VERSION, "run_id": str(run["run_id"].iloc[0]) if len(run) else ""}
    lists = np.flatnonzero(block.lengths)
    step = max(1, _BLOCK_ROWS * len(lists) // max(len(run), 1))
    groups = [lists[start : start + step] for start in range(0, len(lists), step)]
    tables = (_table(block, queries) for queries in groups or [lists])
    first = next(tables)
    out = io.BytesIO()
    with parquet.ParquetWriter(
        out,
        first.schema,
        compression="zstd",
        write_page_checksum=True,
        store_schema=False,
        use_dictionary=[_DOCS, "ranks.list.element"],
        dictionary_pagesize_limit=_MOST_IDS_BYTES,
        use_byte_stream_split=["scores.list.element"],
    ) as writer:
        writer.add_key_value_metadata({KEY: json.dumps(about, ensure_ascii=False).encode()})
        for table in itertools.chain([first], tables):
            writer.write_table(table)
    return out.getvalue()


def _table(block: RunBlock, queries: npt.NDArray[Any]) -> Any:
    """Return consecutive queries with their lists as an Arrow table that has only their docs."""
    import pyarrow as pa

    def strings(ids: pd.Index[str]) -> Any:
        return pa.array(ids.astype(object), type=pa.string())

    starts = np.append(block.start[queries], block.start[queries[-1] + 1] if len(queries) else 0)
    rows, offsets = slice(starts[0], starts[-1]), pa.array(starts - starts[0], type=pa.int32())
    own = replace(block, doc=block.doc[rows]).with_used_docs()
    lists = {
        "doc_ids": pa.DictionaryArray.from_arrays(pa.array(own.doc, type=pa.int32()), strings(own.docs)),
        "ranks": pa.array(block.rank[rows], type=pa.int32()),
        "scores": block.score[rows],
    }
    columns = {"query_id": strings(block.queries[queries])}
    for name, values in lists.items():
        flat = pa.array(values)
        kind = pa.list_(pa.field("element", flat.type, nullable=False))
        columns[name] = pa.ListArray.from_arrays(offsets, flat, type=kind)
    fields = [pa.field(name, each.type, nullable=False) for name, each in columns.items()]
    return pa.table(columns, schema=pa.schema(fields))  # pages without nulls are read sooner


@dataclass(frozen=True)
class NativeRunFile(StoredRun, Shown):
    """A run in the toolkit's own file, which is read a block of queries at a time.

    run_id: the one in the file, unless another is given. own_items: the doc of each query that is left
    out of its list; tell: called with their counts when the whole run has been read. groups: which of the
    file's row groups, from one up to another, are the run; None: all.
    """

    path: Path
    run_id: str
    own_items: OwnItems | None = None
    tell: Tell | None = None
    groups: tuple[int, int] | None = None

    def blocks(self, depth: int | None = None) -> Iterator[RunBlock]:
        """Yield the lists, about a million docs at a time; nothing where the run is empty.

        Raises:
            FormatError: damaged: a page's checksum; ids, ranks or scores that no run has.
        """
        left_out = LeftOut()
        for block in _ahead(self._blocks()):
            if self.own_items is not None:
                has_own, own = places_of(self.own_items, block.queries, block.docs)
                is_own, rank, more = close_up(block.query, block.doc, block.rank, own, has_own)
                block = replace(block, rank=rank).select(~is_own) if is_own.any() else block
                left_out += more
            yield block
        if self.tell is not None and self.own_items is not None:
            self.tell(left_out)

    def top(self, depth: int | None) -> Run:
        """Return the docs of each query at ranks up to `depth`, all without one, as a table."""
        blocks = list[RunBlock]()
        for block in _ahead(self._blocks()):
            if depth is not None:
                kept = block.rank <= depth
                kept[block.start[:-1]] = True  # so that no query is lost
                block = block.select(kept)
            blocks.append(block.with_used_docs())
        queries = pd.Index([], dtype="str").append([block.queries for block in blocks])
        lengths = np.concatenate([np.empty(0, dtype=np.int64), *(block.lengths for block in blocks)])
        docs = [pd.Categorical.from_codes(block.doc, block.docs, validate=False) for block in blocks]
        no_doc = pd.Categorical(pd.Index([], dtype="str"))
        name, of_row = run_name(self.path, self.run_id), np.repeat(np.arange(len(lengths)), lengths)
        columns = {
            "run_id": coded(np.zeros(len(of_row), dtype=np.int8), [name]),
            "query_id": pd.Categorical.from_codes(of_row, queries, validate=False),
            "doc_id": union_categoricals(docs, sort_categories=True) if docs else no_doc,
            "rank": np.concatenate([np.empty(0, dtype=np.int64), *(block.rank for block in blocks)]),
            "score": np.concatenate([np.empty(0), *(block.score for block in blocks)]),
        }
        run = pd.DataFrame(columns, copy=False)
        first = check_run(run[:1], where=str(self.path))  # of the name; the blocks are checked
        run = Run(run) if len(run) else first
        return top(run, depth) if depth else run

    def parts(self, most: int) -> list[tuple[NativeRunFile, list[str]]]:
        """Return at most so many parts that another process can read, with their queries; none of no run.

        Raises:
            FormatError: damaged.
        """
        file = open_parquet(self.path)
        read, n_groups = partial(file.read_row_group, columns=["query_id"]), file.metadata.num_row_groups
        groups = [guarded(self.path, partial(read, n)).column(0).to_pylist() for n in range(n_groups)]
        ids = list(itertools.chain(*groups))
        if len(ids) != file.metadata.num_rows or not are_ids(ids) or not _are_sorted(ids):
            return []
        own = replace(self, path=self.path.absolute(), tell=None)
        cuts = ranges_of(len(groups), most)
        return [(replace(own, groups=(a, b)), list(itertools.chain(*groups[a:b]))) for a, b in cuts]

    def _blocks(self) -> Iterator[RunBlock]:
        file = open_parquet(self.path, read_dictionary=[_DOCS])
        about, last = file.metadata, ""
        groups = range(*self.groups or (about.num_row_groups,))
        n_left = sum(about.row_group(each).num_rows for each in groups) if self.groups else about.num_rows
        for number in groups:
            group = about.row_group(number)
            size = max(1, _BLOCK_BYTES * group.num_rows // max(group.total_byte_size, 1))
            read = partial(file.iter_batches, size, row_groups=[number], use_threads=False)
            parts = guarded(self.path, read)
            while (batch := guarded(self.path, partial(next, parts, None))) is not None:
                if len(batch):
                    n_left -= len(batch)
                    block = guarded(self.path, partial(_block, batch, last))
                    last = block.queries[-1]
                    yield block
        if n_left:
            raise FormatError(f"{self.path}: {n_left:,} queries fewer than its header says; copy it again")


def _ahead(blocks: Iterator[RunBlock]) -> Iterator[RunBlock]:
    """Yield blocks, each read by another thread while the one before it is used."""
    with ThreadPoolExecutor(1) as other:
        coming = other.submit(next, blocks, None)
        while (block := coming.result()) is not None:
            coming = other.submit(next, blocks, None)
            yield block


def open_native_run(path: Path, *, run_id: str | None = None) -> NativeRunFile:
    """Return the run in a file that this toolkit wrote; the lists are read when they are needed.

    Raises:
        FormatError: the file is not such a file, is damaged, or has a newer version.
    """
    file = open_parquet(path)
    about = guarded(path, lambda: json.loads((file.metadata.metadata or {})[KEY]))
    if not isinstance(about, dict) or not isinstance(about.get("run_id"), str):
        raise FormatError(f"{path}: damaged run file; write it again with `fire-toolkit add-run`")
    if about.get("version") != _VERSION:
        raise FormatError(f"{path}: run file of version {about.get('version')}, expected {_VERSION}")
    return NativeRunFile(path, run_id or about["run_id"])


def _block(batch: Any, before: str) -> RunBlock:
    """Return rows of the file as a block; `before`: the last query of the block before, empty at first.

    Raises:
        ValueError: they are no lists of a run; the words say why.
    """
    batch.validate(full=True)  # lengths, offsets, and that text is UTF-8
    columns = {name: batch.column(name) for name in ("query_id", "doc_ids", "ranks", "scores")}
    flat = {name: column.flatten() for name, column in columns.items() if name != "query_id"}
    docs = flat["doc_ids"]
    if any(each.null_count for each in (*columns.values(), *flat.values(), docs.dictionary)):
        raise ValueError("a value is missing")
    lengths = [columns[name].value_lengths().to_numpy() for name in flat]
    if not all((lengths[0] == other).all() for other in lengths[1:]):
        raise ValueError("lists of different lengths")
    ids = [each.to_pylist() for each in (columns["query_id"], docs.dictionary)]
    if not all(map(are_ids, ids)) or len(set(ids[1])) < len(ids[1]):
        raise ValueError("invalid ids")
    queries, known = (pd.Index(own, dtype="str") for own in ids)
    block = RunBlock(
        queries,
        known,
        start=starts_of_lists(lengths[0]),
        doc=docs.indices.to_numpy().astype(np.int32, copy=False),
        rank=flat["ranks"].to_numpy(),
        score=flat["scores"].to_numpy(),
    )
    if not _are_sorted([before, *ids[0]]):
        raise ValueError("queries that are not sorted")
    rank, score, first, last = block.rank, block.score, block.start[:-1], block.start[1:] - 1
    if rank.dtype.kind != "i" or score.dtype.kind != "f":
        raise ValueError(f"ranks and scores of {rank.dtype} and {score.dtype}")
    if (last < first).any():
        raise ValueError("a query without a doc")
    follows = (rank[1:] > rank[:-1]) & (score[1:] <= score[:-1])
    follows[last[:-1]] = True
    ends = np.isfinite(score[first]) & np.isfinite(score[last]) & (rank[first] >= 1)
    if not (follows.all() and ends.all()):
        raise ValueError("ranks that do not follow the scores")
    if not are_distinct(packed_codes([block.query, block.doc])):
        raise ValueError("a doc twice under a query")
    return block


def _are_sorted(queries: list[str]) -> bool:
    return all(map(operator.lt, queries, queries[1:]))
