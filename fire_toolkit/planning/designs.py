"""What can be judged, of which queries, and how often: the designs that a plan weighs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fire_toolkit.arrays import Bools, Ints, are_among, rows_of_lists, starts_of_lists
from fire_toolkit.errors import UsageError
from fire_toolkit.planning.lists import Lists

STRATEGIES = ("depth", "rrf", "settle", "deep")
POLICIES = ("one", "verify", "until-confirmed", "doubled")
LEAST_QUERIES = 40  # of a sample of queries that a mean is estimated from


@dataclass(frozen=True)
class Design:
    """One way to spend judgments.

    strategy: `depth`, the union of the runs' top `depth`; `rrf`, the first `depth` pairs of each query by
    reciprocal rank fusion; `settle`, of the union those that can still decide C@depth; `deep`, the union,
    and a random `deep_share` of the queries to the depth of the lists, each positive there verified.
    policy: `one` vote a pair; `verify`, a second vote on each positive; `until-confirmed`, the same until
    one positive of every run and cutoff is confirmed; `doubled`, two votes a pair; a third always where two
    differ. overlap: the random share of pairs that two people judge anyway, for alpha. queries: the random
    share of queries that is judged.
    """

    strategy: str = "depth"
    depth: int = 10
    policy: str = "one"
    overlap: float = 0.1
    queries: float = 1.0
    deep_share: float = 0.1

    def __post_init__(self) -> None:
        for what, name, known in (
            ("strategy", self.strategy, STRATEGIES),
            ("policy", self.policy, POLICIES),
        ):
            if name not in known:
                raise UsageError(f"no {what} {name!r} to plan with; expected {', '.join(known)}")
        if self.depth < 1:
            raise UsageError(f"depth {self.depth}, expected 1 or more")
        for what, share in (("share of queries", self.queries), ("share judged deep", self.deep_share)):
            if not 0 < share <= 1:
                raise UsageError(f"{what} {share:g}, expected above 0 and at most 1")
        if not 0 <= self.overlap <= 1:
            raise UsageError(f"overlap {self.overlap:g}, expected from 0 to 1")

    @property
    def pool(self) -> str:
        """Return what is judged, in words."""
        return {
            "depth": f"depth {self.depth}",
            "rrf": f"rrf, {self.depth} a query",
            "settle": f"settle C@{self.depth}",
            "deep": f"depth {self.depth}, {self.deep_share:.0%} of queries deep",
        }[self.strategy]

    def pooled(self, lists: Lists) -> Bools:
        """Return which pairs are asked, or in `settle` can be, were all queries judged."""
        if self.strategy == "rrf":
            return _first_by_fusion(lists, self.depth)
        return np.asarray(lists.best_rank <= self.depth)


def _first_by_fusion(lists: Lists, n_pairs: int) -> Bools:
    """Return the first pairs of each query by fusion; no run has the originals at the end."""
    found = lists.best_rank <= lists.depth
    lengths = lists.count(np.ones(len(found), dtype=bool))
    kept = np.minimum(lists.count(found), n_pairs)
    chosen: Ints = lists.by_fusion[rows_of_lists(starts_of_lists(lengths)[:-1], kept)]
    return are_among(chosen, len(found))


def parse_pool(text: str) -> tuple[str, int]:
    """Return strategy and depth of a pool as `plan` has it typed: depth(10), rrf(10), settle(C@10), deep(10).

    Raises:
        UsageError: it is none of these.
    """
    found = re.fullmatch(r"(depth|rrf|deep)\(([1-9][0-9]*)\)|(settle)\(C@([1-9][0-9]*)\)", text)
    if found is None:
        raise UsageError(f"no pool {text!r}; expected depth(10), rrf(10), settle(C@10) or deep(10), say")
    return found[1] or found[3], int(found[2] or found[4])


def usual_designs(lists: Lists, *, overlap: float, k: int = 10) -> list[Design]:
    """Return the designs that are weighed where none is named: pools × policies, as deep as the runs are.

    Args:
        overlap: of all of them but those that judge each pair twice.
        k: the cutoff that `settle` decides.
    """
    depths = [depth for depth in (5, 10, 20) if depth <= lists.depth] or [lists.depth]
    designs = [Design(depth=depth, policy=policy) for policy in POLICIES for depth in depths]
    designs += [Design("rrf", 10, policy) for policy in ("one", "until-confirmed")]
    if k <= lists.depth:
        designs.append(Design("settle", k, "verify"))
    if lists.depth > 10:
        designs += [Design("deep", 10, policy) for policy in ("verify", "until-confirmed")]
    return [replace(design, overlap=overlap) for design in designs]


def within_budget(
    designs: Sequence[Design], costs: Sequence[float], budget: float, n_queries: int
) -> list[Design]:
    """Return the designs for a budget: what costs more is cut to a random part of the queries.

    Args:
        costs: of each design with all queries, in the budget's unit.
        n_queries: how many there are; a design of fewer than 40 of them, or than all, is left out.

    Raises:
        UsageError: no design is left.
    """
    least = min(LEAST_QUERIES, n_queries)
    kept = []
    for design, cost in zip(designs, costs, strict=True):
        share = min(1.0, budget / cost)
        if share == 1 or (design.strategy != "deep" and int(share * n_queries) >= least):
            kept.append(replace(design, queries=int(share * n_queries) / n_queries if share < 1 else 1.0))
    if not kept:
        cheapest = min(cost for design, cost in zip(designs, costs, strict=True) if design.strategy != "deep")
        raise UsageError(
            f"a budget of {budget:,.0f} is too small: {least} queries of the cheapest design take "
            f"{cheapest * least / n_queries:,.0f}"
        )
    return kept
