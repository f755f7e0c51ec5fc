"""A judge against people's labels: agreement, calibration, AUC, and what it overrates; or a refusal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.agreement.table import agreement_intervals
from fire_toolkit.arrays import Floats
from fire_toolkit.errors import TableError, UsageError
from fire_toolkit.machines.check_groups import (
    JUDGE,
    PEOPLE,
    JudgedPairs,
    QueryDraws,
    auc,
    calibration,
    group_table,
    limits,
)
from fire_toolkit.results import Result
from fire_toolkit.tables import (
    Judgments,
    Labels,
    MachineJudgments,
    Pool,
    PoolSources,
    asked_judgments,
    check_judgments,
)
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.tables.machine import one_answer_per_pair

LEAST_LABELS = 100
LEAST_EACH = 10  # labelled pairs of either kind
NO_VOTES = (
    "the judge gave no labels, so nothing is said of agreement and groups; --threshold says from which score "
    "on a pair counts as relevant"
)
_STATISTICS = ("alpha", "cohen_kappa", "percent_agreement", "positive_agreement")


class _MachineCheck(NamedTuple):
    statistics: pd.DataFrame
    calibration: pd.DataFrame
    groups: pd.DataFrame
    remarks: tuple[str, ...]


class MachineCheck(_MachineCheck, Result):
    """What `check_judge` returns.

    statistics: statistic, value, low, high, n_pairs, n_queries, note; calibration: by score, n_pairs,
    score_low, score_high, mean_score, share_positive, low, high; groups: kind (`all`, `run`, `rank`, or the
    column of queries), group, n_pairs, people and judge (shares called positive), overrating (judge
    less people), low, high, excess (what the judge calls relevant beyond what it would if it did as in all
    other pairs that people called the same), excess_low, excess_high.
    """

    __slots__ = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what the numbers rest on."""
        return self.remarks


def check_judge(
    machine: MachineJudgments,
    labels: Labels,
    *,
    grades: Mapping[str, float | None],
    judgments: Judgments | None = None,
    sources: PoolSources | None = None,
    pool: Pool | None = None,
    groups: pd.Series | None = None,
    threshold: float | None = None,
    least: int = LEAST_LABELS,
    n_resamples: int = 2000,
    seed: int = 0,
) -> MachineCheck:
    """Return how well one judge does on pairs that people labelled.

    Args:
        machine: of one judge; its samples of a pair are one answer (`one_answer_per_pair`).
        labels: people's; a relevance of 1 or more is positive, one below 0 is no label.
        grades: the grade of each label that the judge may give; None: no vote.
        judgments: of people, for alpha between each vote and the judge, beside alpha among people; without
            it the judge is compared with the labels.
        sources: which run pooled which pair at which rank, for what is overrated by run and by rank.
        pool: with inclusion_probability where the labelled pairs were drawn; each then weighs its inverse,
            and pairs without one are left out.
        groups: of queries, index query_id; its name is the groups' kind.
        threshold: from which score on an answer without label is positive; None: .5 where all scores lie in
            [0, 1], else such answers have no label.
        least: fewer labelled and answered pairs are refused; so are fewer than 10 of either kind.
        n_resamples, seed: of the bootstrap over queries, by which intervals (95%) are had; those of
            agreement by query are those of `agreement_intervals`.

    Returns:
        A `MachineCheck`. What is undefined is nan with a note: scores that all tie, a group of fewer than
        20 pairs.

    Raises:
        UsageError: too few labels to say anything.
        TableError: several judges, a label without grade.

    Examples:
        >>> from fire_toolkit.tables import check_labels, check_machine_judgments
        >>> pairs = pd.DataFrame({"query_id": [f"q{n % 20}" for n in range(200)],
        ...                       "doc_id": [f"d{n}" for n in range(200)]})
        >>> labels = check_labels(pairs.assign(label="x", relevance=[1, 0] * 100))
        >>> score = [0.9 if n % 2 == 0 or n % 10 == 1 else 0.2 for n in range(200)]
        >>> machine = check_machine_judgments(pairs.assign(judge_id="j", score=score))
        >>> found = check_judge(machine, labels, grades={}, n_resamples=200).statistics
        >>> found.loc[found["statistic"].isin(["cohen_kappa", "AUC"]), ["statistic", "value"]]
             statistic  value
        1  cohen_kappa    0.8
        4          AUC    0.9
    """
    both, n_unanswered = _answered(machine, labels)
    chance = _chances(both, pool)
    is_drawn = np.ones(len(both), dtype=bool) if chance is None else chance > 0
    pairs = _as_arrays(both[is_drawn], None if chance is None else chance[is_drawn], grades, threshold)
    _refuse_few(pairs.people, least)
    drawn = QueryDraws(pairs.query, pairs.n_queries, n_resamples, seed)
    statistics = [*_agreements(pairs, judgments, grades), *_auc_rows(pairs, drawn)]
    columns = ["statistic", "value", "low", "high", "n_pairs", "n_queries", "note"]
    return MachineCheck(
        pd.DataFrame(statistics, columns=columns),
        calibration(pairs, drawn),
        group_table(pairs, sources, groups, drawn),
        tuple(_remarks(pairs, n_unanswered, None if chance is None else int((~is_drawn).sum()))),
    )


