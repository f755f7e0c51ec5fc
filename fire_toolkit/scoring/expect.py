"""A score that a model's log printed, and whether a run gives it again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from fire_toolkit.errors import UsageError
from fire_toolkit.measures import parse_measure
from fire_toolkit.measures.defaults import solved_at
from fire_toolkit.measures.registry import MEASURES
from fire_toolkit.scoring import score_runs
from fire_toolkit.tables import Qrels, Run

_EXPECTATION = re.compile(r"\s*([^=]+?)\s*[=:]\s*(\d+(?:\.\d*)?|\.\d+)\s*%?\s*")


@dataclass(frozen=True)
class Expectation:
    """A logged score: its measure as the toolkit names it, its value, and half of its last digit.

    name: as it was given. is_percent: the value is 100 times a share.
    """

    name: str
    measure: str
    value: float
    tolerance: float
    is_percent: bool

    def agrees(self, found: float) -> bool:
        """Whether a score is the logged one, rounded as it was."""
        return abs(self.rescaled(found) - self.value) <= self.tolerance + 1e-9

    def rescaled(self, found: float) -> float:
        """Return a score on the scale of the logged one."""
        return 100 * found if self.is_percent else found


def parse_expectation(text: str) -> Expectation:
    """Return what `R@1=46.1` says.

    R@k is what retrieval papers print: a positive in the top k (C@k here). A share of 1 or less is taken
    as it is, a larger one as per cent; `1.0` is per cent when `%` follows.

    Raises:
        UsageError: it is not of that form, or names no measure.

    Examples:
        >>> parse_expectation("R@1=46.1").measure
        'C@1'
        >>> parse_expectation("MedR=2.0").tolerance
        0.05
    """
    found = _EXPECTATION.fullmatch(text)
    if found is None:
        raise UsageError(f"--expect {text!r}: expected a measure and its logged value, such as R@1=46.1")
    name, number = found.groups()
    ranks = {key: own for key, own in MEASURES.built_in.items() if own.unit == "rank"}
    in_papers = {called.lower(): key for key, own in ranks.items() for called in (key, *own.also_called)}
    paper = re.fullmatch(r"[Rr](?:ecall)?@?(\d+)", name)
    measure = solved_at(int(paper[1])) if paper else parse_measure(in_papers.get(name.lower(), name))
    digits = len(number.partition(".")[2])
    value = float(number)
    is_percent = measure.definition.unit == "share" and (value > 1 or "%" in text)
    return Expectation(name, measure.name, value, 0.5 * 10**-digits, is_percent)


def found_scores(run: Run, qrels: Qrels, expectations: Sequence[Expectation]) -> list[float]:
    """Return the run's score for each expectation, on the toolkit's scale."""
    scores = score_runs(run, qrels, [expected.measure for expected in expectations]).scores
    values = dict(zip(scores["measure"], scores["value"], strict=True))
    return [float(values[expected.measure]) for expected in expectations]


def describe_expectations(expectations: Sequence[Expectation], found: Sequence[float]) -> str:
    """Return the scores in words: `R@1 46.1, logged 46.1`."""
    return "; ".join(
        f"{expected.name} {expected.rescaled(value):.4g}, logged {expected.value:g}"
        for expected, value in zip(expectations, found, strict=True)
    )
