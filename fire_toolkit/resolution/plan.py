"""Which pairs to ask again, in which order, and what that is expected to buy."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools
from fire_toolkit.errors import UsageError
from fire_toolkit.resolution.rejected import rejected_originals
from fire_toolkit.resolution.resolve import ESCALATED
from fire_toolkit.resolution.vote_table import Grades, VoteTable, count_votes
from fire_toolkit.results import Result
from fire_toolkit.tables import Disputes, Judgments, Labels, Pool, Qrels, check_pool, first_round
from fire_toolkit.tables.columns import PAIR, pair_rows
from fire_toolkit.words import n_of

_Table = TypeVar("_Table", Labels, Disputes, Pool, pd.DataFrame)

STRATA = ("dispute", "escalated", "rejected_original", "unverified_positive", "low_posterior", "random")
BY_DESIGN = "by_design"
FOURTH_VOTE = "fourth_vote"
STRATUM_COLUMNS = ["stratum", "n_pairs", "n_asked", "inclusion_probability", "expected_changes", "note"]
NO_DOUBLED = "no pair has two votes, so nothing is known of how often a second one differs"
OF_FOURTH = (
    "votes on positives by 2 to 1, which no label counts: 100 of them show errors that agree (correlation "
    ".02, .05, .1) with power .45, .90, 1"
)
ENOUGH_ORIGINALS = 10
MOST_RESERVED = 0.1


class _RoundPlan(NamedTuple):
    pool: Pool
    strata: pd.DataFrame
    seconds: float
    kept: int
    unused: int


class RoundPlan(_RoundPlan, Result):
    """A plan: the pairs to ask again, and what each stratum holds, costs and is expected to buy.

    pool: with columns stratum and inclusion_probability; strata: columns stratum, n_pairs (how many there
    are), n_asked, inclusion_probability, expected_changes (labels gained or contradicted), note (what this
    rests on, or why it is nan); seconds: median time of an answer, nan if unknown; kept: how many of the
    budget are kept for the disputes that this round is expected to create; unused: how many nothing claims.
    """

    __slots__ = ()


@dataclass(frozen=True)
class _Stratum:
    """Pairs in the order in which they are asked, and how many of them are wanted.

    pairs: with columns chance (that asking one changes something) and thirds (disputes that it is expected
    to create); is_even: drawn at random, so that each has the same chance of being asked.
    """

    name: str
    pairs: pd.DataFrame
    wanted: int
    note: str = ""
    is_even: bool = True

    @property
    def cost(self) -> float:
        """Answers that a pair is expected to take: one, and a third one where it makes a dispute."""
        return 1.0 + float(self.pairs["thirds"].fillna(0).sum()) / max(len(self.pairs), 1)


def plan_round(
    judgments: Judgments,
    labels: Labels,
    disputes: Disputes,
    *,
    grades: Grades,
    ask: Collection[str] = STRATA,
    original: Qrels | None = None,
    waiting: pd.DataFrame | None = None,
    by_design: pd.DataFrame | None = None,
    fourth: pd.DataFrame | None = None,
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

    Of a budget the random share is set aside first (at most a tenth of the budget); so is an answer for
    each dispute that the pairs asked are expected to create. What the strata leave goes to further pairs
    with one judgment: the least sure ones by the model, where there is one, else at random.

    Args:
        judgments: what the labels were made of.
        labels, disputes: of `resolve`.
        grades: label → relevance.
        ask: which of `STRATA` are asked; the others are counted alone; `fourth_vote` too.
        original: the benchmark's qrels, for rejected originals; None: no such stratum.
        waiting: pairs (query_id, doc_id) that have been asked and wait for an answer: left out.
        by_design: pairs that a policy asks again (`design.open_pairs`): they come first, as a stratum
            `by_design`, whatever `ask` names; None: no policy.
        fourth: positives by 2 to 1 (`design.split_positives`): they come next, as a stratum `fourth_vote`
            that no label counts, if `ask` names it.
        budget: how many answers at most, those to the disputes of this round included, 0 or more; None:
            all that is wanted, and nothing is kept.
        random_share: of the other pairs with one judgment, in [0, 1].
        low_posterior: in [0, 1]; of labels by a model of annotators.
        seed: of the random order, 0 or more.
        round: of the pool, 1 or more.

    Returns:
        A `RoundPlan`. inclusion_probability is the chance with which a pair of the stratum was drawn: 1
        where the stratum is asked whole or from its least sure end. Pairs with one judgment that are
        asked by these chances make an even sample when they weigh their inverse. expected_changes is
        n_asked times how often, on pairs with two votes of their first round, another vote differs from a
        positive (or a negative) one; of rejected originals how often that is so of a negative vote on an
        original, where 10 or more doubled originals have one; of disputes all; of a model 1 − posterior.

    Raises:
        UsageError: an argument out of its range.

    Examples:
        >>> from fire_toolkit.resolution.resolve import resolve
        >>> from fire_toolkit.tables import check_judgments
        >>> judgments = check_judgments(pd.DataFrame({
        ...     "query_id": "q", "doc_id": list("aabcd"), "annotator_id": list("uvuuu"),
        ...     "label": list("10100")}))
        >>> grades = {"0": 0, "1": 1}
        >>> labels, disputes, *_ = resolve(judgments, grades=grades)
        >>> plan = plan_round(judgments, labels, disputes, grades=grades, random_share=0.5)
        >>> plan.pool[["doc_id", "stratum", "inclusion_probability"]].values.tolist()
        [['a', 'dispute', 1.0], ['b', 'unverified_positive', 1.0], ['c', 'random', 0.5]]
    """
    _check_arguments(ask, budget, random_share, low_posterior, seed, round)
    if waiting is not None:
        labels, disputes = _without(labels, waiting), _without(disputes, waiting)
        by_design = None if by_design is None else _without(by_design, waiting)
        fourth = None if fourth is None else _without(fourth, waiting)
    votes = count_votes(first_round(judgments), grades=grades)
    rejected = None if original is None else rejected_originals(labels, original, round=round)
    of_rejected = _changes_of_rejected(votes, original)
    changes = _changes(votes)
    found = [] if by_design is None else [_of_policy(by_design, changes[1])]
    if fourth is not None and FOURTH_VOTE in ask:
        found.append(_whole(FOURTH_VOTE, fourth.assign(n_judgments=3), 0.0, OF_FOURTH))
    for apart in [each.pairs for each in found]:
        labels, disputes = _without(labels, apart), _without(disputes, apart)
        rejected = None if rejected is None else _without(rejected, apart)
    found += _strata(labels, disputes, rejected, changes, of_rejected, low_posterior, random_share)
    draw = np.random.default_rng(seed)
    strata = [
        replace(stratum, pairs=stratum.pairs.iloc[draw.permutation(len(stratum.pairs))])
        if stratum.is_even
        else stratum
        for stratum in found
    ]
    numbers, kept, unused = _shared_out(strata, {*ask, BY_DESIGN}, budget)
    asked, rows = [], []
    for stratum, n_asked in zip(strata, numbers, strict=True):
        chosen, n_pairs = stratum.pairs.iloc[:n_asked], len(stratum.pairs)
        chance = n_asked / n_pairs if stratum.is_even and n_pairs else float(n_asked > 0)
        asked.append(chosen[PAIR].assign(stratum=stratum.name, inclusion_probability=chance))
        bought = float(chosen["chance"].sum(skipna=False))
        rows.append((stratum.name, n_pairs, n_asked, chance, bought, stratum.note))
    durations = judgments["duration_s"].dropna()
    seconds = float(durations.median()) if len(durations) else math.nan
    pool = check_pool(pd.concat(asked).assign(round=round))
    return RoundPlan(pool, pd.DataFrame(rows, columns=STRATUM_COLUMNS), seconds, kept, unused)


