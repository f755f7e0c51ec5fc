"""What pairs that were drawn tell: P@k, its difference between runs, micro R@k, and what was not drawn.

Every pair is first taken for something (what the originals say, or a machine judge's score), and the labels
of the pairs drawn correct it: a total is Σ guess + Σ w·(label − guess), w being for how many pairs one that
was drawn stands. All estimates are made of such totals. C@k is no sum over pairs: it is not estimated here.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fire_toolkit.arrays import Bools, Floats, Ints, sum_by_query
from fire_toolkit.inference.limits import (
    Estimate,
    Total,
    freedom_of_weight,
    limits_of_difference,
    limits_of_share,
    score_limits,
)
from fire_toolkit.inference.resampling import cluster_sums

KNOWN = -1  # the stratum of pairs whose relevance is known without a draw
UNDRAWN = -1.0  # the label of a pair that could be drawn and was not
LEAST_PAIRS = 100  # drawn by chance: one positive is then expected where 1% are relevant
_SLIP = 1e-9  # so that chances that sum to a whole number are one
NO_DIFFERENCE = (
    "a judge's sample tells each run's score alone (`score --honest`); of what two differ by no interval was "
    "checked, and labels as they are take docs that the sample left out for not relevant"
)
NO_POSITIVE = "there is no positive of which it could be a share"


@dataclass(frozen=True, eq=False)
class DrawnPairs:
    """Pairs of which some were drawn, what each was taken for before, and the labels of those drawn.

    guess: (n_pairs,) from 0 to 1, fixed before anybody labelled; label: 1 or 0, nan where there is none, with
    `chance` `UNDRAWN` where it was not asked for; query: of each pair; n_queries: of all.

    With `stratum`, codes from 0 or `KNOWN`, the labels are a simple random sample within each stratum, all of
    whose pairs are here; w = N/n, and the guess is multiplied by λ, from 0 (labels alone) to 1: `trust`, or
    where that is None the λ of least variance, cov(label, guess)/var(guess), clipped; then each residual is
    by the λ and the mean that the others have, as in HC3 (MacKinnon and White 1985). With one stratum this is
    PPI++ with the factor 1 − n/N of a finite population; with strata by the guess, whose errors cost
    precision and bring no bias, it is the difference estimator.

    With `chance`, in (0, 1], each pair could be drawn, by itself with this probability, 1 for one that was
    judged whatever chance said; pairs that are not here count as not relevant, and so do those drawn without
    a label (in dispute, say), but that the far limit takes them all for positives. w = 1/π, the guess is what
    the originals say, and the variance is Σ (1 − π)(label − guess)²/π².

    Source: Horvitz and Thompson, JASA 1952; Särndal, Swensson and Wretman 1992, 6.3; Angelopoulos, Duchi and
    Zrnic 2023 (PPI++, arXiv 2311.01453).
    """

    guess: Floats
    label: Floats
    query: Ints
    n_queries: int
    stratum: Ints | None = None
    chance: Floats | None = None
    trust: float | None = None

    @cached_property
    def is_drawn(self) -> Bools:
        """Which pairs' labels came by the draw."""
        if self.stratum is None:
            return np.asarray((np.asarray(self.chance) < 1) & (self.label != UNDRAWN))
        return np.asarray((self.stratum != KNOWN) & ~np.isnan(self.label))

    @cached_property
    def sizes(self) -> tuple[Ints, Ints]:
        """How many pairs each stratum has, and how many of them have a label."""
        assert self.stratum is not None
        n = int(self.stratum.max(initial=KNOWN)) + 1
        parts = self.stratum[self.stratum != KNOWN], self.stratum[self.is_drawn]
        return np.bincount(parts[0], minlength=n), np.bincount(parts[1], minlength=n)

    def n_to_draw(self, of: Bools) -> tuple[float, float]:
        """Return how many of some pairs could be drawn, and how many of them the design draws on average."""
        if self.stratum is None:
            chance = np.asarray(self.chance)[of]
            chance = chance[chance < 1]
        else:
            n_all, n_drawn = self.sizes
            chance = (n_drawn / np.maximum(n_all, 1))[self.stratum[of & (self.stratum != KNOWN)]]
        return float(len(chance)), float(chance.sum())

    @cached_property
    def _weights(self) -> tuple[Floats, Floats]:
        """w of each pair drawn, and of its squared residual: w(w − 1), in strata times n/(n − 1)."""
        if self.stratum is None:
            weight = 1 / np.asarray(self.chance)[self.is_drawn]
            return weight, weight * (weight - 1)
        n_all, n_drawn = self.sizes
        factor = n_all * (n_all - n_drawn) / np.maximum(n_drawn * (n_drawn - 1), 1)
        own = self.stratum[self.is_drawn]
        return (n_all / np.maximum(n_drawn, 1))[own], factor[own]

    def _means(self, values: Floats) -> Floats:
        """Return the means over the pairs drawn of the strata of all pairs; 0 where there are no strata."""
        if self.stratum is None:
            return np.zeros(len(self.label))
        n_all, n_drawn = self.sizes
        sums = np.bincount(self.stratum[self.is_drawn], values[self.is_drawn], len(n_all))
        return np.append(sums / np.maximum(n_drawn, 1), 0.0)[self.stratum]  # the last is of KNOWN, -1

    def _centred(self, values: Floats) -> Floats:
        """Return values of the pairs drawn less the mean of their stratum."""
        return np.asarray((values - self._means(values))[self.is_drawn])

    def best_trust(self, weight: Floats | Bools) -> tuple[float, Floats]:
        """Return λ of least variance for the total of weight · relevance, and for each pair drawn that of the
        others."""
        n = int(self.is_drawn.sum())
        if self.trust is not None or self.stratum is None:
            trust = 1.0 if self.trust is None else self.trust
            return trust, np.full(n, trust)
        by_label, by_guess = (self._centred(weight * each) for each in (self.label, self.guess))
        both = self._weights[1] * by_guess * np.stack([by_label, by_guess])
        sums = both.sum(axis=1, keepdims=True)
        over, under = np.append(sums, sums - both, axis=1)
        is_known = under > 1e-12 * sums[1]
        found = np.clip(np.where(is_known, over / np.where(is_known, under, 1.0), 0.0), 0.0, 1.0)
        return float(found[0]), found[1:]

    def total(self, of: Bools | None = None, trusts: tuple[float, Floats] | None = None) -> Total:
        """Return the positives among some pairs, labelled or not; trusts: λ, None for the best one."""
        chosen = np.ones(len(self.label), dtype=bool) if of is None else of
        trust, without = self.best_trust(chosen) if trusts is None else trusts
        drawn, (weight, factor) = self.is_drawn, self._weights
        label, has_label = (self.label == 1) * 1.0, self.label >= 0
        error = chosen * (label - trust * self.guess)
        means = self._means(error)
        residual = (error - means)[drawn]
        of_pair = np.where(has_label & ~drawn, chosen * label, chosen * trust * self.guess + means)
        of_pair[drawn] += residual * weight
        # what is certain without a label: of pairs drawn one by one what the originals say, else nothing
        prior = chosen * self.guess if self.stratum is None else np.zeros(len(label))
        gained = np.where(has_label, chosen * label - prior, 0.0)
        lost = chosen & np.isnan(self.label)
        seen, n_open = float((prior + gained).sum()), float(lost.sum())
        n_could, n_expected = self.n_to_draw(chosen)
        spread = (residual + (trust - without) * self._centred(chosen * self.guess)) * np.sqrt(factor)
        if self.stratum is not None and self.trust is None:
            n = self.sizes[1][self.stratum[drawn]]  # the mean, too, is that of the others: with λ this is HC3
            spread *= np.sqrt(n / np.maximum(n - 1, 1))
        is_whole = self.stratum is not None
        return Total(
            values=sum_by_query(self.query, of_pair, self.n_queries),
            residuals=spread,
            found=np.abs(gained[drawn]) * weight,
            weight=(n_could - n_expected) / n_expected if n_expected else 0.0,
            known=float((prior + np.where(drawn, 0.0, gained)).sum()),
            most=max(n_could, 1.0) if is_whole else math.inf,
            seen=seen,
            largest=seen + n_open if is_whole else math.inf,
            open=0.0 if is_whole else float((1 / np.asarray(self.chance)[lost]).sum()),
        )

    def why_not(self, of: Bools, among: str = "in all") -> str:
        """Return why it is not known how many of some pairs are positive; empty where it is.

        It depends on the design alone, never on how many of the pairs are positive: to refuse by what came
        out makes what is printed too high, by 16% to 104% where ten positives were asked for. among: what the
        pairs are, in words.
        """
        n_could, n_drawn = self.n_to_draw(of)
        is_whole = n_could == 0
        if self.stratum is not None:
            n_all, n_labelled = self.sizes
            if n_thin := int(((n_labelled < 2) & (n_labelled < n_all)).sum()):
                return f"{n_thin} strata have fewer than 2 labels; draw more pairs, or judge those drawn"
            is_whole = not np.isnan(self.label[of]).any()
        if is_whole or n_drawn >= LEAST_PAIRS - _SLIP:
            return ""
        return (
            f"the design draws {int(n_drawn)} of the pairs {among} on average, and an interval needs "
            f"{LEAST_PAIRS}; draw more pairs"
        )


