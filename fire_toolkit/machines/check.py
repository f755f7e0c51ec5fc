"""A judge against people's labels: agreement, calibration, AUC, and what it overrates; or a refusal.

`pairs` are those labelled that the judge answered, with columns query_id, doc_id; query (code); people (1
where relevant); vote of the judge (1, 0, or nan where it gave none); score (nan where none); weight (inverse
inclusion probability). Numbers are had at once from the pairs as they are and from resamples of their
queries: `draws` says what each query weighs in each, and its first row is the queries as they are.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.agreement.intervals import N_RESAMPLES
from fire_toolkit.agreement.statistic import divide
from fire_toolkit.agreement.table import agreement
from fire_toolkit.arrays import Bools, Floats
from fire_toolkit.errors import TableError, UsageError
from fire_toolkit.guidelines.model import Grades, refuse_unknown_labels
from fire_toolkit.inference.judged_pairs import pooled_by
from fire_toolkit.inference.limits import share_interval
from fire_toolkit.inference.resampling import draw_weights
from fire_toolkit.machines.scores import one_answer_per_pair
from fire_toolkit.reporting.templates import rendered
from fire_toolkit.resolution.judgments import first_round
from fire_toolkit.tables import (
    Judgments,
    Labels,
    MachineJudgments,
    Pool,
    PoolSources,
    asked_judgments,
    check_judgments,
)
from fire_toolkit.tables.columns import PAIR, pair_rows

LEAST_LABELS = 100
LEAST_EACH = 10  # labelled pairs of either kind
LEAST_IN_GROUP = 20
N_BINS = 10
BANDS = {"1": (1, 1), "2-5": (2, 5), "6-10": (6, 10), "11-20": (11, 20), "21 and more": (21, np.inf)}
_CELLS = 1 << 22
_STATISTICS = ("alpha", "cohen_kappa", "percent_agreement", "positive_agreement")

Votes = Mapping[str, float]  # of each label 1 where it is positive, else 0; nan: no vote


def check_judge(
    machine: MachineJudgments,
    labels: Labels,
    *,
    grades: Grades,
    judgments: Judgments | None = None,
    sources: PoolSources | None = None,
    pool: Pool | None = None,
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
        threshold: from which score on an answer without label is positive; None: .5 where all scores lie in
            [0, 1], else such answers have no label.
        n_resamples, seed: of the Bayesian bootstrap over queries, by which intervals (95%) are had; those of
            agreement by query are those of `agreement`, those of calibration score intervals.

    Returns:
        statistics: statistic, value, low, high, n_pairs, n_queries, note; calibration: by score, n_pairs,
        score_low, score_high, mean_score, share_positive, low, high; groups: kind (`all`, `run` or `rank`),
        group, n_pairs, people and judge (shares called positive), overrating (judge less people), low, high,
        excess (what the judge calls relevant beyond what it would if it did as in all other pairs that people
        called the same), excess_low, excess_high. What is undefined is nan with a note: scores that all tie,
        a group of fewer than 20 pairs.

    Raises:
        UsageError: fewer than 100 labelled and answered pairs, or fewer than 10 of either kind.
        TableError: several judges, a label without grade.
    """
    pairs, facts = _weighed_pairs(machine, labels, pool)
    positive = {label: np.nan if grade is None else float(grade >= 1) for label, grade in grades.items()}
    refuse_unknown_labels(set(pairs["label"]) - {""}, positive, "the judge's answers")
    score, votes = pairs["score"], pairs["label"].map(positive).astype("float64")
    if threshold is None and score.notna().any() and score.min() >= 0 and score.max() <= 1:
        threshold = 0.5
    by_score = (pairs["label"] == "") & score.notna()  # an answer without a label is one by its score
    if threshold is not None:
        votes = votes.mask(by_score, (score >= threshold).astype("float64"))
    pairs = pairs.assign(vote=votes)
    n, n_positive = len(pairs), int(pairs["people"].sum())
    if n < LEAST_LABELS:
        words = f"{n} labelled pairs that the judge answered, fewer than {LEAST_LABELS}: too few to say"
        raise UsageError(f"{words} how good it is; label more pairs, drawn at random from what it judged")
    if (few := min(n_positive, n - n_positive)) < LEAST_EACH:
        what = "relevant" if few == n_positive else "irrelevant"
        words = f"{few} of the {n} labelled pairs are {what}, fewer than {LEAST_EACH}: neither AUC nor"
        raise UsageError(f"{words} agreement beyond chance can be told; label more pairs")
    n_queries = int(pairs["query"].max()) + 1
    drawn = draw_weights(np.ones(n_queries), n_resamples=n_resamples, seed=seed)
    draws = np.concatenate([np.ones((1, n_queries)), *drawn])
    statistics = [*_agreements(pairs, judgments, positive), _auc_row(pairs, draws)]
    columns = ["statistic", "value", "low", "high", "n_pairs", "n_queries", "note"]
    tables = {
        "statistics": pd.DataFrame(statistics, columns=columns),
        "calibration": _calibration(pairs),
        "groups": _group_table(pairs, sources, draws),
    }
    facts |= {"n": n, "n_queries": n_queries, "n_positive": n_positive}
    facts |= {"n_silent": int(votes.isna().sum()), "threshold": threshold if by_score.any() else None}
    return tables, rendered("machines", "check.txt", **facts).splitlines()


