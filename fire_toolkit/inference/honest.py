"""The honest row: a score with all that a reader must know to believe it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Ints
from fire_toolkit.errors import UsageError
from fire_toolkit.evidence.qrels import augment_qrels, change_counts, originals_beside
from fire_toolkit.evidence.qrels import highest_grade as top_grade
from fire_toolkit.inference.bounds import describe_bounds, is_bounded, score_bounds, why_unbounded
from fire_toolkit.inference.estimates import (
    ESTIMATE_COLUMNS,
    Design,
    Estimated,
    estimate_scores,
    pairs_of_sample,
)
from fire_toolkit.inference.intervals import (
    Interval,
    change_interval,
    code_clusters,
    influences,
    note_few,
    score_interval,
)
from fire_toolkit.inference.judged_pairs import PooledPairs, Runs, Tell, join_runs, silent, values_of
from fire_toolkit.inference.trust import describe_estimates, describe_trust, note_unverified
from fire_toolkit.measures import JudgedRanking, Measure, parse_measures
from fire_toolkit.measures.defaults import ESTIMATES, judged_at
from fire_toolkit.tables import Labels, PoolSources, Qrels

_TEXT = ("policy", "run_id", "pooled", "measure", "interval", "delta_interval", "bounds")
_COUNTS = ("n_queries", "confirmed", "rejected", "never_judged", "new")
_NAMES = [
    "policy",
    "run_id",
    "pooled",
    "measure",
    "original",
    "augmented",
    "delta",
    "low",
    "high",
    "interval",
]
_NAMES += ["delta_low", "delta_high", "delta_interval", "condensed", "lower", "upper", "bounds", "judged"]
_NAMES += ["without_own", "own_change", *_COUNTS]
HONEST_COLUMNS = {
    name: "str" if name in _TEXT else "int64" if name in _COUNTS else "float64" for name in _NAMES
}


class Honest(NamedTuple):
    """What `scores_with_uncertainty` returns: the table and sentences on what it does not say."""

    scores: pd.DataFrame
    notes: tuple[str, ...]


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
) -> Honest:
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

    Examples:
        >>> from fire_toolkit.matching.ranking import rank_run
        >>> from fire_toolkit.tables import check_qrels
        >>> scored = {"run_id": ["a", "a", "b", "b"], "query_id": "q", "doc_id": ["d1", "d2"] * 2}
        >>> runs = rank_run(pd.DataFrame(scored | {"score": [2.0, 1.0, 1.0, 2.0]}))
        >>> original = check_qrels(pd.DataFrame({"query_id": "q", "doc_id": ["d1"], "relevance": 1}))
        >>> from fire_toolkit.tables import check_labels
        >>> pairs = {"query_id": "q", "doc_id": ["d2"], "label": "x", "relevance": 1}
        >>> labels = check_labels(pd.DataFrame(pairs))
        >>> found = scores_with_uncertainty(runs, original, labels, ["C@1"])
        >>> found.scores[["run_id", "original", "augmented", "delta"]]
          run_id  original  augmented  delta
        0      a       1.0        1.0    0.0
        1      b       0.0        1.0    1.0
    """
    parsed = parse_measures(measures)
    if not policies:
        raise UsageError("no policy given; expected some of union, override, drop")
    original, highest, noted = _graded(original, labels, parsed, original_grade, highest_grade)
    joined = join_runs(runs, original, labels, *pairs_of_sample(design))
    codes, before = code_clusters(joined.queries, clusters), joined.label(original)
    pools = None if sources is None else PooledPairs.of(joined, sources)
    labellings, rows = [before], list[dict[str, Any]]()
    estimated: dict[str, Estimated] = {}
    gains: list[tuple[Measure, Interval]] = []
    n_rows = len(set(policies)) * len(joined.places) * len(parsed)
    for policy in dict.fromkeys(policies):
        augmented, changes = augment_qrels(original, labels, policy=policy, original_grade=original_grade)
        counts = change_counts(changes)
        of_policy = {"policy": policy, "n_queries": len(joined.queries), "never_judged": counts["original"]}
        of_policy |= {name: counts[name] for name in ("confirmed", "rejected", "new")}
        labellings.append(after := joined.label(augmented))
        for run_id in joined.places:
            qrels = {"original": before, "augmented": after}
            if pools is not None:
                qrels["without_own"] = after.reverted(before, pools.own({run_id}))
            pooled = "" if pools is None else "yes" if run_id in pools.run_ids else "no"
            views = {name: joined.ranking(run_id, labelling) for name, labelling in qrels.items()}
            for measure in parsed:
                tell(f"bounds of {measure.name}: {run_id} ({len(rows) + 1} of {n_rows})")
                only_up = policy == "union" and not measure.condensed
                row, gain = _row(views, measure, highest=highest, only_up=only_up, clusters=codes)
                rows.append(of_policy | row | {"run_id": run_id, "pooled": pooled, "measure": measure.name})
                gains.append((measure, gain))
        if design is not None:
            estimated[policy] = estimate_scores(joined, before, after, design, parsed, clusters=codes)
    columns = HONEST_COLUMNS | (ESTIMATE_COLUMNS if estimated else {})
    if estimated:
        rows = [row | estimated[row["policy"]].cells[row["run_id"], row["measure"]] for row in rows]
    table = pd.DataFrame(rows, columns=list(columns)).astype(columns)
    first = table[table["policy"] == table["policy"].iloc[0]]
    few = note_few(gains, n_queries=len(joined.queries), clusters=codes)
    noted += (*joined.note_depths(labellings, parsed), *_notes(table, parsed), *few)
    if design is not None:
        noted += (*note_unverified(labels, design, original), *_note_unsampled(parsed))
        noted += _notes_of_estimates(estimated, first)
    return Honest(table, (*noted, *describe_trust(first, parsed, n_queries=len(joined.queries))))


