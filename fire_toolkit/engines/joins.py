"""Runs joined with qrels in parts: all that scores need of a run, by ranges of the qrels' queries."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fire_toolkit.engines.engine import Engine, packed, packed_texts, ranges_of, unpacked, unpacked_texts
from fire_toolkit.formats.runs.matrix import Array
from fire_toolkit.formats.runs.native import NativeRunFile, query_ids_of
from fire_toolkit.matching.blocks import RunBlock
from fire_toolkit.matching.coded import CodedQrels, Strata
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.matching.own_items import LeftOut
from fire_toolkit.matching.stored_runs import JoinedPart, join_part
from fire_toolkit.matching.ties import TiedRanking

_ARRAYS = ("query", "rank", "relevance", "n_retrieved", "last_rank")


@dataclass(frozen=True)
class JoinShard:
    """Some queries of some runs that are to be joined with the qrels of these queries."""

    runs: Sequence[NativeRunFile]
    qrels: Sequence[CodedQrels]
    with_ties: bool
    doc_order: Sequence[str] | None
    files: Mapping[str, str]


def join_shard(shard: JoinShard) -> bytes:
    """Return each run joined with each of the qrels."""
    found: dict[str, Array] = {}
    for place, run in enumerate(shard.runs):
        left_out: list[LeftOut] = []
        own = replace(run, tell=left_out.append) if run.own_items is not None else run
        source = own if _has_rows(own) else _Empty(own.run_id)
        part = join_part(source, shard.qrels, with_ties=shard.with_ties, doc_order=shard.doc_order)
        counted = left_out[0] if left_out else LeftOut()
        numbers = [part.has_known_doc, counted.n_queries, counted.n_unknown]
        found[f"{place}.numbers"] = np.array(numbers, dtype=np.int64)
        found[f"{place}.first"] = packed_texts(part.first_pair if all(part.first_pair) else ())
        for number, tied in enumerate(part.rankings):
            at = f"{place}.{number}"
            found |= {f"{at}.{name}": getattr(tied.ranking, name) for name in _ARRAYS}
            found |= {f"{at}.first": tied.first, f"{at}.last": tied.last}
            ends = [tied.ranking.worst_rank, tied.ranking.n_extra_queries]
            found[f"{at}.ends"] = np.array(ends, dtype=np.int64)
            if tied.ranking.strata is not None:
                found[f"{at}.strata"] = tied.ranking.strata.of_entry
    return packed(found)


def _has_rows(run: NativeRunFile) -> bool:
    return run.rows is None or run.rows[0] < run.rows[1]


@dataclass(frozen=True)
class _Empty:
    """A run's part that has no query."""

    run_id: str

    def blocks(self) -> list[RunBlock]:
        """Return one block of no list."""
        import pandas as pd

        none, nothing = pd.Index([], dtype="str"), np.zeros(0, dtype=np.int32)
        return [RunBlock(none, none, np.zeros(1, dtype=np.int64), nothing, nothing, np.zeros(0))]


@dataclass(frozen=True)
class EngineRun:
    """A run whose join with qrels an engine does, together with those of the other runs."""

    file: NativeRunFile
    joins: Joins

    @property
    def run_id(self) -> str:
        """Return its id."""
        return self.file.run_id

    def blocks(self) -> Any:
        """Yield its lists, read here."""
        return self.file.blocks()

    def join(
        self, qrels: Sequence[CodedQrels], with_ties: bool, doc_order: Sequence[str] | None
    ) -> JoinedPart:
        """Return the run joined with each of the qrels."""
        return self.joins.join(self.file, qrels, with_ties, doc_order)


