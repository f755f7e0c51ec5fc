"""What can be judged, of which queries, and how often: the designs that a plan weighs."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fire_toolkit.arrays import Bools
from fire_toolkit.errors import UsageError
from fire_toolkit.planning.lists import Lists
from fire_toolkit.pooling.registry import parse_strategy

POLICIES = ("one", "verify", "until-confirmed", "doubled")
LEAST_QUERIES = 40  # of a sample of queries that a mean is estimated from
_SETTLES = re.compile(r"settle[(:]C@([1-9][0-9]*)\)?")


@dataclass(frozen=True)
class Design:
    """One way to spend judgments.

    strategy: as `pool` has it: `depth`, all that stands in the top `depth` of a run; one that takes
    `per_query` pairs of each query; or `settle(C@k)`, of the tops those that can still decide C@k.
    deep_share: of the queries that are judged to the depth of the lists, at random, each positive there
    verified; 0: none. policy: `one` vote a pair; `verify`, a second vote on each positive;
    `until-confirmed`, the same until one positive of every run and cutoff is confirmed; `doubled`, two votes
    a pair; a third always where two differ. overlap: the random share of pairs that two people judge anyway,
    for alpha. queries: the random share of queries that is judged.
    """

    strategy: str = "depth"
    depth: int = 10
    policy: str = "one"
    overlap: float = 0.1
    queries: float = 1.0
    per_query: int | None = None
    deep_share: float = 0.0

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            raise UsageError(f"no votes {self.policy!r} to plan with; expected {', '.join(POLICIES)}")
        if self.depth < 1 or (self.per_query is not None and self.per_query < 1):
            raise UsageError(f"depth {self.depth}, {self.per_query} pairs a query; expected 1 or more")
        if not 0 < self.queries <= 1:
            raise UsageError(f"share of queries {self.queries:g}, expected above 0 and at most 1")
        for what, share in (("overlap", self.overlap), ("share of queries judged deep", self.deep_share)):
            if not 0 <= share <= 1:
                raise UsageError(f"{what} {share:g}, expected from 0 to 1")
        if self.settles and self.deep_share:
            raise UsageError("queries judged deep go with a whole pool, not with a settled one")
        if self.settles is None and self.strategy != "depth":
            chosen = parse_strategy(self.strategy)
            if chosen.reads_labels or chosen.reads_machine:
                raise UsageError(
                    f"strategy {self.strategy} waits for answers, and plan has none; leave it out"
                )
            if chosen.name == "strata":
                raise UsageError("plan weighs no samples of pairs; --deep-queries plans one of queries")
            if self.per_query is None:
                raise UsageError(f"strategy {self.strategy}: how many pairs of a query? Give --per-query")

    @property
    def settles(self) -> int | None:
        """Return the cutoff k of `settle(C@k)`, None for another strategy."""
        found = _SETTLES.fullmatch(self.strategy)
        return int(found[1]) if found else None

    @property
    def reach(self) -> int:
        """Return the rank of a run down to which every doc is asked, or would be if it mattered."""
        return self.settles or (self.depth if self.strategy == "depth" else 0)

    def deep_part(self, n_queries: int) -> float:
        """Return the share of `n_queries` that is judged deep: at least 40 of them, as `pool` draws them."""
        n_deep = max(LEAST_QUERIES, math.ceil(self.deep_share * n_queries)) if self.deep_share else 0
        return min(1.0, n_deep / n_queries)

    @property
    def pool(self) -> str:
        """Return what is judged, in words."""
        deep = f", {self.deep_share:.0%} of queries deep" if self.deep_share else ""
        if self.settles:
            return f"settle(C@{self.settles}){deep}"
        return (
            f"{self.strategy}, {self.per_query} a query{deep}"
            if self.per_query
            else f"depth {self.depth}{deep}"
        )

    @property
    def pool_options(self) -> str:
        """Return the options with which `pool` makes this pool."""
        deep = f" --deep-queries {self.deep_share:g}" if self.deep_share else ""
        if self.settles or self.per_query:
            each = f" --per-query {self.per_query}" if self.per_query else ""
            return f"--strategy '{self.strategy}'{each}{deep}"
        return f"--depth {self.depth}{deep}"

    def pooled(self, lists: Lists) -> Bools:
        """Return which pairs are asked, or in `settle` can be, were all queries judged."""
        if self.per_query is not None:
            return lists.chosen(self.strategy, self.per_query)
        return np.asarray(lists.best_rank <= self.reach)


def usual_designs(lists: Lists, *, overlap: float, k: int = 10) -> list[Design]:
    """Return the designs that are weighed where none is named: pools × policies, as deep as the runs are.

    Args:
        overlap: of all of them but those that judge each pair twice.
        k: the cutoff that `settle` decides.
    """
    depths = [depth for depth in (5, 10, 20) if depth <= lists.depth] or [lists.depth]
    designs = [Design(depth=depth, policy=policy) for policy in POLICIES for depth in depths]
    designs += [Design("rrf", policy=policy, per_query=10) for policy in ("one", "until-confirmed")]
    if k <= lists.depth:
        designs.append(Design(f"settle(C@{k})", policy="verify"))
    if lists.depth > 10:
        designs += [Design(policy=policy, deep_share=0.1) for policy in ("verify", "until-confirmed")]
    return [replace(design, overlap=overlap) for design in designs]


def within_budget(
    designs: Sequence[Design], costs: Sequence[float], budget: float, n_queries: int
) -> list[Design]:
    """Return the designs for a budget: what costs more is cut to a random part of the queries.

    Args:
        costs: of each design with all queries, in the budget's unit.
        n_queries: how many there are; a design that is left with fewer than 40 of them, or with fewer
            than 40 to judge deep, is left out.

    Raises:
        UsageError: no design is left.
    """
    least = min(LEAST_QUERIES, n_queries)
    kept = []
    for design, cost in zip(designs, costs, strict=True):
        share = min(1.0, budget / cost)
        n_least = least / design.deep_share if design.deep_share else least
        if share == 1 or int(share * n_queries) >= n_least:
            kept.append(replace(design, queries=int(share * n_queries) / n_queries if share < 1 else 1.0))
    if not kept:
        raise UsageError(
            f"a budget of {budget:,.0f} is too small: {least} queries of the cheapest design take "
            f"{min(costs) * least / n_queries:,.0f}, and where some are judged deep, 40 of these are needed"
        )
    return kept