def cost_in_words(planned: RoundPlan, number: int) -> Iterator[str]:
    """Yield what a round asks and takes, and what becomes of the rest of the budget."""
    n_asked = int(planned.strata["n_asked"].sum())
    minutes = n_asked * planned.seconds / 60
    hours = f", about {minutes:.0f} minutes" if minutes < 90 else f", about {minutes / 60:,.1f} hours"
    yield f"round {number}: {n_of(n_asked, 'pair')} to ask again{'' if math.isnan(minutes) else hours}"
    if planned.kept:
        yield f"{planned.kept:,} of the budget kept for the disputes that this round is expected to create"
    if planned.unused:
        yield f"{planned.unused:,} of the budget unused: what is asked here holds no more pairs"


def lacks_random(planned: RoundPlan) -> bool:
    """Return whether the budget leaves no random share, so that agreement would be of chosen pairs alone."""
    random = planned.strata.set_index("stratum").loc["random"]
    return bool(random["n_pairs"] and not random["n_asked"])


def _check_arguments(
    ask: Collection[str],
    budget: int | None,
    random_share: float,
    low_posterior: float,
    seed: int,
    number: int,
) -> None:
    unknown = sorted(set(ask) - {*STRATA, FOURTH_VOTE})
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


def _shared_out(
    strata: Sequence[_Stratum], ask: Collection[str], budget: int | None
) -> tuple[list[int], int, int]:
    """Return how many pairs of each stratum to ask, and how much of the budget is kept and unused."""
    numbers = [0] * len(strata)
    if budget is None:
        return [each.wanted if each.name in ask else 0 for each in strata], 0, 0
    left = float(budget)

    def take(place: int, most: int, part: float) -> None:
        nonlocal left
        each = strata[place]
        more = min(most - numbers[place], int(part / each.cost + 1e-9)) if each.name in ask else 0
        numbers[place] += more
        left -= more * each.cost

    random = len(strata) - 1
    take(random, strata[random].wanted, MOST_RESERVED * budget)
    for place, each in enumerate(strata):
        take(place, each.wanted, left)
    take(random, len(strata[random].pairs), left)
    rest = budget - sum(numbers)
    is_short = any(n < each.wanted for n, each in zip(numbers, strata, strict=True) if each.name in ask)
    is_short |= "random" in ask and numbers[random] < len(strata[random].pairs)
    thirds = sum(n * (each.cost - 1) for n, each in zip(numbers, strata, strict=True))
    kept = rest if is_short else min(rest, math.ceil(thirds - 1e-9))
    return numbers, kept, rest - kept


