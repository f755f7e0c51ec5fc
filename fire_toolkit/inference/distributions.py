"""Student's t, central and noncentral, and the binomial distribution, without a library."""

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from fire_toolkit.arrays import Floats

CONFIDENCE = 0.95  # of every interval
UPPER = (1 + CONFIDENCE) / 2
Z = NormalDist().inv_cdf(UPPER)
_NORMAL = 1000  # degrees of freedom from which on Student's t is the normal distribution
_NODES = 256
_SPREAD = 12.0  # standard deviations on either side that are integrated over


def noncentral_t_cdf(t: float, freedom: float, shift: float = 0.0) -> float:
    """Return P(T ≤ t) of the noncentral t distribution: (Z + shift) / √(V / freedom).

    The normal probability is integrated over the distribution of √(V / freedom) by Gauss and Legendre's
    rule. It equals scipy's `nct.cdf` and `t.cdf` to 1e-9 from 1 to 100,000 degrees of freedom.

    Args:
        freedom: degrees of freedom, 1 or more.
        shift: the noncentrality; 0 gives Student's t.

    Examples:
        >>> round(noncentral_t_cdf(2.0, 10), 6), round(noncentral_t_cdf(2.0, 10, 1.0), 6)
        (0.963306, 0.807612)
    """
    scale, weight = _scales(freedom)
    below = [math.erfc(-value / math.sqrt(2)) / 2 for value in (t * scale - shift).tolist()]
    return float(weight @ np.array(below))


@lru_cache(maxsize=2048)
def t_quantile(p: float, freedom: float) -> float:
    """Return the value that Student's t does not exceed with probability p, strictly between 0 and 1.

    Examples:
        >>> round(t_quantile(0.975, 132), 4), round(t_quantile(0.975, 1), 4)
        (1.9781, 12.7062)
    """
    if p < 0.5:
        return -t_quantile(1 - p, freedom)
    low, high = 0.0, 1.0
    while noncentral_t_cdf(high, freedom) < p:
        low, high = high, 2 * high
    while high - low > 1e-12 * high and low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if noncentral_t_cdf(middle, freedom) < p else (low, middle)
    return (low + high) / 2


def t_of(freedom: float) -> float:
    """Return how many standard errors a limit is away; freedom from 1 is rounded down."""
    return Z if freedom >= _NORMAL else t_quantile(UPPER, float(max(math.floor(freedom), 1)))


def chance_of_other_signs(means: tuple[float, float], p: Sequence[float], units: Floats) -> float:
    """Return the chance that two means have different signs on other queries; nan where a p is.

    The means are taken as normal, each so far from 0 as its test says, and as correlated as the units are.
    The quadrant of the bivariate normal is integrated over the correlation's angle (Plackett 1954, Biometrika
    41): P(both below 0) = Φ(−a)·Φ(−b) + ∫ exp(−(a² + b² − 2ab·sin θ) / (2cos²θ)) dθ / 2π.

    Args:
        means: whose signs count.
        p: two-sided, of the test that each mean is 0.
        units: (n, 2) values of queries (or sums of clusters) that the means are of.

    Examples:
        >>> apart = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]])  # uncorrelated: 0.05·0.95 + 0.95·0.05
        >>> round(chance_of_other_signs((1, 1), (0.1, 0.1), apart), 4)
        0.095
        >>> round(chance_of_other_signs((1, 1), (0.1, 0.1), apart[:, [0, 0]]), 4)
        0.0
    """
    if any(map(math.isnan, p)):
        return math.nan
    a, b = (
        math.copysign(-NormalDist().inv_cdf(max(each, 1e-300) / 2), mean)
        for each, mean in zip(p, means, strict=True)
    )
    centred = units - units.mean(axis=0)
    spread = math.sqrt(float((centred[:, 0] ** 2).sum() * (centred[:, 1] ** 2).sum()))
    together = float(centred[:, 0] @ centred[:, 1]) / spread if spread > 0 else 0.0
    end = math.asin(min(max(together, -1.0), 1.0))
    node, weight = _nodes()
    angle = (node + 1) / 2 * end
    heights = np.exp(-(a * a + b * b - 2 * a * b * np.sin(angle)) / (2 * np.cos(angle) ** 2))
    below_a, below_b = (math.erfc(each / math.sqrt(2)) / 2 for each in (a, b))
    both = below_a * below_b + float(weight @ heights) * end / 2 / (2 * math.pi)
    return min(max(below_a + below_b - 2 * both, 0.0), 1.0)


@lru_cache(maxsize=1)
def _nodes() -> tuple[Floats, Floats]:
    """Return nodes and weights of Gauss and Legendre's rule, which take longer than all that uses them."""
    return np.polynomial.legendre.leggauss(_NODES)


@lru_cache(maxsize=64)
def _scales(freedom: float) -> tuple[Floats, Floats]:
    """Return nodes of √(V / freedom) and the probability that each stands for."""
    half = _SPREAD / math.sqrt(2 * freedom)
    low = max(0.0, 1 - half)
    node, weight = _nodes()
    scale = low + (node + 1) / 2 * (1 + half - low)
    log_constant = math.log(2) + freedom / 2 * math.log(freedom / 2) - math.lgamma(freedom / 2)
    mass = weight * np.exp(log_constant + (freedom - 1) * np.log(scale) - freedom * scale**2 / 2)
    return scale, np.asarray(mass / mass.sum())


def upper_tail(n_least: int, n: int, p: float) -> float:
    """Return P(X ≥ n_least) of the binomial distribution of n draws with probability p.

    Examples:
        >>> round(upper_tail(2, 3, 0.5), 4)
        0.5
    """
    if n_least <= 0:
        return 1.0
    if n_least > n or p <= 0:
        return 0.0
    if p >= 1:
        return 1.0
    if n_least <= n * p:
        return 1.0 - upper_tail(n - n_least + 1, n, 1 - p)
    first = math.lgamma(n + 1) - math.lgamma(n_least + 1) - math.lgamma(n - n_least + 1)
    first += n_least * math.log(p) + (n - n_least) * math.log1p(-p)
    number = np.arange(n_least, n)  # above the mean each term is smaller than the one before
    ratios = (n - number) / (number + 1) * (p / (1 - p))
    return float(math.exp(first) * (1 + np.cumprod(ratios).sum()))