def sampled_precision(
    pairs: DrawnPairs, in_a: Bools, in_b: Bools | None = None, *, k: int, drawn: Ints | None = None
) -> Estimate:
    """Return P@k of a run, its mean over queries, or what two runs differ by, a − b.

    It is the total over the top k, over k times the queries. Pairs in both tops cancel, and so do their
    errors: a difference is that of the pairs in a's top alone and those in b's.

    Args:
        pairs: all that were judged or could be; of strata there is no difference.
        in_a, in_b: (n_pairs,) which of them stand in the top k of a run; what else stands there counts as not
            relevant.
        k: the cutoff.
        drawn: (n_queries,) of each query the code of what was drawn, itself or its cluster, for an interval
            over queries like these; None: it is for these queries.

    Returns:
        The estimate with its interval (`score_limits`, of two runs `limits_of_difference`), which has a width
        also where the draw brought no positive. Refused where the design draws fewer than 100 of these pairs
        on average and some were not judged; in strata also where one has fewer than two labels.

    Examples:
        >>> place, none = np.arange(240), np.zeros(240)
        >>> label = np.where(place % 2, UNDRAWN, place < 60)
        >>> pairs = DrawnPairs(none, label, place, 240, chance=none + 0.5)
        >>> [round(value, 4) for value in sampled_precision(pairs, place >= 0, k=1)[:3]]
        [0.25, 0.1942, 0.3218]
        >>> [round(value, 3) for value in sampled_precision(pairs, place >= 24, place < 24, k=1)[:3]]
        [0.05, -0.014, 0.117]
        >>> place = np.arange(160)
        >>> label = np.where(place < 120, place % 2.0, np.nan)
        >>> pairs = DrawnPairs(np.full(160, 0.5), label, place, 160, stratum=0 * place)
        >>> [round(value, 4) for value in sampled_precision(pairs, place >= 0, k=1)[:4]]
        [0.5, 0.4549, 0.5451, 0.023]
    """
    of, among = in_a, f"in its top {k}"
    if in_b is not None and pairs.stratum is not None:
        return Estimate(refused=NO_DIFFERENCE)
    if in_b is not None:
        of, among = in_a != in_b, f"in the top {k} of one of the two alone"
    if refused := pairs.why_not(of, among):
        return Estimate(refused=refused)
    size = float(k * pairs.n_queries)
    if in_b is not None:
        totals = pairs.total(in_a & ~in_b), pairs.total(in_b & ~in_a)
        a, b = (each.estimate for each in totals)
        low, high = limits_of_difference(*(each.count for each in totals))
        limits = low - totals[1].open, high + totals[0].open
        both = Estimate(a.estimate - b.estimate, *limits, math.hypot(a.se, b.se))
        fewer = min(a.n_differing, b.n_differing)
        return both._replace(n_differing=fewer).over(size, least=-1.0)
    total = pairs.total(in_a)
    found = total.estimate
    found = found._replace(high=found.high + total.open)
    if drawn is not None:
        parts = (total.values, total.residuals, total.found)
        limits = _limits_beyond(total.value, parts, drawn, weight=total.weight, most=size)
        found = Estimate(total.value, *limits, found.se, n_differing=total.n_found)
    return found.over(size, least=-math.inf)


