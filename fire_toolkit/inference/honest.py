"""The honest row: a score with all that a reader must know to believe it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Ints
from fire_toolkit.errors import UsageError
from fire_toolkit.evidence.qrels import augment_qrels, change_counts, originals_beside
from fire_toolkit.evidence.qrels import highest_grade as top_grade
from fire_toolkit.inference.bounds import describe_bounds, score_bounds, why_unbounded
from fire_toolkit.inference.designs import Design, pairs_of_sample
from fire_toolkit.inference.estimates import (
    ESTIMATE_COLUMNS,
    MISSING_COLUMNS,
    Estimator,
    cells_of,
    estimate_of,
    estimator,
    missing_of,
)
from fire_toolkit.inference.intervals import (
    change_interval,
    code_clusters,
    influences,
    note_few,
    score_interval,
)
from fire_toolkit.inference.judged_pairs import PooledPairs, Runs, Tell, join_runs, silent, values_of
from fire_toolkit.inference.limits import Estimate
from fire_toolkit.inference.trust import describe_trust, note_refused, note_unverified
from fire_toolkit.measures import JudgedRanking, Measure, parse_measures
from fire_toolkit.measures.defaults import ESTIMATES, judged_at
from fire_toolkit.results import Found
from fire_toolkit.tables import Labels, PoolSources, Qrels

_COUNTS = ("n_queries", "confirmed", "rejected", "never_judged", "new")
_OF_DESIGN = ESTIMATE_COLUMNS | {"estimate_n": "int64"} | MISSING_COLUMNS
HONEST_COLUMNS = {
    **dict.fromkeys(("policy", "run_id", "pooled", "measure"), "str"),
    **dict.fromkeys(("original", "augmented", "delta", "low", "high"), "float64"),
    "interval": "str",
    **dict.fromkeys(("delta_low", "delta_high"), "float64"),
    "delta_interval": "str",
    **dict.fromkeys(("condensed", "lower", "upper"), "float64"),
    "bounds": "str",
    **dict.fromkeys(("judged", "without_own", "own_change"), "float64"),
    **dict.fromkeys(_COUNTS, "int64"),
}


def scores_with_uncertainty(
    runs: Runs,
    original: Qrels,
    labels: Labels,
    measures: Sequence[str | Measure],
    *,
    sources: PoolSources | None = None,
    policies: Sequence[str] = ("union",),
    design: Design | None = None,
    original_grade: int | None = None,
    highest_grade: int | None = None,
    clusters: pd.Series | None = None,
    tell: Tell = silent,
) -> Found:
    """Return one row for each policy, run and measure, with what is uncertain beside the score.

    Args:
        runs: as in `join_runs`.
        original: the benchmark's qrels; their queries are the universe.
        labels: the resolved labels of judged pairs.
        measures: names or measures.
        sources: which run pooled which pair; without it `pooled`, `without_own` and `own_change` are
            empty or nan.
        policies: see `augment_qrels`; rows are made for each.
        design: by which the judged pairs were chosen, where some were judged for a sample alone.
        original_grade: see `augment_qrels`.
        highest_grade: the highest of the guideline, which an unjudged doc may have; None: the highest seen.
        clusters: index query_id, values the cluster of the query, where whole clusters were drawn.
        tell: is told what is being worked on, for those who wait.

    Returns:
        `scores`, in the order policy, run, measure as given, with the columns

        - policy, run_id, pooled (`yes`: the run fed the pool; `no`; empty: not known), measure;
        - original, augmented, delta: the score by the original and the augmented qrels, and the gain;
        - low, high, interval: limits of the augmented score, nan where nothing is known, and how they
          were made (`exact`, `score`, `t`, and `order` for medians; see `intervals`); delta_low,
          delta_high, delta_interval: of the gain;
        - condensed: the augmented score with unjudged docs left out;
        - lower, upper: between which the score lies whatever the unjudged docs are, in the run's list or
          outside of it; nan where there is no bound; bounds: `exact` (reached by some labelling), `outer`
          (perhaps not), or what is lacking and why, see `why_unbounded`;
        - judged: the share of those docs that is judged, mean over queries;
        - without_own, own_change: the augmented score without the judgments that only this run
          contributed (originals stay), and what that changes; FIRE's Table 4 calls it New;
        - n_queries; and of the original positives how many were confirmed, rejected and never_judged;
          new: pairs that became positive. Confirmations are not among the new;
        - with a design alone: estimate, estimate_low, estimate_high, estimate_method, estimate_n (see
          `estimate_scores`), and for measures that divide by |G| missing, missing_low, missing_high: the
          share of positives that was never judged.

    Raises:
        UsageError, JoinError, TableError: see `join_runs`, `augment_qrels`, `code_clusters`.
    """
    parsed = parse_measures(measures)
    if not policies:
        raise UsageError("no policy given; expected some of union, override, drop")
    lifted = originals_beside(original, labels, grade=original_grade)
    highest = max(highest_grade or 1, seen := max(1, top_grade(lifted), top_grade(labels)))
    joined = join_runs(runs, lifted, labels, *pairs_of_sample(design))
    n_queries = len(joined.queries)
    codes, before = code_clusters(joined.queries, clusters), joined.label(lifted)
    pools = None if sources is None else PooledPairs.of(joined, sources)
    labellings, rows, of_design = [before], list[dict[str, Any]](), dict[str, None]()
    gains = list[tuple[Measure, Estimate]]()
    n_rows, basis = len(set(policies)) * len(joined.places) * len(parsed), ""
    for policy in dict.fromkeys(policies):
        augmented, changes = augment_qrels(lifted, labels, policy=policy, original_grade=original_grade)
        counts = change_counts(changes)
        of_policy = counts | {"policy": policy, "n_queries": n_queries, "never_judged": counts["original"]}
        labellings.append(after := joined.label(augmented))
        cells: dict[tuple[str, str], dict[str, Any]] = {}
        if design is not None:
            by = estimator(joined, before, after, design, clusters=codes)
            cells, told = _by_design(by, parsed)
            of_design, basis = of_design | dict.fromkeys(told), basis or by.basis
        for run_id in joined.places:
            alone = [] if pools is None else [after.reverted(before, pools.own({run_id}))]
            pooled = "" if pools is None else "yes" if run_id in pools.run_ids else "no"
            views = [joined.ranking(run_id, labelling) for labelling in (before, after, *alone)]
            for measure in parsed:
                tell(f"bounds of {measure.name}: {run_id} ({len(rows) + 1} of {n_rows})")
                only_up = policy == "union" and not measure.condensed
                row, gain = _row(views, measure, highest=highest, only_up=only_up, clusters=codes)
                row = of_policy | row | {"run_id": run_id, "pooled": pooled, "measure": measure.name}
                rows.append(row | cells.get((run_id, measure.name), {}))
                gains.append((measure, gain))
    columns = HONEST_COLUMNS | ({} if design is None else _OF_DESIGN)
    table = pd.DataFrame(rows, columns=list(columns)).astype(columns)
    first = table[table["policy"] == table["policy"].iloc[0]]
    notes = [*_on_grades(lifted, original, parsed, highest, seen, highest_grade)]
    notes += joined.note_depths(labellings, parsed)
    notes += [*_on_measures(table, parsed), *note_few(gains, n_queries=n_queries, clusters=codes)]
    if design is not None:
        notes += [*note_unverified(labels, design, lifted), *_on_strata(parsed), *of_design]
        notes += [*_on_basis(first, basis), *note_refused(first, first["run_id"])]
    return Found({"scores": table}, (*notes, *describe_trust(first, parsed, n_queries=n_queries)))


def _row(
    views: list[JudgedRanking], measure: Measure, *, highest: int, only_up: bool, clusters: Ints | None
) -> tuple[dict[str, Any], Estimate]:
    """Return what is known of a run by one measure, and the interval of its gain.

    views: the run as the original and the augmented qrels judge it, and without its own judgments.
    """
    early, late, *without = (values_of(view, measure) for view in views)
    before, after, alone = (measure.aggregate(each) for each in (early, late, *without, early)[:3])
    alone = alone if without else np.nan
    own, ranking = score_interval(late, measure, clusters=clusters), views[1]
    parts = influences(late, measure), influences(early, measure)
    gain = change_interval(*parts, measure, only_up=only_up, clusters=clusters)
    lower, upper = score_bounds(ranking, measure, highest=highest)
    judged = judged_at(measure.depth or max(ranking.worst_rank - 1, 1))  # beyond the top it reads the top
    condensed = measure.per_query(measure.view(ranking.condensed()))
    row = {"original": before, "augmented": after, "delta": after - before}
    row |= {"low": own.low, "high": own.high, "delta_low": gain.low, "delta_high": gain.high}
    row |= {"without_own": alone, "own_change": alone - after, "condensed": measure.aggregate(condensed)}
    row |= {"lower": measure.aggregate(lower), "upper": measure.aggregate(upper)}
    row |= {"judged": judged.aggregate(values_of(ranking, judged))}
    names = {"interval": own.method, "delta_interval": gain.method}
    return row | names | {"bounds": describe_bounds(measure, ranking)}, gain


def _by_design(
    by: Estimator, measures: Sequence[Measure]
) -> tuple[dict[tuple[str, str], dict[str, Any]], list[str]]:
    """Return what a design tells of each run and measure, and sentences on it."""
    missing = {measure.name: missing_of(by, measure) for measure in measures}
    found = {(run, each.name): estimate_of(by, each, run) for run in by.joined.places for each in measures}
    cells = {
        (run, name): cells_of(by, each)
        | {"estimate_n": by.n}
        | dict(zip(MISSING_COLUMNS, missing[name], strict=False))
        for (run, name), each in found.items()
    }
    named, words = [("the share never judged", each) for each in missing.values()], []
    named += [(name, each) for (_, name), each in found.items()]
    for name, totals in ((measure.name, by.totals(measure)) for measure in measures):
        named += [(name, each) for each in totals.values()]
        of_runs = [
            f"{run} {each.refused or f'{each.estimate:.3f} [{each.low:.3f}, {each.high:.3f}]'}"
            for run, each in totals.items()
        ]
        what = f"{name} as a ratio of totals over all queries (micro, no mean over queries)"
        words += [f"{what}: {', '.join(of_runs)}"] if of_runs else []
    return cells, [*words, *by.cautions(named)]


def _on_basis(first: pd.DataFrame, basis: str) -> list[str]:
    """Return what the estimates of some measures are of."""
    known = first.loc[first["estimate"].notna(), "measure"].unique()
    some = "" if len(known) == first["measure"].nunique() else f" of {', '.join(known)}"
    return [f"est.{some}: {basis}"] if len(known) else []


def _on_strata(measures: Sequence[Measure]) -> list[str]:
    """Return the note on measures that read strata, which labels have none of."""
    names = [measure.name for measure in measures if measure.definition.key in ESTIMATES]
    told = "scored here as if every pair had been judged whatever was drawn; plain `score` reads the strata"
    return [f"{', '.join(names)}: {told} of the augmented qrels"] if names else []


def _on_grades(
    lifted: Qrels,
    original: Qrels,
    measures: Sequence[Measure],
    highest: int,
    seen: int,
    of_guideline: int | None,
) -> Iterator[str]:
    """Yield at which grade originals count beside labels, and up to which bounds take unjudged docs."""
    if lifted is not original:
        yield f"original positives count at grade {top_grade(lifted)}, as labels have grades up to {seen}"
    names = [m.name for m in measures if m.definition.is_graded and not why_unbounded(m)]
    if names and highest > 1:
        source = "of the guideline" if highest == of_guideline else "seen"
        up_to = f"unjudged docs up to grade {highest}, the highest {source}"
        yield f"{', '.join(names)}: bounds are for {up_to}"


def _on_measures(table: pd.DataFrame, measures: Sequence[Measure]) -> Iterator[str]:
    """Yield why measures lack bounds, of what else a reader must beware, and which runs fed no pool."""
    reasons: dict[str, list[str]] = {}
    for measure in measures:
        reasons.setdefault(why_unbounded(measure), []).append(measure.name)
    yield from (f"{', '.join(own)}: {why}" for why, own in reasons.items() if why)
    yield from (m.caution for m in measures if m.caution)
    fresh = table.loc[table["pooled"] == "no", "run_id"].unique()
    if len(fresh):
        yield (
            f"{', '.join(fresh)}: fed no pool, so what only such a run finds is unjudged; its scores are "
            "not comparable with those of pooled runs: see lower, upper and judged"
        )
