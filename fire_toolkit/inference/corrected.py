"""C@k and P@k corrected for the errors of votes, and what two runs differ by: estimate, interval and test."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Floats, Ints, sum_by_query
from fire_toolkit.inference.distributions import CONFIDENCE, UPPER, noncentral_t_cdf, t_quantile
from fire_toolkit.inference.judged import Judged
from fire_toolkit.inference.judged_pairs import JudgedPairs
from fire_toolkit.inference.label_errors import corrected_hits, why_no_rates
from fire_toolkit.inference.resampling import cluster_sums
from fire_toolkit.measures import Measure
from fire_toolkit.tables import Qrels

DRAWN = "it reads pairs that were drawn by chance, of which C@k has bounds only"
_FLOATS = (("estimate", "low", "high"), ("value_a", "value_b", "difference", "low", "high", "p"))
SCORE_COLUMNS: dict[str, str] = {"run_id": "str", "measure": "str", **dict.fromkeys(_FLOATS[0], "float64")}
SCORE_COLUMNS |= {"is_drawn": "bool", "reason": "str"}
DIFFERENCE_COLUMNS = dict.fromkeys(("measure", "run_a", "run_b"), "str")
DIFFERENCE_COLUMNS |= dict.fromkeys(_FLOATS[1], "float64") | {"reason": "str"}
_STEP = 1e-30  # an imaginary step, whose derivatives are exact
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
    (of an audit's shares); is_drawn: whether it reads pairs that were drawn by chance; added: of a share of
    queries with a hit, the variance that votes add to the term of a query without one, else None; reason:
    why there is no estimate, empty where there is one.
    """

    terms: Floats
    beside: Floats
    is_drawn: bool = False
    added: float | None = None
    reason: str = ""

    def minus(self, other: Corrected) -> Corrected:
        """Return the difference of two scores by the same votes on the same queries."""
        if reason := self.reason or other.reason:
            return Corrected(np.empty(0), np.empty(0), reason=reason)
        is_drawn = self.is_drawn or other.is_drawn
        return Corrected(self.terms - other.terms, self.beside - other.beside, is_drawn=is_drawn)

    def above(self, values: Floats) -> Corrected:
        """Return the score less the mean of values of the same queries that are known without error."""
        if self.reason:
            return self
        return Corrected(self.terms - values, self.beside, is_drawn=self.is_drawn)

    def limits(self, clusters: Ints | None, *, least: float) -> dict[str, float]:
        """Return estimate, low and high, and the two-sided p that it is 0, by Student's t.

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
        estimate = float(self.terms.mean())
        rest = self.terms - estimate
        sums = rest if clusters is None else np.bincount(clusters, weights=rest)
        n = len(sums)
        found = {"estimate": estimate, "low": math.nan, "high": math.nan, "p": math.nan}
        if n < 2:
            return found
        variance = float(sums @ sums) * n / (n - 1) / len(rest) ** 2 + float(self.beside @ self.beside)
        se = math.sqrt(variance)
        if self.added is not None:
            t = t_quantile(UPPER, n - 1)
            limits = _limits_of_share(estimate, variance, t, len(rest), self.added)
        elif se < 1e-12:
            reach = 1 - ((1 - CONFIDENCE) / 2) ** (1 / n)
            limits = estimate - reach, estimate + reach
            found["p"] = 1.0 if abs(estimate) < 1e-12 else math.nan
        else:
            reach = t_quantile(UPPER, n - 1) * se
            limits = estimate - reach, estimate + reach
            found["p"] = min(max(2 * (1 - noncentral_t_cdf(abs(estimate) / se, n - 1)), 0.0), 1.0)
        low, high = (min(max(limit, least), 1.0) for limit in limits)
        return found | {"low": low, "high": high}


def _limits_of_share(estimate: float, variance: float, t: float, n: int, added: float) -> tuple[float, float]:
    """Return the roots p of (e − p)² = t²·((1 − p)(p + a)/n + v), v what the variance at e holds beside."""
    rest = max(variance - (1 - estimate) * (estimate + added) / max(n - 1, 1), 0.0)
    square, half = 1 + t**2 / n, estimate + t**2 * (1 - added) / (2 * n)
    root = math.sqrt(max(half**2 - square * (estimate**2 - t**2 * (added / n + rest)), 0.0))
    return (half - root) / square, (half + root) / square


def corrected_terms(
    joined: JudgedPairs,
    original: Qrels,
    judged: Judged,
    measures: Sequence[Measure],
    *,
    chances: Floats | None = None,
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
        joined: runs joined with the original qrels and `judged.pairs`.
        original: the benchmark's qrels; their positives are taken as right.
        judged: of `votes_by_design`, whose labels have no `reason` against them; or of `audited_kinds`.
        measures: those that `why_uncorrected` has nothing against are corrected.
        chances: of each pair, see `estimates.chances_of`: in P@k those drawn weigh 1/π, and C@k that
            reads one is refused. None: no sample.
    """
    n_queries, of_original = len(joined.queries), judged.n_kinds
    kind = np.where(joined.label(original).relevance >= 1, of_original, -1)
    rows = joined.find_rows(judged.pairs)
    kind[rows[rows >= 0]] = judged.kind[rows >= 0]
    chances = np.ones(len(kind)) if chances is None else chances
    kind = np.where((chances > 0) | (kind == of_original), kind, -1)
    weight = np.where((chances > 0) & (kind != of_original), 1 / np.maximum(chances, 1e-9), 1.0)
    query = joined.queries.get_indexer(pd.Index(judged.pairs["query_id"]))
    counts = np.zeros((n_queries, 4 * judged.n_bands))
    np.add.at(counts, query[query >= 0], judged.columns[query >= 0])
    rates = _Rates.of(judged, counts)
    found = {}
    for run_id, run in joined.places.items():
        for measure in measures:
            in_top = run.rank <= (measure.depth or 0)
            pairs, of_query = run.relevance[in_top], run.query[in_top]
            pairs, of_query = (each[kind[pairs] >= 0] for each in (pairs, of_query))
            is_drawn = bool((weight[pairs] > 1).any())
            reason = why_uncorrected(measure) or rates.reason
            if is_drawn and not measure.definition.is_precision:
                reason = reason or DRAWN
            if reason:
                one = Corrected(np.empty(0), np.empty(0), is_drawn=is_drawn, reason=reason)
            else:
                cell = of_query * (of_original + 1) + kind[pairs]
                lists = sum_by_query(cell, weight[pairs], n_queries * (of_original + 1))
                one = _correct(lists.reshape(n_queries, -1), measure, rates, is_drawn=is_drawn)
            found[run_id, measure.name] = one
    return found


