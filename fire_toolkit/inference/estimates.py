"""Scores estimated from judgments that were drawn by a known design, beside the scores as labelled.

An estimator turns a measure into estimates of runs and of their differences, and says of which it knows
nothing: `_by_queries` where some queries were judged deep, `_by_pairs` where pairs were drawn, in strata of
ranks or of a machine judge's scores. What is refused hangs on the design and the measure, never on the
answers.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools, Ints, are_among
from fire_toolkit.errors import JoinError
from fire_toolkit.inference.background import Design, drawn_pairs_of
from fire_toolkit.inference.drawn_pairs import (
    KNOWN,
    UNDRAWN,
    DrawnPairs,
    micro_recall,
    sampled_precision,
    undrawn_share,
)
from fire_toolkit.inference.judged_pairs import JudgedPairs
from fire_toolkit.inference.limits import Estimate
from fire_toolkit.inference.two_phase import TwoPhase, missing_share
from fire_toolkit.matching.coded import ABSENT, CodedQrels
from fire_toolkit.measures import JudgedRanking, Measure
from fire_toolkit.measures.defaults import (
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
NOT_SOUND = "no sound estimator of it is known"
BIASED = "ratios of single queries are biased where few of its pairs are drawn (R@k by .07 to .22)"
OF_THESE = "intervals are for these queries"
MOST_UNJUDGED = 0.05  # of what a design has judged of a run
LEAST_FOUND = 15  # positives drawn, from where on an interval covers about as it says


@dataclass(frozen=True, eq=False)
class Estimator:
    """What makes estimates of a measure from a design, and says of which it knows nothing.

    joined: the runs; method: its name; n: pairs, or queries, drawn; basis: what estimates are of; notes:
    sentences; why_not: why a measure of some runs is not estimated, maybe `AS_LABELLED`, empty where it is;
    value: the measure of a run, or of one less another; missing: the share of positives never judged, nan for
    measures not divided by |G|, or not known; totals: a ratio of totals for each run where the measure itself
    is not estimated.
    """

    joined: JudgedPairs
    method: str
    n: int
    basis: str
    notes: Sequence[str]
    why_not: Callable[[Measure, Sequence[str]], str]
    value: Callable[[Measure, Sequence[str]], Estimate]
    missing: Callable[[Measure], Estimate]
    totals: Callable[[Measure], dict[str, Estimate]] = lambda measure: {}

    def estimate(self, measure: Measure, *run_ids: str) -> Estimate:
        """Return the measure of a run, or of one less another, refused where one of them is."""
        why = self.why_not(measure, run_ids) if measure.definition.is_score else AS_LABELLED
        return Estimate(refused=why) if why else self.value(measure, run_ids)

    def cautions(self, found: Iterable[tuple[str, Estimate]]) -> list[str]:
        """Return the notes, and for which of named estimates a draw of pairs brought few positives."""
        few = dict.fromkeys(name for name, e in found if e.low < e.high and e.n_differing < LEAST_FOUND)
        if self.method == TWO_PHASE or not few:
            return [*self.notes]
        words = (
            f"rest on fewer than {LEAST_FOUND} positives that the draw brought; their intervals allow for "
            "those that it missed, and may cover more than 95%"
        )
        return [*self.notes, f"estimates of {', '.join(few)} {words}"]

    def cells(self, found: Estimate) -> dict[str, Any]:
        """Return `ESTIMATE_COLUMNS`; the method of what is refused begins with `refused: `."""
        told = found.refused if found.refused == AS_LABELLED else f"{REFUSED}{found.refused}"
        return dict(zip(ESTIMATE_COLUMNS, (*found[:3], told if found.refused else self.method), strict=True))


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
        before, after: labellings by the original qrels and by those with all labels. An original that a
            label rejected counts as judged, whether the policy keeps, overrides or drops it.
        design: how the judged pairs were chosen. Labels of pairs that a machine judge's sample did not draw,
            such as those that came in the judge's order, are not read; original positives are known.
        clusters: of each query, for intervals by a judge's sample, which are for queries like these.

    Raises:
        JoinError: the design is for other queries, or a pair of the sample is not in the join.
    """
    is_dropped = (before.relevance != ABSENT) & (after.relevance == ABSENT)
    after = after.labelled(np.where(is_dropped, 0, after.relevance))
    if design.sample is not None:
        return _by_judge(joined, before, after, design, design.sample, clusters)
    is_of_design, probability = drawn_pairs_of(joined, design)
    labels, n_queries = after.reverted(before, ~is_of_design), len(joined.queries)
    is_labelled, asked = after.relevance >= 0, design.pairs[design.pairs["stratum"].fillna("") != ""]
    if design.queries is None:
        asked = asked[asked["is_drawn"]] if "is_drawn" in asked else asked[:0]
    place = joined.find_rows(asked)
    is_open = are_among(place[place >= 0], len(joined.pairs)) & ~is_labelled  # in dispute, or no answer
    n_open = f"{n_of(int(is_open.sum()), 'pair')} that the design asks about have no label yet"
    if design.queries is not None:
        notes = [f"{n_open}: estimates take them for not relevant"] if is_open.any() else []
        by_shallow = labels.reverted(before, probability < 1)  # all labels, where every query was drawn
        return _by_queries(joined, (by_shallow, labels), design.queries, notes)
    strata = [name.split(":") for name in design.pairs["stratum"].fillna("").astype(str).unique()]
    ends = [int(each[1]) for each in strata if len(each) == 3 and each[0].isdigit()]  # of from:to:rate
    deepest = max(ends, default=0)
    is_asked = is_labelled | is_open | (probability == 1)
    refused, n_by_chance = "", int(((before.relevance >= 1) & (probability < 1)).sum())
    if n_by_chance and design.policy != "union":
        refused = (
            f"{n_of(n_by_chance, 'original positive')} could be judged by chance alone, and by policy "
            f"{design.policy} those that were not may be no positives; pool them all, or take policy union"
        )
    place = np.flatnonzero(is_asked | is_of_design)
    chance, query = probability[place], joined.query[place]

    @cache
    def at(level: int) -> DrawnPairs:
        known, label = ((each.relevance[place] >= level).astype(np.float64) for each in (before, labels))
        label[is_open[place]] = np.nan
        label[~is_asked[place]] = UNDRAWN
        return DrawnPairs(known, label, query, n_queries, chance=chance)

    n = int(((chance < 1) & is_labelled[place]).sum())
    of = is_of_design | (before.relevance >= 1), is_of_design & is_labelled
    basis = f"of the depth-{deepest} union; {n:,} judged pairs drawn by chance; {OF_THESE}"
    words = f"{n_open}: estimates take them for not relevant, and upper limits for relevant"
    told = HORVITZ, n, basis, [words] if is_open.any() else []
    return _by_pairs(joined, told, at, place, deepest, *of, refused=refused)