def _changes(votes: VoteTable, is_counted: Bools | None = None) -> tuple[float, float]:
    """Return the chance that another vote is on the other side of a negative one, and of a positive one."""
    is_positive = votes.is_vote & (votes.relevance >= 1)
    rows = slice(None) if is_counted is None else is_counted
    n = votes.n_votes[rows]
    positive = votes.by_label[rows][:, is_positive].sum(axis=1)
    found = []
    for each in (n - positive, positive):
        possible = (each * (n - 1)).sum()
        found.append(float((each * (n - each)).sum() / possible) if possible > 0 else math.nan)
    return found[0], found[1]


def _changes_of_rejected(votes: VoteTable, original: Qrels | None) -> tuple[float, str]:
    """Return the chance that another vote on a rejected original is positive, and what that rests on."""
    plain = _changes(votes)[0]
    if original is None or math.isnan(plain):
        return plain, _noted(plain)
    positives = original[original["relevance"] >= 1]
    is_original = pair_rows(votes.pairs, positives) >= 0
    is_positive = votes.is_vote & (votes.relevance >= 1)
    is_doubted = votes.by_label[:, is_positive].sum(axis=1) < votes.n_votes
    n_known = int((is_original & is_doubted & (votes.n_votes > 1)).sum())
    if n_known < ENOUGH_ORIGINALS:
        few = f"that of all doubled pairs; only {n_known} doubled originals have a negative vote"
        return plain, f"{_noted(plain)} ({few})"
    chance = _changes(votes, is_original)[0]
    return chance, f"{_noted(chance)} (that of {n_known:,} doubled originals with a negative vote)"


def _strata(
    labels: Labels,
    disputes: Disputes,
    rejected: Pool | None,
    changes: tuple[float, float],
    of_rejected: tuple[float, str],
    low_posterior: float,
    random_share: float,
) -> Iterator[_Stratum]:
    """Yield the strata in their order; a pair is in the first that holds it."""
    of_negative, of_positive = changes
    only_escalated = disputes["reason"] == ESCALATED
    yield _whole("dispute", disputes[~only_escalated].assign(n_judgments=0), 1.0)
    yield _whole("escalated", disputes[only_escalated].assign(n_judgments=0), 1.0)
    open_labels = labels
    if rejected is not None:
        open_labels = _without(labels, rejected)
        yield _whole("rejected_original", labels.merge(rejected[PAIR], on=PAIR), *of_rejected)
    single = open_labels["n_judgments"] == 1
    unverified = single & (open_labels["relevance"] >= 1)
    yield _whole("unverified_positive", open_labels[unverified], of_positive, _noted(of_positive))
    has_model = "posterior" in open_labels.columns
    support = open_labels["posterior"] if has_model else pd.Series(1.0, index=open_labels.index)
    unsure = ~unverified & (support < low_posterior)
    doubted = open_labels.assign(support=support)[unsure].sort_values(["support", *PAIR])
    by_model = _whole("low_posterior", doubted, 1 - doubted["support"], "by the model's own posterior")
    yield replace(by_model, is_even=False)
    others = _whole("random", open_labels[single & ~unverified & ~unsure], of_negative, _noted(of_negative))
    yield replace(others, wanted=math.ceil(random_share * others.wanted - 1e-9))


def _of_policy(pairs: pd.DataFrame, of_positive: float) -> _Stratum:
    """Return the stratum of pairs that a policy asks: positives of one vote, and two votes that differ."""
    n_votes = pairs["design_votes"].str.len()
    chance = pd.Series(np.where(n_votes == 1, of_positive, 1.0), index=pairs.index)
    n_second = int((n_votes == 1).sum())
    note = f"by the policy: {n_second:,} second votes on positives, {len(pairs) - n_second:,} third votes"
    return _whole(BY_DESIGN, pairs.assign(n_judgments=n_votes), chance, note)


def _whole(name: str, pairs: pd.DataFrame, chance: float | pd.Series, note: str = "") -> _Stratum:
    """Return the stratum that is asked whole; a second answer that differs from the first is a dispute."""
    found = pairs[PAIR].assign(chance=chance)
    found["thirds"] = found["chance"].where((pairs["n_judgments"] == 1).fillna(False).to_numpy(dtype=bool), 0)
    return _Stratum(name, found, len(pairs), note)


def _noted(chance: float) -> str:
    return NO_DOUBLED if math.isnan(chance) else f"another vote differs with probability {chance:.3f}"


def _without(table: _Table, pairs: pd.DataFrame) -> _Table:
    """Return the rows whose pair is not among `pairs`, which hold each once."""
    joined = table.merge(pairs[PAIR], on=PAIR, how="left", indicator="_found")
    return table[(joined["_found"] == "left_only").to_numpy()]
