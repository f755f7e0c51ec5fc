"""The order of runs under several labellings: how alike the orders are, and which swaps are chance."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Floats
from fire_toolkit.errors import UsageError
from fire_toolkit.inference.differences import scored_by
from fire_toolkit.inference.distributions import chance_of_other_signs
from fire_toolkit.inference.intervals import change_interval, code_clusters
from fire_toolkit.inference.judged_pairs import Runs, Tell, join_runs, silent
from fire_toolkit.inference.resampling import cluster_sums
from fire_toolkit.measures import Measure, parse_measures
from fire_toolkit.results import Found
from fire_toolkit.tables import Qrels

FEWEST_FOR_P = 5
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
    tell: Tell = silent,
) -> Found:
    """Return how the order of runs changes from one labelling to another, and how sure the changes are.

    Args:
        runs, measures, clusters, tell: as in `score_differences`.
        labellings: name → qrels, two or more: original and augmented, or one for each rule by which
            judgments were resolved. The queries of the first count.

    Returns:
        agreement: measure, labelling_a, labelling_b, n_runs, tau (Kendall's tau-b), tau_p (exact, two-sided;
        nan below five runs or with ties), tau_ap, n_swaps.
        swaps: measure, run_a, run_b, labelling_a, labelling_b, difference_a, difference_b (a − b, positive
        where a is better), swapped, p_swap (the chance that the two labellings order the pair differently on
        other queries), p_reversed_a, p_reversed_b (that a labelling orders it otherwise than on these: half
        the p of the test of the difference, see `intervals`). These are nan for medians, which have no test,
        and where nothing is known of a difference.
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
    joined = join_runs(runs, *labellings.values())
    if len(joined.places) < 2:
        raise UsageError(f"found {len(joined.places)} run; expected two or more to order")
    labels_of = [joined.label(qrels) for qrels in labellings.values()]
    run_ids, names = list(joined.places), list(labellings)
    codes = code_clusters(joined.queries, clusters)
    scored = [[scored_by(joined, run_id, own, parsed) for run_id in run_ids] for own in labels_of]
    agreement, swaps, scores = [], list[dict[str, Any]](), list[tuple[Any, ...]]()
    for m, measure in enumerate(parsed):
        tell(f"orders by {measure.name} ({m + 1} of {len(parsed)})")
        sign = 1.0 if measure.definition.larger_is_better else -1.0
        means = [sign * np.array([own[m].score for own in of_runs]) for of_runs in scored]
        parts = [[sign * own[m].parts for own in of_runs] for of_runs in scored]
        tests = [
            [change_interval(*both, measure, clusters=codes).p for both in combinations(own, 2)]
            for own in parts
        ]
        for a, b in combinations(range(len(names)), 2):
            labels = {"measure": measure.name, "labelling_a": names[a], "labelling_b": names[b]}
            n_swaps = 0
            for (i, j), *p in zip(combinations(range(len(run_ids)), 2), tests[a], tests[b], strict=True):
                gaps = float(means[a][i] - means[a][j]), float(means[b][i] - means[b][j])
                units = np.column_stack([parts[each][i] - parts[each][j] for each in (a, b)])
                if codes is not None:
                    units = cluster_sums(units - units.mean(axis=0), codes)[:, :-1]
                row = {"run_a": run_ids[i], "run_b": run_ids[j], "difference_a": gaps[0]}
                row |= {"difference_b": gaps[1], "swapped": (swapped := gaps[0] * gaps[1] < 0)}
                row |= {"p_swap": chance_of_other_signs(gaps, p, units)}
                swaps.append(labels | row | {"p_reversed_a": p[0] / 2, "p_reversed_b": p[1] / 2})
                n_swaps += swapped
            taus = {"tau": kendall_tau(means[a], means[b]), "tau_p": kendall_p(means[a], means[b])}
            taus |= {"tau_ap": tau_ap(means[a], means[b]), "n_swaps": n_swaps}
            agreement.append(labels | {"n_runs": len(run_ids)} | taus)
    for name, of_runs in zip(names, scored, strict=True):
        for m, measure in enumerate(parsed):
            own = np.array([each[m].score for each in of_runs])
            rows = zip(run_ids, own.tolist(), places(own, measure), strict=True)
            scores += [(name, measure.name, *row) for row in rows]
    tables = {"agreement": pd.DataFrame(agreement, columns=AGREEMENT)}
    tables |= {"swaps": pd.DataFrame(swaps, columns=SWAPS), "scores": pd.DataFrame(scores, columns=SCORES)}
    notes = joined.note_depths(labels_of, parsed)
    for name, by in list(zip(names, labels_of, strict=True))[1:]:
        notes += [f"{name}: {note}" for note in joined.note_unjudged(by, parsed)]
    if len(run_ids) < FEWEST_FOR_P:
        notes.append(
            f"{len(run_ids)} runs are too few for a p-value of tau; --show swaps gives p_swap instead"
        )
    return Found(tables, notes)


def places(values: Floats, measure: Measure) -> list[int]:
    """Return the place of each run, 1 the best; equal values share the better place."""
    sign = 1 if measure.definition.larger_is_better else -1
    return [1 + int(np.count_nonzero(sign * values > sign * own)) for own in values]


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
