"""What a measure is: its definition, and a definition with its cutoff and parameters filled in."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from fire_toolkit.arrays import Floats, Ints, mean
from fire_toolkit.errors import PluginError, UsageError
from fire_toolkit.matching.coded import at_level
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.matching.ties import SETTLING_RULES, settled
from fire_toolkit.results import Shown

Unit = Literal["share", "rank", "gain", "count"]
Aggregate = Literal["mean", "median", "sum", "geometric mean"]
Bounds = Literal["monotone", "recall", "share", "share_of_top", "none"]
Cutoff = Literal["none", "optional", "required"]
_NEGATIONS = {"smaller_is_better": "larger_is_better", "no_score": "is_score"}
_CELLS = 1 << 22  # ranks of tied docs that are places at once
_LEAST = 0.00001  # what a geometric mean takes a smaller value as, as trec_eval does


@dataclass(frozen=True)
class Parameter:
    """A number in a measure's name, between `low` and `high`, which it may equal only where `closed`.

    default: left out of the printed name; None when the name must say it. example: for messages.
    """

    name: str
    example: float
    low: float = 0.0
    high: float = float("inf")
    default: float | None = None
    closed: bool = False

    def allows(self, value: float) -> bool:
        """Return whether the number lies in the range; nan does not."""
        return self.low <= value <= self.high if self.closed else self.low < value < self.high

    @property
    def range(self) -> str:
        """Return the range in words."""
        words = "from {:g} to {:g}" if self.closed else "above {:g} and below {:g}"
        return words.format(self.low, self.high)


@dataclass(frozen=True)
class Definition(Shown):
    """A measure before its cutoff and parameters are chosen; every file of measures registers some.

    Attributes:
        name: as typed, before any `(`, `@`, `/` and `:`.
        summary: the definition in one sentence.
        source: the paper and equation, or the program whose numbers it equals.
        convention: what decides the number where sources differ (divisors, empty cases).
        per_query: from a JudgedRanking, and `k` and the parameters by name, to a float64 for each query.
        cutoff: whether the name takes `@k`.
        is_linear: whether `per_query` also takes a ranking with ties, and then gives its mean over all
            orders of tied docs: it weighs each of `ranking.found` by its weight, see `Places`.
        variant: what stands after `/` in the name.
        unit: `share` lies in [0, 1] and is printed times 100; `rank` is 1-based; `gain` is a sum of grades;
            `count` is a number of docs.
        aggregate: how the queries' values become one.
        reads: how deep it reads a ranking without a cutoff in its name; None: all of it.
        of_top: whether it reads what was ranked alone, and no positive kept below it; where the cutoff is
            optional, that is without one.
        bounds: what a higher grade of one doc does to the value. `monotone`: of a doc in the list it can
            only raise the score (or lower a rank), of another it does nothing; `recall`: of a doc in the list
            it can only raise the score, of another only lower it; `share`: the value is at most 1, and the
            quotient of what only docs in the list can raise and what any doc can raise; `share_of_top`: the
            same, where k relevant docs are the most that the divisor counts; `none`: none of these.
        no_bounds: why `none`, as the end of a sentence that starts with the measure.
        skips_unjudged: whether unjudged docs are passed over, and not counted as not relevant.
        is_binary: whether the value of a query is 0 or 1, so that the mean is a binomial share.
        by_first_positive: whether the rank of the first positive decides the value.
        is_precision: whether it is the share of the docs down to its depth that are positives.
        over_positives: whether it divides by |G|, so that at any cutoff it is wrong, mostly too high, where
            positives were never pooled.
        is_score: whether it says how good a run is; otherwise it says how much is known, and no run is best.
        is_graded: whether grades count as gains, so that `:rel=N` also takes those below N out of the gain.
        also_called: other names of it, which are accepted in any case of letters.
    """

    name: str
    summary: str
    source: str
    convention: str
    per_query: Callable[..., Floats]
    cutoff: Cutoff = "none"
    is_linear: bool = False
    variant: str = ""
    parameters: tuple[Parameter, ...] = ()
    unit: Unit = "share"
    larger_is_better: bool = True
    aggregate: Aggregate = "mean"
    reads: int | None = None
    of_top: bool = False
    bounds: Bounds = "none"
    no_bounds: str = "can rise or fall with another relevant doc, wherever that stands"
    skips_unjudged: bool = False
    is_binary: bool = False
    by_first_positive: bool = False
    is_precision: bool = False
    over_positives: bool = False
    is_score: bool = True
    is_graded: bool = False
    also_called: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Return what tells the measure from others: the name with its variant, `AP/min`."""
        return f"{self.name}/{self.variant}" if self.variant else self.name

    @property
    def pattern(self) -> str:
        """Return how the name is typed, what can be left out in brackets: `C@k`, `F[(beta=2)][@k]`."""
        free = _arguments((p.name, p.example) for p in self.parameters if p.default is not None)
        k = {"none": "", "optional": "[@k]", "required": "@k"}[self.cutoff]
        return self._spelt((f"[{free}]" if free else "") + k)

    @property
    def example(self) -> str:
        """Return a name that can be typed."""
        return self._spelt("" if self.cutoff == "none" else "@10")

    def _spelt(self, k: str) -> str:
        needed = _arguments((p.name, p.example) for p in self.parameters if p.default is None)
        return f"{self.name}{needed}{k}{self.key.removeprefix(self.name)}"

    def shown_fields(self) -> Mapping[str, object]:
        """Return what a reader of its numbers needs to know."""
        return {name: getattr(self, name) for name in ("name", "summary", "source", "convention", "unit")}