def _by_judge(
    joined: JudgedPairs,
    before: CodedQrels,
    after: CodedQrels,
    design: Design,
    sample: pd.DataFrame,
    clusters: Ints | None,
) -> Estimator:
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

    @cache
    def at(level: int) -> DrawnPairs:
        label = np.where(has_label, (after.relevance[kept] >= level).astype(np.float64), np.nan)
        return DrawnPairs(score, label, joined.query[kept], n_queries, stratum=stratum)

    deepest, n_strata = int(sample["best_rank"].max()), sample["stratum"].nunique()
    basis = (
        f"of the depth-{deepest} union; {n:,} labels of pairs drawn at random in {n_strata} strata by the "
        f"score of judge {judge}; intervals are for queries like these"
    )
    notes: list[str] = []
    if design.shared:
        named = f"judge {judge} may share errors with {', '.join(design.shared)}"
        reason = next(iter(design.shared.values()))
        notes.append(f"{named} ({reason}); people's labels correct the estimate")
    if n < n_drawn:
        lost = f"{n_of(n_drawn - n, 'pair')} of those drawn have no label"
        notes.append(f"{lost}, and the others of their strata stand for them")
    units = np.arange(n_queries) if clusters is None else clusters
    could_be = are_among(kept, len(joined.pairs))
    told = f"prediction-powered, judge {judge}", n, basis, notes
    return _by_pairs(joined, told, at, kept, deepest, could_be, could_be, drawn=units, refused=refused)


