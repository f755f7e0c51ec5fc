"""Scores estimated from judgments that were drawn by a known design, beside the scores as labelled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools, Floats, Ints
from fire_toolkit.errors import JoinError
from fire_toolkit.inference.by_pairs import BOUNDS_ONLY, describe_totals, why_not_by_pairs
from fire_toolkit.inference.horvitz import (
    SampledPairs,
    micro_recall,
    no_estimate,
    sampled_difference,
    sampled_precision,
)
from fire_toolkit.inference.judged_pairs import JudgedPairs, values_of
from fire_toolkit.inference.missing import Missing, missing_share, undrawn_share
from fire_toolkit.inference.two_phase import TwoPhase, two_phase_difference
from fire_toolkit.matching.coded import CodedQrels
from fire_toolkit.measures import JudgedRanking, Measure
from fire_toolkit.measures.defaults import ESTIMATED_BY_QUERIES, ESTIMATED_BY_TOTALS
from fire_toolkit.tables import QueryDesign

ESTIMATE_COLUMNS = {
    "estimate": "float64",
    "estimate_low": "float64",
    "estimate_high": "float64",
    "estimate_method": "str",
    "estimate_n": "int64",
    "missing": "float64",
    "missing_low": "float64",
    "missing_high": "float64",
}
DIFFERENCE_ESTIMATE = {name: ESTIMATE_COLUMNS[name] for name in list(ESTIMATE_COLUMNS)[:4]}
AS_LABELLED = "as labelled"
TWO_PHASE = "two-phase difference"
HORVITZ = "Horvitz–Thompson"
MOST_UNJUDGED = 0.05  # of what a design has judged of a run


class Design(NamedTuple):
    """How the judged pairs were chosen.

    pairs: query_id, doc_id, stratum (`shallow`: judged for every query; `deep`: judged because the query
    was drawn; `from:to:rate`, `original`: of pairs drawn in strata; empty: judged for another reason, which
    no estimate uses) and inclusion_probability. queries: which of them were judged deep; None where pairs
    were drawn. sample: of a machine judge, see `check_machine_sample`; then no other is read. shared: runs
    that may share its backbone, with the reason.
    """

    pairs: pd.DataFrame
    queries: QueryDesign | None
    sample: pd.DataFrame | None = None
    shared: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class Estimated:
    """What `estimate_scores` returns.

    cells: of each run and measure `ESTIMATE_COLUMNS`. missing: the share of positives that was never
    judged, where queries were judged deep. basis: what estimates are of, in words; notes: sentences.
    """

    cells: Mapping[tuple[str, str], dict[str, Any]]
    missing: Missing | None
    basis: str
    notes: tuple[str, ...]


def estimate_scores(
    joined: JudgedPairs,
    before: CodedQrels,
    after: CodedQrels,
    design: Design,
    measures: Sequence[Measure],
    *,
    confidence: float = 0.95,
) -> Estimated:
    """Return for each run and measure what it is estimated to be by labels of all pairs that could be drawn.

    Args:
        joined: the runs, joined with both qrels.
        before, after: labellings by the original qrels and by those with all labels.
        design: how the judged pairs were chosen.
        measures: any; those for which no estimate is sound are refused with the reason.
        confidence: of the intervals, strictly between 0 and 1.

    Returns:
        Where queries were judged deep: the two-phase difference for AP, nDCG, R@k and the like; a measure
        that reads the shallow pool alone stays as labelled. Where pairs were drawn in strata: P@k by Horvitz
        and Thompson. `estimate_method` names the way, or begins with `refused: `.

    Raises:
        JoinError: the design is for other queries.
        TableError: an inclusion probability that is not above 0 and up to 1.
    """
    given = _Given(joined, before, after, _Drawn.of(joined, design), confidence)
    return (_from_pairs if design.queries is None else _from_queries)(given, measures)


def estimate_differences(
    joined: JudgedPairs,
    before: CodedQrels,
    after: CodedQrels,
    design: Design,
    measures: Sequence[Measure],
    *,
    confidence: float = 0.95,
) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Return what the difference of every two runs is estimated to be by the design.

    Args, errors: as of `estimate_scores`, and so what is refused; runs share the errors of the sample, so
    that the interval of a difference is narrower than those of its runs say.

    Returns:
        measure, run_a, run_b → estimate, estimate_low, estimate_high and estimate_method, a − b in the order
        of the runs.
    """
    given = _Given(joined, before, after, _Drawn.of(joined, design), confidence)
    if design.queries is None:
        return {key: cell for measure in measures for key, cell in _differences_from_pairs(given, measure)}
    cells = {}
    for measure, found, of_run in _two_phase(given, measures):
        for (a, run_a), (b, run_b) in combinations(enumerate(joined.places), 2):
            refused = of_run[a] or of_run[b]
            if found is None or refused:
                limits = (np.nan,) * 3
            else:
                estimate, _, low, high = found.difference(a, b)
                limits = (estimate, low, high)
            cell = estimate_cell(TWO_PHASE, len(given.drawn.sample), *limits, refused)
            cells[measure.name, run_a, run_b] = {name: cell[name] for name in DIFFERENCE_ESTIMATE}
    return cells


