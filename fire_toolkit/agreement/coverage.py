"""How often a 95% interval of agreement held the truth in simulated samples: coverage.csv.

`benchmarks/agreement.py --coverage` writes the file: 500 samples for each design and number of captions, of
ten pairs each, with six annotators and two labels; 12.8% of pairs are relevant. Second judgments are of 30%
of pairs, or unevenly of all positives and a tenth of the rest; where captions are named, they differ in how
many of their pairs are relevant and in how hard they are.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.agreement.sample import is_evenly_drawn
from fire_toolkit.agreement.votes import Votes

FILE = "coverage.csv"
SIZES = (20, 50, 100, 400)
PAIRS_OF_A_CAPTION = 10
LEAST, MOST = 0.91, 0.97
PAIRS, CAPTIONS, PAIRS_OF_CAPTIONS = "pairs", "captions", "pairs of captions"
COLUMNS = {"coverage": "float64", "coverage_of": "str"}
_MOST_NAMED = 8


@dataclass(frozen=True)
class Drawn:
    """What intervals leave out or draw, and how many captions there are, or other clusters."""

    design: str
    n_each: float = 1.0

    @classmethod
    def of(cls, n_pairs: int, n_captions: int, *, by_cluster: bool) -> Drawn:
        """Return what is drawn where so many pairs are of so many captions."""
        n_each = n_pairs / max(n_captions, 1)
        return cls(CAPTIONS if by_cluster else PAIRS_OF_CAPTIONS if n_each >= 2 else PAIRS, n_each)

    def n_captions(self, votes: Votes) -> int:
        """Return of how many captions votes are, two pairs with two votes counting as one at most."""
        at_most = len(votes.counts) // 2
        if self.design == PAIRS:
            return at_most
        if self.design == CAPTIONS and votes.clusters is not None:
            return min(at_most, np.count_nonzero(np.bincount(votes.clusters)))
        return min(at_most, round(len(votes.units) / self.n_each))


def coverage_of(votes: Votes, statistic: str, method: str, drawn: Drawn) -> tuple[float, str]:
    """Return how often 95% intervals held the truth in the simulated samples most like `votes`.

    The second says of which samples: those of the next number of captions that is not above the one at hand.
    The share is nan where that is below 20, and for a statistic of a plug-in.
    """
    is_even = is_evenly_drawn(votes)
    shares = _read().get((drawn.design + ("" if is_even else ", uneven"), method, statistic))
    n_captions = drawn.n_captions(votes)
    sizes = [n for n in SIZES if n <= n_captions]
    n = sizes[-1] if sizes else SIZES[0]
    units = f"{n * PAIRS_OF_A_CAPTION:,} pairs" if drawn.design == PAIRS else f"{n} captions"
    words = units + ("" if is_even else ", unevenly drawn")
    words += ", by pair" if drawn.design == PAIRS_OF_CAPTIONS else ""
    if not sizes or shares is None:
        return math.nan, "" if shares is None else f"fewer than {words}"
    return shares[len(sizes) - 1], words


def is_as_stated(coverage: Any) -> Any:
    """Whether 95% intervals hold the truth in about 95%: in .91 to .97 of the samples."""
    return (coverage >= LEAST) & (coverage <= MOST)


def caution_of(coverage: float, where: str) -> str:
    """Return what to say beside one interval; nothing where it holds as often as it says."""
    if math.isnan(coverage):
        return f"no samples of {where} were simulated to see how often such intervals hold"
    share = f"{coverage:.3f}".lstrip("0")
    held = f"such 95% intervals held the truth in {share} of simulated samples ({where})"
    return "" if is_as_stated(coverage) else held


def describe_coverage(table: pd.DataFrame) -> Iterator[str]:
    """Yield what to say of intervals that hold the truth less or more often than 95% means, or nobody knows.

    table: rows of `agreement_intervals`.
    """
    odd = table[table["low"].notna() & ~is_as_stated(table["coverage"])]
    for where, own in odd.groupby("coverage_of", sort=False):
        rows = own[["group", "statistic", "coverage"]].itertuples(index=False)
        names = {f"{row.group} {row.statistic}".removeprefix("all "): row.coverage for row in rows}
        if own["coverage"].isna().all():
            samples = f"samples of {where}" if where else "samples"
            yield f"no {samples} were simulated to see how often these intervals hold: {_listed(names)}"
            continue
        shares = {f"{name} {share:.3f}".replace(" 0.", " ."): share for name, share in names.items()}
        low, high = (f"{share:.3f}".lstrip("0") for share in (min(names.values()), max(names.values())))
        listed = ", ".join(shares) if len(shares) <= _MOST_NAMED else f"{low} to {high}"
        yield f"share of simulated samples ({where}) in which such a 95% interval held the truth: {listed}"


def _listed(names: dict[str, float]) -> str:
    return ", ".join(names) if len(names) <= _MOST_NAMED else f"{len(names)} rows"


@cache
def _read() -> dict[tuple[str, str, str], tuple[float, ...]]:
    """Return the shares by number of captions, by design, method and statistic."""
    text = files("fire_toolkit.agreement").joinpath(FILE).read_text(encoding="utf-8")
    _, *rows = csv.reader(text.splitlines())
    return {(row[0], row[1], row[2]): tuple(map(float, row[3:])) for row in rows}
