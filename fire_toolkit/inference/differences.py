"""Whether a difference between two runs would hold on other queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Floats
from fire_toolkit.errors import UsageError
from fire_toolkit.inference.designs import HORVITZ, TWO_PHASE
from fire_toolkit.inference.estimates import DIFFERENCE_ESTIMATE, Design, estimate_differences
from fire_toolkit.inference.intervals import (
    Interval,
    change_interval,
    code_clusters,
    influences,
    note_few,
)
from fire_toolkit.inference.judged_pairs import JudgedPairs, Runs, Tell, join_runs, silent
from fire_toolkit.matching.coded import CodedQrels
from fire_toolkit.measures import Measure, parse_measures
from fire_toolkit.tables import PoolSources, Qrels
from fire_toolkit.words import n_of

Family = Literal["measure", "all"]

_TEXT = ("qrels", "measure", "run_a", "run_b", "pooled_a", "pooled_b")
_COUNTS = ("n_better", "n_worse", "n_equal")
DIFFERENCE_COLUMNS = dict.fromkeys(_TEXT, "str")
DIFFERENCE_COLUMNS |= dict.fromkeys(("value_a", "value_b", "difference", "low", "high"), "float64")
DIFFERENCE_COLUMNS |= {"test": "str", "p": "float64", "p_holm": "float64", "effect": "float64"}
DIFFERENCE_COLUMNS |= {"superiority": "float64", **dict.fromkeys(_COUNTS, "int64")}


class Differences(NamedTuple):
    """What `score_differences` returns: the table and sentences on what it does not say."""

    table: pd.DataFrame
    notes: tuple[str, ...]


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
    tell: Tell = silent,
) -> Differences:
    """Return for every two runs the difference of their scores, its interval, test and effect size.

    Args:
        runs: two or more, as in `join_runs`.
        original: the benchmark's qrels; their queries are the universe.
        measures: names or measures.
        augmented: the corrected qrels; differences are then also given under them, and of the gains.
        sources: which run pooled which pair, to mark the runs that fed the pool.
        clusters: index query_id, values the cluster of the query, where whole clusters were drawn.
        family: what Holm corrects for together: `measure`, all pairs of runs under one measure and
            qrels; `all`, every row.
        design: by which the judged pairs of `augmented` were chosen, where some were judged for a sample.
        tell: is told what is being worked on, for those who wait.

    Returns:
        A table by qrels (`original`; `augmented` and `delta`, the gains, if asked for), measure and
        pair as given, with difference = value_a − value_b and

        - low, high: its interval, nan where none is known; test: of which method it is (`score`, `t`, or
          `order` for medians; see `intervals`); p: two-sided, of the same method, so that 0 lies outside the
          limits where p < .05;
        - p_holm: p corrected over the family (Holm 1979), to which no interval belongs;
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
        >>> found = score_differences(runs, original, ["RR"])
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
    sides = _sides(joined, labellings, parsed)
    fed = set() if sources is None else set(sources["run_id"].unique())
    pooled = {run: "" if sources is None else "yes" if run in fed else "no" for run in joined.places}
    cells: dict[tuple[str, str, str], dict[str, Any]] = {}
    if design is not None and augmented is not None:
        both = labellings["original"], labellings["augmented"]
        cells = estimate_differences(joined, *both, design, parsed)
    rows: list[dict[str, Any]] = []
    found: list[tuple[Measure, Interval]] = []
    for name, by_run in sides.items():
        tell(f"{name}: {n_of(len(joined.places), 'run')}")
        for place, measure in enumerate(parsed):
            only_up = measure.definition.is_binary and _only_adds(labellings, measure)
            reach = 2.0 if name == "delta" and not only_up else 1.0
            for run_a, run_b in combinations(joined.places, 2):
                a, b = (by_run[run_id][place] for run_id in (run_a, run_b))
                interval = change_interval(a.influences, b.influences, measure, reach=reach, clusters=codes)
                found.append((measure, interval))
                row: dict[str, Any] = {"qrels": name, "measure": measure.name, "run_a": run_a, "run_b": run_b}
                row |= {"pooled_a": pooled[run_a], "pooled_b": pooled[run_b]}
                row |= {"value_a": a.score, "value_b": b.score, "difference": a.score - b.score}
                row |= {"low": interval.low, "high": interval.high, "p": interval.p, "test": interval.method}
                row |= _describe(a, b, measure)
                rows.append(
                    row | (cells[measure.name, run_a, run_b] if name == "augmented" and cells else {})
                )
    columns = DIFFERENCE_COLUMNS | (DIFFERENCE_ESTIMATE if cells else {})
    table = pd.DataFrame(rows, columns=list(columns)).fillna({"estimate_method": ""} if cells else {})
    together = ["qrels", "measure"] if family == "measure" else np.zeros(len(table))
    table["p_holm"] = table.groupby(together)["p"].transform(lambda part: holm(part.to_numpy()))
    table = table.astype(columns)
    few = note_few(found, n_queries=len(joined.queries), clusters=codes)
    notes = (*joined.note_depths(labellings.values(), parsed), *_notes(table, parsed), *few)
    return Differences(table, (*notes, *(_notes_of_estimates(table) if cells else ())))


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


class _Side(NamedTuple):
    """A run's score, or gain, by one measure, with what each query has and what part of it hangs on each."""

    score: float
    values: Floats
    influences: Floats


def _sides(
    joined: JudgedPairs, labellings: Mapping[str, CodedQrels], measures: list[Measure]
) -> dict[str, dict[str, list[_Side]]]:
    """Return qrels → run → a side for each measure; `delta` holds the gains."""
    found: dict[str, dict[str, list[_Side]]] = {}
    for name, labelling in labellings.items():
        found[name] = {}
        for run_id in joined.places:
            columns = zip(joined.values(run_id, labelling, measures).T, measures, strict=True)
            found[name][run_id] = [_Side(m.aggregate(v), v, influences(v, m)) for v, m in columns]
    if "augmented" in labellings:
        found["delta"] = {
            run_id: [_gain(*pair) for pair in zip(found["augmented"][run_id], before, measures, strict=True)]
            for run_id, before in found["original"].items()
        }
    return found


def _gain(after: _Side, before: _Side, measure: Measure) -> _Side:
    """Return the gain between two sides; that of a median is the median of the queries' gains."""
    values, parts = after.values - before.values, after.influences - before.influences
    is_median = measure.definition.aggregate == "median"
    return _Side(float(np.median(values)) if is_median else after.score - before.score, values, parts)


def _only_adds(labellings: Mapping[str, CodedQrels], measure: Measure) -> bool:
    """Return whether no positive is lost from the original to the augmented labels."""
    if "augmented" not in labellings or measure.condensed:
        return False
    before, after = (labellings[name].relevance >= measure.level for name in ("original", "augmented"))
    return bool((before <= after).all())


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


def _describe(a: _Side, b: _Side, measure: Measure) -> dict[str, Any]:
    """Return the effect, and on how many queries a is better, worse and equal."""
    sign = 1 if measure.definition.larger_is_better else -1
    n = len(a.values)
    n_better, n_worse = (int(np.count_nonzero(sign * side * (a.values - b.values) > 0)) for side in (1, -1))
    parts = a.influences - b.influences
    spread = float(np.std(parts, ddof=1)) if n > 1 and measure.definition.aggregate != "median" else 0.0
    return {
        "effect": float(parts.mean()) / spread if spread else np.nan,
        "superiority": (n_better + (n - n_better - n_worse) / 2) / n,
        "n_better": n_better,
        "n_worse": n_worse,
        "n_equal": n - n_better - n_worse,
    }


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
