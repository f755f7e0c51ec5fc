"""Simulated annotators: the votes that a design asks for, their number, and the labels that come of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fire_toolkit.arrays import Bools, Floats, Ints, starts_of_lists
from fire_toolkit.planning.designs import Design
from fire_toolkit.planning.lists import Lists
from fire_toolkit.tables.design import CLASSES, DOUBLED, SINGLE, VERIFY

CUTOFFS = (1, 5, 10)  # until-confirmed asks on while a run's top of one of these has no confirmed positive


@dataclass(frozen=True, eq=False)
class Votes:
    """Three votes on each pair, drawn once, so that designs are compared on the same answers.

    first, second, third: of each pair, whether the vote says relevant; draw: of each pair, a number in
    [0, 1): those below the overlap are judged twice.
    """

    first: Bools
    second: Bools
    third: Bools
    draw: Floats

    @property
    def majority(self) -> Bools:
        """Return the label by two votes, and a third where they differ."""
        return np.asarray(np.where(self.first == self.second, self.first, self.third), dtype=bool)

    @property
    def verified(self) -> Bools:
        """Return the label where each positive vote is verified."""
        return self.first & (self.second | self.third)


def draw_votes(truth: Bools, rates: tuple[float, float], rng: np.random.Generator) -> Votes:
    """Return votes that err apart from one another; rates: P(vote 1 | positive), P(vote 1 | not)."""
    chance = np.where(truth, *rates)
    first, second, third = (rng.random(len(truth)) < chance for _ in range(3))
    return Votes(first, second, third, rng.random(len(truth)))


@dataclass(frozen=True, eq=False)
class Answers:
    """What a design's judgments come to, of each pair.

    is_positive: its label, originals among them; design_class: the place of its class in `CLASSES`, -1 where
    it is not asked; deep: where queries are judged deep, the same with all of them judged so.
    """

    is_asked: Bools
    is_positive: Bools
    n_votes: Ints
    design_class: Ints
    deep: Answers | None = None


def answer(lists: Lists, design: Design, votes: Votes) -> Answers:
    """Return the answers to a design that judges all queries."""
    asked = design.pooled(lists)
    is_open: Bools = np.zeros(len(asked), dtype=bool)
    if design.settles:
        is_open = _open_pairs(lists, asked, votes, (design.settles,), lists.by_tops(design.settles))
        asked = is_open
    elif design.policy == "until-confirmed":
        is_open = _open_pairs(lists, asked, votes, CUTOFFS, lists.by_rank)
    is_verified: Bools | bool = is_open if design.policy == "until-confirmed" else design.policy == "verify"
    shallow = _labelled(lists, asked, votes, is_verified, _doubled(design, votes))
    if not design.deep_share:
        return shallow
    rest = (lists.best_rank <= lists.depth) & ~asked
    beyond = _labelled(lists, rest, votes, True, np.zeros(len(rest), dtype=bool))
    both = np.maximum(shallow.design_class, beyond.design_class)
    deep = Answers(
        asked | rest, shallow.is_positive | beyond.is_positive, shallow.n_votes + beyond.n_votes, both
    )
    return replace(shallow, deep=deep)


def _doubled(design: Design, votes: Votes) -> Bools:
    if design.policy == "doubled":
        return np.ones(len(votes.draw), dtype=bool)
    return np.asarray(votes.draw < design.overlap)


def _labelled(
    lists: Lists, asked: Bools, votes: Votes, is_verified: Bools | bool, is_doubled: Bools
) -> Answers:
    is_single = ~np.asarray(is_verified) & ~is_doubled
    label = np.where(is_doubled, votes.majority, np.where(is_single, votes.first, votes.verified))
    n_second = is_doubled | (votes.first & ~is_single)
    n_third = n_second & (votes.first != votes.second)
    n_votes = asked * (1 + n_second.astype(np.int64) + n_third)
    codes = [CLASSES.index(name) for name in (SINGLE, DOUBLED, VERIFY)]
    design_class = np.where(is_single, codes[0], np.where(is_doubled, codes[1], codes[2]))
    return Answers(
        asked,
        (asked & label) | lists.is_original,
        n_votes,
        np.where(asked, design_class, -1).astype(np.int64),
    )


def _open_pairs(lists: Lists, asked: Bools, votes: Votes, cutoffs: tuple[int, ...], order: Ints) -> Bools:
    """Return the pairs that can still give some run its first positive within a cutoff, asked in order.

    A run's top k is closed by an original or a verified positive that it holds; a pair is open where it
    stands in some top k that is not closed.
    """
    order = order[asked[order]]
    n_runs = len(lists.run_ids)
    inside = (lists.ranks[order][:, :, None] <= np.array(cutoffs)).reshape(len(order), -1)
    closed = np.zeros((lists.n_queries, n_runs * len(cutoffs)), dtype=bool)
    original = np.flatnonzero(lists.is_original)
    holds = (lists.ranks[original][:, :, None] <= np.array(cutoffs)).reshape(len(original), -1)
    np.logical_or.at(closed, lists.query[original], holds)
    query, positive = lists.query[order], (votes.verified & ~lists.is_original)[order]
    start = starts_of_lists(np.bincount(query, minlength=lists.n_queries))
    is_open = np.zeros(len(asked), dtype=bool)
    lengths = np.diff(start)
    for place in range(int(lengths.max(initial=0))):
        queries = np.flatnonzero(lengths > place)
        rows = start[queries] + place
        is_useful = (inside[rows] & ~closed[queries]).any(axis=1)
        is_open[order[rows[is_useful]]] = True
        confirming = is_useful & positive[rows]
        closed[queries[confirming]] |= inside[rows[confirming]]
    return is_open
