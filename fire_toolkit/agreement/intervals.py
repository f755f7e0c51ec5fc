"""How certain an alpha is: bootstrap over pairs or clusters of pairs, and jackknife."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import pandas as pd

from fire_toolkit.agreement.alpha import graded_counts, undefined_alpha
from fire_toolkit.agreement.coincidence import alphas, coincidences, count_patterns
from fire_toolkit.agreement.votes import Floats, Grades, Ints, Votes, code_votes
from fire_toolkit.errors import TableError, UsageError
from fire_toolkit.tables import Judgments

METHODS = ("bootstrap", "jackknife")
CELLS_AT_ONCE = 200_000


@dataclass(frozen=True)
class AlphaInterval:
    """Alpha with an interval.

    value: alpha, weighted if pairs were; low, high: its interval; below_667, below_800: the probability
    that alpha is below .667 and below .8, the customary bounds for tentative and for firm conclusions;
    n_resampled: how many pairs (or clusters) were drawn from; n_undefined: resamples without an alpha,
    left out; note: why a number is nan, or what to beware of.
    """

    value: float
    low: float
    high: float
    below_667: float
    below_800: float
    n_resampled: int
    n_undefined: int
    note: str


def _no_interval(value: float, n_resampled: int, note: str, n_undefined: int = 0) -> AlphaInterval:
    nan = math.nan
    return AlphaInterval(value, nan, nan, nan, nan, n_resampled, n_undefined, note)


@dataclass(frozen=True)
class _Sample:
    """Coincidence matrices of kinds of draws (kinds × values²) and how many draws are of each kind."""

    matrices: Floats
    n_drawn: Ints
    values: Floats
    level: str

    def alphas(self, weights: Floats) -> Floats:
        """Return the alpha of each row of `weights` (rows × kinds)."""
        n_values = len(self.values)
        return alphas((weights @ self.matrices).reshape(-1, n_values, n_values), self.values, self.level)


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
) -> AlphaInterval:
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
        An `AlphaInterval`, all nan with a note when alpha is undefined.

    Raises:
        UsageError: an argument out of range, a column that is not there; as `krippendorff_alpha`.
        TableError: as `krippendorff_alpha`; an inclusion probability out of range, or one that, like a
            cluster, differs within a pair.

    Examples:
        >>> from fire_toolkit.tables import check_judgments
        >>> judgments = check_judgments(pd.DataFrame({
        ...     "query_id": "q", "doc_id": [f"d{n:02d}" for n in range(40) for _ in "uv"],
        ...     "annotator_id": ["u", "v"] * 40,
        ...     "label": (["1", "1"] * 4 + ["0", "0"] * 5 + ["1", "0"]) * 4}))
        >>> interval = alpha_interval(judgments)
        >>> round(interval.value, 3), round(interval.low, 2) < 0.8 < round(interval.high, 2)
        (0.801, True)
    """
    _check_arguments(judgments, (cluster, inclusion), method, n_resamples, confidence)
    votes = code_votes(judgments, grades=grades, level=level)
    counts, values = graded_counts(votes, level)
    reason = undefined_alpha(counts, votes, level)
    if reason:
        return _no_interval(math.nan, 0, reason)
    weights = np.ones(len(counts)) if inclusion is None else _inverse_inclusion(judgments, votes, inclusion)
    groups = None if cluster is None else _codes(_of_pairs(judgments, votes, cluster))
    sample = _sample(counts, values, level, weights, groups)
    value = float(sample.alphas(sample.n_drawn[None].astype(np.float64))[0])
    if sample.n_drawn.sum() < 2:
        what = "pair has two judgments" if cluster is None else f"{cluster} has pairs with two judgments"
        return _no_interval(value, 1, f"only one {what}")
    if method == "jackknife":
        return _jackknife(sample, value, confidence)
    return _bootstrap(sample, value, n_resamples, confidence, np.random.default_rng(seed))


def _check_arguments(
    judgments: Judgments, columns: tuple[str | None, ...], method: str, n_resamples: int, confidence: float
) -> None:
    for column in columns:
        if column is not None and column not in judgments.columns:
            raise UsageError(f"judgments have no column {column!r}; found {', '.join(judgments.columns)}")
    if method not in METHODS:
        raise UsageError(f"method {method!r} is unknown; expected one of {', '.join(METHODS)}")
    if n_resamples < 1:
        raise UsageError(f"n_resamples is {n_resamples}; expected 1 or more")
    if not 0 < confidence < 1:
        raise UsageError(f"confidence is {confidence}; expected a number strictly between 0 and 1")


def _of_pairs(judgments: Judgments, votes: Votes, column: str) -> pd.Series:
    """Return the value that `column` has for each pairable pair, in the order of `votes.counts`."""
    by_pair = judgments[column].groupby(votes.unit)
    varied = by_pair.nunique(dropna=False) > 1
    if varied.any():
        row = int(np.flatnonzero(votes.unit == varied.index[varied][0])[0])
        pair = f"{judgments['query_id'].iloc[row]} {judgments['doc_id'].iloc[row]}"
        raise TableError(
            f"judgments: {column} differs within {int(varied.sum())} pairs ({pair}); "
            "expected one value for each pair"
        )
    return by_pair.first().reindex(pd.Index(votes.units[votes.is_pairable]))


