"""What votes say of their own errors: beside scores, and when labels join the qrels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from fire_toolkit.cli.common import say, workspace_path
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.score_design import design_if_any
from fire_toolkit.inference.corrected import why_uncorrected
from fire_toolkit.inference.design_votes import SETTLED, Votes, votes_by_design, with_best_ranks
from fire_toolkit.inference.judged_pairs import JudgedPairs, join_runs
from fire_toolkit.inference.label_quality import LabelErrors, label_errors
from fire_toolkit.inference.machine_estimates import pairs_of_sample
from fire_toolkit.measures import parse_measures
from fire_toolkit.reporting.methods import words_of_errors
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.tables.design import DESIGN
from fire_toolkit.workspace.manifests import manifest_path, read_manifest
from fire_toolkit.workspace.settled import settled_by


def votes_given(given: Given) -> Votes | None:
    """Return the votes by design that the labels and disputes hold; None where they hold no design.

    Bands of the best rank in the runs that fed the pool are told apart where its sources are known.
    """
    if not set(DESIGN) <= set(given.labels.columns):
        return None
    if are_settled(given):
        return Votes(pd.DataFrame(), 0, SETTLED)
    tables: list[pd.DataFrame] = [given.labels, *_disputes(given)]
    tables = [t.reindex(columns=[*PAIR, *DESIGN, "relevance"]) for t in tables]
    design = pd.concat([t.fillna(dict.fromkeys(DESIGN, "")) for t in tables], ignore_index=True)
    sources = given.sources_if_any
    return votes_by_design(design if sources is None else with_best_ranks(design, sources), given.original)


def _disputes(given: Given) -> list[pd.DataFrame]:
    """Return the disputes beside the labels; nothing where there is no such file."""
    is_there = given.needed("labels").with_name("disputes.csv").is_file()
    return [given.disputes] if is_there else []


def join_with_votes(given: Given, names: Sequence[str], *others: pd.DataFrame) -> JudgedPairs:
    """Return the runs joined once with the pairs of the qrels, labels and `others`, and of disputes.

    Disputes are read where votes may correct one of the measures, see `corrected_rows`.
    """
    is_corrected = any(not why_uncorrected(measure) for measure in parse_measures(names))
    if is_corrected and set(DESIGN) <= set(given.labels.columns) and not are_settled(given):
        others = (*others, *(disputes.assign(relevance=0) for disputes in _disputes(given)))
    others = (*others, *pairs_of_sample(design_if_any(given)))
    return join_runs(given.stored_runs, given.original, given.labels, *others)


def are_settled(given: Given) -> bool:
    """Return whether the pool, or the augmented qrels, were asked until a measure was settled."""
    pool = given.found("pool_sources") if "pool_sources" in given.values else workspace_path("pool/pool.csv")
    augmented = given.found("augmented") if "augmented" in given.values else None
    return any(path is not None and settled_by(path) is not None for path in (pool, augmented))


def errors_given(given: Given) -> LabelErrors | None:
    """Return what the votes say of the labels' errors; None where labels hold no design.

    Without the alarm where labels have several positive grades: fourth votes then settle disputes between
    grades too, and the pairs that have one are no random part of the positives by 2 to 1.
    """
    votes = votes_given(given)
    if votes is None:
        return None
    errors = label_errors(votes)
    return replace(errors, alarm=None) if given.labels["relevance"].max() > 1 else errors


def numbers_of_errors(errors: LabelErrors) -> dict[str, Any]:
    """Return the rates of error, of each band of ranks, as counts of a manifest; or why there are none."""
    if errors.reason:
        return {"reason": errors.reason}
    numbers: dict[str, float] = {}
    for name, (value, low, high) in (("wrong_share", errors.wrong), ("recall", errors.found)):
        numbers |= {name: value, f"{name}_low": low, f"{name}_high": high}
    rounded: dict[str, Any] = {name: round(value, 6) for name, value in numbers.items()}
    rates = {"t": errors.t.round(6).tolist(), "f": errors.f.round(6).tolist()}
    return {"bands": list(errors.votes.bands), **rates, **rounded, "basis": errors.in_words}


def say_errors_of_augmented(given: Given) -> None:
    """Say what `augment` knew of the errors of its labels, where it knew any; without a manifest nothing."""
    path = given.found("augmented") if given.augmented_if_any is not None else None
    at = manifest_path(path, is_folder=False) if path else None
    numbers = read_manifest(at).counts.get("label_errors", {}) if at and at.is_file() else {}
    if numbers and "reason" not in numbers:
        say(words_of_errors(numbers))


def words_of_alarm(errors: LabelErrors) -> list[str]:
    """Return what fourth votes say of errors that agree; nothing without any."""
    alarm = errors.alarm
    if alarm is None or not alarm.n:
        return []
    words = (
        f"of {alarm.n:,} fourth votes on positives by 2 to 1 {alarm.n_positive:,} are positive, "
        f"{alarm.expected * alarm.n:.1f} expected if errors are independent (z {alarm.z:.2f})"
    )
    raised = ": some pairs are hard for everybody; have labels audited (`next-round --ask audit`)"
    return [f"warning: {words}{raised}" if alarm.is_raised else words]
