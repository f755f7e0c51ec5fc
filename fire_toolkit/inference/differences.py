"""Whether a difference between two runs would hold on other queries."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Floats
from fire_toolkit.errors import UsageError
from fire_toolkit.inference.background import Design, pairs_of_sample
from fire_toolkit.inference.estimates import ESTIMATE_COLUMNS, HORVITZ, TWO_PHASE, estimator
from fire_toolkit.inference.intervals import change_interval, code_clusters, influences, note_few
from fire_toolkit.inference.judged_pairs import JudgedPairs, Runs, Tell, join_runs, silent
from fire_toolkit.inference.limits import Estimate
from fire_toolkit.inference.trust import note_refused
from fire_toolkit.matching.coded import CodedQrels
from fire_toolkit.measures import Measure, parse_measures
from fire_toolkit.results import Found
from fire_toolkit.tables import PoolSources, Qrels
from fire_toolkit.words import n_of

_TEXT = ("qrels", "measure", "run_a", "run_b", "pooled_a", "pooled_b")
_COUNTS = ("n_better", "n_worse", "n_equal")
DIFFERENCE_COLUMNS = dict.fromkeys(_TEXT, "str")
DIFFERENCE_COLUMNS |= dict.fromkeys(("value_a", "value_b", "difference", "low", "high"), "float64")
DIFFERENCE_COLUMNS |= {"test": "str", "p": "float64", "p_holm": "float64", "effect": "float64"}
DIFFERENCE_COLUMNS |= {"superiority": "float64", **dict.fromkeys(_COUNTS, "int64")}
_OF_WHAT = {TWO_PHASE: "from the queries judged deep", HORVITZ: "from the pairs drawn"}


def score_differences(
    runs: Runs,
    original: Qrels,
    measures: Sequence[str | Measure],
    *,
    augmented: Qrels | None = None,
    sources: PoolSources | None = None,
    clusters: pd.Series | None = None,
    design: Design | None = None,
    tell: Tell = silent,
) -> Found:
    """Return for every two runs the difference of their scores, its interval, test and effect size.

    Args:
        runs, original, measures, clusters, tell: as in `scores_with_uncertainty`; two runs or more.
        augmented: the corrected qrels; differences are then also given under them, and of the gains.
        sources: which run pooled which pair, to mark the runs that fed the pool.
        design: by which the judged pairs of `augmented` were chosen, where some were judged for a sample.

    Returns:
        A table by qrels (`original`; `augmented` and `delta`, the gains, if asked for), measure and
        pair as given, with difference = value_a − value_b and

        - low, high: its interval, nan where none is known; test: of which method it is (`score`, `t`, or
          `order` for medians; see `intervals`); p: two-sided, of the same method, so that 0 lies outside the
          limits where p < .05;
        - p_holm: p corrected over the pairs of runs under one measure and qrels (Holm 1979), to which no
          interval belongs;
        - effect: the mean difference over its standard deviation (Cohen's d_z), nan when all are equal;
          superiority: the share of queries on which a is better, ties counted half;
        - n_better, n_worse, n_equal: queries on which a's value is larger, smaller, equal; for measures
          where less is better, better is smaller.

        With a design the table also has estimate, estimate_low, estimate_high and estimate_method (see
        `estimator`) in the rows under the augmented qrels; all else is of the labels as they are. A median
        (MedR) has no p-value and no effect.

    Raises:
        UsageError: fewer than two runs, an unknown measure, numbers out of range.
        JoinError: as `join_runs`.
    """
    parsed = parse_measures(measures)
    joined = join_runs(runs, original, *([] if augmented is None else [augmented]), *pairs_of_sample(design))
    if len(joined.places) < 2:
        raise UsageError(f"found {len(joined.places)} run; expected two or more to compare")
    codes = code_clusters(joined.queries, clusters)
    labellings = {"original": joined.label(original)}
    labellings |= {} if augmented is None else {"augmented": joined.label(augmented)}
    by = None
    if design is not None and augmented is not None:
        by = estimator(joined, labellings["original"], labellings["augmented"], design)
    sides = _sides(joined, labellings, parsed)
    fed = set() if sources is None else set(sources["run_id"].unique())
    pooled = {run: "" if sources is None else "yes" if run in fed else "no" for run in joined.places}
    rows: list[dict[str, Any]] = []
    found, estimates = list[tuple[Measure, Estimate]](), list[tuple[str, Estimate]]()
    for name, by_run in sides.items():
        tell(f"{name}: {n_of(len(joined.places), 'run')}")
        for place, measure in enumerate(parsed):
            only_up = measure.definition.is_binary and _only_adds(labellings, measure)
            reach = 2.0 if name == "delta" and not only_up else 1.0
            for run_a, run_b in combinations(joined.places, 2):
                a, b = by_run[run_a][place], by_run[run_b][place]
                interval = change_interval(a.parts, b.parts, measure, reach=reach, clusters=codes)
                found.append((measure, interval))
                row: dict[str, Any] = {"qrels": name, "measure": measure.name, "run_a": run_a, "run_b": run_b}
                row |= {"pooled_a": pooled[run_a], "pooled_b": pooled[run_b]} | _describe(a, b, measure)
                row |= {"low": interval.low, "high": interval.high, "p": interval.p, "test": interval.method}
                if by is not None and name == "augmented":
                    estimates.append((measure.name, each := by.estimate(measure, run_a, run_b)))
                    row |= by.cells(each)
                rows.append(row)
    columns = DIFFERENCE_COLUMNS | ({} if by is None else ESTIMATE_COLUMNS)
    table = pd.DataFrame(rows, columns=list(columns)).fillna({} if by is None else {"estimate_method": ""})
    table["p_holm"] = table.groupby(["qrels", "measure"])["p"].transform(lambda part: holm(part.to_numpy()))
    table = table.astype(columns)
    notes = [*joined.note_depths(labellings.values(), parsed), *_notes(table, parsed)]
    notes += note_few(found, n_queries=len(joined.queries), clusters=codes)
    notes += [] if augmented is None else joined.note_unjudged(labellings["augmented"], parsed)
    if by is not None:
        if table["estimate"].notna().any():
            what = f"est. a - b: {_OF_WHAT[by.method]}, of these queries"
            notes.append(f"{what}; tests and effects use the labels as they are")
            notes += by.cautions(estimates)
        estimated = table[table["qrels"] == "augmented"]
        notes += note_refused(estimated, estimated["run_a"] + " & " + estimated["run_b"])
    return Found({"differences": table}, tuple(notes))


def changes_of_scores(
    joined: JudgedPairs, before: Qrels, after: Qrels, measures: Sequence[str], *, run_ids: Sequence[str]
) -> pd.DataFrame:
    """Return for each run and measure the score by both labellings, the change and its interval.

    Args:
        joined: the runs, joined with the pairs of both qrels; its queries are the universe.
        before, after: two states of the labels of these queries.
        measures: names.
        run_ids: of which runs of `joined`; none gives an empty table.

    Returns:
        run_id, measure, before, after, change (after − before), low and high, by run and measure as given.
        The limits are of the queries' changes (see `intervals`); nan where nothing is known.

    Raises:
        JoinError: a pair was no part of the join.
    """
    parsed, rows = parse_measures(measures), []
    sides = [joined.label(qrels) for qrels in (before, after)]
    for run_id in run_ids:
        both = (scored_by(joined, run_id, side, parsed) for side in sides)
        for measure, early, late in zip(parsed, *both, strict=True):
            found = change_interval(late.parts, early.parts, measure)
            scores = (early.score, late.score, late.score - early.score)
            rows.append((run_id, measure.name, *scores, found.low, found.high))
    return pd.DataFrame(rows, columns=["run_id", "measure", "before", "after", "change", "low", "high"])


class Scored(NamedTuple):
    """A run's score, or gain, by one measure, with what each query has and what part of it hangs on each."""

    score: float
    values: Floats
    parts: Floats


def scored_by(joined: JudgedPairs, run_id: str, by: CodedQrels, measures: Sequence[Measure]) -> list[Scored]:
    """Return what a run has by each measure under a labelling."""
    columns = joined.values(run_id, by, measures).T
    return [
        Scored(m.aggregate(own), own, influences(own, m)) for m, own in zip(measures, columns, strict=True)
    ]


def _sides(
    joined: JudgedPairs, labellings: Mapping[str, CodedQrels], measures: Sequence[Measure]
) -> dict[str, dict[str, list[Scored]]]:
    """Return qrels → run → scores by each measure; `delta` holds the gains."""
    found = {
        name: {run_id: scored_by(joined, run_id, own, measures) for run_id in joined.places}
        for name, own in labellings.items()
    }
    if "augmented" in found:
        both = {run_id: (late, found["original"][run_id]) for run_id, late in found["augmented"].items()}
        found["delta"] = {run_id: [*map(_gain, *sides, measures)] for run_id, sides in both.items()}
    return found


def _gain(after: Scored, before: Scored, measure: Measure) -> Scored:
    """Return the gain between two scores, whose parts are those of `change_interval`."""
    is_median = measure.definition.aggregate == "median"
    parts = np.stack([after.parts, -before.parts]) if is_median else after.parts - before.parts
    return Scored(after.score - before.score, after.values - before.values, parts)


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


def _describe(a: Scored, b: Scored, measure: Measure) -> dict[str, Any]:
    """Return values, difference and effect, and on how many queries a is better, worse and equal."""
    sign = 1 if measure.definition.larger_is_better else -1
    n = len(a.values)
    n_better, n_worse = (int(np.count_nonzero(sign * side * (a.values - b.values) > 0)) for side in (1, -1))
    parts = a.parts - b.parts
    spread = float(np.std(parts, ddof=1)) if n > 1 and measure.definition.aggregate != "median" else 0.0
    return {
        **{"value_a": a.score, "value_b": b.score, "difference": a.score - b.score},
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
