"""C@k and P@k corrected for the errors of votes: products of estimated relevances, by design class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.inference.design_votes import Votes
from fire_toolkit.inference.intervals import cluster_sums, percentiles
from fire_toolkit.inference.judged_pairs import JudgedPairs
from fire_toolkit.inference.label_errors import (
    LEAST_GAP,
    MOST_INVALID,
    MOST_VARIANCE,
    Alarm,
    ErrorRates,
    VoteCounts,
    alarm_of_fourth_votes,
    class_rate,
    corrected_hits,
    error_rates,
    estimated_relevance,
    relevance_given_votes,
    variance_factor,
)
from fire_toolkit.inference.resampling import Resampled, bootstrap, summable
from fire_toolkit.measures import Measure
from fire_toolkit.tables import Qrels
from fire_toolkit.tables.design import CLASSES, DOUBLED, kinds_of_votes, n_votes_by_design

DRAWN = "it reads pairs that were drawn by chance, of which C@k has bounds only"


class Judged(Protocol):
    """Judged pairs that are not originals: design_class, band and relevance of each, and what it counts."""

    @property
    def pairs(self) -> pd.DataFrame:
        """The pairs."""

    @property
    def n_bands(self) -> int:
        """How many bands of ranks have rates of their own."""

    @property
    def counted(self) -> Floats:
        """(n_pairs, 4): what each pair adds to the counts that rates come from."""


@dataclass(frozen=True, eq=False)
class Kinds:
    """Kinds of judged pairs: class × band × label (0, 1), and last the original positives.

    code: place of class, band and label in that order.
    """

    n_bands: int

    def __len__(self) -> int:
        return 2 * len(CLASSES) * self.n_bands

    def code(self, pairs: pd.DataFrame) -> Ints:
        """Return the kind of each pair."""
        place = pairs["design_class"].map({name: n for n, name in enumerate(CLASSES)}).to_numpy()
        kind = (place * self.n_bands + pairs["band"].to_numpy()) * 2 + pairs["relevance"].to_numpy()
        return np.asarray(kind, dtype=np.int64)

    def rates(self, counts: Floats) -> ErrorRates:
        """Return the rates of each band, (..., n_bands), from (..., 4 × n_bands) counts."""
        each = counts.reshape(*counts.shape[:-1], self.n_bands, 4)
        return error_rates(VoteCounts(*np.moveaxis(each, -1, 0)))

    def of_classes(self, rates: ErrorRates) -> tuple[Floats, Floats]:
        """Return t and f of labels by design, (..., n_classes × n_bands)."""
        found = (
            np.concatenate([np.asarray(class_rate(rate, name)) for name in CLASSES], axis=-1)
            for rate in (rates.t, rates.f)
        )
        t, f = found
        return t, f

    def relevance(self, rates: ErrorRates) -> Floats:
        """Return p̂ of each kind, and 1 for originals."""
        t, f = self.of_classes(rates)
        both = np.stack([estimated_relevance(label, t, f) for label in (0.0, 1.0)], axis=-1)
        flat = both.reshape(*both.shape[:-2], -1)
        return np.concatenate([flat, np.ones((*flat.shape[:-1], 1))], axis=-1)

    def odds(self, cells: Floats, rates: ErrorRates) -> Floats:
        """Return the odds that a pair of each kind is relevant, (..., n_kinds).

        cells: (..., n_kinds) pairs of each kind.
        """
        t, f = self.of_classes(rates)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = cells[..., 1::2] / (cells[..., ::2] + cells[..., 1::2])
            prevalence = np.nan_to_num(np.clip((share - f) / (t - f), 0, 1))
            prior = prevalence / (1 - prevalence)
            both = np.stack([prior * (1 - t) / (1 - f), prior * t / f], axis=-1)
        return both.reshape(*both.shape[:-2], -1)


def _without_fourth(kind: tuple[str, str]) -> tuple[str, str]:
    """Return class and votes without the fourth vote on a positive by 2 to 1, which only the alarm counts."""
    name, votes = kind
    return name, votes[:3] + votes[4:] if votes[:3] in ("101", "011") else votes


@dataclass(frozen=True, eq=False)
class Held:
    """What tells judged pairs apart beside their kind: votes beyond the design, and the label they have.

    code: the pattern of each pair; kind: of each pattern; more: (n_patterns, 2), positive and negative votes
    beyond the design; label: 1, 0, or −1 where there is none.
    """

    kinds: Kinds
    code: Ints
    kind: Ints
    more: Ints
    label: Ints

    @classmethod
    def of(cls, votes: Votes, kinds: Kinds) -> Held:
        """Return the patterns of judged pairs."""
        own, found = kinds_of_votes(votes.pairs.assign(design_votes=votes.pairs["votes"]))
        later = [given[n_votes_by_design(name, given) :] for name, given in map(_without_fourth, found)]
        more = np.array([(each.count("1"), each.count("0")) for each in later]).reshape(-1, 2)[own]
        each = np.column_stack([kinds.code(votes.pairs), more, votes.pairs["label"]])
        patterns, code = np.unique(each, axis=0, return_inverse=True)
        return cls(kinds, code.ravel(), patterns[:, 0], patterns[:, 1:3], patterns[:, 3])

    def shares(self, cells: Floats, rates: ErrorRates) -> Floats:
        """Return the wrong share of positive labels and the found share of relevant pairs, (..., 2).

        cells: (..., n_patterns) pairs of each pattern. Without further votes the wrong share is
        Σ N(1 − π)f / positives and the found share 1 − Σ Nπ(1 − t) / Σ Nπ, by class. nan without positive
        labels, or relevant pairs.
        """
        odds = self.kinds.odds(cells @ np.eye(len(self.kinds))[self.kind], rates)[..., self.kind]
        band = self.kind // 2 % self.kinds.n_bands
        relevant = cells * relevance_given_votes(odds, self.more, rates.t[..., band], rates.f[..., band])
        is_positive = self.label == 1
        with np.errstate(divide="ignore", invalid="ignore"):
            right = relevant[..., is_positive].sum(axis=-1)
            shares = 1 - right / cells[..., is_positive].sum(axis=-1), right / relevant.sum(axis=-1)
        return np.stack(shares, axis=-1)


@dataclass(frozen=True, eq=False)
class LabelErrors:
    """Error rates of the votes, and what they say of the labels as they are, by all votes on each pair.

    t, f: of one vote, for each band; wrong, found: the expected share of new positives that are wrong, and
    of the relevant judged pairs the share that is labelled so, each with its 95% limits; alarm: None without
    fourth votes; reason: why nothing is known, empty where it is.
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
        names = [f"ranks {name}: " if name else "" for name in self.votes.bands]
        rates = "; ".join(
            f"{name}t {t:.3f}, f {f:.4f}" for name, t, f in zip(names, self.t, self.f, strict=True)
        )
        return f"{rates} ({self.votes.n_second:,} {kind}, {self.votes.n_differ:,} disagreements)"