def chances_of(joined: JudgedPairs, design: Design | None) -> Floats | None:
    """Return with which probability each pair of a join was to be judged, 0 where the design did not ask it.

    None where no people's sample was drawn.
    """
    if design is None or design.sample is not None:
        return None
    drawn = _Drawn.of(joined, design)
    return np.where(drawn.is_of_design, drawn.probability, 0.0)


@dataclass(frozen=True, eq=False)
class _Drawn:
    """A design over the pairs and queries of a join.

    is_shallow, is_of_design, probability: of each pair of the join; sample: the queries judged deep; depths:
    how deep the others and these were judged; of pairs in strata, how deep all were, and where they end.
    """

    is_shallow: Bools
    is_of_design: Bools
    probability: Floats
    sample: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    depths: tuple[int, int] = (0, 0)

    @classmethod
    def of(cls, joined: JudgedPairs, design: Design) -> _Drawn:
        stratum = design.pairs["stratum"].fillna("").astype(str)
        is_of = (stratum != "").to_numpy()
        place = joined.find_rows(design.pairs)
        held = is_of & (place >= 0)
        flags = {name: np.zeros(len(joined.pairs), dtype=bool) for name in ("shallow", "of")}
        flags["shallow"][place[held & (stratum == "shallow").to_numpy()]] = True
        flags["of"][place[held]] = True
        probability = np.ones(len(joined.pairs))
        probability[place[held]] = _probabilities(design.pairs)[held]
        if design.queries is None:
            return cls(flags["shallow"], flags["of"], probability, depths=_depths(stratum[is_of]))
        return cls(flags["shallow"], flags["of"], probability, *_deep_queries(joined, design.queries))


def _probabilities(pairs: pd.DataFrame) -> Floats:
    found = pd.to_numeric(pairs["inclusion_probability"], errors="coerce").fillna(1.0)
    return found.to_numpy(dtype=np.float64)


def _depths(strata: pd.Series) -> tuple[int, int]:
    """Return down to which rank strata `from:to:rate` were judged whole, and where they end; 0 without."""
    parts = [name.split(":") for name in strata.unique() if name.count(":") == 2]
    ranked = [(int(first), int(last), float(rate)) for first, last, rate in parts if first.isdigit()]
    deepest = max((last for _, last, _ in ranked), default=0)
    return min((first - 1 for first, _, rate in ranked if rate < 1), default=deepest), deepest


def _deep_queries(joined: JudgedPairs, queries: QueryDesign) -> tuple[Ints, tuple[int, int]]:
    """Return the queries judged deep, ascending, and the depths of the others and of these."""
    place = joined.queries.get_indexer(pd.Index(queries["query_id"]))
    if len(place) != len(joined.queries) or (place < 0).any():
        n_known = int((place >= 0).sum())
        raise JoinError(
            f"query design: {n_known:,} of its {len(place):,} queries are among the "
            f"{len(joined.queries):,} of the qrels; expected the same queries in both"
        )
    is_sampled = queries["is_sampled"].to_numpy(dtype=bool)
    depth = queries["depth"].to_numpy(dtype=np.int64)
    others = depth[~is_sampled] if not is_sampled.all() else depth
    return np.sort(place[is_sampled]), (int(others[0]), int(depth[is_sampled].max(initial=0)))