def micro_recall(pairs: DrawnPairs, is_in_top: Bools, *, drawn: Ints | None = None) -> Estimate:
    """Return the share of all positives of all queries that stand in a run's top: a ratio of two totals.

    This is not a mean over queries: a query counts as often as it has positives. The mean of each query's own
    ratio is not estimated from such a sample: it was too high by .07 to .22.

    Args:
        pairs, drawn: as in `sampled_precision`.
        is_in_top: which of them stand in the run's top k.

    Returns:
        The ratio less its bias, its error by linearisation, its limits by `limits_of_share`, or beyond these
        queries by `score_limits`. Refused as there, by all pairs drawn; undefined (nan) where no positive is
        known or was drawn.

    Source: Särndal, Swensson and Wretman 1992, 5.6.
    """
    if refused := pairs.why_not(np.ones(len(is_in_top), dtype=bool)):
        return Estimate(refused=refused)
    none = None if pairs.stratum is None else (0.0, np.zeros(int(pairs.is_drawn.sum())))
    top, rest = pairs.total(is_in_top, none), pairs.total(~is_in_top, none)
    if (whole := top.value + rest.value) > 0 and none:  # in strata by the λ that is best for the ratio
        best = pairs.best_trust(np.asarray(is_in_top - top.value / whole))
        top, rest = pairs.total(is_in_top, best), pairs.total(~is_in_top, best)
        whole = top.value + rest.value
    if whole <= 0:
        return Estimate(refused=NO_POSITIVE)
    ratio = top.value / whole
    values = ((1 - ratio) * top.values - ratio * rest.values) / whole
    residuals = ((1 - ratio) * top.residuals - ratio * rest.residuals) / whole
    unbiased = ratio + float(residuals @ (top.residuals + rest.residuals)) / whole
    estimate = min(max(unbiased, 0.0), 1.0)
    if drawn is not None:
        found = ((1 - ratio) * top.found + ratio * rest.found) / whole
        weight = pairs.total().weight / whole
        low, high = _limits_beyond(estimate, (values, residuals, found), drawn, weight=weight)
    else:
        low = limits_of_share(top.count, rest.count_if_open)[0]
        high = limits_of_share(top.count_if_open, rest.count)[1]
        low = max(low, top.seen / (top.seen + rest.largest) if top.seen else 0.0)
        high = min(high, 1 - rest.seen / (rest.seen + top.largest) if rest.seen else 1.0)
        estimate = min(max(estimate, low), high)
    error, fewer = float(residuals @ residuals) ** 0.5, min(top.n_found, rest.n_found)
    return Estimate(estimate, low, high, error, n_differing=fewer)