def label_errors(votes: Votes, *, n_resamples: int = 2_000, seed: int = 0) -> LabelErrors:
    """Return the rates of error of votes by design, and what they say of the labels.

    Args:
        votes: of `votes_by_design`.
        n_resamples, seed: of a bootstrap of queries in which the rates are estimated anew each time.

    Returns:
        `LabelErrors`; with a `reason` where rates are refused: no or missing third votes, rates that are no
        probabilities or less than .5 apart, or so in more than 5% of the resamples. Limits are those of the
        bootstrap's standard error, with the binomial variance of what came about in these pairs added.
    """
    nothing = (np.nan, np.nan, np.nan)
    if votes.reason:
        return LabelErrors(votes, np.empty(0), np.empty(0), nothing, nothing, None, votes.reason)
    kinds = Kinds(votes.n_bands)
    query = pd.factorize(votes.pairs["query_id"])[0]
    held = Held.of(votes, kinds)
    columns = [_rate_columns(votes), np.eye(len(held.kind))[held.code]]
    table = cluster_sums(np.column_stack(columns), query)[:, :-1]
    sums = bootstrap([Resampled(summable(table))], n_resamples=n_resamples, seed=seed)[0][0]
    n = 4 * kinds.n_bands
    point, draws = (kinds.rates(each[..., :n]) for each in (table.sum(axis=0), sums))
    if reason := _why_no_rates(point, draws):
        return LabelErrors(votes, point.t, point.f, nothing, nothing, None, reason)
    shares, drawn = held.shares(table.sum(axis=0)[n:], point), held.shares(sums[:, n:], draws)
    spread = np.nanstd(drawn, axis=0)
    n_positives = max(int((votes.pairs["label"] == 1).sum()), 1)
    n_relevant = max(n_positives * (1 - shares[0]) / shares[1], 1)  # right positives, by the share found
    binomial = shares * np.maximum(1 - shares, 0) / [n_positives, n_relevant]
    spread = np.hypot(spread, np.sqrt(binomial))
    wrong, found = (
        (float(share), max(float(share - 1.96 * error), 0.0), min(float(share + 1.96 * error), 1.0))
        for share, error in zip(shares, spread, strict=True)
    )
    n_fourth, n_positive = votes.fourth_votes
    of_all = error_rates(VoteCounts(*votes.counted.sum(axis=0)))
    alarm = alarm_of_fourth_votes(n_fourth, n_positive, of_all) if n_fourth else None
    return LabelErrors(votes, point.t, point.f, wrong, found, alarm, "")