def _weighed_pairs(
    machine: MachineJudgments, labels: Labels, pool: Pool | None
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the labelled pairs with the judge's answer and their weight, and how many have no answer, and no
    known chance where others have one (n_undrawn)."""
    judges = machine["judge_id"].unique()
    if len(judges) != 1:
        raise TableError(f"machine judgments of {len(judges)} judges; expected those of one")
    people = labels[[*PAIR, "relevance"]][labels["relevance"] >= 0]
    both = people.merge(one_answer_per_pair(machine), on=PAIR).sort_values(PAIR, ignore_index=True)
    both = both.assign(people=(both["relevance"] >= 1).astype("float64"), weight=1.0)
    n_unanswered, n_undrawn = len(people) - len(both), None
    if pool is not None and "inclusion_probability" in pool.columns:
        chance = both[PAIR].merge(pool[[*PAIR, "inclusion_probability"]], how="left")["inclusion_probability"]
        if (is_drawn := chance > 0).any():
            both = both.assign(weight=1 / chance)[is_drawn].reset_index(drop=True)
            n_undrawn = int((~is_drawn).sum())
    both["query"] = pd.factorize(both["query_id"])[0]
    return both, {"n_unanswered": n_unanswered, "n_undrawn": n_undrawn}


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
        of_whom = f"judge and votes of people on labelled pairs: {len(each):,} of {len(votes):,}"
        yield from _agreement_rows(_of_two(each), of_whom, ["alpha"], "_votes")
    own = check_judgments(
        votes.assign(label=votes["people"].astype("int64").astype("str")).drop(columns="people")
    )
    yield from _agreement_rows(first_round(own), "among people", ["alpha"], "_people")


def _of_two(voted: pd.DataFrame) -> Judgments:
    """Return each unit twice, once as the judge has it and once as people do."""
    said = voted[[*PAIR, "inclusion_probability", "vote", "people"]].rename(columns={"vote": "judge"})
    both = said.melt([*PAIR, "inclusion_probability"], var_name="annotator_id", value_name="label")
    return check_judgments(both.assign(label=both["label"].astype("int64").astype("str")))


def _agreement_rows(
    judgments: Judgments, of_whom: str, statistics: Sequence[str], suffix: str = ""
) -> Iterator[tuple[object, ...]]:
    found = agreement(judgments, statistics=statistics, n_resamples=N_RESAMPLES, cluster="query_id")
    n_queries = int(judgments["query_id"].nunique())
    for row in found.to_dict("records"):
        note = "; ".join(filter(None, dict.fromkeys([of_whom, row["note"], row["interval_note"]])))
        values = (row["value"], row["low"], row["high"])
        yield f"{row['statistic']}{suffix}", *values, int(row["n_pairable"]), n_queries, note


def _ratios(pairs: pd.DataFrame, draws: Floats, over: Floats, under: Floats) -> Floats:
    """Return ratios of sums of columns in each of the draws, (draws, columns), nan over 0."""
    query, n_queries = pairs["query"].to_numpy(), draws.shape[1]
    by_query = ([np.bincount(query, each, n_queries) for each in values.T] for values in (over, under))
    return divide(*(draws @ np.stack(sums, axis=1) for sums in by_query))


def auc(score: Floats, people: Floats, weights: Floats) -> Floats:
    """Return for each row of weights the chance that a relevant pair scores above an irrelevant one.

    Ties count half. nan where one kind has no weight.

    Examples:
        >>> auc(np.array([0.9, 0.5, 0.5, 0.1]), np.array([1.0, 1, 0, 0]), np.ones((1, 4)))
        array([0.875])
    """
    order = np.argsort(score, kind="stable")
    starts = np.flatnonzero(np.diff(score[order], prepend=-np.inf))
    positive, negative = (
        np.add.reduceat(weights[:, order] * kind[order], starts, axis=1) for kind in (people, 1 - people)
    )
    below = np.cumsum(negative, axis=1) - negative / 2
    return divide((positive * below).sum(axis=1), positive.sum(axis=1) * negative.sum(axis=1))


def _auc_row(pairs: pd.DataFrame, draws: Floats) -> tuple[object, ...]:
    """Return statistic, value, low, high, n_pairs, n_queries and note of the AUC."""
    known = pairs.dropna(subset="score")
    if known.empty:
        return "AUC", *(np.nan,) * 3, 0, 0, "the judge gave no scores"
    score, people, weight, query = (known[name].to_numpy() for name in ("score", "people", "weight", "query"))
    step = max(1, _CELLS // len(known))
    parts = (draws[start : start + step][:, query] * weight for start in range(0, len(draws), step))
    found = np.concatenate([auc(score, people, weights) for weights in parts])
    limits = (float(each[0]) for each in _with_limits(found[:, None]))
    n_without = len(pairs) - len(known)
    note = f"{n_without} answers without score left out" if n_without else ""
    return "AUC", *limits, len(known), len(np.unique(query)), note


def _with_limits(draws: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the value of each column (its first row) and the middle 95% of the others."""
    low, high = np.quantile(draws[1:], [0.025, 0.975], axis=0)
    return draws[0], low, high


def _calibration(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the share of relevant pairs by score, in bins of about equally many pairs."""
    columns = ["n_pairs", "score_low", "score_high", "mean_score", "share_positive", "low", "high"]
    known = pairs.dropna(subset="score")
    edges = np.unique(np.quantile(known["score"], np.linspace(0, 1, N_BINS + 1)[1:-1])) if len(known) else []
    rows = []
    for _, own in known.groupby(np.searchsorted(edges, known["score"], side="right")):
        score, people, weight, query = own[["score", "people", "weight", "query"]].to_numpy().T
        limits = share_interval(people * weight, weight, cluster=query.astype(int))
        shares = [float(np.average(each, weights=weight)) for each in (score, people)]
        rows.append((len(own), score.min(), score.max(), *shares, *limits))
    return pd.DataFrame(rows, columns=columns)


def _group_table(pairs: pd.DataFrame, sources: PoolSources | None, draws: Floats) -> pd.DataFrame:
    """Return how often people and the judge say relevant, in all pairs and in each group of them.

    The excess is what the judge calls relevant of a group beyond what it would if it did as in all other
    pairs that people called the same.
    """
    columns = ["kind", "group", "n_pairs", "people", "judge", "overrating", "low", "high"]
    columns += ["excess", "excess_low", "excess_high"]
    voted = pairs.dropna(subset="vote")
    found: dict[tuple[str, str], Bools] = {("all", "all"): np.ones(len(voted), dtype=bool)}
    if sources is not None:
        pooled = pooled_by(sources, pair_rows(sources, voted), len(voted))
        found |= {("run", str(run_id)): own.to_numpy(dtype=bool) for run_id, own in pooled.items()}
        keys = pd.MultiIndex.from_frame(voted[PAIR])
        best = sources.groupby(PAIR)["rank"].min().reindex(keys).to_numpy(dtype=np.float64)
        found |= {("rank", name): (best >= low) & (best <= high) for name, (low, high) in BANDS.items()}
    members = {group: own for group, own in found.items() if own.any()}
    if not members:
        return pd.DataFrame(columns=columns)
    inside = np.stack(list(members.values()), axis=1)
    judge, people, weight = (voted[[name]].to_numpy() for name in ("vote", "people", "weight"))
    own, rest = inside * weight, ~inside * weight
    of_people, of_judge = (_ratios(voted, draws, own * kind, own) for kind in (people, judge))
    on_relevant, on_others = (
        _ratios(voted, draws, rest * kind * judge, rest * kind) for kind in (people, 1 - people)
    )
    excess = of_judge - (of_people * on_relevant + (1 - of_people) * on_others)
    shown = (of_people[0], of_judge[0], *_with_limits(of_judge - of_people), *_with_limits(excess))
    numbers, n_pairs = np.stack(shown, axis=1), inside.sum(axis=0)
    numbers[n_pairs < LEAST_IN_GROUP] = np.nan
    names = pd.DataFrame(list(members), columns=columns[:2]).assign(n_pairs=n_pairs)
    return pd.concat([names, pd.DataFrame(numbers, columns=columns[3:])], axis=1)
