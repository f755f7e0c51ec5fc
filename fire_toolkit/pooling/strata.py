"""Strata of ranks, each judged whole or by a random sample, in NIST's grammar: `1:10:1,11:50:.1`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.errors import UsageError

_STRATUM = re.compile(r"([1-9][0-9]{0,8}):([1-9][0-9]{0,8}):([0-9]*\.?[0-9]+)")


class Stratum(NamedTuple):
    """Docs whose best rank over the runs is from `first` to `last`, each drawn with probability `rate`."""

    first: int
    last: int
    rate: float

    @property
    def name(self) -> str:
        """The stratum as it stands in pools and qrels."""
        return f"{self.first}:{self.last}:{self.rate:g}"


def parse_strata(text: str) -> list[Stratum]:
    """Return the strata that a text names: from:to:rate, joined by commas, from rank 1 without a gap.

    Raises:
        UsageError: malformed, overlapping, with a gap, or a rate that is not above 0 and up to 1.

    Examples:
        >>> [stratum.name for stratum in parse_strata("1:10:1,11:50:.1")]
        ['1:10:1', '11:50:0.1']
        >>> parse_strata("1:10:1,10:50:.1")
        Traceback (most recent call last):
        fire_toolkit.errors.UsageError: strata 1:10:1,10:50:.1: 10:50:.1 begins at rank 10, expected 11, the \
rank after the stratum before it
    """
    found: list[Stratum] = []
    for part in text.split(","):
        matched = _STRATUM.fullmatch(part.strip())
        if matched is None:
            raise UsageError(f"strata {text}: {part.strip()!r}, expected from:to:rate such as 11:50:.1")
        first, last, rate = int(matched[1]), int(matched[2]), float(matched[3])
        wanted = found[-1].last + 1 if found else 1
        if first != wanted:
            after = "the rank after the stratum before it" if found else "the first rank"
            raise UsageError(f"strata {text}: {part} begins at rank {first}, expected {wanted}, {after}")
        if last < first:
            raise UsageError(f"strata {text}: {part} ends at rank {last}, expected {first} or more")
        if not 0 < rate <= 1:
            raise UsageError(f"strata {text}: {part} has the rate {rate:g}, expected one above 0 and up to 1")
        found.append(Stratum(first, last, rate))
    return found


def place_in_strata(strata: Sequence[Stratum], best_rank: Ints) -> Ints:
    """Return the place of the stratum that each rank belongs to; the number of strata where it is below all.

    Examples:
        >>> place_in_strata(parse_strata("1:10:1,11:50:.1"), np.array([1, 10, 11, 50, 51])).tolist()
        [0, 0, 1, 1, 2]
    """
    return np.searchsorted([stratum.last for stratum in strata], best_rank, side="left").astype(np.int64)


def rates_of(strata: Sequence[Stratum], place: Ints) -> Floats:
    """Return the rate of the stratum at each place, 0 below all of them."""
    return np.array([*(stratum.rate for stratum in strata), 0.0])[place]
