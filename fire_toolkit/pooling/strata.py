"""Strata of ranks, each judged whole or by a random sample, in NIST's grammar: `1:10:1,11:50:.1`."""

import re
from typing import NamedTuple

import numpy as np

from fire_toolkit.arrays import Ints
from fire_toolkit.errors import UsageError
from fire_toolkit.pooling.candidates import Budget, Candidates, Choice
from fire_toolkit.pooling.draws import draw_candidates
from fire_toolkit.tables.further import ORIGINAL

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


def draw_strata(candidates: Candidates, budget: Budget, *, strata: str) -> Choice:
    """Pool the docs of each stratum of ranks at random, at its rate: `1:10:1,11:50:.1`.

    A doc belongs to the stratum of its best rank over the runs. Each pair is drawn by a number of its own
    (see `draws`), so its inclusion probability is the rate and how many are drawn is random; the same seed
    draws the same pairs, a greater rate or a further run none less. Original positives within reach are a
    stratum of their own, `original`, all of which is pooled.

    Args:
        strata: see `parse_strata`; down to the pool's depth or less.

    Returns:
        The pairs drawn, with columns stratum, inclusion_probability and seed; undrawn: those that were not.

    Raises:
        UsageError: a budget; strata that are malformed or deeper than the pool; a pair that was asked before
            and is not drawn, which would make the sample one of two designs.
    """
    if budget != Budget():
        raise UsageError("draws as many pairs as its rates give, and takes no budget; change the rates")
    found, known, rank = parse_strata(strata), candidates.known, candidates.best_rank
    last = found[-1].last
    if last > candidates.depth_asked:
        raise UsageError(
            f"strata reach to rank {last} and the pool to {candidates.depth_asked}, expected --depth {last}"
        )
    names = np.array([*(stratum.name for stratum in found), "", ORIGINAL], dtype=object)
    place = np.searchsorted([stratum.last for stratum in found], rank, side="left")
    place[known.is_original & (rank <= last)] = len(found) + 1
    rate = np.array([*(stratum.rate for stratum in found), 0.0, 1.0])[place]
    is_drawn = draw_candidates(candidates, np.arange(len(rate))) < rate
    undrawn = np.flatnonzero((rate > 0) & ~is_drawn)
    for odd in undrawn[known.is_asked[undrawn]][:1]:
        pair = f"{candidates.query_ids[candidates.query[odd]]} {candidates.doc_ids[candidates.doc[odd]]}"
        raise UsageError(
            f"{int(known.is_asked[undrawn].sum()):,} pairs that were asked before are not drawn with seed "
            f"{candidates.seed} (first: {pair} in {names[place[odd]]}), and a sample of two designs gives no "
            "estimate; expected the earlier seed and no smaller rate, the rate 1 down to where all was "
            "judged, or a workspace without these judgments (such as a pilot's: `plan --pilot` has what they "
            "tell)"
        )

    def chosen(pairs: Ints) -> Choice:
        columns = {"stratum": names[place[pairs]], "inclusion_probability": rate[pairs]}
        return Choice(pairs, columns | {"seed": np.full(len(pairs), candidates.seed)})

    return chosen(np.flatnonzero(is_drawn))._replace(undrawn=chosen(undrawn))