@dataclass(frozen=True, eq=False)
class _Given:
    """What estimates are made of: the arguments of `estimate_scores`, the design over the join."""

    joined: JudgedPairs
    before: CodedQrels
    after: CodedQrels
    drawn: _Drawn
    confidence: float

    @cached_property
    def sides(self) -> tuple[CodedQrels, CodedQrels]:
        """The labels of pairs that are judged for every query, and those of all pairs of the design."""
        kept = (self.drawn.is_shallow, self.drawn.is_of_design)
        shallow, deep = (self.after.reverted(self.before, ~each) for each in kept)
        return shallow, deep

    @cached_property
    def ranks(self) -> dict[str, Floats]:
        """The rank of each pair of the join in each run."""
        return {run_id: ranks_of(self.joined, run_id) for run_id in self.joined.places}

    @property
    def n_by_chance(self) -> int:
        """How many judged pairs were drawn by chance."""
        return int(((self.drawn.probability < 1) & (self.after.relevance >= 0)).sum())


def _from_queries(given: _Given, measures: Sequence[Measure]) -> Estimated:
    """Return the two-phase differences, and the share of positives that was never judged."""
    joined, drawn = given.joined, given.drawn
    n, n_queries = len(drawn.sample), len(joined.queries)
    n_positives = (each.ideal.n_positives[drawn.sample] for each in given.sides)
    missing = missing_share(*n_positives, n_queries=n_queries, confidence=given.confidence)
    cells = {}
    for measure, found, of_run in _two_phase(given, measures):
        of_positives = missing if measure.definition.over_positives else None
        for place, (run_id, refused) in enumerate(zip(joined.places, of_run, strict=True)):
            cell = estimate_cell(TWO_PHASE, n, *_limits(found, place, refused), refused)
            cells[run_id, measure.name] = cell | missing_cell(of_positives)
    basis = f"of the depth-{drawn.depths[1]} union; {n:,} of {n_queries:,} queries judged deep"
    return Estimated(cells, missing, basis, ())


def _two_phase(
    given: _Given, measures: Sequence[Measure]
) -> Iterator[tuple[Measure, TwoPhase | None, list[str]]]:
    """Yield each measure's estimates, None where it has none, and of each run why it has none."""
    joined, drawn = given.joined, given.drawn
    views = {run: [joined.ranking(run, side) for side in given.sides] for run in joined.places}
    why_not = [_why_not_of_run(shallow, deep, drawn=drawn) for shallow, deep in views.values()]
    for measure in measures:
        if refused := _why_not_by_queries(measure, drawn.depths[0]):
            yield measure, None, [refused] * len(views)
            continue
        x, y = (
            np.column_stack([values_of(both[side], measure) for both in views.values()]) for side in (0, 1)
        )
        found = two_phase_difference(x, y[drawn.sample], drawn.sample, confidence=given.confidence)
        yield measure, found, [own or found.refused for own in why_not]


def _limits(found: TwoPhase | None, place: int, refused: str) -> tuple[float, float, float]:
    if found is None or refused:
        return np.nan, np.nan, np.nan
    return float(found.estimate[place]), float(found.low[place]), float(found.high[place])


def estimate_cell(
    method: str, n: int, estimate: float, low: float, high: float, refused: str
) -> dict[str, Any]:
    """Return the columns of one estimate; a reason takes the place of the method."""
    if refused:
        method = refused if refused == AS_LABELLED else f"refused: {refused}"
    values = {"estimate": estimate, "estimate_low": low, "estimate_high": high}
    return values | {"estimate_method": method, "estimate_n": n}


def missing_cell(missing: Missing | None) -> dict[str, float]:
    """Return the columns of the share of positives that was never judged; nan where it is not known."""
    share, low, high = (np.nan,) * 3 if missing is None else missing[:3]
    return {"missing": share, "missing_low": low, "missing_high": high}


def _why_not_of_run(shallow: JudgedRanking, deep: JudgedRanking, *, drawn: _Drawn) -> str:
    """Return why nothing is estimated of a run; empty where what it ranks high was judged as designed."""
    above, below = drawn.depths
    judged = _judged_share(deep, drawn.sample, below)
    if judged < 1 - MOST_UNJUDGED:
        return (
            f"{1 - judged:.0%} of its top {below} is not judged for the queries judged deep; judge and "
            "resolve these pairs first"
        )
    everywhere, of_sample = (
        _judged_share(shallow, queries, above) for queries in (np.arange(deep.n_queries), drawn.sample)
    )
    if abs(everywhere - of_sample) > MOST_UNJUDGED:
        return (
            f"{everywhere:.0%} of its top {above} is judged for all queries, and {of_sample:.0%} for those "
            "judged deep; expected the same"
        )
    return ""


