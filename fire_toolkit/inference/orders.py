"""The order of runs under several labellings: how alike the orders are, and which swaps are chance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Floats
from fire_toolkit.errors import UsageError
from fire_toolkit.inference.intervals import code_clusters
from fire_toolkit.inference.judged_pairs import Runs, Tell, join_runs, silent
from fire_toolkit.inference.resampling import bootstrap_means
from fire_toolkit.measures import Measure, parse_measures
from fire_toolkit.results import Found
from fire_toolkit.tables import Qrels

FEWEST_FOR_P = 5
N_RESAMPLES = 10_000
SWAPS = ["measure", "run_a", "run_b", "difference_a", "difference_b", "swapped", "p_swap", "p_reversed_a"]
SWAPS += ["p_reversed_b", "labelling_a", "labelling_b"]
AGREEMENT = ["measure", "labelling_a", "labelling_b", "n_runs", "tau", "tau_p", "tau_ap", "n_swaps"]
SCORES = ["labelling", "measure", "run_id", "value", "place"]


def compare_orders(
    runs: Runs,
    labellings: Mapping[str, Qrels],
    measures: Sequence[str | Measure],
    *,
    clusters: pd.Series | None = None,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    tell: Tell = silent,
) -> Found:
    """Return how the order of runs changes from one labelling to another, and how sure the changes are.

    Args:
        runs: two or more, as in `join_runs`.
        labellings: name → qrels, two or more: original and augmented, or one for each rule by which
            judgments were resolved. The queries of the first count.
        measures: names or measures.
        clusters: index query_id, values the cluster; whole clusters are then drawn.
        n_resamples, seed: of the bootstrap; all labellings, runs and measures share the draws.
        tell: is told what is being worked on, for those who wait.

    Returns:
        agreement: measure, labelling_a, labelling_b, n_runs, tau (Kendall's tau-b), tau_p (exact, two-sided;
        nan below five runs or with ties), tau_ap, n_swaps.
        swaps: measure, run_a, run_b, labelling_a, labelling_b, difference_a, difference_b (a − b, positive
        where a is better), swapped, p_swap (bootstrap share in which the two labellings order the pair
        differently), p_reversed_a, p_reversed_b (in which a labelling orders it otherwise than on all
        queries; ties count half).
        scores: labelling, measure, run_id, value, place (1 is best; equal values share the better place).
        Every two labellings stand in the order given, every two runs as given.

    Raises:
        UsageError: fewer than two runs or labellings.
        JoinError: as `score_differences`.

    With few runs tau has few values (of three runs the smallest two-sided p is .33), so its p is not
    given below five; p_swap is.
    """
    parsed = parse_measures(measures)
    if len(labellings) < 2:
        raise UsageError(f"found {len(labellings)} labelling; expected two or more qrels to compare")
    first, *others = labellings.values()
    joined = join_runs(runs, first, *others)
    if len(joined.places) < 2:
        raise UsageError(f"found {len(joined.places)} run; expected two or more to order")
    labels_of = [joined.label(qrels) for qrels in labellings.values()]
    run_ids, names = list(joined.places), list(labellings)
    values = [[joined.values(run_id, own, parsed).T for run_id in run_ids] for own in labels_of]
    columns = [(m, values[a][r][place]) for a in range(len(names))
               for place, m in enumerate(parsed) for r in range(len(run_ids))]  # fmt: skip
    shape = (len(names), len(parsed), len(run_ids))
    means = np.array([m.aggregate(own) for m, own in columns]).reshape(shape)
    tell(f"{n_resamples:,} resamples of {len(run_ids)} runs under {len(names)} qrels")
    draws = bootstrap_means(
        np.column_stack([m.terms(own) for m, own in columns]),
        clusters=code_clusters(joined.queries, clusters),
        is_median=np.array([m.definition.aggregate == "median" for m, _ in columns]),
        n_resamples=n_resamples,
        seed=seed,
    ).reshape(-1, *shape)
    agreement, swaps = [], []
    for m, measure in enumerate(parsed):
        tell(f"orders by {measure.name} ({m + 1} of {len(parsed)})")
        sign = 1.0 if measure.definition.larger_is_better else -1.0
        own, of_draws = sign * means[:, m], sign * measure.of_mean(draws[:, :, m])
        for a, b in combinations(range(len(names)), 2):
            labels = {"measure": measure.name, "labelling_a": names[a], "labelling_b": names[b]}
            found = _swaps(run_ids, (own[a], own[b]), (of_draws[:, a], of_draws[:, b]))
            swaps += [row | labels for row in found]
            taus = {"tau": kendall_tau(own[a], own[b]), "tau_p": kendall_p(own[a], own[b])}
            taus |= {"tau_ap": tau_ap(own[a], own[b]), "n_swaps": sum(row["swapped"] for row in found)}
            agreement.append(labels | {"n_runs": len(run_ids)} | taus)
    scores = [
        (name, measure.name, *row)
        for name, of_name in zip(names, means, strict=True)
        for measure, each in zip(parsed, of_name, strict=True)
        for row in zip(run_ids, each.tolist(), places(each, measure), strict=True)
    ]
    tables = {"agreement": pd.DataFrame(agreement, columns=AGREEMENT)}
    tables |= {"swaps": pd.DataFrame(swaps, columns=SWAPS), "scores": pd.DataFrame(scores, columns=SCORES)}
    notes = joined.note_depths(labels_of, parsed)
    if len(run_ids) < FEWEST_FOR_P:
        notes = (*notes, f"{len(run_ids)} runs are too few for a p-value of tau; read p_swap instead")
    return Found(tables, notes)


def places(values: Floats, measure: Measure) -> list[int]:
    """Return the place of each run, 1 the best; equal values share the better place."""
    sign = 1 if measure.definition.larger_is_better else -1
    return [1 + int(np.count_nonzero(sign * values > sign * own)) for own in values]


def _swaps(
    run_ids: list[str], means: tuple[Floats, Floats], draws: tuple[Floats, Floats]
) -> list[dict[str, Any]]:
    """Return a row for each two runs: how two labellings order them, and how they do in resamples."""
    rows: list[dict[str, Any]] = []
    for i, j in combinations(range(len(run_ids)), 2):
        a, b = (float(side[i] - side[j]) for side in means)
        signs_a, signs_b = (np.sign(side[:, i] - side[:, j]) for side in draws)
        row = {"run_a": run_ids[i], "run_b": run_ids[j], "difference_a": a, "difference_b": b}
        row |= {"swapped": bool(a * b < 0), "p_swap": float(np.mean((1 - signs_a * signs_b) / 2))}
        row |= {"p_reversed_a": float(np.mean((1 - signs_a * np.sign(a)) / 2))}
        rows.append(row | {"p_reversed_b": float(np.mean((1 - signs_b * np.sign(b)) / 2))})
    return rows


def kendall_tau(a: Sequence[float] | Floats, b: Sequence[float] | Floats) -> float:
    """Return Kendall's tau-b of two score lists: ties count for neither side; nan when one is all ties.

    Examples:
        >>> kendall_tau([3, 2, 1], [3, 1, 2])
        0.3333333333333333
    """
    signs_a, signs_b = _pair_signs(np.asarray(a)), _pair_signs(np.asarray(b))
    untied = math.sqrt(float(np.count_nonzero(signs_a)) * float(np.count_nonzero(signs_b)))
    return float((signs_a * signs_b).sum()) / untied if untied else math.nan


def _pair_signs(values: Floats) -> Floats:
    i, j = np.triu_indices(len(values), k=1)
    return np.asarray(np.sign(values[i] - values[j]), dtype=np.float64)


def kendall_p(a: Sequence[float] | Floats, b: Sequence[float] | Floats) -> float:
    """Return the exact two-sided p of tau; nan below five runs, where it can say nothing, or with ties.

    The number of orders with a given number of discordant pairs is counted (Kendall 1938).

    Examples:
        >>> round(kendall_p([1, 2, 3, 4, 5], [1, 2, 3, 4, 5]), 4)
        0.0167
    """
    signs = _pair_signs(np.asarray(a)) * _pair_signs(np.asarray(b))
    if len(a) < FEWEST_FOR_P or not signs.all():
        return math.nan
    counts = [1]
    for n in range(2, len(a) + 1):
        counts = [sum(counts[max(0, k - n + 1) : k + 1]) for k in range(len(counts) + n - 1)]
    n_discordant = int(np.count_nonzero(signs < 0))
    fewer = sum(counts[: min(n_discordant, len(signs) - n_discordant) + 1])
    return min(1.0, 2 * fewer / math.factorial(len(a)))


def tau_ap(reference: Sequence[float] | Floats, other: Sequence[float] | Floats) -> float:
    """Return the tau of Yilmaz, Aslam and Robertson (SIGIR 2008), in which the top counts more.

    2 / (N − 1) Σ_{i≥2} C(i) / (i − 1) − 1 over the order by `other`, C(i) of the runs above place i
    standing above that run by `reference` too; a tie in either counts half. nan for fewer than two runs.

    Examples:
        >>> tau_ap([4, 3, 2, 1], [4, 3, 1, 2])
        0.7777777777777777
    """
    first, second = (np.asarray(each, dtype=np.float64) for each in (reference, other))
    if len(first) < 2:
        return math.nan
    above, level = second > second[:, None], second == second[:, None]
    np.fill_diagonal(level, False)
    correct = np.where(level, 0.5, (first > first[:, None]) + (first == first[:, None]) / 2)
    weight = above + level / 2
    held = weight.sum(axis=1) > 0
    total = float(((weight * correct).sum(axis=1)[held] / weight.sum(axis=1)[held]).sum())
    n_counted = len(first) - int(np.count_nonzero(second == second.max()) == 1)
    return 2 * total / n_counted - 1