@dataclass
class Joins:
    """The joins of several runs by one engine; the first that is asked for makes all.

    hashes: the sha256 of each run's file, by run id.
    """

    engine: Engine
    hashes: Mapping[str, str]
    runs: list[NativeRunFile] = field(default_factory=list)
    _made: tuple[Any, dict[str, JoinedPart]] | None = None

    def join(
        self,
        run: NativeRunFile,
        qrels: Sequence[CodedQrels],
        with_ties: bool,
        doc_order: Sequence[str] | None,
    ) -> JoinedPart:
        """Return one run joined with each of the qrels."""
        key = (list(qrels), with_ties, doc_order)
        if self._made is None or not _is_same(self._made[0], key):
            self._made = (key, self._join_all(qrels, with_ties, doc_order))
        return self._made[1][run.run_id]

    def _join_all(
        self, qrels: Sequence[CodedQrels], with_ties: bool, doc_order: Sequence[str] | None
    ) -> dict[str, JoinedPart]:
        ranges = ranges_of(len(qrels[0].queries), self.engine.ranges(len(self.runs)))
        within = [[coded.of(np.arange(*each)) for coded in qrels] for each in ranges]
        units = [self.runs] if self.engine.takes_whole else [[run] for run in self.runs]
        shards = []
        for runs in units:
            rows = [_rows_of(run, qrels[0], ranges) for run in runs]
            for place, own in enumerate(within):
                parts = [_cut(run, each[place]) for run, each in zip(runs, rows, strict=True)]
                files = {
                    str(part.path): self.hashes[run.run_id] for run, part in zip(runs, parts, strict=True)
                }
                shards.append(JoinShard(parts, own, with_ties, doc_order, files))
        contents = iter(self.engine.map(join_shard, shards))
        found = {}
        for runs in units:
            arrays = [unpacked(next(contents)) for _ in ranges]
            for place, run in enumerate(runs):
                found[run.run_id] = _joined(run, place, arrays, within, qrels)
        return found


def _is_same(made: Any, asked: Any) -> bool:
    """Return whether two joins are of the same objects."""
    same_qrels = len(made[0]) == len(asked[0]) and all(a is b for a, b in zip(made[0], asked[0], strict=True))
    return same_qrels and made[1] == asked[1] and made[2] is asked[2]


def _cut(run: NativeRunFile, rows: tuple[int, int]) -> NativeRunFile:
    return replace(run, path=run.path.absolute(), rows=rows, tell=None)


def _rows_of(run: NativeRunFile, coded: CodedQrels, ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the rows of the file from the first query of each range to the next range's; all rows in all."""
    known, queries = query_ids_of(run), coded.queries
    starts = [0, *(bisect_left(known, queries[first]) for first, _ in ranges[1:] if first < len(queries))]
    starts += [len(known)] * (len(ranges) + 1 - len(starts))
    return [(starts[place], starts[place + 1]) for place in range(len(ranges))]


def _joined(
    run: NativeRunFile,
    place: int,
    arrays: Sequence[Mapping[str, Array]],
    within: Sequence[Sequence[CodedQrels]],
    qrels: Sequence[CodedQrels],
) -> JoinedPart:
    """Return the run whose parts stand at `place` in the results of the ranges."""
    numbers = np.sum([each[f"{place}.numbers"] for each in arrays], axis=0)
    if run.tell is not None:
        run.tell(LeftOut(int(numbers[1]), int(numbers[2])))
    firsts = (unpacked_texts(each[f"{place}.first"]) for each in arrays)
    first = next((pair for pair in firsts if pair), ["", ""])
    rankings = []
    for number, coded in enumerate(qrels):
        parts = [
            _ranking(each, f"{place}.{number}", own[number]) for each, own in zip(arrays, within, strict=True)
        ]
        rankings.append(TiedRanking.joined(parts, coded))
    return JoinedPart(rankings, (first[0], first[1]), bool(numbers[0]))


def _ranking(arrays: Mapping[str, Array], at: str, coded: CodedQrels) -> TiedRanking:
    ends = arrays[f"{at}.ends"]
    strata = coded.strata_at(np.zeros(0, dtype=np.int64))
    ranking = JudgedRanking(
        **{name: arrays[f"{at}.{name}"] for name in _ARRAYS},
        ideal=coded.ideal,
        n_nonrelevant=coded.n_nonrelevant,
        n_undrawn=coded.n_undrawn,
        worst_rank=int(ends[0]),
        n_extra_queries=int(ends[1]),
        strata=None if strata is None else Strata(
            arrays[f"{at}.strata"], strata.query, strata.of_pair, strata.relevance
        ),
    )  # fmt: skip
    return TiedRanking(ranking, arrays[f"{at}.first"], arrays[f"{at}.last"])
