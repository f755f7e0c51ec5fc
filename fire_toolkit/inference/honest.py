"""The honest row: a score with all that a reader must know to believe it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Ints
from fire_toolkit.errors import UsageError
from fire_toolkit.evidence.qrels import augment_qrels, change_counts, originals_beside
from fire_toolkit.evidence.qrels import highest_grade as top_grade
from fire_toolkit.inference.background import Background
from fire_toolkit.inference.bounds import describe_bounds, score_bounds, why_unbounded
from fire_toolkit.inference.correction import (
    CORRECTED_COLUMNS,
    Correction,
    correct_for_errors,
    join_with_votes,
)
from fire_toolkit.inference.estimates import ESTIMATE_COLUMNS, MISSING_COLUMNS, estimator
from fire_toolkit.inference.intervals import (
    change_interval,
    code_clusters,
    influences,
    note_few,
    score_interval,
)
from fire_toolkit.inference.judged_pairs import JudgedPairs, Runs, Tell, own_pairs, silent
from fire_toolkit.inference.limits import Estimate
from fire_toolkit.inference.trust import (
    describe_missing,
    describe_unknown,
    estimates_of_runs,
    note_refused,
    note_unverified,
)
from fire_toolkit.measures import JudgedRanking, Measure, parse_measures
from fire_toolkit.measures.defaults import ESTIMATES, judged_at
from fire_toolkit.tables import Labels, PoolSources, Qrels
from fire_toolkit.tables.columns import are_positives

_COUNTS = ("n_queries", "confirmed", "rejected", "disputed", "never_judged", "new")
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


class HonestRows(NamedTuple):
    """The honest rows, and what is said beside them.

    usable: the rows over the usable queries alone, None where none is flagged as unusable; notes: on measures
    and bounds; correction: of errors of votes; trusted: what a measure may be trusted for.
    """

    scores: pd.DataFrame
    usable: pd.DataFrame | None
    notes: Sequence[str]
    correction: Correction
    trusted: Sequence[str]


def scores_with_uncertainty(
    runs: Runs,
    original: Qrels,
    labels: Labels | None,
    measures: Sequence[str | Measure],
    background: Background | None = None,
    *,
    sources: PoolSources | None = None,
    policies: Sequence[str] = ("union",),
    clusters: pd.Series | None = None,
    tell: Tell = silent,
) -> HonestRows:
    """Return one row for each policy, run and measure, with what is uncertain beside the score.

    Args:
        runs: as in `join_runs`, or what `join_with_votes` returned.
        original: the benchmark's qrels; their queries are the universe.
        labels: the resolved labels of judged pairs.
        measures: names or measures.
        background: of the labels: by which design the judged pairs were chosen, where some were judged for a
            sample alone; the votes in dispute, and an audit; grades (without a highest one unjudged docs may
            have the highest seen); unusable queries.
        sources: which run pooled which pair; without it `pooled`, `without_own` and `own_change` are
            empty or nan.
        policies: see `augment_qrels`; rows are made for each.
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
        - n_queries; and of the original positives how many were confirmed, rejected, disputed and
          never_judged; new: pairs that became positive. Confirmations are not among the new;
        - with a design alone: estimate, estimate_low, estimate_high, estimate_method, estimate_n, and for
          measures that divide by |G| missing, missing_low, missing_high: the share of positives that was
          never judged; corrected scores stand in these columns too, see `Correction.cells`.

    Raises:
        UsageError, JoinError, TableError: see `join_runs`, `augment_qrels`, `code_clusters`.
    """
    known, parsed = background or Background(), parse_measures(measures)
    if labels is None:
        raise UsageError("honest rows need labels; give those that `resolve` made")
    if not policies:
        raise UsageError("no policy given; expected some of union, override, drop")
    tell("ranks of judged docs")
    lifted, _ = originals_beside(original, labels, grade=known.original_grade)
    joined = join_with_votes(runs, lifted, labels, known)
    options: dict[str, Any] = {"sources": sources, "clusters": clusters, "policies": policies}
    correction = correct_for_errors(joined, original, labels, measures, known, **options)
    scores, notes = _rows(joined, original, labels, parsed, known, correction, **options, tell=tell)
    usable, counts = None, {"n_queries": len(joined.queries), "n_runs": len(joined.places)}
    first = scores[scores["policy"] == scores["policy"].iloc[0]]
    trusted = describe_missing(first) if "missing" in first else describe_unknown(parsed, **counts)
    if judge := known.counts.get("include_machine"):
        trusted.append(
            f"scored by people's labels alone; plain `score` also counts those of {judge}, a machine"
        )
    if (alone := known.usable_join(joined)) is not None:
        of_all = replace(known, design=None)
        before, counted = known.usable(original, labels)
        usable, _ = _rows(alone, before, counted, parsed, of_all, Correction(), **options, tell=tell)
        trusted += ["estimates are of all queries"] if "estimate" in scores else []
    return HonestRows(scores, usable, notes, correction, trusted)


def _rows(
    joined: JudgedPairs,
    original: Qrels,
    labels: Labels,
    measures: Sequence[Measure],
    known: Background,
    correction: Correction,
    *,
    sources: PoolSources | None,
    policies: Sequence[str],
    clusters: pd.Series | None,
    tell: Tell,
) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows of `scores_with_uncertainty`, and notes."""
    grade, design = known.original_grade, known.design
    lifted, _ = originals_beside(original, labels, grade=grade)
    highest = max(known.highest_grade or 1, seen := max(1, top_grade(lifted), top_grade(labels)))
    n_queries, codes = len(joined.queries), code_clusters(joined.queries, clusters)
    before, pools = joined.label(lifted), None if sources is None else joined.pooled(sources)
    labellings, rows, of_design = [before], list[dict[str, Any]](), dict[str, None]()
    gains, of_first = list[tuple[Measure, Estimate]](), list[dict[str, Any]]()
    n_disputed = 0 if known.disputes is None else int(are_positives(known.disputes, original).sum())
    n_rows, basis = len(set(policies)) * len(joined.places) * len(measures), ""
    for policy in dict.fromkeys(policies):
        augmented, changes = augment_qrels(lifted, labels, policy=policy, original_grade=grade)
        of_policy: dict[str, Any] = {"policy": policy, "n_queries": n_queries, **change_counts(changes)}
        of_policy |= {"disputed": n_disputed, "never_judged": of_policy["original"] - n_disputed}
        labellings.append(after := joined.label(augmented))
        if design is not None:
            by = estimator(joined, before, after, design._replace(policy=policy), clusters=codes)
            found, told = estimates_of_runs(by, measures)
            of_first = of_first or [*found.values()]
            of_design, basis = of_design | dict.fromkeys(told), basis or by.basis
        for run_id in joined.places:
            alone = [] if pools is None else [after.reverted(before, own_pairs(pools, {run_id}))]
            pooled = "" if pools is None else "yes" if run_id in pools else "no"
            views = [joined.ranking(run_id, labelling) for labelling in (before, after, *alone)]
            for measure in measures:
                tell(f"bounds of {measure.name}: {run_id} ({len(rows) + 1} of {n_rows})")
                only_up = policy == "union" and not measure.condensed
                row, gain = _row(views, measure, highest=highest, only_up=only_up, clusters=codes)
                row = of_policy | row | {"run_id": run_id, "pooled": pooled, "measure": measure.name}
                row |= {} if design is None else found[run_id, measure.name]
                rows.append(row | correction.cells(run_id, measure.name))
                gains.append((measure, gain))
    columns = HONEST_COLUMNS | (_OF_DESIGN if of_first else {})
    columns |= CORRECTED_COLUMNS if correction.terms else {}
    table = pd.DataFrame(rows, columns=list(columns)).fillna({"estimate_method": "", "estimate_n": 0})
    table = table.astype(columns)
    notes = [*_on_grades(lifted, original, measures, highest, seen, known.highest_grade)]
    notes += joined.note_depths(labellings, measures)
    notes += [*_on_measures(table, measures), *note_few(gains, n_queries=n_queries, clusters=codes)]
    if design is not None:
        notes += [*note_unverified(labels, design, lifted), *_on_strata(measures), *of_design]
        first = pd.DataFrame(of_first)
        told_of = first.loc[first["estimate"].notna(), "measure"].unique()
        some = "" if len(told_of) == first["measure"].nunique() else f" of {', '.join(told_of)}"
        notes += [f"est.{some}: {basis}"] if len(told_of) else []
        notes += note_refused(first, first["run_id"])
    return table, notes


