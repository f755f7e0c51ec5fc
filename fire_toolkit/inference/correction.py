"""C@k and P@k corrected for errors of votes, as `score`, `score --honest` and `difference` show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from fire_toolkit.arrays import Ints
from fire_toolkit.inference.background import Background
from fire_toolkit.inference.corrected import Corrected, corrected_terms, gaps_of, why_uncorrected
from fire_toolkit.inference.designs import chances_of, pairs_of_sample
from fire_toolkit.inference.differences import holm
from fire_toolkit.inference.estimates import ESTIMATE_COLUMNS
from fire_toolkit.inference.intervals import code_clusters
from fire_toolkit.inference.judged import NO_DESIGN, SETTLED
from fire_toolkit.inference.judged_pairs import JudgedPairs, Runs, join_runs
from fire_toolkit.inference.label_quality import (
    LabelErrors,
    errors_of_labels,
    numbers_of_errors,
    words_of_alarm,
    words_of_errors,
)
from fire_toolkit.measures import Measure, parse_measures
from fire_toolkit.tables import Labels, PoolSources, Qrels, Scores
from fire_toolkit.tables.design import DESIGN
from fire_toolkit.words import n_of

METHOD = "corrected for label errors"
IF_INDEPENDENT = "corrected if errors are independent"
CORRECTED = {METHOD: "corrected", IF_INDEPENDENT: "corrected_if_independent"}
FEW = 40  # queries or clusters, below which intervals hold too seldom
NOT_UNION = (
    "the qrels follow policy {}, where original positives count by their labels, and the correction takes "
    "originals as right (policy union)"
)
UNCHECKED = (
    "as labelled comes first: {}, and pairs that are hard for everybody would leave the correction off by "
    "several points"
)
_GAIN = ("estimate_delta_low", "estimate_delta_high")


@dataclass(frozen=True, eq=False)
class Correction:
    """C@k and P@k corrected for errors of votes, or by experts.

    terms, gains: corrected scores, and what they are above the score by the originals, by run and measure;
    clusters: of each query; method: `METHOD` where fourth votes showed no dependence, so that the corrected
    score comes first, else `IF_INDEPENDENT`; n_second: pairs with a second vote, or
    with an expert's answer; notes: sentences.
    """

    terms: Mapping[tuple[str, str], Corrected] = field(default_factory=dict)
    gains: Mapping[tuple[str, str], Corrected] = field(default_factory=dict)
    clusters: Ints | None = None
    method: str = METHOD
    n_second: int = 0
    notes: Sequence[str] = ()

    @property
    def is_first(self) -> bool:
        """Whether corrected scores stand before those as labelled."""
        return self.method == METHOD


def join_with_votes(
    runs: Runs,
    original: Qrels,
    labels: Labels,
    background: Background,
    measures: Sequence[str | Measure],
    *others: pd.DataFrame,
) -> JudgedPairs:
    """Return runs joined once with the pairs of the qrels, labels, `others`, and of the sample drawn.

    Where votes may correct one of the measures, the pairs in dispute are among them.
    """
    is_corrected = any(not why_uncorrected(measure) for measure in parse_measures(measures))
    disputes = background.disputes
    if is_corrected and disputes is not None and set(DESIGN) <= set(labels) and not background.is_settled:
        others = (*others, disputes.assign(relevance=0))
    return join_runs(runs, original, labels, *others, *pairs_of_sample(background.design))


def correct_for_errors(
    runs: Runs,
    original: Qrels,
    labels: Labels | None,
    measures: Sequence[str | Measure],
    background: Background,
    *,
    sources: PoolSources | None = None,
    clusters: pd.Series | None = None,
    policies: Sequence[str] = ("union",),
) -> Correction:
    """Return what votes by design, or experts, correct of the measures that they can correct.

    Args:
        runs: the runs, or what `join_with_votes` returned.
        original: the original qrels.
        labels: of judged pairs.
        measures: names or measures.
        background: of the labels.
        sources: which run pooled which pair.
        clusters: index query_id, values the cluster of the query, where whole clusters were drawn.
        policies: on rejected originals: nothing is corrected unless it is `union` alone.
    """
    parsed = [measure for measure in parse_measures(measures) if not why_uncorrected(measure)]
    if not parsed or labels is None:
        return Correction()
    audit, errors, reason = background.audit, None, ""
    if audit is None:
        tables: dict[str, Any] = {"disputes": background.disputes, "sources": sources}
        errors = errors_of_labels(labels, original, **tables, is_settled=background.is_settled)
        no_votes = SETTLED if background.is_settled else NO_DESIGN
        reason = no_votes if errors is None else errors.reason
    if others := [policy for policy in policies if policy != "union"]:
        reason = reason or NOT_UNION.format(", ".join(others))
    if reason:
        named = ", ".join(measure.name for measure in parsed)
        return Correction(notes=[f"{named}: not corrected for errors of votes: {reason}"])
    joined = join_with_votes(runs, original, labels, background, measures)
    judged: Any = errors.votes if errors is not None else audit
    chances = chances_of(joined, background.design)
    terms = corrected_terms(joined, original, judged, parsed, chances=chances)
    before = joined.label(original)
    values = [own for run_id in joined.places for own in joined.values(run_id, before, parsed).T]
    gains = {key: one.above(own) for (key, one), own in zip(terms.items(), values, strict=True)}
    codes = code_clusters(joined.queries, clusters)
    n_units = len(joined.queries) if codes is None else int(codes.max()) + 1
    if errors is None:
        by, why = f"by {n_of(judged.n_answers, 'answer')} of experts, who are taken as right", ""
        n_second, told = judged.n_answers, judged.in_words
    else:
        by, why = f"for errors of votes, of which one {errors.in_words}", _why_not_first(errors, labels)
        n_second, told = errors.votes.n_second, [words_of_errors(numbers_of_errors(errors))]
        told += words_of_alarm(errors)
        if n := errors.votes.n_demoted:
            told.append(f"{n:,} doubled pairs have one vote and count as single")
    notes = [*_notes(terms, by, why, n_units), *told]
    return Correction(terms, gains, codes, IF_INDEPENDENT if why else METHOD, n_second, notes)


def is_by_design(labels: Labels | None, background: Background) -> bool:
    """Return whether labels hold a design by which votes were doubled, or experts have audited them."""
    if labels is None or background.audit is not None:
        return labels is not None
    return DESIGN[0] in labels and bool((labels[DESIGN[0]].fillna("") != "").any())


def _why_not_first(errors: LabelErrors, labels: Labels) -> str:
    """Return why it is not known that votes err independently; empty where fourth votes say so."""
    alarm, audit = errors.alarm, "`next-round --ask audit`"
    if labels["relevance"].max() > 1 or alarm is None:
        return f"under a guideline of several positive grades only {audit} tells whether votes err alike"
    if alarm.n and alarm.is_raised:
        return f"fourth votes say that votes err alike on some pairs; {audit} corrects that too"
    if alarm.is_enough:
        return ""
    missing = alarm.n_needed - alarm.n
    asks = f"there are too few positives by 2 to 1 to ask; see {audit}"
    if missing <= errors.votes.n_unasked:
        asks = f"`next-round --ask fourth_vote --budget {missing}` asks enough"
    found = f"{alarm.n:,} fourth votes are too few to show" if alarm.n else "nobody checked by fourth votes"
    return f"{found} whether votes err independently ({asks})"


def _notes(terms: Mapping[tuple[str, str], Corrected], by: str, why: str, n_units: int) -> list[str]:
    """Return by what scores are corrected, why as labelled comes first, and what is not corrected."""
    found = dict.fromkeys(measure for (_, measure), one in terms.items() if not one.reason)
    notes = []
    if found:
        notes.append(f"{', '.join(found)}: corrected {by}; a doc that nobody judged counts as not relevant")
        notes += [UNCHECKED.format(why)] if why else []
        if n_units < FEW:
            notes.append(
                f"{n_units} queries or clusters are few: intervals of corrected scores may be too narrow"
            )
        beyond = [f"{measure} of {run_id}" for (run_id, measure), one in terms.items() if one.is_beyond]
        if beyond:
            some = f"{', '.join(beyond[:3])}{' and others' if len(beyond) > 3 else ''}"
            notes.append(
                f"{some}: corrected beyond 0 to 100, as an estimate without bias may be; read its limits"
            )
    refused: dict[tuple[str, str], list[str]] = {}
    for (run_id, measure), one in terms.items():
        if one.reason:
            refused.setdefault((measure, one.reason), []).append(run_id)
    n_runs = len({run_id for run_id, _ in terms})
    for (measure, reason), runs in refused.items():
        of_runs = "" if len(runs) == n_runs else f" of {', '.join(runs)}"
        notes.append(f"{measure}{of_runs}: not corrected: {reason}")
    drawn = dict.fromkeys(measure for (_, measure), one in terms.items() if one.is_drawn and not one.reason)
    return notes + ([f"{', '.join(drawn)}: estimated by the sample, and corrected"] if drawn else [])


def with_estimates(scores: pd.DataFrame, correction: Correction) -> pd.DataFrame:
    """Return honest scores with the corrected ones in the columns for estimates.

    Where a measure is corrected, estimate, estimate_low, estimate_high, estimate_method and estimate_n (pairs
    with a second vote) are filled, and estimate_delta_low and estimate_delta_high, the limits of the gain.
    """
    rows, clusters = {}, correction.clusters
    for key, one in correction.terms.items():
        if not one.reason:
            own, gain = one.limits(clusters, least=0.0), correction.gains[key].limits(clusters, least=-1.0)
            rows[key] = (*own[:3], correction.method, correction.n_second, gain.low, gain.high)
    if not rows:
        return scores
    columns = [*ESTIMATE_COLUMNS, "estimate_n", *_GAIN]
    known = pd.DataFrame(list(rows.values()), pd.MultiIndex.from_tuples(rows), columns)
    place = known.index.get_indexer(pd.MultiIndex.from_frame(scores[["run_id", "measure"]]))
    filled, empty = scores.copy(), {"estimate_method": "", "estimate_n": 0}
    for name in columns:
        before = scores.get(name, pd.Series(empty.get(name, float("nan")), index=scores.index))
        filled[name] = before.where(place < 0, known[name].to_numpy()[place])
    return filled


def first_of(scores: pd.DataFrame) -> pd.DataFrame:
    """Return honest rows as they are shown: corrected scores that come first stand in the place of others.

    Their augmented, delta, low, high, delta_low and delta_high are then the corrected ones, and `labelled` is
    the score as labelled, nan in other rows; there is no such column where none comes first.
    """
    if "estimate_method" not in scores or not (is_first := scores["estimate_method"] == METHOD).any():
        return scores
    corrected = scores.assign(
        augmented=scores["estimate"],
        delta=scores["estimate"] - scores["original"],
        low=scores["estimate_low"],
        high=scores["estimate_high"],
        delta_low=scores[_GAIN[0]],
        delta_high=scores[_GAIN[1]],
        interval="corrected",
        estimate=float("nan"),
        estimate_method="",
        labelled=scores["augmented"],
    )
    others = scores.assign(labelled=float("nan"))
    return corrected.where(is_first, others).astype({"labelled": "float64"})


def with_corrected_scores(scores: Scores, correction: Correction) -> Scores:
    """Return scores and the corrected ones, whose value and limits are qrels of their own."""
    name = CORRECTED[correction.method]
    rows = [
        {"run_id": run_id, "qrels": qrels, "query_id": "all", "measure": measure, "value": value}
        for (run_id, measure), one in correction.terms.items()
        if not one.reason
        for qrels, value in zip(
            (name, f"{name}_low", f"{name}_high"), one.limits(correction.clusters, least=0.0)[:3], strict=True
        )
    ]
    return Scores(pd.concat([scores, pd.DataFrame(rows)])) if rows else scores


def with_corrected_differences(table: pd.DataFrame, correction: Correction) -> pd.DataFrame:
    """Return differences with those of corrected scores, before others where the correction comes first.

    Their rows have the qrels `corrected` or `corrected_if_independent` and the test `t`; Holm
    corrects it over the pairs of runs of a measure. Counts of queries won and effect sizes mean nothing for
    them, and are empty.
    """
    runs, pooled = ([*table[f"{name}_a"], *table[f"{name}_b"]] for name in ("run", "pooled"))
    fed, rows = dict(zip(runs, pooled, strict=True)), []
    for measure, run_a, run_b, gap in gaps_of(correction.terms):
        row: dict[str, Any] = {"qrels": CORRECTED[correction.method], "measure": measure, "test": "t"}
        for side, run_id in (("a", run_a), ("b", run_b)):
            value = float(correction.terms[run_id, measure].terms.mean())
            row |= {f"run_{side}": run_id, f"pooled_{side}": fed[run_id], f"value_{side}": value}
        found = gap.limits(correction.clusters, least=-1.0)
        rows.append(row | {"difference": found.estimate, "low": found.low, "high": found.high, "p": found.p})
    if not rows:
        return table
    found_rows = pd.DataFrame(rows)
    found_rows["p_holm"] = found_rows.groupby("measure")["p"].transform(lambda p: holm(p.to_numpy()))
    counts = dict.fromkeys(("n_better", "n_worse", "n_equal"), "Int64")
    both = pd.concat([found_rows, table] if correction.is_first else [table, found_rows], ignore_index=True)
    order = {name: place for place, name in enumerate(dict.fromkeys(table["measure"]))}
    both = both.sort_values("measure", key=lambda names: names.map(order), kind="stable", ignore_index=True)
    return both[list(table.columns)].astype(counts)


def is_corrected(qrels: str) -> bool:
    """Return whether rows under such qrels are of corrected scores."""
    return qrels in CORRECTED.values()