def _rate_columns(votes: Judged) -> Floats:
    """Return what each pair adds to the counts of its band."""
    bands = np.eye(votes.n_bands)[votes.pairs["band"].to_numpy()]
    return np.asarray((bands[:, :, None] * votes.counted[:, None, :]).reshape(len(bands), -1))


def _why_no_rates(rates: ErrorRates, draws: ErrorRates) -> str:
    gap = np.asarray(rates.t) - rates.f
    if np.isnan(gap).any():
        return "the votes fit no rates from 0 to 1: errors depend on one another, or too few pairs have two"
    if (gap < LEAST_GAP).any():
        return f"t − f is {float(gap.min()):.2f}, below {LEAST_GAP}: such votes carry too little information"
    share = float((~(np.asarray(draws.t) - draws.f >= LEAST_GAP)).any(axis=-1).mean())
    if share > MOST_INVALID:
        return f"in {100 * share:.0f}% of the resamples the votes fit no rates; too few pairs have two votes"
    return ""


def why_uncorrected(measure: Measure) -> str:
    """Return why a measure is not corrected for errors of votes; empty where it is."""
    of = measure.definition
    is_plain = measure.depth and measure.level == 1 and not measure.condensed
    if is_plain and (of.is_precision or (of.is_binary and of.by_first_positive)):
        return ""
    return "only C@k and P@k are corrected for errors; it reads more than the top k, or all positives"


