"""Which pairs to ask again, in which order, and what that is expected to buy."""

import math
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools
from fire_toolkit.errors import UsageError
from fire_toolkit.resolution.design import votes_in_order
from fire_toolkit.resolution.judgments import first_round
from fire_toolkit.resolution.resolve import ESCALATED
from fire_toolkit.resolution.votes import Grades, Votes, code_votes
from fire_toolkit.results import Result
from fire_toolkit.tables import Disputes, Judgments, Labels, Pool, Qrels, check_pool
from fire_toolkit.tables.columns import PAIR, are_positives, pair_rows
from fire_toolkit.words import n_of

STRATA = ("dispute", "escalated", "rejected_original", "unverified_positive", "low_posterior", "random")
BY_DESIGN = "by_design"
UNANSWERED = "unanswered"
FOURTH_VOTE = "fourth_vote"
STRATUM_COLUMNS = ["stratum", "n_pairs", "n_asked", "inclusion_probability", "expected_changes", "note"]
NO_DOUBLED = "no pair has two votes, so nothing is known of how often a second one differs"
OF_FOURTH = (
    "votes on positives by 2 to 1, which no label counts: 100 of them show errors that agree (correlation "
    ".02, .05, .1) with power .45, .90, 1"
)
ENOUGH_ORIGINALS = 10
MOST_RESERVED = 0.1
_IN_ORDER = "low_posterior"  # asked from the least sure on; of other strata whoever the draw names


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
    unanswered: pd.DataFrame | None = None,
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
        ask: which of `STRATA` are asked; the others are counted alone. `fourth_vote`: positives by 2 to 1
            too, after those of a policy, as a stratum that no label counts.
        original: the benchmark's qrels, for rejected originals; None: no such stratum.
        waiting: pairs (query_id, doc_id) that have been asked and wait for an answer: left out.
        by_design: pairs that a policy asks again (`design.open_pairs`): they come first, as a stratum
            `by_design`, whatever `ask` names; None: no policy.
        unanswered: pairs that were asked and came back without a vote (skipped, reported, rejected): they
            come before all others, as a stratum `unanswered`, whatever `ask` names; None or empty: no such
            stratum.
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
    unknown = ", ".join(sorted(set(ask) - {*STRATA, FOURTH_VOTE}))
    shares = {"random_share": random_share, "low_posterior": low_posterior}
    for is_right, wrong in (
        (not unknown, f"ask names {unknown}; expected some of {', '.join(STRATA)}"),
        (budget is None or budget >= 0, f"budget is {budget}; expected 0 or more pairs"),
        *((0 <= x <= 1, f"{name} is {x}; expected a number from 0 to 1") for name, x in shares.items()),
        (seed >= 0, f"seed is {seed}, expected 0 or more"),
        (round >= 1, f"round is {round}; expected 1 or more"),
    ):
        if not is_right:
            raise UsageError(wrong)
    taken = disputes.iloc[:0][PAIR] if waiting is None else waiting[PAIR]
    votes = code_votes(first_round(judgments), grades=grades)
    found = [*_of_asked(unanswered, by_design, taken, votes)]
    if FOURTH_VOTE in ask:  # of three votes one differs; if errors are independent, a fourth is as expected
        voted = votes_in_order(judgments, grades=grades)
        voted = voted[voted["design_votes"].isin(["101", "011"])]
        voted = voted if original is None else voted[~are_positives(voted, original)]
        found.append((FOURTH_VOTE, voted[PAIR], 0.0, OF_FOURTH))
    found += _of_what_is_known(labels, disputes, votes, original, low_posterior)
    draw, strata = np.random.default_rng(seed), []
    for name, pairs, chance, note in found:  # a pair is in the first stratum that holds it
        is_single = pairs["n_judgments"].eq(1).fillna(False) if "n_judgments" in pairs else False
        pairs = pairs[PAIR].assign(chance=chance, is_single=is_single)[pair_rows(pairs, taken) < 0]
        taken = pd.concat([taken, pairs[PAIR]], ignore_index=True)
        in_order = np.arange(len(pairs)) if name == _IN_ORDER else draw.permutation(len(pairs))
        strata.append((name, pairs.iloc[in_order], note))
    numbers, kept, unused = _shared_out(strata, {*ask, BY_DESIGN, UNANSWERED}, random_share, budget)
    asked, rows = [], []
    for (name, pairs, note), n_asked in zip(strata, numbers, strict=True):
        chosen, n_pairs = pairs.iloc[:n_asked], len(pairs)
        share = n_asked / n_pairs if name != _IN_ORDER and n_pairs else float(n_asked > 0)
        asked.append(chosen[PAIR].assign(stratum=name, inclusion_probability=share))
        rows.append((name, n_pairs, n_asked, share, float(chosen["chance"].sum(skipna=False)), note))
    pool = check_pool(pd.concat(asked).assign(round=round))
    seconds = float(judgments["duration_s"].median())
    return RoundPlan(pool, pd.DataFrame(rows, columns=STRATUM_COLUMNS), seconds, kept, unused)


