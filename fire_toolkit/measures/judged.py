"""Judged@k and unjudged@k: the shares of the top k that were judged, and were not; what the rest could do."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from fire_toolkit.arrays import Floats, share
from fire_toolkit.matching.coded import CodedQrels
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.measures.definition import Measure, measure, values_of


@measure("Judged@k", "linear, of top, no score", no_bounds="measures how much is judged and is not a score")
def judged(ranking: JudgedRanking, *, k: int) -> Floats:
    """The share of the docs in the top k that have a judgment.

    Source: FIRE's p_annotated_preds (top 10); ir_measures Judged@k.
    Convention: Divided by min(k, docs ranked); positives kept below the top do not count. A negative
    relevance is pooled but not judged, and does not count (ir_measures counts it). 0 where nothing was
    retrieved.
    """
    is_counted = ranking.is_judged & ranking.is_in_top & (ranking.tied_ranks[0] <= k)
    return share(ranking.places(is_counted).count(k), np.minimum(ranking.n_retrieved, k))


@measure(
    "unjudged@k",
    "linear, smaller is better, of top, no score",
    no_bounds="measures how much is judged and is not a score",
    also_called=("hole",),
)
def unjudged(ranking: JudgedRanking, *, k: int) -> Floats:
    """The share of the docs in the top k that have no judgment.

    Source: One minus Judged@k.
    Convention: Divided by min(k, docs ranked); pooled but not judged (a negative relevance) is unjudged. 0
    where nothing was retrieved.
    """
    return np.where(ranking.n_retrieved > 0, 1 - judged.per_query(ranking, k=k), 0.0)


def rises_of(
    tied: JudgedRanking, values: Floats, measures: Sequence[Measure], ties: str | None
) -> dict[str, float]:
    """Return by how much measures of a top would rise if all its docs without a label were relevant.

    Those are P@k, and those that tell whether a positive is in the top k.

    Args:
        values: measures × queries, by the tie rule.
    """
    rises = {}
    for each, own in zip(measures, values, strict=True):
        is_found_or_not = each.definition.by_first_positive and each.definition.is_binary
        if each.depth and not each.condensed and (is_found_or_not or each.definition.is_precision):
            (left,) = values_of(tied, [Measure(unjudged, each.depth)], ties)
            listed = np.minimum(tied.n_retrieved, each.depth) / each.depth
            rise = (own == 0) & (left > 0) if is_found_or_not else left * listed
            rises[each.name] = float(rise.mean())
    return rises


def note_unjudged(coded: Mapping[str, CodedQrels], rises: Sequence[Mapping[str, float]]) -> Iterator[str]:
    """Yield which measures would rise by a point or more, in any run, if docs without a label were relevant.

    Nothing where the augmented qrels list positives alone, which does not tell what was judged.

    rises: of each run, one or more, as `rises_of` has them.
    """
    told = []
    for name in rises[0] if (coded["augmented"].relevance == 0).any() else ():
        low, high = (100 * end(of_run[name] for of_run in rises) for end in (min, max))
        if high >= 1:
            told.append(f"{name} {' to '.join(dict.fromkeys((f'+{low:.0f}', f'+{high:.0f}')))}")
    if told:
        yield f"docs without a label count as not relevant; if all were relevant: {', '.join(told)} points"