def corrected_scores(
    terms: Mapping[tuple[str, str], Corrected],
    *,
    clusters: Ints | None = None,
    least: float = 0.0,
) -> pd.DataFrame:
    """Return the corrected scores with their intervals, a row for each run and measure.

    Args:
        terms: of `corrected_terms`.
        clusters: code of each query's cluster; None: each query is its own.
        least: the lowest value there is; 1 is the highest.

    Returns:
        run_id, measure, estimate, low, high (cut off there), is_drawn (whether it reads pairs that were
        drawn by chance), reason (why there is none; empty).
    """
    rows = [
        {"run_id": run_id, "measure": measure, "is_drawn": one.is_drawn, "reason": one.reason}
        | ({} if one.reason else one.limits(clusters, least=least))
        for (run_id, measure), one in terms.items()
    ]
    return pd.DataFrame(rows, columns=list(SCORE_COLUMNS)).astype(SCORE_COLUMNS)


def corrected_differences(
    terms: Mapping[tuple[str, str], Corrected], *, clusters: Ints | None = None
) -> pd.DataFrame:
    """Return what every two runs differ by in corrected scores: interval and test are one.

    Runs share the rates and the queries, whose errors cancel in the difference as far as they are the same.

    Args, as of `corrected_scores`.

    Returns:
        A row for each measure and two runs in the order of the terms: measure, run_a, run_b, value_a,
        value_b, difference, low, high, p (two-sided, by Student's t: below .05 where the 95% interval does
        not hold 0), reason (why there is none; empty).
    """
    rows = []
    for measure in dict.fromkeys(measure for _, measure in terms):
        of_runs = {run_id: one for (run_id, name), one in terms.items() if name == measure}
        for (run_a, a), (run_b, b) in combinations(of_runs.items(), 2):
            both = a.minus(b)
            row: dict[str, Any] = {"measure": measure, "run_a": run_a, "run_b": run_b, "reason": both.reason}
            if not both.reason:
                found = both.limits(clusters, least=-1.0)
                row |= {"value_a": float(a.terms.mean()), "value_b": float(b.terms.mean())}
                row |= {"difference": found.pop("estimate")} | found
            rows.append(row)
    return pd.DataFrame(rows, columns=list(DIFFERENCE_COLUMNS)).astype(DIFFERENCE_COLUMNS)