def _answered(machine: MachineJudgments, labels: Labels) -> tuple[pd.DataFrame, int]:
    """Return the labelled pairs with the judge's answer, and how many labelled pairs have none."""
    judges = machine["judge_id"].unique()
    if len(judges) != 1:
        raise TableError(f"machine judgments of {len(judges)} judges; expected those of one")
    people = labels.loc[labels["relevance"] >= 0, [*PAIR, "relevance"]]
    answers = one_answer_per_pair(machine).rename(columns={"label": "said"})
    both = people.merge(answers, on=PAIR).sort_values(PAIR, ignore_index=True)
    return both, len(people) - len(both)


def _chances(pairs: pd.DataFrame, pool: Pool | None) -> Floats | None:
    """Return the chance with which each pair was drawn, 0 where it is not known; None: of none it is."""
    if pool is None or "inclusion_probability" not in pool.columns:
        return None
    known = pairs[PAIR].merge(pool[[*PAIR, "inclusion_probability"]], on=PAIR, how="left")
    chance = known["inclusion_probability"].fillna(0.0).to_numpy(dtype=np.float64)
    return np.asarray(chance) if chance.any() else None


def _as_arrays(
    both: pd.DataFrame, chance: Floats | None, grades: Mapping[str, float | None], threshold: float | None
) -> JudgedPairs:
    table = both.reset_index(drop=True)
    codes, queries = pd.factorize(table["query_id"])
    score = table["score"].to_numpy(dtype=np.float64)
    return JudgedPairs(
        table,
        codes.astype(np.int64),
        len(queries),
        np.asarray(table["relevance"] >= 1, dtype=np.float64),
        _votes(table["said"], score, grades, threshold),
        score,
        np.ones(len(table)) if chance is None else 1 / chance,
    )


def _votes(
    given: pd.Series, score: Floats, grades: Mapping[str, float | None], threshold: float | None
) -> Floats:
    """Return 1, 0 or nan (no vote) for each answer: by its label, else by its score."""
    unknown = sorted(set(given) - set(grades) - {""})
    if unknown:
        raise TableError(
            f"the judge's label {', '.join(map(repr, unknown[:3]))} is not in the guideline; expected one of "
            f"{', '.join(map(repr, grades))}"
        )
    positive = {label: np.nan if grade is None else float(grade >= 1) for label, grade in grades.items()}
    votes = given.map(positive).to_numpy(dtype=np.float64)
    known = score[~np.isnan(score)]
    if threshold is None and len(known) and known.min() >= 0 and known.max() <= 1:
        threshold = 0.5
    if threshold is None:
        return np.asarray(votes, dtype=np.float64)
    by_score = np.where(np.isnan(score), np.nan, (score >= threshold).astype(np.float64))
    return np.asarray(np.where((given == "").to_numpy(), by_score, votes), dtype=np.float64)


def _refuse_few(people: Floats, least: int) -> None:
    """Raise `UsageError` where too few of the pairs are labelled, relevant, or irrelevant."""
    n, n_positive = len(people), int(people.sum())
    if n < least:
        raise UsageError(
            f"{n} labelled pairs that the judge answered, fewer than {least}: too few to say how good it is; "
            "label more pairs, drawn at random from what it judged"
        )
    few = min(n_positive, n - n_positive)
    if few < LEAST_EACH:
        what = "relevant" if few == n_positive else "irrelevant"
        raise UsageError(
            f"{few} of the {n} labelled pairs are {what}, fewer than {LEAST_EACH}: neither AUC nor agreement "
            "beyond chance can be told; label more pairs"
        )


