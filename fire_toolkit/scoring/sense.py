"""Whether a run makes sense of its qrels: where the positives stand, beside what chance would give.

Scrambled ids, a turned matrix and the wrong split all look the same: positives spread evenly over the ranks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fire_toolkit.measures import code_qrels, judge_run
from fire_toolkit.measures.defaults import FIRST
from fire_toolkit.scoring import score_runs
from fire_toolkit.tables import Qrels, Run

_FEWEST = 20  # positives from which chance can be told
_NEAR = 0.4  # of all docs: the mean rank of positives is half of them by chance


@dataclass(frozen=True)
class Sense:
    """What a run makes of its qrels' positives. words: one line; warning: what may be wrong, or empty."""

    words: str
    warning: str = ""


def sense_of(run: Run, qrels: Qrels, *, n_docs: int) -> Sense:
    """Return C@1 beside chance, the median rank of the positives, and a warning near chance.

    Args:
        run: one run, as the benchmark scores it.
        qrels: positives from relevance 1.
        n_docs: how many docs the model ranked.

    Returns:
        Chance is the mean share of a query's positives among all docs. Near chance: 20 positives or more
        stand at 40% of all docs or lower in the mean (one without a rank in the middle of the docs below its
        list), and where more than a tenth have no rank, no more than twice as many have one as by chance.
        None of the positives' queries in the run: a warning.
    """
    positives = code_qrels(qrels).positives
    judged, lengths = judge_run(run, positives), run["query_id"].value_counts()
    n_positives, n_rows = (
        positives.ideal.n_positives,
        lengths.reindex(positives.queries, fill_value=0).to_numpy(),
    )
    is_there = (n_positives > 0) & (n_rows > 0)
    if not is_there.any():
        return Sense(
            f"none of the {np.count_nonzero(n_positives):,} queries with a positive is in the run",
            "the run and the qrels share no query: check the split and how the ids are written; "
            "places need --query-ids and --doc-ids",
        )
    wanted = n_positives[is_there]
    ranks = np.full(wanted.sum(), np.inf)
    known = judged.rank
    ranks[: known.size] = known
    chance = float(np.minimum(wanted / n_docs, 1).mean())
    found = score_runs(run, qrels, [FIRST]).scores["value"].iloc[0]
    middle = float(np.sort(ranks)[[(len(ranks) - 1) // 2, len(ranks) // 2]].mean())
    median = f"{middle:g}" if np.isfinite(middle) else "below the lists"
    has_rank, lists = np.isfinite(ranks), np.repeat(n_rows[is_there], wanted)
    is_rare = has_rank.mean() > 0.9 or has_rank.sum() <= 2 * (lists / n_docs).sum()
    mean_rank = np.where(has_rank, ranks, (lists + n_docs) / 2).mean()
    is_near = len(ranks) >= _FEWEST and is_rare and mean_rank > _NEAR * n_docs
    return Sense(
        f"{FIRST} {100 * found:.1f} (chance {100 * chance:.2g}); ranks of positives: median {median}",
        f"near chance: the positives of {wanted.size:,} queries stand where they would by chance; "
        "check the order of the ids, the orientation of the matrix and the split before anything is judged"
        if is_near
        else "",
    )
