"""Runs joined once with every pair that any qrels hold; then relabelled as often as needed.

A labelling is qrels of all these pairs, their relevance `ABSENT` where they do not hold the pair.
Original, augmented, and all qrels with somebody's judgments left out are labellings of one join.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools, Floats, Ints, places_among
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.matching.coded import ABSENT, code_together
from fire_toolkit.matching.joining import AnyRun, Cut, join_stored, list_stored
from fire_toolkit.measures import CodedQrels, JudgedRanking, Measure
from fire_toolkit.measures.definition import values_of
from fire_toolkit.measures.depths import Reach, note_depths
from fire_toolkit.measures.judged import note_unjudged, rises_of
from fire_toolkit.tables import PoolSources, Qrels
from fire_toolkit.tables.columns import PAIR

Tell = Callable[[str], None]  # is told what is being worked on


def silent(words: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True, eq=False)
class JudgedPairs(CodedQrels):
    """What `join_runs` returns: every pair that any of the qrels hold, and where each run has it.

    relevance: the place of each pair; places: run → its join, whose relevances are such places; cuts: why
    runs are cut at their top; stratum: None where the original qrels have none.
    """

    places: Mapping[str, JudgedRanking] = field(default_factory=dict)
    cuts: Mapping[str, Cut] = field(default_factory=dict)
    labels: list[tuple[pd.DataFrame, CodedQrels]] = field(default_factory=list, repr=False)

    def label(self, qrels: Qrels) -> CodedQrels:
        """Return the labelling of qrels, the same object for the same table.

        Raises:
            JoinError: a pair was no part of the join.
        """
        known = next((labelling for table, labelling in self.labels if table is qrels), None)
        if known is not None:
            return known
        place = self.find_rows(qrels)
        if (place < 0).any():
            query_id, doc_id = qrels[PAIR][place < 0].iloc[0]
            raise JoinError(f"qrels: the runs were not joined with query {query_id!r} and doc {doc_id!r}")
        of_pairs = np.full(len(self.pairs), ABSENT, dtype=np.int64)
        of_pairs[place] = qrels["relevance"].to_numpy(dtype=np.int64)
        self.labels.append((qrels, labelling := self.labelled(of_pairs)))
        return labelling

    def within(self, queries: Ints) -> JudgedPairs:
        """Return the join of some queries (ascending), which become 0, 1, ..."""
        part = self.of(queries)
        place = places_among(part.relevance, len(self.pairs))
        runs = {run_id: run.of(queries, part) for run_id, run in self.places.items()}
        places = {run_id: replace(run, relevance=place[run.relevance]) for run_id, run in runs.items()}
        numbers = np.arange(len(part.pairs))
        return JudgedPairs(part.queries, self.docs, part.pairs, numbers, part.stratum, places, self.cuts)

    def ranking(self, run_id: str, labelling: CodedQrels) -> JudgedRanking:
        """Return a run as the qrels of that labelling judge it; equal to joining the two anew."""
        return self.places[run_id].by(labelling)

    def values(self, run_id: str, labelling: CodedQrels, measures: Sequence[Measure]) -> Floats:
        """Return a run's values by that labelling, (n_queries, n_measures)."""
        ranking = self.ranking(run_id, labelling)
        return np.column_stack([measure.values(ranking) for measure in measures])

    def pooled(self, sources: PoolSources) -> pd.DataFrame:
        """Return which of the pairs each run of a pool pooled, see `pooled_by`."""
        return pooled_by(sources, self.find_rows(sources), len(self.pairs))

    def note_depths(self, labellings: Iterable[CodedQrels], measures: Sequence[Measure]) -> list[str]:
        """Return the note on measures that read deeper than the runs were ranked, if there is one."""
        known = list(labellings)
        rankings = {run_id: [self.ranking(run_id, each) for each in known] for run_id in self.places}
        reaches = [Reach.of(run_id, own, self.cuts.get(run_id)) for run_id, own in rankings.items()]
        return note_depths(reaches, measures)

    def note_unjudged(self, labelling: CodedQrels, measures: Sequence[Measure]) -> list[str]:
        """Return the note on docs in the tops of runs that have no label, if they could change a measure."""
        rankings = (self.ranking(run_id, labelling) for run_id in self.places)
        rises = [rises_of(own, values_of(own, measures), measures, None) for own in rankings]
        return list(note_unjudged({"augmented": labelling}, rises))


def join_runs(runs: Runs, original: Qrels, *others: pd.DataFrame) -> JudgedPairs:
    """Return runs joined with every pair of `original` and of `others`, all read equally deep.

    Where positives of `others` alone lie in no list of a run, the run is cut at its top, see `find_cut`.

    Args:
        runs: Run tables, each of one or more runs; or runs that are read when they are joined, such as
            `formats.runs.read.open_run` returns; or what this function returned, joined with these tables
            and maybe more.
        original: its queries are the universe.
        others: tables with query_id, doc_id and relevance: corrected qrels, labels.

    Raises:
        UsageError: no run.
        JoinError: no query; `others` have queries of their own; a run is for another split or collection,
            see `join_stored`; what was joined has other queries.
    """
    if isinstance(runs, JudgedPairs):
        if not runs.queries.equals(pd.Index(original["query_id"].unique()).sort_values()):
            raise JoinError("qrels: the runs were joined with those of other queries")
        return runs
    stored = list_stored(runs)
    if not stored:
        raise UsageError("no run given; expected at least one that is not empty")
    coded = code_together(original, *others, what="augmented qrels or labels")
    if (first := coded[0]).stratum is not None:  # what only others hold is a stratum of its own
        first = replace(first, stratum=np.where(first.relevance == ABSENT, 0, 1 + first.stratum))
    labellings = [first.labelled(each.relevance) for each in coded]
    joined = {run.run_id: join_stored(run, labellings) for run in stored}
    places = {run_id: each.placed for run_id, each in joined.items()}
    cuts = {run_id: each.cut for run_id, each in joined.items() if each.cut}
    known, numbers = list(zip((original, *others), labellings, strict=True)), np.arange(len(first.pairs))
    return JudgedPairs(first.queries, first.docs, first.pairs, numbers, first.stratum, places, cuts, known)


Runs = AnyRun | Sequence[AnyRun] | JudgedPairs


def pooled_by(sources: PoolSources, place: Ints, n_pairs: int) -> pd.DataFrame:
    """Return which pairs (rows) each run of a pool (columns, by id) pooled.

    place: of each row of `sources` its pair, -1 where that is none of them.
    """
    run, run_ids = pd.factorize(sources["run_id"].astype("str"), sort=True)
    is_by = np.zeros((n_pairs, len(run_ids)), dtype=bool)
    is_by[place[place >= 0], run[place >= 0]] = True
    return pd.DataFrame(is_by, columns=run_ids)


def own_pairs(pooled: pd.DataFrame, members: set[str]) -> Bools:
    """Return which pairs of `pooled_by` were pooled by `members` alone.

    Pairs that no run pooled (originals added to the pool, say) are nobody's own.
    """
    is_by, is_member = pooled.to_numpy(), pooled.columns.isin(members)
    return np.asarray(is_by[:, is_member].any(axis=1) & ~is_by[:, ~is_member].any(axis=1))
