"""The labels of a benchmark at two times side by side: what changed, and what cannot be compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.guidelines.model import Grades
from fire_toolkit.results import Result
from fire_toolkit.tables import Judgments, Qrels
from fire_toolkit.tables.columns import PAIR

_SHOWN = 3
_SAME = 1e-9  # two sums of the same values in another order differ by less


@dataclass(frozen=True, eq=False)
class Side:
    """What is known of a workspace or a release.

    name: what it is called; tool: the version that made it, or empty; guideline: its names and its sha256;
    texts: of queries by query_id, None where they are not known; runs: name → sha256 of the file; scores:
    run_id, measure, value by the corrected qrels, None where there are none; grades: of the labels in the
    judgments.
    """

    name: str
    tool: str
    guideline: tuple[str, str]
    original: Qrels
    corrected: Qrels
    texts: pd.Series | None
    runs: Mapping[str, str]
    scores: pd.DataFrame | None = None
    judgments: Judgments | None = None
    grades: Grades | None = None

    @property
    def queries(self) -> pd.Index[str]:
        """The queries of the original qrels, sorted."""
        found: pd.Index[str] = pd.Index(self.original["query_id"].unique()).sort_values()
        return found


class _LabelChanges(NamedTuple):
    table: pd.DataFrame
    n_queries: int
    are_all: bool
    notes: tuple[str, ...]


class LabelChanges(_LabelChanges, Result):
    """What `compare_labels` returns.

    table: change, n_pairs; empty where labels cannot be compared. n_queries: over which; are_all: whether
    these are all queries of both, so that scores can be compared too; notes: what was left out, and why.
    """

    __slots__ = ()


def compare_labels(old: Side, new: Side) -> LabelChanges:
    """Return how many pairs were labelled, turned or removed from one side to the other.

    Compared are queries that have one id, and one text where both texts are known. Nothing is compared under
    two guidelines, or where the two share no query or no doc. A negative relevance is no label.

    Examples:
        >>> from fire_toolkit.tables import check_qrels
        >>> def side(name, **grades):
        ...     ids = {"query_id": "q", "doc_id": list(grades), "relevance": list(grades.values())}
        ...     qrels = check_qrels(pd.DataFrame(ids))
        ...     return Side(name, "", ("v1", "f00"), qrels, qrels, None, {})
        >>> found = compare_labels(side("old", a=1, b=0), side("new", a=1, b=1, c=0)).table
        >>> found[found["n_pairs"] > 0].values.tolist()
        [['newly labelled not relevant', 1], ['turned relevant', 1], ['as before', 1]]
    """
    shared, reasons = _shared_queries(old, new)
    why_not = _why_not(old, new, shared)
    if why_not:
        nothing = pd.DataFrame({"change": [], "n_pairs": []})
        return LabelChanges(nothing, 0, False, (why_not, *reasons))
    are_all = len(shared) == len(old.queries) == len(new.queries)
    pairs = _pairs(*(side.corrected[side.corrected["query_id"].isin(shared)] for side in (old, new)))
    return LabelChanges(_counted(pairs), len(shared), are_all, tuple(reasons))


def _shared_queries(old: Side, new: Side) -> tuple[pd.Index[str], list[str]]:
    """Return the queries of both, and what is said of the others."""
    shared = old.queries.intersection(new.queries)
    reasons = [
        f"{len(side.queries) - len(shared):,} of the {len(side.queries):,} queries of {side.name} are not in "
        f"{other.name}"
        for side, other in ((old, new), (new, old))
        if len(side.queries) > len(shared)
    ]
    if old.texts is None or new.texts is None:
        unknown = " and ".join(side.name for side in (old, new) if side.texts is None)
        return shared, [*reasons, f"{unknown}: no texts of queries; those of one id are taken to be the same"]
    texts = [table.reindex(shared).fillna("").to_numpy(dtype=object) for table in (old.texts, new.texts)]
    differ = shared[texts[0] != texts[1]]
    if len(differ):
        some = ", ".join(differ[:_SHOWN])
        reasons.append(f"queries of the same id with another text in {old.name}: {len(differ):,} ({some})")
    return shared.difference(differ), reasons


def _why_not(old: Side, new: Side, shared: pd.Index[str]) -> str:
    """Return why nothing can be compared; empty where something can."""
    (one, one_sha256), (other, other_sha256) = old.guideline, new.guideline
    if one != other:
        return (
            f"{old.name} was judged by the guideline {one}, {new.name} by {other}: their labels answer other "
            "questions, and nothing is compared"
        )
    if one_sha256 != other_sha256:
        return f"the guideline {one} says something else in {old.name}; nothing is compared"
    if not len(shared):
        return f"{old.name} and {new.name} have no query in common; nothing is compared"
    if not set(old.corrected["doc_id"]) & set(new.corrected["doc_id"]):
        return f"{old.name} and {new.name} have no doc in common; nothing is compared"
    return ""


def _pairs(old: Qrels, new: Qrels) -> pd.DataFrame:
    """Return each labelled pair of either with the relevance before and after, nan where it has none."""
    key = PAIR
    before, after = (table.loc[table["relevance"] >= 0, [*key, "relevance"]] for table in (old, new))
    return before.merge(after, on=key, how="outer", suffixes=("_before", "_after"))


def _counted(pairs: pd.DataFrame) -> pd.DataFrame:
    names = ("relevance_before", "relevance_after")
    before, after = (pairs[name].to_numpy(dtype=np.float64) for name in names)
    is_new, is_gone = np.isnan(before), np.isnan(after)
    is_other = ~is_new & ~is_gone & (before != after)
    changes = {
        "newly labelled relevant": is_new & (after >= 1),
        "newly labelled not relevant": is_new & (after < 1),
        "turned relevant": (before < 1) & (after >= 1),
        "turned not relevant": (before >= 1) & (after < 1),
        "another grade of relevance": is_other & (before >= 1) & (after >= 1),
        "no longer labelled, was relevant": is_gone & (before >= 1),
        "no longer labelled, was not relevant": is_gone & (before < 1),
        "as before": before == after,
    }
    counts = [int(np.count_nonzero(each)) for each in changes.values()]
    return pd.DataFrame({"change": list(changes), "n_pairs": counts})


def pair_runs(old: Side, new: Side) -> tuple[list[str], list[str]]:
    """Return the runs whose files are the same bytes on both sides, and what is said of the others.

    The new side has its runs by their ids, the old one by the names of their files.
    """
    same = [run_id for run_id, sha256 in new.runs.items() if sha256 in old.runs.values()]
    here = [run_id for run_id in new.runs if run_id not in same]
    there = {_stem(name): name for name, sha256 in old.runs.items() if sha256 not in new.runs.values()}
    others = [run_id for run_id in here if run_id in there]
    reasons = [f"{run_id} is another file in {old.name}, and is not compared" for run_id in others]
    only_here = [run_id for run_id in here if run_id not in others]
    only_there = [name for stem, name in there.items() if stem not in others]
    for run_ids, side in ((only_here, new), (only_there, old)):
        reasons += [f"runs only in {side.name}, not compared: {', '.join(run_ids)}"] if run_ids else []
    return same, reasons


def _stem(name: str) -> str:
    """Return what a run is called by its file: the name without its ending."""
    return name.removesuffix(".gz").rsplit(".", 1)[0]


def contradicted(old: Side, scores: pd.DataFrame) -> list[str]:
    """Return the runs to which the old side gives another score than `scores`, by the same labels.

    scores: run_id, measure, value, made anew of the same files. A run that differs had other ids, or another
    rule for ties.
    """
    if old.scores is None:
        return []
    both = scores.merge(old.scores, on=["run_id", "measure"], suffixes=("", "_there"))
    differ = (both["value"] - both["value_there"]).abs() > _SAME
    return list(both.loc[differ, "run_id"].unique())
