"""What a strategy chooses from, the docs in the tops of the runs as codes, and what it returns.

Each run is read once, a block at a time, and put together with the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from fire_toolkit.arrays import Bools, Codes, Floats, Ints, starts_of_groups
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.matching.blocks import RunBlock
from fire_toolkit.matching.coded import CodedQrels
from fire_toolkit.matching.joining import AnyRun, list_stored
from fire_toolkit.matching.own_items import OwnItems, close_up, places_of
from fire_toolkit.tables import Labels
from fire_toolkit.tables.columns import arrow_text, code_texts, listed, packed_codes, places_in

NO_PAIRS: Ints = np.empty(0, dtype=np.int64)
_NOTHING: Mapping[str, npt.NDArray[Any]] = MappingProxyType({})


class Budget(NamedTuple):
    """How many pairs may be pooled, in all and of one query; None: no limit."""

    in_all: int | None = None
    per_query: int | None = None


class Choice(NamedTuple):
    """What a strategy pools.

    pairs: places among the candidates' pairs, each once, in any order. columns: further columns of the pool
    (stratum, inclusion_probability, design_class, …), with a value for each of `pairs`. stops: why it took
    no more of a query, in a word, with a value for each of `query_ids`; empty where it does not say. again:
    places of judged pairs that need one more vote before it can go on. undrawn: the pairs that a random draw
    left out, with the same columns. population: all pairs that a machine judge's sample could draw, with
    stratum, inclusion_probability, is_drawn and score.
    """

    pairs: Ints
    columns: Mapping[str, npt.NDArray[Any]] = _NOTHING
    stops: Sequence[str] = ()
    again: Ints = NO_PAIRS
    undrawn: Choice | None = None
    population: Choice | None = None


@dataclass(frozen=True)
class Strategy:
    """A way to pool.

    choose: a pure function of `Candidates` and `Budget`, which it keeps to; its keyword parameters are the
    strategy's own, and have a default of type int, float or str, or an annotation where they must be given.
    reads_labels: whether it reads the answers so far; pooled again, it goes on from them. reads_machine:
    whether it reads a machine judge's scores. has_design: whether it draws or settles by a design of its own,
    so that no queries can be drawn to be judged deep beside it. name, parameters: as it was typed, with the
    parameters that were not, see `registry.parse_strategy`.
    """

    choose: Callable[..., Choice]
    reads_labels: bool = False
    reads_machine: bool = False
    has_design: bool = False
    name: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)


class Known(NamedTuple):
    """What is known of each pair before it is pooled.

    is_original: an original positive; is_asked: somebody was asked; is_judged: somebody answered; relevance:
    of its label, −1 where it has none; n_agree: the votes for that label, 0 where it has none.
    """

    is_original: Bools
    is_asked: Bools
    is_judged: Bools
    relevance: Ints
    n_agree: Ints


@dataclass(frozen=True, eq=False)
class Candidates:
    """Every pair in the top of any run, and the entries of the runs that brought it.

    An entry is one doc of one run's list. Entries stand by query, doc and run; pairs by query and doc. Codes
    follow the sorted ids, so that a higher doc code is a higher doc id.

    Attributes:
        query_ids, doc_ids, run_ids: sorted; some queries and docs may have no entry.
        entry_query, entry_doc, run: codes of each entry.
        rank, score: of each entry.
        positives, asked, labels, machine: what is known of pairs, in tables with query_id and doc_id, which
            `known` and `machine_score` have for each pair: the original positives; of whom somebody was
            asked, and whether they are judged; with relevance, and n_agree where it is known; with a judge's
            score.
        seed: of what is drawn at random; depth_asked: the pool's depth, however deep the runs are.
        starts, query, doc, keys: of each pair its first entry, its codes, and a number that these make.
        n_runs, best_rank: of each pair, how many runs brought it, and its best rank over them.
        n_pairs: how many pairs each of `query_ids` has.
    """

    query_ids: pd.Index[str]
    doc_ids: pd.Index[str]
    run_ids: pd.Index[str]
    entry_query: Codes
    entry_doc: Codes
    run: Codes
    rank: Codes
    score: npt.NDArray[Any]
    positives: pd.DataFrame | None = None
    asked: pd.DataFrame | None = None
    labels: Labels | None = None
    machine: pd.DataFrame | None = None
    seed: int = 0
    depth_asked: int = 0
    starts: Ints = field(init=False)
    query: Codes = field(init=False)
    doc: Codes = field(init=False)
    keys: Ints = field(init=False)
    n_runs: Ints = field(init=False)
    best_rank: Ints = field(init=False)
    n_pairs: Ints = field(init=False)

    def select(self, is_kept: Bools) -> Candidates:
        """Return those of some entries."""
        if is_kept.all():
            return self
        names = ("entry_query", "entry_doc", "run", "rank", "score")
        return replace(self, **{name: getattr(self, name)[is_kept] for name in names})

    def __post_init__(self) -> None:
        starts = starts_of_groups(self.entry_query, self.entry_doc)
        query, doc = self.entry_query[starts], self.entry_doc[starts]
        best = np.minimum.reduceat(self.rank, starts) if len(starts) else self.rank
        made: dict[str, Any] = {"starts": starts, "query": query, "doc": doc}
        made["n_runs"] = np.diff(starts, append=len(self.rank))
        made["best_rank"] = best.astype(np.int64)
        made["keys"] = query.astype(np.int64) * len(self.doc_ids) + doc
        made["n_pairs"] = np.bincount(query, minlength=len(self.query_ids))
        vars(self).update(made)

    @cached_property
    def pair(self) -> Ints:
        """The pair of each entry."""
        return np.repeat(np.arange(len(self.starts)), self.n_runs)

    def count(self, pairs: Ints | Bools) -> Ints:
        """Return how many of some pairs each of `query_ids` has."""
        return np.bincount(self.query[pairs], minlength=len(self.query_ids))

    def ids_of(self, query: Codes, doc: Codes, **run_id: Codes) -> pd.DataFrame:
        """Return the ids of codes, as columns query_id and doc_id, and run_id where it is given."""
        of: dict[str, Any] = {"query_id": (self.query_ids, query), "doc_id": (self.doc_ids, doc)}
        of |= {name: (self.run_ids, codes) for name, codes in run_id.items()}
        texts = {name: arrow_text(ids.array).take(pa.array(codes)) for name, (ids, codes) in of.items()}
        return pd.DataFrame({name: pd.array(each, dtype="str") for name, each in texts.items()}, copy=False)

    def places_of(self, pairs: pd.DataFrame | None) -> Ints:
        """Return for each row (query_id, doc_id) its place among the pairs, −1 where it is none of them."""
        if pairs is None:
            return NO_PAIRS
        return CodedQrels(self.query_ids, self.doc_ids, self.keys, self.keys).find_rows(pairs)

    def spread(self, table: pd.DataFrame | None, values: Any, missing: Any) -> npt.NDArray[Any]:
        """Return for each pair the value of its row in a table, `missing` where it has none.

        values: one for each row of the table, or one for all.
        """
        found, places = np.full(len(self.starts), missing), self.places_of(table)
        found[places[places >= 0]] = np.broadcast_to(values, len(places))[places >= 0]
        return found

    @cached_property
    def known(self) -> Known:
        """What is known of each pair."""
        asked, labels = self.asked, self.labels
        answered = () if asked is None else asked["is_judged"].to_numpy()
        is_judged = self.spread(asked, answered, False) | self.spread(labels, True, False)
        is_asked = self.spread(asked, True, False) | is_judged
        relevance = () if labels is None else labels["relevance"].to_numpy()
        votes = 1 if labels is None or "n_agree" not in labels else labels["n_agree"].fillna(1).to_numpy()
        n_agree = np.asarray(votes, dtype=np.int64)
        of_labels = self.spread(labels, relevance, -1), self.spread(labels, n_agree, 0)
        return Known(self.spread(self.positives, True, False), is_asked, is_judged, *of_labels)

    @cached_property
    def machine_score(self) -> Floats:
        """The score of each pair by a machine judge, nan where it has none."""
        score = () if self.machine is None else self.machine["score"].to_numpy(dtype=np.float64)
        return self.spread(self.machine, score, np.nan)


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
    reach = depth + bool(own_items)
    for run in list_stored(runs):
        blocks = (block.to_depth(reach) for block in run.blocks(reach))
        parts += [(run.run_id, block) for block in blocks if len(block.queries)]
    if not parts:
        raise UsageError("no run given, expected at least one")
    together: list[tuple[pd.Index[str], dict[int, Codes]]] = []  # all ids, and the code of each of a list
    for held in ([block.queries for _, block in parts], [block.docs for _, block in parts]):
        texts = {id(ids): arrow_text(ids.array) for ids in held}  # some are the same
        _, names = code_texts(*texts.values(), in_order=True)
        codes_of = {key: places_in(own, names) for key, own in texts.items()}
        together.append((pd.Index(names, dtype="str"), codes_of))
    (query_ids, query_codes), (doc_ids, doc_codes) = together
    run_ids = pd.Index(sorted({run_id for run_id, _ in parts}), dtype="str")
    is_wanted = np.array([universe is None or name in universe for name in listed(query_ids)], dtype=bool)
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
    counts = {"runs": len(run_ids), "extra_queries": int((~is_wanted).sum())}
    if own_items:
        lists, n_runs = query * np.int64(len(run_ids)) + run_code, len(run_ids)
        has_own, own_doc = places_of(own_items, query_ids, doc_ids)
        of_lists = np.repeat(own_doc, n_runs), np.repeat(has_own, n_runs)
        is_own, closed_up, _ = close_up(lists, doc, rank, *of_lists)
        counts["own_items"] = len(np.unique(query[order][(is_own & (rank <= counted_depth))[order]]))
        rank, order = closed_up, order[(~is_own & (closed_up <= depth))[order]]
    codes = query[order], doc[order], run_code[order], rank[order]
    return Candidates(query_ids, doc_ids, run_ids, *codes, score[order]), counts


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
