"""Whether a difference between two runs would hold on other queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.errors import UsageError
from fire_toolkit.inference.binomial import mcnemar
from fire_toolkit.inference.estimates import (
    DIFFERENCE_ESTIMATE,
    HORVITZ,
    TWO_PHASE,
    Design,
    estimate_differences,
)
from fire_toolkit.inference.intervals import (
    are_medians,
    bootstrap_means,
    centres,
    cluster_sums,
    code_clusters,
    is_share_of_queries,
    of_means,
    percentiles,
    terms_of,
)
from fire_toolkit.inference.judged_pairs import JudgedPairs, Runs, Tell, join_runs, silent
from fire_toolkit.inference.resampling import flipped_sums, summable
from fire_toolkit.matching.coded import CodedQrels
from fire_toolkit.measures import Measure, parse_measures
from fire_toolkit.results import Result
from fire_toolkit.tables import PoolSources, Qrels

Family = Literal["measure", "all"]

DIFFERENCE_COLUMNS = {
    "qrels": "str",
    "measure": "str",
    "run_a": "str",
    "run_b": "str",
    "pooled_a": "str",
    "pooled_b": "str",
    "value_a": "float64",
    "value_b": "float64",
    "difference": "float64",
    "low": "float64",
    "high": "float64",
    "p_randomisation": "float64",
    "p_mcnemar": "float64",
    "test": "str",
    "p_holm": "float64",
    "effect": "float64",
    "superiority": "float64",
    "n_better": "int64",
    "n_worse": "int64",
    "n_equal": "int64",
}


class _Differences(NamedTuple):
    table: pd.DataFrame
    notes: tuple[str, ...]


class Differences(_Differences, Result):
    """What `score_differences` returns: the table and sentences on what it does not say."""

    __slots__ = ()


def score_differences(
    runs: Runs,
    original: Qrels,
    measures: Sequence[str | Measure],
    *,
    augmented: Qrels | None = None,
    sources: PoolSources | None = None,
    clusters: pd.Series | None = None,
    family: Family = "measure",
    design: Design | None = None,
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
    tell: Tell = silent,
) -> Differences:
    """Return for every two runs the difference of their scores, its interval, tests and effect size.

    Args:
        runs: two or more, as in `join_runs`.
        original: the benchmark's qrels; their queries are the universe.
        measures: names or measures.
        augmented: the corrected qrels; differences are then also given under them, and of the gains.
        sources: which run pooled which pair, to mark the runs that fed the pool.
        clusters: index query_id, values the cluster; whole clusters are then drawn, and flipped.
        family: what Holm corrects for together: `measure`, all pairs of runs under one measure and
            qrels; `all`, every row.
        design: by which the judged pairs of `augmented` were chosen, where some were judged for a sample.
        confidence: of the interval, strictly between 0 and 1.
        n_resamples, seed: of bootstrap and randomisation; the same seed gives the same numbers.
        tell: is told what is being worked on, for those who wait.

    Returns:
        A table by qrels (`original`; `augmented` and `delta`, the gains, if asked for), measure and
        pair as given, with difference = value_a − value_b and

        - low, high: its bootstrap interval; all runs, measures and qrels share the draws;
        - p_randomisation: two-sided, signs of the queries' differences flipped at random,
          (c + 1) / (B + 1) with c of the B resamples at least as far from 0;
        - p_mcnemar: exact, for C@k without clusters, else nan; test: which of the two Holm corrects;
        - p_holm: corrected over the family (Holm 1979);
        - effect: the mean difference over its standard deviation (Cohen's d_z), nan when all are equal;
          superiority: the share of queries on which a is better, ties counted half;
        - n_better, n_worse, n_equal: queries on which a's value is larger, smaller, equal; for measures
          where less is better, better is smaller.

        With a design the table also has estimate, estimate_low, estimate_high and estimate_method (see
        `estimate_differences`) in the rows under the augmented qrels; all else is of the labels as they are.

        A median (MedR) has no p-value and no effect; its gain is the median of the queries' gains.

    Raises:
        UsageError: fewer than two runs, an unknown measure or family, numbers out of range.
        JoinError: as `join_runs`.

    Examples:
        >>> from fire_toolkit.matching.ranking import rank_run
        >>> from fire_toolkit.tables import check_qrels
        >>> scored = {"run_id": ["a", "a", "b", "b"], "query_id": "q", "doc_id": ["d1", "d2"] * 2}
        >>> runs = rank_run(pd.DataFrame(scored | {"score": [2.0, 1.0, 1.0, 2.0]}))
        >>> original = check_qrels(pd.DataFrame({"query_id": "q", "doc_id": ["d1"], "relevance": 1}))
        >>> found = score_differences(runs, original, ["RR"], n_resamples=10)
        >>> found.table[["run_a", "run_b", "value_a", "value_b", "difference"]]
          run_a run_b  value_a  value_b  difference
        0     a     b      1.0      0.5         0.5
    """
    if family not in ("measure", "all"):
        raise UsageError(f"family {family!r} is unknown; expected measure or all")
    parsed = parse_measures(measures)
    joined = join_runs(runs, original, *([] if augmented is None else [augmented]))
    if len(joined.places) < 2:
        raise UsageError(f"found {len(joined.places)} run; expected two or more to compare")
    codes = code_clusters(joined.queries, clusters)
    labellings = {"original": joined.label(original)}
    labellings |= {} if augmented is None else {"augmented": joined.label(augmented)}
    values = _values(joined, labellings, parsed)
    pooled = _pooled(joined, sources)
    tell(f"{n_resamples:,} resamples of {len(joined.places)} runs")
    draws = _draw(values, codes, parsed, n_resamples, seed)
    central = {
        name: {run: centres(own, parsed) for run, own in each.items()} for name, each in values.items()
    }
    scores = _aggregated(central, parsed)
    rows: list[dict[str, Any]] = []
    for name, by_run in values.items():
        tested: dict[tuple[str, str], tuple[Floats, ...]] = {}
        for run_a, run_b in combinations(joined.places, 2):
            tell(f"{name}: {run_a} and {run_b}")
            limits = percentiles(draws[name][run_a] - draws[name][run_b], confidence=confidence)
            flips: Any = {"clusters": codes, "n_resamples": n_resamples, "seed": seed}
            tested[run_a, run_b] = (*limits, sign_flip_p(by_run[run_a] - by_run[run_b], **flips))
        for place, measure in enumerate(parsed):
            for (run_a, run_b), (low, high, p_values) in tested.items():
                row: dict[str, Any] = {"qrels": name, "measure": measure.name, "run_a": run_a, "run_b": run_b}
                row |= {"pooled_a": pooled[run_a], "pooled_b": pooled[run_b]}
                row |= {"low": low[place], "high": high[place], "p_randomisation": p_values[place]}
                row |= {"value_a": scores[name][run_a][0, place], "value_b": scores[name][run_b][0, place]}
                row["difference"] = row["value_a"] - row["value_b"]
                pair = (by_run[run_a][:, place], by_run[run_b][:, place])
                rows.append(row | _describe(pair, measure, is_exact=name != "delta" and codes is None))
    table = pd.DataFrame(rows, columns=list(DIFFERENCE_COLUMNS)).astype(DIFFERENCE_COLUMNS)
    table = _corrected(table, family)
    notes = (*joined.note_depths(labellings.values(), parsed), *_notes(table, parsed))
    if design is not None and augmented is not None:
        both = labellings["original"], labellings["augmented"]
        cells = estimate_differences(joined, *both, design, parsed, confidence=confidence)
        table = _with_estimates(table, cells)
        notes = (*notes, *_notes_of_estimates(table))
    return Differences(table, notes)


def _with_estimates(table: pd.DataFrame, cells: Mapping[Any, Mapping[str, Any]]) -> pd.DataFrame:
    """Return the rows with the estimates of those under the augmented qrels."""
    empty = dict.fromkeys(DIFFERENCE_ESTIMATE, np.nan) | {"estimate_method": ""}
    keys = table[["measure", "run_a", "run_b"]].itertuples(index=False, name=None)
    is_augmented = table["qrels"] == "augmented"
    found = [cells.get(key, empty) if own else empty for key, own in zip(keys, is_augmented, strict=True)]
    added = pd.DataFrame(found, columns=list(DIFFERENCE_ESTIMATE), index=table.index)
    return table.join(added.astype(DIFFERENCE_ESTIMATE))


def _notes_of_estimates(table: pd.DataFrame) -> Iterator[str]:
    of_what = {TWO_PHASE: "from the queries judged deep", HORVITZ: "from the pairs drawn, of these queries"}
    for method in table.loc[table["estimate"].notna(), "estimate_method"].unique():
        yield f"est. a - b: {of_what[method]}; tests and effects use the labels as they are"
    refused = table[table["estimate_method"].str.startswith("refused: ")]
    for (measure, method), own in refused.groupby(["measure", "estimate_method"], sort=False):
        pairs = ", ".join(f"{row.run_a} & {row.run_b}" for row in own.itertuples())
        of_all = len(own) == len(table[(table["measure"] == measure) & (table["qrels"] == "augmented")])
        reason = str(method).removeprefix("refused: ")
        yield f"{measure}: no estimate{'' if of_all else f' of {pairs}'}: {reason}"


def _values(
    joined: JudgedPairs, labellings: Mapping[str, CodedQrels], measures: list[Measure]
) -> dict[str, dict[str, Floats]]:
    """Return qrels → run → the terms of each score (queries, measures); gains are their differences."""
    values = {
        name: {
            run_id: terms_of(joined.values(run_id, labelling, measures), measures) for run_id in joined.places
        }
        for name, labelling in labellings.items()
    }
    if "augmented" in labellings:
        gains = {run_id: values["augmented"][run_id] - values["original"][run_id] for run_id in joined.places}
        values["delta"] = gains
    return values


def _draw(
    values: Mapping[str, Mapping[str, Floats]],
    codes: Ints | None,
    measures: list[Measure],
    n_resamples: int,
    seed: int,
) -> dict[str, dict[str, Floats]]:
    """Return qrels → run → (resamples, measures), all from the same draws."""
    keys = [(name, run_id) for name, by_run in values.items() for run_id in by_run]
    stacked = np.column_stack([values[name][run_id] for name, run_id in keys])
    medians = are_medians(measures * len(keys))
    means = bootstrap_means(stacked, clusters=codes, is_median=medians, n_resamples=n_resamples, seed=seed)
    parts = np.split(means, len(keys), axis=1)
    drawn: dict[str, dict[str, Floats]] = {name: {} for name in values}
    for (name, run_id), part in zip(keys, parts, strict=True):
        drawn[name][run_id] = part
    return _aggregated(drawn, measures)


def _aggregated(
    means: Mapping[str, Mapping[str, Floats]], measures: list[Measure]
) -> dict[str, dict[str, Floats]]:
    """Return means of terms (qrels → run → rows × measures) as scores and gains.

    A gain is the mean of the queries' gains, where that is the difference of the scores; for a geometric
    mean it is the difference.
    """
    found = {
        name: {run_id: of_means(own, measures) for run_id, own in by_run.items()}
        for name, by_run in means.items()
    }
    is_geometric = np.array([m.definition.aggregate == "geometric mean" for m in measures])
    for run_id, gains in means.get("delta", {}).items():
        between = found["augmented"][run_id] - found["original"][run_id]
        found["delta"][run_id] = np.where(is_geometric, between, gains)
    return found


def sign_flip_p(
    differences: Floats, *, clusters: Ints | None = None, n_resamples: int = 10_000, seed: int = 0
) -> Floats:
    """Return the two-sided p of the paired randomisation test for each column.

    Args:
        differences: (n_queries, n_columns); columns share the flips.
        clusters: (n_queries,) codes from 0: all queries of a cluster are flipped together.

    Returns:
        (c + 1) / (B + 1), with c of B resamples whose mean is at least as far from 0 as the observed;
        equal sums count, and are told exactly. All differences 0: 1.

    Source: Edgington and Onghena, Randomization Tests, 2007; Smucker et al., CIKM 2007.

    Examples:
        >>> float(sign_flip_p(np.ones((30, 1)), n_resamples=999)[0])
        0.001
    """
    rows = differences if clusters is None else cluster_sums(differences, clusters)[:, :-1]
    rows = summable(rows)
    sums = flipped_sums(rows, n_resamples=n_resamples, seed=seed)
    n_as_far = (np.abs(sums) >= np.abs(rows.sum(axis=0))).sum(axis=0)
    return np.asarray((n_as_far + 1) / (n_resamples + 1))


def holm(p_values: Sequence[float] | Floats) -> Floats:
    """Return p-values corrected for being looked at together (Holm 1979); nan stays and counts for none.

    Examples:
        >>> holm([0.01, 0.04, 0.03]).tolist()
        [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    corrected = np.full(p.shape, np.nan)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * factors))
    return corrected


