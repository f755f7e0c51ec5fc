"""Scores estimated from judgments that were drawn by a known design, beside the scores as labelled.

An estimator turns a measure into estimates of runs and of their differences, and says of which it knows
nothing: `ByQueries` where some queries were judged deep, `ByPairs` where pairs were drawn, in strata of ranks
or of a machine judge's scores. What is refused hangs on the design and the measure, never on the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools, Floats, Ints
from fire_toolkit.errors import JoinError
from fire_toolkit.inference.designs import Design, drawn_pairs_of, unlabelled_of
from fire_toolkit.inference.drawn_pairs import (
    KNOWN,
    UNDRAWN,
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
from fire_toolkit.words import n_of

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
class Estimator:
    """What makes estimates of a measure from a design, and says of which it knows nothing.

    joined: the runs; method: its name; n: pairs, or queries, drawn; basis: what estimates are of; whole_to:
    the rank of the runs down to which every pair was judged; notes: sentences.
    """

    joined: JudgedPairs
    method: str
    n: int
    basis: str
    whole_to: int = field(default=0, kw_only=True)
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def estimate(self, measure: Measure, *run_ids: str) -> Estimate:
        """Return the measure of a run, or of one less another, refused where one of them is."""
        why = self.why_not(measure, *run_ids)
        return Estimate(refused=why) if why else self._of(measure, *run_ids)

    def why_not(self, measure: Measure, *run_ids: str) -> str:
        """Return why a measure of these runs is not estimated, maybe `AS_LABELLED`; empty where it is."""
        raise NotImplementedError

    def missing(self, measure: Measure) -> Estimate:
        """Return the share of positives never judged; nan for measures not divided by |G|, or not known."""
        raise NotImplementedError

    def totals(self, measure: Measure) -> dict[str, Estimate]:
        """Return a ratio of totals for each run where the measure itself is not estimated."""
        return {}

    def cautions(self, found: Iterable[tuple[str, Estimate]]) -> list[str]:
        """Return the notes, and what to beware of in named estimates."""
        return list(self.notes)

    def cells(self, found: Estimate) -> dict[str, Any]:
        """Return `ESTIMATE_COLUMNS`; the method of what is refused begins with `refused: `."""
        told = found.refused if found.refused == AS_LABELLED else f"{REFUSED}{found.refused}"
        return dict(zip(ESTIMATE_COLUMNS, (*found[:3], told if found.refused else self.method), strict=True))

    def reads_whole(self, measure: Measure) -> bool:
        """Whether a measure reads no deeper than every pair was judged, and no count of positives."""
        of = measure.definition
        is_within = measure.depth is not None and measure.depth <= self.whole_to
        return is_within and not (of.over_positives or of.skips_unjudged or measure.condensed)

    def _of(self, measure: Measure, *run_ids: str) -> Estimate:
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class ByPairs(Estimator):
    """P@k from pairs that were drawn, and R@k as a ratio of totals in a sentence.

    at: the pairs, by the level from which a grade is positive; place: where in the join they stand; deepest:
    rank of the runs that could be drawn; could_be, is_judged: which pairs of the join could be drawn, or are
    known without a draw, and which have a label by the design; drawn: see `sampled_precision`; refused: why
    there is no estimate.
    """

    at: Callable[[int], DrawnPairs]
    place: Ints
    deepest: int
    could_be: Bools
    is_judged: Bools
    drawn: Ints | None = None
    refused: str = ""

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
        """The rank of each pair of the join in each run, infinite where the run does not have it."""
        ranks = dict[str, Floats]()
        for run_id, run in self.joined.places.items():
            ranks[run_id] = np.full(len(self.joined.pairs), np.inf)
            ranks[run_id][run.relevance] = run.rank
        return ranks

    def why_not(self, measure: Measure, *run_ids: str) -> str:
        """Return why a measure of these runs is not estimated; empty where it is."""
        definition, k = measure.definition, measure.depth or 0
        if definition.key in ESTIMATED_BY_PAIRS and not measure.condensed:
            if k > self.deepest:
                return f"it reads to rank {k}, and the strata end at {self.deepest}"
            return next(filter(None, (self._why_not_of(run_id, k) for run_id in run_ids)), "")
        if definition.key in ESTIMATES:
            return "it is an estimate itself, from qrels that have strata (`score --qrels`)"
        if self.reads_whole(measure) and all(
            self._left_out(run_id, k, self.is_judged) <= MOST_UNJUDGED for run_id in run_ids
        ):
            return AS_LABELLED
        if definition.by_first_positive or definition.is_binary:
            return BOUNDS_ONLY
        if definition.over_positives:
            return "ratios of single queries are biased where few of its pairs are drawn (R@k by .07 to .22)"
        return NOT_SOUND

    def _left_out(self, run_id: str, k: int, is_in: Bools) -> float:
        """Return the share of a run's top k that some of the pairs do not hold."""
        n_ranked = int(np.minimum(self.joined.places[run_id].n_retrieved, k).sum())
        return 1 - int(((self.ranks[run_id] <= k) & is_in).sum()) / n_ranked if n_ranked else 0.0

    def _why_not_of(self, run_id: str, k: int) -> str:
        """Return why a run is not estimated down to k; empty where it is."""
        share = self._left_out(run_id, k, self.could_be)
        if self.refused or share <= MOST_UNJUDGED:
            return self.refused
        return f"{share:.0%} of its top {k} could not be drawn; pool it with the others"

    def _of(self, measure: Measure, *run_ids: str) -> Estimate:
        k = measure.depth or 0
        tops = (self.ranks[run_id][self.place] <= k for run_id in run_ids)
        return sampled_precision(self.at(measure.level), *tops, k=k, drawn=self.drawn)

    def missing(self, measure: Measure) -> Estimate:
        """Return the share of positives never judged; of a judge's sample it is not known."""
        is_known = measure.definition.over_positives and self.drawn is None
        return undrawn_share(self.at(measure.level)) if is_known else Estimate()

    def totals(self, measure: Measure) -> dict[str, Estimate]:
        """Return R@k of each run as a ratio of totals over all queries."""
        k, found = measure.depth or 0, dict[str, Estimate]()
        if measure.definition.key not in ESTIMATED_BY_TOTALS or measure.condensed or k > self.deepest:
            return found
        pairs = self.at(measure.level)
        for run_id, rank in self.ranks.items():
            why = self._why_not_of(run_id, k)
            is_in_top = rank[self.place] <= k
            found[run_id] = Estimate(refused=why) if why else micro_recall(pairs, is_in_top, drawn=self.drawn)
        return found