def measure(pattern: str, traits: str = "", **fields: Any) -> Callable[[Callable[..., Floats]], Definition]:
    """Return what makes a measure of its function, whose docstring says the rest.

    Args:
        pattern: its name as typed: `C@k`, `AP[@k]` where the cutoff can be left out, `AP@k/min`.
        traits: its kind of `bounds`, and what else holds of it, by the fields of `Definition`: `linear` is
            is_linear; `smaller is better` and `no score` say that larger_is_better and is_score do not.
        fields: further ones of `Definition`.

    The docstring is the summary, then a paragraph that begins with `Source:` and one with `Convention:`.
    """
    named, _, variant = pattern.partition("/")
    name = named.removesuffix("[@k]").removesuffix("@k")
    fields |= {
        "variant": variant,
        "cutoff": {"": "none", "@k": "required"}.get(named[len(name) :], "optional"),
    }
    for trait in filter(None, traits.split(", ")):
        word = trait.replace(" ", "_")
        if word in get_args(Bounds):
            fields["bounds"] = word
        elif word in _NEGATIONS:
            fields[_NEGATIONS[word]] = False
        else:
            fields[word if word in Definition.__dataclass_fields__ else f"is_{word}"] = True

    def defined(function: Callable[..., Floats]) -> Definition:
        parts = re.split(r"\n\s*(?:Source|Convention): ", inspect.cleandoc(function.__doc__ or ""))
        summary, source, convention = (" ".join(part.split()) for part in parts)
        return Definition(name, summary, source, convention, function, **fields)

    return defined


