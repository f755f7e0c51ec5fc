"""What votes say of their own errors: beside scores, and when labels join the qrels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from fire_toolkit.cli.common import n_of, say, workspace_path
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.score_design import design_if_any
from fire_toolkit.inference.corrected import LabelErrors, corrected_scores, label_errors, why_uncorrected
from fire_toolkit.inference.design_votes import NO_DESIGN, SETTLED, Votes, votes_by_design, with_best_ranks
from fire_toolkit.inference.estimates import chances_of
from fire_toolkit.inference.intervals import code_clusters
from fire_toolkit.inference.judged_pairs import JudgedPairs, join_runs
from fire_toolkit.inference.machine_estimates import pairs_of_sample
from fire_toolkit.measures import parse_measures
from fire_toolkit.paper_tables.methods import words_of_errors
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.tables.design import DESIGN
from fire_toolkit.workspace.manifests import manifest_path, read_manifest
from fire_toolkit.workspace.settled import settled_by

METHOD = "corrected for label errors"
SHARED = (
    "{} of another pair (pool --judge-once), and no vote tells how often it errs there; "
    "judge those pairs too, or take the scores as labelled"
)
LEAST_UNJUDGED = 0.0005  # of what a corrected measure reads, worth a word
ASSUMED = (
    "the correction is unbiased where votes err independently; pairs that are hard for everybody can leave "
    "it 2 points too high, and only an audit shows them (`audit-labels`)"
)


def votes_given(given: Given, *, by_band: bool = False) -> Votes | None:
    """Return the votes by design that the labels and disputes hold; None where they hold no design.

    by_band: with rates of their own for bands of the best rank in the runs that fed the pool.
    """
    if not set(DESIGN) <= set(given.labels.columns):
        return None
    if _are_settled(given):
        return Votes(pd.DataFrame(), 0, SETTLED)
    tables: list[pd.DataFrame] = [given.labels, *_disputes(given)]
    tables = [t.reindex(columns=[*PAIR, *DESIGN, "relevance"]) for t in tables]
    design = pd.concat([t.fillna(dict.fromkeys(DESIGN, "")) for t in tables], ignore_index=True)
    design = with_best_ranks(design, given.sources, given.original) if by_band else design
    return votes_by_design(design, given.original, by_band=by_band)


def _disputes(given: Given) -> list[pd.DataFrame]:
    """Return the disputes beside the labels; nothing where there is no such file."""
    is_there = given.needed("labels").with_name("disputes.csv").is_file()
    return [given.disputes] if is_there else []


def join_with_votes(given: Given, names: Sequence[str], *others: pd.DataFrame) -> JudgedPairs:
    """Return the runs joined once with the pairs of the qrels, labels and `others`, and of disputes.

    Disputes are read where votes may correct one of the measures, see `corrected_rows`.
    """
    is_corrected = any(not why_uncorrected(measure) for measure in parse_measures(names))
    if is_corrected and set(DESIGN) <= set(given.labels.columns) and not _are_settled(given):
        others = (*others, *(disputes.assign(relevance=0) for disputes in _disputes(given)))
    others = (*others, *pairs_of_sample(design_if_any(given)))
    return join_runs(given.stored_runs, given.original, given.labels, *others)


def _are_settled(given: Given) -> bool:
    """Whether the pool, or the augmented qrels, were asked until a measure was settled."""
    pool = given.found("pool_sources") if "pool_sources" in given.values else workspace_path("pool/pool.csv")
    augmented = given.found("augmented") if "augmented" in given.values else None
    return any(path is not None and settled_by(path) is not None for path in (pool, augmented))


def errors_given(given: Given, *, by_band: bool = False) -> LabelErrors | None:
    """Return what the votes say of the labels' errors; None where labels hold no design.

    Without the alarm where labels have several positive grades: fourth votes then settle disputes between
    grades too, and the pairs that have one are no random part of the positives by 2 to 1.
    """
    votes = votes_given(given, by_band=by_band)
    if votes is None:
        return None
    errors = label_errors(votes)
    return replace(errors, alarm=None) if given.labels["relevance"].max() > 1 else errors


def numbers_of_errors(errors: LabelErrors) -> dict[str, Any]:
    """Return the rates of error as counts of a manifest; the reason where there are none."""
    if errors.reason:
        return {"reason": errors.reason}
    numbers = {"t": float(errors.t[0]), "f": float(errors.f[0])}
    for name, (value, low, high) in (("wrong_share", errors.wrong), ("recall", errors.found)):
        numbers |= {name: value, f"{name}_low": low, f"{name}_high": high}
    return {name: round(value, 6) for name, value in numbers.items()} | {"basis": errors.in_words}


def say_errors_of_augmented(given: Given) -> None:
    """Say what `augment` knew of the errors of its labels, where it knew any; without a manifest nothing."""
    path = given.found("augmented") if given.augmented_if_any is not None else None
    at = manifest_path(path, is_folder=False) if path else None
    numbers = read_manifest(at).counts.get("label_errors", {}) if at and at.is_file() else {}
    if numbers and "reason" not in numbers:
        say(words_of_errors(numbers))


def corrected_rows(
    given: Given,
    names: Sequence[str],
    scores: pd.DataFrame,
    joined: JudgedPairs,
    *,
    n_shared: int = 0,
    by_band: bool = False,
) -> tuple[pd.DataFrame, list[str]]:
    """Return honest scores with C@k and P@k corrected for errors of votes, and what to say of it.

    Args:
        names: the measures.
        scores: of `scores_with_uncertainty`. joined: of `join_with_votes`.
        n_shared: labels that are another pair's: with any nothing is corrected.
        by_band: by rates of error of their own for bands of ranks.

    Returns:
        The scores with estimate, estimate_low, estimate_high, estimate_method and estimate_n (pairs with a
        second vote) filled where a measure is corrected, else as they are; and sentences, one for each
        run and measure that is.
    """
    measures = [measure for measure in parse_measures(names) if not why_uncorrected(measure)]
    if not measures:
        return scores, []
    errors = errors_given(given, by_band=by_band)
    reason = errors.reason if errors is not None else SETTLED if _are_settled(given) else NO_DESIGN
    if n_shared:
        reason = SHARED.format(n_of(n_shared, "label"))
    if errors is None or reason:
        named = ", ".join(measure.name for measure in measures)
        return scores, [f"{named}: not corrected for errors of votes: {reason}"]
    votes = errors.votes
    draws = dict(given.draws)
    clusters = code_clusters(joined.queries, draws.pop("clusters"))
    chances = chances_of(joined, design_if_any(given))
    options = {"clusters": clusters, "chances": chances, **draws}
    found = corrected_scores(joined, given.original, votes, measures, **options)
    labelled = scores.drop_duplicates(["run_id", "measure"]).set_index(["run_id", "measure"])
    words = [
        _in_words(row, labelled.loc[(row["run_id"], row["measure"])], errors)
        for row in found.to_dict("records")
    ]
    words += [
        ASSUMED,
        words_of_errors(numbers_of_errors(errors)),
        *words_of_alarm(errors),
        *_of_demoted(votes),
    ]
    return _filled(scores, found, votes.n_second), words


def _in_words(row: Mapping[Any, Any], labelled: Mapping[Any, Any], errors: LabelErrors) -> str:
    start = f"{row['run_id']}: {row['measure']} {_share(labelled['augmented'])} as labelled"
    if row["reason"]:
        return f"{start}; not corrected: {row['reason']}"
    limits = f"[{_share(row['low'])}, {_share(row['high'])}]"
    unjudged = 1 - labelled["judged"]
    if row["is_drawn"]:
        return (
            f"{start}; {_share(row['estimate'])} {limits} by the sample, and "
            f"corrected for error rates {errors.in_words}"
        )
    lacks = f"; {unjudged:.1%} of what it reads is unjudged, and counted as not relevant"
    corrected = f"{start}; {_share(row['estimate'])} {limits} corrected for error rates {errors.in_words}"
    return corrected + (lacks if unjudged >= LEAST_UNJUDGED else "")


def _share(value: float) -> str:
    return f"{value:.3f}".replace("0.", ".", 1) if -1 < value < 1 else f"{value:.3f}"


def words_of_alarm(errors: LabelErrors) -> list[str]:
    """Return what fourth votes say of errors that agree; nothing without any."""
    alarm = errors.alarm
    if alarm is None:
        return []
    words = (
        f"of {alarm.n:,} fourth votes on positives by 2 to 1 {alarm.n_positive:,} are positive, "
        f"{alarm.expected * alarm.n:.1f} expected if errors are independent (z {alarm.z:.2f})"
    )
    raised = ": some pairs are hard for everybody; have labels audited (`audit-labels`)"
    return [f"warning: {words}{raised}" if alarm.is_raised else words]


def _of_demoted(votes: Votes) -> list[str]:
    n = votes.n_demoted
    return [f"{n:,} doubled pairs have one vote and count as single"] if n else []


def _filled(scores: pd.DataFrame, found: pd.DataFrame, n_second: int) -> pd.DataFrame:
    """Return honest scores with the estimates of corrected measures in the columns for estimates."""
    known = found[found["reason"] == ""].set_index(["run_id", "measure"])
    rows = pd.MultiIndex.from_frame(scores[["run_id", "measure"]])
    place = known.index.get_indexer(rows)
    filled = scores.copy()
    for name, own in (("estimate", "estimate"), ("estimate_low", "low"), ("estimate_high", "high")):
        before = scores[name] if name in scores else pd.Series(float("nan"), index=scores.index)
        filled[name] = known[own].to_numpy()[place] if len(known) else before
        filled[name] = filled[name].where(place >= 0, before)
    before = scores["estimate_method"] if "estimate_method" in scores else pd.Series("", index=scores.index)
    filled["estimate_method"] = before.where(place < 0, METHOD)
    before = scores["estimate_n"] if "estimate_n" in scores else pd.Series(0, index=scores.index)
    filled["estimate_n"] = before.where(place < 0, n_second)
    return filled