def corrected_scores(
    joined: JudgedPairs,
    original: Qrels,
    votes: Judged,
    measures: Sequence[Measure],
    *,
    kinds: Kinds | None = None,
    clusters: Ints | None = None,
    chances: Floats | None = None,
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> pd.DataFrame:
    """Return C@k and P@k of each run corrected for errors of votes.

    With p̂ = (label − f) / (t − f) by class, and 1 for originals, C@k is the mean over queries of
    1 − Π(1 − p̂) over the top k, and P@k that of the mean p̂: unbiased where votes err independently given
    the truth and pairs that nobody judged are not relevant. Neither is clipped.

    Args:
        joined: runs joined with the original qrels and `votes.pairs`.
        original: the benchmark's qrels; their positives are taken as right.
        votes: of `votes_by_design`, whose labels have no `reason` against them; or `audit.AuditedLabels`.
        kinds: what turns counts into rates; None: the votes on pairs of one class.
        measures: those that `why_uncorrected` has nothing against are corrected.
        clusters: code of each query's cluster; intervals then resample clusters.
        chances: of each pair, see `estimates.chances_of`: in P@k those drawn weigh 1/π, and C@k that
            reads one is refused. None: no sample.
        confidence, n_resamples, seed: of the bootstrap of queries; rates are estimated anew in each draw.

    Returns:
        A row for each run and measure: run_id, measure, estimate, low, high, error (the standard error for
        these queries alone: of the votes and of the rates; nan where pairs were drawn), is_drawn (whether it
        reads such pairs), reason (why there is none; empty).
    """
    kinds = kinds or Kinds(votes.n_bands)
    kind = _kinds_of_pairs(joined, original, votes, kinds)
    chances = np.ones(len(kind)) if chances is None else chances
    kind = np.where((chances > 0) | (kind == len(kinds)), kind, -1)
    weight = np.where((chances > 0) & (kind != len(kinds)), 1 / np.maximum(chances, 1e-9), 1.0)
    columns = _rate_columns(votes)
    query = joined.queries.get_indexer(pd.Index(votes.pairs["query_id"]))
    in_it = query >= 0
    each = [np.bincount(query[in_it], column[in_it], len(joined.queries)) for column in columns.T]
    of_rates: Floats = np.column_stack([*each, np.ones(len(joined.queries))])
    rows = []
    for run_id, run in joined.places.items():
        for measure in measures:
            row: dict[str, Any] = {"run_id": run_id, "measure": measure.name}
            row["reason"] = why_uncorrected(measure)
            in_top = run.rank <= (measure.depth or 0)
            pairs, of_query = run.relevance[in_top], run.query[in_top]
            row["is_drawn"] = is_drawn = bool((weight[pairs[kind[pairs] >= 0]] > 1).any())
            if is_drawn and not measure.definition.is_precision:
                row["reason"] = row["reason"] or DRAWN
            if not row["reason"]:
                sizes = len(joined.queries), len(kinds) + 1
                lists = _count_kinds(of_query, kind[pairs], weight[pairs], *sizes)
                terms = _Terms.of(lists, measure, kinds)
                row |= terms.estimate(of_rates, clusters, confidence, n_resamples=n_resamples, seed=seed)
                row |= {"error": np.nan} if is_drawn else {}
            rows.append(row)
    names = ["run_id", "measure", "estimate", "low", "high", "error", "is_drawn", "reason"]
    table = pd.DataFrame(rows, columns=names)
    return table.astype(dict.fromkeys(["estimate", "low", "high", "error"], "float64"))


def _kinds_of_pairs(joined: JudgedPairs, original: Qrels, votes: Judged, kinds: Kinds) -> Ints:
    """Return the kind of each pair of the join, -1 of pairs without a vote by design."""
    found = np.where(joined.label(original).relevance >= 1, len(kinds), -1)
    rows = joined.find_rows(votes.pairs)
    found[rows[rows >= 0]] = kinds.code(votes.pairs)[rows >= 0]
    return found


def _count_kinds(query: Ints, kind: Ints, weight: Floats, n_queries: int, n_kinds: int) -> Floats:
    """Return how many docs of each kind each query has by their weights, (n_queries, n_kinds)."""
    known = kind >= 0
    counts = np.bincount((query * n_kinds + kind)[known], weight[known], n_queries * n_kinds)
    return np.asarray(counts.reshape(n_queries, n_kinds))


@dataclass(frozen=True, eq=False)
class _Terms:
    """The lists of a run's top k as counts of kinds: each distinct one once, and which queries have it."""

    patterns: Floats
    pattern: Ints
    k: int
    is_hit: bool
    kinds: Kinds

    @classmethod
    def of(cls, lists: Floats, measure: Measure, kinds: Kinds) -> _Terms:
        is_hit = not measure.definition.is_precision
        if is_hit:  # a list with an original is 1 whatever else it holds
            lists = np.where(lists[:, -1:] > 0, np.eye(lists.shape[1])[-1], lists)
        patterns, pattern = np.unique(lists, axis=0, return_inverse=True)
        return cls(patterns, pattern.reshape(-1), measure.depth or 0, is_hit, kinds)

    def values(self, rates: ErrorRates) -> Floats:
        """Return the value of each pattern, (..., n_patterns)."""
        relevance = self.kinds.relevance(rates)
        if self.is_hit:
            return corrected_hits(self.patterns.astype(np.int64), relevance)
        return relevance @ self.patterns.T / self.k

    def estimate(
        self, of_rates: Floats, clusters: Ints | None, confidence: float, **draws: int
    ) -> dict[str, Any]:
        """Return the estimate, its limits, and its standard error for these queries alone."""
        n = 4 * self.kinds.n_bands
        table = np.column_stack([of_rates, np.eye(len(self.patterns))[self.pattern]])
        point = self.kinds.rates(of_rates[:, :n].sum(axis=0))
        values = self.values(point)
        if reason := self._why_not(point):
            return {"reason": reason}
        units = table if clusters is None else cluster_sums(table, clusters)[:, :-1]
        sums = bootstrap([Resampled(summable(units))], **draws)[0][0]
        rates = self.kinds.rates(sums[:, :n])
        drawn = (self.values(rates) * sums[:, n + 1 :]).sum(axis=1) / sums[:, n]
        is_valid = ~np.isnan(drawn)
        low, high = percentiles(drawn[is_valid, None], confidence=confidence)
        share = table[:, n + 1 :].mean(axis=0)
        of_labels = self._variance_of_labels(values, point) @ share / len(table)
        of_votes = np.var((self.values(rates) @ share)[is_valid])
        error = float(np.sqrt(max(of_labels, 0.0) + of_votes))
        return {"estimate": float(values @ share), "low": low[0], "high": high[0], "error": error}

    def _variance_of_labels(self, values: Floats, rates: ErrorRates) -> Floats:
        """Return an unbiased estimate of each pattern's variance over votes: of 0 or 1, Ĉ² − Ĉ."""
        if self.is_hit:
            return values**2 - values
        relevance = self.kinds.relevance(rates)
        return (relevance**2 - relevance) @ self.patterns.T / self.k**2

    def _why_not(self, rates: ErrorRates) -> str:
        """Return that single votes are too few for products of so many docs; empty where they are not."""
        singles = int(self.patterns[:, : 2 * self.kinds.n_bands].sum(axis=1).max(initial=0))
        factor = max(
            variance_factor(float(t), float(f), singles)
            for t, f in zip(np.asarray(rates.t), np.asarray(rates.f), strict=True)
        )
        if not self.is_hit or factor <= MOST_VARIANCE:
            return ""
        return f"single votes on up to {singles} docs inflate the product's variance {factor:.1f} times"
