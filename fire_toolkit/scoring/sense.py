"""Whether a run makes sense of its qrels: where the positives stand, beside what chance would give.

Scrambled ids, a turned matrix and the wrong split all look the same: positives spread evenly over the ranks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

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
        Chance is the mean share of a query's positives among all docs. Near chance: of 20 positives or
        more, those with a rank stand at 40% of all docs or lower in the mean; where most have none, no more
        than twice as many were found as by chance. None of the positives' queries in the run: a warning.
    """
    positives = qrels[qrels["relevance"] >= 1]
    queries, docs = (run[name].cat.categories for name in ("query_id", "doc_id"))
    places = queries.get_indexer(pd.Index(positives["query_id"]))
    query = places[places >= 0]
    doc = docs.get_indexer(pd.Index(positives["doc_id"]))[places >= 0]
    if not len(query):
        return Sense(
            f"none of the {positives['query_id'].nunique():,} queries with a positive is in the run",
            "the run and the qrels share no query: check the split and how the ids are written; "
            "places need --query-ids and --doc-ids",
        )
    ranks = _ranks(run, query, doc, len(docs))
    per_query = np.bincount(query, minlength=len(queries))
    chance = float(np.minimum(per_query[per_query > 0] / n_docs, 1).mean())
    found = score_runs(run, qrels, [FIRST]).scores["value"].iloc[0]
    is_near = len(ranks) >= _FEWEST and _is_near_chance(run, ranks, query, n_docs)
    return Sense(
        f"{FIRST} {100 * found:.1f} (chance {100 * chance:.2g}); ranks of positives: median {_median(ranks)}",
        f"near chance: the positives of {len(np.unique(query)):,} queries stand where they would by chance; "
        "check the order of the ids, the orientation of the matrix and the split before anything is judged"
        if is_near
        else "",
    )


def _ranks(run: Run, query: Any, doc: Any, n_docs: int) -> npt.NDArray[np.float64]:
    """Return the rank of each pair in the run, infinite where it has none."""
    keys = query.astype(np.int64) * n_docs + doc
    order = np.argsort(keys, kind="stable")
    own = run["query_id"].array.codes.astype(np.int64) * n_docs + run["doc_id"].array.codes
    place = np.minimum(np.searchsorted(keys[order], own), len(keys) - 1)
    is_pair = keys[order][place] == own
    ranks = np.full(len(keys), np.inf)
    ranks[order[place[is_pair]]] = run["rank"].to_numpy()[is_pair]
    ranks[doc < 0] = np.inf
    return ranks


def _median(ranks: npt.NDArray[np.float64]) -> str:
    middle = float(np.sort(ranks)[[(len(ranks) - 1) // 2, len(ranks) // 2]].mean())
    return f"{middle:g}" if np.isfinite(middle) else "below the lists"


def _is_near_chance(run: Run, ranks: npt.NDArray[np.float64], query: Any, n_docs: int) -> bool:
    has_rank = np.isfinite(ranks)
    if has_rank.mean() > 0.9:
        return bool(ranks[has_rank].mean() > _NEAR * n_docs)
    lengths = np.bincount(run["query_id"].array.codes)
    return bool(has_rank.sum() <= 2 * (lengths[query] / n_docs).sum())