@dataclass(frozen=True)
class Measure(Shown):
    """A definition with its cutoff, parameters and modifiers: what `parse_measure` returns.

    k: the cutoff, None when there is none; arguments: one value for each parameter; level: the grade
    from which a doc is a positive; condensed: whether unjudged docs are left out of the ranking.
    """

    definition: Definition
    k: int | None = None
    arguments: tuple[float, ...] = ()
    level: int = 1
    condensed: bool = False

    @property
    def name(self) -> str:
        """Return the name, which `parse_measure` reads back to an equal measure."""
        own = self.definition
        parameters = zip(own.parameters, self.arguments, strict=True)
        named = [(p.name, value) for p, value in parameters if value != p.default]
        shown = _arguments(named) if named else ""
        k = "" if self.k is None else f"@{self.k}"
        level = "" if self.level == 1 else f":rel={self.level}"
        return f"{own.name}{shown}{k}{own.key.removeprefix(own.name)}{level}" + ":condensed" * self.condensed

    def __str__(self) -> str:
        return self.name

    def shown_fields(self) -> Mapping[str, object]:
        """Return the name, and what its definition shows."""
        return {**self.definition.shown_fields(), "name": self.name}

    @property
    def depth(self) -> int | None:
        """Return how deep the measure reads a ranking; None where it reads all of it."""
        return self.definition.reads if self.k is None else self.k

    @property
    def stays_in_top(self) -> bool:
        """Return whether positives that a run kept below its top cannot change the measure."""
        of_top = self.definition.of_top and (self.k is None or self.definition.cutoff == "required")
        return self.condensed or of_top

    @property
    def caution(self) -> str:
        """Return what a reader of this measure at a level must know; empty where there is nothing."""
        if self.level == 1 or not self.definition.is_graded:
            return ""
        plain = replace(self, level=1).name
        return (
            f"{self.name}: grades below {self.level} add no gain, to the run or to its ideal; trec_eval -l "
            f"{self.level} leaves all gains in, as {plain} does"
        )

    def view(self, ranking: JudgedRanking) -> JudgedRanking:
        """Return `ranking` as this measure's modifiers have it."""
        if self.level != 1:  # positives of lower grades count as judged not relevant
            relevance = at_level(ranking.relevance, self.level)
            ranking = replace(ranking, relevance=relevance, qrels=ranking.qrels.at_level(self.level))
        return ranking.condensed() if self.condensed else ranking

    def values(self, ranking: JudgedRanking) -> Floats:
        """Return the value of each query as the measure's modifiers have the ranking, see `per_query`."""
        return self.per_query(self.view(ranking))

    def per_query(self, ranking: JudgedRanking) -> Floats:
        """Return the value of each query of the qrels' universe.

        Args:
            ranking: what `view` has returned; where it has ties, the value is the mean over all orders of
                tied docs.

        Raises:
            UsageError: of ties, where the measure has no closed form of that mean.
            PluginError: the measure gave no value for each query.
        """
        own = self.definition
        if not own.is_linear and ranking.ties is not None:
            raise UsageError(f"{self.name}: its mean over all orders of tied docs has no closed form here")
        named: dict[str, Any] = {} if own.cutoff == "none" else {"k": self.k}
        named |= zip((p.name for p in own.parameters), self.arguments, strict=True)
        values, n_queries = np.asarray(own.per_query(ranking, **named)), ranking.n_queries
        if values.shape != (n_queries,) or values.dtype.kind not in "biuf":
            found = f"{' × '.join(map(str, values.shape))} values of type {values.dtype}"
            raise PluginError(
                f"measure {self.name} gave {found}, expected one number for each of {n_queries} queries"
            )
        return np.asarray(values, dtype=np.float64)

    def aggregate(self, values: Floats) -> float:
        """Return the mean (summed exactly), median, sum or geometric mean over queries, as defined.

        A geometric mean takes values below 0.00001 as 0.00001.
        """
        terms = self.terms(values)
        is_median = self.definition.aggregate == "median"
        return float(np.median(terms)) if is_median else float(self.of_mean(mean(terms)))

    def terms(self, values: Floats) -> Floats:
        """Return what the mean over queries (or the median) is taken of, which tests and resamples are on.

        The values themselves; for a sum times the number of queries; for a geometric mean their logarithms.
        """
        if self.definition.aggregate == "sum":
            return values * len(values)
        if self.definition.aggregate == "geometric mean":
            return np.asarray(np.log(np.maximum(values, _LEAST)))
        return values

    def of_mean(self, means: Any) -> Any:
        """Return the aggregate, or an array of such, from the mean or median of `terms`."""
        return np.exp(means) if self.definition.aggregate == "geometric mean" else means


def values_of(
    ranking: JudgedRanking,
    measures: Sequence[Measure],
    rule: str | None = None,
    *,
    queries: Ints | None = None,
) -> Floats:
    """Return the value of each measure for each query: measures × queries.

    Args:
        ranking: with its ties, where there is a rule for them.
        measures: one or more.
        rule: one of `TIE_RULES`; those of `SETTLING_RULES` are applied to what a measure's modifiers leave;
            `expected` is the mean of each measure over all orders of tied docs; others, and None, leave the
            order of the run.
        queries: only these (ascending) are wanted, and become 0, 1, ...; None: all.
    """
    views: dict[tuple[int, bool], JudgedRanking] = {}
    rows = []
    for measure in measures:
        key = measure.level, measure.condensed
        if key not in views:
            view = measure.view(ranking)
            view = view if queries is None else view.of(queries)
            is_settled = rule in SETTLING_RULES and ranking.tied_queries.size > 0
            views[key] = settled(view, str(rule)) if is_settled else view.in_order
        rows.append(measure.per_query(views[key]))
    values = np.stack(rows)
    if rule != "expected" or not ranking.tied_queries.size:
        return values
    tied = ranking.tied_queries
    for part in np.array_split(tied, tied.size * ranking.worst_rank // _CELLS + 1):
        of_part = ranking.of(part)  # queries without tied docs keep the value of their one order
        for row, measure in zip(values, measures, strict=True):
            row[part] = measure.values(of_part)
    return values


def _arguments(pairs: Iterable[tuple[str, float]]) -> str:
    inside = ",".join(f"{name}={repr(float(value)).removesuffix('.0')}" for name, value in pairs)
    return f"({inside})" if inside else ""
