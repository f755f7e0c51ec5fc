"""What each design can estimate of a measure and of a run, and why it refuses the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.errors import JoinError
from fire_toolkit.inference.drawn_pairs import DrawnPairs, SampledPairs
from fire_toolkit.inference.judged_pairs import JudgedPairs, values_of
from fire_toolkit.inference.limits import Estimate, no_estimate
from fire_toolkit.inference.sampled import (
    micro_recall,
    sampled_difference,
    sampled_precision,
    undrawn_share,
)
from fire_toolkit.inference.two_phase import TwoPhase, missing_share, two_phase_difference
from fire_toolkit.matching.coded import CodedQrels
from fire_toolkit.measures import JudgedRanking, Measure
from fire_toolkit.measures.defaults import (
    ESTIMATED_BY_PAIRS,
    ESTIMATED_BY_QUERIES,
    ESTIMATED_BY_TOTALS,
    ESTIMATES,
)
from fire_toolkit.tables import QueryDesign

AS_LABELLED = "as labelled"
TWO_PHASE = "two-phase difference"
HORVITZ = "Horvitz–Thompson"
BOUNDS_ONLY = "the first positive decides it, of which a sample gives bounds only"
NOT_SOUND = "no estimator of it was found sound"
MOST_UNJUDGED = 0.05  # of what a design has judged of a run


@dataclass(frozen=True, eq=False)
class ByPairs:
    """Estimates from pairs that were drawn.

    at: the pairs, by the level from which a grade is positive; place: where in the join they stand; deepest:
    rank of the runs that could be drawn; drawn: see `sampled_precision`; refused: why there is no estimate at
    all; needs_pool: whether a run of which too little could be drawn has none.
    """

    joined: JudgedPairs
    at: Callable[[int], DrawnPairs]
    place: Ints
    method: str
    n: int
    deepest: int
    basis: str
    drawn: Ints | None = None
    notes: tuple[str, ...] = ()
    refused: str = ""
    needs_pool: bool = False

    @cached_property
    def ranks(self) -> dict[str, Floats]:
        """The rank of each pair in each run, infinite where the run does not have it."""
        ranks = {}
        for run_id, run in self.joined.places.items():
            of_join = np.full(len(self.joined.pairs), np.inf)
            of_join[run.relevance] = run.rank
            ranks[run_id] = of_join[self.place]
        return ranks

    def scores(self, measure: Measure) -> Iterator[Estimate]:
        """Yield P@k of each run, or why it is refused."""
        pairs, k = self.at(measure.level), measure.depth or 0
        for run_id, rank in self.ranks.items():
            refused = self._why_not(measure) or self._why_not_of_run(run_id, k)
            if refused:
                yield no_estimate(refused)
            else:
                yield sampled_precision(pairs, rank <= k, k=k, drawn=self.drawn)

    def differences(self, measure: Measure) -> Iterator[Estimate]:
        """Yield the difference of every two runs in P@k, or why it is refused."""
        pairs, k = self.at(measure.level), measure.depth or 0
        assert isinstance(pairs, SampledPairs)
        refused = self._why_not(measure)
        for a, b in combinations(self.ranks.values(), 2):
            yield no_estimate(refused) if refused else sampled_difference(pairs, a <= k, b <= k, k=k)

    def missing(self, measure: Measure) -> Estimate | None:
        """Return the share of positives that was never judged; None where it is not known."""
        pairs = self.at(measure.level)
        return undrawn_share(pairs) if isinstance(pairs, SampledPairs) else None

    def totals(self, measure: Measure) -> Iterator[str]:
        """Yield R@k of each run as a ratio of totals, in words."""
        k = measure.depth or 0
        if measure.definition.key not in ESTIMATED_BY_TOTALS or measure.condensed or k > self.deepest:
            return
        pairs, parts = self.at(measure.level), []
        for run_id, rank in self.ranks.items():
            refused = self._why_not_of_run(run_id, k)
            each = no_estimate(refused) if refused else micro_recall(pairs, rank <= k, drawn=self.drawn)
            found = each.refused or f"{each.estimate:.3f} [{each.low:.3f}, {each.high:.3f}]"
            parts.append(f"{run_id} {found}")
        yield (
            f"{measure.name} as a ratio of totals over all queries (micro, no mean over queries): "
            f"{', '.join(parts)}"
        )

    def _why_not(self, measure: Measure) -> str:
        """Return why a measure is not estimated from pairs; empty where it is."""
        definition = measure.definition
        if definition.key in ESTIMATED_BY_PAIRS and not measure.condensed:
            reads = measure.depth or 0
            fits = reads <= self.deepest
            return "" if fits else f"it reads to rank {reads}, and the strata end at {self.deepest}"
        if definition.key in ESTIMATES:
            return "it is an estimate itself, from qrels that have strata (`score --qrels`)"
        if definition.by_first_positive or definition.is_binary:
            return BOUNDS_ONLY
        if definition.over_positives:
            return "ratios of single queries are biased where few of its pairs are drawn (R@k by .07 to .22)"
        return NOT_SOUND

    def _why_not_of_run(self, run_id: str, k: int) -> str:
        """Return why a run is not estimated: what it ranks high could not be drawn; empty where it could."""
        if self.refused or not self.needs_pool:
            return self.refused
        n_ranked = int(np.minimum(self.joined.places[run_id].n_retrieved, k).sum())
        share = 1 - int((self.ranks[run_id] <= k).sum()) / n_ranked if n_ranked else 0.0
        is_pooled = share <= MOST_UNJUDGED
        return "" if is_pooled else f"{share:.0%} of its top {k} could not be drawn; pool it with the others"


@dataclass(frozen=True, eq=False)
class ByQueries:
    """Estimates from a sample of queries that were judged deep.

    sides: the labels of pairs that are judged for every query, and those of all pairs of the design; sample:
    the queries judged deep, ascending; depths: of the others, and of these.
    """

    joined: JudgedPairs
    sides: tuple[CodedQrels, CodedQrels]
    sample: Ints
    depths: tuple[int, int]
    method: str = TWO_PHASE
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, joined: JudgedPairs, sides: tuple[CodedQrels, CodedQrels], queries: QueryDesign) -> ByQueries:
        """Return a design over a join."""
        place = joined.queries.get_indexer(pd.Index(queries["query_id"]))
        if len(place) != len(joined.queries) or (place < 0).any():
            raise JoinError(
                f"query design: {int((place >= 0).sum()):,} of its {len(place):,} queries are among the "
                f"{len(joined.queries):,} of the qrels; expected the same queries in both"
            )
        is_sampled = queries["is_sampled"].to_numpy(dtype=bool)
        depth = queries["depth"].to_numpy(dtype=np.int64)
        others = depth[~is_sampled] if not is_sampled.all() else depth
        depths = int(others[0]), int(depth[is_sampled].max(initial=0))
        return cls(joined, sides, np.sort(place[is_sampled]), depths)

    @property
    def n(self) -> int:
        """How many queries were judged deep."""
        return len(self.sample)

    @property
    def basis(self) -> str:
        """What estimates are of."""
        n_queries = len(self.joined.queries)
        return f"of the depth-{self.depths[1]} union; {self.n:,} of {n_queries:,} queries judged deep"

    def scores(self, measure: Measure) -> Iterator[Estimate]:
        """Yield the two-phase difference of each run, or why it is refused."""
        found, refused = self._two_phase(measure)
        for run, why in enumerate(refused):
            yield found.of(run) if found and not why else no_estimate(why)

    def differences(self, measure: Measure) -> Iterator[Estimate]:
        """Yield the difference of every two runs, or why it is refused."""
        found, refused = self._two_phase(measure)
        for a, b in combinations(range(len(refused)), 2):
            why = refused[a] or refused[b]
            yield found.difference(a, b) if found and not why else no_estimate(why)

    def missing(self, measure: Measure) -> Estimate:
        """Return the share of positives that was never judged, whatever the measure."""
        n_positives = (each.ideal.n_positives[self.sample] for each in self.sides)
        return missing_share(*n_positives, n_queries=len(self.joined.queries))

    def totals(self, measure: Measure) -> tuple[str, ...]:
        """Return nothing: a measure itself is estimated, not a ratio of totals."""
        return ()

    @cached_property
    def _views(self) -> list[list[JudgedRanking]]:
        return [[self.joined.ranking(run, side) for side in self.sides] for run in self.joined.places]

    @cached_property
    def _why_not_of_runs(self) -> list[str]:
        return [self._why_not_of_run(shallow, deep) for shallow, deep in self._views]

    def _two_phase(self, measure: Measure) -> tuple[TwoPhase | None, list[str]]:
        """Return a measure's estimates, None where it has none, and of each run why it has none."""
        if refused := self._why_not(measure):
            return None, [refused] * len(self._views)
        x, y = (np.column_stack([values_of(both[side], measure) for both in self._views]) for side in (0, 1))
        return two_phase_difference(x, y[self.sample], self.sample), self._why_not_of_runs

    def _why_not(self, measure: Measure) -> str:
        """Return why a measure is not estimated from queries judged deep; empty where it is."""
        definition = measure.definition
        if definition.skips_unjudged or measure.condensed:
            return "it passes over unjudged docs"
        reads_shallow = measure.depth is not None and measure.depth <= self.depths[0]
        if not definition.over_positives and reads_shallow:
            return AS_LABELLED
        if definition.by_first_positive or definition.is_binary:
            return BOUNDS_ONLY
        return "" if definition.key in ESTIMATED_BY_QUERIES else NOT_SOUND

    def _why_not_of_run(self, shallow: JudgedRanking, deep: JudgedRanking) -> str:
        """Return why nothing is estimated of a run; empty where what it ranks high was judged as designed."""
        above, below = self.depths
        judged = _judged_share(deep, self.sample, below)
        if judged < 1 - MOST_UNJUDGED:
            return (
                f"{1 - judged:.0%} of its top {below} is not judged for the queries judged deep; judge and "
                "resolve these pairs first"
            )
        everywhere, of_sample = (
            _judged_share(shallow, queries, above) for queries in (np.arange(deep.n_queries), self.sample)
        )
        if abs(everywhere - of_sample) > MOST_UNJUDGED:
            return (
                f"{everywhere:.0%} of its top {above} is judged for all queries, and {of_sample:.0%} for "
                "those judged deep; expected the same"
            )
        return ""


def _judged_share(ranking: JudgedRanking, queries: Ints, depth: int) -> float:
    """Return the share of the top `depth` of some queries that is judged; 1 where it is empty."""
    part = ranking.of(queries)
    n_judged = int((part.is_judged & part.is_in_top & (part.rank <= depth)).sum())
    n_ranked = int(np.minimum(part.n_retrieved, depth).sum())
    return n_judged / n_ranked if n_ranked else 1.0