def _by_pairs(
    joined: JudgedPairs,
    told: tuple[str, int, str, list[str]],
    at: Callable[[int], DrawnPairs],
    place: Ints,
    deepest: int,
    could_be: Bools,
    is_judged: Bools,
    *,
    drawn: Ints | None = None,
    refused: str = "",
) -> Estimator:
    """Return what estimates P@k from pairs that were drawn, and R@k as a ratio of totals in a sentence.

    told: method, n, basis and notes; at: the pairs, by the level from which a grade is positive; place: where
    in the join they stand; deepest: rank of the runs that could be drawn; could_be, is_judged: which pairs of
    the join could be drawn, or are known without a draw, and which have a label by the design; drawn: see
    `sampled_precision`; refused: why there is no estimate.
    """

    def top(run_id: str, k: int) -> Bools:
        run = joined.places[run_id]
        return are_among(run.relevance[run.rank <= k], len(joined.pairs))[place]

    def why_not_of(run_id: str, k: int) -> str:
        share = share_left_out(joined.places[run_id], k, could_be)
        if refused or share <= MOST_UNJUDGED:
            return refused
        return f"{share:.0%} of its top {k} could not be drawn; pool it with the others"

    def why_not(measure: Measure, run_ids: Sequence[str]) -> str:
        definition, k = measure.definition, measure.depth or deepest
        if definition.key in ESTIMATES:
            return "it is an estimate itself, from qrels that have strata (`score --qrels`)"
        left_out = max(share_left_out(joined.places[run_id], k, is_judged) for run_id in run_ids)
        is_read = [top(run_id, k) for run_id in run_ids if measure.depth]
        is_read = [np.ones(len(place), dtype=bool)] if definition.over_positives else is_read
        is_whole = bool(is_read) and not (definition.skips_unjudged or measure.condensed)
        is_whole = is_whole and not any(at(measure.level).n_to_draw(each)[0] for each in is_read)
        if is_whole and left_out <= MOST_UNJUDGED:
            return AS_LABELLED
        if definition.is_precision and not measure.condensed:
            if k > deepest:
                return f"it reads to rank {k}, and the strata end at {deepest}"
            return next(filter(None, (why_not_of(run_id, k) for run_id in run_ids)), "")
        whole = _first_judge(left_out, k) if is_whole else ""
        return whole or _why_unsound(measure) or (BIASED if definition.over_positives else NOT_SOUND)

    def value(measure: Measure, run_ids: Sequence[str]) -> Estimate:
        k = measure.depth or 0
        return sampled_precision(at(measure.level), *(top(each, k) for each in run_ids), k=k, drawn=drawn)

    def missing(measure: Measure) -> Estimate:
        is_known = measure.definition.over_positives and drawn is None and not refused
        return undrawn_share(at(measure.level)) if is_known else Estimate()

    def totals(measure: Measure) -> dict[str, Estimate]:
        k = measure.depth or 0
        is_known = measure.definition.key in ESTIMATED_BY_TOTALS and not measure.condensed and k <= deepest
        whys = {run_id: why_not_of(run_id, k) for run_id in joined.places if is_known}
        return {
            run: Estimate(refused=why) if why else micro_recall(at(measure.level), top(run, k), drawn=drawn)
            for run, why in whys.items()
        }

    return Estimator(joined, *told, why_not, value, missing, totals)


