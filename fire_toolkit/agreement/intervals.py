"""How certain a statistic is: score intervals of shares, and a Bayesian bootstrap of the others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from fire_toolkit.agreement.pairwise import influences
from fire_toolkit.agreement.registry import STATISTICS
from fire_toolkit.agreement.sample import Sample, is_evenly_drawn, measure, weighed_sums
from fire_toolkit.agreement.statistic import TablesValue
from fire_toolkit.agreement.votes import Grades, Votes, code_votes, level_for
from fire_toolkit.arrays import Floats
from fire_toolkit.errors import UsageError
from fire_toolkit.inference.draws import draw_weights
from fire_toolkit.inference.shares import critical_value, share_interval
from fire_toolkit.tables import Judgments

LEAST_POSITIVES = 10
PRIOR = 1.5  # imagined pairs: a half for each two labels where there are two, by Jeffreys
ONE_CLUSTER = "only one cluster has pairs with two judgments"
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Interval:
    """A statistic with an interval.

    value: weighted if pairs were; low, high: its limits, nan where they are not known; below_667, below_800:
    the probability that alpha is below .667 and below .8, the customary bounds for tentative and for firm
    conclusions, nan for other statistics; n_resampled: how many pairs (or clusters) it is of; note: why a
    number is nan, or what to beware of; standard_error: of the value, nan for shares and
    without an interval.
    """

    value: float
    low: float
    high: float
    below_667: float
    below_800: float
    n_resampled: int
    note: str
    standard_error: float = math.nan


@dataclass(frozen=True)
class Resampling:
    """How an interval is had; the arguments of `alpha_interval` of these names."""

    n_resamples: int = 10_000
    confidence: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        if self.n_resamples < 1:
            raise UsageError(f"n_resamples is {self.n_resamples}; expected 1 or more")
        if not 0 < self.confidence < 1:
            raise UsageError(f"confidence is {self.confidence}; expected a number strictly between 0 and 1")


def alpha_interval(
    judgments: Judgments,
    *,
    grades: Grades | None = None,
    level: str | None = None,
    cluster: str | None = None,
    inclusion: str | None = None,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Return Krippendorff's alpha with an interval and the probability of falling short of .667 and .8.

    Args:
        judgments, grades, level: as in `agreement`.
        cluster: a column of `judgments`, constant within a pair (`query_id`, say): its values are drawn
            as wholes, for pairs that share the habits of one caption. None: pairs are.
        inclusion: a column with the probability, in (0, 1], with which each pair was chosen for a second
            judgment; pairs then weigh its inverse. None: all pairs weigh the same.
        n_resamples: how often weights are drawn, 1 or more.
        confidence: of the interval, strictly between 0 and 1.
        seed: of the draws; the same seed gives the same numbers.

    Returns:
        An `Interval`, its limits nan with a note when alpha is undefined or rests on one pair or cluster.
        The note also says where fewer than ten of the doubled pairs are positive.

    Raises:
        UsageError: an argument out of range, a column that is not there; as `agreement`.
        TableError: as `agreement`; an inclusion probability out of range, or one that, like a
            cluster, differs within a pair.

    The method is the Bayesian bootstrap (Rubin 1981, Annals of Statistics 9): pairs or clusters get random
    weights, and so do imagined pairs of every two labels, one and a half of them together (Jeffreys' prior
    where there are two labels), without which few positives that happen to agree would look certain. The
    limits are the percentiles that Student's t leaves outside (Hesterberg 2015, American Statistician 69).

    Examples:
        >>> import pandas as pd
        >>> from fire_toolkit.tables import check_judgments
        >>> judgments = check_judgments(pd.DataFrame({
        ...     "query_id": "q", "doc_id": [f"d{n:02d}" for n in range(40) for _ in "uv"],
        ...     "annotator_id": ["u", "v"] * 40,
        ...     "label": (["1", "1"] * 4 + ["0", "0"] * 5 + ["1", "0"]) * 4}))
        >>> interval = alpha_interval(judgments)
        >>> round(interval.value, 3), round(interval.low, 1), round(interval.high, 1)
        (0.801, 0.5, 0.9)
    """
    resampling = Resampling(n_resamples, confidence, seed)
    level = level_for(grades, level)
    votes = code_votes(judgments, grades=grades, level=level, inclusion=inclusion, cluster=cluster)
    return interval_of(votes, "alpha", level=level, resampling=resampling)