def rejected_originals(labels: Labels, original: Qrels, *, round: int) -> Pool:  # noqa: A002
    """Return the original positives whose label is not positive, as a pool to be asked again.

    Neither side is to be believed yet: an original positive was somebody's caption of this very item, and
    a label is often one annotator's (in the FIRE paper's data 23.6% of judged originals were rejected, by
    single annotators). round: of the pool. best_rank and n_runs are missing.

    Examples:
        >>> from fire_toolkit.tables import check_labels, check_qrels
        >>> original = check_qrels(pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "relevance": 1}))
        >>> labels = check_labels(pd.DataFrame(
        ...     {"query_id": "q", "doc_id": ["b", "c"], "label": "no", "relevance": 0}))
        >>> rejected_originals(labels, original, round=2)[["doc_id", "is_original", "round"]]
          doc_id  is_original  round
        0      b         True      2
    """
    return check_pool(_rejected(labels, original)[PAIR].assign(is_original=True, round=round))


def cost_in_words(planned: RoundPlan, number: int) -> Iterator[str]:
    """Yield what a round asks and takes, and what becomes of the rest of the budget."""
    n_asked = int(planned.strata["n_asked"].sum())
    minutes = n_asked * planned.seconds / 60
    takes = n_of(round(minutes), "minute") if minutes < 90 else f"{minutes / 60:,.1f} hours"
    known = "" if math.isnan(minutes) else f", about {takes}"
    yield f"round {number}: {n_of(n_asked, 'pair')} to ask again{known}"
    if planned.kept:
        yield f"{planned.kept:,} of the budget kept for the disputes that this round is expected to create"
    if planned.unused:
        yield f"{planned.unused:,} of the budget unused: what is asked here holds no more pairs"


_Stratum = tuple[str, pd.DataFrame, Any, str]  # name, pairs, chance that asking one changes something, note


def _of_asked(
    unanswered: pd.DataFrame | None,
    by_design: pd.DataFrame | None,
    waiting: pd.DataFrame,
    votes: Votes,
) -> Iterator[_Stratum]:
    """Yield what came back without a vote, and what a policy asks."""
    if unanswered is not None and len(unanswered):
        note = "no vote: left, skipped, reported, rejected, excluded or not asked for"
        yield UNANSWERED, unanswered[PAIR], 1.0, note
    if by_design is not None:
        pairs = by_design[pair_rows(by_design, waiting) < 0]
        n_votes = pairs["design_votes"].str.len()
        n_second = int((n_votes == 1).sum())
        note = f"by the policy: {n_second:,} second votes on positives, {len(pairs) - n_second:,} third votes"
        chance = np.where(n_votes == 1, _changes(votes)[1], 1.0)
        yield BY_DESIGN, pairs[PAIR].assign(n_judgments=n_votes), chance, note


