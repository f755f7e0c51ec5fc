"""How often votes and labels err, and labels as unbiased estimates of what is true.

t is the chance that a vote, or a label, on a relevant pair is positive, f that one on another pair is. Two
sources tell them: votes by design (`votes`), and an audit by experts (`audit`); each is a `LabelRates`. Votes
on one pair are taken as independent given the truth; `alarm_of_fourth_votes` tests it.
"""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.tables.design import CLASSES, DOUBLED, SINGLE

BANDS = ("1", "2 to 3", "4 and more")
LEAST_GAP = 0.5
MOST_BEYOND = 0.1  # how far outside 0 to 1 chance may put a rate
ALARM = -1.645
HARD = 0.1  # a correlation of errors that fourth votes must be able to show
_POWER = 1.2816  # the normal quantile of 90%
STEP = 1e-30


class ErrorRates(NamedTuple):
    """t and f of one vote, or one label, and the share of relevant pairs among those counted.

    (..., n_bands); nan where none exist. Complex ones have exact derivatives as their imaginary parts.
    """

    t: Floats
    f: Floats
    prevalence: Floats

    @property
    def why_not(self) -> str:
        """Why labels cannot be corrected by them, any of several bands; empty where they can."""
        t, f = np.ravel(self.t), np.ravel(self.f)
        if np.isnan(t).any() or (np.maximum(t - 1, -f) > MOST_BEYOND).any():
            return (
                "the votes fit no rates from 0 to 1: errors depend on one another, or too few pairs have two"
            )
        worst = (t - f).argmin()
        if t[worst] - f[worst] < LEAST_GAP:
            told = f"one vote, or audited label, {rates_in_words(t[worst], f[worst])}: the two must be "
            return f"{told}{LEAST_GAP:.0%} apart, else labels carry too little information"
        return ""

    @property
    def of_labels(self) -> tuple[Floats, Floats]:
        """t and f of a label by its class and band, in that order: (..., n_classes × n_bands)."""
        t, f = (np.concatenate([class_rate(e, name) for name in CLASSES], axis=-1) for e in self[:2])
        return t, f

    @property
    def relevance(self) -> Floats:
        """p̂ = (label − f) / (t − f) of each kind of pairs, see `LabelRates.kind`, and last 1 for originals.

        (..., n_kinds + 1). Its mean is 1 on relevant pairs and 0 on others; it is not clipped.

        Examples:
            >>> ErrorRates(*np.array([[0.92], [0.04], [0.13]])).relevance.round(4).tolist()
            [-0.0455, 1.0909, -0.0048, 1.0186, -0.0034, 1.0943, 1.0]
        """
        t, f = self.of_labels
        both = np.stack([-f / (t - f), (1 - f) / (t - f)], axis=-1)
        flat = both.reshape(*both.shape[:-2], -1)
        return np.concatenate([flat, np.ones((*flat.shape[:-1], 1))], axis=-1)


@dataclass(frozen=True, eq=False)
class LabelRates:
    """How often labels of judged pairs that are no original positives err, as one source tells it.

    pairs: query_id, doc_id, design_class, relevance (the label by design, 0 or 1), band; bands: the names of
    the bands of ranks with rates of their own; one empty name where all pairs have the same rates; counted:
    (n_pairs, n_columns), what each pair adds to the counts of its band, 0 where it tells nothing of them.
    """

    pairs: pd.DataFrame
    bands: tuple[str, ...] = ("",)
    counted: Floats = field(default_factory=lambda: np.empty((0, 4)), repr=False)

    @cached_property
    def counts(self) -> Floats:
        """(n_pairs, n_bands × n_columns): what each pair adds to the counts of each band."""
        of_band = np.eye(len(self.bands))[self.pairs["band"].to_numpy()]
        return np.asarray((of_band[:, :, None] * self.counted[:, None, :]).reshape(len(of_band), -1))

    @property
    def n_kinds(self) -> int:
        """How many kinds of pairs there may be; original positives are one more."""
        return 2 * len(CLASSES) * len(self.bands)

    @property
    def kind(self) -> Ints:
        """The kind of each pair: its class, band and label, in that order."""
        place = pd.Categorical(self.pairs["design_class"], categories=CLASSES).codes.astype(np.int64)
        of_band = place * len(self.bands) + self.pairs["band"].to_numpy()
        return np.asarray(of_band * 2 + self.pairs["relevance"].to_numpy(), dtype=np.int64)

    @property
    def errors(self) -> Floats:
        """Standard errors of the counts' sums beyond what queries show; of votes there are none."""
        return np.empty(0)

    def rates(self, counts: Floats) -> ErrorRates:
        """Return the rates of each band, (..., n_bands), from (..., n_counts) sums of `counts`."""
        return moment_rates(counts.reshape(*counts.shape[:-1], len(self.bands), -1))


