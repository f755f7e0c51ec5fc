"""Which pairs to ask again, in which order, and what that is expected to buy."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
import pandas as pd

from fire_toolkit.errors import UsageError
from fire_toolkit.resolution.rejected import rejected_originals
from fire_toolkit.resolution.resolve import ESCALATED
from fire_toolkit.resolution.vote_table import Grades, VoteTable, count_votes
from fire_toolkit.results import Result
from fire_toolkit.tables import Disputes, Judgments, Labels, Pool, Qrels, check_pool, first_round
from fire_toolkit.tables.columns import PAIR

_Table = TypeVar("_Table", Labels, Disputes)

STRATA = ("dispute", "escalated", "rejected_original", "unverified_positive", "low_posterior", "random")
DOUBTED_BY = ("posterior", "weight_share")
STRATUM_COLUMNS = ["stratum", "n_pairs", "n_asked", "inclusion_probability", "expected_changes", "note"]
NO_DOUBLED = "no pair has two votes, so nothing is known of how often a second one differs"


class _RoundPlan(NamedTuple):
    pool: Pool
    strata: pd.DataFrame
    seconds: float


class RoundPlan(_RoundPlan, Result):
    """A plan: the pairs to ask again, and what each stratum holds, costs and is expected to buy.

    pool: with columns stratum and inclusion_probability; strata: columns stratum, n_pairs (how many there
    are), n_asked, inclusion_probability, expected_changes (labels gained or contradicted), note (what this
    rests on, or why it is nan); seconds: median time of an answer, nan if unknown.
    """

    __slots__ = ()


@dataclass(frozen=True)
class _Stratum:
    """Pairs with a column chance, that asking one changes something; share: how many of them are wanted."""

    name: str
    pairs: pd.DataFrame
    note: str = ""
    share: float = 1.0
    is_ordered: bool = False


def plan_round(
    judgments: Judgments,
    labels: Labels,
    disputes: Disputes,
    *,
    grades: Grades,
    ask: Collection[str] = STRATA,
    original: Qrels | None = None,
    waiting: pd.DataFrame | None = None,
    budget: int | None = None,
    random_share: float = 0.02,
    low_posterior: float = 0.9,
    seed: int = 0,
    round: int = 2,  # noqa: A002
) -> RoundPlan:
    """Return the pairs to ask one more annotator about, the most useful first, up to a budget.

    In this order, each pair once: disputes; pairs that were only escalated; original positives that the
    labels reject; positives that one judgment alone calls so; labels that a model is less sure of than
    `low_posterior`, the least sure first; and of the other pairs with one judgment a random share, for
    agreement. Within a stratum the order is random but for the model's.

    Args:
        judgments: what the labels were made of.
        labels, disputes: of `resolve`.
        grades: label → relevance.
        ask: which of `STRATA` are asked; the others are counted alone.
        original: the benchmark's qrels, for rejected originals; None: no such stratum.
        waiting: pairs (query_id, doc_id) that have been asked and wait for an answer: left out.
        budget: how many pairs at most, 0 or more; None: all.
        random_share: of the other pairs with one judgment, in [0, 1].
        low_posterior: in [0, 1]; of labels by a model of annotators, or by `weighted`.
        seed: of the random order, 0 or more.
        round: of the pool, 1 or more.

    Returns:
        A `RoundPlan`. inclusion_probability is the chance with which a pair of the stratum was drawn: 1
        where the stratum is asked whole or from its least sure end. Pairs with one judgment that are
        asked by these chances make an even sample when they weigh their inverse. expected_changes is
        n_asked times how often, on pairs with two votes of their first round, another vote differs from a
        positive (or a negative) one; of disputes all; of a model 1 − posterior.

    Raises:
        UsageError: an argument out of its range.

    Examples:
        >>> from fire_toolkit.resolution import resolve
        >>> from fire_toolkit.tables import check_judgments
        >>> judgments = check_judgments(pd.DataFrame({
        ...     "query_id": "q", "doc_id": list("aabcd"), "annotator_id": list("uvuuu"),
        ...     "label": list("10100")}))
        >>> grades = {"0": 0, "1": 1}
        >>> plan = plan_round(judgments, *resolve(judgments, grades=grades), grades=grades, random_share=0.5)
        >>> plan.pool[["doc_id", "stratum", "inclusion_probability"]].values.tolist()
        [['a', 'dispute', 1.0], ['b', 'unverified_positive', 1.0], ['c', 'random', 0.5]]
    """
    _check_arguments(ask, budget, random_share, low_posterior, seed, round)
    if waiting is not None:
        labels, disputes = _without(labels, waiting), _without(disputes, waiting)
    rejected = None if original is None else rejected_originals(labels, original, round=round)
    changes = _changes(count_votes(first_round(judgments), grades=grades))
    left = len(labels) + len(disputes) if budget is None else budget
    draw = np.random.default_rng(seed)
    asked, rows = [], []
    for stratum in _strata(labels, disputes, rejected, changes, low_posterior, random_share):
        pairs = stratum.pairs
        if not stratum.is_ordered:
            pairs = pairs.iloc[draw.permutation(len(pairs))]
        share = stratum.share if stratum.name in ask else 0.0
        chosen = pairs.iloc[: min(math.ceil(share * len(pairs) - 1e-9), left)]
        left -= len(chosen)
        chance = float(share > 0) if stratum.is_ordered or not len(pairs) else len(chosen) / len(pairs)
        asked.append(chosen[PAIR].assign(stratum=stratum.name, inclusion_probability=chance))
        bought = float(chosen["chance"].sum(skipna=False))
        rows.append((stratum.name, len(pairs), len(chosen), chance, bought, stratum.note))
    durations = judgments["duration_s"].dropna()
    seconds = float(durations.median()) if len(durations) else math.nan
    pool = check_pool(pd.concat(asked).assign(round=round))
    return RoundPlan(pool, pd.DataFrame(rows, columns=STRATUM_COLUMNS), seconds)


def _check_arguments(
    ask: Collection[str],
    budget: int | None,
    random_share: float,
    low_posterior: float,
    seed: int,
    number: int,
) -> None:
    unknown = sorted(set(ask) - set(STRATA))
    if unknown:
        raise UsageError(f"ask names {', '.join(unknown)}; expected some of {', '.join(STRATA)}")
    if budget is not None and budget < 0:
        raise UsageError(f"budget is {budget}; expected 0 or more pairs")
    for name, share in (("random_share", random_share), ("low_posterior", low_posterior)):
        if not 0 <= share <= 1:
            raise UsageError(f"{name} is {share}; expected a number from 0 to 1")
    if seed < 0:
        raise UsageError(f"seed is {seed}, expected 0 or more")
    if number < 1:
        raise UsageError(f"round is {number}; expected 1 or more")


def _changes(votes: VoteTable) -> tuple[float, float]:
    """Return the chance that another vote is on the other side of a negative one, and of a positive one."""
    is_positive = votes.is_vote & (votes.relevance >= 1)
    n = votes.n_votes
    positive = votes.by_label[:, is_positive].sum(axis=1)
    found = []
    for each in (n - positive, positive):
        possible = (each * (n - 1)).sum()
        found.append(float((each * (n - each)).sum() / possible) if possible > 0 else math.nan)
    return found[0], found[1]


def _strata(
    labels: Labels,
    disputes: Disputes,
    rejected: Pool | None,
    changes: tuple[float, float],
    low_posterior: float,
    random_share: float,
) -> Iterator[_Stratum]:
    """Yield the strata in their order; a pair is in the first that holds it."""
    of_negative, of_positive = changes
    only_escalated = disputes["reason"] == ESCALATED
    yield _Stratum("dispute", disputes.loc[~only_escalated, PAIR].assign(chance=1.0))
    yield _Stratum("escalated", disputes.loc[only_escalated, PAIR].assign(chance=1.0))
    open_labels = labels
    if rejected is not None:
        yield _Stratum("rejected_original", rejected[PAIR].assign(chance=of_negative), _noted(of_negative))
        open_labels = _without(open_labels, rejected)
    single = open_labels["n_judgments"] == 1
    unverified = single & (open_labels["relevance"] >= 1)
    positives = open_labels.loc[unverified, PAIR].assign(chance=of_positive)
    yield _Stratum("unverified_positive", positives, _noted(of_positive))
    known = [open_labels[name] for name in DOUBTED_BY if name in open_labels.columns]
    support = known[0] if known else pd.Series(1.0, index=open_labels.index)
    unsure = ~unverified & (support < low_posterior)
    doubted = open_labels[PAIR].assign(support=support, chance=1 - support)[unsure]
    doubted = doubted.sort_values(["support", *PAIR])
    yield _Stratum("low_posterior", doubted, "by the model's own posterior", is_ordered=True)
    others = open_labels.loc[single & ~unverified & ~unsure, PAIR].assign(chance=of_negative)
    yield _Stratum("random", others, _noted(of_negative), share=random_share)


def _noted(chance: float) -> str:
    return NO_DOUBLED if math.isnan(chance) else f"another vote differs with probability {chance:.3f}"


def _without(table: _Table, pairs: pd.DataFrame) -> _Table:
    """Return the rows whose pair is not among `pairs`, which hold each once."""
    joined = table.merge(pairs[PAIR], on=PAIR, how="left", indicator="_found")
    return table[(joined["_found"] == "left_only").to_numpy()]
