"""What can be judged, and how often: the designs that a plan weighs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fire_toolkit.errors import UsageError
from fire_toolkit.inference.corrected import why_uncorrected
from fire_toolkit.measures import Measure
from fire_toolkit.tables.design import DEPTHS

POLICIES = {
    "one": "with one vote a pair",
    "verify": "with each positive verified",
    "until-confirmed": "with positives verified until one is confirmed",
    "doubled": "with two votes a pair",
}
OVERLAP = 0.1
LEAST_QUERIES = 40  # of a random sample of queries that a mean is estimated from
DEEP_SHARE = 0.1


@dataclass(frozen=True)
class Design:
    """One way to spend judgments.

    depth: all that stands in the top `depth` of a run is judged; with `is_settled` only what can still
    decide C@depth. n_deep: so many queries, drawn at random, are judged to the depth of the lists as well,
    each positive there verified. policy: `one` vote a pair; `verify`, a second on each positive;
    `until-confirmed`, the same until one positive of every run and cutoff is confirmed; `doubled`, two votes
    a pair; a third always where two differ. overlap: the random share of pairs that two people judge by any
    other policy. queries: the random share of queries that is judged.
    """

    depth: int
    policy: str = "one"
    is_settled: bool = False
    n_deep: int = 0
    overlap: float = OVERLAP
    queries: float = 1.0

    @property
    def doubled(self) -> float:
        """The random share of pairs that two people judge."""
        return 1.0 if self.policy == "doubled" else self.overlap

    @property
    def pool(self) -> str:
        """What is judged, in words."""
        deep = f" + {self.n_deep} deep" if self.n_deep else ""
        return f"settle(C@{self.depth})" if self.is_settled else f"depth {self.depth}{deep}"

    @property
    def pool_options(self) -> str:
        """The options with which `pool` makes this pool."""
        deep = f" --deep-queries {DEEP_SHARE:g}" if self.n_deep else ""
        return f"--strategy 'settle(C@{self.depth})'" if self.is_settled else f"--depth {self.depth}{deep}"

    def predicts(self, measure: Measure) -> bool:
        """Return whether a measure's error under this design can be predicted: it reads what is judged."""
        if not is_predictable(measure) or measure.depth is None:
            return False
        is_hit = measure.definition.by_first_positive
        if self.is_settled:
            return is_hit and measure.depth == self.depth
        is_confirmed = self.policy != "until-confirmed" or not is_hit or measure.depth in DEPTHS
        return is_confirmed and measure.depth <= self.depth

    def serves(self, measure: Measure) -> bool:
        """Return whether a measure can be had from this design, predicted or estimated from deep queries."""
        return self.predicts(measure) or (self.n_deep > 0 and not is_predictable(measure))


def is_predictable(measure: Measure) -> bool:
    """Return whether a pilot of the top ranks tells a measure's error: C@k and P@k, which read no more.

    All others hang on positives that nobody has looked for: AP, nDCG and R on those below the pool.
    """
    return not why_uncorrected(measure)


def deep_queries(n_queries: int) -> int:
    """Return how many queries are to be judged deep: a tenth, 40 or more, as `pool` draws them."""
    return min(n_queries, max(LEAST_QUERIES, math.ceil(DEEP_SHARE * n_queries)))


def designs_for(
    measures: Sequence[Measure], *, n_queries: int, most: int, overlap: float = OVERLAP
) -> list[Design]:
    """Return the designs for these measures: a pool as deep as they read, by every policy of votes.

    Args:
        n_queries: of the universe.
        most: the depth of the lists; a pool is no deeper.
        overlap: see `Design`.
    """
    cutoffs = (measure.depth for measure in measures if is_predictable(measure) and measure.depth)
    depth = min(max(cutoffs, default=10), most)
    found = [Design(depth, policy, overlap=overlap) for policy in POLICIES]
    settled = Design(depth, "verify", is_settled=True, overlap=overlap)
    found += [settled] if all(map(settled.predicts, measures)) else []
    if not all(map(is_predictable, measures)) and depth < most:
        found.append(Design(depth, "until-confirmed", n_deep=deep_queries(n_queries), overlap=overlap))
    return found


def within_budget(
    designs: Sequence[Design], n_judgments: Sequence[float], budget: float, n_queries: int
) -> dict[int, Design]:
    """Return by its place each design that a budget pays for, cut to a random share of the queries.

    Those are left out that would judge fewer than 40 queries, or fewer than 40 deep.

    Args:
        n_judgments: of each design with all queries; one that asks nothing judges them all.
        budget: judgments; may be infinite.
        n_queries: of the universe.

    Raises:
        UsageError: the budget is too small for every design.
    """
    found = {}
    for place, (design, cost) in enumerate(zip(designs, n_judgments, strict=True)):
        n = n_queries if cost <= budget else int(budget / cost * n_queries)
        least = LEAST_QUERIES / DEEP_SHARE if design.n_deep else LEAST_QUERIES
        if n == n_queries or n >= least:
            n_deep = deep_queries(n) if design.n_deep else 0
            found[place] = replace(design, queries=n / n_queries, n_deep=n_deep)
    if not found:
        least = min(LEAST_QUERIES, n_queries)
        raise UsageError(
            f"a budget of {budget:,.0f} judgments is too small: {least} queries of the cheapest design take "
            f"{min(n_judgments) * least / n_queries:,.0f}"
        )
    return found