def _codes(values: pd.Series) -> Ints:
    return np.asarray(pd.factorize(values, use_na_sentinel=False)[0], dtype=np.int64)


def _inverse_inclusion(judgments: Judgments, votes: Votes, column: str) -> Floats:
    """Return weights of pairable pairs, of mean 1, by inverse inclusion probability."""
    chance = _of_pairs(judgments, votes, column).to_numpy(dtype=np.float64)
    bad = ~((chance > 0) & (chance <= 1))
    if bad.any():
        raise TableError(
            f"judgments: {column} is {chance[bad][0]} ({int(bad.sum())} of {len(chance)} pairs with two "
            "judgments); expected a probability above 0 and at most 1"
        )
    return np.asarray((1 / chance) / (1 / chance).mean())


def _sample(counts: Ints, values: Floats, level: str, weights: Floats, groups: Ints | None) -> _Sample:
    patterns = count_patterns(counts)
    matrices = coincidences(patterns.counts).reshape(len(patterns.counts), -1)
    if groups is not None:
        by_group = np.zeros((groups.max() + 1, matrices.shape[1]))
        np.add.at(by_group, groups, matrices[patterns.place] * weights[:, None])
        _, first, n_drawn = np.unique(by_group.round(10), axis=0, return_index=True, return_counts=True)
        return _Sample(by_group[first], n_drawn, values, level)
    strata, stratum = np.unique(weights, return_inverse=True)
    kinds, n_drawn = np.unique(patterns.place * len(strata) + stratum, return_counts=True)
    weighted = matrices[kinds // len(strata)] * strata[kinds % len(strata)][:, None]
    return _Sample(weighted, n_drawn, values, level)


def _bootstrap(
    sample: _Sample, value: float, n_resamples: int, confidence: float, draw: np.random.Generator
) -> AlphaInterval:
    n_units = int(sample.n_drawn.sum())
    resampled = np.concatenate(
        [sample.alphas(weights) for weights in _draws(sample.n_drawn, n_resamples, draw)]
    )
    defined = resampled[~np.isnan(resampled)]
    n_undefined = n_resamples - len(defined)
    if not len(defined):
        return _no_interval(value, n_units, "no resample has an alpha", n_undefined)
    low, high = np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2])
    note = "every resample gives the same alpha" if low == high else ""
    if n_undefined:
        note = f"{n_undefined} of {n_resamples} resamples have no alpha and are left out"
    below = [float((defined < bound).mean()) for bound in (0.667, 0.8)]
    return AlphaInterval(value, float(low), float(high), below[0], below[1], n_units, n_undefined, note)


def _draws(n_drawn: Ints, n_resamples: int, draw: np.random.Generator) -> Iterator[Floats]:
    """Yield how often each kind is drawn (resamples × kinds), block by block.

    Few kinds: multinomial draws; about as many kinds as units: units drawn one by one. Blocks bound the
    memory and do not change the numbers.
    """
    n_units, n_kinds = int(n_drawn.sum()), len(n_drawn)
    one_by_one = n_kinds * 8 > n_units
    kind_of_unit = np.repeat(np.arange(n_kinds), n_drawn) if one_by_one else n_drawn
    block = max(1, CELLS_AT_ONCE // (n_units if one_by_one else n_kinds))
    for start in range(0, n_resamples, block):
        n = min(block, n_resamples - start)
        if one_by_one:
            kinds = kind_of_unit[draw.integers(n_units, size=(n, n_units))] + np.arange(n)[:, None] * n_kinds
            weights = np.bincount(kinds.ravel(), minlength=n * n_kinds).reshape(n, n_kinds)
            yield weights.astype(np.float64)
        else:
            yield draw.multinomial(n_units, n_drawn / n_units, size=n).astype(np.float64)


def _jackknife(sample: _Sample, value: float, confidence: float) -> AlphaInterval:
    """Tukey's jackknife: each unit left out once; kinds that occur n times count n times."""
    n_drawn = sample.n_drawn
    n_units = int(n_drawn.sum())
    left = sample.alphas(n_drawn - np.eye(len(n_drawn)))
    if np.isnan(left).any():
        note = "alpha rests on one pair: without it there is nothing to disagree about"
        return _no_interval(value, n_units, note, int(n_drawn[np.isnan(left)].sum()))
    mean = np.average(left, weights=n_drawn)
    error = math.sqrt((n_units - 1) / n_units * float((n_drawn * (left - mean) ** 2).sum()))
    if error == 0:
        note = "leaving a pair out changes nothing"
        return AlphaInterval(value, value, value, float(value < 0.667), float(value < 0.8), n_units, 0, note)
    normal = NormalDist(value, error)
    low, high = normal.inv_cdf((1 - confidence) / 2), min(1.0, normal.inv_cdf((1 + confidence) / 2))
    return AlphaInterval(value, low, high, normal.cdf(0.667), normal.cdf(0.8), n_units, 0, "")
