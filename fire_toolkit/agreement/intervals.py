"""How certain a statistic is: bootstrap over pairs or clusters of pairs, and jackknife."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from fire_toolkit.agreement.bands import normal_at_least, reached_band
from fire_toolkit.agreement.pairwise import leave_out
from fire_toolkit.agreement.registry import STATISTICS
from fire_toolkit.agreement.sample import Sample, measure
from fire_toolkit.agreement.statistic import TablesValue, at_level
from fire_toolkit.agreement.votes import Grades, Votes, code_votes
from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.draws import draw_kinds
from fire_toolkit.errors import UsageError
from fire_toolkit.tables import Judgments

METHODS = ("bootstrap", "jackknife")


@dataclass(frozen=True)
class Interval:
    """A statistic with an interval.

    value: weighted if pairs were; low, high: its interval; below_667, below_800: the probability that
    alpha is below .667 and below .8, the customary bounds for tentative and for firm conclusions, nan
    for other statistics; n_resampled: how many pairs (or clusters) were drawn from; n_undefined:
    resamples without a value, left out; note: why a number is nan, or what to beware of;
    standard_error: of the value, nan without an interval; band, band_probability: of a coefficient beyond
    chance the highest of Landis and Koch's bands that it reaches with probability .95, see `bands`.
    """

    value: float
    low: float
    high: float
    below_667: float
    below_800: float
    n_resampled: int
    n_undefined: int
    note: str
    standard_error: float = math.nan
    band: str = ""
    band_probability: float = math.nan


@dataclass(frozen=True)
class Resampling:
    """How an interval is had; the arguments of `alpha_interval` of these names."""

    method: str = "bootstrap"
    n_resamples: int = 10_000
    confidence: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        _check_arguments(self.method, self.n_resamples, self.confidence)


def _no_interval(value: float, n_resampled: int, note: str, n_undefined: int = 0) -> Interval:
    nan = math.nan
    return Interval(value, nan, nan, nan, nan, n_resampled, n_undefined, note)


def alpha_interval(
    judgments: Judgments,
    *,
    grades: Grades | None = None,
    level: str = "nominal",
    method: str = "bootstrap",
    cluster: str | None = None,
    inclusion: str | None = None,
    n_resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Return Krippendorff's alpha with an interval and the probability of falling short of .667 and .8.

    Args:
        judgments, grades, level: as in `krippendorff_alpha`.
        method: `bootstrap`: pairable pairs are drawn with replacement, and the interval lies between
            percentiles; `jackknife`: each is left out once, and the interval is a normal one.
        cluster: a column of `judgments`, constant within a pair (`query_id`, say): its values are drawn
            as wholes, for pairs that share the habits of one caption. None: pairs are.
        inclusion: a column with the probability, in (0, 1], with which each pair was chosen for a second
            judgment; pairs then weigh its inverse. None: all pairs weigh the same.
        n_resamples: of the bootstrap, 1 or more.
        confidence: of the interval, strictly between 0 and 1.
        seed: of the bootstrap; the same seed gives the same numbers.

    Returns:
        An `Interval`, all nan with a note when alpha is undefined.

    Raises:
        UsageError: an argument out of range, a column that is not there; as `krippendorff_alpha`.
        TableError: as `krippendorff_alpha`; an inclusion probability out of range, or one that, like a
            cluster, differs within a pair.

    Examples:
        >>> import pandas as pd
        >>> from fire_toolkit.tables import check_judgments
        >>> judgments = check_judgments(pd.DataFrame({
        ...     "query_id": "q", "doc_id": [f"d{n:02d}" for n in range(40) for _ in "uv"],
        ...     "annotator_id": ["u", "v"] * 40,
        ...     "label": (["1", "1"] * 4 + ["0", "0"] * 5 + ["1", "0"]) * 4}))
        >>> interval = alpha_interval(judgments)
        >>> round(interval.value, 3), round(interval.low, 2) < 0.8 < round(interval.high, 2)
        (0.801, True)
    """
    resampling = Resampling(method, n_resamples, confidence, seed)
    votes = code_votes(judgments, grades=grades, level=level, inclusion=inclusion, cluster=cluster)
    return interval_of(votes, "alpha", level=level, resampling=resampling)