def _row(
    views: list[JudgedRanking], measure: Measure, *, highest: int, only_up: bool, clusters: Ints | None
) -> tuple[dict[str, Any], Estimate]:
    """Return what is known of a run by one measure, and the interval of its gain.

    views: the run as the original and the augmented qrels judge it, and without its own judgments.
    """
    early, late, *without = (measure.values(view) for view in views)
    before, after, alone = (measure.aggregate(each) for each in (early, late, *without, early)[:3])
    alone = alone if without else np.nan
    own, ranking = score_interval(late, measure, clusters=clusters), views[1]
    parts = influences(late, measure), influences(early, measure)
    gain = change_interval(*parts, measure, only_up=only_up, clusters=clusters)
    lower, upper = score_bounds(ranking, measure, highest=highest)
    judged = judged_at(measure.depth or max(ranking.worst_rank - 1, 1))  # beyond the top it reads the top
    condensed = measure.values(ranking.condensed())
    row = {"original": before, "augmented": after, "delta": after - before}
    row |= {"low": own.low, "high": own.high, "delta_low": gain.low, "delta_high": gain.high}
    row |= {"without_own": alone, "own_change": alone - after, "condensed": measure.aggregate(condensed)}
    row |= {"lower": measure.aggregate(lower), "upper": measure.aggregate(upper)}
    row |= {"judged": judged.aggregate(judged.values(ranking))}
    names = {"interval": own.method, "delta_interval": gain.method}
    return row | names | {"bounds": describe_bounds(measure, ranking)}, gain


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