def interval_of(
    votes: Votes,
    statistic: str,
    *,
    level: str,
    resampling: Resampling,
    measured: tuple[float, str] | None = None,
    by_cluster: bool = True,
) -> Interval:
    """Return the named statistic of `votes` with its interval, by their weights and clusters.

    by_cluster: draw clusters where the votes have them, else pairs; measured: what `measure` returns of it,
    where that is known.
    """
    value, note = measured or measure(votes, statistic, level)
    if math.isnan(value):
        return _unknown(value, 0, note)
    definition = STATISTICS[statistic]
    if definition.of_two is not None:
        return _of_two(votes, value, definition.of_two, resampling)
    if definition.is_share and is_evenly_drawn(votes):
        confidence = resampling.confidence
        return _of_share(votes, value, statistic, level, confidence, by_cluster=by_cluster)
    sample = Sample.of(votes, statistic, level, by_cluster=by_cluster)
    return _drawn(votes, sample, value, resampling)


def describe_few_positives(votes: Votes, statistic: str = "alpha") -> str:
    """Return that the doubled pairs hold too few positives for a statistic's interval, or an empty text.

    A pair on which votes differ counts as the share of its positive votes.
    """
    n_pairs = len(votes.counts)
    shares = votes.counts[:, votes.grades >= 1].sum(axis=1) / votes.counts.sum(axis=1)
    n_positive = float(shares.sum())
    if not n_pairs or np.isnan(votes.grades).any() or n_positive >= LEAST_POSITIVES:
        return ""
    pairs = f"{n_pairs:,} pair{'s' * (n_pairs != 1)} judged twice"
    unreliable = f"the interval of {statistic.replace('_', ' ')} is unreliable"
    if not n_positive:
        return f"none of the {pairs} is positive, so {unreliable}"
    n_needed = math.ceil(LEAST_POSITIVES * n_pairs / n_positive - 1e-9)
    return (
        f"{n_positive:.1f} positives among {pairs}: with fewer than {LEAST_POSITIVES} {unreliable}; "
        f"at this share of positives about {n_needed:,} pairs judged twice hold {LEAST_POSITIVES}"
    )


def _unknown(value: float, n_units: int, note: str) -> Interval:
    return Interval(value, math.nan, math.nan, math.nan, math.nan, n_units, note)


def _too_few(votes: Votes, value: float) -> Interval:
    return _unknown(value, 1, "only one pair has two judgments" if votes.clusters is None else ONE_CLUSTER)


def _drawn(votes: Votes, sample: Sample, value: float, resampling: Resampling) -> Interval:
    """By the Bayesian bootstrap over pairs or clusters."""
    n_units = int(sample.n_drawn.sum())
    if n_units < 2:
        return _too_few(votes, value)
    n_each = np.concatenate([sample.n_drawn, np.full(len(sample.added), PRIOR / max(len(sample.added), 1))])
    columns = np.concatenate([sample.columns, sample.added])
    drawn = draw_weights(n_each, n_resamples=resampling.n_resamples, seed=resampling.seed)
    values: Floats = np.concatenate([sample.value(weights @ columns) for weights in drawn])
    if np.isnan(values).any() or (values == values[0]).all():
        return _unknown(value, n_units, "too little to tell how certain it is")
    tail = NormalDist().cdf(-critical_value(resampling.confidence, n_units))
    low, high = np.quantile(values, [tail, 1 - tail])
    below_667, below_800 = (
        float((values < bound).mean()) if sample.statistic == "alpha" else math.nan for bound in (0.667, 0.8)
    )
    note = describe_few_positives(votes, sample.statistic)
    low, high = min(float(low), value), max(float(high), value)
    return Interval(value, low, high, below_667, below_800, n_units, note, float(values.std()))


def _of_share(
    votes: Votes, value: float, statistic: str, level: str, confidence: float, *, by_cluster: bool
) -> Interval:
    """By Wilson's score, on the share that the statistic grows with."""
    sums, cluster = weighed_sums(votes, statistic, level, by_cluster=by_cluster)
    over, under = sums.columns.T
    n_units = len(over) if cluster is None else len(np.unique(cluster))
    limits = np.array(share_interval(over, under, cluster=cluster, confidence=confidence))
    if np.isnan(limits).any():
        return _unknown(value, n_units, "all of it is of one cluster, which tells nothing of others")
    low, high = sums.value(np.stack([limits, np.ones(2)], axis=1)).tolist()
    return Interval(value, low, high, math.nan, math.nan, n_units, "")


def _of_two(votes: Votes, value: float, coefficients: TablesValue, resampling: Resampling) -> Interval:
    """By linearised variance, value ± t · standard error: the small tables of two annotators are biased
    where they are drawn anew.
    """
    influence = influences(votes, coefficients)
    n_units = len(influence)
    if n_units < 2:
        return _too_few(votes, value)
    error = math.sqrt(n_units / (n_units - 1) * float((influence**2).sum()))
    if error < _ROUNDING:
        return _unknown(value, n_units, "no pair moves it, which does not tell how certain it is")
    reach = critical_value(resampling.confidence, n_units) * error
    low, high = max(value - reach, -1.0), min(value + reach, 1.0)
    return Interval(value, low, high, math.nan, math.nan, n_units, "", error)
