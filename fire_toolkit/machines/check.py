"""A judge against people's labels: agreement, calibration, AUC, and what it overrates; or a refusal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from fire_toolkit.agreement.intervals import Resampling
from fire_toolkit.agreement.table import agreement
from fire_toolkit.errors import TableError, UsageError
from fire_toolkit.guidelines.grades import refuse_unknown_labels
from fire_toolkit.inference.resampling import draw_units
from fire_toolkit.machines.groups import auc_row, calibration, group_table
from fire_toolkit.machines.scores import one_answer_per_pair
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

LEAST_LABELS = 100
LEAST_EACH = 10  # labelled pairs of either kind
NO_VOTES = (
    "the judge gave no labels, so nothing is said of agreement and groups; --threshold says from which score "
    "on a pair counts as relevant"
)
_STATISTICS = ("alpha", "cohen_kappa", "percent_agreement", "positive_agreement")

Grades = Mapping[str, float | None]
Votes = Mapping[str, float]  # of each label 1 where it is positive, else 0; nan: no vote


def check_judge(
    machine: MachineJudgments,
    labels: Labels,
    *,
    grades: Grades,
    judgments: Judgments | None = None,
    sources: PoolSources | None = None,
    pool: Pool | None = None,
    groups: pd.Series | None = None,
    threshold: float | None = None,
    n_resamples: int = 2000,
    seed: int = 0,
) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Return how well one judge does on pairs that people labelled, as tables, and what they rest on.

    Args:
        machine: of one judge; its samples of a pair are one answer (`one_answer_per_pair`).
        labels: people's; a relevance of 1 or more is positive, one below 0 is no label.
        grades: the grade of each label that the judge may give; None: no vote.
        judgments: of people, for alpha between each vote and the judge, beside alpha among people; without
            it the judge is compared with the labels.
        sources, pool: which run pooled which pair at which rank, and by which chance pairs were drawn.
        groups: of queries, index query_id; its name is the groups' kind.
        threshold: from which score on an answer without label is positive; None: .5 where all scores lie in
            [0, 1], else such answers have no label.
        n_resamples, seed: of the bootstrap over queries, by which intervals (95%) are had; those of
            agreement by query are those of `agreement`.

    Returns:
        statistics: statistic, value, low, high, n_pairs, n_queries, note; calibration: by score, n_pairs,
        score_low, score_high, mean_score, share_positive, low, high; groups: kind (`all`, `run`, `rank`, or
        the column of queries), group, n_pairs, people and judge (shares called positive), overrating (judge
        less people), low, high, excess (what the judge calls relevant beyond what it would if it did as in
        all other pairs that people called the same), excess_low, excess_high. What is undefined is nan with a
        note: scores that all tie, a group of fewer than 20 pairs.

    Raises:
        UsageError: fewer than 100 labelled and answered pairs, or fewer than 10 of either kind.
        TableError: several judges, a label without grade.
    """
    pairs, remarks = _weighed_pairs(machine, labels, pool)
    positive = {label: np.nan if grade is None else float(grade >= 1) for label, grade in grades.items()}
    refuse_unknown_labels(set(pairs["label"]) - {""}, positive, "the judge's answers")
    score, votes = pairs["score"], pairs["label"].map(positive).astype("float64")
    if threshold is None and score.notna().any() and score.min() >= 0 and score.max() <= 1:
        threshold = 0.5
    if threshold is not None:  # an answer without a label is one by its score
        by_score = (score >= threshold).astype("float64").where(score.notna())
        votes = votes.mask(pairs["label"] == "", by_score)
    pairs = pairs.assign(vote=votes)
    n, n_positive = len(pairs), int(pairs["people"].sum())
    if n < LEAST_LABELS:
        raise UsageError(
            f"{n} labelled pairs that the judge answered, fewer than {LEAST_LABELS}: too few to say how good "
            "it is; label more pairs, drawn at random from what it judged"
        )
    if (few := min(n_positive, n - n_positive)) < LEAST_EACH:
        what = "relevant" if few == n_positive else "irrelevant"
        raise UsageError(
            f"{few} of the {n} labelled pairs are {what}, fewer than {LEAST_EACH}: neither AUC nor agreement "
            "beyond chance can be told; label more pairs"
        )
    n_queries = int(pairs["query"].max()) + 1
    drawn = draw_units(n_queries, n_resamples=n_resamples, seed=seed)
    draws = np.concatenate([np.ones((1, n_queries)), *drawn])
    statistics = [*_agreements(pairs, judgments, positive), auc_row(pairs, draws)]
    columns = ["statistic", "value", "low", "high", "n_pairs", "n_queries", "note"]
    n_silent = int(pairs["vote"].isna().sum())
    silent = f"{n_silent:,} answers are not votes (an escalation, or tied samples) and left out of agreement"
    silent = NO_VOTES if n_silent == n else silent
    count = f"{n:,} labelled pairs of {n_queries:,} queries, {n_positive:,} of them relevant"
    tables = {
        "statistics": pd.DataFrame(statistics, columns=columns),
        "calibration": calibration(pairs, draws),
        "groups": group_table(pairs, sources, groups, draws),
    }
    return tables, list(filter(None, [count, remarks[0], silent if n_silent else "", *remarks[1:]]))