class _Rates(NamedTuple):
    """The rates that counts tell, and how they move with each count and with what they rest on beside.

    counts: (n_queries, n_counts); relevance: p̂ of each kind at the rates, and below it with each count and
    each of the `errors` of what was judged one imaginary step up; group: of each query; without: p̂ of each
    kind with each group of queries left out, None where one of them leaves no rates, or an audit tells them.
    """

    judged: Judged
    counts: Floats
    relevance: Any
    group: Ints
    without: Floats | None
    reason: str

    @classmethod
    def of(cls, judged: Judged, counts: Floats) -> _Rates:
        total = counts.sum(axis=0)
        group = np.arange(len(counts)) % _GROUPS
        if reason := why_no_rates(judged.rates(total)):
            return cls(judged, counts, None, group, None, reason)
        n, n_beside = len(total), len(judged.errors)
        moved: Any = total + 1j * _STEP * np.eye(n + n_beside + 1, n, -1)
        beside: Any = 1j * _STEP * np.eye(n + n_beside + 1, n_beside, -1 - n)
        left = judged.rates(total - cluster_sums(counts, group)[:, :-1])
        is_left = not n_beside and not why_no_rates(left)  # an audit's answers lie outside the groups
        without = judged.relevance(left) if is_left else None
        return cls(judged, counts, judged.relevance(judged.rates(moved, beside)), group, without, "")

    def bias(self, values: Floats, values_without: Floats) -> float:
        """Return the bias of the mean of values over queries, by the jackknife of groups of unequal size.

        values_without: (n_groups, n_queries), the values by the rates without each group.
        """
        n, n_groups = len(values), len(values_without)
        own = np.array([row[self.group == g].sum() for g, row in enumerate(values_without)])
        left = (values_without.sum(axis=1) - own) / n  # a group's mean, weighted by 1 − its size / n
        return float(left.sum() - (n_groups - 1) * values.mean())


def _correct(lists: Floats, measure: Measure, rates: _Rates, *, is_drawn: bool) -> Corrected:
    """Return a run's corrected score from how many docs of each kind each query's top k holds."""
    is_share = not measure.definition.is_precision
    if is_share:  # a list with an original is 1 whatever else it holds
        lists = np.where(lists[:, -1:] > 0, np.eye(lists.shape[1])[-1], lists)
    patterns, pattern = np.unique(lists, axis=0, return_inverse=True)

    def values(relevance: Any) -> Any:
        if is_share:
            return corrected_hits(patterns.astype(np.int64), relevance)[:, pattern.reshape(-1)]
        return (relevance @ patterns.T / (measure.depth or 1))[:, pattern.reshape(-1)]

    found, added = values(rates.relevance), None
    if is_share:
        added = _added_by_votes(lists, rates.relevance[0].real)
    slopes = found[1:].imag.mean(axis=1) / _STEP
    of_counts, beside = np.split(slopes, [rates.counts.shape[1]])
    terms = found[0].real + len(lists) * (rates.counts @ of_counts)
    if rates.without is not None:
        terms = terms - rates.bias(found[0].real, values(rates.without))
    return Corrected(terms, beside * rates.judged.errors, is_drawn=is_drawn, added=added)


def _added_by_votes(lists: Floats, relevance: Floats) -> float:
    """Return the mean of Π(1 + f(1 − f)/(t − f)²) − 1 over lists without an original: the variance of
    Π(1 − p̂) where no doc is relevant. f(1 − f)/(t − f)² is −p̂·p̂ of a kind's labels 0 and 1."""
    open_lists = lists[lists[:, -1] == 0]
    if not len(open_lists):
        return 0.0
    product = np.minimum(relevance[:-1:2] * relevance[1:-1:2], 0.0)
    raised = corrected_hits(open_lists.astype(np.int64), np.append(np.repeat(product, 2), 0.0))
    return -float(raised.mean())