def _agreements(
    pairs: JudgedPairs, judgments: Judgments | None, grades: Mapping[str, float | None]
) -> Iterator[tuple[object, ...]]:
    """Yield agreement of the judge with people, and alpha among people."""
    has_vote = ~np.isnan(pairs.judge)
    voted = pairs.table[PAIR].assign(
        judge=pairs.judge, people=pairs.people, inclusion_probability=1 / pairs.weight
    )[has_vote]
    if len(voted) < LEAST_EACH:
        nan = (np.nan,) * 3
        yield from ((name, *nan, 0, 0, "no labels") for name in _STATISTICS)
    else:
        yield from _agreement_rows(_of_two(voted), f"judge and {PEOPLE}'s labels")
    if judgments is None:
        return
    votes = _binary(asked_judgments(judgments), grades)
    if len(voted) >= LEAST_EACH:
        each = (
            votes[[*PAIR, "annotator_id", "vote"]]
            .merge(voted.drop(columns=PEOPLE), on=PAIR)
            .rename(columns={"vote": PEOPLE})
        )
        each["doc_id"] = each["doc_id"] + "|" + each["annotator_id"]
        if len(each) >= LEAST_EACH:
            yield from _agreement_rows(
                _of_two(each), f"judge and each vote of {PEOPLE}", ("alpha",), "_votes"
            )
    own = votes.rename(columns={"vote": "label"}).assign(
        label=lambda v: v["label"].astype("int64").astype("str")
    )
    yield from _agreement_rows(check_judgments(own), f"among {PEOPLE}", ("alpha",), "_people")


def _binary(judgments: pd.DataFrame, grades: Mapping[str, float | None]) -> pd.DataFrame:
    """Return people's votes as 1 or 0, without answers that are not votes."""
    vote = judgments["label"].map(
        lambda label: None if grades.get(label) is None else float((grades[label] or 0) >= 1)
    )
    columns = [*PAIR, "annotator_id", *({"round", "inclusion_probability"} & set(judgments.columns))]
    return judgments[columns].assign(vote=vote.astype("float64")).dropna(subset="vote")


def _of_two(voted: pd.DataFrame) -> Judgments:
    """Return each unit twice, once as the judge has it and once as people do."""
    columns = [*PAIR, "inclusion_probability"]
    both = [
        voted[columns].assign(annotator_id=name, label=voted[name].astype("int64").astype("str"))
        for name in (JUDGE, PEOPLE)
    ]
    return check_judgments(pd.concat(both, ignore_index=True))


def _agreement_rows(
    judgments: Judgments, of_whom: str, statistics: tuple[str, ...] = _STATISTICS, suffix: str = ""
) -> Iterator[tuple[object, ...]]:
    found = agreement_intervals(
        judgments,
        statistics=statistics,
        cluster="query_id",
        all_rounds=suffix != "_people",
    )
    n_queries = int(judgments["query_id"].nunique())
    for row in found.to_dict("records"):
        notes = [
            of_whom,
            *(row[name] for name in ("note", "interval_note") if row[name]),
        ]
        values = (row["value"], row["low"], row["high"])
        yield (f"{row['statistic']}{suffix}", *values, int(row["n_pairable"]), n_queries, "; ".join(notes))


def _auc_rows(pairs: JudgedPairs, drawn: QueryDraws) -> Iterator[tuple[object, ...]]:
    is_known = ~np.isnan(pairs.score)
    n = int(is_known.sum())
    n_queries = len(np.unique(pairs.query[is_known]))
    if not n:
        yield "AUC", *(np.nan,) * 3, 0, 0, "the judge gave no scores"
        return
    value = float(auc(pairs.score[is_known], pairs.people[is_known], pairs.weight[None, is_known])[0])
    draws = np.concatenate(
        [
            auc(pairs.score[is_known], pairs.people[is_known], weights[:, is_known])
            for weights in drawn.weights(pairs.weight)
        ]
    )
    low, high = limits(draws[:, None])
    note = "" if n == len(is_known) else f"{len(is_known) - n} answers without score left out"
    yield "AUC", value, float(low[0]), float(high[0]), n, n_queries, note


def _remarks(pairs: JudgedPairs, n_unanswered: int, n_undrawn: int | None) -> Iterator[str]:
    n = len(pairs.people)
    yield f"{n:,} labelled pairs of {pairs.n_queries:,} queries, {int(pairs.people.sum()):,} of them relevant"
    if n_unanswered:
        yield (
            f"{n_unanswered:,} further labelled pairs have no answer of the judge (failed, or not asked): "
            "what is said here holds for those that it answered"
        )
    n_silent = int(np.isnan(pairs.judge).sum())
    if n_silent == n:
        yield NO_VOTES
    elif n_silent:
        yield f"{n_silent:,} answers are not votes (an escalation, or tied samples) and left out of agreement"
    if n_undrawn is None:
        yield (
            "the labelled pairs were not drawn with known chances: the figures are of these pairs, and "
            "hold for others only as far as these represent them"
        )
    else:
        yield "pairs weigh the inverse of the chance with which they were drawn"
        if n_undrawn:
            yield (
                f"{n_undrawn:,} labelled pairs left out, which were not drawn with a known chance: pairs "
                "taken from an order or the original qrels represent only themselves"
            )