def _check_arguments(method: str, n_resamples: int, confidence: float) -> None:
    if method not in METHODS:
        raise UsageError(f"method {method!r} is unknown; expected one of {', '.join(METHODS)}")
    if n_resamples < 1:
        raise UsageError(f"n_resamples is {n_resamples}; expected 1 or more")
    if not 0 < confidence < 1:
        raise UsageError(f"confidence is {confidence}; expected a number strictly between 0 and 1")


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
        return _no_interval(value, 0, note)
    definition = STATISTICS[statistic]
    if definition.of_two is not None:
        graded = at_level(votes, definition, level)
        return _interval_of_two(graded, value, statistic, definition.of_two, resampling)
    sample = Sample.of(votes, statistic, level, by_cluster=by_cluster)
    if sample.n_drawn.sum() < 2:
        by_pair = votes.cluster is None or not by_cluster
        what = "pair has two judgments" if by_pair else "cluster has pairs with two judgments"
        return _no_interval(value, 1, f"only one {what}")
    if resampling.method == "jackknife":
        return _jackknife(sample, value, resampling.confidence)
    return _bootstrap(sample, value, resampling.n_resamples, resampling.confidence, resampling.seed)


def _bootstrap(sample: Sample, value: float, n_resamples: int, confidence: float, seed: int) -> Interval:
    n_units = int(sample.n_drawn.sum())
    drawn = draw_kinds(sample.n_drawn, n_resamples=n_resamples, seed=seed, n_alike=8)
    resampled = np.concatenate([sample.values(counts) for _, counts in drawn])
    defined = resampled[~np.isnan(resampled)]
    n_undefined = n_resamples - len(defined)
    if not len(defined):
        return _no_interval(value, n_units, f"no resample has a {sample.words}", n_undefined)
    low, high = np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2])
    note = f"every resample gives the same {sample.words}" if low == high else ""
    if n_undefined:
        note = f"{n_undefined} of {n_resamples} resamples have no {sample.words} and are left out"
    below = _below(sample.statistic, lambda bound: float((defined < bound).mean()))
    band = _band(sample.statistic, lambda bound: float((defined >= bound).mean()))
    return Interval(
        value, float(low), float(high), *below, n_units, n_undefined, note, float(defined.std()), *band
    )


def _below(statistic: str, chance: Callable[[float], float]) -> tuple[float, float]:
    """Return the chances of a value below .667 and below .8, which are customary for alpha alone."""
    return (chance(0.667), chance(0.8)) if statistic == "alpha" else (math.nan, math.nan)


def _band(statistic: str, at_least: Callable[[float], float]) -> tuple[str, float]:
    """Return the band that a coefficient beyond chance reaches; none of other statistics."""
    return reached_band(at_least) if STATISTICS[statistic].is_coefficient else ("", math.nan)


def _jackknife(sample: Sample, value: float, confidence: float) -> Interval:
    """Each unit left out once; kinds that occur n times count n times."""
    return _of_left_out(sample.values_left_out, sample.n_drawn, value, sample.statistic, confidence)


def _interval_of_two(
    votes: Votes, value: float, statistic: str, coefficients: TablesValue, resampling: Resampling
) -> Interval:
    """By the jackknife: resampled tables of few pairs would be biased, and percentiles with them."""
    left = leave_out(votes, coefficients)
    found = _of_left_out(left, np.ones(len(left), dtype=np.int64), value, statistic, resampling.confidence)
    if math.isnan(found.low):
        return found
    if resampling.method == "jackknife":
        return found
    cautions = [found.note, "by the jackknife: resampled small tables are biased"]
    return replace(found, note="; ".join(part for part in cautions if part))


def _of_left_out(left: Floats, n_drawn: Ints, value: float, statistic: str, confidence: float) -> Interval:
    """Return Tukey's jackknife interval from the values without each unit; n_drawn units are alike."""
    n_units = int(n_drawn.sum())
    words = statistic.replace("_", " ")
    if np.isnan(left).any():
        note = f"{words} rests on one pair: it has no value without it"
        return _no_interval(value, n_units, note, int(n_drawn[np.isnan(left)].sum()))
    mean = np.average(left, weights=n_drawn)
    error = math.sqrt((n_units - 1) / n_units * float((n_drawn * (left - mean) ** 2).sum()))
    if error == 0:
        note = "leaving a pair out changes nothing"
        below = _below(statistic, lambda bound: float(value < bound))
        band = _band(statistic, lambda bound: float(value >= bound))
        return Interval(value, value, value, *below, n_units, 0, note, 0.0, *band)
    normal = NormalDist(value, error)
    low, high = normal.inv_cdf((1 - confidence) / 2), min(1.0, normal.inv_cdf((1 + confidence) / 2))
    band = _band(statistic, normal_at_least(value, error))
    return Interval(value, low, high, *_below(statistic, normal.cdf), n_units, 0, "", error, *band)