def _judged_share(ranking: JudgedRanking, queries: Ints, depth: int) -> float:
    """Return the share of the top `depth` of some queries that is judged; 1 where it is empty."""
    part = ranking.of(queries)
    n_judged = int((part.is_judged & part.is_in_top & (part.rank <= depth)).sum())
    n_ranked = int(np.minimum(part.n_retrieved, depth).sum())
    return n_judged / n_ranked if n_ranked else 1.0


def _why_not_by_queries(measure: Measure, shallow_depth: int) -> str:
    """Return why a measure is not estimated from queries judged deep; empty where it is."""
    definition = measure.definition
    reads = measure.depth
    if definition.skips_unjudged or measure.condensed:
        return "it passes over unjudged docs"
    if not definition.over_positives and reads is not None and reads <= shallow_depth:
        return AS_LABELLED
    if definition.by_first_positive or definition.is_binary:
        return BOUNDS_ONLY
    if definition.key not in ESTIMATED_BY_QUERIES:
        return "no estimator of it was found sound"
    return ""


def _from_pairs(given: _Given, measures: Sequence[Measure]) -> Estimated:
    """Return P@k from pairs drawn in strata, and why other measures are refused."""
    cells: dict[tuple[str, str], dict[str, Any]] = {}
    notes = []
    drawn, confidence = given.drawn, given.confidence
    ranks, n_by_chance = given.ranks, given.n_by_chance
    for measure in measures:
        pairs, refused = _pairs_at(given, measure)
        k = measure.depth or 0
        missing = undrawn_share(pairs, confidence=confidence) if measure.definition.over_positives else None
        for run_id, rank in ranks.items():
            found = no_estimate(refused)
            if not refused:
                found = sampled_precision(pairs, rank <= k, k=k, confidence=confidence)
            cell = estimate_cell(HORVITZ, n_by_chance, found.estimate, found.low, found.high, found.refused)
            cells[run_id, measure.name] = cell | missing_cell(missing)
        is_total = measure.definition.key in ESTIMATED_BY_TOTALS and not measure.condensed
        if is_total and k <= drawn.depths[1]:
            totals = {
                run_id: micro_recall(pairs, rank <= k, confidence=confidence)
                for run_id, rank in ranks.items()
            }
            notes.append(describe_totals(measure, totals))
    basis = f"of the depth-{drawn.depths[1]} union; {n_by_chance:,} judged pairs drawn by chance"
    return Estimated(cells, None, basis, tuple(notes))


def _differences_from_pairs(
    given: _Given, measure: Measure
) -> Iterator[tuple[tuple[str, str, str], dict[str, Any]]]:
    """Yield the difference of every two runs in P@k by pairs drawn in strata, or why it is refused."""
    pairs, refused = _pairs_at(given, measure)
    k = measure.depth or 0
    for (run_a, a), (run_b, b) in combinations(given.ranks.items(), 2):
        found = no_estimate(refused)
        if not refused:
            found = sampled_difference(pairs, a <= k, b <= k, k=k, confidence=given.confidence)
        cell = estimate_cell(HORVITZ, given.n_by_chance, found.estimate, found.low, found.high, found.refused)
        yield (measure.name, run_a, run_b), {name: cell[name] for name in DIFFERENCE_ESTIMATE}


def _pairs_at(given: _Given, measure: Measure) -> tuple[SampledPairs, str]:
    """Return the pairs at a measure's level, and why they do not give it; empty where they do."""
    level, joined, drawn = measure.level, given.joined, given.drawn
    before, after = (each.relevance >= level for each in (given.before, given.sides[1]))
    parts = (before, after, drawn.probability, joined.query, len(joined.queries))
    return SampledPairs(*parts, drawn.depths[0]), why_not_by_pairs(measure, drawn.depths[1])


def ranks_of(joined: JudgedPairs, run_id: str) -> Floats:
    """Return the rank of each pair of the join in a run, infinite where the run does not have it."""
    run = joined.places[run_id]
    rank = np.full(len(joined.pairs), np.inf)
    rank[run.relevance] = run.rank
    return rank