def _by_queries(
    joined: JudgedPairs, sides: tuple[CodedQrels, CodedQrels], queries: QueryDesign, notes: list[str]
) -> Estimator:
    """Return what estimates AP, nDCG, R@k and the like from queries judged deep, by the two-phase difference.

    A measure that reads the shallow pool alone stays as labelled. sides: the labels of pairs that are judged
    for every query, and those of all pairs of the design.
    """
    place = joined.queries.get_indexer(pd.Index(queries["query_id"]))
    if len(place) != len(joined.queries) or (place < 0).any():
        raise JoinError(
            f"query design: {int((place >= 0).sum()):,} of its {len(place):,} queries are among the "
            f"{len(joined.queries):,} of the qrels; expected the same queries in both"
        )
    is_sampled = queries["is_sampled"].to_numpy(dtype=bool)
    depth = queries["depth"].to_numpy(dtype=np.int64)
    shallow, deep = int(depth[~is_sampled | is_sampled.all()][0]), int(depth[is_sampled].max(initial=0))
    sample, n_queries = np.sort(place[is_sampled]), len(place)
    views = {run: [joined.ranking(run, side) for side in sides] for run in joined.places}
    known = [each.relevance >= 0 for each in sides]
    whys = {run: _why_unlike(own, known, sample, shallow, deep) for run, own in joined.places.items()}

    def why_not(measure: Measure, run_ids: Sequence[str]) -> str:
        definition = measure.definition
        if definition.skips_unjudged or measure.condensed:
            return "it passes over unjudged docs"
        k = measure.depth or 0
        left_out = max(share_left_out(joined.places[run_id], k, known[0]) for run_id in run_ids)
        if measure.depth is not None and measure.depth <= shallow and not definition.over_positives:
            return AS_LABELLED if left_out <= MOST_UNJUDGED else _first_judge(left_out, k)
        if definition.key not in ESTIMATED_BY_QUERIES:
            return _why_unsound(measure) or NOT_SOUND
        is_whole = len(sample) == n_queries
        return next(filter(None, (whys[run_id] for run_id in run_ids)), AS_LABELLED if is_whole else "")

    @cache
    def found(measure: Measure) -> TwoPhase:
        x, y = (np.column_stack([measure.values(own[n]) for own in views.values()]) for n in (0, 1))
        return TwoPhase(x, y[sample], sample)

    def value(measure: Measure, run_ids: Sequence[str]) -> Estimate:
        return found(measure).of(*map(list(views).index, run_ids))

    def missing(measure: Measure) -> Estimate:
        if not measure.definition.over_positives:
            return Estimate()
        return missing_share(*(each.n_positives[sample] for each in sides), n_queries=n_queries)

    basis = f"of the depth-{deep} union; {len(sample):,} of {n_queries:,} queries judged deep; {OF_THESE}"
    return Estimator(joined, TWO_PHASE, len(sample), basis, notes, why_not, value, missing)


def share_left_out(run: JudgedRanking, k: int, is_in: Bools) -> float:
    """Return the share of a run's top k, above any gap in it, that some pairs of the join do not hold."""
    n_ranked = int(np.minimum(run.n_retrieved, k).sum())
    n_in = int((run.is_in_top & (run.rank <= k) & is_in[run.relevance]).sum())
    return (n_ranked - n_in) / n_ranked if n_ranked else 0.0


def _why_unsound(measure: Measure) -> str:
    is_hit = measure.definition.by_first_positive or measure.definition.is_binary
    return "the first positive decides it, of which a sample gives bounds only" if is_hit else ""


def _first_judge(left_out: float, k: int, where: str = "") -> str:
    return f"{left_out:.0%} of its top {k} is not judged{where}; judge and resolve these pairs first"


def _why_unlike(run: JudgedRanking, known: Sequence[Bools], sample: Ints, shallow: int, deep: int) -> str:
    """Return why nothing is estimated of a run; empty where what it ranks high was judged as designed.

    known: which pairs of the join the labels of the shallow pool judge, and which all labels do.
    """
    own = run.of(sample)
    if (left := share_left_out(own, deep, known[1])) > MOST_UNJUDGED:
        return _first_judge(left, deep, " for the queries judged deep")
    of_all, of_own = (1 - share_left_out(each, shallow, known[0]) for each in (run, own))
    if abs(of_all - of_own) <= MOST_UNJUDGED:
        return ""
    return (
        f"{of_all:.0%} of its top {shallow} is judged for all queries, and {of_own:.0%} for those judged "
        "deep; expected the same"
    )