def _of_what_is_known(
    labels: Labels, disputes: Disputes, votes: Votes, original: Qrels | None, low_posterior: float
) -> Iterator[_Stratum]:
    """Yield the strata of disputes and of pairs that have a label, in their order."""
    is_escalated = disputes["reason"] == ESCALATED
    yield "dispute", disputes[PAIR][~is_escalated], 1.0, ""
    yield "escalated", disputes[PAIR][is_escalated], 1.0, ""
    of_negative, of_positive = _changes(votes)
    if original is not None:
        is_original = are_positives(votes.pairs, original)
        is_doubted = votes.by_label[:, votes.grades >= 1].sum(axis=1) < votes.n_votes
        n_known = int((is_original & is_doubted & votes.is_pairable).sum())
        chance = of_negative if n_known < ENOUGH_ORIGINALS else _changes(votes, is_original)[0]
        of = f"that of {n_known:,} doubled originals with a negative vote"
        if n_known < ENOUGH_ORIGINALS:
            of = f"that of all doubled pairs; doubled originals with a negative vote: only {n_known}"
        note = _noted(chance) if math.isnan(chance) else f"{_noted(chance)} ({of})"
        yield "rejected_original", _rejected(labels, original), chance, note
    is_single = labels["n_judgments"] == 1
    is_unverified = is_single & (labels["relevance"] >= 1)
    yield "unverified_positive", labels[is_unverified], of_positive, _noted(of_positive)
    support = labels.get("posterior", pd.Series(1.0, index=labels.index))
    is_unsure = ~is_unverified & (support < low_posterior)
    doubted = labels.assign(support=support)[is_unsure].sort_values(["support", *PAIR])
    yield "low_posterior", doubted, 1 - doubted["support"], "by the model's own posterior"
    yield "random", labels[is_single & ~is_unverified & ~is_unsure], of_negative, _noted(of_negative)


def _shared_out(
    strata: Sequence[tuple[str, pd.DataFrame, str]],
    ask: Collection[str],
    random_share: float,
    budget: int | None,
) -> tuple[list[int], int, int]:
    """Return how many pairs of each stratum to ask, and how much of the budget is kept and unused.

    A pair is expected to cost one answer; one with a single vote also a third one, where the second differs
    and makes a dispute. The last stratum is the random share: it is served before all others, and again at
    the end.
    """
    sizes = [len(pairs) * (name in ask) for name, pairs, _ in strata]
    wanted = [*sizes[:-1], math.ceil(random_share * sizes[-1] - 1e-9)]
    if budget is None:
        return wanted, 0, 0
    costs = [
        1 + float(pairs["chance"].where(pairs["is_single"], 0).fillna(0).sum()) / max(len(pairs), 1)
        for _, pairs, _ in strata
    ]
    numbers, left, last = [0] * len(strata), float(budget), len(strata) - 1
    turns = [
        (last, wanted[last], MOST_RESERVED * budget),
        *((n, most, None) for n, most in enumerate(wanted)),
    ]
    for place, most, part in [*turns, (last, sizes[last], None)]:
        affordable = int((left if part is None else part) / costs[place] + 1e-9)
        more = min(most - numbers[place], affordable)
        numbers[place] += more
        left -= more * costs[place]
    rest = budget - sum(numbers)
    thirds = sum(n * (cost - 1) for n, cost in zip(numbers, costs, strict=True))
    kept = rest if any(map(int.__lt__, numbers, sizes)) else min(rest, math.ceil(thirds - 1e-9))
    return numbers, kept, rest - kept


def _rejected(labels: Labels, original: Qrels) -> pd.DataFrame:
    """Return the labels of original positives that are not positive."""
    return labels[are_positives(labels, original) & (labels["relevance"] < 1)]


def _changes(votes: Votes, is_counted: Bools | None = None) -> tuple[float, float]:
    """Return the chance that another vote is on the other side of a negative one, and of a positive one."""
    rows = slice(None) if is_counted is None else is_counted
    n, positive = votes.n_votes[rows], votes.by_label[rows][:, votes.grades >= 1].sum(axis=1)
    found = []
    for each in (n - positive, positive):
        possible = (each * (n - 1)).sum()
        found.append(float((each * (n - each)).sum() / possible) if possible > 0 else math.nan)
    return found[0], found[1]


def _noted(chance: float) -> str:
    return NO_DOUBLED if math.isnan(chance) else f"another vote differs with probability {chance:.3f}"
