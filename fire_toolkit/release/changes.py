"""What changed between two releases: pairs, and scores of the same runs."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from fire_toolkit.results import Result
from fire_toolkit.tables import Qrels
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.words import n_of

PAIR_CHANGES = ("added", "removed", "raised", "lowered")


class _ReleaseChanges(NamedTuple):
    pairs: pd.DataFrame
    scores: pd.DataFrame


class ReleaseChanges(_ReleaseChanges, Result):
    """What changed between two releases.

    pairs: query_id, doc_id, before, after (relevance, missing where the qrels do not have the pair), change
    (`added`, `removed`, `raised`, `lowered`). scores: run_id, measure, before, after, by the corrected labels
    of each; before or after is nan where only the other has the run and measure; equal ones are left out.
    """

    __slots__ = ()

    @property
    def counts(self) -> dict[str, int]:
        """How many pairs changed in each way, and how many scores."""
        by_change = self.pairs["change"].value_counts()
        found = {name: int(by_change.get(name, 0)) for name in PAIR_CHANGES}
        return {**found, "scores": len(self.scores)}

    @property
    def in_words(self) -> str:
        """The same as a sentence."""
        n = self.counts
        return (
            f"{n_of(n['added'], 'pair')} added, {n['removed']:,} removed, {n['raised']:,} with a higher "
            f"relevance, {n['lowered']:,} with a lower one; {n_of(n['scores'], 'score')} changed"
        )

    @property
    def rows(self) -> pd.DataFrame:
        """Both as one table: kind (pair or score), their keys, before and after."""
        pairs = self.pairs.assign(kind="pair").astype({"before": "Float64", "after": "Float64"})
        scores = self.scores.assign(kind="score").astype({"before": "Float64", "after": "Float64"})
        names = ["kind", "query_id", "doc_id", "run_id", "measure", "before", "after"]
        both = [table.reindex(columns=names, fill_value="") for table in (pairs, scores) if len(table)]
        return pd.concat(both, ignore_index=True) if both else pd.DataFrame({name: [] for name in names})


def compare_releases(
    old: Qrels, new: Qrels, *, old_scores: pd.DataFrame | None = None, new_scores: pd.DataFrame | None = None
) -> ReleaseChanges:
    """Return what changed from one release to the next.

    Args:
        old, new: corrected qrels.
        old_scores, new_scores: scores in their long form, of which the rows of qrels `augmented` and query
            `all` are compared; None: none.

    Returns:
        Both tables by their keys; empty where nothing changed.

    Examples:
        >>> from fire_toolkit.tables import check_qrels
        >>> def qrels(**pairs):
        ...     return check_qrels(pd.DataFrame(
        ...         {"query_id": "q", "doc_id": list(pairs), "relevance": list(pairs.values())}))
        >>> found = compare_releases(qrels(a=1, b=0, c=1), qrels(a=1, b=1, d=0))
        >>> found.pairs[["doc_id", "change"]].values.tolist()
        [['b', 'raised'], ['c', 'removed'], ['d', 'added']]
    """
    return ReleaseChanges(_pairs(old, new), _scores(old_scores, new_scores))


def _pairs(old: Qrels, new: Qrels) -> pd.DataFrame:
    key = PAIR
    both = old[[*key, "relevance"]].merge(
        new[[*key, "relevance"]], on=key, how="outer", suffixes=("_old", "_new")
    )
    both = both.rename(columns={"relevance_old": "before", "relevance_new": "after"})
    both = both.astype({"before": "Int64", "after": "Int64"})
    change = pd.Series("", index=both.index, dtype="str")
    change[both["before"].isna()] = "added"
    change[both["after"].isna()] = "removed"
    change[(both["after"] > both["before"]).fillna(False)] = "raised"
    change[(both["after"] < both["before"]).fillna(False)] = "lowered"
    both = both.assign(change=change)
    return both[both["change"] != ""].sort_values(key, ignore_index=True)


def _scores(old: pd.DataFrame | None, new: pd.DataFrame | None) -> pd.DataFrame:
    key = ["run_id", "measure"]
    names = [*key, "before", "after"]
    if old is None or new is None:
        return pd.DataFrame({name: [] for name in names})
    before, after = (
        table.loc[(table["qrels"] == "augmented") & (table["query_id"] == "all"), [*key, "value"]]
        for table in (old, new)
    )
    both = before.merge(after, on=key, how="outer", suffixes=("_old", "_new"))
    both = both.rename(columns={"value_old": "before", "value_new": "after"})
    is_same = (both["before"] == both["after"]) | (both["before"].isna() & both["after"].isna())
    return both.loc[~is_same, names].sort_values(key, ignore_index=True)


def shown_scores(changes: ReleaseChanges) -> list[list[str]]:
    """Return run, measure, and the score before and after, of each that changed; empty: none there."""
    rows = changes.scores.to_numpy().tolist()
    return [[run, name, *("" if v != v else f"{v:.4f}" for v in values)] for run, name, *values in rows]