def _notes_of_estimates(estimated: Mapping[str, Estimated], scores: pd.DataFrame) -> tuple[str, ...]:
    notes = dict.fromkeys(note for each in estimated.values() for note in each.notes)
    return (*notes, *describe_estimates(scores, next(iter(estimated.values())).basis))


def _row(
    views: Mapping[str, JudgedRanking],
    measure: Measure,
    *,
    highest: int,
    only_up: bool,
    clusters: Ints | None,
) -> tuple[dict[str, Any], Interval]:
    """Return what is known of a run by one measure, and the interval of its gain.

    views: the run as the original and the augmented qrels judge it, and without its own judgments.
    """
    values = {name: values_of(view, measure) for name, view in views.items()}
    score = {name: measure.aggregate(each) for name, each in values.items()}
    ranking = views["augmented"]
    own = score_interval(values["augmented"], measure, clusters=clusters)
    early, late = (influences(values[name], measure) for name in ("original", "augmented"))
    gain = change_interval(late, early, measure, only_up=only_up, clusters=clusters)
    lower, upper = score_bounds(ranking, measure, highest=highest)
    judged = judged_at(measure.depth or max(ranking.worst_rank - 1, 1))  # beyond the top it reads the top
    row = {
        "original": score["original"],
        "augmented": score["augmented"],
        "delta": score["augmented"] - score["original"],
        "condensed": measure.aggregate(measure.per_query(measure.view(ranking.condensed()))),
        "lower": measure.aggregate(lower),
        "upper": measure.aggregate(upper),
        "bounds": describe_bounds(measure, ranking),
        "judged": judged.aggregate(values_of(ranking, judged)),
        "without_own": score.get("without_own", np.nan),
        "own_change": score.get("without_own", np.nan) - score["augmented"],
    }
    row |= {"low": own.low, "high": own.high, "interval": own.method}
    return row | {"delta_low": gain.low, "delta_high": gain.high, "delta_interval": gain.method}, gain


def _note_unsampled(measures: Sequence[Measure]) -> tuple[str, ...]:
    """Return the note on measures that read strata, which labels have none of."""
    names = [measure.name for measure in measures if measure.definition.key in ESTIMATES]
    if not names:
        return ()
    return (
        f"{', '.join(names)}: scored here as if every pair had been judged whatever was drawn; plain `score` "
        "reads the strata of the augmented qrels",
    )


def _graded(
    original: Qrels, labels: Labels, measures: list[Measure], wanted: int | None, of_guideline: int | None
) -> tuple[Qrels, int, tuple[str, ...]]:
    """Return the originals beside the labels, the highest grade of an unjudged doc, and notes on both."""
    lifted = originals_beside(original, labels, grade=wanted)
    seen = max(1, top_grade(lifted), top_grade(labels))
    highest = max(of_guideline or 1, seen)
    words = f"original positives count at grade {top_grade(lifted)}, as labels have grades up to {seen}"
    notes = [] if lifted is original else [words]
    names = [m.name for m in measures if m.definition.is_graded and is_bounded(m)]
    if names and highest > 1:
        source = "of the guideline" if highest == of_guideline else "seen"
        notes.append(
            f"{', '.join(names)}: bounds are for unjudged docs up to grade {highest}, the highest {source}"
        )
    return lifted, highest, tuple(notes)


def _notes(table: pd.DataFrame, measures: list[Measure]) -> tuple[str, ...]:
    reasons: dict[str, list[str]] = {}
    for measure in measures:
        reasons.setdefault(why_unbounded(measure), []).append(measure.name)
    notes = [f"{', '.join(own)}: {why}" for why, own in reasons.items() if why]
    notes += [m.caution for m in measures if m.caution]
    fresh = table.loc[table["pooled"] == "no", "run_id"].unique()
    if len(fresh):
        notes.append(
            f"{', '.join(fresh)}: fed no pool, so what only such a run finds is unjudged; its scores are "
            "not comparable with those of pooled runs: see lower, upper and judged"
        )
    return tuple(notes)
