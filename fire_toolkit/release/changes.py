"""What changed between two releases: relevance and labels of pairs, and scores of the same runs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.reporting.templates import rendered
from fire_toolkit.tables.columns import PAIR

DISPUTE = "dispute"  # in the place of a label
_SIDES = ["before", "after"]
_LABELS = ["label_before", "label_after"]
_SCORE = ["run_id", "measure"]


class ReleaseChanges(NamedTuple):
    """What changed between two releases.

    pairs: query_id, doc_id, before, after (relevance, missing where the qrels do not have the pair), change,
    label_before, label_after (empty: no label). change: of the relevance (`added`, `removed`, `raised`,
    `lowered`; a negative one is none), else of the label alone (`labelled`, `unlabelled`, `relabelled`,
    `disputed`, `settled`).
    scores: run_id, measure, before, after, by the corrected labels of each; before or after is nan where only
    the other has the run and measure; equal ones are left out. in_words: how many changed in each way, of
    their relevance and of their label.
    """

    pairs: pd.DataFrame
    scores: pd.DataFrame
    in_words: str

    @property
    def rows(self) -> pd.DataFrame:
        """Both as one table: kind (pair or score), their keys, before and after, of pairs the labels too."""
        names = ["kind", *PAIR, *_SCORE, *_SIDES, *_LABELS]
        both = [
            table.assign(kind=kind)
            .astype(dict.fromkeys(_SIDES, "Float64"))
            .reindex(columns=names, fill_value="")
            for kind, table in (("pair", self.pairs), ("score", self.scores))
            if len(table)
        ]
        return pd.concat(both, ignore_index=True) if both else pd.DataFrame({name: [] for name in names})

    @property
    def shown_scores(self) -> list[list[str]]:
        """Run, measure, and the score before and after, of each that changed; empty: none there."""
        rows = self.scores.to_numpy().tolist()
        return [[run, name, *("" if v != v else f"{v:.4f}" for v in values)] for run, name, *values in rows]


def compare_releases(old: Mapping[str, Any], new: Mapping[str, Any]) -> ReleaseChanges:
    """Return what changed from one release to the next.

    Args:
        old, new: the corrected qrels of each, and of its labels, disputes, runs (file, sha256) and scores
            those that it has. Of scores, in their long form, the rows of qrels `augmented` and query `all`
            are compared, but for runs that are other files.

    Returns:
        Both tables by their keys; empty where nothing changed. Labels are compared where both have them.

    Examples:
        >>> def release(labels, **pairs):
        ...     told = pd.DataFrame({"query_id": "q", "doc_id": list(labels), "label": labels.values()})
        ...     grades = {"query_id": "q", "doc_id": list(pairs), "relevance": list(pairs.values())}
        ...     return {"qrels": pd.DataFrame(grades), "labels": told, "disputes": told[:0]}
        >>> found = compare_releases(release({"a": "yes", "b": "no"}, a=1, b=0, c=1, d=-1),
        ...                          release({"a": "dispute", "b": "yes"}, a=1, b=1, c=-1, d=0))
        >>> found.pairs[["doc_id", "change", "label_after"]].values.tolist()
        [['a', 'disputed', 'dispute'], ['b', 'raised', 'yes'], ['c', 'removed', ''], ['d', 'added', '']]
    """
    both, none = (old, new), pd.DataFrame(columns=[*PAIR, "label"], dtype="str")
    are_told = all(each.get(name) is not None for each in both for name in ("labels", "disputes"))
    told = [[each["labels"], each["disputes"].assign(label=DISPUTE)] if are_told else [] for each in both]
    labels = [pd.concat([none, *(table[[*none]].astype("str") for table in tables)]) for tables in told]
    found = _beside([each["qrels"] for each in both], PAIR, "relevance", _SIDES)
    found = found.astype(dict.fromkeys(_SIDES, "Int64"))
    found = found.merge(_beside(labels, PAIR, "label", _LABELS), on=PAIR, how="outer")
    found = found.fillna(dict.fromkeys(_LABELS, ""))
    judged = (found[side].mask(found[side] < 0) for side in _SIDES)
    before, after = (each.to_numpy(np.float64, na_value=np.nan) for each in judged)
    was, now = (found[name] for name in _LABELS)
    is_new, is_gone = np.isnan(before) & ~np.isnan(after), np.isnan(after) & ~np.isnan(before)
    of_relevance = np.select(
        [is_new, is_gone, after > before, after < before], ["added", "removed", "raised", "lowered"], ""
    )
    of_label = np.select(
        [was == now, now == DISPUTE, was == DISPUTE, now == "", was == ""],
        ["", "disputed", "settled", "unlabelled", "labelled"],
        "relabelled",
    )
    found.insert(4, "change", pd.Series(np.where(of_relevance == "", of_label, of_relevance)))
    pairs = found[found["change"] != ""].sort_values(PAIR, ignore_index=True)
    others = []  # runs whose file has the name that it had, and other content
    if all(each.get("runs") is not None for each in both):
        hashes = _beside([each["runs"] for each in both], ["file"], "sha256", _SIDES).dropna()
        others = [file.rpartition(".")[0] for file in hashes["file"][hashes["before"] != hashes["after"]]]
    scores = pd.DataFrame({name: [] for name in (*_SCORE, *_SIDES)})
    if all(each.get("scores") is not None for each in both):
        means = [each["scores"].query("qrels == 'augmented' and query_id == 'all'") for each in both]
        scores = _beside(means, _SCORE, "value", _SIDES)
        is_same = (scores["before"] == scores["after"]) | scores[_SIDES].isna().all(axis=1)
        scores = scores[~is_same & ~scores["run_id"].isin(others)].sort_values(_SCORE, ignore_index=True)
    n = Counter([*of_relevance, *of_label]) | Counter(scores=len(scores), runs=len(others))
    del n[""]
    return ReleaseChanges(pairs, scores, rendered("release", "templates/changes.txt", n=n))


def _beside(
    tables: Sequence[pd.DataFrame], keys: Sequence[str], value: str, names: Sequence[str]
) -> pd.DataFrame:
    """Return the keys of either of two tables, and the value in each under these names."""
    own = [
        table[[*keys, value]].rename(columns={value: name}) for table, name in zip(tables, names, strict=True)
    ]
    return own[0].merge(own[1], on=list(keys), how="outer")