def stepped(counts: Floats) -> Any:
    """Return counts, and below them the same with one after the other an imaginary step up.

    What is made of them has its derivatives, exact, as imaginary parts over `STEP`.
    """
    return counts + 1j * STEP * np.eye(len(counts) + 1, len(counts), -1)


def moment_rates(counts: Any) -> ErrorRates:
    """Return the rates with which three votes come as they came, wherever they lie.

    With m1 = P(1), m2 = P(1, 1) and m3 = P(1, 1, 1) = m2 − P(1, 0, 1), s = (m3 − m1·m2) / (m2 − m1²) and
    p = s·m1 − m2 are sum and product of t and f (method of moments of two latent classes; Lazarsfeld and
    Henry 1968, ch. 2). Rates just outside 0 to 1 are chance, and cutting them off would bias what is
    estimated by them; nan where there is no solution.

    Args:
        counts: (..., 4), pairs of one class; those with a positive first vote (of doubled pairs N11 + Nd / 2,
            as no vote is the first); those with two positive votes; those with votes 1, 0, 1 (of doubled
            pairs half of the disagreements whose third vote is positive).

    Examples:
        >>> found = moment_rates([1000, 100 + 80 / 2, 100, 20 / 2])  # N11 100, Nd 80, Np 20
        >>> [round(float(x), 6) for x in found]
        [0.909726, 0.035547, 0.119487]
    """
    n, first, both, third = np.moveaxis(np.asarray(counts), -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        m1, m2 = first / n, both / n
        m3 = m2 - third / n
        total = (m3 - m1 * m2) / (m2 - m1**2)
        square = total**2 - 4 * (total * m1 - m2)
        root = np.sqrt(np.where(square.real >= 0, square, np.nan))
        t, f = (total + root) / 2, (total - root) / 2
        return ErrorRates(t, f, (m1 - f) / (t - f))


def rates_in_words(t: float, f: float) -> str:
    """Return what one vote, or one label, does by such rates of error.

    Examples:
        >>> rates_in_words(0.92, 0.04)
        'finds 92.0% of positives and calls 4.00% of others positive'
    """
    return f"finds {t:.1%} of positives and calls {f:.2%} of others positive"


def chance_of_common_rates(by_band: Floats, *, is_doubled: bool) -> float:
    """Return the chance of vote patterns that differ so much between bands of ranks, if rates are the same.

    By Pearson's chi-square of four patterns (two positive votes, 2 to 1, 1 to 2, none or one negative vote)
    in each band, with t and f of all bands together and each band's own share of relevant pairs.

    Args:
        by_band: (n_bands, 4), counts as in `moment_rates`.
        is_doubled: whether these are doubled pairs; else each positive of the class has a second vote.

    Returns:
        1 with a single band or none, and where all bands together have no rates.
    """
    n, first, both, third = by_band[by_band[:, 0] > 0].T
    of_all = moment_rates(by_band.sum(axis=0))
    t, f = np.clip(of_all.t, 0, 1), np.clip(of_all.f, 1e-6, 1)
    if len(n) < 2 or of_all.why_not:
        return 1.0
    share = np.clip((first / n - f) / (t - f), 0, 1)[:, None]
    if is_doubled:
        found = [both, 2 * third, 2 * (first - both - third), n - 2 * first + both]
        t4, f4 = (np.array([e**2, 2 * e**2 * (1 - e), 2 * e * (1 - e) ** 2, (1 - e) ** 2]) for e in (t, f))
    else:
        found = [both, third, first - both - third, n - first]
        t4, f4 = (np.array([e**2, e**2 * (1 - e), e * (1 - e) ** 2, 1 - e]) for e in (t, f))
    expected = np.maximum(n[:, None] * (share * t4 + (1 - share) * f4), 1e-9)
    half = float(((np.column_stack(found) - expected) ** 2 / expected).sum()) / 2
    terms = [half**k / math.factorial(k) for k in range(len(n) - 1)]
    return math.exp(-half) * sum(terms)  # chi-square with 2(bands − 1) degrees of freedom


def class_rate(rate: Any, design_class: str) -> Any:
    """Return the rate with which a pair's label is positive, given that of one vote.

    Examples:
        >>> [round(class_rate(0.92, name), 6) for name in ("single", "doubled", "verify")]
        [0.92, 0.981824, 0.914112]
        >>> [round(class_rate(0.04, name), 6) for name in ("single", "doubled", "verify")]
        [0.04, 0.004672, 0.003136]
    """
    if design_class == SINGLE:
        return rate
    return rate**2 * (3 - 2 * rate) if design_class == DOUBLED else rate**2 * (2 - rate)


def corrected_hits(counts: Ints, relevance: Floats) -> Floats:
    """Return 1 − Π(1 − p̂) of lists of docs, whose mean is 1 where a doc is relevant, else 0.

    Args:
        counts: (n_lists, n_kinds), how many docs of each kind (class and label) a list holds.
        relevance: (..., n_kinds), p̂ of each kind.

    Returns:
        (..., n_lists).

    Examples:
        >>> p = np.array([-0.04, 0.96]) / (0.92 - 0.04)  # of single votes 0 and 1
        >>> corrected_hits(np.array([[10, 0], [9, 1], [8, 2]]), p).round(6).tolist()
        [-0.559738, 1.135629, 0.988206]
    """
    rest = 1 - np.asarray(relevance)
    product = np.ones((*rest.shape[:-1], len(counts)), dtype=rest.dtype)
    for kind in np.flatnonzero(counts.any(axis=0)):
        most = int(counts[:, kind].max())
        powers = np.ones((*rest.shape[:-1], most + 1), dtype=rest.dtype)
        powers[..., 1:] = np.cumprod(np.repeat(rest[..., kind, None], most, axis=-1), axis=-1)
        product *= powers[..., counts[:, kind]]
    return np.asarray(1 - product)


class Alarm(NamedTuple):
    """Fourth votes on positives by 2 to 1: how many are positive, and are expected to be.

    z below −1.645 says that errors are not independent: some pairs are hard for everybody. n_needed: how many
    fourth votes show a correlation of .1 in nine cases of ten.
    """

    n: int
    n_positive: int
    expected: float
    z: float
    n_needed: int

    @property
    def is_raised(self) -> bool:
        """Whether fewer fourth votes are positive than independent errors explain (5% one-sided)."""
        return self.z < ALARM

    @property
    def is_enough(self) -> bool:
        """Whether there are as many fourth votes as are needed."""
        return self.n >= self.n_needed


def alarm_of_fourth_votes(n: Any, n_positive: int, rates: ErrorRates, n_pairs: Any = 1.0) -> Alarm:
    """Return whether fourth votes on 2–1 positives agree with errors that are independent.

    n_needed is ((1.645·σ₀ + 1.282·σ₁) / (e₀ − e₁))², e the expected positive share, σ = √(e(1 − e)), for
    independent errors and for errors with a correlation of .1: each pair's rate of beta distribution.

    Args:
        n: fourth votes; n_positive: how many of them are positive.
        rates: of a vote; n_pairs: how many pairs have these rates. Where bands of ranks have rates of their
            own, n, rates and n_pairs have an entry for each.

    Examples:
        >>> found = alarm_of_fourth_votes(100, 40, ErrorRates(*np.array([0.92, 0.04, 0.13])))
        >>> round(found.expected, 4), round(found.z, 2), found.is_raised, found.n_needed
        (0.804, -10.18, True, 56)
    """
    asked = np.atleast_1d(n)
    n_asked = int(asked.sum())
    (independent, pairs), (hard, _) = (positive_fourth_votes(rates, each) for each in (0.0, HARD))
    split = pairs * np.atleast_1d(n_pairs)
    split = split / split.sum() if split.sum() else split
    means = [float(np.nan_to_num(each) @ split) for each in (independent, hard)]
    spreads = [math.sqrt(max(each * (1 - each), 0.0)) for each in means]
    gap = means[0] - means[1]
    needed = ((-ALARM * spreads[0] + _POWER * spreads[1]) / gap) ** 2 if gap > 0 else math.inf
    n_needed, share = math.ceil(min(needed, 1e9)), np.nan_to_num(independent)
    if not n_asked:
        return Alarm(0, 0, means[0], math.nan, n_needed)
    expected, spread = float(asked @ share), math.sqrt(float(asked @ (share * (1 - share))))
    z = (n_positive - expected) / spread if spread else math.nan
    return Alarm(n_asked, n_positive, expected / n_asked, z, n_needed)


def positive_fourth_votes(rates: ErrorRates, correlation: float) -> tuple[Floats, Floats]:
    """Return the expected share of positive fourth votes on 2–1 positives, and of pairs that are such.

    Of each entry of the rates, where errors on a pair correlate so; nan where no pair is a 2–1 positive.
    """

    def moments(rate: Floats) -> Floats:
        """E[p²(1 − p)] and E[p³(1 − p)] of a beta distribution with this mean and correlation of votes."""
        k = np.arange(4)[:, None]
        powers = np.cumprod(
            (rate * (1 - correlation) + k * correlation) / (1 + (k - 1) * correlation), axis=0
        )
        return powers[1:3] - powers[2:]

    t, f, share = (np.atleast_1d(each) for each in rates)
    pairs, positive = share * moments(t) + (1 - share) * moments(f)
    return np.divide(positive, pairs, out=np.full(pairs.shape, np.nan), where=pairs > 1e-15), pairs
