"""Scores estimated from judgments that were drawn by a known design, beside the scores as labelled.

An estimator turns a measure into estimates of runs and of their differences, and says of which it knows
nothing: `ByQueries` where some queries were judged deep, `ByPairs` where pairs were drawn, in strata of ranks
or of a machine judge's scores. What is refused hangs on the design and the measure, never on the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.errors import JoinError
from fire_toolkit.inference.designs import Design, drawn_pairs_of
from fire_toolkit.inference.drawn_pairs import (
    KNOWN,
    DrawnPairs,
    micro_recall,
    sampled_precision,
    undrawn_share,
)
from fire_toolkit.inference.judged_pairs import JudgedPairs, values_of
from fire_toolkit.inference.limits import Estimate
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

ESTIMATE_COLUMNS = dict.fromkeys(("estimate", "estimate_low", "estimate_high"), "float64")
ESTIMATE_COLUMNS |= {"estimate_method": "str"}
MISSING_COLUMNS = dict.fromkeys(("missing", "missing_low", "missing_high"), "float64")
AS_LABELLED = "as labelled"
REFUSED = "refused: "
TWO_PHASE = "two-phase difference"
HORVITZ = "Horvitz–Thompson"
BOUNDS_ONLY = "the first positive decides it, of which a sample gives bounds only"
NOT_SOUND = "no estimator of it was found sound"
MOST_UNJUDGED = 0.05  # of what a design has judged of a run
LEAST_FOUND = 15  # positives drawn, from where on an interval covers about as it says


@dataclass(frozen=True, eq=False)
class _ByDesign:
    """What makes estimates of a measure from a design, and says of which it knows nothing.

    joined: the runs; method: its name; n: pairs, or queries, drawn; basis: what estimates are of; notes:
    sentences.
    """

    joined: JudgedPairs
    method: str
    n: int
    basis: str
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def totals(self, measure: Measure) -> dict[str, Estimate]:
        """Return a ratio of totals for each run where the measure itself is not estimated."""
        return {}

    def cautions(self, found: Iterable[tuple[str, Estimate]]) -> list[str]:
        """Return the notes, and what to beware of in named estimates."""
        return list(self.notes)


@dataclass(frozen=True, eq=False)
class ByPairs(_ByDesign):
    """P@k from pairs that were drawn, and R@k as a ratio of totals in a sentence.

    at: the pairs, by the level from which a grade is positive; place: where in the join they stand; deepest:
    rank of the runs that could be drawn; drawn: see `sampled_precision`; refused: why there is no estimate;
    needs_pool: whether a run of which too little could be drawn has none.
    """

    at: Callable[[int], DrawnPairs]
    place: Ints
    deepest: int
    drawn: Ints | None = None
    refused: str = ""
    needs_pool: bool = False

    def cautions(self, found: Iterable[tuple[str, Estimate]]) -> list[str]:
        """Return the notes, and for which estimates the draw brought few positives."""
        few = dict.fromkeys(
            name for name, each in found if each.low < each.high and each.n_differing < LEAST_FOUND
        )
        words = (
            f"rest on fewer than {LEAST_FOUND} positives that the draw brought; their intervals allow for "
            "those that it missed, and may cover more than 95%"
        )
        return [*self.notes, *([f"estimates of {', '.join(few)} {words}"] if few else [])]

    @cached_property
    def ranks(self) -> dict[str, Floats]:
        """The rank of each pair in each run, infinite where the run does not have it."""
        ranks = {}
        for run_id, run in self.joined.places.items():
            of_join = np.full(len(self.joined.pairs), np.inf)
            of_join[run.relevance] = run.rank
            ranks[run_id] = of_join[self.place]
        return ranks

    def why_not(self, measure: Measure) -> str:
        """Return why a measure is not estimated; empty where it is."""
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

    def why_not_of(self, run_id: str, k: int | None) -> str:
        """Return why a run is not estimated down to k; empty where it is."""
        if self.refused or not self.needs_pool:
            return self.refused
        n_ranked = int(np.minimum(self.joined.places[run_id].n_retrieved, k or 0).sum())
        share = 1 - int((self.ranks[run_id] <= (k or 0)).sum()) / n_ranked if n_ranked else 0.0
        is_pooled = share <= MOST_UNJUDGED
        return "" if is_pooled else f"{share:.0%} of its top {k} could not be drawn; pool it with the others"

    def of(self, measure: Measure, *run_ids: str) -> Estimate:
        """Return the measure of a run, or of one less another, of which nothing is refused."""
        k = measure.depth or 0
        tops = (self.ranks[run_id] <= k for run_id in run_ids)
        return sampled_precision(self.at(measure.level), *tops, k=k, drawn=self.drawn)

    def undrawn(self, measure: Measure) -> Estimate:
        """Return the share of positives that the design left out; nan where it is not known."""
        pairs = self.at(measure.level)
        return undrawn_share(pairs) if pairs.stratum is None else Estimate()

    def totals(self, measure: Measure) -> dict[str, Estimate]:
        """Return R@k of each run as a ratio of totals over all queries."""
        k, found = measure.depth or 0, dict[str, Estimate]()
        if measure.definition.key not in ESTIMATED_BY_TOTALS or measure.condensed or k > self.deepest:
            return found
        pairs = self.at(measure.level)
        for run_id, rank in self.ranks.items():
            why = self.why_not_of(run_id, k)
            found[run_id] = Estimate(refused=why) if why else micro_recall(pairs, rank <= k, drawn=self.drawn)
        return found


@dataclass(frozen=True, eq=False)
class ByQueries(_ByDesign):
    """AP, nDCG, R@k and the like from a sample of queries that were judged deep, by the two-phase difference.

    A measure that reads the shallow pool alone stays as labelled. sides: the labels of pairs that are judged
    for every query, and those of all pairs of the design; sample: the queries judged deep, ascending; depths:
    of the others, and of these.
    """

    sides: tuple[CodedQrels, CodedQrels]
    sample: Ints
    depths: tuple[int, int]
    _found: dict[str, TwoPhase] = field(default_factory=dict, repr=False)

    def why_not(self, measure: Measure) -> str:
        """Return why a measure is not estimated; empty where it is."""
        definition = measure.definition
        if definition.skips_unjudged or measure.condensed:
            return "it passes over unjudged docs"
        reads_shallow = measure.depth is not None and measure.depth <= self.depths[0]
        if not definition.over_positives and reads_shallow:
            return AS_LABELLED
        if definition.by_first_positive or definition.is_binary:
            return BOUNDS_ONLY
        return "" if definition.key in ESTIMATED_BY_QUERIES else NOT_SOUND

    def why_not_of(self, run_id: str, k: int | None) -> str:
        """Return why a run is not estimated down to k; empty where it is."""
        return self._whys[run_id]

    def of(self, measure: Measure, *run_ids: str) -> Estimate:
        """Return the measure of a run, or of one less another, of which nothing is refused."""
        if measure.name not in self._found:
            views = [self._views[run_id] for run_id in self.joined.places]
            x, y = (np.column_stack([values_of(both[side], measure) for both in views]) for side in (0, 1))
            self._found[measure.name] = two_phase_difference(x, y[self.sample], self.sample)
        return self._found[measure.name].of(*map(list(self.joined.places).index, run_ids))

    def undrawn(self, measure: Measure) -> Estimate:
        """Return the share of positives that the design left out; nan where it is not known."""
        n_positives = (each.ideal.n_positives[self.sample] for each in self.sides)
        return missing_share(*n_positives, n_queries=len(self.joined.queries))

    @cached_property
    def _views(self) -> dict[str, list[JudgedRanking]]:
        return {run: [self.joined.ranking(run, side) for side in self.sides] for run in self.joined.places}

    @cached_property
    def _whys(self) -> dict[str, str]:
        """Of each run why nothing is estimated; empty where what it ranks high was judged as designed."""
        found, (above, below) = {}, self.depths
        for run_id, (shallow, deep) in self._views.items():
            judged = _judged_share(deep, self.sample, below)
            everywhere, of_sample = (
                _judged_share(shallow, queries, above) for queries in (np.arange(deep.n_queries), self.sample)
            )
            found[run_id] = ""
            if judged < 1 - MOST_UNJUDGED:
                found[run_id] = (
                    f"{1 - judged:.0%} of its top {below} is not judged for the queries judged deep; judge "
                    "and resolve these pairs first"
                )
            elif abs(everywhere - of_sample) > MOST_UNJUDGED:
                found[run_id] = (
                    f"{everywhere:.0%} of its top {above} is judged for all queries, and {of_sample:.0%} for "
                    "those judged deep; expected the same"
                )
        return found


Estimator = ByQueries | ByPairs


def estimator(
    joined: JudgedPairs,
    before: CodedQrels,
    after: CodedQrels,
    design: Design,
    *,
    clusters: Ints | None = None,
) -> Estimator:
    """Return what estimates a measure by labels of all pairs that could be drawn.

    Args:
        joined: the runs, joined with both qrels, and with `pairs_of_sample`.
        before, after: labellings by the original qrels and by those with all labels.
        design: how the judged pairs were chosen. Labels of pairs that a machine judge's sample did not draw,
            such as those that came in the judge's order, are not read; original positives are known.
        clusters: of each query, for intervals by a judge's sample, which are for queries like these.

    Raises:
        JoinError: the design is for other queries, or a pair of the sample is not in the join.
        TableError: an inclusion probability that is not above 0 and up to 1, where a measure is estimated.
    """
    if design.sample is not None:
        return _by_judge(joined, before, after, design, design.sample, clusters)
    is_shallow, is_of_design, probability = drawn_pairs_of(joined, design)
    labels, n_queries = after.reverted(before, ~is_of_design), len(joined.queries)
    if design.queries is not None:
        sides = after.reverted(before, ~is_shallow), labels
        return _by_queries(joined, sides, design.queries)
    whole_to, deepest = _depths(design.pairs["stratum"])

    def at(level: int) -> DrawnPairs:
        known, label = ((each.relevance >= level).astype(np.float64) for each in (before, labels))
        return DrawnPairs(known, label, joined.query, n_queries, chance=probability, whole_to=whole_to)

    n = int(((probability < 1) & (after.relevance >= 0)).sum())
    basis = f"of the depth-{deepest} union; {n:,} judged pairs drawn by chance"
    place = np.arange(len(joined.pairs))
    return ByPairs(joined, HORVITZ, n, basis, at, place, deepest)


def estimate_of(by: Estimator, measure: Measure, *run_ids: str) -> Estimate:
    """Return the measure of a run, or of one less another, refused where one of them is."""
    whys = (by.why_not(measure), *(by.why_not_of(run_id, measure.depth) for run_id in run_ids))
    why = next((each for each in whys if each), "")
    return Estimate(refused=why) if why else by.of(measure, *run_ids)


def cells_of(by: Estimator, found: Estimate) -> dict[str, Any]:
    """Return `ESTIMATE_COLUMNS`; the method of what is refused begins with `refused: `."""
    told = f"{REFUSED}{found.refused}" if found.refused else by.method
    method = AS_LABELLED if found.refused == AS_LABELLED else told
    return dict(zip(ESTIMATE_COLUMNS, (*found[:3], method), strict=True))


def missing_of(by: Estimator, measure: Measure) -> Estimate:
    """Return the share of positives never judged; nan for measures not divided by |G|."""
    return by.undrawn(measure) if measure.definition.over_positives else Estimate()


def _by_queries(joined: JudgedPairs, sides: tuple[CodedQrels, CodedQrels], queries: QueryDesign) -> ByQueries:
    place = joined.queries.get_indexer(pd.Index(queries["query_id"]))
    if len(place) != len(joined.queries) or (place < 0).any():
        raise JoinError(
            f"query design: {int((place >= 0).sum()):,} of its {len(place):,} queries are among the "
            f"{len(joined.queries):,} of the qrels; expected the same queries in both"
        )
    is_sampled = queries["is_sampled"].to_numpy(dtype=bool)
    depth = queries["depth"].to_numpy(dtype=np.int64)
    others = depth[~is_sampled] if not is_sampled.all() else depth
    depths, n = (int(others[0]), int(depth[is_sampled].max(initial=0))), int(is_sampled.sum())
    basis = f"of the depth-{depths[1]} union; {n:,} of {len(place):,} queries judged deep"
    sample = np.sort(place[is_sampled])
    return ByQueries(joined, TWO_PHASE, n, basis, sides, sample, depths)


def _judged_share(ranking: JudgedRanking, queries: Ints, depth: int) -> float:
    """Return the share of the top `depth` of some queries that is judged; 1 where it is empty."""
    part = ranking.of(queries)
    n_judged = int((part.is_judged & part.is_in_top & (part.rank <= depth)).sum())
    n_ranked = int(np.minimum(part.n_retrieved, depth).sum())
    return n_judged / n_ranked if n_ranked else 1.0


def _depths(strata: pd.Series) -> tuple[int, int]:
    """Return down to which rank strata `from:to:rate` were judged whole, and where they end; 0 without."""
    parts = [name.split(":") for name in strata.fillna("").astype(str).unique() if name.count(":") == 2]
    ranked = [(int(first), int(last), float(rate)) for first, last, rate in parts if first.isdigit()]
    deepest = max((last for _, last, _ in ranked), default=0)
    return min((first - 1 for first, _, rate in ranked if rate < 1), default=deepest), deepest


def _by_judge(
    joined: JudgedPairs,
    before: CodedQrels,
    after: CodedQrels,
    design: Design,
    sample: pd.DataFrame,
    clusters: Ints | None,
) -> ByPairs:
    place, judge = joined.find_rows(sample), str(sample["judge_id"].iloc[0])
    if (place < 0).any():
        raise JoinError(f"machine sample: {int((place < 0).sum()):,} pairs have queries that the qrels lack")
    is_drawn = sample["is_drawn"].to_numpy(dtype=bool)
    is_read = is_drawn & (after.relevance[place] >= 0)
    n_drawn, n = int(is_drawn.sum()), int(is_read.sum())
    refused = ""
    if n < (1 - MOST_UNJUDGED) * n_drawn:
        refused = f"{n_drawn - n:,} of the {n_drawn:,} pairs drawn have no label; judge these first"
    is_known = before.relevance >= 1
    is_known[place] = False  # originals that could not be drawn are positives without a label
    known = np.flatnonzero(is_known)
    kept = np.concatenate([place, known])
    has_label = np.append(is_read, np.ones(len(known), dtype=bool))
    stratum = np.append(pd.factorize(sample["stratum"])[0], np.full(len(known), KNOWN))
    score = np.append(sample["score"].fillna(0).to_numpy(dtype=np.float64), np.zeros(len(known)))
    n_queries = len(joined.queries)

    def at(level: int) -> DrawnPairs:
        label = np.where(has_label, (after.relevance[kept] >= level).astype(np.float64), np.nan)
        return DrawnPairs(score, label, joined.query[kept], n_queries, stratum=stratum)

    deepest, n_strata = int(sample["best_rank"].max()), sample["stratum"].nunique()
    basis = (
        f"of the depth-{deepest} union; {n:,} labels of pairs drawn at random in {n_strata} strata by the "
        f"score of judge {judge}; intervals are for queries like these"
    )
    notes: tuple[str, ...] = ()
    if design.shared:
        reason = next(iter(design.shared.values()))
        named = f"judge {judge} may share errors with {', '.join(design.shared)} ({reason})"
        notes = (f"{named}; people's labels correct the estimate",)
    units = np.arange(n_queries) if clusters is None else clusters
    method = f"prediction-powered, judge {judge}"
    return ByPairs(joined, method, n, basis, at, kept, deepest, units, refused, needs_pool=True, notes=notes)