def undrawn_share(pairs: DrawnPairs) -> Estimate:
    """Return the share of positives that a draw of pairs left unjudged: 1 − found / estimated total.

    Args:
        pairs: with `chance`: those that were judged or stand in the original qrels.

    Returns:
        The share of all queries' positives together, less its bias; its limits are by those of the total. 0
        where every pair was judged. Refused where the design draws fewer than 100 pairs on average.

    Source: Horvitz and Thompson, JASA 1952.

    Examples:
        >>> place, none = np.arange(240), np.zeros(240)
        >>> label = np.where(place % 2, UNDRAWN, place < 60)
        >>> pairs = DrawnPairs(none, label, place, 240, chance=none + 0.5)
        >>> [round(value, 3) for value in undrawn_share(pairs)[:3]]
        [0.5, 0.356, 0.612]
    """
    total, found = pairs.total(), float((pairs.label == 1).sum())
    if refused := pairs.why_not(np.ones(len(pairs.label), dtype=bool)):
        return Estimate(refused=refused)
    whole = total.estimate
    if whole.estimate <= 0:
        return Estimate(refused=NO_POSITIVE)
    low, high = 1 - found / whole.low, 1 - found / (whole.high + total.open)
    # E(found / total) is found / truth · (1 + variance / total²) − their covariance / total²
    both = float(total.residuals @ np.sqrt(1 - np.asarray(pairs.chance)[pairs.is_drawn]))
    share = 1 - found / whole.estimate * (1 - whole.se**2 / whole.estimate**2) - both / whole.estimate**2
    return Estimate(min(max(share, low), high), low, high, n_differing=total.n_found)


def _limits_beyond(
    estimate: float, parts: tuple[Floats, Floats, Floats], drawn: Ints, *, weight: float, most: float = 1.0
) -> tuple[float, float]:
    """Return limits over draws of queries (or clusters) too: by the spread of the values of queries.

    In these the errors of the draw of pairs are too. parts: values, residuals and found, see `Total`.
    """
    values, residuals, found = parts
    sums, sizes = cluster_sums(values[:, None], drawn).T
    n, over_pairs = len(sums), float(residuals @ residuals)
    variance = float(((sums - values.mean() * sizes) ** 2).sum()) * n / max(n - 1, 1)
    freedom = freedom_of_weight(residuals**2, found, variance - over_pairs)
    return score_limits(estimate, variance, weight=weight, most=most, freedom=freedom)
