"""C@k and P@k corrected for errors of labels, and what two runs differ by: estimate, interval and test."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools, Floats, Ints, sum_by_query
from fire_toolkit.inference.distributions import CONFIDENCE, UPPER, t_quantile
from fire_toolkit.inference.intervals import by_t, units_of
from fire_toolkit.inference.judged_pairs import JudgedPairs
from fire_toolkit.inference.label_errors import STEP, LabelRates, corrected_hits, stepped
from fire_toolkit.inference.limits import Estimate, solve_score
from fire_toolkit.inference.resampling import cluster_sums
from fire_toolkit.measures import Measure
from fire_toolkit.tables import Qrels

DRAWN = "it reads pairs that were drawn by chance, of which C@k has bounds only"
_GROUPS = 20  # of queries, each left out in turn


def why_uncorrected(measure: Measure) -> str:
    """Return why a measure is not corrected for errors of votes; empty where it is."""
    of = measure.definition
    is_plain = measure.depth and measure.level == 1 and not measure.condensed
    if is_plain and (of.is_precision or (of.is_binary and of.by_first_positive)):
        return ""
    return "only C@k and P@k are corrected for errors; it reads more than the top k, or all positives"


@dataclass(frozen=True, eq=False)
class Corrected:
    """A corrected score as a mean over queries, or the difference of two.

    terms: what each query adds to the estimate, its votes' part in the rates included: their mean is the
    estimate, and their spread its standard error; beside: what else moves the estimate, as standard errors
    (of an audit's shares); before: each query's score by the originals; is_drawn: whether it reads pairs that
    were drawn by chance; added: of a share of queries with a hit, the variance that votes add to the term of
    a query without one, else None; reason: why there is no estimate, empty where there is one.
    """

    terms: Floats
    beside: Floats = field(default_factory=lambda: np.zeros(1))
    before: Floats = field(default_factory=lambda: np.zeros(1))
    is_drawn: bool = False
    added: float | None = None
    reason: str = ""

    @property
    def is_beyond(self) -> bool:
        """Whether the score, which is not clipped, is below 0 or above 1."""
        return not self.reason and not -1e-12 <= self.terms.mean() <= 1 + 1e-12

    def minus(self, other: Corrected) -> Corrected:
        """Return the difference of two scores of the same queries, whose shared errors cancel."""
        return Corrected(self.terms - other.terms, self.beside - other.beside)

    def limits(self, clusters: Ints | None, *, least: float) -> Estimate:
        """Return the estimate with its limits, and the two-sided p that it is 0, by Student's t.

        The limits of a share of queries are where (estimate − p)² = t²·((1 − p)(p + a)/n + v), a what votes
        add to the variance of a query without a hit, v what else they add: Wilson's where they add nothing.
        Votes on a query without a hit vary most, so the variance hangs on the share: by that of an estimate
        near 1 the limits would be far too close. Where no query differs from another in a mean or a
        difference, nothing was seen of how queries vary: the limits then reach as far as 0 hits of so many
        queries leave open (Clopper and Pearson), and p is 1, or for an estimate that is not 0 not known.

        Args:
            clusters: code of each query's cluster from 0; None: each query is its own.
            least: the lowest value there is; 1 is the highest.
        """
        estimate, n_queries = float(self.terms.mean()), len(self.terms)
        units, freedom, _ = units_of(self.terms, clusters)
        if len(units) < 2:
            return Estimate(estimate)
        variance = float(np.var(units, ddof=1)) / len(units) + float(self.beside @ self.beside)
        se = math.sqrt(variance)
        if self.added is not None:  # the roots p of (e − p)² = t²·((1 − p)(p + a)/n + v)
            square, n = t_quantile(UPPER, freedom) ** 2, n_queries
            beside = max(variance - (1 - estimate) * (estimate + self.added) / (n - 1), 0.0)
            parts = square * (self.added / n + beside), square * (1 - self.added) / n, -square / n
            found = Estimate(estimate, *solve_score(estimate, *parts), se)
        elif se < 1e-12:
            reach = 1 - ((1 - CONFIDENCE) / 2) ** (1 / len(units))
            p = 1.0 if abs(estimate) < 1e-12 else math.nan
            found = Estimate(estimate, estimate - reach, estimate + reach, se, p)
        else:
            found = by_t(estimate, se, freedom)
        return found._replace(low=max(found.low, least), high=min(found.high, 1.0))


def corrected_terms(
    joined: JudgedPairs,
    original: Qrels,
    rates: LabelRates,
    measures: Sequence[Measure],
    *,
    chances: Floats | None = None,
    is_deep: Bools | None = None,
) -> dict[tuple[str, str], Corrected]:
    """Return C@k and P@k of each run corrected for errors of votes, by run and measure.

    With p̂ = (label − f) / (t − f) by class, and 1 for originals, C@k is the mean over queries of
    1 − Π(1 − p̂) over the top k, and P@k that of the mean p̂: unbiased where votes err independently given
    the truth and pairs that nobody judged are not relevant. Neither is clipped. A query's term is its value
    plus its own votes' part in the rates, by the estimate's derivative (the delta method): its variance over
    queries holds that the queries were drawn, that votes err, and that pairs were sampled. Rates from few
    votes bias what is made of them: 20 groups of queries left out in turn tell by how much (the jackknife),
    and that is taken off.

    Args:
        joined: runs joined with the original qrels and `rates.pairs`.
        original: the benchmark's qrels; their positives are taken as right.
        rates: of `votes_by_design`, whose labels have no `reason` against them; or of `with_answers`.
        measures: those that `why_uncorrected` has nothing against are corrected.
        chances: of each pair to be judged, 0 where the design did not ask it: in P@k those drawn weigh 1/π,
            and C@k that reads one is refused. None: no people's sample was drawn.
        is_deep: which queries were drawn to be judged deep: as many as they are, so what they differ by from
            the others is no error. None: no queries were drawn.
    """
    n_queries, of_original, before = len(joined.queries), rates.n_kinds, joined.label(original)
    kind = np.where(before.relevance >= 1, of_original, -1)
    rows = joined.find_rows(rates.pairs)
    kind[rows[rows >= 0]] = rates.kind[rows >= 0]
    chance = np.where(kind == of_original, 1.0, 1.0 if chances is None else chances)
    kind[chance <= 0] = -1
    weight = 1 / np.maximum(chance, 1e-9)
    query = joined.queries.get_indexer(pd.Index(rates.pairs["query_id"]))
    counts = np.zeros((n_queries, rates.counts.shape[1]))
    np.add.at(counts, query[query >= 0], rates.counts[query >= 0])
    no_rates = rates.rates(counts.sum(axis=0)).why_not
    by, found = None if no_rates else _FirstOrder(rates, counts), {}
    for run_id, run in joined.places.items():
        for measure in measures:
            is_read = (run.rank <= (measure.depth or 0)) & (kind[run.relevance] >= 0)
            pairs = run.relevance[is_read]
            is_drawn, reason = bool((weight[pairs] > 1).any()), why_uncorrected(measure) or no_rates
            if is_drawn and not measure.definition.is_precision:
                reason = reason or DRAWN
            one = Corrected(np.empty(0), reason=reason)
            if by is not None and not reason:
                cell = run.query[is_read] * (of_original + 1) + kind[pairs]
                lists = sum_by_query(cell, weight[pairs], n_queries * (of_original + 1))
                one = by.correct(lists.reshape(n_queries, -1), measure)
                if is_drawn and is_deep is not None:
                    one = replace(one, terms=_within(one.terms, is_deep))
            own = measure.values(run.by(before))
            found[run_id, measure.name] = replace(one, before=own, is_drawn=is_drawn)
    return found


def _within(terms: Floats, is_deep: Bools) -> Floats:
    """Return terms with the same mean whose variance is that within queries drawn, and within the others."""
    found = np.empty(len(terms))
    for own in filter(np.any, (is_deep, ~is_deep)):
        found[own] = (terms[own] - terms[own].mean()) * np.sqrt(own.sum() / max(own.sum() - 1, 1))
    return np.asarray(found + terms.mean())


def gaps_of(terms: Mapping[tuple[str, str], Corrected]) -> Iterator[tuple[str, str, str, Corrected]]:
    """Yield measure, run_a, run_b and what these differ by, of every two runs that a measure is corrected of.

    Runs share the rates and the queries, whose errors cancel in the difference as far as they are the same.
    """
    for measure in dict.fromkeys(measure for _, measure in terms):
        known = {run: one for (run, name), one in terms.items() if name == measure and not one.reason}
        for run_a, run_b in combinations(known, 2):
            yield measure, run_a, run_b, known[run_a].minus(known[run_b])


class _FirstOrder:
    """p̂ of each kind by the rates of some counts, and how each count of a query moves it.

    relevance: p̂ of each kind at the rates, and below it with each count and each of the `errors` of the rates
    one imaginary step up; without: p̂ with each group of queries left out, None where one of them leaves no
    rates, or an audit tells them, whose answers lie outside the groups.
    """

    def __init__(self, rates: LabelRates, counts: Floats) -> None:
        """Take the rates by these counts, (n_queries, n_counts)."""
        total, self.counts, self.errors = counts.sum(axis=0), counts, rates.errors
        self.relevance: Any = rates.rates(stepped(total)).relevance
        self.group = np.arange(len(counts)) % _GROUPS
        left = rates.rates(total - cluster_sums(counts, self.group)[:, :-1])
        self.without = None if len(self.errors) or left.why_not else left.relevance

    def correct(self, lists: Floats, measure: Measure) -> Corrected:
        """Return a run's corrected score from how many docs of each kind each query's top k holds.

        The rates' bias is that of the jackknife of groups of unequal size. Where no doc is relevant the
        variance of Π(1 − p̂) is Π(1 + f(1 − f)/(t − f)²) − 1, whose mean over lists without an original is
        what votes add; f(1 − f)/(t − f)² is −p̂·p̂ of a kind's labels 0 and 1.
        """
        is_share, added = not measure.definition.is_precision, None
        if is_share:  # a list with an original is 1 whatever else it holds
            lists = np.where(lists[:, -1:] > 0, np.eye(lists.shape[1])[-1], lists)
        patterns, pattern = np.unique(lists, axis=0, return_inverse=True)

        def values(relevance: Any) -> Any:
            if is_share:
                return corrected_hits(patterns.astype(np.int64), relevance)[:, pattern.reshape(-1)]
            return (relevance @ patterns.T / (measure.depth or 1))[:, pattern.reshape(-1)]

        found, n = values(self.relevance), len(lists)
        of_counts = found[1:].imag.mean(axis=1) / STEP
        own = found[0].real
        terms = own + n * (self.counts @ of_counts)
        if self.without is not None:
            without = values(self.without)
            held = np.array([row[self.group == g].sum() for g, row in enumerate(without)])
            left = (without.sum(axis=1) - held) / n  # a group's mean, weighted by 1 − its size / n
            terms = terms - float(left.sum() - (len(without) - 1) * own.mean())
        if is_share:
            open_lists, p = lists[lists[:, -1] == 0].astype(np.int64), self.relevance[0].real
            raised = np.append(np.repeat(np.minimum(p[:-1:2] * p[1:-1:2], 0.0), 2), 0.0)
            added = -float(corrected_hits(open_lists, raised).mean()) if len(open_lists) else 0.0
        beside = of_counts[: len(self.errors)] * self.errors  # all of them, or none
        return Corrected(terms, beside, added=added)
