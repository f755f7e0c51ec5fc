"""What votes say of the labels as they are: the share of new positives that is wrong, and what is missed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.inference.distributions import Z
from fire_toolkit.inference.judged import SETTLED, Votes, votes_by_design, with_best_ranks
from fire_toolkit.inference.label_errors import (
    Alarm,
    ErrorRates,
    alarm_of_fourth_votes,
    rates_in_words,
    relevance_given_votes,
    why_no_rates,
)
from fire_toolkit.inference.resampling import cluster_sums
from fire_toolkit.tables import Labels, PoolSources, Qrels
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.tables.design import DESIGN, DOUBLED, kinds_of_votes, n_votes_by_design

_STEP = 1e-4  # of a pair, by which slopes are taken


@dataclass(frozen=True, eq=False)
class LabelErrors:
    """Error rates of the votes, and what they say of the labels as they are, by all votes on each pair.

    t, f: of one vote, for each band; wrong, found: the expected share of new positives that are wrong, and
    of the relevant judged pairs the share that is labelled so, each with its 95% limits; alarm: by fourth
    votes, None without rates; reason: why nothing is known, empty where it is.
    """

    votes: Votes
    t: Floats
    f: Floats
    wrong: tuple[float, float, float]
    found: tuple[float, float, float]
    alarm: Alarm | None
    reason: str

    @property
    def in_words(self) -> str:
        """The rates, and what they rest on."""
        kind = "doubled" if self.votes.rates_class == DOUBLED else "positives with a second vote"
        names = [f"at rank{'s' * (' ' in name)} {name} " if name else "" for name in self.votes.bands]
        told = zip(names, self.t, self.f, strict=True)
        rates = "; ".join(f"{name}{rates_in_words(t, f)}" for name, t, f in told)
        return f"{rates} ({self.votes.n_second:,} {kind}, {self.votes.n_differ:,} disagreements)"


def label_errors(votes: Votes) -> LabelErrors:
    """Return the rates of error of votes by design, and what they say of the labels.

    Returns:
        `LabelErrors`; with a `reason` where rates are refused: no or missing third votes, rates that are no
        probabilities or less than .5 apart. Limits are by a standard error to first order over queries, with
        the binomial variance of what came about in these pairs added.
    """
    nothing = (np.nan, np.nan, np.nan)
    if votes.reason:
        return LabelErrors(votes, np.empty(0), np.empty(0), nothing, nothing, None, votes.reason)
    columns, (pattern, shares_of) = votes.columns, _shares_by_pattern(votes)
    of_pairs = np.hstack([columns, np.eye(int(pattern.max()) + 1)[pattern]])
    table = cluster_sums(of_pairs, pd.factorize(votes.pairs["query_id"])[0])[:, :-1]
    total, n = table.sum(axis=0), columns.shape[1]
    raw = votes.rates(total[:n])
    if reason := why_no_rates(raw):
        return LabelErrors(votes, raw.t, raw.f, nothing, nothing, None, reason)

    point, steps = ErrorRates(*np.clip(raw, 0, 1)), _STEP * np.eye(len(total))
    shares = shares_of(total[n:], point)
    # by the rates as they come out: of one that is cut off the slope would be 0, as if it were known
    above, below = (
        shares_of(each[:, n:], votes.rates(each[:, :n])) for each in (total + steps, total - steps)
    )
    slopes = (above - below) / (2 * _STEP)
    n_queries = len(table)
    variance = ((table @ slopes) ** 2).sum(axis=0) * n_queries / max(n_queries - 1, 1)
    n_positives = max(int((votes.pairs["label"] == 1).sum()), 1)
    n_relevant = max(n_positives * (1 - shares[0]) / shares[1], 1)  # right positives, by the share found
    errors = np.sqrt(variance + shares * np.maximum(1 - shares, 0) / [n_positives, n_relevant])
    wrong, found = (
        (float(share), max(float(share - Z * error), 0.0), min(float(share + Z * error), 1.0))
        for share, error in zip(shares, errors, strict=True)
    )
    alarm = alarm_of_fourth_votes(*votes.fourth_votes, point, total[:n:4])
    return LabelErrors(votes, point.t, point.f, wrong, found, alarm, "")


def _shares_by_pattern(votes: Votes) -> tuple[Ints, Callable[[Floats, ErrorRates], Floats]]:
    """Return the pattern of each judged pair, and what turns counts of patterns and rates into shares.

    A pattern is a kind of pairs, the label they have, and their positive and negative votes beyond the
    design, but for the fourth vote on a positive by 2 to 1, which only the alarm counts. The shares, (..., 2)
    from (..., n_patterns) pairs, are those of positive labels that are wrong and of relevant pairs that are
    found: without further votes Σ N(1 − π)f / positives and 1 − Σ Nπ(1 − t) / Σ Nπ, by class. nan without
    positive labels, or relevant pairs.
    """
    own, found = kinds_of_votes(votes.pairs.assign(design_votes=votes.pairs["votes"]))
    counted = [(name, v[:3] + v[4:] if v[:3] in ("101", "011") else v) for name, v in found]
    later = [v[n_votes_by_design(name, v) :] for name, v in counted]
    beyond = np.array([(v.count("1"), v.count("0")) for v in later]).reshape(-1, 2)
    each = np.column_stack([votes.kind, beyond[own], votes.pairs["label"]])
    patterns, pattern = np.unique(each, axis=0, return_inverse=True)
    kind, more, is_positive = patterns[:, 0], patterns[:, 1:3], patterns[:, 3] == 1
    band = kind // 2 % votes.n_bands

    def shares(cells: Floats, rates: ErrorRates) -> Floats:
        odds = votes.odds(cells @ np.eye(votes.n_kinds)[kind], rates)[..., kind]
        relevant = cells * relevance_given_votes(odds, more, rates.t[..., band], rates.f[..., band])
        right = relevant[..., is_positive].sum(axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            both = 1 - right / cells[..., is_positive].sum(axis=-1), right / relevant.sum(axis=-1)
        return np.stack(both, axis=-1)

    return pattern.reshape(-1), shares


def errors_of_labels(
    labels: Labels,
    original: Qrels,
    *,
    disputes: pd.DataFrame | None = None,
    sources: PoolSources | None = None,
    is_settled: bool = False,
) -> LabelErrors | None:
    """Return what the votes say of the errors of labels; None where labels hold no design.

    Without the alarm where labels have several positive grades: fourth votes then settle disputes between
    grades too, and the pairs that have one are no random part of the positives by 2 to 1.

    Args:
        labels: of judged pairs.
        original: the benchmark's qrels.
        disputes: judged pairs without a label.
        sources: which run pooled which pair: bands of the best rank in these runs are told apart.
        is_settled: whether what was asked hung on the answers, so that votes are by no design.
    """
    if not set(DESIGN) <= set(labels.columns):
        return None
    if is_settled:
        return label_errors(Votes(pd.DataFrame(), reason=SETTLED))
    tables: list[pd.DataFrame] = [labels, *([] if disputes is None else [disputes])]
    design = pd.concat([t.reindex(columns=[*PAIR, *DESIGN, "relevance"]) for t in tables], ignore_index=True)
    design = design.fillna(dict.fromkeys(DESIGN, ""))
    design = design if sources is None else with_best_ranks(design, sources)
    errors = label_errors(votes_by_design(design, original))
    return replace(errors, alarm=None) if labels["relevance"].max() > 1 else errors


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


def words_of_errors(numbers: Mapping[str, Any]) -> str:
    """Return the expected wrong share of new positives and the recall on judged pairs as a sentence."""
    if "reason" in numbers:
        return f"errors of the labels are not known: {numbers['reason']}"
    names = [(name, f"{name}_low", f"{name}_high") for name in ("wrong_share", "recall")]
    shares = [[f"{100 * numbers[name]:.1f}" for name in three] for three in names]
    wrong, recall = (f"{share}% [{low}, {high}]" for share, low, high in shares)
    return (
        f"of the new positives an expected {wrong} are wrong, and of the relevant judged pairs {recall} are "
        f"labelled so, if votes err independently; one vote: {numbers['basis']}"
    )


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