@dataclass(frozen=True, eq=False)
class ByQueries(Estimator):
    """AP, nDCG, R@k and the like from a sample of queries that were judged deep, by the two-phase difference.

    A measure that reads the shallow pool alone stays as labelled. sides: the labels of pairs that are judged
    for every query, and those of all pairs of the design; sample: the queries judged deep, ascending; deep:
    down to which rank.
    """

    sides: tuple[CodedQrels, CodedQrels]
    sample: Ints
    deep: int
    _found: dict[str, TwoPhase] = field(default_factory=dict, repr=False)

    def why_not(self, measure: Measure, *run_ids: str) -> str:
        """Return why a measure of these runs is not estimated; empty where it is."""
        definition = measure.definition
        if definition.skips_unjudged or measure.condensed:
            return "it passes over unjudged docs"
        if self.reads_whole(measure):
            return AS_LABELLED
        if definition.by_first_positive or definition.is_binary:
            return BOUNDS_ONLY
        if definition.key not in ESTIMATED_BY_QUERIES:
            return NOT_SOUND
        return next(filter(None, (self._whys[run_id] for run_id in run_ids)), "")

    def _of(self, measure: Measure, *run_ids: str) -> Estimate:
        if measure.name not in self._found:
            views = [self._views[run_id] for run_id in self.joined.places]
            x, y = (np.column_stack([values_of(both[side], measure) for both in views]) for side in (0, 1))
            self._found[measure.name] = two_phase_difference(x, y[self.sample], self.sample)
        return self._found[measure.name].of(*map(list(self.joined.places).index, run_ids))

    def missing(self, measure: Measure) -> Estimate:
        """Return the share of positives never judged."""
        if not measure.definition.over_positives:
            return Estimate()
        n_positives = (each.ideal.n_positives[self.sample] for each in self.sides)
        return missing_share(*n_positives, n_queries=len(self.joined.queries))

    @cached_property
    def _views(self) -> dict[str, list[JudgedRanking]]:
        return {run: [self.joined.ranking(run, side) for side in self.sides] for run in self.joined.places}

    @cached_property
    def _whys(self) -> dict[str, str]:
        """Of each run why nothing is estimated; empty where what it ranks high was judged as designed."""
        found, everybody = {}, np.arange(len(self.joined.queries))
        for run_id, (shallow, deep) in self._views.items():
            judged = _judged_share(deep, self.sample, self.deep)
            all_of, own = (_judged_share(shallow, each, self.whole_to) for each in (everybody, self.sample))
            found[run_id] = ""
            if judged < 1 - MOST_UNJUDGED:
                found[run_id] = (
                    f"{1 - judged:.0%} of its top {self.deep} is not judged for the queries judged deep; "
                    "judge and resolve these pairs first"
                )
            elif abs(all_of - own) > MOST_UNJUDGED:
                found[run_id] = (
                    f"{all_of:.0%} of its top {self.whole_to} is judged for all queries, and {own:.0%} for "
                    "those judged deep; expected the same"
                )
        return found


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
    is_labelled = after.relevance >= 0
    is_open = unlabelled_of(joined, design, is_labelled)
    n_open = f"{n_of(int(is_open.sum()), 'pair')} that the design asks about have no label yet"
    if design.queries is not None:
        found = _by_queries(joined, (after.reverted(before, ~is_shallow), labels), design.queries)
        return replace(
            found, notes=(f"{n_open}: estimates take them for not relevant",) if is_open.any() else ()
        )
    whole_to, deepest = _depths(design.pairs["stratum"])
    is_asked = is_labelled | is_open | (probability == 1)
    place = np.flatnonzero(is_asked | is_of_design)
    chance, query = probability[place], joined.query[place]

    def at(level: int) -> DrawnPairs:
        known, label = ((each.relevance[place] >= level).astype(np.float64) for each in (before, labels))
        label[is_open[place]] = np.nan
        label[~is_asked[place]] = UNDRAWN
        return DrawnPairs(known, label, query, n_queries, chance=chance, whole_to=whole_to)

    n = int(((chance < 1) & is_labelled[place]).sum())
    of = is_of_design | (before.relevance >= 1), is_of_design & is_labelled
    basis = f"of the depth-{deepest} union; {n:,} judged pairs drawn by chance"
    words = f"{n_open}: estimates take them for not relevant, and upper limits for relevant"
    notes = (words,) if is_open.any() else ()
    return ByPairs(joined, HORVITZ, n, basis, at, place, deepest, *of, whole_to=whole_to, notes=notes)


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
    deep, n = int(depth[is_sampled].max(initial=0)), int(is_sampled.sum())
    basis = f"of the depth-{deep} union; {n:,} of {len(place):,} queries judged deep"
    sample = np.sort(place[is_sampled])
    return ByQueries(joined, TWO_PHASE, n, basis, sides, sample, deep, whole_to=int(others[0]))


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
    if n < n_drawn:
        lost = f"{n_of(n_drawn - n, 'pair')} of those drawn have no label"
        notes += (f"{lost}, and the others of their strata stand for them",)
    units = np.arange(n_queries) if clusters is None else clusters
    method = f"prediction-powered, judge {judge}"
    could_be = np.bincount(kept, minlength=len(joined.pairs)) > 0
    options: dict[str, Any] = {"refused": refused, "notes": notes}
    return ByPairs(joined, method, n, basis, at, kept, deepest, could_be, could_be, units, **options)