def _weighed_pairs(
    machine: MachineJudgments, labels: Labels, pool: Pool | None
) -> tuple[pd.DataFrame, list[str]]:
    """Return the labelled pairs with the judge's answer and their weight, and what was left out, in words."""
    judges = machine["judge_id"].unique()
    if len(judges) != 1:
        raise TableError(f"machine judgments of {len(judges)} judges; expected those of one")
    people = labels.loc[labels["relevance"] >= 0, [*PAIR, "relevance"]]
    both = people.merge(one_answer_per_pair(machine), on=PAIR).sort_values(PAIR, ignore_index=True)
    both = both.assign(people=(both["relevance"] >= 1).astype("float64"), weight=1.0)
    unanswered = (
        f"{len(people) - len(both):,} further labelled pairs have no answer of the judge (failed, or not "
        "asked): what is said here holds for those that it answered"
    )
    words = [unanswered if len(people) > len(both) else ""]
    chance = np.zeros(len(both))
    if pool is not None and "inclusion_probability" in pool.columns:
        known = both[PAIR].merge(pool[[*PAIR, "inclusion_probability"]], on=PAIR, how="left")
        chance = known["inclusion_probability"].fillna(0.0).to_numpy(dtype=np.float64)
    if not chance.any():
        words.append(
            "the labelled pairs were not drawn with known chances: the figures are of these pairs, and "
            "hold for others only as far as these represent them"
        )
        return both.assign(query=pd.factorize(both["query_id"])[0]), words
    words.append("pairs weigh the inverse of the chance with which they were drawn")
    if n_undrawn := int((chance == 0).sum()):
        words.append(
            f"{n_undrawn:,} labelled pairs left out, which were not drawn with a known chance: pairs "
            "taken from an order or the original qrels represent only themselves"
        )
    both = both[chance > 0].assign(weight=1 / chance[chance > 0]).reset_index(drop=True)
    return both.assign(query=pd.factorize(both["query_id"])[0]), words


def _agreements(
    pairs: pd.DataFrame, judgments: Judgments | None, positive: Votes
) -> Iterator[tuple[object, ...]]:
    """Yield agreement of the judge with people's labels and each of their votes, and alpha among people."""
    columns = [*PAIR, "inclusion_probability"]
    voted = pairs.assign(inclusion_probability=1 / pairs["weight"]).dropna(subset="vote")
    if is_enough := len(voted) >= LEAST_EACH:
        yield from _agreement_rows(_of_two(voted), "judge and people's labels", _STATISTICS)
    else:
        yield from ((name, *(np.nan,) * 3, 0, 0, "no labels") for name in _STATISTICS)
    if judgments is None:
        return
    asked = asked_judgments(judgments)
    further = [name for name in ("round", "inclusion_probability") if name in asked.columns]
    votes = asked[[*PAIR, "annotator_id", *further]].assign(people=asked["label"].map(positive))
    votes = votes.dropna(subset="people")
    each = votes[[*PAIR, "annotator_id", "people"]].merge(voted[[*columns, "vote"]], on=PAIR)
    each["doc_id"] = each["doc_id"] + "|" + each["annotator_id"]
    if is_enough and len(each) >= LEAST_EACH:
        yield from _agreement_rows(_of_two(each), "judge and each vote of people", ["alpha"], "_votes")
    own = check_judgments(votes.assign(label=_as_labels(votes["people"])).drop(columns="people"))
    yield from _agreement_rows(own, "among people", ["alpha"], "_people")


def _of_two(voted: pd.DataFrame) -> Judgments:
    """Return each unit twice, once as the judge has it and once as people do."""
    ids = voted[[*PAIR, "inclusion_probability"]]
    names = {"judge": "vote", "people": "people"}
    both = [ids.assign(annotator_id=who, label=_as_labels(voted[name])) for who, name in names.items()]
    return check_judgments(pd.concat(both, ignore_index=True))


def _as_labels(votes: pd.Series) -> pd.Series:
    return votes.astype("int64").astype("str")


def _agreement_rows(
    judgments: Judgments, of_whom: str, statistics: Sequence[str], suffix: str = ""
) -> Iterator[tuple[object, ...]]:
    found = agreement(
        judgments,
        statistics=statistics,
        intervals=Resampling(),
        cluster="query_id",
        all_rounds=suffix != "_people",
    )
    n_queries = int(judgments["query_id"].nunique())
    for row in found.to_dict("records"):
        note = "; ".join(filter(None, dict.fromkeys([of_whom, row["note"], row["interval_note"]])))
        values = (row["value"], row["low"], row["high"])
        yield f"{row['statistic']}{suffix}", *values, int(row["n_pairable"]), n_queries, note
