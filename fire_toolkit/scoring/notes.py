"""Notes on what a reader of scores must know: what was missing, extra, shallow, tied or bounded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.measures import CodedQrels, JudgedRanking, Measure
from fire_toolkit.measures.defaults import ESTIMATES, LEAST_DRAWN
from fire_toolkit.scoring.judging import Judged
from fire_toolkit.words import n_of


@dataclass(frozen=True)
class Note:
    """Something that a reader of the scores must know.

    kind: one word; run_id and qrels: what it is about, empty when about all; n: how many queries (for
    `depths`: runs); text: the plain sentence.
    """

    kind: str
    run_id: str
    qrels: str
    n: int
    text: str

    def __str__(self) -> str:
        return self.text


def note_positives(coded: dict[str, CodedQrels]) -> list[Note]:
    """Note queries without a positive, by the name of the qrels."""
    notes = []
    for name, which in coded.items():
        n = int(np.count_nonzero(which.ideal.n_positives == 0))
        if n:
            text = f"{name} qrels: {count_queries(n, of=len(which.queries))} without a positive; they score 0"
            notes.append(Note("no_positive", "", name, n, text))
    return notes


def note_measures(measures: list[Measure]) -> list[Note]:
    """Note measures whose name alone could be taken for another measure."""
    return [Note("measure", "", "", 0, m.caution) for m in measures if m.caution]


def note_sparse(coded: dict[str, CodedQrels], measures: list[Measure]) -> list[Note]:
    """Note measures that infer from sampled strata with too few positives to infer from."""
    names = [measure.name for measure in measures if measure.definition.key in ESTIMATES]
    notes = []
    for name, which in coded.items():
        if not names or which.stratum is None:
            continue
        sampled = np.isin(which.stratum, np.unique(which.stratum[which.relevance == -1]))
        n_drawn = np.count_nonzero(sampled & (which.relevance >= 1)) / len(which.queries)
        if sampled.any() and n_drawn < LEAST_DRAWN:
            text = (
                f"{', '.join(names)}: sampled strata of the {name} qrels hold {n_drawn:.1f} positives a "
                f"query; below {LEAST_DRAWN} such a measure is biased (xinfAP by up to 7 points on COCO "
                "captions), so do not report it"
            )
            notes.append(Note("sparse", "", name, len(which.queries), text))
    return notes


def note_run(run_id: str, run: JudgedRanking, measures: list[Measure]) -> list[Note]:
    """Note queries that a run lacks, has beyond the qrels, or whose lists are shallow."""
    is_there, of = run.last_rank > 0, run.last_rank.size
    lengths = run.n_retrieved[is_there]
    missing, extra = of - lengths.size, run.n_extra_queries
    cutoff = max((measure.k for measure in measures if measure.k is not None), default=0)
    shallow = int(np.count_nonzero((lengths < cutoff) & (lengths == run.last_rank[is_there])))
    counted = [
        (
            "missing",
            missing,
            f"{count_queries(missing, of=of)} of the qrels missing from the run; they score 0",
        ),
        ("extra", extra, f"{count_queries(extra)} not in the qrels; they are ignored"),
        (
            "shallow",
            shallow,
            f"{count_queries(shallow, of=of)} with fewer docs than the cutoff {cutoff} "
            f"(shortest {lengths.min()})",
        ),
    ]
    return [Note(kind, run_id, "", n, f"{run_id}: {text}") for kind, n, text in counted if n]


def note_bounds(run_id: str, by: Mapping[str, Judged], measures: list[Measure]) -> list[Note]:
    """Note ranks that are lower bounds, because no positive was found."""
    notes = []
    for measure in measures:
        for name, judged in by.items() if measure.definition.unit == "rank" else ():
            view = measure.view(judged.ranking)
            n = int(np.count_nonzero(np.isinf(view.first_positive)))
            text = (
                f"{run_id}: {count_queries(n, of=view.n_queries)} without a positive found by the {name} "
                f"qrels; {measure.name} takes their rank as {view.worst_rank}, a lower bound"
            )
            notes += [Note("bounded", run_id, name, n, text)] if n else []
    return notes


def note_ties(run_id: str, by: Mapping[str, Judged], measures: list[Measure]) -> list[Note]:
    """Note how many queries a tie could change, and the scores at either end."""
    notes = []
    for name, judged in by.items():
        ends, values = judged.ends, judged.values
        if ends is None or not ends.queries.size:
            continue
        differs = ends.low != ends.high
        n = int(np.count_nonzero(differs.any(axis=0)))
        shown = ", ".join(
            f"{measure.name} {_shown(values[i], ends.queries, ends.low[i], measure)} to "
            f"{_shown(values[i], ends.queries, ends.high[i], measure)}"
            for i, measure in enumerate(measures)
            if differs[i].any()
        )
        text = (
            f"{run_id}: docs of equal score could change {count_queries(n, of=values.shape[1])} "
            f"by the {name} qrels; pessimistic to optimistic: {shown}"
        )
        notes += [Note("ties", run_id, name, n, text)] if n else []
    return notes


def _shown(values: Floats, queries: Ints, at_end: Floats, measure: Measure) -> str:
    """Return a score of which some queries have other values."""
    values = values.copy()
    values[queries] = at_end
    value = measure.aggregate(values)
    return f"{100 * value:.1f}" if measure.definition.unit == "share" else f"{value:.1f}"


def count_queries(n: int, of: int | None = None) -> str:
    """Return a number of queries in words."""
    if of is not None:
        return f"{n:,} of {of:,} queries"
    return n_of(n, "query")
