"""What votes say of the labels as they are: the share of new positives that is wrong, and what is missed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.inference.judged import SETTLED, Votes, votes_by_design, with_best_ranks
from fire_toolkit.inference.label_errors import (
    Alarm,
    ErrorRates,
    alarm_of_fourth_votes,
    rates_in_words,
    relevance_given_votes,
    why_no_rates,
)
from fire_toolkit.inference.resampling import bootstrap_means, cluster_sums
from fire_toolkit.tables import Labels, PoolSources, Qrels
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.tables.design import DESIGN, DOUBLED, kinds_of_votes, n_votes_by_design


class _Patterns(NamedTuple):
    """What tells judged pairs apart: their kind, their votes beyond the design, and the label they have.

    code: the pattern of each pair; kind: of each pattern; more: (n_patterns, 2), positive and negative votes
    beyond the design, but for the fourth vote on a positive by 2 to 1, which only the alarm counts; label: 1,
    0, or −1 where there is none.
    """

    votes: Votes
    code: Ints
    kind: Ints
    more: Ints
    label: Ints

    @classmethod
    def of(cls, votes: Votes) -> _Patterns:
        own, found = kinds_of_votes(votes.pairs.assign(design_votes=votes.pairs["votes"]))
        counted = [(name, v[:3] + v[4:] if v[:3] in ("101", "011") else v) for name, v in found]
        later = [v[n_votes_by_design(name, v) :] for name, v in counted]
        more = np.array([(v.count("1"), v.count("0")) for v in later]).reshape(-1, 2)
        each = np.column_stack([votes.kind, more[own], votes.pairs["label"]])
        patterns, code = np.unique(each, axis=0, return_inverse=True)
        return cls(votes, code.ravel(), patterns[:, 0], patterns[:, 1:3], patterns[:, 3])

    def shares(self, cells: Floats, rates: ErrorRates) -> Floats:
        """Return the wrong share of positive labels and the found share of relevant pairs, (..., 2).

        cells: (..., n_patterns) pairs of each pattern. Without further votes the wrong share is
        Σ N(1 − π)f / positives and the found share 1 − Σ Nπ(1 − t) / Σ Nπ, by class. nan without positive
        labels, or relevant pairs.
        """
        n_pairs = cells @ np.eye(self.votes.n_kinds)[self.kind]
        odds = self.votes.odds(n_pairs, rates)[..., self.kind]
        band = self.kind // 2 % self.votes.n_bands
        relevant = cells * relevance_given_votes(odds, self.more, rates.t[..., band], rates.f[..., band])
        is_positive = self.label == 1
        with np.errstate(divide="ignore", invalid="ignore"):
            right = relevant[..., is_positive].sum(axis=-1)
            shares = (1 - right / cells[..., is_positive].sum(axis=-1), right / relevant.sum(axis=-1))
        return np.stack(shares, axis=-1)


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


def label_errors(votes: Votes, *, n_resamples: int = 2_000, seed: int = 0) -> LabelErrors:
    """Return the rates of error of votes by design, and what they say of the labels.

    Args:
        votes: of `votes_by_design`.
        n_resamples, seed: of a bootstrap of queries in which the rates are estimated anew each time.

    Returns:
        `LabelErrors`; with a `reason` where rates are refused: no or missing third votes, rates that are no
        probabilities or less than .5 apart. Limits are those of the bootstrap's standard error, with the
        binomial variance of what came about in these pairs added.
    """
    nothing = (np.nan, np.nan, np.nan)
    if votes.reason:
        return LabelErrors(votes, np.empty(0), np.empty(0), nothing, nothing, None, votes.reason)
    held, columns = _Patterns.of(votes), votes.columns
    query, n = pd.factorize(votes.pairs["query_id"])[0], columns.shape[1]
    table = cluster_sums(np.hstack([columns, np.eye(len(held.kind))[held.code]]), query)[:, :-1]
    sums = len(table) * bootstrap_means(table, n_resamples=n_resamples, seed=seed)
    raw = votes.rates(table.sum(axis=0)[:n])
    if reason := why_no_rates(raw):
        return LabelErrors(votes, raw.t, raw.f, nothing, nothing, None, reason)
    point, draws = (ErrorRates(*np.clip(each, 0, 1)) for each in (raw, votes.rates(sums[:, :n])))
    shares, drawn = (held.shares(table.sum(axis=0)[n:], point), held.shares(sums[:, n:], draws))
    spread = np.nanstd(drawn, axis=0)
    n_positives = max(int((votes.pairs["label"] == 1).sum()), 1)
    n_relevant = max(n_positives * (1 - shares[0]) / shares[1], 1)  # right positives, by the share found
    binomial = shares * np.maximum(1 - shares, 0) / [n_positives, n_relevant]
    spread = np.hypot(spread, np.sqrt(binomial))
    wrong, found = (
        (float(share), max(float(share - 1.96 * error), 0.0), min(float(share + 1.96 * error), 1.0))
        for share, error in zip(shares, spread, strict=True)
    )
    n_pairs = np.bincount(votes.pairs["band"], votes.counted[:, 0], votes.n_bands)
    alarm = alarm_of_fourth_votes(*votes.fourth_votes, point, n_pairs)
    return LabelErrors(votes, point.t, point.f, wrong, found, alarm, "")


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