def _describe(pair: tuple[Floats, Floats], measure: Measure, *, is_exact: bool) -> dict[str, Any]:
    a, b = pair
    difference = a - b
    sign = 1 if measure.definition.larger_is_better else -1
    n_better, n_worse = (int(np.count_nonzero(sign * side * difference > 0)) for side in (1, -1))
    is_median = measure.definition.aggregate == "median"
    spread = float(np.std(difference, ddof=1)) if len(difference) > 1 else 0.0
    by_mcnemar = is_exact and is_share_of_queries(measure)
    described: dict[str, Any] = {
        "p_mcnemar": mcnemar(n_better, n_worse) if by_mcnemar else np.nan,
        "test": "" if is_median else "mcnemar" if by_mcnemar else "randomisation",
        "effect": float(difference.mean()) / spread if spread and not is_median else np.nan,
        "superiority": (n_better + (len(difference) - n_better - n_worse) / 2) / len(difference),
        "n_better": n_better,
        "n_worse": n_worse,
        "n_equal": len(difference) - n_better - n_worse,
    }
    return described | ({"p_randomisation": np.nan} if is_median else {})


def _corrected(table: pd.DataFrame, family: Family) -> pd.DataFrame:
    p = table["p_randomisation"].where(table["test"] != "mcnemar", table["p_mcnemar"])
    groups = table.groupby(["qrels", "measure"], sort=False).ngroup() if family == "measure" else 0
    corrected = table.assign(p_holm=p, group=groups)
    corrected["p_holm"] = corrected.groupby("group")["p_holm"].transform(lambda part: holm(part.to_numpy()))
    return corrected.drop(columns="group")


def _pooled(joined: JudgedPairs, sources: PoolSources | None) -> dict[str, str]:
    fed = set() if sources is None else set(sources["run_id"].unique())
    return {run_id: "" if sources is None else "yes" if run_id in fed else "no" for run_id in joined.places}


def _notes(table: pd.DataFrame, measures: list[Measure]) -> Iterator[str]:
    yield from (m.caution for m in measures if m.caution)
    medians = [m.name for m in measures if m.definition.aggregate == "median"]
    if medians:
        yield f"{', '.join(medians)}: a median has an interval but no test here"
    mixed = table[table["pooled_a"] != table["pooled_b"]].drop_duplicates(["run_a", "run_b"])
    for row in mixed.itertuples():
        fed, fresh = (row.run_a, row.run_b) if row.pooled_a == "yes" else (row.run_b, row.run_a)
        yield (
            f"{fed} fed the pool and {fresh} did not: what only {fresh} finds is unjudged, which counts "
            "against it"
        )
