"""The tops of runs as codes: each run is read once, a block at a time, and put together with the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from fire_toolkit.arrays import Bools, Codes, Ints
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.matching.blocks import RunBlock, leave_out_own
from fire_toolkit.matching.own_items import OwnItems, places_of
from fire_toolkit.matching.stored_runs import AnyRun, list_stored
from fire_toolkit.pooling.candidates import Candidates
from fire_toolkit.tables.columns import listed, packed_codes


def read_tops(
    runs: AnyRun | Sequence[AnyRun],
    depth: int,
    *,
    universe: set[str] | None = None,
    own_items: OwnItems | None = None,
    counted_depth: int = 1,
) -> tuple[Candidates, dict[str, int]]:
    """Return the first `depth` docs of each query of runs, above their list's first gap, and counts.

    Args:
        runs: as `list_stored` takes them; each is read once.
        depth: 1 or more.
        universe: the queries that count; None: all.
        own_items: left out of every list before it is cut.
        counted_depth: to which rank own items are counted.

    Raises:
        UsageError: there is no run. TableError: two have one id.
        JoinError: a run has no query in common with the universe, or with the other runs.
    """
    parts: list[tuple[str, RunBlock]] = []
    with_own: list[tuple[pd.Index[str], Ints]] = []  # queries of a block, and those that have their own item
    for run in list_stored(runs):
        for block in run.top_blocks(depth + bool(own_items)):
            if own_items:
                near = block.to_depth(counted_depth)
                own_doc = places_of(own_items, near.queries, near.docs)[1]
                with_own.append((near.queries, near.query[near.doc == own_doc[near.query]]))
                block = leave_out_own(block.to_depth(depth + 1), own_items)[0]
            parts += [(run.run_id, block.to_depth(depth))] if len(block.queries) else []
    if not parts:
        raise UsageError("no run given, expected at least one")
    query_ids, query_codes = _in_one([block.queries for _, block in parts])
    doc_ids, doc_codes = _in_one([block.docs for _, block in parts])
    run_ids = pd.Index(sorted({run_id for run_id, _ in parts}), dtype="str")
    is_wanted: Bools = np.ones(len(query_ids), dtype=bool)
    if universe is not None:
        is_wanted = np.fromiter((name in universe for name in listed(query_ids)), bool, len(query_ids))
    own = [(run_id, query_codes[id(block.queries)]) for run_id, block in parts]
    _refuse_other_collections(own, query_ids, is_wanted, universe)
    columns: list[list[npt.NDArray[Any]]] = [
        [query_codes[id(block.queries)][block.query] for _, block in parts],
        [doc_codes[id(block.docs)][block.doc] for _, block in parts],
        [np.full(len(block.doc), run_ids.get_loc(run_id), dtype=np.int32) for run_id, block in parts],
        [block.rank.astype(np.int32) for _, block in parts],
        [block.score for _, block in parts],
    ]
    parts.clear()
    query, doc, run_code, rank, score = (np.concatenate(columns.pop(0)) for _ in range(5))  # one at a time
    order: Ints = np.argsort(packed_codes([query, doc, run_code]), kind="stable")
    order = order if is_wanted.all() else order[is_wanted[query[order]]]
    codes = query[order], doc[order], run_code[order], rank[order]
    counts = {"runs": len(run_ids), "extra_queries": int((~is_wanted).sum())}
    if own_items:
        found = np.unique(np.concatenate([query_codes[id(ids)][places] for ids, places in with_own]))
        counts["own_items"] = int(is_wanted[found].sum())
    return Candidates(query_ids, doc_ids, run_ids, *codes, score[order]), counts


def _in_one(lists: Sequence[pd.Index[str]]) -> tuple[pd.Index[str], dict[int, Codes]]:
    """Return the ids of all lists, sorted, and by `id` the code of each id of a list; some are the same."""
    distinct = {id(ids): ids for ids in lists}
    names = sorted({name for ids in distinct.values() for name in listed(ids)})  # by code point
    union: pd.Index[str] = pd.Index(names, dtype="str")
    return union, {key: union.get_indexer(ids).astype(np.int32) for key, ids in distinct.items()}


def _refuse_other_collections(
    own: Sequence[tuple[str, Codes]], query_ids: pd.Index[str], is_wanted: Bools, universe: set[str] | None
) -> None:
    """Raise JoinError for a run none of whose queries is among the qrels', or among another run's.

    own: the codes of the queries of a part of each run.
    """
    of_run: dict[str, Codes] = {}
    for run_id, codes in own:
        of_run[run_id] = np.append(of_run[run_id], codes) if run_id in of_run else codes
    n_runs = np.bincount(np.concatenate([*of_run.values()]), minlength=len(query_ids))
    for run_id, codes in of_run.items():
        first = query_ids[int(codes.min())]
        if universe is not None and not is_wanted[codes].any():
            raise JoinError(
                f"run {run_id!r} has none of the {len(universe)} queries of the original qrels (its first: "
                f"{first!r}, theirs: {min(universe)!r}); is it a run for another collection?"
            )
        if len(of_run) > 1 and not (n_runs[codes] > 1).any():
            theirs = query_ids[min(int(of.min()) for other, of in of_run.items() if other != run_id)]
            raise JoinError(
                f"run {run_id!r} has no query in common with the other runs (its first: {first!r}, "
                f"theirs: {theirs!r}); is it a run for another collection?"
            )
