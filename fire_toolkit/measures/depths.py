"""How deep runs were ranked, and the one note on measures that read deeper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fire_toolkit.matching.joining import Cut
from fire_toolkit.matching.judged_ranking import JudgedRanking
from fire_toolkit.matching.ranking import run_depth
from fire_toolkit.measures.definition import Measure


@dataclass(frozen=True)
class Reach:
    """How far a run reaches.

    depth: see `ranking.run_depth`; has_gap: whether positives stand below its top; n_lost: positives of
    the qrels that its lists do not hold; cut: why it is read to its top alone.
    """

    run_id: str
    depth: int
    has_gap: bool
    n_lost: int
    cut: Cut | None = None

    @classmethod
    def of(cls, run_id: str, rankings: Sequence[JudgedRanking], cut: Cut | None = None) -> Reach:
        """Return the reach of a run from its rankings under one qrels or several; most are lost counts."""
        some = rankings[0]
        n_lost = max(int(each.n_positives.sum()) - np.count_nonzero(each.is_positive) for each in rankings)
        return cls(run_id, run_depth(some.n_retrieved, some.last_rank), some.has_gap, n_lost, cut)


def note_depths(reaches: Sequence[Reach], measures: Sequence[Measure]) -> list[str]:
    """Return the note on what a reader of measures that read beyond the ranked depth must know, if any.

    Where the lists hold every positive of the qrels, no measure depends on their depth.

    Examples:
        >>> from fire_toolkit.measures.names import parse_measure
        >>> note_depths([Reach("a", 20, False, 3), Reach("b", 100, False, 0)], [parse_measure("AP")])
        ['AP reads the runs to different depths (a 20, b 100); compare at one depth']
    """
    if not any(reach.n_lost for reach in reaches):
        return []
    notes = []
    depths_of = ((m, {min(m.depth or each.depth, each.depth) for each in reaches}) for m in measures)
    uneven = [m.name for m, read in depths_of if len(read) > 1]
    if uneven:
        depths = ", ".join(f"{reach.run_id} {reach.depth:,}" for reach in reaches)
        notes.append(f"{_reads(uneven)} the runs to different depths ({depths}); compare at one depth")
    gapped = [reach for reach in reaches if reach.has_gap and reach.n_lost]
    deeper = _deeper(measures, gapped)
    if deeper:
        tops = ", ".join(dict.fromkeys(f"{reach.depth:,}" for reach in gapped))
        lost = ", ".join(f"{reach.run_id} {reach.n_lost:,}" for reach in gapped)
        notes.append(
            f"{_reads([m.name for m in deeper])} on below the top {tops}: positives that the runs kept there "
            "count at their exact ranks, all other docs as not relevant, also the positives that no list "
            f"holds ({lost})"
        )
    cuts = [(reach.run_id, reach.cut) for reach in reaches if reach.cut]
    deeper = _deeper(measures, [cut for _, cut in cuts])
    if deeper:
        told = [
            f"{run_id}: rank {cut.depth:,}, {cut.n_unlisted:,} of {cut.n_new:,} new positives in no list"
            + "".join(_moved(cut, measure) for measure in deeper)
            for run_id, cut in cuts[:3]
        ]
        told += [f"and so on for {len(cuts) - 3} more runs"] if len(cuts) > 3 else []
        notes.append(
            f"{_reads([m.name for m in deeper])} original and augmented labels down to the same rank, the "
            "last one where all docs are known; original positives that add-run kept below it do not count "
            f"({'; '.join(told)}). To count every positive at its exact rank, score the matrix itself or "
            "keep more of it (add-run --depth)"
        )
    return ["; ".join(notes)] if notes else []


def _deeper(measures: Sequence[Measure], runs: Sequence[Reach | Cut]) -> list[Measure]:
    """Return the measures that positives below the top of one of the runs could change."""
    top = min((each.depth for each in runs), default=None)
    if top is None:
        return []
    return [m for m in measures if not m.stays_in_top and (m.depth is None or m.depth > top)]


def _moved(cut: Cut, measure: Measure) -> str:
    """Return what the original positives below the top change, as it is printed; empty where nothing."""
    scale = 100 if measure.definition.unit == "share" else 1
    read, exact = (
        f"{scale * measure.aggregate(measure.values(ranking)):.1f}"
        for ranking in (cut.exact.to_depth(cut.depth), cut.exact)
    )
    return "" if read == exact else f", original {measure.name} {read} ({exact} with them)"


def _reads(names: Sequence[str]) -> str:
    return f"{', '.join(names)} {'reads' if len(names) == 1 else 'read'}"
