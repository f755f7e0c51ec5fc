"""C@k and P@k corrected for errors of labels, beside those as labelled in the tables of the commands."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Ints, are_among
from fire_toolkit.inference.audit import AuditedLabels
from fire_toolkit.inference.background import Background, drawn_pairs_of, pairs_of_sample
from fire_toolkit.inference.corrected import Corrected, corrected_terms, gaps_of, why_uncorrected
from fire_toolkit.inference.differences import holm
from fire_toolkit.inference.estimates import ESTIMATE_COLUMNS, MOST_UNJUDGED, share_left_out
from fire_toolkit.inference.intervals import code_clusters
from fire_toolkit.inference.judged_pairs import JudgedPairs, Runs, join_runs
from fire_toolkit.inference.votes import SETTLED, Votes, votes_of_labels
from fire_toolkit.measures import Measure, parse_measures
from fire_toolkit.tables import Labels, PoolSources, Qrels, Scores
from fire_toolkit.tables.columns import pair_rows
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
NO_DISPUTES = "pairs in dispute tell how often votes differ; give `disputes` as `resolve` returns them"
OF_JUDGE = "a machine judge's sample left out part of its top, and the estimate by it takes labels as right"
UNJUDGED = "more than 5% of its top is not judged, and would count as not relevant; pool and judge it"
UNCHECKED = (
    "as labelled comes first: {}, and pairs that are hard for everybody would leave the correction off by "
    "several points"
)
CORRECTED_COLUMNS = ESTIMATE_COLUMNS | {"estimate_n": "int64"}
CORRECTED_COLUMNS |= dict.fromkeys(("estimate_delta_low", "estimate_delta_high"), "float64")


@dataclass(frozen=True, eq=False)
class Correction:
    """C@k and P@k corrected for errors of votes, or by experts.

    terms: corrected scores, by run and measure, without those that have a reason against them; clusters: of
    each query; method: `METHOD` where fourth votes showed no dependence, so that the corrected score comes
    first, else `IF_INDEPENDENT`; n_answers: pairs with a second vote, or with an expert's answer; notes:
    sentences.
    """

    terms: Mapping[tuple[str, str], Corrected] = field(default_factory=dict)
    clusters: Ints | None = None
    method: str = METHOD
    n_answers: int = 0
    notes: Sequence[str] = ()

    def cells(self, run_id: str, measure: str) -> dict[str, Any]:
        """Return `CORRECTED_COLUMNS` of a run: the corrected score, and limits of its gain; none without."""
        key = run_id, measure
        if key not in self.terms:
            return {}
        one = self.terms[key]
        own = one.limits(self.clusters, least=0.0)
        gain = one.minus(Corrected(one.before)).limits(self.clusters, least=-1.0)
        values = (*own[:3], self.method, self.n_answers, gain.low, gain.high)
        return dict(zip(CORRECTED_COLUMNS, values, strict=True))


def join_with_votes(
    runs: Runs, original: Qrels, labels: Labels, background: Background, *others: pd.DataFrame
) -> JudgedPairs:
    """Return runs joined once with the pairs of qrels, labels, disputes, `others` and the sample drawn."""
    disputes = [] if background.disputes is None else [background.disputes.assign(relevance=0)]
    return join_runs(runs, original, labels, *others, *disputes, *pairs_of_sample(background.design))


def is_by_design(labels: Labels | None, background: Background) -> bool:
    """Return whether votes by design, or experts, tell how often labels err, of which none is a machine's."""
    if labels is None or background.counts.get("include_machine"):
        return False
    return background.audit is not None or bool((labels.get(DESIGN[0], pd.Series()).fillna("") != "").any())


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
        runs, original, labels, measures, background, sources, clusters: as in `scores_with_uncertainty`.
        policies: on rejected originals: nothing is corrected unless it is `union` alone.
    """
    parsed = [measure for measure in parse_measures(measures) if not why_uncorrected(measure)]
    if not parsed or labels is None:
        return Correction()
    rates: AuditedLabels | Votes | None = background.audit
    others = [policy for policy in policies if policy != "union"]
    reason = NOT_UNION.format(", ".join(others)) if others else SETTLED if background.is_settled else ""
    if rates is None:
        tables: dict[str, Any] = {"disputes": background.disputes, "sources": sources}
        rates = votes = votes_of_labels(labels, original, **tables, is_settled=background.is_settled)
        reason = votes.reason or (NO_DISPUTES if background.disputes is None else reason)
    if reason:
        named = ", ".join(measure.name for measure in parsed)
        return Correction(notes=[f"{named}: not corrected for errors of votes: {reason}"])
    joined = join_with_votes(runs, original, labels, background)
    design, chances, is_deep = background.design, None, None
    is_asked: Any = False
    is_judges = design is not None and design.sample is not None
    if design is not None and not is_judges:
        is_asked, chances = drawn_pairs_of(joined, design)
        chances[~is_asked] = 0.0
        if design.queries is not None:
            deep = design.queries["query_id"][design.queries["is_sampled"].astype(bool)]
            is_deep = joined.queries.isin(deep)
    terms = corrected_terms(joined, original, rates, parsed, chances=chances, is_deep=is_deep)
    place, is_known = joined.find_rows(rates.pairs), joined.label(original).relevance >= 1
    is_known |= are_among(place[place >= 0], len(joined.pairs)) | is_asked
    for (run_id, run), measure in product(joined.places.items(), parsed):
        own, key = run if is_deep is None else run.of(np.flatnonzero(is_deep)), (run_id, measure.name)
        share = share_left_out(own, measure.depth or 0, is_known)
        if share > MOST_UNJUDGED and not terms[key].reason and (is_judges or measure.definition.is_precision):
            terms[key] = replace(terms[key], reason=OF_JUDGE if is_judges else UNJUDGED)
    known = {key: one for key, one in terms.items() if not one.reason}
    codes = code_clusters(joined.queries, clusters)
    n_units = len(joined.queries) if codes is None else int(codes.max()) + 1
    method = IF_INDEPENDENT if rates.doubt else METHOD
    notes = [*_notes(terms, rates, n_units), *rates.told]
    lost = None if background.audit is None or not known else background.disputes
    if lost is not None and (n_lost := int((pair_rows(lost, labels) < 0).sum())):
        words = f"{n_of(n_lost, 'pair')} in dispute, which the audit leaves out"
        notes.append(f"taken as not relevant: {words}")
    return Correction(known, codes, method, rates.n_answers, notes)


def _notes(
    terms: Mapping[tuple[str, str], Corrected], rates: AuditedLabels | Votes, n_units: int
) -> Iterator[str]:
    """Yield by what scores are corrected, why as labelled comes first, and what is not corrected."""
    known = {key: one for key, one in terms.items() if not one.reason}
    if known:
        named = ", ".join(dict.fromkeys(measure for _, measure in known))
        yield f"{named}: corrected {rates.basis}; a doc that nobody judged counts as not relevant"
        if rates.doubt:
            yield UNCHECKED.format(rates.doubt)
        if n_units < FEW:
            yield f"{n_units} queries or clusters are few: intervals of corrected scores may be too narrow"
    if beyond := [f"{measure} of {run_id}" for (run_id, measure), one in known.items() if one.is_beyond]:
        some = f"{', '.join(beyond[:3])}{' and others' if len(beyond) > 3 else ''}"
        yield f"{some}: corrected beyond 0 to 100, as an estimate without bias may be; read its limits"
    refused: dict[tuple[str, str], list[str]] = {}
    for (run_id, measure), one in terms.items():
        if one.reason:
            refused.setdefault((measure, one.reason), []).append(run_id)
    n_runs = len({run_id for run_id, _ in terms})
    for (measure, reason), runs in refused.items():
        of_runs = "" if len(runs) == n_runs else f" of {', '.join(runs)}"
        yield f"{measure}{of_runs}: not corrected: {reason}"
    if drawn := dict.fromkeys(measure for (_, measure), one in known.items() if one.is_drawn):
        yield f"{', '.join(drawn)}: estimated by the sample, and corrected"


def first_of(scores: pd.DataFrame) -> pd.DataFrame:
    """Return honest rows as they are shown: corrected scores that come first stand in the place of others.

    Their augmented, delta, low, high, delta_low and delta_high are then the corrected ones, and `labelled` is
    the score as labelled, nan in other rows; there is no such column where none comes first.
    """
    if "estimate_method" not in scores or not (is_first := scores["estimate_method"] == METHOD).any():
        return scores
    limits = ("low", "high", "delta_low", "delta_high")
    corrected = scores.assign(
        **{name: scores[f"estimate_{name}"] for name in limits},
        augmented=scores["estimate"],
        delta=scores["estimate"] - scores["original"],
        interval="corrected",
        estimate=float("nan"),
        estimate_method="",
        labelled=scores["augmented"],
    )
    others = scores.assign(labelled=float("nan"))
    return corrected.where(is_first, others).astype({"labelled": "float64"})


def with_corrected_scores(scores: Scores, correction: Correction) -> Scores:
    """Return scores and the corrected ones, whose value and limits are qrels of their own."""
    name, rows = CORRECTED[correction.method], []
    for (run_id, measure), one in correction.terms.items():
        found = one.limits(correction.clusters, least=0.0)
        named = zip((name, f"{name}_low", f"{name}_high"), found[:3], strict=True)
        rows += [(run_id, "all", qrels, measure, value) for qrels, value in named]
    columns = ["run_id", "query_id", "qrels", "measure", "value"]
    return Scores(pd.concat([scores, pd.DataFrame(rows, columns=columns)])) if rows else scores


def with_corrected_differences(table: pd.DataFrame, correction: Correction) -> pd.DataFrame:
    """Return differences with those of corrected scores, before others where the correction comes first.

    Their rows have the qrels `corrected` or `corrected_if_independent` and the test `t`; Holm
    corrects it over the pairs of runs of a measure. Counts of queries won and effect sizes mean nothing for
    them, and are empty.
    """
    name, rows = CORRECTED[correction.method], []
    runs, pooled = ([*table[f"{each}_a"], *table[f"{each}_b"]] for each in ("run", "pooled"))
    fed = dict(zip(runs, pooled, strict=True))
    for measure, run_a, run_b, gap in gaps_of(correction.terms):
        row: dict[str, Any] = {"qrels": name, "measure": measure, "test": "t"}
        for side, run_id in (("a", run_a), ("b", run_b)):
            value = float(correction.terms[run_id, measure].terms.mean())
            row |= {f"run_{side}": run_id, f"pooled_{side}": fed[run_id], f"value_{side}": value}
        own = gap.limits(correction.clusters, least=-1.0)
        rows.append(row | {"difference": own.estimate, "low": own.low, "high": own.high, "p": own.p})
    if not rows:
        return table
    found = pd.DataFrame(rows)
    found["p_holm"] = found.groupby("measure")["p"].transform(lambda p: holm(p.to_numpy()))
    both = pd.concat([found, table] if correction.method == METHOD else [table, found], ignore_index=True)
    order = {each: place for place, each in enumerate(dict.fromkeys(table["measure"]))}
    both = both.sort_values("measure", key=lambda names: names.map(order), kind="stable", ignore_index=True)
    return both[list(table.columns)].astype(dict.fromkeys(("n_better", "n_worse", "n_equal"), "Int64"))
