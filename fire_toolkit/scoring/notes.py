"""Notes on what a reader of scores must know: what was missing, extra, shallow, tied or bounded."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.measures import CodedQrels, JudgedRanking, Measure
from fire_toolkit.measures.defaults import ESTIMATES, LEAST_DRAWN
from fire_toolkit.measures.definition import values_of
from fire_toolkit.words import n_of


def notes_on_qrels(coded: Mapping[str, CodedQrels], measures: Sequence[Measure]) -> Iterator[str]:
    """Yield what is to be said of measures, and of qrels by their name, whatever the run.

    Measures whose name alone could be taken for another; queries without a positive; measures that infer from
    sampled strata with too few positives to infer from.
    """
    yield from (measure.caution for measure in measures if measure.caution)
    for name, which in coded.items():
        if n := int(np.count_nonzero(which.n_positives == 0)):
            yield f"{name} qrels: {n:,} of {len(which.queries):,} queries without a positive; they score 0"
    names = [measure.name for measure in measures if measure.definition.key in ESTIMATES]
    for name, which in coded.items() if names else ():
        if which.stratum is None:
            continue
        sampled = np.isin(which.stratum, np.unique(which.stratum[which.relevance == -1]))
        n_drawn = np.count_nonzero(sampled & (which.relevance >= 1)) / len(which.queries)
        if sampled.any() and n_drawn < LEAST_DRAWN:
            yield (
                f"{', '.join(names)}: sampled strata of the {name} qrels hold {n_drawn:.1f} positives a "
                f"query; below {LEAST_DRAWN} such a measure is biased (xinfAP by up to 7 points on COCO "
                "captions), so do not report it"
            )


def notes_on_ties(
    run_id: str, name: str, tied: JudgedRanking, values: Floats, measures: Sequence[Measure]
) -> Iterator[str]:
    """Yield how many queries a tie could change by the qrels of a name, and the scores at either end.

    Of measures whose score is another there, as it is shown.
    """
    queries = tied.tied_queries
    ends = [values_of(tied, measures, rule, queries=queries) for rule in ("pessimistic", "optimistic")]
    differs, shown = np.zeros(queries.size, dtype=bool), []
    for measure, own, low, high in zip(measures, values, *ends, strict=True):
        least, most = (_shown(own, queries, end, measure) for end in (low, high))
        if least != most:
            differs |= low != high
            shown.append(f"{measure.name} {least} to {most}")
    if shown:
        of_all = f"{int(differs.sum()):,} of {values.shape[1]:,} queries"
        yield (
            f"{run_id}: docs of equal score could change {of_all} by the {name} qrels; pessimistic to "
            f"optimistic: {', '.join(shown)}"
        )


def notes_on_run(run_id: str, by: Mapping[str, JudgedRanking], measures: Sequence[Measure]) -> Iterator[str]:
    """Yield which queries a run lacks, has beyond the qrels, or has shallow, and ranks that are lower bounds.

    by: the run as each of the qrels judges it, the original ones first.
    """
    run = next(iter(by.values()))
    is_there, n_all = run.last_rank > 0, run.last_rank.size
    lengths, of_all = run.n_retrieved[is_there], f"of {n_all:,} queries"
    if missing := n_all - lengths.size:
        yield f"{run_id}: {missing:,} {of_all} of the qrels missing from the run; they score 0"
    if extra := run.n_extra_queries:
        yield f"{run_id}: {n_of(extra, 'query')} not in the qrels; they are ignored"
    cutoff = max((measure.k for measure in measures if measure.k is not None), default=0)
    if shallow := int(np.count_nonzero((lengths < cutoff) & (lengths == run.last_rank[is_there]))):
        words = f"with fewer docs than the cutoff {cutoff} (shortest {lengths.min()})"
        yield f"{run_id}: {shallow:,} {of_all} {words}"
    for measure in measures:
        for name, ranking in by.items() if measure.definition.unit == "rank" else ():
            view = measure.view(ranking)
            if n := int(np.count_nonzero(np.isinf(view.first_positive))):
                yield (
                    f"{run_id}: {n:,} {of_all} without a positive found by the {name} qrels; {measure.name} "
                    f"takes their rank as {view.worst_rank}, a lower bound"
                )


def _shown(values: Floats, queries: Ints, at_end: Floats, measure: Measure) -> str:
    """Return a score of which some queries have other values."""
    values = values.copy()
    values[queries] = at_end
    value = measure.aggregate(values)
    return f"{100 * value:.1f}" if measure.definition.unit == "share" else f"{value:.1f}"
